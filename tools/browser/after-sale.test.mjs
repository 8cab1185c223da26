// The console after a sale: seats of a booking, its customer, parts of its payments, and sales at the counter.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, screenshot, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after }, { LOCK_EXPIRY_INTERVAL: "1h", BOOKING_EXPIRY_INTERVAL: "1h" });
const browser = await browse({ after, afterEach });

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

// changesOf keeps the changes that a page asks for, but for notes of refunds, which repeat themselves.
function changesOf(page) {
  const changes = [];
  page.on("request", (request) => {
    if (request.method() !== "GET" && !request.url().endsWith("/refunded")) changes.push(request.postDataJSON());
  });
  return changes;
}

// choose goes to a seat of the first section by the keyboard, and presses Enter.
async function choose(page, of, ...keys) {
  await of.locator(".cursor").focus();
  for (const key of keys) await page.keyboard.press(key);
  await page.keyboard.press("Enter");
}

test("of three seats one is given back and another exchanged on the map, with a refund and an additional payment", async () => {
  const event = await seatedEvent("Exchange");
  const { id } = await sell(event, { seatIds: ["A-1-1", "A-1-2", "A-1-3"], paymentReference: "pay-1", amount: 3000, currency: "EUR" });
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder: "cart-2", seatIds: ["A-2-1"] });
  const page = await open(browser, at(`bookings/${id}`));
  const changes = changesOf(page);
  await card(page, "Seats of the booking").getByRole("button", { name: "Change the seats" }).click();
  const form = page.getByRole("form", { name: "Change the seats" });
  await form.getByText("3 seats chosen.").waitFor();
  await form.getByText("1 locked").waitFor();
  await choose(page, form, "Enter", "Home"); // Enter goes into the section, to its first free seat
  await form.getByText("2 seats chosen. Given back: A-1-1.").waitFor();
  await choose(page, form, "ArrowDown");
  await form.getByText("Seat A-2-1 is locked.").waitFor();
  await choose(page, form, "ArrowRight");
  await form.getByText("3 seats chosen. Added: A-2-2. Given back: A-1-1.").waitFor();
  await form.getByRole("button", { name: "Take back A-1-2" }).click();
  await form.getByText("2 seats chosen. Added: A-2-2. Given back: A-1-1, A-1-2.").waitFor();
  await screenshot(page, "after-sale-change", { fullPage: true });
  await accessible(page);

  const change = form.getByRole("button", { name: "Change the seats" });
  await form.getByLabel("Payment reference").fill("pay-2");
  await form.getByLabel("Amount, in minor units").fill("500");
  await form.getByLabel("Currency").fill("EUR");
  await form.getByLabel("Amount to refund, in minor units").fill("3001");
  await change.click();
  await form.getByText("VALIDATION_FAILED").waitFor();
  assert.equal(await form.getByLabel("Amount to refund, in minor units").getAttribute("aria-invalid"), "true");
  await form.getByLabel("Amount to refund, in minor units").fill("1000");
  assert.deepEqual(placesOf(await bookingOf(id)), ["A-1-1", "A-1-2", "A-1-3"]);
  assert.equal((await paymentsOf(id)).length, 1);

  await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder: "cart-3", seatIds: ["A-2-2"] });
  await change.click();
  await form.getByText("SEATS_UNAVAILABLE").waitFor();
  await form.getByRole("button", { name: "Take back A-2-2" }).getByText("A-2-2, taken ×").waitFor();
  await form.getByRole("button", { name: "Take back A-2-2" }).click();
  await choose(page, form, "ArrowRight");
  await form.getByText("2 seats chosen. Added: A-2-3. Given back: A-1-1, A-1-2.").waitFor();
  assert.equal(await form.getByLabel("Payment reference").inputValue(), "pay-2");
  await change.click();
  await shows(page, "Booking", /2 seats: A-1-3, A-2-3/);
  assert.deepEqual(changes.map((c) => Boolean(c.idempotencyKey)), [true, true, true]);
  assert.equal(new Set(changes.map((c) => c.idempotencyKey)).size, 3); // each was another request
  await shows(page, "Payments", /pay-1[^]*3,000 EUR[^]*1,000 EUR[^]*ACCEPTED[^]*pay-2[^]*500 EUR/);
  await shows(page, "Payments", /Parts of pay-1[^]*1,000 EUR[^]*seats were given back or exchanged[^]*DUE/);
  await until("the history has the change", async () => {
    await page.reload();
    await page.getByText(/changes?, oldest first|beginning is missing/).waitFor();
    return /booking changed[^]*seats 3 → 2[^]*places A-1-3, A-2-3/.test(await card(page, "History").innerText());
  });
  assert.match(await card(page, "History").innerText(), /changes, oldest first/); // a sale at once begins with its confirmation
  await page.setViewportSize({ width: 390, height: 800 });
  await fits(page);
  expectNoErrors(page);
});

test("seats are changed by their number, without a plan and where nobody sits; the best available of an open booking", async () => {
  const plain = await holdfast.event("Plain", 10);
  const sold = await sell(plain, { seats: 3 });
  const page = await open(browser, at(`bookings/${sold.id}`));
  const form = page.getByRole("form", { name: "Change the seats" });
  const start = () => card(page, "Seats of the booking").getByRole("button", { name: "Change the seats" }).first().click();
  await start();
  assert.equal(await form.getByLabel("Amount to refund").count(), 0); // nothing was paid
  await form.getByLabel("Seats").fill("11");
  await form.getByRole("button", { name: "Change the seats" }).click();
  await form.getByText("SEATS_UNAVAILABLE").waitFor();
  assert.equal(await form.getByLabel("Seats").inputValue(), "11");
  await form.getByLabel("Seats").fill("2");
  await form.getByRole("button", { name: "Change the seats" }).click();
  await shows(page, "Booking", /2 seats/);
  await start();
  await form.getByLabel("Seats").fill("2");
  await form.getByRole("button", { name: "Change the seats" }).click();
  await page.getByText("The booking has these seats already: nothing was changed.").waitFor();

  const seated = await seatedEvent("Standing");
  const { id } = await sell(seated, { section: "pit", seats: 4 });
  await page.goto(at(`bookings/${id}`));
  await start();
  await form.getByLabel("Number").and(form.locator("[name=areaSeats]")).fill("5");
  await form.getByRole("button", { name: "Change the seats" }).click();
  await shows(page, "Booking", /5 seats: section pit/);

  const lock = await holdfast.ask("POST", "/api/locks", { eventId: seated.id, holder: "cart-9", seatIds: ["A-1-1"] });
  const open9 = await holdfast.ask("POST", "/api/bookings", { eventId: seated.id, holder: "cart-9", lockId: lock.id, paymentTtlSeconds: 600 });
  await page.goto(at(`bookings/${open9.id}`));
  await start();
  await form.getByLabel("Seats", { exact: true }).selectOption("best");
  assert.equal(await form.getByLabel("Payment reference").count(), 0); // of a booking that is not paid yet
  assert.equal(await card(page, "Transfer").count(), 0);
  await form.locator("[name=bestSeats]").fill("3");
  await form.getByLabel("Accessible seats").fill("1");
  await form.getByLabel("Next to each other").selectOption("REQUIRED");
  await form.getByRole("button", { name: "Change the seats" }).click();
  await shows(page, "Booking", /3 seats/);
  assert.ok(placesOf(await bookingOf(open9.id)).some((p) => p.endsWith("-6")), "an accessible seat");
  expectNoErrors(page);
});

test("a change whose answer got lost is done once when it is asked again; a double click asks once", async () => {
  const event = await seatedEvent("Once");
  const { id } = await sell(event, { seatIds: ["A-1-1", "A-1-2"], paymentReference: "once-1", amount: 2000, currency: "EUR" });
  const [payment] = await paymentsOf(id);
  const page = await open(browser, at(`bookings/${id}`));
  const keys = [];
  let isLost = true;
  await page.route(`**/api/payments/${payment.id}/refunds`, async (route) => {
    keys.push(route.request().postDataJSON().idempotencyKey);
    const response = await route.fetch();
    return isLost ? route.abort() : route.fulfill({ response });
  });
  const form = page.getByRole("form", { name: "Part of once-1" });
  await form.getByRole("spinbutton").fill("700");
  await form.getByRole("button", { name: "Make the part due" }).click();
  await form.getByText("NO_ANSWER").waitFor();
  isLost = false;
  await form.getByRole("button", { name: "Make the part due" }).dblclick();
  await shows(page, "Payments", /Parts of once-1[^]*700 EUR[^]*DUE/);
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  assert.equal((await paymentsOf(id))[0].refunds.length, 1);
  expectNoErrors(page);
});

test("a part is refunded and noted; payments that are kept are listed with what is due of them", async () => {
  const event = await seatedEvent("Parts");
  const { id } = await sell(event, { seatIds: ["A-1-1", "A-1-2"], paymentReference: "part-1", amount: 2000, currency: "EUR" });
  const [payment] = await paymentsOf(id);
  const page = await open(browser, at(`payments/${payment.id}`));
  const form = page.getByRole("form", { name: "Part of part-1" });
  for (const amount of ["500", "300"]) {
    await form.getByRole("spinbutton").fill(amount);
    await form.getByRole("button", { name: "Make the part due" }).click();
    await shows(page, "Payment", new RegExp(`${amount} EUR[^]*a part of it goes back[^]*DUE`));
  }
  await shows(page, "Payment", /Due now\s+800 EUR/);
  await accessible(page);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Refunds due" }).click();
  const due = page.getByRole("table", { name: "Refunds due" }).locator("tbody tr").filter({ hasText: "part-1" });
  await until("what is due is listed", async () => /800 EUR[^]*a part of it goes back/.test(await due.innerText()));
  await due.getByRole("form", { name: "Refund of 300 EUR of part-1" }).getByLabel("Refund reference").fill("re_half");
  const note = due.getByRole("form", { name: "Refund of 500 EUR of part-1" });
  await note.getByLabel("Refund reference").fill("re_500");
  await note.getByRole("button", { name: "Refunded" }).click();
  await until("less is due", async () => /300 EUR/.test(await due.innerText()) && !/500 EUR/.test(await due.innerText()));
  assert.equal(await due.getByLabel("Refund reference").inputValue(), "re_half");
  await screenshot(page, "after-sale-refunds", { fullPage: true });
  await accessible(page);

  await holdfast.ask("POST", `/api/bookings/${id}/cancel`);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Locks" }).click();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Refunds due" }).click();
  await until("the rest is due too", async () => /1,500 EUR[^]*the booking is cancelled[^]*Or all that is due/.test(await due.innerText()));
  const whole = due.getByRole("form", { name: "Refund of part-1", exact: true });
  await whole.getByLabel("Refund reference").fill("re_rest");
  await whole.getByRole("button", { name: "Refunded" }).click();
  await until("nothing is due", async () => (await due.count()) === 0);
  const refunded = await holdfast.ask("GET", `/api/payments/${payment.id}`);
  assert.deepEqual([refunded.status, refunded.refundReference, ...refunded.refunds.map((r) => r.refundReference)], ["REFUNDED", "re_rest", "re_500", "re_rest"]);
  expectNoErrors(page);
});

test("a booking is transferred to a holder, and to a user by e-mail", async () => {
  const event = await seatedEvent("Transfer", { maxSeatsPerUser: 2 });
  const { id } = await sell(event, { seatIds: ["A-1-1", "A-1-2"], paymentReference: "transfer-1" });
  await sell(event, { holder: "full", seatIds: ["A-2-1"] });
  const user = await holdfast.user();
  const page = await open(browser, at(`bookings/${id}`));
  const changes = changesOf(page);
  const form = page.getByRole("form", { name: "Transfer" });
  const to = form.getByLabel("Holder, e-mail or ID");
  const transfer = form.getByRole("button", { name: "Transfer" });
  await to.fill("full");
  await transfer.click();
  await form.getByText("SEAT_LIMIT_REACHED").waitFor();
  assert.equal(await to.inputValue(), "full");
  await to.fill("cart 7");
  await transfer.click();
  await shows(page, "Booking", /Customer\s+cart 7[^]*CONSUMED/);
  await form.getByLabel("Customer").selectOption("user");
  await to.fill("nobody@example.com");
  await transfer.click();
  await form.getByText("No user has this address. (USER_NOT_FOUND)").waitFor();
  await to.fill(user.email);
  await transfer.click();
  await shows(page, "Booking", new RegExp(`Customer\\s+…${user.id.slice(-8)}`));
  assert.equal((await bookingOf(id)).userId, user.id);
  assert.ok(changes.length === 3 && changes.every((c) => c.idempotencyKey));
  assert.equal((await paymentsOf(id))[0].holder, "cart-1");
  await until("the history has the transfers", async () => {
    await page.reload();
    await page.getByText(/changes?, oldest first|beginning is missing/).waitFor();
    return /booking transferred[^]*holder cart-1 → cart 7[^]*booking transferred/.test(await card(page, "History").innerText());
  });
  await page.goto(at(`audit?target=${id}`));
  await shows(page, "Audit", /gave the booking to another customer/);
  expectNoErrors(page);
});

test("seats are sold at the counter on the map, the best available and general admission, also while the sale is closed", async () => {
  const event = await seatedEvent("Counter");
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { status: "CLOSED" });
  const page = await open(browser, at(`events/${event.id}`));
  await page.getByRole("link", { name: "Sell seats of this event" }).click();
  const form = page.getByRole("form", { name: "Sell at the counter" });
  const sold = page.getByRole("list", { name: "Sold here" });
  const changes = changesOf(page);
  await form.getByText("0 seats chosen.").waitFor();
  const press = () => form.getByRole("button", { name: "Sell" }).click();
  const to = form.getByLabel("Holder, e-mail or ID");
  await form.getByText("0 locked").waitFor();
  await choose(page, form, "Enter");
  await choose(page, form, "End"); // an accessible seat
  await form.getByText("2 seats chosen.").waitFor();
  await screenshot(page, "after-sale-counter", { fullPage: true });
  await accessible(page);
  await to.fill("counter 1");
  await form.getByLabel("Reference, as an order number").fill("order-1");
  await form.getByLabel("Payment reference").fill("cash-1");
  await form.getByLabel("Amount, in minor units").fill("2500");
  await form.getByLabel("Currency").fill("EUR");
  await form.getByRole("button", { name: "Sell" }).dblclick();
  await until("two seats are sold", async () => /Sold 2 seats: A-1-1, A-1-6 to counter 1/.test(await sold.innerText()));
  for (const label of ["Reference, as an order number", "Payment reference", "Holder, e-mail or ID"]) assert.equal(await form.getByLabel(label).inputValue(), "");
  await form.getByText("0 seats chosen.").waitFor();

  await form.getByLabel("Seats", { exact: true }).selectOption("best");
  await form.locator("[name=bestSeats]").fill("2");
  await to.fill("counter 2");
  await form.getByLabel("Payment reference").fill("cash-1");
  await press();
  await form.getByText("PAYMENT_REFERENCE_USED").waitFor();
  await form.getByLabel("Payment reference").fill("cash-2");
  await press();
  await until("the best are sold", async () => (await sold.getByRole("listitem").count()) === 2);
  await form.getByLabel("Seats", { exact: true }).selectOption("area");
  await form.locator("[name=areaSeats]").fill("3");
  const user = await holdfast.user();
  await form.getByLabel("Customer").selectOption("user");
  await to.fill(user.id);
  await press();
  await until("places are sold", async () => /Sold 3 seats: section pit/.test(await sold.innerText()));
  assert.ok(changes.length === 4 && changes.every((c) => c.idempotencyKey)); // one was refused
  const { items } = await holdfast.ask("GET", `/api/bookings?eventId=${event.id}`);
  assert.deepEqual(items.map((b) => [b.status, b.seats, b.holder ?? b.userId, b.reference, b.payments?.length]),
    [["CONFIRMED", 2, "counter 1", "order-1", 1], ["CONFIRMED", 2, "counter 2", undefined, 1], ["CONFIRMED", 3, user.id, undefined, undefined]]);
  await sold.getByRole("link", { name: `…${items[0].id.slice(-8)}` }).click();
  await shows(page, "Booking", /CONFIRMED[^]*order-1[^]*cash-1/);
  await page.setViewportSize({ width: 390, height: 800 });
  await page.goto(at(`counter/${event.id}`));
  await form.getByText("0 seats chosen.").waitFor();
  await fits(page);
  await page.goto(at(`audit?target=${event.id}`));
  await shows(page, "Audit", /sold seats at the counter/);

  const plain = await holdfast.event("Plain counter", 5);
  await page.goto(at(`counter/${plain.id}`));
  await form.getByLabel("Seats").fill("2");
  await to.fill("counter 3");
  await press();
  await until("two are sold", async () => /Sold 2 seats to counter 3/.test(await sold.innerText()));
  expectNoErrors(page);
});

test("of floors that lie on each other, the map shows that of the booking, and others", async () => {
  const floor = (key, name) => ({ key, name, floor: key, category: "seats", rows: [row(key, "1", 4, 0)] });
  const plan = await holdfast.ask("POST", "/api/seating-plans", { ...hall, sections: [floor("0", "Ground"), floor("1", "Balcony")] });
  const event = await holdfast.ask("POST", "/api/events", { name: "Floors", seatingPlanId: plan.id, eventDate: date });
  const { id } = await sell(event, { seatIds: ["1-1-1"] });
  const page = await open(browser, at(`bookings/${id}`));
  await card(page, "Seats of the booking").getByRole("button", { name: "Change the seats" }).click();
  const form = page.getByRole("form", { name: "Change the seats" });
  await form.getByText("1 sold").waitFor();
  assert.equal(await form.getByLabel("Floor").inputValue(), "1");
  await until("the cursor is on the balcony", async () => /^Balcony/.test(await form.locator(".cursor").textContent()));
  await form.getByLabel("Floor").selectOption("0");
  await choose(page, form, "Enter");
  await form.getByText("2 seats chosen. Added: 0-1-1.").waitFor();
  await form.getByRole("button", { name: "Change the seats" }).click();
  await shows(page, "Booking", /2 seats: 0-1-1, 1-1-1/);
  expectNoErrors(page);
});
