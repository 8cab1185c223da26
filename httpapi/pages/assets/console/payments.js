// Payments: the refunds that are due, the page of one payment, and the payments of a booking.

import { call } from "../api.js";
import { formatAgo } from "../clock.js";
import { el } from "../dom.js";
import { showToast } from "../feedback.js";
import { badge, count, customerLink, eventLink, idLink, lines, number, time } from "./format.js";
import { historyCard } from "./history.js";
import { query } from "./lists.js";
import { card, field, form, load, table } from "./parts.js";
import { setTitle } from "./router.js";

const reasons = {
  late: "it came too late", seats_gone: "it came late, and the seats are gone", limit: "it came late, and the customer holds as many seats as allowed",
  not_on_sale: "it came late, and the event is not on sale", lock_ended: "the lock of the booking had ended", booking_cancelled: "the booking is cancelled",
  event_cancelled: "the event is cancelled", duplicate: "the booking was confirmed without it",
};

const why = (p) => (p.reason ? reasons[p.reason] ?? p.reason : "–");
const amount = (p) => (p.amount === undefined ? "–" : `${number(p.amount)} ${p.currency ?? ""}`.trim());

// reference is the provider's reference, with the part of a charge that pays for several bookings.
function reference(p) {
  return el("span", {}, el("span", { className: "soft", textContent: `${p.provider} ` }), p.reference, p.paymentPart ? ` (part ${p.paymentPart})` : "");
}

const since = (p) => el("span", { title: p.updatedAt ?? "" }, p.updatedAt ? formatAgo(p.updatedAt) : "–");

const columns = {
  payment: { name: "Payment", cell: (p) => idLink("payments", p.id) },
  reference: { name: "Reference", cell: reference },
  amount: { name: "Minor units", right: true, cell: amount },
  since: { name: "Due since", cell: since },
  status: { name: "Status", cell: (p) => badge(p.status) },
  changed: { name: "Changed", cell: (p) => time(p.updatedAt) },
  why: { name: "Why", cell: why },
  booking: { name: "Booking", cell: (p) => idLink("bookings", p.bookingId) },
  customer: { name: "Customer", cell: customerLink },
  event: { name: "Event", cell: (p) => eventLink(p.eventId) },
  refund: { name: "Refund", cell: (p) => p.refundReference ?? "–" },
};

// refundForm notes the refund of a payment, and then calls done.
function refundForm(payment, done) {
  const input = el("input", { name: "refundReference", required: true, maxLength: 200, autocomplete: "off", spellcheck: false });
  const label = `Refund reference of ${payment.reference}`;
  input.setAttribute("aria-label", label);
  return form({ className: "fields", "aria-label": `Refund of ${payment.reference}` }, async (fields) => {
    const refunded = await call("POST", `/api/payments/${payment.id}/refunded`, { refundReference: fields.refundReference.value.trim() });
    showToast(`The payment ${refunded.reference} is ${refunded.status}.`);
    await done();
  }, field("Refund reference", input, "body.refundReference"), el("button", { className: "primary", textContent: "Refunded" }));
}

export async function refundsPage(page) {
  setTitle("Refunds due");
  const body = el("div");
  page.root.append(card("Refunds due", [], el("p", { className: "soft small", textContent: "These customers have paid and have no seats for it. Refund or void " +
    "each payment at its provider, with the payment's ID as the idempotency key. Then note the provider's reference of the refund here." }), body));
  const forms = new Map(); // by payment: what was entered for the others stays when one is noted
  const formOf = (p) => {
    if (!forms.has(p.id)) forms.set(p.id, refundForm(p, fill));
    return forms.get(p.id);
  };
  const fill = () => load(page, body, () => call("GET", "/api/admin/refunds-due"), ({ items, due }) => {
    if (items.length === 0) return body.replaceChildren(el("p", { className: "soft", role: "status", textContent: "No refund is due." }));
    const rest = due > items.length ? ` These are the first ${items.length}.` : "";
    body.replaceChildren(el("p", { className: "soft small", role: "status", textContent: `${count(due, "refund")}, oldest first.${rest}` }),
      table("Refunds due", [
        columns.payment, columns.reference, columns.amount, columns.since, columns.why, columns.booking, columns.customer, columns.event,
        { name: "Note the refund", cell: formOf },
      ], items));
  });
  await fill();
}

export async function paymentPage(page) {
  setTitle("Payment");
  await load(page, page.root, () => call("GET", `/api/payments/${page.id}`), (payment) => {
    const node = card("Payment", [badge(payment.status)], lines(
      ["ID", el("code", { textContent: payment.id })],
      ["Reference", reference(payment)],
      ["Amount, in minor units", amount(payment)],
      ["Booking", idLink("bookings", payment.bookingId)],
      ["Customer", customerLink(payment)],
      ["Event", eventLink(payment.eventId)],
      ["Why it has to go back", why(payment)],
      ["Refund reference", payment.refundReference ?? "none"],
      ["Created", time(payment.createdAt)],
      ["Changed", time(payment.updatedAt)]));
    if (payment.status === "REFUND_DUE") {
      node.append(refundForm(payment, async () => {
        page.root.replaceChildren();
        await paymentPage(page);
      }));
    }
    page.root.append(node, historyCard(page, {
      eventId: payment.eventId, subjects: [`payments/${payment.id}`], since: payment.createdAt, until: payment.updatedAt,
      first: ["holdfast.payment.accepted", "holdfast.payment.refund_due"], // a payment begins as either
    }));
  });
}

// paymentsOf reads the payments of a booking.
export async function paymentsOf(booking) {
  const { items } = await call("GET", `/api/payments?${query({ bookingId: booking.id, pageSize: 50 })}`);
  return items;
}

// paymentsCard shows the payments of a booking.
export function paymentsCard(payments) {
  if (payments.length === 0) return card("Payments", [], el("p", { className: "soft", textContent: "No payment was recorded." }));
  return card("Payments", [], table("Payments", [
    columns.payment, columns.reference, columns.amount, columns.status, columns.why, columns.refund, columns.changed,
  ], payments));
}
