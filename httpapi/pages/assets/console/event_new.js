// The page that creates an event.

import { call, callAll } from "../api.js";
import { el } from "../dom.js";
import { showToast } from "../feedback.js";
import { eventFields, showFields, valuesOf } from "./event_fields.js";
import { count } from "./format.js";
import { card, field, keyedForm, load, select } from "./parts.js";
import { goTo, setTitle } from "./router.js";

const defaults = {
  name: "", totalSeats: "", orphanRule: "ALLOW", accessiblePolicy: "RESERVED", latePayments: "REFUSE", latePaymentSeconds: 24 * 3600,
  waitlist: "CLOSED", waitlistOfferSeconds: 3600, waitlistFit: "SKIP",
};

export async function newEventPage(page) {
  setTitle("New event");
  const { seatingPlanId = "" } = page.query; // from the page of a plan
  const body = el("div");
  page.root.append(card("New event", [], body));
  await load(page, body, () => callAll("/api/seating-plans?pageSize=500"), ({ items, more }) => {
    const plans = items.map((p) => [p.id, `${p.name}, ${count(p.totalSeats, "seat")}`]);
    if (more) showToast("Only the oldest plans are listed: create the event from the page of a newer plan.");
    if (seatingPlanId !== "" && !items.some((p) => p.id === seatingPlanId)) plans.unshift([seatingPlanId, seatingPlanId]);
    body.replaceChildren(creationForm(plans, seatingPlanId));
  });
}

function creationForm(plans, seatingPlanId) {
  const plan = select("seatingPlanId", seatingPlanId, [["", "none"], ...plans]);
  const fields = eventFields({ ...defaults, seatingPlanId });
  const node = keyedForm({ className: "stack", "aria-label": "New event" }, async (idempotencyKey) => {
    const request = { ...valuesOf(fields), idempotencyKey };
    if (plan.value !== "") request.seatingPlanId = plan.value;
    if (request.maxSeatsPerUser === 0) delete request.maxSeatsPerUser;
    const event = await call("POST", "/api/events", request);
    showToast("The event is created.");
    goTo(`events/${event.id}`);
  }, el("div", { className: "fields" }, field("Seating plan", plan, "body.seatingPlanId"), ...fields),
  el("p", { className: "soft small", textContent: "Without a start of the sale, the event is on sale at once. Its page can close the sale." }),
  el("div", { className: "buttons" }, el("button", { className: "primary", textContent: "Create the event" })));
  plan.addEventListener("change", () => showFields(fields, plan.value !== ""));
  node.elements.eventDate.required = true;
  return node;
}
