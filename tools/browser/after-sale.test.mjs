// The console after a sale: seats of a booking, its customer, parts of its payments, and sales at the counter.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, gate, open, screenshot, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after }, { LOCK_EXPIRY_INTERVAL: "1h", BOOKING_EXPIRY_INTERVAL: "1h" });
const browser = await browse({ after });

const row = (section, key, seats, y) => ({ key, seats: Array.from({ length: seats }, (_, i) => ({ id: `${section}-${key}-${i + 1}`, x: i, y, accessible: i === seats - 1 })) });
const hall = {
  name: "Small hall", categories: [{ key: "seats", name: "Stalls" }, { key: "standing", name: "Standing" }],
  sections: [
    { key: "A", name: "Left", category: "seats", rows: [row("A", "1", 6, 0), row("A", "2", 6, 1)] },
    { key: "pit", name: "Pit", category: "standing", capacity: 10, outline: [[0, 3], [5, 3], [5, 5], [0, 5]] },
  ],
};
const date = "2027-06-15T19:00:00Z";
const seatedEvent = async (name, more = {}) => {
  const plan = await holdfast.ask("POST", "/api/seating-plans", hall);
  return holdfast.ask("POST", "/api/events", { name, seatingPlanId: plan.id, eventDate: date, ...more });
};

const at = (hash) => `${holdfast.url}/console#/${hash}`;
const card = (page, name) => page.getByRole("region", { name, exact: true });
const shows = (page, name, pattern) => until(`${name} shows ${pattern}`, async () => pattern.test(await card(page, name).innerText()));
const sell = (event, request) => holdfast.ask("POST", `/api/events/${event.id}/sales`, { holder: "cart-1", ...request });
const bookingOf = (id) => holdfast.ask("GET", `/api/bookings/${id}`);
const paymentsOf = async (id) => (await holdfast.ask("GET", `/api/payments?bookingId=${id}`)).items;
const placesOf = (booking) => booking.places.map((p) => p.seatId ?? p.section);

// choose goes to a seat of the first section by the keyboard, and presses Enter.
async function choose(page, of, ...keys) {
  await of.locator(".cursor").focus();
  for (const key of keys) await page.keyboard.press(key);
  await page.keyboard.press("Enter");
}

test("of three seats one is given back and another exchanged on the map, with a refund and an additional payment", async () => {
  const event = await seatedEvent("Exchange");
  const { id } = await sell(event, { seatIds: ["A-1-1", "A-1-2", "A-1-3"], paymentReference: "pay-1", amount: 3000, currency: "EUR" });
  const page = await open(browser, at(`bookings/${id}`));
  await card(page, "Seats of the booking").getByRole("button", { name: "Change the seats" }).click();
  const form = page.getByRole("form", { name: "Change the seats" });
  await form.getByText("3 seats chosen.").waitFor();
  await form.getByText("10 available").waitFor(); // 9 and the standing places are counted by section
  expectNoErrors(page);
});
