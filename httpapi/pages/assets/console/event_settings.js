// The settings of an event that can be changed during the sale.

import { call } from "../api.js";
import { el } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { act, card, field, form, select } from "./parts.js";

const mostSeats = 10_000_000;

const amount = (name, value, min) => el("input", { type: "number", name, value, min, max: mostSeats, step: 1, required: true, inputMode: "numeric" });

// settingsCard has the status of the sale and the other settings; changed is called after a change. showStatus shows a
// status that somebody else may have set, and keeps what was entered.
export function settingsCard(event, changed) {
  const sale = el("div");
  const settings = el("div");
  let status = "";
  const showSale = (e) => {
    status = e.status;
    sale.replaceChildren(saleForm(e, done));
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
  const showStatus = (now) => { if (now !== status) showSale({ ...event, status: now }); };
  return { node: card("Settings", [], el("div", { className: "stack" }, sale, settings)), showStatus };
}

const patch = (event, change) => call("PATCH", `/api/events/${event.id}`, change);

// saleForm closes, reopens and cancels.
function saleForm(event, done) {
  const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
  const buttons = el("div", { className: "buttons" });
  const root = el("div", { className: "stack", role: "group", "aria-label": "Sale" }, buttons, problem);
  const to = (status, text) => act(root, async () => {
    const e = await patch(event, { status });
    showToast(text);
    await done(e);
  });
  const button = (text, onclick, className = "") => buttons.append(el("button", { type: "button", className, textContent: text, onclick }));
  if (event.status === "ON_SALE") button("Close the sale", () => to("CLOSED", "The sale is closed. Customers who have locked seats can still pay."));
  if (event.status === "CLOSED") button("Reopen the sale", () => to("ON_SALE", "The event is on sale."), "primary");
  if (event.status === "CANCELLED") root.prepend(el("p", { className: "soft", textContent: "The event is cancelled. That is final." }));
  else {
    button("Cancel the event", async () => {
      const confirmed = await confirmAction(`Cancel ${event.name}?`, "This is final. No lock, booking or payment is accepted any more. Bookings are not cancelled by it: " +
        "cancel and refund those that are CONFIRMED a minute later.", "Cancel the event");
      if (confirmed) await to("CANCELLED", "The event is cancelled.");
    });
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
