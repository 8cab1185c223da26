// The cancellation of an event in the console.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, until } from "./harness.mjs";

const browser = await browse({ after, afterEach });

// sell sells seats for a payment with a reference.
async function sell(holdfast, event, seats) {
  const lock = await holdfast.lock(event, seats);
  const booking = await holdfast.ask("POST", "/api/bookings", { userId: lock.userId, eventId: event.id, lockId: lock.id, paymentTtlSeconds: 600 });
  await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, { paymentReference: `pay-${booking.id}` });
}

const card = (page, name) => page.getByRole("region", { name, exact: true });

test("an event is cancelled with all that it has sold, and its page says how far that is", async (t) => {
  const holdfast = await Holdfast.start(t);
  const at = (event) => `${holdfast.url}/console#/events/${event.id}`;
  const event = await holdfast.event("Cancelled", 10);
  await sell(holdfast, event, 3);
  const lock = await holdfast.lock(event, 2);
  await holdfast.end("worker"); // so that the run waits
  const page = await open(browser, at(event));
  const settings = card(page, "Settings");
  const dialog = page.getByRole("dialog", { name: "Cancel Cancelled?" });

  await settings.getByRole("button", { name: "Cancel the event" }).focus();
  await page.keyboard.press("Enter");
  await dialog.getByText(/releases all locks \(2 locked seats\) and cancels all bookings.*\(3 sold seats\)/).waitFor();
  await page.keyboard.press("Enter"); // once too often
  await dialog.waitFor({ state: "hidden" });
  assert.equal((await holdfast.ask("GET", `/api/events/${event.id}`)).status, "ON_SALE");

  await settings.getByRole("button", { name: "Cancel the event" }).click();
  await accessible(page);
  await dialog.getByRole("button", { name: "Cancel the event" }).click();
  await settings.getByText("The event is being cancelled. No process has begun").waitFor();
  assert.equal((await holdfast.ask("GET", `/api/events/${event.id}`)).status, "CANCELLED");
  assert.equal((await holdfast.ask("GET", `/api/locks/${lock.id}`)).status, "ACTIVE");

  const other = await open(browser, at(event), { viewport: { width: 390, height: 844 } }); // that of another operator
  await card(other, "Settings").getByText("The event is being cancelled. No process has begun").waitFor();
  holdfast.run("worker", holdfast.worker);
  for (const p of [page, other]) {
    await card(p, "Settings").getByText(/2 locks and bookings ended, 5 seats freed\.( Nothing is left; the run waits .*)?$/).waitFor(); // for some seconds
    assert.equal(await card(p, "Settings").getByRole("button", { name: /Cancel/ }).count(), 0);
  }
  assert.equal((await holdfast.ask("GET", `/api/locks/${lock.id}`)).status, "RELEASED");
  await fits(other);
  await accessible(other);
  await settings.getByRole("link", { name: "Refunds due" }).click();
  await card(page, "Refunds due").getByText("the event is cancelled").waitFor();
  await page.goto(`${holdfast.url}/console#/audit?target=${event.id}`);
  await card(page, "Audit").getByText("cancelled the event with its locks and bookings").waitFor();
  await card(page, "Audit").getByRole("link", { name: `…${event.id.slice(-8)}` }).waitFor();
  for (const p of [page, other]) expectNoErrors(p);
});

test("a question that is open does not become that of the cancellation", async (t) => {
  const holdfast = await Holdfast.start(t);
  const hall = { name: "Small", categories: [{ key: "a", name: "First" }], sections: [{ key: "A", name: "Left", category: "a", rows: [{ key: "1", seats: 3 }] }] };
  const plan = await holdfast.ask("POST", "/api/seating-plans", hall);
  const event = await holdfast.ask("POST", "/api/events", { name: "Two questions", seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" });
  let [answer, isLate] = [undefined, false];
  const mayAnswer = new Promise((resolve) => { answer = resolve; });
  const page = await open(browser, `${holdfast.url}/console`);
  await page.route(`**/api/admin/events/${event.id}`, async (route) => { // its summary
    if (isLate) await mayAnswer;
    await route.continue();
  });
  await page.goto(`${holdfast.url}/console#/events/${event.id}?seat=A-1-1`);
  const block = card(page, "Seats").getByRole("button", { name: "Block the seat" });
  const cancel = page.locator("section.card button", { hasText: /^Cancel the event$/ });
  await block.waitFor();
  isLate = true;
  await cancel.click();
  await block.click();
  const dialog = page.getByRole("dialog", { name: "Block seat A-1-1?" });
  await dialog.waitFor();
  assert.ok(await cancel.isDisabled(), "the summary is being read");
  answer();
  await until("the summary is read", () => cancel.isEnabled());
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))); // the page has worked on it
  assert.ok(await dialog.isVisible());
  await dialog.getByRole("button", { name: "Block the seat" }).click();
  await card(page, "Seats").getByText("BLOCKED", { exact: true }).waitFor();
  assert.equal((await holdfast.ask("GET", `/api/events/${event.id}`)).status, "ON_SALE");
  await cancel.click(); // asked again, it has its own question
  await page.getByRole("dialog", { name: "Cancel Two questions?" }).getByRole("button", { name: "Keep the event" }).click();
  assert.equal((await holdfast.ask("GET", `/api/events/${event.id}`)).status, "ON_SALE");
  expectNoErrors(page);
});

test("an event with the status CANCELLED alone says so, and the rest can be cancelled", async (t) => {
  const holdfast = await Holdfast.start(t);
  const event = await holdfast.event("Status alone", 10);
  await sell(holdfast, event, 1);
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { status: "CANCELLED" });
  const page = await open(browser, `${holdfast.url}/console`);
  let run; // its ID
  let isOver = false; // as the page is told, however long the run takes
  await page.route("**/api/admin/jobs/event-cancel/runs*", async (route) => {
    const { items } = await (await route.fetch()).json();
    return route.fulfill({ json: { items: items.map((r) => ({ ...r, outcome: isOver ? "completed" : "running" })), nextPageToken: "" } });
  });
  await page.route(`**/api/admin/events/${event.id}`, async (route) => {
    const { cancelRunId, ...summary } = await (await route.fetch()).json();
    run ??= cancelRunId;
    return route.fulfill({ json: { ...summary, ...(run && !isOver && { cancelRunId: run }) } });
  });
  await page.goto(`${holdfast.url}/console#/events/${event.id}`);
  const settings = card(page, "Settings");
  await settings.getByText("Only the status is set").waitFor();
  await settings.getByRole("button", { name: "Cancel its locks and bookings" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel the event" }).click();
  await settings.getByText(/1 lock or booking ended, 1 seat freed\. Nothing is left; the run waits/).waitFor();
  isOver = true;
  await settings.getByText("Its locks and bookings are cancelled: 1 lock or booking ended, 1 seat freed.").waitFor();
  await until("the payment is due", async () => (await holdfast.ask("GET", "/api/admin/refunds-due")).due === 1);
  expectNoErrors(page);
});
