// Seating plans: the list, the page of one, and the upload of a file.

import { ApiError, call, newKey } from "../api.js";
import { el } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { planMap } from "./event_map.js";
import { count, idLink, lines, number, time } from "./format.js";
import { query } from "./lists.js";
import { card, clearProblem, field, form, kindCard, load, select, table } from "./parts.js";
import { moveEventsCard } from "./plan_events.js";
import { goTo, link, setTitle } from "./router.js";

const columns = [
  { name: "Plan", cell: (p) => el("a", { href: link(`plans/${p.id}`), textContent: p.name }) },
  { name: "ID", cell: (p) => idLink("plans", p.id) },
  { name: "Sections", right: true, cell: (p) => number(p.sections.length) },
  { name: "Categories", right: true, cell: (p) => number(p.categories.length) },
  { name: "Seats", right: true, cell: (p) => number(p.totalSeats) },
  { name: "Created", cell: (p) => time(p.createdAt) },
];

export async function plansPage(page) {
  setTitle("Seating plans");
  const { pageToken = "" } = page.query;
  const body = el("div");
  page.root.append(card("Seating plans", [el("a", { className: "button", href: link("new-plan"), textContent: "Draw a new plan" })], body), uploadCard(page));
  await load(page, body, () => call("GET", `/api/seating-plans?${query({ pageSize: 20, pageToken })}`), ({ items, nextPageToken }) => {
    if (items.length === 0) body.replaceChildren(el("p", { className: "soft", textContent: "No seating plans yet." }));
    else body.replaceChildren(el("p", { className: "soft small", textContent: "Oldest first." }), table("Seating plans", columns, items));
    const pages = el("p", { className: "buttons" });
    if (pageToken !== "") pages.append(el("a", { className: "button", href: link("plans"), textContent: "First page" }));
    if (nextPageToken !== "") pages.append(el("a", { className: "button", href: link("plans", { pageToken: nextPageToken }), textContent: "Next page" }));
    body.append(pages);
  });
}

export async function planPage(page) {
  setTitle("Seating plan");
  await load(page, page.root, () => call("GET", `/api/seating-plans/${page.id}`), (plan) => {
    setTitle(plan.name);
    page.root.append(kindCard("Seating plan", plan.name, [el("a", { className: "button", href: link(`edit-plan/${plan.id}`), textContent: "Edit a copy" })], lines(
      ["ID", el("code", { textContent: plan.id })], ["Seats", number(seatsOf(countSeats(plan)))], ["Created", time(plan.createdAt)],
      ["Events", el("a", { href: link("new-event", { seatingPlanId: plan.id }), textContent: "New event with this plan" })])),
    card("Map", [], planMap(page, plan)), card("Sections", [], ...preview(plan)), moveEventsCard(page, plan));
  });
}

// countSeats counts the seats of a plan by section and category. Seats in a row are a list, in which null is a gap, or
// how many there are.
function countSeats(plan) {
  return plan.sections.map((s) => {
    const of = new Map();
    const add = (category, n) => of.set(category, (of.get(category) ?? 0) + n);
    if (s.capacity) add(s.category, s.capacity);
    for (const row of s.rows ?? []) {
      const usual = row.category || s.category;
      if (typeof row.seats === "number") add(usual, row.seats);
      else for (const seat of row.seats) if (seat !== null) add(seat.category || usual, 1);
    }
    return { key: s.key, name: s.name, rows: s.rows?.length ?? 0, isStanding: Boolean(s.capacity), of };
  });
}

const sum = (numbers) => numbers.reduce((n, m) => n + m, 0);
const seatsOf = (sections) => sum(sections.map((s) => sum([...s.of.values()])));

// preview has a table of the sections, with a line for each of their categories, and one of the categories.
function preview(plan) {
  const sections = countSeats(plan);
  const nameOfCategory = new Map(plan.categories.map((c) => [c.key, c.name]));
  const pairs = sections.flatMap((s) => [...s.of].map(([category, seats]) => ({ ...s, category, seats })));
  const totals = plan.categories.map((c) => ({ ...c, seats: sum(sections.map((s) => s.of.get(c.key) ?? 0)) }));
  return [
    el("p", { className: "small", textContent: `${count(seatsOf(sections), "seat")} in ${count(sections.length, "section")} and ${count(plan.categories.length, "category", "categories")}.` }),
    table("Sections of the plan", [
      { name: "Section", cell: (s) => el("span", {}, el("strong", { textContent: s.name }), " ", el("code", { className: "soft", textContent: s.key })) },
      { name: "Kind", cell: (s) => (s.isStanding ? "general admission" : count(s.rows, "row")) },
      { name: "Category", cell: (s) => nameOfCategory.get(s.category) ?? s.category },
      { name: "Seats", right: true, cell: (s) => number(s.seats) },
    ], pairs),
    table("Categories of the plan", [
      { name: "Category", cell: (c) => el("span", {}, el("strong", { textContent: c.name }), " ", el("code", { className: "soft", textContent: c.key })) },
      { name: "Seats", right: true, cell: (c) => number(c.seats) },
    ], totals),
  ];
}

const most = 20_000_000; // bytes, of the server

// uploadCard reads a file, shows its plan or what is wrong with it, and creates the plan.
function uploadCard(page) {
  const file = el("input", { type: "file", name: "file", accept: ".json,.csv,application/json,text/csv", required: true });
  const name = el("input", { name: "name", maxLength: 200, autocomplete: "off" });
  const format = select("format", "auto", [["auto", "what the file says"], ["json", "JSON"], ["csv", "CSV"], ["pretix", "pretix"]]);
  const asListed = el("input", { type: "checkbox", name: "asListed", id: "as-listed" });
  const category = el("input", { name: "category", maxLength: 200, autocomplete: "off" });
  const accessible = el("input", { name: "accessible", maxLength: 200, autocomplete: "off", spellcheck: false, placeholder: "such as wheelchair" });
  const adjacency = el("textarea", { name: "adjacency", rows: 2, spellcheck: false, placeholder: "Ballroom/T1=ALL" });
  const result = el("div", { className: "stack", role: "status" });
  let choice = new AbortController(); // ends when another file or setting is chosen: what was found in another file is dropped
  const forget = () => {
    choice.abort();
    choice = new AbortController();
    result.replaceChildren();
  };
  const upload = form({ className: "stack", "aria-label": "Upload" }, async () => {
    forget();
    const signal = AbortSignal.any([page.signal, choice.signal]);
    const [chosen] = file.files;
    if (chosen.size > most) return result.append(el("p", { className: "wrong", textContent: "The file has more than 20,000,000 bytes." }));
    const parameters = { format: format.value, name: name.value.trim() || nameOf(chosen, format.value), asListed: asListed.checked ? "true" : "",
      category: category.value.trim(), accessible: accessible.value.trim(), adjacency: adjacency.value.split("\n").map((line) => line.trim()) };
    let found;
    try {
      found = await call("POST", `/api/admin/seating-plans/convert?${query(parameters)}`, await contentOf(chosen));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return;
    result.replaceChildren(el("p", { className: "small soft", textContent: `This is the plan of the file ${chosen.name}.` }),
      ...found.differences.length > 0 ? [differences(found.differences)] : [], planMap({ signal }, found.plan), ...preview(found.plan), creation(found));
  }, el("div", { className: "fields" }, field("File", file), field("Format", format, "query.format"), field("Name, if the file has none or another one", name, "query.name"),
    field("Category of seats that have none", category, "query.category"), field("Property or column of accessible seats", accessible, "query.accessible"),
    field("Rows that are tables (ALL), LINE or NONE, one a line", adjacency, "query.adjacency")),
  el("p", { className: "check" }, asListed, el("label", { htmlFor: "as-listed", textContent: "Take all rows as they are listed: don't look for tables and gaps" })),
  el("div", { className: "buttons" }, el("button", { textContent: "Check the file" })));
  for (const control of [file, name, format, asListed, category, accessible, adjacency]) {
    control.addEventListener("input", () => {
      forget();
      clearProblem(upload);
      upload.querySelector("button").disabled = false; // while the earlier file is still being checked
    });
  }
  return card("Upload", [], el("p", { className: "soft small", textContent: "JSON as the API takes it, CSV with one line for a seat or a range of seats, or a plan of pretix. Nothing is stored before you create the plan." }), upload, result);
}

// contentOf reads a file. It can't be read if it was changed or removed after it was chosen.
async function contentOf(file) {
  try {
    return new Blob([await file.arrayBuffer()], { type: file.type });
  } catch {
    throw new ApiError(422, { detail: "The file can't be read: it was changed or removed after it was chosen. Choose it again." });
  }
}

// nameOf is the name of a plan of CSV, which has none in its file.
function nameOf(file, format) {
  const isCSV = format === "csv" || format === "auto" && /\.csv$/i.test(file.name);
  return isCSV ? file.name.replace(/\.[^.]*$/, "").slice(0, 200) : "";
}

function differences(list) {
  return el("div", {}, el("p", { className: "small strong", textContent: "What of the file is not in the plan, or differs:" }),
    table("Differences", [
      { name: "Kind", cell: (d) => el("span", { className: `badge ${d.kind === "dropped" ? "" : "warn"}`, textContent: d.kind }) },
      { name: "What", cell: (d) => d.option === "accessible" ? `${d.what}. If it says which seats are accessible, name it above.` : d.what },
      { name: "Count", right: true, cell: (d) => number(d.count) },
      { name: "Such as", cell: (d) => d.examples.join("; ") || "–" },
    ], list));
}

// creation is a form that creates the plan that was found in a file, once.
function creation(found) {
  const idempotencyKey = newKey();
  return form({ className: "stack", "aria-label": "Create" }, async () => {
    const what = `${found.plan.name}: ${count(found.totalSeats, "seat")}. A plan never changes, and can't be removed.`;
    if (!await confirmAction("Create the seating plan?", what, "Create the plan")) return;
    const plan = await call("POST", "/api/seating-plans", { ...found.plan, idempotencyKey });
    showToast(`The seating plan ${plan.name} was created.`);
    goTo(`plans/${plan.id}`);
  }, el("p", {}, "The plan is called ", el("strong", { textContent: found.plan.name }), "."),
  el("div", { className: "buttons" }, el("button", { className: "primary", textContent: "Create the plan" })));
}
