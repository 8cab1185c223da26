// The seats of an event with a seating plan: its map, its sections, and the lock of a seat.

import { words } from "/assets/holdfast-seats.js";
import { ApiError, call } from "../api.js";
import { el, part, setText, updateList } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { eventMap } from "./event_map.js";
import { badge, count, customerLink, idLink, lines, number, time } from "./format.js";
import { historyOf, subjectsOf } from "./history.js";
import { act, callIfExists, card, field, form, keepUp, load, stopLoading } from "./parts.js";

// seatsCard has the map, the look-up of a seat, and the sections. The rest of the page does not wait for it: a plan may be
// large, or missing.
export function seatsCard(page, event) {
  const place = el("div", {}, el("p", { className: "soft", textContent: "Loading the map …" }));
  const body = el("tbody");
  let resolve;
  const loaded = new Promise((done) => { resolve = done; });
  const seat = lookUp(page, event, loaded);
  const root = card("Seats", [], el("div", { className: "stack" }, place, seat.node), el("table", { className: "cards", "aria-label": "Sections" },
    el("thead", {}, el("tr", {}, ...["Section", "Category", "Available", "Total"].map((name, i) =>
      el("th", { scope: "col", className: i > 1 ? "right" : "", textContent: name })))), body));
  const loading = place.firstChild;
  load(page, place, () => call("GET", `/api/seating-plans/${event.seatingPlanId}`), (plan) => {
    const { map, hall } = eventMap(page, event, plan, seat.show);
    place.replaceChildren(map);
    resolve(hall);
    keepUp(page, 2000, root, async () => {
      const { sections } = await call("GET", `/api/events/${event.id}/seats`);
      updateList(body, sections.map((s) => ({ ...s, ...nameOf(hall, s.key) })), (s) => s.key, sectionRow, updateSectionRow);
    });
  }).finally(() => loading.remove());
  return root;
}

function nameOf(hall, key) {
  const section = hall.sectionByKey.get(key);
  return section === undefined ? {} : { name: section.name, category: section.categories.map((c) => hall.categories[c].name).join(", ") };
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

// isSeatID reports whether a text can be a seat's ID, so that no other text gets into the path of a request.
const isSeatID = (id) => /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(id) && !["stream", "block", "unblock"].includes(id);

// lookUp is a form that shows a seat, its lock and the customer, and takes it out of sale or puts it back. The seat is in
// the URL. It shows keys until the plan, with the names, is loaded.
function lookUp(page, event, loaded) {
  const result = el("div", { role: "status" });
  const seat = el("input", { name: "seat", value: page.query.seat ?? "", required: true, maxLength: 64, autocomplete: "off", spellcheck: false });
  let left = new AbortController(); // of the seat that is shown
  const show = async () => {
    const id = seat.value.trim();
    left.abort();
    left = new AbortController();
    const part = { ...page, signal: AbortSignal.any([page.signal, left.signal]) };
    stopLoading(result);
    if (!isSeatID(id)) throw new ApiError(422, { detail: "This is not a valid seat ID. Give an ID of the plan, such as A-1-1." });
    if (!page.signal.aborted) history.replaceState(null, "", `#/events/${event.id}?${new URLSearchParams({ seat: id })}`);
    await load(part, result, () => readSeat(event, id), (found) => result.replaceChildren(seatState(part, event, found, loaded, show)));
  };
  const node = form({ className: "fields seat" }, show, field("Seat ID", seat), el("button", { textContent: "Look up the seat" }));
  if (seat.value !== "") act(node, show);
  const choose = (id) => {
    seat.value = id;
    act(node, show);
  };
  return { node: el("div", { className: "stack" }, node, result), show: choose };
}

// readSeat reads a seat with its lock and the customer. An operator who looks for one sees them without another click.
async function readSeat(event, id) {
  const seat = await call("GET", `/api/events/${event.id}/seats/${encodeURIComponent(id)}`);
  const lock = seat.lockId ? await callIfExists(`/api/locks/${seat.lockId}`) : null;
  const user = !lock?.userId ? null : await callIfExists(`/api/users/${lock.userId}`);
  return { seat, lock, user };
}

function customerOf(lock, user) {
  if (lock === null) return "–";
  const a = customerLink(lock);
  if (user === null) return a;
  a.replaceChildren(user.name);
  return el("span", {}, a, " ", el("span", { className: "soft", textContent: user.email }));
}

function seatState(page, event, { seat, lock, user }, loaded, refresh) {
  const [section, category] = [seat.section, seat.category].map((textContent) => el("span", { textContent }));
  loaded.then((hall) => {
    setText(section, hall.sectionByKey.get(seat.section)?.name ?? seat.section);
    setText(category, hall.categories.find((c) => c.key === seat.category)?.name ?? seat.category);
  });
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const buttons = el("div", { className: "buttons" });
  const root = el("div", { className: "stack" }, lines(
    ["Seat", el("span", {}, `${seat.id}: `, section, `, ${words.row(seat.row)}, seat ${seat.label}`)], ["Category", category], ["State", badge(seat.state)],
    ["Lock", lock === null ? idLink("locks", seat.lockId) : el("span", {}, idLink("locks", lock.id), " ", badge(lock.status), " ", lock.status === "ACTIVE" ? time(lock.expiresAt) : "")],
    ["Booking", idLink("bookings", seat.bookingId)], ["Customer", customerOf(lock, user)]), buttons, problem);
  if (lock !== null) {
    root.append(el("h3", { className: "small", textContent: "History of the lock" }), historyOf(page, {
      eventId: event.id, subjects: subjectsOf(lock, seat.bookingId), since: lock.createdAt, first: "holdfast.lock.created",
    }));
  }
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
