import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { accessible, expectNoErrors, until } from "./harness.mjs";
import { chosen, click, file, held, holdfast, holds, locksOf, positionOf, says, sell, show, studio, told } from "./picker.mjs";

test("a click holds a seat, the next one changes the lock, and the last one gives it back", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { prices: '{"seats":20,"box":35.5}', currency: "EUR" });
  await click(map, "A-1-2");
  await holds(map, "A-1-2");
  await click(map, "A-1-3");
  await click(map, "B-1-1");
  await holds(map, "A-1-2", "A-1-3", "B-1-1");
  assert.equal((await locksOf(event)).length, 1);
  assert.match(await map.locator(".total").textContent(), /^3 seats · Total €75\.50$/);
  assert.match(await map.getByRole("timer").textContent(), /^Held for (10:00|9:5\d)$/);
  assert.deepEqual(await map.evaluate((e) => e.selection[0]), {
    id: "A-1-2", section: "A", sectionName: "Stalls", row: "1", label: "2", category: "seats", categoryName: "Seats", price: 20, accessible: false, held: true,
  });
  await click(map, "A-1-2");
  await holds(map, "A-1-3", "B-1-1");
  await map.getByRole("button", { name: /^Remove Stalls/ }).click();
  await map.getByRole("button", { name: /^Remove Box/ }).click();
  await until("nothing is locked", async () => (await locksOf(event)).length === 0);
  assert.deepEqual(await chosen(map), []);
  const events = await map.evaluate((e) => e.told.map((t) => t.type));
  assert.equal(events.filter((t) => t === "seatselected").length, 6);
  assert.equal(events.includes("error"), false);
  assert.deepEqual((await told(map, "seatselected"))[0].seat.id, "A-1-2");
  expectNoErrors(page);
});

test("two customers on one row: each sees the other's seats go, and one of two gets the last one", async () => {
  const event = await sell(studio());
  const ada = await show(event);
  const bob = await show(event);
  await click(ada.map, "A-1-3");
  await holds(ada.map, "A-1-3");
  const isTaken = (map, seat) => map.evaluate((e, id) => {
    e.showSeat(id);
    return /not available$/.test(e.shadowRoot.querySelector(".cursor").textContent);
  }, seat);
  await until("Bob sees it go", () => isTaken(bob.map, "A-1-3"));
  await click(bob.map, "A-1-3");
  await says(bob.map, /not available/);
  assert.deepEqual(await chosen(bob.map), []);
  await Promise.all([ada, bob].map(({ map }) => click(map, "A-2-4")));
  await until("one has it, and the other is told", async () => {
    const [a, b] = [await held(ada.map), await held(bob.map)];
    return a.includes("A-2-4") !== b.includes("A-2-4") && (await chosen(ada.map)).includes("A-2-4") !== (await chosen(bob.map)).includes("A-2-4");
  });
  await holds(ada.map, ...(await chosen(ada.map)));
  await ada.map.evaluate((e) => e.release());
  await until("Bob sees them come back", async () => !(await isTaken(bob.map, "A-1-3")));
  expectNoErrors(ada.page);
  expectNoErrors(bob.page);
});

test("with hold=checkout a seat that goes while it is chosen says so; hold() holds the rest", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { hold: "checkout" });
  for (const seat of ["A-1-1", "A-1-2", "A-2-2"]) await click(map, seat);
  assert.deepEqual(await chosen(map), ["A-1-1", "A-1-2", "A-2-2"]);
  assert.deepEqual(await locksOf(event), []);
  const other = await holdfast.user();
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: other.id, seatIds: ["A-1-2"] });
  await says(map, /No longer available: Stalls, row 1, seat 2/);
  assert.deepEqual(await chosen(map), ["A-1-1", "A-2-2"]);
  const locks = await map.evaluate((e) => e.hold());
  assert.deepEqual(locks[0].places.map((p) => p.seatId), ["A-1-1", "A-2-2"]);
  expectNoErrors(page);
});

test("best available: by number and category, side by side, and in place of what was chosen", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-2-6");
  await holds(map, "A-2-6");
  await map.getByLabel("Number of seats").fill("2");
  await map.getByRole("button", { name: "Find seats" }).click();
  await holds(map, "A-1-4", "A-1-5"); // 3 and 4 are as near, and would leave 5 single: 6 is reserved
  await says(map, /^Held for you: Stalls, row 1, seats 4, 5\.$/);
  assert.match(await map.locator(".cursor").textContent(), /^Stalls, row 1, seat 4,/, "the map shows them");
  assert.deepEqual(await chosen(map), ["A-1-4", "A-1-5"]);
  await map.getByLabel("Category").selectOption("Box");
  await map.getByRole("button", { name: "Find seats" }).click();
  await holds(map, "B-1-1", "B-1-2");
  assert.equal((await locksOf(event)).length, 1);
  await map.getByLabel("Number of seats").fill("3");
  await map.getByRole("button", { name: "Find seats" }).click();
  await says(map, /Only 2 seats are available|None is available/);
  await holds(map, "B-1-1", "B-1-2");
  await map.evaluate((e) => e.best(3, { categories: ["seats"], adjacent: "REQUIRED" }));
  assert.equal((await held(map)).length, 3);
  expectNoErrors(page);
});

test("a single seat is warned of before the click, and not asked for after it", async () => {
  const event = await sell(studio(), { orphanRule: "REFUSE" });
  const { page, map } = await show(event);
  let asked = 0;
  page.on("request", (r) => { if (r.method() === "POST") asked++; });
  const { x, y } = await positionOf(map, "A-2-2");
  await page.mouse.move(x, y);
  await map.locator(".tip").getByText("This would leave a single seat: 1.").waitFor();
  await page.mouse.click(x, y);
  await says(map, /would leave a single seat: Stalls, row 2, seat 1/);
  assert.deepEqual(await chosen(map), ["A-2-2"]);
  assert.deepEqual(await locksOf(event), []);
  await map.evaluate((e) => e.live.replaceChildren());
  await click(map, "A-1-1"); // its own row has no single seat
  await says(map, /would leave a single seat: Stalls, row 2, seat 1.* not held\.$/);
  await map.locator(".total").getByText("2 seats · 2 not held").waitFor();
  assert.equal(asked, 0);
  await click(map, "A-2-1");
  await holds(map, "A-1-1", "A-2-1", "A-2-2");
  await map.locator(".total").getByText(/^3 seats$/).waitFor();
  assert.equal(asked, 1);
  assert.deepEqual(await told(map, "error"), []);
  expectNoErrors(page);
});

test("standing places have a number and a lock of their own; max-seats counts all", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { "max-seats": "3" });
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await holds(map, "1 in pit");
  await map.getByLabel("Number of places in Pit").fill("2");
  await map.getByLabel("Number of places in Pit").press("Enter");
  await holds(map, "2 in pit");
  await click(map, "A-1-1");
  await holds(map, "2 in pit", "A-1-1");
  await click(map, "A-1-2");
  await says(map, /at most/);
  assert.equal((await locksOf(event)).length, 2);
  await map.getByRole("button", { name: "One fewer: Pit" }).click();
  await map.getByRole("button", { name: "One fewer: Pit" }).click();
  await holds(map, "A-1-1");
  await map.evaluate((e) => e.release());
  await until("nothing is locked", async () => (await locksOf(event)).length === 0);
  expectNoErrors(page);
});

test("an accessible seat is asked for as such, and told apart in words", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-6");
  await holds(map, "A-1-6");
  assert.match(await map.locator(".cursor").textContent(), /wheelchair place, held for you$/);
  await positionOf(map, "A-2-1");
  assert.match(await map.locator(".cursor").textContent(), /restricted view, available$/);
  expectNoErrors(page);
});

test("the time runs out by the server's clock", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { "ttl-seconds": "4" }, { isReady: true });
  await page.clock.install({ time: Date.now() + 3_600_000 }); // the browser's clock is an hour ahead
  await map.evaluate((e) => { e.told.length = 0; e.setAttribute("src", "/"); }); // loads again
  await until("the map is ready", () => told(map, "ready").then((list) => list.length > 0));
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  assert.match(await map.getByRole("timer").textContent(), /^Held for 0:0[1-5]$/);
  await until("the hold has expired", async () => (await told(map, "holdexpired")).length === 1);
  await says(map, /The time is over/);
  assert.deepEqual(await chosen(map), []);
  await click(map, "A-1-2");
  await holds(map, "A-1-2");
  expectNoErrors(page);
});

test("the countdown goes on when the device's clock is set, and is right again after the device has slept", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { "ttl-seconds": "120" });
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const [{ expiresAt }] = await locksOf(event);
  const error = async () => {
    const [, minutes, seconds] = /(\d+):(\d+)/.exec(await map.getByRole("timer").textContent());
    return 60 * Number(minutes) + Number(seconds) - (Date.parse(expiresAt) - Date.now()) / 1000;
  };
  const isRight = async () => Math.abs(await error()) < 3;
  await until("the countdown is right", isRight);
  // skip sets one of the page's clocks, and waits until the countdown has been shown again.
  const skip = (clock, ms) => page.evaluate(([of, by]) => {
    const now = globalThis[of].now.bind(globalThis[of]);
    globalThis[of].now = () => now() + by;
    return new Promise((resolve) => { setTimeout(resolve, 600); });
  }, [clock, ms]);
  for (const ms of [-600_000, 1_200_000]) {
    await skip("Date", ms);
    assert.ok(await isRight(), `it is wrong by ${await error()} s`);
  }
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await skip("performance", -30_000);
  assert.ok(await isRight(), `after a sleep it is wrong by ${await error()} s`);
  await page.waitForTimeout(1000);
  assert.equal(asked.length, 1, `asked ${asked}`);
  assert.deepEqual(await held(map), ["A-1-1"]);
  expectNoErrors(page);
});

test("a lock that the shop has extended or sold does not expire on the page", async () => {
  const event = await sell(studio());
  const { page, map, user } = await show(event, { "ttl-seconds": "3" });
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const [lock] = await locksOf(event);
  const booking = await holdfast.ask("POST", "/api/bookings", { userId: user.id, eventId: event.id, lockId: lock.id, paymentTtlSeconds: 60 });
  await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, {});
  await until("the page knows that it was sold", () => map.evaluate((e) => e.locks[0]?.status === "CONSUMED"));
  assert.deepEqual(await told(map, "holdexpired"), []);
  await map.evaluate((e) => e.finish());
  assert.deepEqual(await chosen(map), []);
  expectNoErrors(page);
});

test("a page that was loaded again goes on with its lock", async () => {
  const event = await sell(studio());
  const first = await show(event);
  await click(first.map, "A-1-4");
  await holds(first.map, "A-1-4");
  const [lock] = await first.map.evaluate((e) => e.locks);
  await first.page.context().close();
  const again = await show(event, { lock: lock.id }, { user: first.user });
  await holds(again.map, "A-1-4");
  assert.deepEqual(await chosen(again.map), ["A-1-4"]);
  await click(again.map, "A-1-5");
  await holds(again.map, "A-1-4", "A-1-5");
  assert.equal((await locksOf(event)).length, 1);
  const standing = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: first.user.id, section: "pit", seats: 2 });
  const third = await show(event, { lock: standing.id }, { user: first.user });
  await holds(third.map, "2 in pit");
  await third.map.getByRole("button", { name: "One fewer: Pit" }).click();
  await holds(third.map, "1 in pit");
  expectNoErrors(third.page);
});

test("an event without a map, and one that does not exist, say so", async () => {
  const plain = await holdfast.event("Plain", 5);
  const { map } = await show(plain, {}, { isReady: false });
  await map.getByText("This event has no seat map.").waitFor();
  const none = await show({ id: "0".repeat(23) + "1" }, {}, { isReady: false });
  await until("it failed", async () => (await told(none.map, "error")).some((e) => e.code === "EVENT_NOT_FOUND" && !e.retrying));
  await none.map.getByText("There is no such event.").waitFor();
});

test("another plan under an open map: it is redrawn, and the lock stays", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const larger = studio();
  larger.sections[0].rows[1].seats.push({ id: "A-2-7", label: "7", x: 7, y: 1.2 });
  const plan = await holdfast.ask("POST", "/api/seating-plans", larger);
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { seatingPlanId: plan.id });
  await until("the new seat is there", () => map.evaluate((e) => {
    e.showSeat("A-2-7");
    return /seat 7/.test(e.shadowRoot.querySelector(".cursor")?.textContent);
  }));
  await holds(map, "A-1-1");
  await click(map, "A-2-7");
  await holds(map, "A-1-1", "A-2-7");
  expectNoErrors(page);
});

test("the module is small, and comes with its source map", async () => {
  const module = await fetch(`${holdfast.url}/assets/holdfast-seats.js`);
  const text = await module.text();
  assert.ok(gzipSync(text).length <= 40_000);
  const [, map] = /sourceMappingURL=(\S+)/.exec(text);
  const sources = await (await fetch(new URL(map, module.url))).json();
  assert.ok(sources.sources.some((s) => s.endsWith("element.js")));
});
