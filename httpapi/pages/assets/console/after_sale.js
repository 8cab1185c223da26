// What is changed after a sale: the seats of a booking, and its customer; and sales at the counter.

import { call } from "../api.js";
import { el } from "../dom.js";
import { showToast } from "../feedback.js";
import { amount } from "./event_fields.js";
import { badge, count, customerLink, eventLink, idLink, lines, seats, time } from "./format.js";
import { card, field, keyedForm, load, select } from "./parts.js";
import { hasRest, restText } from "./payments.js";
import { chargeFields, customerFields, seatFields } from "./wish.js";
import { setTitle } from "./router.js";

const isOpen = (booking) => ["INITIATED", "PAYMENT_PENDING"].includes(booking.status);
const primary = (textContent) => el("div", { className: "buttons" }, el("button", { className: "primary", textContent }));

// changeCards are the cards that change a booking that is not over; done is called after a change.
export function changeCards(page, booking, payments, done) {
  if (booking.status === "CONFIRMED") return [seatsCard(page, booking, payments, done), transferCard(booking, done)];
  return isOpen(booking) ? [seatsCard(page, booking, [], done)] : [];
}

// seatsCard changes the seats. The event and its plan are read once they are needed.
function seatsCard(page, booking, payments, done) {
  const body = el("div");
  const start = el("button", { type: "button", textContent: "Change the seats", onclick: () => {
    start.hidden = true;
    load(page, body, () => call("GET", `/api/events/${booking.eventId}`), (event) => body.replaceChildren(seatsForm(page, event, booking, payments, done)));
  } });
  return card("Seats of the booking", [start], el("p", { className: "soft small", textContent: "Gives a part back, exchanges or adds seats: all of the new seats, or the booking stays as it is." }), body);
}

function seatsForm(page, event, booking, payments, done) {
  const wanted = seatFields(page, event, booking);
  const payment = chargeFields("body.payment", "Additional payment, if there is one");
  const refund = refundFields(payments);
  const isSold = booking.status === "CONFIRMED";
  return keyedForm({ className: "stack", "aria-label": "Change the seats" }, async (idempotencyKey) => {
    const charge = isSold ? payment.charge() : {};
    const part = refund.part();
    const changed = await call("PUT", `/api/bookings/${booking.id}/seats`, {
      ...wanted.wish(), idempotencyKey, ...(Object.keys(charge).length > 0 && { payment: charge }), ...(part && { refund: part }),
    }).finally(wanted.refresh);
    const isSame = changed.updatedAt === booking.updatedAt;
    showToast(isSame ? "The booking has these seats already: nothing was changed." : `The booking has ${count(changed.seats, "seat")} now.`);
    await done();
  }, wanted.node, ...(isSold ? [payment.node, ...refund.nodes] : []), primary("Change the seats"));
}

// refundFields ask for a part of one of the payments that has to go back.
function refundFields(payments) {
  const from = payments.filter(hasRest);
  if (from.length === 0) return { nodes: [], part: () => undefined };
  const part = amount("refundAmount", "", 1, Number.MAX_SAFE_INTEGER);
  part.required = false;
  const of = select("refundPayment", from[0].id, from.map((p) => [p.id, `${p.reference}, ${restText(p)} left`]));
  const node = el("fieldset", { className: "plain stack" }, el("legend", { className: "strong", textContent: "Part of a payment to refund, if there is one" }),
    el("div", { className: "fields" }, field("Amount to refund, in minor units", part, "body.refund.amount"), field("Payment", of, "body.refund.paymentId")));
  return { nodes: [node], part: () => (part.value === "" ? undefined : { amount: Number(part.value), paymentId: of.value }) };
}

function transferCard(booking, done) {
  const next = customerFields();
  return card("Transfer", [], el("p", { className: "soft small", textContent: "Gives the booking to another customer. Payments keep the customer that paid." }),
    keyedForm({ className: "fields", "aria-label": "Transfer" }, async (idempotencyKey) => {
      const customer = await next.customer();
      const { holder, userId } = await call("POST", `/api/bookings/${booking.id}/transfer`, { ...customer, idempotencyKey });
      showToast(`The booking is that of ${holder ?? `user ${userId}`}.`);
      await done();
    }, ...next.fields, el("button", { className: "primary", textContent: "Transfer" })));
}

// counterPage sells seats of an event at once.
export async function counterPage(page) {
  setTitle("Sell");
  await load(page, page.root, () => call("GET", `/api/events/${page.id}`), (event) => {
    setTitle(`Sell ${event.name}`);
    const sold = el("ul", { className: "list", "aria-label": "Sold here" });
    const [wanted, buyer, payment] = [seatFields(page, event), customerFields(), chargeFields("body", "Payment, if there is one")];
    const reference = el("input", { name: "reference", maxLength: 128, autocomplete: "off" });
    page.root.append(card("Sell at the counter", [badge(event.status)], lines(["Event", eventLink(event.id)], ["Date", time(event.eventDate)]),
      el("p", { className: "soft small", textContent: "Sells at once, also while the sale is closed, or before it begins. A refused sale leaves nothing." }),
      keyedForm({ className: "stack", "aria-label": "Sell at the counter" }, async (idempotencyKey) => {
        const customer = await buyer.customer();
        const booking = await call("POST", `/api/events/${event.id}/sales`, {
          ...wanted.wish(), ...customer, ...payment.charge(), idempotencyKey, ...(reference.value !== "" && { reference: reference.value }),
        }).finally(wanted.refresh);
        sold.prepend(el("li", {}, "Sold ", seats(booking), " to ", customerLink(booking), ": booking ", idLink("bookings", booking.id)));
        showToast(`Sold ${count(booking.seats, "seat")}.`);
        for (const fields of [wanted, buyer, payment]) fields.clear();
        reference.value = "";
      }, wanted.node, el("div", { className: "fields" }, ...buyer.fields, field("Reference, as an order number", reference, "body.reference")), payment.node, primary("Sell")), sold));
  });
}
