// examples/guest: a guest chooses seats on the map, pays, and has them.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createServer } from "node:net";
import { after, afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Holdfast, browse, open, until } from "./harness.mjs";

const [KEY, JWT_SECRET] = ["secret-key-of-the-shop", randomBytes(32).toString("hex")];
const port = await new Promise((resolve) => { // a free one
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address();
    server.close(() => resolve(port));
  });
});
const shop = `http://127.0.0.1:${port}`;
const browser = await browse({ after, afterEach });
const holdfast = await Holdfast.start({ after }, { API_KEYS: `shop:admin:${KEY}`, JWT_SECRET, CORS_ORIGINS: shop });
const ask = (method, path, body) => holdfast.ask(method, path, body, KEY);

const plan = await ask("POST", "/api/seating-plans", {
  name: "Club", categories: [{ key: "seats", name: "Seats" }, { key: "standing", name: "Standing" }],
  sections: [{ key: "A", name: "Stalls", category: "seats", rows: [{ key: "1", seats: 4 }] }, { key: "pit", name: "Pit", category: "standing", capacity: 20 }],
});
const event = await ask("POST", "/api/events", { name: "Late show", seatingPlanId: plan.id, eventDate: "2027-06-15T21:00:00Z" });
const server = spawn(process.execPath, [fileURLToPath(new URL("../../examples/guest/shop.mjs", import.meta.url))], {
  env: { ...process.env, HOLDFAST: holdfast.url, KEY, JWT_SECRET, EVENT: event.id, PORT: String(port) }, stdio: "inherit",
});
after(() => server.kill());
await until("the shop serves", () => fetch(shop).then((r) => r.ok, () => false));

// buy chooses a seat and two standing places, and answers what the page asks.
async function buy(seats, isPaid) {
  const page = await open(browser, shop);
  const asked = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.message());
    return isPaid ? dialog.accept() : dialog.dismiss();
  });
  const map = page.locator("holdfast-seats");
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await map.evaluate((e, n) => e.best(n), seats);
  await until("all is held", () => map.evaluate((e, n) => e.locks.reduce((sum, l) => sum + l.seats, 0) === n, seats + 2));
  await page.getByRole("button", { name: "Check out" }).click();
  await until("nothing is held any more", () => map.evaluate((e) => e.locks.length === 0 && !e.paying));
  assert.deepEqual(page.errors, []);
  return asked;
}

test("a guest pays for seats and standing places by one charge, and has one order", async () => {
  const [asked, ...more] = await buy(2, true);
  assert.match(asked, /^Pay 134 € by 20/);
  assert.deepEqual(more, []);
  const { items } = await ask("GET", `/api/bookings?eventId=${event.id}&status=CONFIRMED`);
  assert.deepEqual(items.map((b) => b.seats), [2, 2]);
  assert.equal(new Set(items.map((b) => `${b.reference} ${b.holder} ${b.paymentReference}`)).size, 1);
  const amounts = await Promise.all(items.map((b) => ask("GET", `/api/payments?bookingId=${b.id}`).then((list) => list.items[0].amount)));
  assert.deepEqual(amounts.sort(), [5000, 8400]);
});

test("a guest who does not pay gives the seats back", async () => {
  const { availableSeats } = await ask("GET", `/api/events/${event.id}`);
  assert.equal((await buy(1, false)).length, 1);
  assert.equal((await ask("GET", `/api/events/${event.id}`)).availableSeats, availableSeats);
});
