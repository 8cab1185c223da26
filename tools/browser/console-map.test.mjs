// The map of a large hall in the console, operators who choose the same seats, and the focus of the keyboard.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, answersLate, browse, expectNoErrors, fits, open, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after }, { LOCK_EXPIRY_INTERVAL: "1h", BOOKING_EXPIRY_INTERVAL: "1h" });
const browser = await browse({ after, afterEach });

const card = (page, name) => page.getByRole("region", { name, exact: true });

// seatedEvent has two adjacent sections.
const seatedEvent = async (name, rows, seats) => {
  const section = (key, x) => ({
    key, name: `Section ${key}`, category: "a",
    rows: Array.from({ length: rows }, (_, r) => ({ key: `${r + 1}`, seats: Array.from({ length: seats }, (_, i) => ({ id: `${key}-${r + 1}-${i + 1}`, x: x + i, y: r })) })),
  });
  const plan = await holdfast.ask("POST", "/api/seating-plans", { name, categories: [{ key: "a", name: "First" }], sections: [section("A", 0), section("B", seats + 20)] });
  return holdfast.ask("POST", "/api/events", { name, seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" });
};

// draw draws a rectangle over the map, between shares of its width.
async function draw(page, from, to) {
  const canvas = card(page, "Seats").locator("canvas");
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  await page.mouse.move(box.x + from * box.width + 2, box.y + 2);
  await page.mouse.down();
  await page.mouse.move(box.x + to * box.width - 2, box.y + box.height - 2, { steps: 3 });
  await page.mouse.up();
}

// drawn counts the pixels of the map that have the colour of a style.
const drawn = (page, style) => card(page, "Seats").locator("canvas").evaluate((canvas, name) => {
  const node = document.createElement("span");
  node.style.color = `var(${name})`;
  document.body.append(node);
  const wanted = getComputedStyle(node).color.match(/\d+/g).map(Number);
  node.remove();
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let n = 0;
  for (let i = 0; i < data.length; i += 4) if (wanted.every((v, k) => data[i + k] === v)) n++;
  return n;
}, style);

test("far away, the map of a large hall shows what is locked and blocked; no more is blocked than can be at once", async () => {
  const event = await seatedEvent("Large", 75, 80);
  const user = await holdfast.user();
  const some = Array.from({ length: 50 }, (_, r) => Array.from({ length: 20 }, (_, i) => `A-${r + 1}-${i + 1}`));
  for (const rows of [some.slice(0, 25), some.slice(25)]) {
    for (const seatIds of rows) await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds });
  }
  const page = await open(browser, `${holdfast.url}/console#/events/${event.id}`);
  const seats = card(page, "Seats");
  await seats.getByText("11,000 available").waitFor();
  await until("the locked share is drawn", async () => (await drawn(page, "--locked")) > 500);
  assert.ok((await drawn(page, "--soft")) < 500);

  await page.getByRole("button", { name: "Select seats" }).click();
  await draw(page, 0, 1);
  await seats.getByText("12,000 seats selected. At most 10,000 seats at once: draw a smaller rectangle.").waitFor();
  assert.equal(await seats.getByRole("button", { name: /^Block/ }).count(), 0);
  await until("the rectangle stays", async () => (await drawn(page, "--brand")) > 500);
  await draw(page, 0.5, 1);
  await seats.getByText("6,000 seats selected.").waitFor();
  await seats.getByRole("button", { name: "Block 6,000 seats" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Block 6,000 seats" }).click();
  await seats.getByText("6,000 blocked", { exact: true }).waitFor();
  await until("the blocked share is drawn", async () => (await drawn(page, "--soft")) > 2000);
  await draw(page, 0.5, 1);
  await seats.getByRole("button", { name: "Unblock 6,000 seats" }).click();
  await seats.getByText("0 blocked", { exact: true }).waitFor();
  await draw(page, 0, 0.02);
  await seats.getByText("No seat is in the rectangle.").waitFor();
  await accessible(page);
  expectNoErrors(page);
});

test("of two operators who choose the same seats, each learns what the other one did", async () => {
  const event = await seatedEvent("Shared map", 2, 5);
  const user = await holdfast.user();
  const page = await open(browser, `${holdfast.url}/console`);
  await page.clock.install();
  await page.goto(`${holdfast.url}/console#/events/${event.id}`);
  const seats = card(page, "Seats");
  await seats.getByText("20 available").waitFor();
  await page.getByRole("button", { name: "Select seats" }).click();
  await draw(page, 0, 1);
  await page.clock.pauseAt(Date.now() + 3_600_000); // nothing is polled any more
  await seats.getByRole("button", { name: "Block 20 seats" }).click();
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-1"] });
  await page.getByRole("dialog").getByRole("button", { name: "Block 20 seats" }).click();
  await seats.getByRole("alert").getByText("SEATS_UNAVAILABLE").waitFor();
  await seats.getByRole("button", { name: "Block 19 seats" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Block 19 seats" }).click();
  await seats.getByText("19 blocked", { exact: true }).waitFor();

  await page.goto(`${holdfast.url}/console#/locks/${lock.id}`);
  await page.getByRole("button", { name: "Release the lock" }).click();
  const booking = await holdfast.ask("POST", "/api/bookings", { eventId: event.id, userId: user.id, lockId: lock.id, paymentTtlSeconds: 600 });
  await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, {});
  await page.getByRole("dialog").getByRole("button", { name: "Release the lock" }).click();
  await until("the refusal is told", async () => (await page.locator("#toast").textContent()) === "The lock was not released: The lock's booking is confirmed.");
  await card(page, "Lock").getByText("CONSUMED").waitFor();
  expectNoErrors(page);
});

test("a block stays on the map when what was read before it is answered after it", async () => {
  const event = await seatedEvent("Overtaken", 2, 5);
  const page = await open(browser, `${holdfast.url}/console`);
  const reading = await answersLate(page, `${holdfast.url}/api/admin/events/${event.id}/seats`);
  await page.goto(`${holdfast.url}/console#/events/${event.id}`);
  const seats = card(page, "Seats");
  await seats.getByText("20 available").waitFor();
  await page.getByRole("button", { name: "Select seats" }).click();
  await draw(page, 0, 1);
  await reading.begin();
  await seats.getByRole("button", { name: "Block 20 seats" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Block 20 seats" }).click();
  await seats.getByText("20 blocked", { exact: true }).waitFor();
  await reading.end();
  assert.ok(await seats.getByText("20 blocked", { exact: true }).isVisible());
  expectNoErrors(page);
});

test("with the keyboard alone: a range of seats is blocked, and a seat is shown by its names", async () => {
  const event = await seatedEvent("Ranges", 3, 5);
  const page = await open(browser, `${holdfast.url}/console#/events/${event.id}`);
  const seats = card(page, "Seats");
  await seats.getByText("30 available").waitFor();
  await seats.getByRole("button", { name: "Select seats" }).focus();
  await page.keyboard.press("Enter");
  await seats.locator(".cursor").focus();
  const focused = async (text) => until(text, async () => (await seats.locator(".cursor").textContent()).startsWith(text));
  for (const [key, text] of [["Enter", "Section A, Row 1, seat 1,"], ["ArrowRight", "Section A, Row 1, seat 2,"], ["Shift+ArrowRight", "Section A, Row 1, seat 3,"], ["Shift+ArrowDown", "Section A, Row 2, seat 3,"]]) {
    await page.keyboard.press(key);
    await focused(text);
  }
  await seats.getByText("4 seats selected.").waitFor();
  await page.keyboard.press("Shift+End");
  await seats.getByText("8 seats selected.").waitFor();
  await seats.getByRole("button", { name: "Block 8 seats" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Block 8 seats" }).focus();
  await page.keyboard.press("Enter");
  await seats.getByText("8 blocked", { exact: true }).waitFor();
  await seats.locator(".cursor").focus();
  await page.keyboard.press("ArrowLeft"); // a move without Shift ends the range
  await page.keyboard.press("Shift+ArrowLeft");
  await focused("Section A, Row 2, seat 3,");
  await seats.getByText("2 seats selected.").waitFor();
  await page.keyboard.press("Enter");
  await until("the seat is shown", async () => /A-2-3: Section A, Row 2, seat 3[^]*First[^]*BLOCKED/.test(await seats.innerText()));
  await accessible(page);
  expectNoErrors(page);
});

test("with the keyboard alone: the focus stays where the work goes on", async () => {
  const event = await seatedEvent("Keyboard", 2, 5);
  const page = await open(browser, `${holdfast.url}/console#/events/${event.id}`);
  const settings = card(page, "Settings");
  await settings.getByLabel("Name").fill("By keyboard");
  await page.keyboard.press("Enter");
  await page.getByText("The settings are saved.").waitFor();
  await until("the focus is in the new form", async () => (await page.evaluate(() => document.activeElement.name)) === "name");
  await settings.getByRole("button", { name: "Close the sale" }).focus();
  await page.keyboard.press("Enter");
  await settings.getByRole("button", { name: "Reopen the sale" }).waitFor();
  await until("the focus is on the card", async () => page.evaluate(() => document.activeElement.matches("section.card")));
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Reopen the sale");
  await settings.getByRole("button", { name: "Cancel the event" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Keep the event" }).waitFor();
  await page.keyboard.press("Escape");
  await until("the focus is back", async () => (await page.evaluate(() => document.activeElement.textContent)) === "Cancel the event");
  await fits(page);
  expectNoErrors(page);
});
