// The list of bookings, and the page of one.

import { ApiError, call } from "../api.js";
import { el } from "../dom.js";
import { badge, eventLink, idLink, lines, seats, time } from "./format.js";
import { showHistory } from "./history.js";
import { bookingColumns, listPage } from "./lists.js";
import { card, load } from "./parts.js";
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

// lockOf reads the lock of a booking, unless it was removed.
async function lockOf(booking) {
  try {
    return await call("GET", `/api/locks/${booking.lockId}`);
  } catch (error) {
    if (error instanceof ApiError && [404, 422].includes(error.status)) return null;
    throw error;
  }
}

export async function bookingPage(page) {
  setTitle("Booking");
  await load(page, async () => {
    const booking = await call("GET", `/api/bookings/${page.id}`);
    const [lock, payments] = await Promise.all([lockOf(booking), paymentsOf(booking)]);
    if (page.signal.aborted) return;
    page.root.append(card("Booking", [badge(booking.status)], lines(
      ["ID", el("code", { textContent: booking.id })],
      ["Event", eventLink(booking.eventId)],
      ["User", idLink("users", booking.userId)],
      ["Lock", el("span", {}, idLink("locks", booking.lockId), " ", lock === null ? "was removed" : badge(lock.status))],
      ["Seats", seats(booking)],
      ["Payment reference", (booking.paymentReference ?? "none") + (booking.late ? " (a late payment)" : "")],
      ["Payment until", time(booking.paymentExpiresAt)],
      ["Created", time(booking.createdAt)],
      ["Changed", time(booking.updatedAt)])), paymentsCard(payments));
    // What is over was changed last at updatedAt; its lock was changed with it. The lock of a late payment is newer than the booking.
    const begins = [booking.createdAt, ...(lock?.createdAt ? [lock.createdAt] : [])].sort()[0];
    const ends = [booking.updatedAt, ...payments.map((p) => p.updatedAt)].filter(Boolean).sort().at(-1);
    showHistory(page, {
      // A list of changes has ten subjects at most.
      eventId: booking.eventId, subjects: [
        `bookings/${booking.id}`, ...(booking.lockId ? [`locks/${booking.lockId}`] : []), ...payments.slice(0, 8).map((p) => `payments/${p.id}`),
      ],
      since: begins, until: isOver(booking.status) ? ends : "", first: "holdfast.booking.created",
    });
  });
}
