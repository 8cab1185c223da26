// The fields of an event: in the form that creates one, and in the one that changes its settings.

import { el } from "../dom.js";
import { field, select } from "./parts.js";

const mostSeats = 10_000_000;
const mostLateSeconds = 30 * 24 * 3600;
const [leastOfferSeconds, mostOfferSeconds] = [60, 7 * 24 * 3600];

export const amount = (name, value, min, max = mostSeats) => el("input", { type: "number", name, value, min, max, step: 1, required: true, inputMode: "numeric" });

// eventFields returns the fields with what an event has. Some are for events with numbered seats alone, or for others alone.
export function eventFields(event) {
  const name = el("input", { name: "name", value: event.name, required: true, maxLength: 200 });
  const date = el("input", { type: "datetime-local", name: "eventDate", value: event.eventDate?.slice(0, 16) ?? "", max: "9999-12-31T23:59" });
  const saleTime = (name) => el("input", { type: "datetime-local", name, value: event[name]?.slice(0, 19) ?? "", step: 1, max: "9999-12-31T23:59:59" });
  const fields = [
    field("Name", name, "body.name"),
    field("Date and time (UTC)", date, "body.eventDate"),
    field("Sale from (UTC)", saleTime("saleStartsAt"), "body.saleStartsAt"),
    field("Sale until (UTC)", saleTime("saleEndsAt"), "body.saleEndsAt"),
    field("Seats in total", amount("totalSeats", event.totalSeats, 1), "body.totalSeats"),
    field("Seats per user (0: no limit)", amount("maxSeatsPerUser", event.maxSeatsPerUser ?? 0, 0), "body.maxSeatsPerUser"),
    field("Single seats", select("orphanRule", event.orphanRule, [["ALLOW", "may be left"], ["REFUSE", "are refused"]]), "body.orphanRule"),
    field("Accessible seats", select("accessiblePolicy", event.accessiblePolicy, [["RESERVED", "are reserved"], ["OPEN", "are like any other"]]), "body.accessiblePolicy"),
    field("Late payments", select("latePayments", event.latePayments, [["REFUSE", "are refused"], ["ACCEPT", "get free seats"]]), "body.latePayments"),
    field("Too late after (seconds)", amount("latePaymentSeconds", event.latePaymentSeconds, 0, mostLateSeconds), "body.latePaymentSeconds"),
    ...waitlistFields(event),
  ];
  showFields(fields, Boolean(event.seatingPlanId));
  for (const control of controlsOf(fields)) control.dataset.shown = control.value;
  return fields;
}

const controlsOf = (fields) => fields.map((f) => f.querySelector("input, select"));

// waitlistFields returns the fields of the settings of an event's waiting list.
export function waitlistFields(event) {
  const fields = [
    field("Waiting list", select("waitlist", event.waitlist, [["CLOSED", "is closed"], ["OPEN", "is open"], ["PAUSED", "makes no offers"]]), "body.waitlist"),
    field("An offer lasts (seconds)", amount("waitlistOfferSeconds", event.waitlistOfferSeconds, leastOfferSeconds, mostOfferSeconds), "body.waitlistOfferSeconds"),
    field("Offers go", select("waitlistFit", event.waitlistFit, [["SKIP", "to the first that fits"], ["STRICT", "to the first alone"]]), "body.waitlistFit"),
  ];
  for (const control of controlsOf(fields)) control.dataset.shown = control.value;
  return fields;
}

// showFields shows the fields that an event has with or without numbered seats.
export function showFields(fields, isSeated) {
  for (const control of controlsOf(fields)) {
    const isSetting = isSeated ? control.name !== "totalSeats" : !["orphanRule", "accessiblePolicy"].includes(control.name);
    control.disabled = !isSetting;
    control.closest(".field").hidden = !isSetting;
  }
}

// valuesOf returns what the fields say, as the API has it: of all, or of those that the user has changed.
export function valuesOf(fields, onlyChanged) {
  const controls = controlsOf(fields).filter((c) => !c.disabled && !(onlyChanged && c.value === c.dataset.shown));
  return Object.fromEntries(controls.map((c) => [c.name, valueOf(c)]));
}

function valueOf(control) {
  if (control.type === "number") return Number(control.value);
  if (control.type !== "datetime-local") return control.value;
  return control.value === "" ? null : new Date(`${control.value}Z`).toISOString();
}
