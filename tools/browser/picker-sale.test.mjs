// The window of a sale: the map waits for its start, and stops at its end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, expectNoErrors, fits, screenshot, until } from "./harness.mjs";
import { chosen, click, held, holdfast, holds, locksOf, says, sell, show, studio, told } from "./picker.mjs";

const at = (seconds) => new Date(Date.now() + 1000 * seconds).toISOString();
const opening = (map) => map.locator(".sale");
const secondsLeft = async (map) => {
  const [, minutes, seconds] = /begins in (?:\d+:)?(\d+):(\d\d)\.$/.exec(await opening(map).textContent());
  return 60 * Number(minutes) + Number(seconds);
};
const patch = (event, change) => holdfast.ask("PATCH", `/api/events/${event.id}`, change);

// watchRequests lists what the page asks for, by the end of its path.
function watchRequests(page) {
  const list = [];
  page.on("request", (r) => { if (r.url().includes("/api/")) list.push(`${r.method()} ${new URL(r.url()).pathname.split("/").slice(4).join("/")}`); });
  return list;
}

test("before the start seats show and can't be chosen; a page that waits asks for one stream, and begins by itself", async () => {
  const event = await sell(studio(), { saleStartsAt: at(10) });
  const { page, map } = await show(event);
  const asked = watchRequests(page);
  await map.evaluate((e) => { e.told.length = 0; e.setAttribute("src", "/"); }); // loads again
  await says(map, /^The sale begins in 0:\d\d\.$/);
  assert.ok(Math.abs(await secondsLeft(map) - (Date.parse(event.saleStartsAt) - Date.now()) / 1000) < 2);
  await click(map, "A-1-1");
  await map.getByLabel("Number of places in Pit").fill("2");
  await map.getByLabel("Number of places in Pit").press("Tab");
  await map.getByRole("button", { name: "Find seats" }).click();
  await says(map, /^The sale begins in/);
  assert.deepEqual(await chosen(map), []);
  assert.equal(await map.getByLabel("Number of places in Pit").inputValue(), "0");
  assert.equal(await map.evaluate((e) => e.best(2).catch((refusal) => `${refusal.code} ${refusal.problem.opensAt}`)), `SALE_NOT_OPEN ${event.saleStartsAt}`);
  await accessible(page);
  await screenshot(page, "picker-waits-desktop-phone");
  await says(map, /^The sale has begun\.$/);
  assert.ok(Date.now() - Date.parse(event.saleStartsAt) > -1000, "not before its time");
  assert.ok(await opening(map).isHidden());
  await page.waitForTimeout(1000);
  assert.deepEqual([...new Set(asked)].sort(), ["GET ", "GET seats", "GET seats/stream", "GET stream"]);
  assert.equal(asked.filter((path) => path !== "GET seats/stream").length, 4, `asked ${asked}`); // with the plan
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  assert.deepEqual((await told(map, "error")).filter((e) => !e.retrying), []);
  expectNoErrors(page);
});

test("a page that waits follows an operator who moves the start, and begins at once if there is none any more", async () => {
  const event = await sell(studio(), { saleStartsAt: at(40 * 3600) });
  const { page, map } = await show(event, { lang: "en" });
  await says(map, new RegExp(`^The sale begins on \\w+ \\d+, ${event.saleStartsAt.slice(0, 4)} at \\d+:\\d\\d`));
  await page.setViewportSize({ width: 390, height: 844 });
  await fits(page);
  const asked = watchRequests(page);
  await patch(event, { saleStartsAt: at(600) });
  await until("it counts", async () => /begins in (9:5\d|10:00)\.$/.test(await opening(map).textContent()));
  await patch(event, { saleStartsAt: at(1200) });
  await until("the start has moved back", async () => (await secondsLeft(map)) > 1100);
  await patch(event, { saleStartsAt: null });
  await says(map, /^The sale has begun\.$/);
  await click(map, "A-1-2");
  await holds(map, "A-1-2");
  assert.deepEqual(asked.filter((path) => !/seats\/stream|^POST locks$/.test(path)), []);
  expectNoErrors(page);
});

test("the start is by the server's clock, whatever the device's says, also after the device has slept", async () => {
  const event = await sell(studio(), { saleStartsAt: at(120) });
  const { page, map } = await show(event);
  const error = async () => (await secondsLeft(map)) - (Date.parse(event.saleStartsAt) - Date.now()) / 1000;
  await page.evaluate(() => {
    const now = Date.now.bind(Date);
    Date.now = () => now() + 3_600_000;
    return new Promise((resolve) => { setTimeout(resolve, 600); });
  });
  assert.ok(Math.abs(await error()) < 2, `with a clock that was set it is wrong by ${await error()} s`);
  await page.evaluate(() => {
    const now = performance.now.bind(performance);
    performance.now = () => now() - 30_000;
  });
  await until("the countdown is right again", async () => Math.abs(await error()) < 2);
  expectNoErrors(page);
});

test("a page whose clock is early asks again with the same key, and gets the seat", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  const keys = [];
  await page.route("**/locks", (route) => {
    keys.push(route.request().postDataJSON().idempotencyKey);
    if (keys.length > 1) return route.continue();
    const problem = { status: 409, code: "SALE_NOT_OPEN", detail: "The sale has not begun.", opensAt: at(0.4) };
    return route.fulfill({ status: 409, headers: { "Retry-After": "1" }, contentType: "application/problem+json", json: problem });
  });
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  assert.equal(keys.length, 2);
  assert.equal(new Set(keys).size, 1);
  expectNoErrors(page);
});

test("a start that is moved while customers choose refuses the next click, and the map waits", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await patch(event, { saleStartsAt: at(900) });
  await click(map, "A-1-2");
  await until("it waits", async () => (await secondsLeft(map)) > 800);
  assert.deepEqual(await chosen(map), ["A-1-1"]);
  assert.deepEqual((await told(map, "error")).map((e) => e.code), ["SALE_NOT_OPEN"]);
  await patch(event, { saleStartsAt: at(-5) });
  await says(map, /^The sale has begun\.$/);
  await click(map, "A-1-2");
  await holds(map, "A-1-1", "A-1-2");
  expectNoErrors(page);
});

test("at the end held seats stay, none is added, and some can be given up; a later end opens the sale again", async () => {
  const event = await sell(studio(), { saleEndsAt: at(7) });
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await click(map, "A-1-2");
  await holds(map, "A-1-1", "A-1-2");
  await says(map, /^The sale has ended\.$/);
  assert.equal(await opening(map).textContent(), "The sale has ended.");
  assert.ok(Date.now() >= Date.parse(event.saleEndsAt) - 1000);
  const asked = watchRequests(page);
  await click(map, "A-1-3");
  assert.deepEqual(await chosen(map), ["A-1-1", "A-1-2"]);
  await click(map, "A-1-2");
  await holds(map, "A-1-1");
  assert.deepEqual(asked.filter((path) => /locks/.test(path)).length, 1);
  assert.equal((await locksOf(event)).length, 1);
  await patch(event, { saleEndsAt: at(3600) });
  await says(map, /^The sale has begun\.$/);
  await click(map, "A-1-3");
  await holds(map, "A-1-1", "A-1-3");
  await patch(event, { status: "CLOSED" });
  await click(map, "A-1-4");
  await says(map, /^This event is not on sale\.$/);
  assert.deepEqual(await held(map), ["A-1-1", "A-1-3"]);
  await patch(event, { status: "ON_SALE" });
  await says(map, /^The sale has begun\.$/);
  expectNoErrors(page);
});
