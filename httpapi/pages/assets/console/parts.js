// Parts that several pages have: a card, a table, a form with its errors, and the loading of a page.

import { ApiError, call, newKey } from "../api.js";
import { el, poll, setText } from "../dom.js";
import { needsKey, requestKey } from "../feedback.js";

const loads = new WeakMap(); // the latest load by the node that it fills

// load fills a node of a page: show gets what read has read. It asks for a key if one is required. Other errors are shown
// in the node, with a button to try again. Of several loads of a node the last one counts. It returns whether that was this
// one, and it has succeeded.
export async function load(page, node, read, show, again = () => load(page, node, read, show)) {
  const failure = clearFailure(node);
  const isLatest = () => loads.get(node) === failure && !page.signal.aborted;
  loads.set(node, failure);
  try {
    const found = await withKey(read, isLatest);
    if (!isLatest()) return false;
    show(found);
    return true;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (!isLatest()) return false;
    failure.append(el("p", { className: "wrong", textContent: describe(error) }));
    // For what does not exist, and for what the server does not understand, the answer stays the same.
    if (![404, 410, 422].includes(error.status)) {
      failure.append(el("button", { type: "button", textContent: "Try again", onclick: again }));
    }
    node.append(failure);
    return false;
  }
}

// callIfExists reads a document; null if there is none: it was removed, or other software wrote the reference.
export async function callIfExists(path) {
  try {
    return await call("GET", path);
  } catch (error) {
    if (error instanceof ApiError && [404, 422].includes(error.status)) return null;
    throw error;
  }
}

// stopLoading forgets what is being loaded into a node, and empties it.
export function stopLoading(node) {
  loads.delete(node);
  node.replaceChildren();
}

// clearFailure removes the failure of an earlier load, and returns a node for the next one. At the root of a page, it is a
// card.
function clearFailure(node) {
  loads.get(node)?.remove();
  return el("div", { className: node.parentNode?.id === "page" ? "card stack" : "stack", role: "alert" });
}

// withKey repeats what reads as long as a key is asked for and entered.
async function withKey(read, isWanted) {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof ApiError) || !needsKey(error) || !isWanted() || !await requestKey(error)) throw error;
    }
  }
}

// keepUp polls what a part of a page shows. That it is not up to date is said in the part.
export function keepUp(page, interval, node, work) {
  const stale = el("p", { className: "wrong small", role: "status" });
  node.append(stale);
  return poll(interval, async () => {
    try {
      await work();
      setText(stale, "");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (page.signal.aborted) return false;
      if (needsKey(error)) return requestKey(error);
      setText(stale, `Not up to date: ${describe(error)}`);
    }
    return false;
  }, page.signal);
}

// inOrder returns a function that reads, and then shows what it has read, at once, unless a later call was answered before.
export function inOrder(read, show) {
  let [asked, answered] = [0, 0]; // calls, by their numbers
  return async () => {
    const number = ++asked;
    const found = await read();
    if (number < answered) return;
    answered = number;
    show(found);
  };
}

// describe is what an error says, with its code and the parts of the request that it names.
export function describe(error) {
  const code = error.code === "" ? "" : ` (${error.code})`;
  const parts = (error.problem.errors ?? []).map((e) => `${e.location}: ${e.message}`);
  return [error.message + code, ...parts].join(" ");
}

let cards = 0;

// card is a section of a page with a title. inHead are nodes for its head, next to the title.
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

// keyedForm is a form whose work gets an idempotency key. The same request again has the same one, so that it is done once.
export function keyedForm(properties, work, ...children) {
  let idempotencyKey = newKey();
  const renew = () => { idempotencyKey = newKey(); };
  const node = form(properties, async () => {
    await work(idempotencyKey, node.elements);
    renew();
  }, ...children);
  node.addEventListener("input", renew); // another request
  return node;
}

// act runs an action of a form, or of another node with a part "problem", while its buttons are disabled. If the server
// asks for a key, the form stays as it is. The action is not repeated: another operator may have entered the key.
export async function act(node, work) {
  const problem = node.querySelector('[data-part="problem"]');
  const buttons = [...node.querySelectorAll("button:enabled")];
  const restoreFocus = focusOf(node);
  clearProblem(node);
  for (const b of buttons) b.disabled = true;
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (!needsKey(error)) showProblem(node, problem, error);
    else if (await requestKey(error)) problem.replaceChildren(el("p", { textContent: "This was refused, because it needed another key. Do it again with the new key." }));
    else showProblem(node, problem, error);
  } finally {
    for (const b of buttons) b.disabled = false;
    restoreFocus();
  }
}

// focusOf returns a function that gives the focus back to where it was in a node: a button that is disabled loses it, and a
// form may be replaced by another one. If the control is gone, its card has it: with the keyboard one goes on from there.
function focusOf(node) {
  const focused = node.contains(document.activeElement) ? document.activeElement : null;
  const root = node.closest("section");
  return () => {
    if (focused === null || document.activeElement !== document.body || document.querySelector("dialog[open]")) return;
    const isThere = (control) => control?.isConnected && control.checkVisibility();
    const same = focused.name ? root?.querySelector(`[name="${CSS.escape(focused.name)}"]`) : null;
    const to = [focused, same, root].find(isThere);
    if (to === root && root) root.tabIndex = -1;
    to?.focus({ preventScroll: true });
  };
}

// clearProblem removes the errors of an earlier action.
export function clearProblem(node) {
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
