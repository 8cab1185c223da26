// Parts that several pages have: a card, a table, a form with its errors, and the loading of a page.

import { ApiError } from "../api.js";
import { el } from "../dom.js";
import { needsKey, showErrors } from "../feedback.js";

// load runs what fills a page. That something does not exist is said in the page.
export async function load(page, work) {
  await showErrors("page", async () => {
    try {
      await work();
    } catch (error) {
      if (page.signal.aborted) return;
      if (!(error instanceof ApiError) || ![404, 410, 422].includes(error.status)) throw error;
      page.root.append(el("div", { className: "card" }, el("p", { textContent: describe(error) })));
    }
  });
}

// describe is what an error says, with the parts of the request that it names.
export function describe(error) {
  const parts = (error.problem.errors ?? []).map((e) => `${e.location}: ${e.message}`);
  return [error.message, ...parts].join(" ");
}

let cards = 0;

// card is a section of a page with a title. Nodes behind it are in its head, beside the title.
export function card(title, inHead, ...children) {
  const id = `card-${cards += 1}`;
  return el("section", { className: "card", "aria-labelledby": id },
    el("div", { className: "head" }, el("h2", { id, textContent: title }), ...inHead), ...children);
}

// kindCard is a card whose title is a name, which may be that of another card: it is labelled by its kind.
export function kindCard(kind, title, inHead, ...children) {
  const node = card(title, inHead, ...children);
  node.removeAttribute("aria-labelledby");
  node.setAttribute("aria-label", kind);
  return node;
}

// table shows items in columns of {name, cell, right}; cell returns what is in the cell. On a narrow screen each item
// is a card.
export function table(label, columns, items) {
  return el("table", { className: "cards", "aria-label": label },
    el("thead", {}, el("tr", {}, ...columns.map((c) => el("th", { scope: "col", className: c.right ? "right" : "", textContent: c.name })))),
    el("tbody", {}, ...items.map((item) => el("tr", {}, ...columns.map((c) =>
      el("td", { className: c.right ? "right" : "", "data-name": c.name }, el("div", {}, c.cell(item))))))));
}

let fields = 0;

// field is a control with its label. where is the part of a request that it is for, as errors name it.
export function field(label, control, where) {
  const id = `field-${fields += 1}`;
  control.id = id;
  return el("div", { className: "field", "data-where": where ?? "" }, el("label", { htmlFor: id, textContent: label }), control,
    el("p", { className: "wrong small", id: `${id}-wrong`, hidden: true }));
}

// select is a control with options; each is a value, or a value and its text.
export function select(name, value, options) {
  const control = el("select", { name });
  for (const option of options) {
    const [of, text] = Array.isArray(option) ? option : [option, option];
    control.append(el("option", { value: of, textContent: text, selected: of === value }));
  }
  return control;
}

// form is a form whose submit runs work, and shows the errors of the server at the fields that they name.
export function form(properties, work, ...children) {
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const node = el("form", properties, ...children, problem);
  node.addEventListener("submit", async (event) => {
    event.preventDefault();
    await act(node, () => work(node.elements));
  });
  return node;
}

// act runs an action of a form, or of another node with a part "problem", while its buttons are disabled.
export async function act(node, work) {
  const problem = node.querySelector('[data-part="problem"]');
  const buttons = [...node.querySelectorAll("button:enabled")];
  clearProblem(node);
  for (const b of buttons) b.disabled = true;
  await showErrors("action", async () => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof ApiError) || needsKey(error)) throw error;
      showProblem(node, problem, error);
    }
  });
  for (const b of buttons) b.disabled = false;
}

function clearProblem(node) {
  node.querySelector('[data-part="problem"]').replaceChildren();
  for (const wrong of node.querySelectorAll(".field > .wrong")) {
    wrong.hidden = true;
    const control = wrong.previousElementSibling;
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
  }
}

function showProblem(node, problem, error) {
  const elsewhere = [];
  for (const { location: where, message: what } of error.problem.errors ?? []) {
    const at = node.querySelector(`.field[data-where="${CSS.escape(where)}"]`);
    if (at === null) {
      elsewhere.push(el("li", {}, el("code", { textContent: where }), ` ${what}`));
      continue;
    }
    const wrong = at.querySelector(".wrong");
    wrong.textContent = what;
    wrong.hidden = false;
    wrong.previousElementSibling.setAttribute("aria-invalid", "true");
    wrong.previousElementSibling.setAttribute("aria-describedby", wrong.id);
  }
  const code = error.code === "" ? "" : ` (${error.code})`;
  problem.replaceChildren(el("p", { textContent: error.message + code }));
  if (elsewhere.length > 0) problem.append(el("ul", { className: "list small" }, ...elsewhere));
}
