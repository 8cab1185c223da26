// The console: what the API tells operators, once a second, and the two things
// that it lets them do: run a job, free a lease.

import { call, key } from "./api.js";
import * as clock from "./clock.js";
import { byID, el, every, keyed, part, setNumber, setText } from "./dom.js";
import { showJobs } from "./jobs.js";
import { guarded } from "./talk.js";

// Events and locks.

const names = new Map(); // of events, by ID
const behind = []; // the places of the pages before this one
let last = "";

async function overview() {
  const at = behind.at(-1) ?? "";
  const sent = Date.now();
  const state = await call("GET", `/api/admin/overview${at === "" ? "" : `?behind=${at}`}`);
  clock.learn(state.time, sent, Date.now());
  if (at !== (behind.at(-1) ?? "")) return; // somebody turned the page
  setText(byID("clock"), `${state.time.slice(11, 19)} UTC by the database`);
  for (const e of state.events) names.set(e.id, e.name);
  keyed(byID("events"), state.events, (e) => e.id, eventRow, showEvent);
  byID("no-events").hidden = state.events.length > 0 || at !== "";
  keyed(byID("expiring"), state.expiring, (l) => l.id, lockRow, showLock);
  byID("no-expiring").hidden = state.expiring.length > 0;
  const sum = (field) => state.events.reduce((n, e) => n + e[field], 0);
  setNumber(byID("sum-available"), sum("availableSeats"));
  setNumber(byID("sum-locked"), sum("lockedSeats"));
  setNumber(byID("sum-sold"), sum("soldSeats"));
  setNumber(byID("sum-oversold"), sum("oversold"));
  byID("oversold-tile").classList.toggle("alarm", sum("oversold") > 0);
  setNumber(byID("due"), state.dueLocks);
  last = state.events.at(-1)?.id ?? "";
  byID("newer").disabled = behind.length === 0;
  byID("older").disabled = !state.more;
  byID("of-page").hidden = !state.more && behind.length === 0;
}

const cell = (name, className, ...children) => el("td", { className, "data-name": name }, ...children);

function eventRow(e) {
  return el("tr", {},
    el("td", {}, el("div", {}, el("strong", { "data-part": "name" }), " ", el("span", { "data-part": "status", className: "badge" })),
      el("code", { className: "soft", textContent: e.id })),
    el("td", { className: "wide" }, el("div", { className: "bar", role: "img", "data-part": "bar" },
      el("span", { className: "sold" }), el("span", { className: "locked" }))),
    ...["Available", "Locked", "Sold", "Total"].map((name) => cell(name, "right", el("span", { "data-part": name }))));
}

const tones = { ON_SALE: "good", CLOSED: "warn", CANCELLED: "bad" };

function showEvent(row, e) {
  setText(part(row, "name"), e.name);
  setText(part(row, "status"), e.oversold ? `${e.status} · ${e.oversold} oversold` : e.status);
  part(row, "status").className = `badge ${e.oversold ? "bad" : tones[e.status] ?? ""}`;
  const bar = part(row, "bar");
  bar.setAttribute("aria-label", `${e.soldSeats} sold, ${e.lockedSeats} locked, ${e.availableSeats} available of ${e.totalSeats}`);
  const whole = Math.max(e.totalSeats, e.soldSeats + e.lockedSeats, 1);
  bar.children[0].style.width = `${(100 * e.soldSeats) / whole}%`;
  bar.children[1].style.width = `${(100 * e.lockedSeats) / whole}%`;
  setNumber(part(row, "Available"), e.availableSeats);
  setNumber(part(row, "Locked"), e.lockedSeats);
  setNumber(part(row, "Sold"), e.soldSeats);
  setNumber(part(row, "Total"), e.totalSeats);
}

const shortID = (id) => el("code", { textContent: `…${id.slice(-8)}`, title: id });

function lockRow(l) {
  return el("tr", {}, el("td", {}, shortID(l.id)), el("td", { "data-part": "event" }),
    el("td", { className: "right", textContent: l.seats }), el("td", { className: "right" }, el("span", { "data-part": "left" })));
}

function showLock(row, l) {
  setText(part(row, "event"), names.get(l.eventId) ?? `…${l.eventId.slice(-8)}`);
  row.dataset.until = l.expiresAt;
  showLeft(row);
}

function showLeft(row) {
  const ms = clock.left(row.dataset.until);
  setText(part(row, "left"), ms > 0 ? clock.remaining(ms) : "due");
  part(row, "left").className = ms > 0 ? "" : "badge warn";
}

// What wants looking at.

function showStatus(status) {
  setText(byID("status"), status);
  byID("status").className = `badge ${{ ok: "good", degraded: "warn" }[status] ?? "bad"}`;
}

async function health() {
  const state = await call("GET", "/api/admin/health").catch((refusal) => {
    showStatus(refusal.status === 0 ? "no answer" : "unavailable");
    throw refusal;
  });
  showStatus(state.status);
  keyed(byID("checks"), Object.entries(state.checks).sort(), ([name]) => name,
    ([name]) => el("div", { className: "pairline" }, el("dt", { textContent: name }), el("dd")),
    (node, [, says]) => setText(node.lastChild, says));
  keyed(byID("bookings"), state.bookings, (b) => b.status,
    (b) => el("tr", {}, el("td", { textContent: b.status }), el("td", { className: "right" })),
    (row, b) => setText(row.lastChild, b.count.toLocaleString("en") + (b.more ? " or more" : "")));
  keyed(byID("failed"), state.failedRuns, (r) => r.id,
    (r) => el("li", {}, el("span", { className: "badge bad", textContent: r.job }), " ", el("span", { "data-part": "when", className: "soft small" }),
      el("div", { textContent: r.reason ?? "" }), el("code", { className: "soft", textContent: r.id })),
    (li, r) => setText(part(li, "when"), clock.ago(r.finishedAt ?? r.startedAt)));
  byID("no-failed").hidden = state.failedRuns.length > 0;
  const lines = state.log.map((line, i) => ({ ...line, key: `${line.at} ${line.message} ${state.log.length - i}` }));
  keyed(byID("log"), lines, (line) => line.key,
    (line) => el("li", {}, el("span", { className: `badge ${line.level === "ERROR" ? "bad" : "warn"}`, textContent: line.level }), " ",
      el("span", { "data-part": "when", className: "soft small" }), el("div", { textContent: line.message }),
      el("code", { className: "soft", textContent: Object.entries(line.attributes).map(([k, v]) => `${k}=${v}`).join(" ") })),
    (li, line) => setText(part(li, "when"), clock.ago(line.at)));
  byID("no-log").hidden = lines.length > 0;
}

// Drift.

async function survey() {
  const button = byID("survey");
  button.disabled = true;
  setText(byID("survey-said"), "Reading all locks and bookings …");
  try {
    const found = await call("GET", "/api/admin/survey");
    const wrong = found.findings.filter((f) => f.count > 0 && f.kind !== "ordinary");
    setText(byID("survey-said"), wrong.length === 0
      ? `All is well: ${found.eventsMeasured.toLocaleString("en")} counters agree with their locks, and bookings with theirs.`
      : `${found.eventsMeasured.toLocaleString("en")} counters were proved. Run recovery mends what can be mended.`);
    keyed(byID("findings"), wrong, (f) => f.what, () => el("li", {}), (li, f) => {
      li.replaceChildren(el("span", { className: `badge ${f.kind === "people" ? "bad" : "warn"}`, textContent: f.count }), ` ${f.what} `,
        el("div", { className: "small soft", textContent: [f.says, f.would].filter(Boolean).join(" · ") }));
    });
  } catch (refusal) {
    setText(byID("survey-said"), refusal.message);
  } finally {
    button.disabled = false;
  }
}

byID("survey").addEventListener("click", survey);
byID("forget").addEventListener("click", () => {
  key.forget();
  location.reload();
});

const nowOverview = every(1000, () => guarded("overview", overview));
every(4000, () => guarded("health", async () => {
  await health();
  await showJobs();
  byID("forget").hidden = key.get() === "";
}));
byID("older").addEventListener("click", () => {
  behind.push(last);
  nowOverview();
});
byID("newer").addEventListener("click", () => {
  behind.pop();
  nowOverview();
});
setInterval(() => {
  for (const row of byID("expiring").children) showLeft(row);
}, 1000);
