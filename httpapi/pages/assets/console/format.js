// How the pages write numbers, times, states and IDs.

import { call } from "../api.js";
import { el, setText } from "../dom.js";
import { link } from "./router.js";

export const number = (n) => n.toLocaleString("en");

// count writes a number with its noun: 1 seat, 2 seats.
export const count = (n, noun, plural = `${noun}s`) => `${number(n)} ${n === 1 ? noun : plural}`;

// time writes a time of the API to the second, in UTC; an absent one is a dash.
export function time(text) {
  if (!text) return "–";
  return el("time", { dateTime: text, className: "number", title: text, textContent: `${text.slice(0, 10)} ${text.slice(11, 19)} UTC` });
}

const tones = {
  ON_SALE: "good", CLOSED: "warn", CANCELLED: "bad", ACTIVE: "warn", CONSUMED: "good", CONFIRMED: "good", PAYMENT_PENDING: "warn", INITIATED: "warn",
  AVAILABLE: "good", LOCKED: "warn", SOLD: "good", BLOCKED: "bad",
  ACCEPTED: "good", REFUND_DUE: "bad", DUE: "bad",
  OPEN: "good", PAUSED: "warn", WAITING: "warn", OFFERED: "good",
  ENABLED: "good", DISABLED: "bad", PENDING: "warn", DELIVERED: "good", DEAD: "bad",
};

export const badge = (status) => el("span", { className: `badge ${tones[status] ?? ""}`, textContent: status });

export function setBadge(node, status) {
  setText(node, status);
  node.className = `badge ${tones[status] ?? ""}`;
}

// idLink links to the page of a document; an absent ID is a dash.
export function idLink(path, id) {
  if (!id) return "–";
  return el("a", { href: link(`${path}/${id}`), title: id }, el("code", { textContent: `…${id.slice(-8)}` }));
}

// customerLink links to the page of the user or the holder that an item is for.
export function customerLink({ userId, holder }) {
  if (holder === undefined) return idLink("users", userId);
  return el("a", { href: link("holders", { holder }) }, el("bdi", { textContent: holder }));
}

const eventNames = new Map(); // {name: a promise, readAt: ms} by ID, the oldest first
const maxEventNames = 200; // more than a page of a list has
const eventNameLifetime = 15_000; // ms; an operator may have changed the name

function eventName(id) {
  const known = eventNames.get(id);
  if (known !== undefined && performance.now() - known.readAt < eventNameLifetime) return known.name;
  const read = { name: call("GET", `/api/events/${id}`).then((e) => e.name), readAt: performance.now() };
  eventNames.delete(id); // so that it is last
  eventNames.set(id, read);
  if (eventNames.size > maxEventNames) eventNames.delete(eventNames.keys().next().value);
  read.name.catch(() => { if (eventNames.get(id) === read) eventNames.delete(id); });
  return read.name;
}

// eventLink is idLink for an event; it shows the event's name once that is known.
export function eventLink(id) {
  const a = idLink("events", id);
  if (id) eventName(id).then((name) => a.replaceChildren(name), () => {}); // without its name it has its ID
  return a;
}

// seats writes how many seats a lock or a booking has, and which.
export function seats(of) {
  const text = count(of.seats, "seat");
  const places = (of.places ?? []).map((p) => p.seatId ?? `section ${p.section}`);
  if (places.length === 0) return text;
  const shown = places.slice(0, 8).join(", ") + (places.length > 8 ? ` and ${places.length - 8} more` : "");
  return el("span", { title: places.join(", ") }, `${text}: `, el("span", { className: "soft", textContent: shown }));
}

// shopLines returns the lines of what a shop keeps with an event, a lock or a booking. A shop's key may be a name that Holdfast
// uses too, so keys have a prefix.
export const shopLines = ({ reference, metadata = {} }) => [
  ["Reference", reference ?? "none"],
  ...Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, el("span", { textContent: value })]),
];

// lines is a list of names and values.
export const lines = (...pairs) => el("dl", { className: "facts" }, ...pairs.map(([name, value]) =>
  el("div", {}, el("dt", { textContent: name }), el("dd", {}, value ?? "–"))));
