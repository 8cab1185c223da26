// The seats of an event with a seating plan: its sections, and who has a seat.

import { call } from "../api.js";
import { el, part, poll, setText, updateList } from "../dom.js";
import { confirmAction, showErrors, showToast } from "../feedback.js";
import { eventMap } from "./event_map.js";
import { badge, count, idLink, lines, number } from "./format.js";
import { act, card, field, form } from "./parts.js";

// seatsCard has the map, the look-up of a seat, and the sections.
export async function seatsCard(page, event) {
  const summary = await planSummary(event);
  const body = el("tbody");
  const seat = lookUp(page, event);
  const root = card("Seats", [], await eventMap(page, event, seat.show), seat.node, el("table", { className: "cards", "aria-label": "Sections" },
    el("thead", {}, el("tr", {}, ...["Section", "Category", "Available", "Total"].map((name, i) =>
      el("th", { scope: "col", className: i > 1 ? "right" : "", textContent: name })))), body));
  poll(2000, () => showErrors("page", async () => {
    const { sections } = await call("GET", `/api/events/${event.id}/seats`);
    const items = sections.map((s) => ({ ...summary.get(s.key), ...s }));
    updateList(body, items, (s) => s.key, sectionRow, updateSectionRow);
  }), page.signal);
  return root;
}

// planSummary returns name and category of the plan's sections by their keys. The list of plans has them without the
// seats; in a database with more plans than one page of it, the keys have to do.
async function planSummary(event) {
  const { items } = await call("GET", "/api/seating-plans?pageSize=500");
  const plan = items.find((p) => p.id === event.seatingPlanId);
  const categories = new Map((plan?.categories ?? []).map((c) => [c.key, c.name]));
  return new Map((plan?.sections ?? []).map((s) => [s.key, { name: s.name, category: categories.get(s.category) }]));
}

function sectionRow(s) {
  return el("tr", {}, el("td", { "data-name": "Section" }, el("span", {}, el("strong", { textContent: s.name ?? s.key }), " ", el("code", { className: "soft", textContent: s.key }))),
    el("td", { "data-name": "Category" }, el("span", { textContent: s.category ?? "–" })),
    el("td", { className: "right", "data-name": "Available" }, el("span", { "data-part": "available" })),
    el("td", { className: "right", "data-name": "Total" }, el("span", { "data-part": "total" })));
}

function updateSectionRow(row, s) {
  setText(part(row, "available"), number(s.available));
  setText(part(row, "total"), number(s.total));
}

// lookUp is a form that shows who has a seat, and takes it out of sale or puts it back. The seat is in the URL.
function lookUp(page, event) {
  const result = el("div", { role: "status" });
  const seat = el("input", { name: "seat", value: page.query.seat ?? "", required: true, maxLength: 64, autocomplete: "off", spellcheck: false });
  const show = async () => {
    const id = seat.value.trim();
    history.replaceState(null, "", `#/events/${event.id}?${new URLSearchParams({ seat: id })}`);
    result.replaceChildren();
    result.append(seatState(event, await call("GET", `/api/events/${event.id}/seats/${encodeURIComponent(id)}`), show));
  };
  const node = form({ className: "fields seat" }, show, field("Seat ID", seat), el("button", { textContent: "Look up the seat" }));
  if (seat.value !== "") act(node, show);
  const choose = (id) => {
    seat.value = id;
    act(node, show);
  };
  return { node: el("div", { className: "stack" }, node, result), show: choose };
}

function seatState(event, seat, refresh) {
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const buttons = el("div", { className: "buttons" });
  const root = el("div", { className: "stack" }, lines(
    ["Seat", `${seat.id}: section ${seat.section}, row ${seat.row}, seat ${seat.label}`], ["Category", seat.category], ["State", badge(seat.state)],
    ["Lock", idLink("locks", seat.lockId)], ["Booking", idLink("bookings", seat.bookingId)]), buttons, problem);
  const change = (action, done) => act(root, async () => {
    const { blocked } = await call("POST", `/api/events/${event.id}/seats/${action}`, { seatIds: [seat.id] });
    showToast(`Seat ${seat.id} is ${done}. ${count(blocked, "seat")} of the event ${blocked === 1 ? "is" : "are"} blocked.`);
    await refresh();
  });
  if (seat.state === "AVAILABLE") {
    buttons.append(el("button", { type: "button", textContent: "Block the seat", onclick: async () => {
      if (await confirmAction(`Block seat ${seat.id}?`, "It goes out of sale until it is unblocked.", "Block the seat")) await change("block", "blocked");
    } }));
  }
  if (seat.state === "BLOCKED") buttons.append(el("button", { type: "button", textContent: "Unblock the seat", onclick: () => change("unblock", "on sale again") }));
  return root;
}
