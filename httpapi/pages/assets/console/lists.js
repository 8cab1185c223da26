// Lists that page. The page and the filters are in the URL.

import { call } from "../api.js";
import { el } from "../dom.js";
import { badge, customerLink, eventLink, idLink, seats, time } from "./format.js";
import { card, field, form, load, select, table } from "./parts.js";
import { goTo, link } from "./router.js";

const pageSize = 50;

export const lockColumns = [
  { name: "Lock", cell: (l) => idLink("locks", l.id) },
  { name: "Event", cell: (l) => eventLink(l.eventId) },
  { name: "Customer", cell: customerLink },
  { name: "Seats", cell: seats },
  { name: "Status", cell: (l) => badge(l.status) },
  { name: "Reference", cell: (l) => l.reference ?? "–" },
  { name: "Booking", cell: (l) => idLink("bookings", l.bookingId) },
  { name: "Created", cell: (l) => time(l.createdAt) },
  { name: "Expires", cell: (l) => time(l.expiresAt) },
];

export const bookingColumns = [
  { name: "Booking", cell: (b) => idLink("bookings", b.id) },
  { name: "Event", cell: (b) => eventLink(b.eventId) },
  { name: "Customer", cell: customerLink },
  { name: "Seats", cell: seats },
  { name: "Status", cell: (b) => badge(b.status) },
  { name: "Reference", cell: (b) => b.reference ?? "–" },
  { name: "Payment reference", cell: (b) => b.paymentReference ?? "–" },
  { name: "Created", cell: (b) => time(b.createdAt) },
  { name: "Changed", cell: (b) => time(b.updatedAt) },
];

const without = (columns, ...names) => columns.filter((c) => !names.includes(c.name));

// query writes the parameters that are not empty, and each item of a list.
export function query(parameters) {
  const filled = Object.entries(parameters).flatMap(([name, value]) => [value].flat().map((v) => [name, v])).filter(([, value]) => value !== undefined && value !== "");
  return new URLSearchParams(filled).toString();
}

// listPage is a page with one list, its filters by event, customer, status and reference, and links to its next page.
export async function listPage(page, { path, title, columns, statuses, empty }) {
  const { eventId = "", userId = "", holder = "", status = "", reference = "", pageToken = "" } = page.query;
  const filters = { eventId, userId, holder, status, reference };
  const id = (name, value) => el("input", { name, value, pattern: "[0-9a-fA-F]{24}", maxLength: 24, title: "24 hex digits", autocomplete: "off", spellcheck: false });
  const body = el("div");
  page.root.append(card(title, [], form({ className: "fields" }, (fields) => {
    goTo(path, Object.fromEntries(Object.keys(filters).map((name) => [name, ["holder", "reference"].includes(name) ? fields[name].value : fields[name].value.trim()])));
  }, field("Event ID", id("eventId", eventId)), field("User ID", id("userId", userId)),
  field("Holder", el("input", { name: "holder", value: holder, maxLength: 256, autocomplete: "off", spellcheck: false })),
  field("Status", select("status", status, [["", "all"], ...statuses])),
  field("Reference", el("input", { name: "reference", value: reference, maxLength: 128, autocomplete: "off" })), el("button", { className: "primary", textContent: "Filter" })), body));
  const read = () => call("GET", `/api/${path}?${query({ ...filters, pageSize, pageToken })}`);
  await load(page, body, read, ({ items, nextPageToken }) => {
    const pages = el("p", { className: "buttons" });
    if (pageToken !== "") pages.append(el("a", { className: "button", href: link(path, filters), textContent: "First page" }));
    if (nextPageToken !== "") {
      pages.append(el("a", { className: "button", href: link(path, { ...filters, pageToken: nextPageToken }), textContent: "Next page" }));
    }
    const text = items.length > 0 ? "Oldest first." : nextPageToken === "" ? empty : "None in this part of the list; the next page goes on.";
    body.replaceChildren(el("p", { className: "soft small", textContent: text }));
    if (items.length > 0) body.append(table(title, columns, items));
    body.append(pages);
  });
}

// shortList is a card with the first items of a list, and a link to all.
export function shortList(page, { path, title, columns, filter, empty }) {
  const body = el("div");
  page.root.append(card(title, [el("a", { href: link(path, filter), textContent: "Filter and page" })], body));
  load(page, body, () => call("GET", `/api/${path}?${query({ ...filter, pageSize: 10 })}`), ({ items, nextPageToken }) => {
    if (items.length === 0) return body.replaceChildren(el("p", { className: "soft", textContent: empty }));
    const hidden = { eventId: "Event", userId: "Customer", holder: "Customer" };
    body.replaceChildren(table(title, without(columns, ...Object.keys(filter).map((name) => hidden[name])), items));
    if (nextPageToken !== "") body.append(el("p", { className: "small" }, el("a", { href: link(path, filter), textContent: `All ${path}` })));
  });
}
