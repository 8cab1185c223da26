// The waiting list of an event: its entries in their order, with their offers, and its settings. No entry can be moved by hand.

import { call } from "../api.js";
import { formatRemaining, timeUntil } from "../clock.js";
import { el, part, setText, updateList } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { valuesOf, waitlistFields } from "./event_fields.js";
import { badge, count, customerLink, idLink, number, setBadge, time } from "./format.js";
import { query } from "./lists.js";
import { callIfExists, card, field, form, inOrder, keepUp, load, select } from "./parts.js";
import { goTo, link, setTitle } from "./router.js";

const pageSize = 50;
const statuses = ["WAITING", "OFFERED", "ACCEPTED", "DECLINED", "EXPIRED", "LEFT", "CLOSED"];
const lockLifetime = 15_000; // ms; an offer may be extended

// confirmClosing asks before a change of an event's settings that ends entries.
export async function confirmClosing({ id }, change) {
  if (change.waitlist !== "CLOSED") return true;
  const { name, waiting = 0 } = await call("GET", `/api/events/${id}`);
  if (waiting === 0) return true;
  return confirmAction(`Close the waiting list of ${name}?`, `${count(waiting, "entry that waits is", "entries that wait are")} ended: those customers get no ` +
    "offer, also if the list is opened again. Offers that were made stay. PAUSED makes no offers and ends nothing.", "Close the waiting list", "Keep the waiting list");
}

export async function waitlistPage(page) {
  setTitle("Waiting list");
  const path = `/api/events/${page.id}`;
  await load(page, page.root, () => call("GET", path), (event) => {
    setTitle(`Waiting list: ${event.name}`);
    const names = { categories: new Map(), sections: new Map() };
    const entries = entriesCard(page, event, names);
    const settings = settingsCard(event, entries.refresh);
    page.root.append(settings.node, entries.node);
    if (event.seatingPlanId) {
      callIfExists(`/api/seating-plans/${event.seatingPlanId}`).then((plan) => {
        for (const of of ["categories", "sections"]) for (const { key, name } of plan?.[of] ?? []) names[of].set(key, name);
        entries.show();
      }, () => {}); // without the plan there are its keys
    }
    keepUp(page, 3000, settings.node, inOrder(() => call("GET", path), settings.show));
  });
}

// settingsCard has how the list stands, and the form of its settings. show keeps what was entered there.
function settingsCard(event, changed) {
  const [status, waiting, box] = [badge(event.waitlist), el("span"), el("div")];
  let [now, fields] = [event, []];
  const showForm = () => {
    fields = waitlistFields(now);
    box.replaceChildren(form({ className: "stack", "aria-label": "Settings of the waiting list" }, async () => {
      const change = valuesOf(fields, true);
      if (Object.keys(change).length === 0) return showToast("Nothing was changed.");
      if (!await confirmClosing(now, change)) return undefined;
      now = await call("PATCH", `/api/events/${event.id}`, change);
      showToast("The settings are saved.");
      showForm();
      show(now);
      return changed();
    }, el("div", { className: "fields" }, ...fields), el("div", { className: "buttons" }, el("button", { className: "primary", textContent: "Save" }))));
  };
  const show = (e) => {
    const isOther = settingsOf(e) !== settingsOf(now);
    now = e;
    if (isOther && Object.keys(valuesOf(fields, true)).length === 0) showForm(); // another operator has changed them
    setBadge(status, e.waitlist);
    setText(waiting, e.waiting === undefined ? "The list was never open." : `${count(e.waiting, "entry waits", "entries wait")}.`);
  };
  showForm();
  show(event);
  const title = el("p", {}, el("a", { href: link(`events/${event.id}`), textContent: event.name }), " · ", waiting);
  return { node: card("Waiting list", [status], el("div", { className: "stack" }, title, box)), show };
}

const settingsOf = ({ waitlist, waitlistOfferSeconds, waitlistFit }) => [waitlist, waitlistOfferSeconds, waitlistFit].join();

const columns = ["Position", "Customer", "Waits for", "Status", "Offer", "Reference", "Joined"];

function entriesCard(page, event, names) {
  const { status = "", pageToken = "" } = page.query;
  const path = `waitlist/${event.id}`;
  const [body, says, pages] = [el("tbody"), el("p", { className: "soft small", role: "status" }), el("p", { className: "buttons" })];
  const list = el("table", { className: "cards", "aria-label": "Entries" },
    el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", { scope: "col", className: name === "Position" ? "right" : "", textContent: name })))), body);
  const node = card("Entries", [], form({ className: "fields", "aria-label": "Filter the entries" }, (fields) => goTo(path, { status: fields.status.value }),
    field("Status", select("status", status, [["", "all"], ...statuses])), el("button", { textContent: "Filter" })), says, list, pages);
  if (pageToken !== "") pages.append(el("a", { className: "button", href: link(path, { status }), textContent: "First page" }));
  const next = el("a", { className: "button", textContent: "Next page", hidden: true });
  pages.append(next);
  const lockOf = readLocks();
  let entries = [];
  const show = () => {
    list.hidden = entries.length === 0;
    updateList(body, entries, (e) => e.id, createRow, (row, e) => updateRow(row, e, names));
  };
  const refresh = inOrder(async () => {
    const { items, nextPageToken } = await call("GET", `/api/events/${event.id}/waitlist?${query({ status, pageSize, pageToken })}`);
    return [await Promise.all(items.map(async (e) => ({ ...e, lock: e.status === "OFFERED" ? await lockOf(e.lockId) : null }))), nextPageToken];
  }, ([items, nextPageToken]) => {
    entries = items;
    next.hidden = nextPageToken === "";
    next.href = link(path, { status, pageToken: nextPageToken });
    setText(says, items.length > 0 ? "In the order in which they joined." : nextPageToken === "" ? "No entries." : "None in this part of the list; the next page goes on.");
    show();
  });
  keepUp(page, 3000, node, refresh);
  const timer = setInterval(() => { for (const row of body.children) showTimeLeft(row); }, 1000);
  page.signal.addEventListener("abort", () => clearInterval(timer));
  return { node, refresh, show };
}

// readLocks returns a function that reads the lock of an offer, unless it was read just now; null if there is none.
function readLocks() {
  const known = new Map();
  return async (id) => {
    const { lock, readAt } = known.get(id) ?? {};
    if (readAt !== undefined && performance.now() - readAt < lockLifetime) return lock;
    const found = await callIfExists(`/api/locks/${id}`);
    known.set(id, { lock: found, readAt: performance.now() });
    return found;
  };
}

const cell = (name, className, ...children) => el("td", { className, "data-name": name }, el("div", {}, ...children));

function createRow(e) {
  return el("tr", {}, cell("Position", "right", el("span", { "data-part": "position" })), cell("Customer", "", customerLink(e)),
    cell("Waits for", "", el("span", { "data-part": "wish" })), cell("Status", "", el("span", { "data-part": "status" })),
    cell("Offer", "", el("span", { "data-part": "lock" }), " ", el("span", { "data-part": "left" })),
    cell("Reference", "", el("span", { textContent: e.reference ?? "–" })), cell("Joined", "", time(e.createdAt)));
}

function updateRow(row, e, names) {
  setText(part(row, "position"), e.position === undefined ? "–" : number(e.position));
  setText(part(row, "wish"), wishOf(e, names));
  setBadge(part(row, "status"), e.status);
  if (row.dataset.lock !== (e.lockId ?? "")) part(row, "lock").replaceChildren(idLink("locks", e.lockId));
  row.dataset.lock = e.lockId ?? "";
  row.dataset.expiresAt = e.lock?.expiresAt ?? "";
  showTimeLeft(row);
}

function showTimeLeft(row) {
  const { expiresAt } = row.dataset;
  const ms = expiresAt === "" ? 0 : timeUntil(expiresAt);
  setText(part(row, "left"), expiresAt === "" ? "" : ms > 0 ? `${formatRemaining(ms)} left` : "due");
  part(row, "left").className = expiresAt !== "" && ms <= 0 ? "badge warn" : "number";
}

// wishOf writes what an entry waits for: 4 seats together, Stalls or Balcony, 1 of them accessible.
function wishOf({ seats, categories = [], section, accessibleSeats = 0, adjacent }, names) {
  return [
    `${count(seats, "seat")}${adjacent === "REQUIRED" ? " next to each other" : ""}`, categories.map((key) => names.categories.get(key) ?? key).join(" or "),
    section && (names.sections.get(section) ?? `section ${section}`), accessibleSeats > 0 && `${number(accessibleSeats)} of them accessible`,
  ].filter(Boolean).join(", ");
}
