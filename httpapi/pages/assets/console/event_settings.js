// The settings of an event that can be changed during the sale.

import { call } from "../api.js";
import { el } from "../dom.js";
import { showToast } from "../feedback.js";
import { cancelEvent, confirmCancellation, refundsLink, runOf } from "./event_cancel.js";
import { act, card, field, form, select } from "./parts.js";

const mostSeats = 10_000_000;

const amount = (name, value, min) => el("input", { type: "number", name, value, min, max: mostSeats, step: 1, required: true, inputMode: "numeric" });

// settingsCard has the status of the sale and the other settings; changed is called after a change. showState shows what
// another operator may have done, by the event's summary and what readRun finds for it, and keeps what was entered.
export function settingsCard(event, changed) {
  const sale = el("div");
  const settings = el("div");
  const run = runOf();
  let shown = "";
  const showSale = (of) => {
    const kind = saleKind(of);
    if (kind !== shown) sale.replaceChildren(saleForm(event, kind, done, changed));
    shown = kind;
  };
  const show = (e) => {
    showSale(e);
    settings.replaceChildren(settingsForm(e, done));
  };
  const done = async (e) => {
    show(e);
    await changed();
  };
  show(event);
  const showState = (summary, found) => {
    showSale(summary);
    run.show(summary, found);
  };
  return { node: card("Settings", [], el("div", { className: "stack" }, sale, run.node, settings)), readRun: run.read, showState };
}

// saleKind is the status, and of the summary of a cancelled event whether a run ends what it has sold, or has to.
function saleKind({ status, cancelRunId, lockedSeats = 0, soldSeats = 0 }) {
  if (status !== "CANCELLED" || cancelRunId) return cancelRunId ? "CANCELLING" : status;
  return lockedSeats + soldSeats > 0 ? "CANCELLED WITH SEATS" : status;
}

const patch = (event, change) => call("PATCH", `/api/events/${event.id}`, change);

// saleForm closes, reopens and cancels. kind is that of saleKind.
function saleForm(event, kind, done, changed) {
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const buttons = el("div", { className: "buttons" });
  const root = el("div", { className: "stack", role: "group", "aria-label": "Sale" }, buttons, problem);
  const to = (status, text) => act(root, async () => {
    const e = await patch(event, { status });
    showToast(text);
    await done(e);
  });
  const button = (text, onclick, className = "") => buttons.append(el("button", { type: "button", className, textContent: text, onclick }));
  const cancel = async () => {
    let summary = null;
    await act(root, async () => { summary = await call("GET", `/api/admin/events/${event.id}`); });
    if (summary !== null && await confirmCancellation(summary)) {
      await act(root, async () => {
        await cancelEvent(event);
        showToast("The event is cancelled. Its locks and bookings follow.");
        await changed();
      });
    }
  };
  if (kind === "ON_SALE") button("Close the sale", () => to("CLOSED", "The sale is closed. Customers who have locked seats can still pay."));
  if (kind === "CLOSED") button("Reopen the sale", () => to("ON_SALE", "The event is on sale."), "primary");
  if (kind === "ON_SALE" || kind === "CLOSED") button("Cancel the event", cancel);
  else root.prepend(el("p", { className: "soft" }, "The event is cancelled. That is final. Its payments are under ", refundsLink(), "."));
  if (kind === "CANCELLED WITH SEATS") {
    root.prepend(el("p", { className: "wrong", textContent: "Only the status is set: the event still has locked or sold seats, and their payments are kept." }));
    button("Cancel its locks and bookings", cancel, "primary");
  }
  return root;
}

// settingsForm changes the other settings. It sends those that the user has changed.
function settingsForm(event, done) {
  const fields = [field("Name", el("input", { name: "name", value: event.name, required: true, maxLength: 200 }), "body.name")];
  if (!event.seatingPlanId) fields.push(field("Seats in total", amount("totalSeats", event.totalSeats, 1), "body.totalSeats"));
  fields.push(field("Seats per user (0: no limit)", amount("maxSeatsPerUser", event.maxSeatsPerUser ?? 0, 0), "body.maxSeatsPerUser"));
  if (event.seatingPlanId) {
    fields.push(
      field("Single seats", select("orphanRule", event.orphanRule, [["ALLOW", "may be left"], ["REFUSE", "are refused"]]), "body.orphanRule"),
      field("Accessible seats", select("accessiblePolicy", event.accessiblePolicy, [["RESERVED", "are reserved"], ["OPEN", "are like any other"]]), "body.accessiblePolicy"));
  }
  const capacities = (event.sections ?? []).map((s, i) => field(`Capacity of ${s.key}`, amount(`capacity-${s.key}`, s.capacity, 1), `body.sections[${i}].capacity`));
  return form({ className: "stack", "aria-label": "Settings" }, async (controls) => {
    const change = changes(event, controls);
    if (Object.keys(change).length === 0) return showToast("Nothing was changed.");
    const e = await patch(event, change);
    showToast("The settings are saved.");
    await done(e);
  }, el("div", { className: "fields" }, ...fields, ...capacities), el("div", { className: "buttons" }, el("button", { className: "primary", textContent: "Save" })));
}

function changes(event, controls) {
  const change = {};
  const differs = (name, now) => {
    const control = controls[name];
    const value = control?.type === "number" ? Number(control.value) : control?.value;
    if (control && value !== now) change[name] = value;
  };
  differs("name", event.name);
  differs("totalSeats", event.totalSeats);
  differs("maxSeatsPerUser", event.maxSeatsPerUser ?? 0);
  differs("orphanRule", event.orphanRule);
  differs("accessiblePolicy", event.accessiblePolicy);
  const sections = (event.sections ?? []).map((s) => ({ key: s.key, capacity: Number(controls[`capacity-${s.key}`].value) }));
  const changed = sections.filter((s, i) => s.capacity !== event.sections[i].capacity); // others may have changed the rest
  if (changed.length > 0) change.sections = changed;
  for (const s of sections) { // errors name them by their place in what is sent
    controls[`capacity-${s.key}`].closest(".field").dataset.where = `body.sections[${changed.indexOf(s)}].capacity`;
  }
  return change;
}
