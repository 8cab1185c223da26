// The cancellation of an event with all that it has locked and sold: the question before it, and how far its run is.

import { call } from "../api.js";
import { el } from "../dom.js";
import { confirmAction } from "../feedback.js";
import { count, number } from "./format.js";
import { link } from "./router.js";

const runsRead = 50; // the newest ones; a run that is not among them is shown without its numbers

// confirmCancellation says what a cancellation does, with the numbers of the event's summary.
export const confirmCancellation = ({ name, lockedSeats, soldSeats }) => confirmAction(`Cancel ${name}?`,
  "This is final. The sale ends at once, and no payment is accepted any more. A run then releases all locks " +
  `(${count(lockedSeats, "locked seat")}) and cancels all bookings, also those that are paid (${count(soldSeats, "sold seat")}). ` +
  "Their payments are listed under Refunds due: pay each of them back at its provider. The run takes a minute or longer.",
  "Cancel the event", "Keep the event");

// cancelEvent begins the run, or returns the one that is under way.
export const cancelEvent = (event) => call("POST", `/api/admin/events/${event.id}/cancel`);

// runOf shows the run that cancels all of an event. read finds it while the event's summary names it, and its end.
export function runOf() {
  const node = el("p", { role: "status" });
  let runID = "";
  const read = async (summary) => {
    const id = summary.cancelRunId ?? runID;
    if (id === "") return { id };
    const { items } = await call("GET", `/api/admin/jobs/event-cancel/runs?pageSize=${runsRead}`);
    return { id, run: items.find((r) => r.id === id) };
  };
  const show = (summary, { id, run }) => {
    if (id === "") return;
    const isLeft = summary.cancelRunId !== undefined;
    const text = isLeft ? progressOf(run, summary) : resultOf(run);
    if (node.textContent !== text) node.replaceChildren(text);
    runID = isLeft || run?.outcome === "running" ? id : "";
  };
  return { node, read, show };
}

const endedBy = (run) => `${count(run.applied, "lock or booking", "locks and bookings")} ended, ${count(run.seatsRestored, "seat")} freed`;

function progressOf(run, { lockedSeats, soldSeats, cancelLeft = 0, cancelProblem = "" }) {
  if (run === undefined || run.pod === "") {
    return "The event is being cancelled. No process has begun with its locks and bookings yet: if none does within a minute, start a worker, or run the job event-cancel.";
  }
  if (cancelLeft > 0) {
    return `The event is being cancelled: ${endedBy(run)}. ${count(cancelLeft, "lock or booking", "locks and bookings")} can't be ended: ` +
      `${cancelProblem}. The run tries again every 15 seconds, until that is corrected.`;
  }
  if (run.outcome !== "running") return `The event is being cancelled. The process that did it has ended; another one goes on. So far: ${endedBy(run)}.`;
  const left = lockedSeats + soldSeats === 0 ? "Nothing is left; the run waits until no payment can be in flight any more."
    : `${number(lockedSeats)} locked and ${number(soldSeats)} sold seats are left.`;
  return `The event is being cancelled: ${endedBy(run)}. ${left}`;
}

const resultOf = (run) => (run === undefined ? "Its locks and bookings are cancelled." : `Its locks and bookings are cancelled: ${endedBy(run)}.`);

// refundsLink is where the payments of a cancelled event are.
export const refundsLink = () => el("a", { href: link("refunds"), textContent: "Refunds due" });
