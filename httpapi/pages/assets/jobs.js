// The console's jobs: the leader, the last runs, and the actions on a job.

import { ApiError, call } from "./api.js";
import * as clock from "./clock.js";
import { count } from "./console/format.js";
import { byID, el, isOff, part, setOff, setText, updateList, whileOff } from "./dom.js";
import { confirmAction, showErrors, showToast } from "./feedback.js";

const tones = { completed: "good", running: "warn", failed: "bad" };

export async function showJobs() {
  const { items } = await call("GET", "/api/admin/jobs");
  updateList(byID("jobs"), items, (job) => job.name, createJobRow, updateJobRow);
  const leader = items[0]?.leader ?? {};
  setText(byID("leader"), describeHolder(leader, "no process. Start a worker."));
  byID("free-leader").hidden = leader.state !== "held";
  const reconcile = items.find((job) => job.name === "reconcile")?.lastRun;
  setText(byID("audit"), reconcile === undefined ? "The job reconcile has not run yet."
    : `Last check ${clock.formatAgo(reconcile.startedAt)}: ${reconcile.outcome}, ${count(reconcile.applied, "counter")} corrected.`);
}

// describeHolder returns the holder of a lease, or free if no process holds it.
function describeHolder(lease, free) {
  if (lease.state === "held") return lease.holder;
  return lease.state === "unknown" ? "unknown: the lease store does not answer, or refuses" : free;
}

function createJobRow(job) {
  const runs = el("ul", { className: "list small" });
  const more = el("details", { ontoggle: () => { if (more.open) showErrors("runs", () => showRuns(job.name, runs)); } }, el("summary", { className: "small", textContent: "Last runs" }), runs);
  return el("tr", {},
    el("td", {}, el("div", {}, el("strong", { textContent: job.name }), el("div", { className: "small soft", "data-part": "interval" }))),
    el("td", { "data-name": "Last run" }, el("div", {}, el("span", { className: "badge", "data-part": "outcome" }), " ", el("span", { className: "small", "data-part": "run" }), more)),
    el("td", { "data-name": "Contention", className: "number" }, el("span", { "data-part": "contended" })),
    el("td", { "data-name": "Lease" }, el("div", { "data-part": "lease", className: "small" })),
    el("td", {}, el("div", { className: "buttons" },
      el("button", { "data-part": "now", textContent: "Run now", "aria-label": `Run now: ${job.name}`, onclick: (event) => runNow(job.name, event.currentTarget) }),
      el("button", { "data-part": "free", textContent: "Free lease", "aria-label": `Free lease: ${job.name}`, onclick: ({ currentTarget }) => isOff(currentTarget) || freeLease(job.name) }))));
}

function updateJobRow(row, job) {
  const run = job.lastRun;
  setText(part(row, "interval"), describeInterval(job));
  setText(part(row, "outcome"), run?.outcome ?? "no run");
  part(row, "outcome").className = `badge ${tones[run?.outcome] ?? ""}`;
  setText(part(row, "run"), run === undefined ? "" : `${clock.formatAgo(run.startedAt)} · ${describeCounts(run)}`);
  setText(part(row, "contended"), run === undefined ? "" : run.contended === 0 ? "none" : `${run.contended} in the last run`);
  setText(part(row, "lease"), describeHolder(job.lease, "free"));
  setOff(part(row, "free"), job.lease.state === "free");
}

function describeInterval(job) {
  if (job.interval !== "") return `every ${job.interval.replace(/(?<=[hm])0[ms]/g, "")}`;
  return job.name === "recovery" ? "at every start" : "not scheduled";
}

const describeCounts = (run) => `found ${run.found}, applied ${run.applied}` + (run.errors > 0 ? `, errors ${run.errors}` : "") +
  (run.seatsRestored > 0 ? `, ${count(run.seatsRestored, "seat")} restored` : "");

async function showRuns(name, list) {
  const { items } = await call("GET", `/api/admin/jobs/${name}/runs?pageSize=8`);
  list.replaceChildren(...items.map((run) => el("li", {}, el("span", { className: `badge ${tones[run.outcome]}`, textContent: run.outcome }),
    ` ${clock.formatAgo(run.startedAt)}, ${run.trigger} · ${describeCounts(run)}` + (run.contended > 0 ? `, contended ${run.contended}` : "") + (run.reason ? ` · ${run.reason}` : ""),
    el("div", { className: "soft mono", textContent: run.pod }))));
  if (items.length === 0) list.replaceChildren(el("li", { textContent: "No runs are stored." }));
}

const runNow = (name, button) => whileOff(button, async () => {
  showToast(`${name} is running …`);
  try {
    const run = await call("POST", `/api/admin/jobs/${name}/run`);
    showToast(run.outcome === "running" ? `${name} is still running. See its last run.`
      : `${name} ${run.outcome}: ${describeCounts(run)}.` + (run.reason ? ` ${run.reason}` : ""));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    showToast(error.code === "JOB_RUNNING" ? `${error.problem.holder} already runs ${name}.` : `${name} did not run: ${error.message}`);
  }
  await showErrors("health", showJobs);
});

async function freeLease(name) {
  const confirmed = await confirmAction(`Free the lease of ${name}?`,
    "The holder loses the lease, alive or not. A run in progress is cancelled at its next renewal. No seat is at risk; the next run repeats the work.",
    "Free the lease");
  if (!confirmed) return;
  try {
    const result = await call("DELETE", `/api/admin/jobs/${name}/lease`);
    showToast(result.freed ? `The lease of ${name} is free. ${result.from} held it.` : `The lease of ${name} was free already.`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    showToast(`The lease of ${name} was not freed: ${error.message}`);
  }
  await showErrors("health", showJobs);
}

byID("free-leader").addEventListener("click", () => freeLease("leader"));
