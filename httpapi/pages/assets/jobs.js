// The console's jobs: who schedules, the last runs, and what one may do.

import { Refusal, call } from "./api.js";
import * as clock from "./clock.js";
import { byID, el, keyed, part, setText } from "./dom.js";
import { guarded, say, sure } from "./talk.js";

const tones = { completed: "good", running: "warn", failed: "bad" };

export async function showJobs() {
  const { items } = await call("GET", "/api/admin/jobs");
  keyed(byID("jobs"), items, (job) => job.name, jobRow, showJob);
  const leader = items[0]?.leader ?? {};
  setText(byID("leader"), tell(leader, "nobody: start a worker"));
  byID("free-leader").hidden = leader.state !== "held";
  const reconcile = items.find((job) => job.name === "reconcile")?.lastRun;
  setText(byID("audit"), reconcile === undefined ? "No audit was made yet."
    : `Last audit ${clock.ago(reconcile.startedAt)}: ${reconcile.outcome}; ${reconcile.applied} counters corrected.`);
}

function tell(lease, nobody) {
  if (lease.state === "held") return lease.holder;
  return lease.state === "unknown" ? "unknown: the store of leases does not answer" : nobody;
}

function jobRow(job) {
  const runs = el("ul", { className: "list small" });
  const more = el("details", { ontoggle: () => { if (more.open) guarded("runs", () => showRuns(job.name, runs)); } }, el("summary", { className: "small", textContent: "Last runs" }), runs);
  return el("tr", {},
    el("td", {}, el("div", {}, el("strong", { textContent: job.name }), el("div", { className: "small soft", "data-part": "interval" }))),
    el("td", { "data-name": "Last run" }, el("div", {}, el("span", { className: "badge", "data-part": "outcome" }), " ", el("span", { className: "small", "data-part": "run" }), more)),
    el("td", { "data-name": "Contention", className: "number" }, el("span", { "data-part": "contended" })),
    el("td", { "data-name": "Lease" }, el("div", { "data-part": "lease", className: "small" })),
    el("td", {}, el("div", { className: "buttons" },
      el("button", { "data-part": "now", textContent: "Run now", "aria-label": `Run now: ${job.name}`, onclick: (event) => runNow(job.name, event.currentTarget) }),
      el("button", { "data-part": "free", textContent: "Free lease", "aria-label": `Free lease: ${job.name}`, onclick: () => free(job.name) }))));
}

function showJob(row, job) {
  const run = job.lastRun;
  setText(part(row, "interval"), job.interval === "" ? (job.name === "recovery" ? "at every start" : "not scheduled") : `every ${job.interval.replace(/(?<=[hm])0[ms]/g, "")}`);
  setText(part(row, "outcome"), run?.outcome ?? "never ran");
  part(row, "outcome").className = `badge ${tones[run?.outcome] ?? ""}`;
  setText(part(row, "run"), run === undefined ? "" : `${clock.ago(run.startedAt)} · ${counts(run)}`);
  setText(part(row, "contended"), run === undefined ? "" : run.contended === 0 ? "none" : `${run.contended} met its last run`);
  setText(part(row, "lease"), job.lease.state === "free" ? "free" : tell(job.lease, ""));
  part(row, "free").disabled = job.lease.state === "free";
}

const counts = (run) => `found ${run.found}, applied ${run.applied}` + (run.errors > 0 ? `, errors ${run.errors}` : "") +
  (run.seatsRestored > 0 ? `, ${run.seatsRestored} seats restored` : "");

async function showRuns(name, list) {
  const { items } = await call("GET", `/api/admin/jobs/${name}/runs?pageSize=8`);
  list.replaceChildren(...items.map((run) => el("li", {}, el("span", { className: `badge ${tones[run.outcome]}`, textContent: run.outcome }),
    ` ${clock.ago(run.startedAt)}, ${run.trigger} · ${counts(run)}` + (run.contended > 0 ? `, contended ${run.contended}` : "") + (run.reason ? ` · ${run.reason}` : ""),
    el("div", { className: "soft mono", textContent: run.pod }))));
  if (items.length === 0) list.replaceChildren(el("li", { textContent: "None is kept." }));
}

async function runNow(name, button) {
  button.disabled = true;
  say(`${name} runs …`);
  try {
    const run = await call("POST", `/api/admin/jobs/${name}/run`);
    say(run.outcome === "running" ? `${name} goes on; look at its last run.` : `${name} ${run.outcome}: ${counts(run)}.` + (run.reason ? ` ${run.reason}` : ""));
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    say(refusal.code === "JOB_RUNNING" ? `${name} is being run by ${refusal.problem.holder}.` : `${name} was not run: ${refusal.message}`);
  } finally {
    button.disabled = false;
  }
  await guarded("health", showJobs);
}

async function free(name) {
  const yes = await sure(`Free the lease of ${name}?`,
    "Its holder, dead or alive, loses it. A run that lives is cancelled at its next renewal; no seat is at risk, the work is done again.", "Free it");
  if (!yes) return;
  try {
    const freed = await call("DELETE", `/api/admin/jobs/${name}/lease`);
    say(freed.freed ? `The lease of ${name} is free; ${freed.from} had it.` : `Nobody held the lease of ${name}.`);
  } catch (refusal) {
    if (!(refusal instanceof Refusal)) throw refusal;
    say(`The lease of ${name} was not freed: ${refusal.message}`);
  }
  await guarded("health", showJobs);
}

byID("free-leader").addEventListener("click", () => free("leader"));
