// The list of locks, and the page of one with the action to release it.

import { ApiError, call } from "../api.js";
import { el } from "../dom.js";
import { confirmAction, showToast } from "../feedback.js";
import { badge, count, customerLink, eventLink, idLink, lines, seats, shopLines, time } from "./format.js";
import { historyCard, subjectsOf } from "./history.js";
import { listPage, lockColumns } from "./lists.js";
import { act, card, load } from "./parts.js";
import { link, setTitle } from "./router.js";

export function locksPage(page) {
  setTitle("Locks");
  return listPage(page, {
    path: "locks", title: "Locks", columns: lockColumns, empty: "No locks match.", statuses: ["ACTIVE", "CONSUMED", "EXPIRED", "RELEASED"],
  });
}

export async function lockPage(page) {
  setTitle("Lock");
  await load(page, page.root, () => call("GET", `/api/locks/${page.id}`), (lock) => {
    const problem = el("div", { className: "wrong", role: "alert", "data-part": "problem" });
    const release = el("button", { type: "button", textContent: "Release the lock", hidden: lock.status !== "ACTIVE" });
    const root = card("Lock", [badge(lock.status), release], lines(
      ["ID", el("code", { textContent: lock.id })],
      ["Event", eventLink(lock.eventId)],
      ["Customer", customerLink(lock)],
      ["Booking", idLink("bookings", lock.bookingId)],
      ["Seats", seats(lock)],
      ...(lock.waitlistEntryId ? [["Offer", el("a", { href: link(`waitlist/${lock.eventId}`), textContent: "of the waiting list" })]] : []),
      ...shopLines(lock),
      ["Idempotency key", lock.idempotencyKey ?? "none"],
      ["Created", time(lock.createdAt)],
      ["Expires", time(lock.expiresAt)]), problem);
    release.addEventListener("click", async () => {
      const what = lock.bookingId ? "Its open booking is cancelled too. " : "";
      const confirmed = await confirmAction("Release the lock?", `${what}The customer loses ${count(lock.seats, "seat")}, which can be sold at once.`, "Release the lock");
      if (confirmed) {
        await act(root, async () => {
          try {
            const released = await call("DELETE", `/api/locks/${lock.id}`);
            showToast(`The lock is ${released.status}. ${count(released.seats, "seat")} can be sold again.`);
          } catch (error) {
            if (!(error instanceof ApiError) || ![409, 410].includes(error.status)) throw error;
            showToast(`The lock was not released: ${error.message}`); // the page shows its state
          }
          page.root.replaceChildren();
          await lockPage(page);
        });
      }
    });
    page.root.append(root, historyCard(page, {
      eventId: lock.eventId, subjects: subjectsOf(lock, lock.bookingId),
      since: lock.createdAt, first: "holdfast.lock.created",
    }));
  });
}
