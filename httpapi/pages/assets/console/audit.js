// The audit: what was done in the console, and with which key.

import { call } from "../api.js";
import { el } from "../dom.js";
import { count, idLink, time } from "./format.js";
import { query } from "./lists.js";
import { card, field, form, load, table } from "./parts.js";
import { goTo, link, setTitle } from "./router.js";

// Actions by method and path; a function gets the parts of the path that * stands for, and the body.
const actions = [
  ["POST", "/api/events", ([body]) => `created the event ${typeof body.name === "string" ? body.name : ""}`],
  ["PATCH", "/api/events/*", ([, body]) => `changed the event: ${settings(body)}`],
  ["POST", "/api/events/*/seats/block", ([, body]) => `blocked ${seatsIn(body)}`],
  ["POST", "/api/events/*/seats/unblock", ([, body]) => `unblocked ${seatsIn(body)}`],
  ["PATCH", "/api/users/*", () => "changed the user"],
  ["POST", "/api/users/*/erase", () => "erased the user"],
  ["POST", "/api/holders/erase", () => "erased a holder"],
  ["POST", "/api/admin/events/*/cancel", () => "cancelled the event with its locks and bookings"],
  ["DELETE", "/api/locks/*", () => "released the lock"],
  ["PUT", "/api/bookings/*/seats", () => "changed the seats of the booking"],
  ["POST", "/api/bookings/*/transfer", () => "gave the booking to another customer"],
  ["POST", "/api/events/*/sales", () => "sold seats at the counter"],
  ["POST", "/api/payments/*/refunds", () => "made a part of the payment due for refund"],
  ["POST", "/api/payments/*/refunds/*/refunded", () => "noted the refund of a part of the payment"],
  ["POST", "/api/payments/*/refunded", () => "noted the refund of the payment"],
  ["POST", "/api/seating-plans", ([body]) => `created the seating plan ${typeof body.name === "string" ? body.name : ""}`],
  ["POST", "/api/admin/jobs/*/run", ([job]) => `ran the job ${job}`],
  ["DELETE", "/api/admin/jobs/*/lease", ([job]) => `freed the lease of ${job}`],
  ["POST", "/api/webhooks", ([body]) => `created an endpoint: ${settings(body)}`],
  ["PATCH", "/api/webhooks/*", ([, body]) => `changed the endpoint: ${settings(body)}`],
  ["DELETE", "/api/webhooks/*", () => "deleted the endpoint"],
  ["POST", "/api/webhooks/*/rotate-secret", ([, body]) => `made a new secret of the endpoint: ${settings(body)}`],
  ["POST", "/api/webhooks/*/test", () => "sent a test event to the endpoint"],
  ["POST", "/api/webhooks/*/replay", ([, body]) => `replayed changes to the endpoint: ${settings(body)}`],
];

const settings = (body) => Object.entries(body).map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`).join(", ");

function seatsIn({ seatIds }) {
  if (!Array.isArray(seatIds)) return "seats";
  return seatIds.length === 1 ? `seat ${seatIds[0]}` : `${count(seatIds.length, "seat")}: ${seatIds.join(", ")}`;
}

// describe says what a request did. A body may be anything, because refused requests are listed too, and of a long one
// the end is missing: then its beginning is shown as it is.
function describe(entry) {
  const text = entry.body ?? "";
  let body = {};
  try {
    body = JSON.parse(text === "" ? "{}" : text) ?? {};
  } catch {
    return `${entry.method} ${entry.path} ${text}`;
  }
  for (const [method, pattern, say] of actions) {
    const found = new RegExp(`^${pattern.replaceAll("*", "([^/]+)")}$`).exec(entry.path);
    if (method === entry.method && found !== null) return say([...found.slice(1), body]);
  }
  return `${entry.method} ${entry.path}`;
}

const pages = { events: "events", locks: "locks", bookings: "bookings", payments: "payments", "seating-plans": "plans", users: "users", webhooks: "webhooks" };

function targetLink(entry) {
  const [kind] = entry.path.replace(/^\/api\/(admin\/)?/, "").split("/");
  const path = pages[kind];
  return path === undefined || !entry.targetId ? "–" : el("span", {}, `${kind.replace("-", " ").replace(/s$/, "")} `, idLink(path, entry.targetId));
}

function outcome({ status }) {
  if (status >= 200 && status < 300) return el("span", { className: "badge good", textContent: "done" });
  // Without an answer, or with 503, it may have been done: the changes with the request's ID say so.
  const text = status === 0 || status >= 500 ? `unknown (${status || "no answer"})` : `refused (${status})`;
  return el("span", { className: `badge ${status >= 400 && status < 500 ? "warn" : "bad"}`, textContent: text });
}

const columns = [
  { name: "Time", cell: (e) => time(e.at) },
  { name: "Key", cell: (e) => (e.actor ? el("a", { href: link("audit", { actor: e.actor }), textContent: e.actor }) : "no key") },
  { name: "What", cell: describe },
  { name: "Of", cell: targetLink },
  { name: "Outcome", cell: outcome },
  { name: "Request", cell: (e) => el("code", { textContent: e.requestId.replace("console-", "") }) },
];

export async function auditPage(page) {
  setTitle("Audit");
  const { actor = "", target = "", pageToken = "" } = page.query;
  const body = el("div");
  const id = el("input", { name: "target", value: target, pattern: "[0-9a-fA-F]{24}", maxLength: 24, title: "24 hex digits", autocomplete: "off", spellcheck: false });
  page.root.append(card("Audit", [], el("p", { className: "soft small", textContent: "What was done in the console, and to webhooks by any program, with which key, newest first, for a year. Other programs are not listed here: " +
    "the history of a booking or a lock says who changed it." }), form({ className: "fields" },
    (fields) => goTo("audit", { actor: fields.actor.value.trim(), target: fields.target.value.trim() }),
    field("Key", el("input", { name: "actor", value: actor, maxLength: 200, autocomplete: "off" }), "query.actor"),
    field("ID of the event, lock or other target", id, "query.targetId"), el("button", { className: "primary", textContent: "Filter" })), body));
  const read = () => call("GET", `/api/admin/audit?${query({ actor, targetId: target, pageSize: 50, pageToken })}`);
  await load(page, body, read, ({ items, nextPageToken }) => {
    body.replaceChildren(items.length === 0 ? el("p", { className: "soft", textContent: "Nothing was done." }) : table("Audit", columns, items));
    const links = el("p", { className: "buttons" });
    if (pageToken !== "") links.append(el("a", { className: "button", href: link("audit", { actor, target }), textContent: "Newest" }));
    if (nextPageToken !== "") links.append(el("a", { className: "button", href: link("audit", { actor, target, pageToken: nextPageToken }), textContent: "Older" }));
    body.append(links);
  });
}
