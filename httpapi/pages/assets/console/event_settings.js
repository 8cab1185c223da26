// The settings of an event that can be changed during the sale.

import { call } from "../api.js";
import { el } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { cancelEvent, confirmCancellation, refundsLink, runOf } from "./event_cancel.js";
import { amount, eventFields, valuesOf } from "./event_fields.js";
import { act, card, field, form } from "./parts.js";
import { goTo } from "./router.js";
import { confirmClosing } from "./waitlist.js";

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

// saleForm closes, reopens, cancels and deletes. kind is that of saleKind.
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
  const remove = async () => {
    const text = "Only an event that nothing was ever locked or booked of can be deleted. That can't be undone.";
    if (!await confirmAction(`Delete ${event.name}?`, text, "Delete the event", "Keep the event")) return;
    await act(root, async () => {
      await call("DELETE", `/api/events/${event.id}`);
      showToast("The event is deleted.");
      goTo("");
    });
  };
  if (kind === "ON_SALE") button("Close the sale", () => to("CLOSED", "The sale is closed. Customers who have locked seats can still pay."));
  if (kind === "CLOSED") button("Reopen the sale", () => to("ON_SALE", "The event is on sale."), "primary");
  if (kind === "ON_SALE" || kind === "CLOSED") button("Cancel the event", cancel);
  else root.prepend(el("p", { className: "soft" }, "The event is cancelled. That is final. Its payments are under ", refundsLink(), "."));
  if (kind === "CANCELLED WITH SEATS") {
    root.prepend(el("p", { className: "wrong", textContent: "Only the status is set: the event still has locked or sold seats, and their payments are kept." }));
    button("Cancel its locks and bookings", cancel, "primary");
  }
  button("Delete the event", remove);
  return root;
}

// settingsForm changes the other settings. It sends those that the user has changed.
function settingsForm(event, done) {
  const fields = eventFields(event);
  const sections = event.sections ?? [];
  const capacities = sections.map((s, i) => field(`Capacity of ${s.key}`, amount(`capacity-${s.key}`, s.capacity, 1), `body.sections[${i}].capacity`));
  const node = form({ className: "stack", "aria-label": "Settings" }, async (controls) => {
    const change = { ...valuesOf(fields, true), ...changedSections(sections, controls) };
    if (Object.keys(change).length === 0) return showToast("Nothing was changed.");
    if (!await confirmClosing(event, change)) return undefined;
    const e = await patch(event, change);
    showToast("The settings are saved.");
    await done(e);
  }, el("div", { className: "fields" }, ...fields, ...capacities), el("div", { className: "buttons" }, el("button", { className: "primary", textContent: "Save" })));
  node.elements.eventDate.required = Boolean(event.eventDate); // other software may have left it out
  return node;
}

// changedSections are the sections with another capacity; others may have changed the rest.
function changedSections(sections, controls) {
  const capacityOf = ({ key }) => controls[`capacity-${key}`];
  const changed = sections.filter((s) => Number(capacityOf(s).value) !== s.capacity);
  for (const s of sections) { // errors name them by their place in what is sent
    capacityOf(s).closest(".field").dataset.where = `body.sections[${changed.indexOf(s)}].capacity`;
  }
  return changed.length === 0 ? {} : { sections: changed.map((s) => ({ key: s.key, capacity: Number(capacityOf(s).value) })) };
}
