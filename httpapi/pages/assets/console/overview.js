// The console's first page: the state of the sale and of the service. Its actions are to run a job and to free a
// lease.

import { call } from "../api.js";
import * as clock from "../clock.js";
import { byID, el, isOff, part, poll, setNumber, setOff, setText, updateList, whileOff } from "../dom.js";
import { clearErrors, needsKey, showErrors } from "../feedback.js";
import { showJobs } from "../jobs.js";
import { time } from "./format.js";
import { query } from "./lists.js";
import { goTo, link } from "./router.js";

// Events and locks

const eventNames = new Map(); // by ID
const pagePositions = []; // for each page from the second to this one, the last event ID of the page before
let lastEventID = ""; // the position of the next page
let filter = {}; // of the events: {name, status}
let shown = null; // the filter and position of the list that is shown

// showEvents lists the events that have a name and a status; both may be left out.
export function showEvents({ name = "", status = "" }) {
  filter = { name, status };
  for (const [field, value] of Object.entries(filter)) byID("event-filter").elements[field].value = value;
  pagePositions.length = 0;
  shown = null;
  refreshOverview();
}

async function showOverview() {
  const behind = pagePositions.at(-1) ?? "";
  const sentAt = performance.now();
  const asked = filter;
  const isFiltered = query(filter) !== "";
  const list = query({ behind, ...filter });
  const isRead = isFiltered && shown === list; // a filtered list is read once, because a search costs more
  const state = await call("GET", `/api/admin/overview?${isRead ? "pageSize=1" : list}`);
  clock.sync(state.time, sentAt);
  if (behind !== (pagePositions.at(-1) ?? "") || asked !== filter) return; // the user has changed the page
  setText(byID("clock"), `Database time ${state.time.slice(11, 19)} UTC`);
  for (const e of state.events) eventNames.set(e.id, e.name);
  updateList(byID("expiring"), state.expiring, (l) => l.id, createLockRow, updateLockRow);
  byID("no-expiring").hidden = state.expiring.length > 0;
  setNumber(byID("due"), state.dueLocks);
  if (isRead) return;
  shown = list;
  updateList(byID("events"), state.events, (e) => e.id, createEventRow, updateEventRow);
  setText(byID("no-events"), state.more ? "No event matches in this part of the list; Older goes on."
    : behind !== "" ? "No older event matches." : isFiltered ? "No event matches." : "No events yet.");
  byID("no-events").hidden = state.events.length > 0 || behind !== "" && !isFiltered;
  const sum = (field) => state.events.reduce((n, e) => n + e[field], 0);
  setNumber(byID("sum-available"), sum("availableSeats"));
  setNumber(byID("sum-locked"), sum("lockedSeats"));
  setNumber(byID("sum-sold"), sum("soldSeats"));
  setNumber(byID("sum-oversold"), sum("oversold"));
  byID("oversold-tile").classList.toggle("alarm", sum("oversold") > 0);
  lastEventID = state.last ?? "";
  setOff(byID("newer"), pagePositions.length === 0);
  setOff(byID("older"), !state.more);
  byID("page-note").hidden = !state.more && pagePositions.length === 0 && !isFiltered;
  setText(byID("page-note"), `The totals count the events on this page only.${isFiltered ? " A filtered list is not refreshed: press Filter again." : ""}`);
}

const cell = (name, className, ...children) => el("td", { className, "data-name": name }, ...children);

function createEventRow(e) {
  return el("tr", {},
    el("td", {}, el("div", {}, el("a", { "data-part": "name", className: "strong", href: link(`events/${e.id}`) }), " ", el("span", { "data-part": "status", className: "badge" })),
      el("code", { className: "soft", textContent: e.id }), " ", el("span", { "data-part": "reference", className: "soft" }), " ",
      el("a", { "data-part": "waiting", className: "small", href: link(`waitlist/${e.id}`) })),
    cell("Date", "", el("div", { "data-part": "date" })),
    el("td", { className: "wide" }, el("div", { className: "bar", role: "img", "data-part": "bar" },
      el("span", { className: "sold" }), el("span", { className: "locked" }))),
    ...["Available", "Locked", "Sold", "Total"].map((name) => cell(name, "right", el("span", { "data-part": name }))));
}

const tones = { ON_SALE: "good", CLOSED: "warn", CANCELLED: "bad" };

function updateEventRow(row, e) {
  setText(part(row, "name"), e.name);
  setText(part(row, "reference"), e.reference ?? "");
  setText(part(row, "waiting"), e.waiting === undefined ? "" : `${e.waiting.toLocaleString("en")} waiting`);
  part(row, "waiting").hidden = e.waiting === undefined;
  setText(part(row, "status"), e.oversold ? `${e.status} · ${e.oversold} oversold` : e.status);
  part(row, "status").className = `badge ${e.oversold ? "bad" : tones[e.status] ?? ""}`;
  if (row.dataset.date !== e.eventDate) part(row, "date").replaceChildren(time(e.eventDate));
  row.dataset.date = e.eventDate;
  const bar = part(row, "bar");
  bar.setAttribute("aria-label", `${e.soldSeats} sold, ${e.lockedSeats} locked, ${e.availableSeats} available of ${e.totalSeats}`);
  const width = Math.max(e.totalSeats, e.soldSeats + e.lockedSeats, 1);
  bar.children[0].style.width = `${(100 * e.soldSeats) / width}%`;
  bar.children[1].style.width = `${(100 * e.lockedSeats) / width}%`;
  setNumber(part(row, "Available"), e.availableSeats);
  setNumber(part(row, "Locked"), e.lockedSeats);
  setNumber(part(row, "Sold"), e.soldSeats);
  setNumber(part(row, "Total"), e.totalSeats);
}

const shortID = (id) => el("code", { textContent: `…${id.slice(-8)}`, title: id });

function createLockRow(l) {
  return el("tr", {}, el("td", {}, el("a", { href: link(`locks/${l.id}`) }, shortID(l.id))), el("td", { "data-part": "event" }),
    el("td", { className: "right", textContent: l.seats }), el("td", { className: "right" }, el("span", { "data-part": "left" })));
}

function updateLockRow(row, l) {
  setText(part(row, "event"), eventNames.get(l.eventId) ?? `…${l.eventId.slice(-8)}`);
  row.dataset.expiresAt = l.expiresAt;
  showTimeLeft(row);
}

function showTimeLeft(row) {
  const ms = clock.timeUntil(row.dataset.expiresAt);
  setText(part(row, "left"), ms > 0 ? clock.formatRemaining(ms) : "due");
  part(row, "left").className = ms > 0 ? "" : "badge warn";
}

// Health

function showStatus(status) {
  setText(byID("status"), status);
  byID("status").className = `badge ${{ ok: "good", degraded: "warn" }[status] ?? "bad"}`;
}

async function showHealth() {
  const state = await call("GET", "/api/admin/health").catch((error) => {
    showStatus(needsKey(error) ? "needs a key" : error.status === 0 ? "no answer" : "unavailable");
    throw error;
  });
  showStatus(state.status);
  updateList(byID("checks"), Object.entries(state.checks).sort(), ([name]) => name,
    ([name]) => el("div", { className: "pairline" }, el("dt", { textContent: name }), el("dd")),
    (node, [, result]) => setText(node.lastChild, result));
  updateList(byID("bookings"), state.bookings, (b) => b.status,
    (b) => el("tr", {}, el("td", {}, el("a", { href: link("bookings", { status: b.status }), textContent: b.status })), el("td", { className: "right" })),
    (row, b) => setText(row.lastChild, b.count.toLocaleString("en") + (b.more ? " or more" : "")));
  updateList(byID("failed"), state.failedRuns, (r) => r.id,
    (r) => el("li", {}, el("span", { className: "badge bad", textContent: r.job }), " ", el("span", { "data-part": "when", className: "soft small" }),
      el("div", { textContent: r.reason ?? "" }), el("code", { className: "soft", textContent: r.id })),
    (li, r) => setText(part(li, "when"), clock.formatAgo(r.finishedAt ?? r.startedAt)));
  byID("no-failed").hidden = state.failedRuns.length > 0;
  const lines = state.log.map((line, i) => ({ ...line, key: `${line.at} ${line.message} ${state.log.length - i}` }));
  updateList(byID("log"), lines, (line) => line.key,
    (line) => el("li", {}, el("span", { className: `badge ${line.level === "ERROR" ? "bad" : "warn"}`, textContent: line.level }), " ",
      el("span", { "data-part": "when", className: "soft small" }), el("div", { textContent: line.message }),
      el("code", { className: "soft", textContent: Object.entries(line.attributes).map(([k, v]) => `${k}=${v}`).join(" ") })),
    (li, line) => setText(part(li, "when"), clock.formatAgo(line.at)));
  byID("no-log").hidden = lines.length > 0;
}

// Seat counters

const runSurvey = () => whileOff(byID("survey"), async () => {
  setText(byID("survey-result"), "Reading all locks and bookings …");
  try {
    const survey = await call("GET", "/api/admin/survey");
    const problems = survey.findings.filter((f) => f.count > 0 && f.kind !== "ordinary");
    const measured = survey.eventsMeasured.toLocaleString("en");
    setText(byID("survey-result"), problems.length === 0
      ? `No problems: the seat counters of ${measured} events and all bookings agree with their locks.`
      : `${measured} seat counters were checked. To repair what can be repaired, run the job recovery.`);
    updateList(byID("findings"), problems, (f) => f.what, () => el("li", {}), (li, f) => {
      li.replaceChildren(el("span", { className: `badge ${f.kind === "people" ? "bad" : "warn"}`, textContent: f.count }), ` ${f.what} `,
        el("div", { className: "small soft", textContent: [f.says, f.would].filter(Boolean).join(" · ") }));
    });
  } catch (error) {
    setText(byID("survey-result"), error.message);
  }
});

byID("survey").addEventListener("click", runSurvey);
// While another page is shown, only the status on top is read.
const isShown = () => !byID("overview").hidden;

const refreshOverview = poll(1000, () => isShown() ? showErrors("overview", showOverview) : ["overview", "runs"].forEach(clearErrors));
export const refreshHealth = poll(4000, () => showErrors("health", async () => {
  await showHealth();
  if (isShown()) await showJobs();
}));
byID("event-filter").addEventListener("submit", (event) => {
  event.preventDefault();
  const { name, status } = event.target.elements;
  goTo("", { name: name.value.trim(), status: status.value });
});
byID("older").addEventListener("click", ({ currentTarget }) => {
  if (isOff(currentTarget)) return;
  pagePositions.push(lastEventID);
  refreshOverview();
});
byID("newer").addEventListener("click", ({ currentTarget }) => {
  if (isOff(currentTarget)) return;
  pagePositions.pop();
  refreshOverview();
});
setInterval(() => {
  for (const row of byID("expiring").children) showTimeLeft(row);
}, 1000);
