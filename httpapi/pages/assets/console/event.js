// The page of an event: its seats now, its sections, its sales, its settings, its locks and bookings.

import { saleOf, saleText, words } from "/assets/holdfast-seats.js";
import { call } from "../api.js";
import { now } from "../clock.js";
import { el, part, setNumber, setText, updateList } from "../dom.js";
import { seatsCard } from "./event_seats.js";
import { settingsCard } from "./event_settings.js";
import { idLink, lines, setBadge, shopLines, time } from "./format.js";
import { bookingColumns, lockColumns, shortList } from "./lists.js";
import { inOrder, keepUp, kindCard, load } from "./parts.js";
import { link, setTitle } from "./router.js";
import { salesCard } from "./sales.js";

const tiles = [
  ["Seats available", "availableSeats", "free"], ["Seats locked", "lockedSeats", "locked"], ["Seats sold", "soldSeats", "sold"],
  ["Seats blocked", "blockedSeats", ""], ["Seats in total", "totalSeats", ""], ["Seats oversold", "oversold", ""], ["Waiting", "waiting", ""],
];

export async function eventPage(page) {
  setTitle("Event");
  await load(page, page.root, () => call("GET", `/api/events/${page.id}`), (event) => {
    setTitle(event.name);
    const state = stateOf(event);
    page.root.append(state.facts, state.tiles);
    if (event.seatingPlanId) page.root.append(seatsCard(page, event));
    const refresh = inOrder(async () => {
      const summary = await call("GET", `/api/admin/events/${event.id}`);
      return [summary, await settings.readRun(summary)];
    }, ([summary, run]) => {
      state.show(summary);
      settings.showState(summary, run);
    });
    const settings = settingsCard(event, refresh);
    page.root.append(settings.node, salesCard(page, event));
    keepUp(page, 2000, state.facts, refresh);
    const filter = { eventId: event.id };
    shortList(page, { path: "bookings", title: "Bookings", columns: bookingColumns, filter, empty: "No bookings yet." });
    shortList(page, { path: "locks", title: "Locks", columns: lockColumns, filter, empty: "No locks yet." });
  });
}

// stateOf returns what the page shows of an event at its top, and a function that shows a new summary there.
function stateOf(event) {
  const [date, sale] = [el("span"), el("span", { className: "small soft" })];
  const facts = kindCard("Event", event.name, [sale, el("span", { className: "badge", "data-part": "status" })], lines(
    ["ID", el("code", { textContent: event.id })],
    ["Date", date],
    ["Seating plan", idLink("plans", event.seatingPlanId)],
    ...shopLines(event),
    ["Created", time(event.createdAt)],
    ["Waiting list", el("a", { href: link(`waitlist/${event.id}`), textContent: "Entries and settings of the waiting list" })],
    ["Sell at the counter", el("a", { href: link(`counter/${event.id}`), textContent: "Sell seats of this event" })],
    ["Seats by their state", el("a", { href: link(`reports/${event.id}`), textContent: "Report of this event" })],
    ["What was done", el("a", { href: link("audit", { target: event.id }), textContent: "Audit of this event" })]));
  const list = el("dl", { className: "tiles", "aria-label": "Seats" });
  const show = (summary) => {
    setBadge(part(facts, "status"), summary.status);
    setText(facts.querySelector("h2"), summary.name);
    setText(sale, saleOf(summary, now()) === "closed" ? "" : saleText(summary, now(), words, "en") ?? "");
    date.replaceChildren(time(summary.eventDate));
    const shown = tiles.filter(([, field]) => summary[field] !== undefined && (field !== "oversold" || summary.oversold > 0));
    updateList(list, shown, ([, field]) => field,
      ([name, , className]) => el("div", { className: `tile ${className}` }, el("dt", { textContent: name }), el("dd")),
      (node, [, field]) => setNumber(node.lastChild, summary[field]));
  };
  return { facts, tiles: list, show };
}
