// The console's pages of payments: refunds that are due, and the payments of a booking.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, until } from "./harness.mjs";

const browser = await browse({ after, afterEach });

const card = (page, name) => page.getByRole("region", { name, exact: true });

// pay reports a payment of a new booking. A late one is refused.
async function pay(holdfast, event, reference, { late = false, ...charge } = {}) {
  const lock = await holdfast.lock(event, 1);
  const window = late ? { paymentExpiresAt: new Date(Date.now() - 3_600_000).toISOString() } : { paymentTtlSeconds: 600 };
  const booking = await holdfast.ask("POST", "/api/bookings", { eventId: event.id, userId: lock.userId, lockId: lock.id, ...window });
  const response = await fetch(`${holdfast.url}/api/bookings/${booking.id}/confirm`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ paymentReference: reference, ...charge }),
  });
  const answer = await response.json();
  assert.equal(response.status, late ? 410 : 200, JSON.stringify(answer));
  return { lock, booking, payment: answer.payment };
}

test("an operator notes the refunds that are due, oldest first", async (t) => {
  const holdfast = await Holdfast.start(t);
  const event = await holdfast.event("Refunds", 10);
  const first = await pay(holdfast, event, "pay-first", { late: true, amount: 4200, currency: "EUR", provider: "acme" });
  const second = await pay(holdfast, event, "pay-second");
  await holdfast.ask("POST", `/api/bookings/${second.booking.id}/cancel`);
  await pay(holdfast, event, "pay-sold");

  const page = await open(browser, `${holdfast.url}/console`);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Refunds due" }).click();
  const rows = card(page, "Refunds due").getByRole("table").locator("tbody tr");
  await page.getByText("2 refunds, oldest first.").waitFor();
  await rows.first().getByText("Refunds").waitFor(); // the event's name comes later
  const text = await rows.allInnerTexts();
  assert.equal(text.length, 2);
  assert.match(text[0], /acme pay-first[^]*4,200 EUR[^]*ago[^]*it came too late[^]*Refunds/);
  assert.match(text[1], /default pay-second[^]*the booking is cancelled/);
  await accessible(page);

  const form = page.getByRole("form", { name: "Refund of pay-first" });
  const reference = form.getByLabel("Refund reference");
  await reference.fill("re_\u0007");
  await reference.evaluate((input) => { input.value = "x".repeat(201); });
  await form.getByRole("button", { name: "Refunded" }).click();
  await form.getByRole("alert").getByText("VALIDATION_FAILED").waitFor();
  assert.equal(await reference.getAttribute("aria-invalid"), "true");
  await rows.nth(1).getByLabel("Refund reference").fill("re_half");
  await reference.fill("re_1");
  await form.getByRole("button", { name: "Refunded" }).click();
  await page.getByText("1 refund, oldest first.").waitFor();
  assert.equal(await rows.count(), 1);
  assert.equal(await rows.first().getByLabel("Refund reference").inputValue(), "re_half");
  const refunded = await holdfast.ask("GET", `/api/payments/${first.payment.id}`);
  assert.equal(refunded.status, "REFUNDED");
  assert.equal(refunded.refundReference, "re_1");

  await rows.first().getByRole("link").first().click(); // the payment
  await card(page, "Payment").getByText("pay-second").waitFor();
  await card(page, "Payment").getByLabel("Refund reference").fill("re_2");
  await card(page, "Payment").getByRole("button", { name: "Refunded" }).click();
  await until("the payment is refunded", async () => /REFUNDED[^]*re_2/.test(await card(page, "Payment").innerText()));
  assert.equal(await card(page, "Payment").getByRole("button", { name: "Refunded" }).count(), 0);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Refunds due" }).click();
  await page.getByText("No refund is due.").waitFor();
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Audit" }).click();
  await until("the audit has both", async () =>
    (await card(page, "Audit").innerText()).match(/noted the refund of the payment/g)?.length >= 2);
  expectNoErrors(page);
});

test("a refund that was noted elsewhere with another reference is refused", async (t) => {
  const holdfast = await Holdfast.start(t);
  const { payment } = await pay(holdfast, await holdfast.event("Twice", 10), "pay-twice", { late: true });
  const page = await open(browser, `${holdfast.url}/console#/refunds`);
  const form = page.getByRole("form", { name: "Refund of pay-twice" });
  await form.getByLabel("Refund reference").fill("re_mine");
  await holdfast.ask("POST", `/api/payments/${payment.id}/refunded`, { refundReference: "re_theirs" });
  await form.getByRole("button", { name: "Refunded" }).click();
  await form.getByRole("alert").getByText("PAYMENT_REFUNDED").waitFor();
  expectNoErrors(page);
});

test("a booking's page and the search show its payments", async (t) => {
  const holdfast = await Holdfast.start(t);
  const event = await holdfast.event("Booking", 10);
  const { booking } = await pay(holdfast, event, "pay-kept", { amount: 100, currency: "USD", paymentPart: "seat 1" });
  await fetch(`${holdfast.url}/api/bookings/${booking.id}/confirm`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ paymentReference: "pay-again" }),
  });
  const page = await open(browser, `${holdfast.url}/console#/bookings/${booking.id}`);
  const payments = card(page, "Payments").getByRole("table").locator("tbody tr");
  await until("both payments are shown", async () => (await payments.count()) === 2);
  const text = (await payments.allInnerTexts()).join("\n");
  assert.match(text, /pay-kept \(part seat 1\)[^]*100 USD[^]*ACCEPTED/);
  assert.match(text, /pay-again[^]*REFUND_DUE[^]*the booking was confirmed without it/);
  await until("the history has the payments", async () => {
    await page.reload();
    await page.getByText(/changes?, oldest first|beginning is missing/).waitFor();
    return /payment accepted[^]*payment refund due/.test(await card(page, "History").innerText());
  });
  const box = page.getByRole("search").getByRole("searchbox");
  await box.fill("pay-again");
  await box.press("Enter");
  const results = page.getByRole("table", { name: "What was found" });
  await until("the payment is found", async () => /^\s*payment\b[^]*REFUND_DUE/.test(await results.locator("tbody tr").first().innerText()));
  await results.getByRole("link").first().click();
  await until("its page is shown", async () => /pay-again[^]*the booking was confirmed without it/.test(await card(page, "Payment").innerText()));
  await page.setViewportSize({ width: 390, height: 800 });
  await fits(page);
  await accessible(page);
  expectNoErrors(page);
});
