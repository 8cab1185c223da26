// The search: by ID, e-mail, holder, reference, name or, within an event, by seat.

import { call } from "../api.js";
import { byID, el } from "../dom.js";
import { badge, count, customerLink, eventLink, idLink, time } from "./format.js";
import { query } from "./lists.js";
import { card, field, form, load, table } from "./parts.js";
import { goTo, link, setTitle } from "./router.js";

const paths = { event: "events", user: "users", lock: "locks", booking: "bookings", payment: "payments", "seating-plan": "plans" };
const how = { id: "its ID", holder: "its text", email: "the e-mail address", reference: "the shop's reference", paymentReference: "the payment reference", seat: "the seat's ID", name: "a part of the name" };

function target(hit) {
  if (hit.kind === "seat") return el("a", { href: link(`events/${hit.eventId}`, { seat: hit.id }), textContent: `Seat ${hit.id}` });
  if (hit.kind === "holder") return customerLink(hit);
  const a = idLink(paths[hit.kind], hit.id);
  if (hit.name) a.replaceChildren(hit.name);
  return hit.email ? el("span", {}, a, ` ${hit.email}`) : a;
}

const columns = [
  { name: "Kind", cell: (h) => h.kind.replace("-", " ") },
  { name: "Found", cell: target },
  { name: "By", cell: (h) => how[h.matchedBy] },
  { name: "Status", cell: (h) => (h.status ? badge(h.status) : "–") },
  { name: "Seats", cell: (h) => (h.seats ? count(h.seats, "seat") : h.kind === "seat" ? h.name : "–") },
  { name: "Event", cell: (h) => (h.eventDate ? time(h.eventDate) : eventLink(h.eventId)) },
  { name: "Customer", cell: (h) => (h.kind === "holder" ? "–" : customerLink(h)) },
  { name: "Booking", cell: (h) => idLink("bookings", h.kind === "booking" ? "" : h.bookingId) },
];

export async function searchPage(page) {
  const { q = "", eventId = "" } = page.query;
  byID("find").elements.q.value = q;
  setTitle("Search");
  const result = el("div", { role: "status" });
  const id = el("input", { name: "eventId", value: eventId, pattern: "[0-9a-fA-F]{24}", maxLength: 24, title: "24 hex digits", autocomplete: "off", spellcheck: false });
  page.root.append(card("Search", [], form({ className: "fields" },
    (fields) => goTo("search", { q: fields.q.value.trim(), eventId: fields.eventId.value.trim() }),
    field("ID, e-mail, holder, reference, seat or name", el("input", { name: "q", value: q, maxLength: 254, required: true, autocomplete: "off" }), "query.q"),
    field("Event ID, for a seat", id, "query.eventId"),
    el("button", { className: "primary", textContent: "Search" })),
  el("p", { className: "soft small", textContent: "The whole text has to match; of the name of an event or a user, a part." }), result));
  if (q === "") return;
  await load(page, result, () => call("GET", `/api/admin/search?${query({ q, eventId })}`), ({ items, more }) => {
    if (items.length === 0) return result.replaceChildren(el("p", {
      textContent: `Nothing matches.${eventId === "" ? " A seat is found in an event: give its event ID too." : ""}`,
    }));
    result.replaceChildren(el("p", { className: "small", textContent: `${count(items.length, "match", "matches")}${more ? ", and more" : ""}.` }),
      table("What was found", columns, items));
  });
}
