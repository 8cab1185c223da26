// What an embedding page relies on when something else happens than a click: each of these once went wrong.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectNoErrors, until } from "./harness.mjs";
import { chosen, click, held, holdfast, holds, locksOf, says, sell, show, studio, told } from "./picker.mjs";

const release = (lock) => holdfast.ask("DELETE", `/api/locks/${lock.id}`);
const lockFor = async (event, ...seatIds) => {
  const user = await holdfast.user();
  return holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds });
};

test("a new token, other settings, and another place in the page keep the cart", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await map.evaluate((e) => {
    e.token = "";
    e.setAttribute("max-seats", "4");
    e.setAttribute("hold", "click");
    e.setAttribute("ttl-seconds", "300");
  });
  await holds(map, "A-1-1");
  await map.evaluate((e) => {
    e.told.length = 0;
    document.body.append(e);
  });
  await until("the map is ready again", async () => (await told(map, "ready")).length > 0);
  await holds(map, "A-1-1");
  assert.deepEqual(await chosen(map), ["A-1-1"]);
  await click(map, "A-1-2");
  await holds(map, "A-1-1", "A-1-2");
  assert.equal((await locksOf(event)).length, 1);
  assert.equal(await map.getByLabel("Number of seats").getAttribute("max"), "4");
  await map.evaluate((e) => e.release());
  await click(map, "A-2-2");
  await holds(map, "A-2-2");
  const [lock] = await locksOf(event);
  assert.ok(Math.abs(Date.parse(lock.expiresAt) - Date.parse(lock.createdAt) - 300_000) < 1000, `${lock.createdAt} to ${lock.expiresAt}`);
  await map.evaluate((e) => e.removeAttribute("event"));
  assert.equal(await map.locator(".map").count(), 0);
  expectNoErrors(page);
});

test("without the attribute user, nothing is asked before the page sets the token", async () => {
  const event = await sell(studio());
  const { page } = await show(event);
  await page.goto(`${holdfast.url}/demo/examples?event=`);
  const asked = [];
  page.on("request", (r) => { if (r.url().includes(event.id)) asked.push(r.headers().authorization); });
  const map = page.locator("#first");
  await map.evaluate((e, id) => e.setAttribute("event", id), event.id);
  await map.getByText("Loading").waitFor();
  assert.deepEqual(asked, []);
  await map.evaluate((e) => { e.token = "T"; });
  await until("the event is asked for", () => asked.length > 0);
  assert.equal(asked[0], "Bearer T");
});

test("properties that a page sets before the module is there count", async () => {
  const event = await sell(studio());
  const { page } = await show(event);
  await page.goto(`${holdfast.url}/docs/`); // a page without the module
  await page.evaluate(([id, user]) => {
    const map = document.createElement("holdfast-seats");
    Object.assign(map, { token: "T", prices: { seats: 7 }, words: { bestButton: "Here" } });
    map.setAttribute("user", user);
    map.setAttribute("event", id);
    document.body.append(map);
  }, [event.id, (await holdfast.user()).id]);
  const sent = page.waitForRequest((r) => r.url().includes(`/api/events/${event.id}`));
  await page.addScriptTag({ url: "/assets/holdfast-seats.js", type: "module" }).catch(() => page.evaluate(() => import("/assets/holdfast-seats.js")));
  assert.equal((await sent).headers().authorization, "Bearer T");
  assert.equal(await page.locator("holdfast-seats").evaluate((e) => e.words.bestButton), "Here");
});

test("a seat whose return would leave a single one stays chosen; the lock is what is chosen", async () => {
  const event = await sell(studio(), { orphanRule: "REFUSE" });
  const { page, map } = await show(event);
  let asked = 0;
  page.on("request", (r) => { if (r.method() === "PUT") asked++; });
  for (const seat of ["A-2-1", "A-2-2", "A-2-3"]) await click(map, seat);
  await holds(map, "A-2-1", "A-2-2", "A-2-3");
  const before = asked;
  await click(map, "A-2-1");
  await says(map, /single seat/);
  assert.deepEqual(await chosen(map), ["A-2-1", "A-2-2", "A-2-3"]);
  assert.deepEqual((await held(map)).sort(), ["A-2-1", "A-2-2", "A-2-3"]);
  assert.equal(asked, before, "the server is not asked for what it refuses");
  expectNoErrors(page);
});

test("a hint of a single seat goes when the seat is chosen too", async () => {
  const event = await sell(studio(), { orphanRule: "REFUSE" });
  const { page, map } = await show(event);
  const toast = () => map.evaluate((e) => { const t = e.shadowRoot.querySelector(".toast"); return t.hidden ? "" : t.textContent; });
  await click(map, "A-2-2");
  await until("it is hinted", async () => /single seat/.test(await toast()));
  assert.deepEqual(await held(map), []);
  await click(map, "A-2-1");
  await holds(map, "A-2-1", "A-2-2");
  assert.equal(await toast(), "");
  expectNoErrors(page);
});

test("that the time of one lock is over is shown, although another one is left", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await holds(map, "1 in pit");
  await click(map, "A-1-1");
  await holds(map, "A-1-1", "1 in pit");
  const { items } = await holdfast.ask("GET", `/api/locks?eventId=${event.id}&status=ACTIVE`);
  await release(items.find((l) => l.places[0].seatId === undefined));
  await map.evaluate(() => dispatchEvent(new Event("focus"))); // it looks again
  await holds(map, "A-1-1");
  const toast = await map.evaluate((e) => { const t = e.shadowRoot.querySelector(".toast"); return t.hidden ? "" : t.textContent; });
  assert.equal(toast, "The seats were released elsewhere.");
  expectNoErrors(page);
});

test("the best available seats take the place of as many that are apart; those side by side stay", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  for (const seat of ["A-1-1", "A-2-4"]) await click(map, seat);
  await holds(map, "A-1-1", "A-2-4");
  await map.evaluate((e) => e.best(2));
  const best = await held(map);
  assert.match(best.join(" "), /^A-(\d)-\d A-\1-\d$/, "two of a row");
  assert.equal(Math.abs(Number(best[0].at(-1)) - Number(best[1].at(-1))), 1, "side by side");
  await map.evaluate((e) => e.best(2));
  assert.deepEqual(await held(map), best);
  await map.evaluate((e) => e.best(2, { categories: ["box"] }));
  assert.deepEqual((await held(map)).sort(), ["B-1-1", "B-1-2"]);
  assert.deepEqual((await told(map, "error")), []);
  expectNoErrors(page);
});

test("the best available seats are those that there are where none are side by side", async () => {
  const event = await sell(studio(), { accessiblePolicy: "OPEN" });
  await lockFor(event, "A-1-2", "A-1-4", "A-1-6", "A-2-2", "A-2-4", "A-2-6", "B-1-1", "B-1-2");
  const { page, map } = await show(event);
  for (const seat of ["A-1-1", "A-2-5"]) await click(map, seat);
  await holds(map, "A-1-1", "A-2-5");
  await map.evaluate((e) => e.best(2));
  assert.equal((await held(map)).length, 2);
  assert.deepEqual(await chosen(map), await held(map));
  assert.deepEqual(await told(map, "error"), [], "the refusal of the first attempt is not told");
  expectNoErrors(page);
});

test("hold() holds what is chosen, places that were given up too, and rejects with what is refused", async () => {
  const event = await sell(studio(), { maxSeatsPerUser: 3 });
  const { page, map } = await show(event, { hold: "checkout" });
  await map.getByLabel("Number of places in Pit").fill("2");
  await map.getByLabel("Number of places in Pit").press("Enter");
  await click(map, "A-1-1");
  assert.deepEqual((await map.evaluate((e) => e.hold())).map((l) => l.seats).sort(), [1, 2]);
  assert.deepEqual(await map.evaluate((e) => e.selection.map((s) => s.held)), [true, true]);
  await map.getByLabel("Number of places in Pit").fill("0");
  await map.getByLabel("Number of places in Pit").press("Enter");
  assert.deepEqual((await map.evaluate((e) => e.hold())).map((l) => l.seats), [1]);
  assert.equal((await locksOf(event)).length, 1);
  for (const seat of ["A-1-2", "A-1-3", "A-1-4"]) await click(map, seat);
  assert.equal(await map.evaluate((e) => e.hold().catch((error) => error.code)), "SEAT_LIMIT_REACHED");
  assert.equal((await chosen(map)).length, 4, "the choice stays");
  assert.equal(await map.evaluate((e) => e.best(50).catch((error) => error.code)), "TOO_MANY");
  expectNoErrors(page);
});

test("a lock that was released elsewhere is not shown as held", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const [lock] = await locksOf(event);
  await release(lock);
  await until("the page knows", async () => (await told(map, "holdexpired")).length === 1);
  await says(map, /released elsewhere/);
  assert.deepEqual([await chosen(map), await held(map)], [[], []]);
  const last = (await told(map, "holdchanged")).at(-1);
  assert.deepEqual([last.locks, last.selection], [[], []]);
  expectNoErrors(page);
});

const buy = async (event, user) => {
  const [lock] = await locksOf(event);
  const booking = await holdfast.ask("POST", "/api/bookings", { userId: user.id, eventId: event.id, lockId: lock.id, paymentTtlSeconds: 60 });
  await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, {});
};
const isTold = (map) => until("the page is told", async () => (await told(map, "holdchanged")).at(-1).locks[0]?.status === "CONSUMED");

test("a lock that was bought elsewhere is counted down no more, and the page is told: at the next click", async () => {
  const event = await sell(studio());
  const { page, map, user } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await buy(event, user);
  assert.match(await map.getByRole("timer").textContent(), /^Held for/);
  await click(map, "A-1-2");
  await isTold(map);
  await says(map, /are sold/);
  await until("the time is not shown", async () => (await map.getByRole("timer").textContent()) === "");
  assert.deepEqual(await chosen(map), ["A-1-1"]);
  assert.equal((await told(map, "holdchanged")).at(-1).expiresAt, undefined);
  assert.deepEqual(await told(map, "holdexpired"), []);
  expectNoErrors(page);
});

test("… and without a click, when the customer comes back to the page, or by the next look", async () => {
  for (const comesBack of [true, false]) {
    const event = await sell(studio());
    const { page, map, user } = await show(event);
    await page.clock.install();
    await map.evaluate((e) => document.body.append(e)); // its timers are of the new clock
    await until("the map is ready again", async () => (await told(map, "ready")).length === 2);
    await click(map, "A-1-1");
    await holds(map, "A-1-1");
    const before = (await told(map, "holdchanged")).length;
    await page.clock.fastForward(31_000);
    await page.waitForTimeout(300);
    assert.equal((await told(map, "holdchanged")).length, before, "a look that finds nothing new says nothing");
    await buy(event, user);
    if (comesBack) await page.evaluate(() => dispatchEvent(new Event("focus")));
    else await page.clock.fastForward(31_000);
    await isTold(map);
    await until("the time is not shown", async () => (await map.getByRole("timer").textContent()) === "");
    expectNoErrors(page);
  }
});

test("what is chosen is told with its place, its names and its price; places to stand too", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { hold: "checkout", prices: '{"seats":20,"standing":"from €5"}' });
  await click(map, "A-2-1");
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await map.getByRole("button", { name: "One fewer: Pit" }).click();
  const seat = { id: "A-2-1", section: "A", sectionName: "Stalls", row: "2", label: "1", category: "seats", categoryName: "Seats", price: 20, accessible: false, held: false };
  const places = { section: "pit", sectionName: "Pit", category: "standing", categoryName: "Standing", price: "from €5", seats: 1, held: false };
  assert.deepEqual(await told(map, "seatselected"), [{ type: "seatselected", seat, selected: true, selection: [seat] }]);
  assert.deepEqual(await told(map, "placesselected"), [
    { type: "placesselected", places, selection: [seat, places] }, { type: "placesselected", places: { ...places, seats: 0 }, selection: [seat] },
  ]);
  expectNoErrors(page);
});

test("each seat that is lost is told once, with the selection as it is then", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { hold: "checkout" });
  for (const seat of ["A-1-1", "A-1-2"]) await click(map, seat);
  await page.route("**/locks", async (route) => { // another customer is quicker than the request
    await lockFor(event, "A-1-2");
    await route.continue();
  }, { times: 1 });
  assert.match(await map.evaluate((e) => e.hold().then(() => "held", (error) => error.code)), /SEATS_UNAVAILABLE/);
  const lost = (await told(map, "seatselected")).filter((t) => !t.selected);
  assert.deepEqual(lost.map((t) => [t.seat.id, t.selection.map((s) => s.id)]), [["A-1-2", ["A-1-1"]]]);
  assert.deepEqual(await chosen(map), ["A-1-1"]);
});

test("finish() tells that nothing is held, releases nothing, and a late answer brings nothing back", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  let answer;
  const arrived = new Promise((resolve) => { answer = resolve; });
  await page.route("**/locks/*/seats", async (route) => {
    const response = await route.fetch();
    await map.evaluate((e) => e.finish());
    await route.fulfill({ response });
    answer();
  });
  await click(map, "A-1-2");
  await arrived;
  await page.waitForTimeout(300);
  assert.deepEqual([await chosen(map), await held(map)], [[], []]);
  assert.deepEqual((await told(map, "holdchanged")).at(-1).locks, []);
  assert.equal((await locksOf(event)).length, 1, "the lock is the shop's");
  expectNoErrors(page);
});

test("the last seat of a lock that is being paid for is not released by a click", async () => {
  const event = await sell(studio());
  const { page, map, user } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const [lock] = await locksOf(event);
  const booking = await holdfast.ask("POST", "/api/bookings", { userId: user.id, eventId: event.id, lockId: lock.id, paymentTtlSeconds: 60 });
  await page.waitForTimeout(350); // it is not a double click
  await click(map, "A-1-1");
  await says(map, /being paid for/);
  assert.deepEqual(await chosen(map), ["A-1-1"]);
  assert.equal((await holdfast.ask("GET", `/api/bookings/${booking.id}`)).status, "PAYMENT_PENDING");
  expectNoErrors(page);
});

test("a lock is taken over although the first answers are lost", async () => {
  const event = await sell(studio());
  const user = await holdfast.user();
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-4"] });
  const { page, map } = await show(event, {}, { user });
  let lost = 0;
  await page.route(`**/api/locks/${lock.id}`, (route) => (lost++ < 2 ? route.abort() : route.continue()));
  await map.evaluate((e, id) => {
    e.setAttribute("lock", id);
    e.setAttribute("src", "/");
  }, lock.id);
  await holds(map, "A-1-4");
  expectNoErrors(page);
});

test("quick clicks on a number of places all count; an odd currency and an odd category key do no harm", async () => {
  const plan = studio();
  plan.categories[2].key = plan.sections[2].category = "constructor";
  const event = await sell(plan);
  const { page, map } = await show(event, { currency: "Euro", prices: '{"seats":12}' });
  const more = map.getByRole("button", { name: "One more: Pit" });
  for (let n = 0; n < 6; n++) await more.click({ delay: 0 });
  await holds(map, "6 in pit");
  assert.equal(/native code/.test(await map.locator(".panel").innerText()), false);
  await map.getByRole("button", { name: "List of seats" }).click();
  await map.getByText("14 free", { exact: false }).first().waitFor();
  expectNoErrors(page);
});

test("an answer that is not JSON is not a lost answer, and a date in Retry-After is waited for", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await page.route("**/locks", (route) => route.fulfill({ status: 403, contentType: "text/html", body: "<h1>Firewall</h1>" }), { times: 1 });
  await click(map, "A-1-1");
  await until("the refusal is told", async () => (await told(map, "error")).some((e) => e.status === 403 && !e.retrying));
  assert.deepEqual(await chosen(map), []);
  let asked = 0;
  await page.route("**/locks", (route) => {
    asked++;
    if (asked > 1) return route.continue();
    return route.fulfill({ status: 503, headers: { "Retry-After": new Date(Date.now() + 2500).toUTCString() }, contentType: "application/problem+json", body: '{"code":"UNAVAILABLE"}' });
  });
  await click(map, "A-1-2");
  await holds(map, "A-1-2");
  assert.equal(asked, 2);
});

test("floors that lie on each other are shown one at a time, and the keyboard goes along", async () => {
  const plan = studio();
  plan.sections[0].floor = "0";
  plan.sections.push({ key: "C", name: "Circle", category: "seats", floor: "1", rows: [1, 2].map((r) => ({
    key: String(r), seats: [1, 2, 3, 4, 5, 6].map((n) => ({ id: `C-${r}-${n}`, x: n, y: (r - 1) * 1.2 })),
  })) });
  const event = await sell(plan);
  const { page, map } = await show(event);
  await map.getByLabel("Floor").selectOption("1");
  assert.match(await map.locator(".cursor").textContent(), /^Circle/);
  await click(map, "C-1-1");
  await holds(map, "C-1-1");
  await click(map, "A-1-1"); // showSeat changes the floor
  await holds(map, "A-1-1", "C-1-1");
  expectNoErrors(page);
});

test("focus is not lost with the last seat", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await map.getByRole("button", { name: /^Remove/ }).focus();
  await page.keyboard.press("Enter");
  await until("nothing is held", async () => (await held(map)).length === 0);
  assert.equal(await map.evaluate((e) => e.shadowRoot.activeElement?.textContent), "Your seats");
});

test("hold() that would leave a single seat names it; places can be removed like seats", async () => {
  const event = await sell(studio(), { orphanRule: "REFUSE" });
  const { page, map } = await show(event, { hold: "checkout", prices: '{"standing":5}' });
  await click(map, "A-2-2");
  assert.match(await map.evaluate((e) => e.hold().then(() => "held", (error) => error.message)), /single seat: Stalls, row 2, seat 1,/);
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await map.getByRole("button", { name: "Remove Pit, 2 places, 10" }).focus();
  await page.keyboard.press("Enter");
  assert.deepEqual(await chosen(map), ["A-2-2"]);
  assert.equal(await map.evaluate((e) => e.shadowRoot.activeElement?.textContent), "Your seats");
  expectNoErrors(page);
});
