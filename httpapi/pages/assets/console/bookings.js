// The list of bookings, and the page of one.

import { call } from "../api.js";
import { el } from "../dom.js";
import { changeCards } from "./after_sale.js";
import { badge, customerLink, eventLink, idLink, lines, seats, shopLines, time } from "./format.js";
import { historyCard, subjectsOf } from "./history.js";
import { bookingColumns, listPage } from "./lists.js";
import { callIfExists, card, load } from "./parts.js";
import { paymentsCard, paymentsOf } from "./payments.js";
import { setTitle } from "./router.js";

export function bookingsPage(page) {
  setTitle("Bookings");
  return listPage(page, {
    path: "bookings", title: "Bookings", columns: bookingColumns, empty: "No bookings match.",
    statuses: ["INITIATED", "PAYMENT_PENDING", "CONFIRMED", "EXPIRED", "CANCELLED"],
  });
}

const isOver = (status) => ["CONFIRMED", "EXPIRED", "CANCELLED"].includes(status);

export async function bookingPage(page) {
  setTitle("Booking");
  const read = async () => {
    const booking = await call("GET", `/api/bookings/${page.id}`);
    const [lock, payments] = await Promise.all([callIfExists(`/api/locks/${booking.lockId}`), paymentsOf(booking)]);
    return { booking, lock, payments };
  };
  const again = () => {
    page.root.replaceChildren();
    return bookingPage(page);
  };
  await load(page, page.root, read, ({ booking, lock, payments }) => {
    page.root.append(card("Booking", [badge(booking.status)], lines(
      ["ID", el("code", { textContent: booking.id })],
      ["Event", eventLink(booking.eventId)],
      ["Customer", customerLink(booking)],
      ["Lock", el("span", {}, idLink("locks", booking.lockId), " ", lock === null ? "was removed" : badge(lock.status))],
      ["Seats", seats(booking)],
      ...shopLines(booking),
      ["Payment reference", (booking.paymentReference ?? "none") + (booking.late ? " (a late payment)" : "")],
      ["Payment until", time(booking.paymentExpiresAt)],
      ["Created", time(booking.createdAt)],
      ["Changed", time(booking.updatedAt)])), paymentsCard(payments, again), ...changeCards(page, booking, payments, again));
    // What is over was changed last at updatedAt; its lock was changed with it. The lock of a late payment is newer than the booking.
    const begins = [booking.createdAt, ...(lock?.createdAt ? [lock.createdAt] : [])].sort()[0];
    const ends = [booking.updatedAt, ...payments.map((p) => p.updatedAt)].filter(Boolean).sort().at(-1);
    page.root.append(historyCard(page, {
      // A list of changes has ten subjects at most.
      eventId: booking.eventId, subjects: [...subjectsOf({ id: booking.lockId }, booking.id), ...payments.slice(0, 8).map((p) => `payments/${p.id}`)],
      since: begins, until: isOver(booking.status) ? ends : "",
      // A sale at once begins with its end; its payment window is the time of the sale.
      first: booking.paymentExpiresAt === booking.createdAt ? "holdfast.booking.confirmed" : "holdfast.booking.created",
    }));
  });
}
