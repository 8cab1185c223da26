// Payments: the refunds that are due, the page of one payment, and the payments of a booking.

import { call } from "../api.js";
import { formatAgo } from "../clock.js";
import { el } from "../dom.js";
import { showToast } from "../feedback.js";
import { amount as wholeNumber } from "./event_fields.js";
import { badge, count, customerLink, eventLink, idLink, lines, number, time } from "./format.js";
import { historyCard } from "./history.js";
import { query } from "./lists.js";
import { card, field, form, keyedForm, load, table } from "./parts.js";
import { setTitle } from "./router.js";

const reasons = {
  late: "it came too late", seats_gone: "it came late, and the seats are gone", limit: "it came late, and the customer holds as many seats as allowed",
  not_on_sale: "it came late, and the event is not on sale", lock_ended: "the lock of the booking had ended", booking_cancelled: "the booking is cancelled",
  event_cancelled: "the event is cancelled", duplicate: "the booking was confirmed without it",
  seats_changed: "seats were given back or exchanged", other: "a part of it goes back", // reasons of parts
};

const text = (reason) => reasons[reason] ?? reason;
const why = (p) => (p.reason ? text(p.reason) : [...new Set(dueParts(p).map((r) => text(r.reason)))].join("; ") || "–");
const money = (n, { currency = "" }) => (n === undefined ? "–" : `${number(n)} ${currency}`.trim());
const partsOf = (p) => p.refunds ?? [];
const dueParts = (p) => partsOf(p).filter((r) => r.status === "DUE");
const rest = (p) => (p.amount ?? 0) - partsOf(p).reduce((sum, r) => sum + r.amount, 0);

// hasRest reports whether a part of a payment can be made due; restText is how much at most.
export const hasRest = (p) => p.status === "ACCEPTED" && rest(p) > 0;
export const restText = (p) => money(rest(p), p);

// reference is the provider's reference, with the part of a charge that pays for several bookings.
function reference(p) {
  return el("span", {}, el("span", { className: "soft", textContent: `${p.provider} ` }), p.reference, p.paymentPart ? ` (part ${p.paymentPart})` : "");
}

const since = (p) => el("span", { title: p.updatedAt ?? "" }, p.updatedAt ? formatAgo(p.updatedAt) : "–");

// due is what has to be refunded now. Without an amount it is nothing or all of the payment.
function due(p) {
  if (p.amountDue !== undefined) return money(p.amountDue, p);
  return p.status === "REFUND_DUE" ? "all of it" : "–";
}

const columns = {
  payment: { name: "Payment", cell: (p) => idLink("payments", p.id) },
  reference: { name: "Reference", cell: reference },
  amount: { name: "Minor units", right: true, cell: (p) => money(p.amount, p) },
  due: { name: "Due now", right: true, cell: due },
  since: { name: "Due since", cell: since },
  status: { name: "Status", cell: (p) => badge(p.status) },
  changed: { name: "Changed", cell: (p) => time(p.updatedAt) },
  why: { name: "Why", cell: why },
  booking: { name: "Booking", cell: (p) => idLink("bookings", p.bookingId) },
  customer: { name: "Customer", cell: customerLink },
  event: { name: "Event", cell: (p) => eventLink(p.eventId) },
  refund: { name: "Refund", cell: (p) => p.refundReference ?? "–" },
};

// refundForm notes the refund of a payment, or of a part of it, and then calls done.
function refundForm(payment, done, part) {
  const input = el("input", { name: "refundReference", required: true, maxLength: 200, autocomplete: "off", spellcheck: false });
  const what = part === undefined ? payment.reference : `${money(part.amount, payment)} of ${payment.reference}`;
  input.setAttribute("aria-label", `Refund reference of ${what}`);
  return form({ className: "fields", "aria-label": `Refund of ${what}` }, async (fields) => {
    await call("POST", `/api/payments/${payment.id}/${part === undefined ? "" : `refunds/${part.id}/`}refunded`, { refundReference: fields.refundReference.value.trim() });
    showToast(`The refund of ${what} is noted.`);
    await done();
  }, field("Refund reference", input, "body.refundReference"), el("button", { className: "primary", textContent: "Refunded" }));
}

// partForm makes a part of a payment due.
function partForm(payment, done) {
  const part = wholeNumber("amount", "", 1, rest(payment));
  return keyedForm({ className: "fields", "aria-label": `Part of ${payment.reference}` }, async (idempotencyKey) => {
    await call("POST", `/api/payments/${payment.id}/refunds`, { amount: Number(part.value), idempotencyKey });
    showToast("The part is due. Refund it at the provider, and note that here.");
    await done();
  }, field(`Refund a part of ${payment.reference}, in minor units: at most ${restText(payment)}`, part, "body.amount"), el("button", { textContent: "Make the part due" }));
}

// partsTable shows the parts of a payment; formOf returns the form that notes the refund of one that is due.
const partsTable = (payment, formOf) => table(`Parts of ${payment.reference}`, [
  { name: "Part", cell: (r) => el("span", { className: "mono", textContent: r.id }) },
  { name: "Minor units", right: true, cell: (r) => money(r.amount, payment) },
  { name: "Why", cell: (r) => text(r.reason) },
  { name: "Status", cell: (r) => badge(r.status) },
  { name: "Created", cell: (r) => time(r.createdAt) },
  { name: "Refund", cell: (r) => (r.status === "DUE" ? formOf(r) : r.refundReference ?? "–") },
], partsOf(payment));

// partNodes are what a page shows of the parts of a payment, with what can be done.
function partNodes(payment, done) {
  const nodes = partsOf(payment).length > 0 ? [el("h3", { textContent: `Parts of ${payment.reference}` }), partsTable(payment, (r) => refundForm(payment, done, r))] : [];
  return hasRest(payment) ? [...nodes, partForm(payment, done)] : nodes;
}

export async function refundsPage(page) {
  setTitle("Refunds due");
  const body = el("div");
  page.root.append(card("Refunds due", [], el("p", { className: "soft small", textContent: "These payments have to go back, or a part of them. Refund or void " +
    "each at its provider, with the ID of the payment or of the part as the idempotency key. Then note the provider's reference of the refund here." }), body));
  const forms = new Map(); // by payment or part: what was entered for the others stays when one is noted
  const formOf = (p, part) => {
    const { id } = part ?? p;
    if (!forms.has(id)) forms.set(id, refundForm(p, fill, part));
    return forms.get(id);
  };
  const formsOf = (p) => el("div", { className: "stack" }, ...dueParts(p).map((r) => el("div", {},
    el("p", { className: "small" }, `A part, ${money(r.amount, p)}: `, el("span", { className: "mono", textContent: r.id })), formOf(p, r))),
  ...(p.status !== "REFUND_DUE" ? [] : dueParts(p).length === 0 ? [formOf(p)] : [el("p", { className: "small", textContent: "Or all that is due, at once:" }), formOf(p)]));
  const fill = () => load(page, body, () => call("GET", "/api/admin/refunds-due"), ({ items, due }) => {
    if (items.length === 0) return body.replaceChildren(el("p", { className: "soft", role: "status", textContent: "No refund is due." }));
    const others = due > items.length ? ` These are the first ${items.length}.` : "";
    body.replaceChildren(el("p", { className: "soft small", role: "status", textContent: `${count(due, "refund")}, oldest first.${others}` }),
      table("Refunds due", [
        columns.payment, columns.reference, columns.due, columns.since, columns.why, columns.booking, columns.customer, columns.event,
        { name: "Note the refund", cell: formsOf },
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
      ["Amount, in minor units", money(payment.amount, payment)],
      ["Due now", payment.amountDue === undefined ? "–" : money(payment.amountDue, payment)],
      ["Booking", idLink("bookings", payment.bookingId)],
      ["Customer", customerLink(payment)],
      ["Event", eventLink(payment.eventId)],
      ["Why it has to go back", why(payment)],
      ["Refund reference", payment.refundReference ?? "none"],
      ["Created", time(payment.createdAt)],
      ["Changed", time(payment.updatedAt)]));
    const again = () => {
      page.root.replaceChildren();
      return paymentPage(page);
    };
    if (payment.status === "REFUND_DUE") node.append(refundForm(payment, again));
    node.append(...partNodes(payment, again));
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

// paymentsCard shows the payments of a booking and their parts; done is called after one was changed.
export function paymentsCard(payments, done) {
  if (payments.length === 0) return card("Payments", [], el("p", { className: "soft", textContent: "No payment was recorded." }));
  return card("Payments", [], table("Payments", [
    columns.payment, columns.reference, columns.amount, columns.due, columns.status, columns.why, columns.refund, columns.changed,
  ], payments), el("div", { className: "stack" }, ...payments.flatMap((p) => partNodes(p, done))));
}
