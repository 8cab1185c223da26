// What is chosen and what is held, when clicks, answers, other tabs and loads of the map come between each other.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectNoErrors, gate, until } from "./harness.mjs";
import { chosen, click, held, holdfast, holds, locksOf, says, sell, show, studio, told } from "./picker.mjs";

const release = (lock) => holdfast.ask("DELETE", `/api/locks/${lock.id}`);
const lockFor = async (event, ...seatIds) => {
  const user = await holdfast.user();
  return holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds });
};
const buy = async (event, user) => {
  const [lock] = await locksOf(event);
  const booking = await holdfast.ask("POST", "/api/bookings", { userId: user.id, eventId: event.id, lockId: lock.id, paymentTtlSeconds: 60 });
  await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, {});
};

const problem = (status, body) => ({ status, contentType: "application/problem+json", body: JSON.stringify(body) });

// extend moves the end of all locks, and waits until the page knows.
async function extend(event, page, map) {
  for (const lock of await locksOf(event)) await holdfast.ask("POST", `/api/locks/${lock.id}/extend`, { ttlSeconds: 1200 });
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await until("the page knows", () => map.evaluate((e) => e.locks.every((l) => Date.parse(l.expiresAt) > Date.now() + 900_000)));
}

test("the last standing places of a lock that is being paid for are not released by a click, even after a release()", async () => {
  const event = await sell(studio());
  const { page, map, user } = await show(event);
  const more = map.getByRole("button", { name: "One more: Pit" });
  await more.click();
  await more.click();
  await holds(map, "2 in pit");
  await map.evaluate((e) => e.release());
  await more.click();
  await holds(map, "1 in pit");
  const [lock] = await locksOf(event);
  const booking = await holdfast.ask("POST", "/api/bookings", { userId: user.id, eventId: event.id, lockId: lock.id, paymentTtlSeconds: 60 });
  for (const name of ["One fewer: Pit", /^Remove Pit/]) {
    await map.evaluate((e) => e.live.replaceChildren());
    await map.getByRole("button", { name }).click();
    await says(map, /being paid for/);
    assert.deepEqual(await chosen(map), ["1 in pit"]);
  }
  assert.equal((await holdfast.ask("GET", `/api/bookings/${booking.id}`)).status, "PAYMENT_PENDING");
  await map.evaluate((e) => e.release());
  assert.equal((await holdfast.ask("GET", `/api/bookings/${booking.id}`)).status, "CANCELLED");
  expectNoErrors(page);
});

const book = (lock, user) =>
  holdfast.ask("POST", "/api/bookings", { userId: user.id, eventId: lock.eventId, lockId: lock.id, paymentTtlSeconds: 60 });
const paying = (map) => map.evaluate((e) => e.paying);

test("while it is being paid, nothing is chosen or asked for; finish() forgets what is sold and releases the rest", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const sold = (await locksOf(event)).map((l) => l.id);
  await map.evaluate((e) => e.setAttribute("paying", ""));
  let asked = 0;
  page.on("request", (r) => { if (r.method() !== "GET") asked++; });
  for (const act of [() => click(map, "A-1-2"), () => click(map, "A-1-1"), () => map.getByRole("button", { name: "One more: Pit" }).click()]) {
    await map.evaluate((e) => e.live.replaceChildren());
    await act();
    await says(map, /being paid for/);
  }
  assert.equal(await map.evaluate((e) => e.best(2).catch((refusal) => `${refusal.code} ${refusal.status}`)), "LOCK_HAS_BOOKING 0");
  assert.deepEqual(await map.evaluate((e) => e.hold().then((locks) => locks.map((l) => l.id))), sold);
  assert.deepEqual([await chosen(map), asked], [["A-1-1"], 0]);
  assert.equal(await map.getByLabel("Number of places in Pit").inputValue(), "0");
  await map.evaluate((e) => { e.paying = false; });
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await holds(map, "A-1-1", "1 in pit");
  await map.evaluate((e, ids) => { e.paying = true; return e.finish(ids); }, sold);
  assert.deepEqual([await chosen(map), await held(map), await paying(map)], [[], [], false]);
  assert.deepEqual((await locksOf(event)).map((l) => l.id), sold, "the lock that was not sold is released");
  expectNoErrors(page);
});

test("the element learns of a booking: by a refusal, when it looks again, and after a reload; it pays no longer when the lock has ended", async () => {
  const event = await sell(studio());
  const { page, map, user } = await show(event, { hold: "checkout" });
  await click(map, "A-1-1");
  await map.evaluate((e) => e.hold());
  const [lock] = await locksOf(event);
  const booking = await book(lock, user);
  await click(map, "A-1-2");
  assert.equal(await map.evaluate((e) => e.hold().catch((refusal) => refusal.code)), "LOCK_HAS_BOOKING");
  assert.deepEqual([await paying(map), await chosen(map)], [true, ["A-1-1"]]);
  const again = await show(event, { lock: lock.id }, { user });
  await until("the map that resumes knows", () => paying(again.map));
  await again.map.evaluate((e) => e.finish(["another"]));
  await holds(again.map, "A-1-1"); // it is not released
  await holdfast.ask("POST", `/api/bookings/${booking.id}/cancel`);
  for (const shown of [page, again.page]) await shown.evaluate(() => dispatchEvent(new Event("focus")));
  for (const m of [map, again.map]) await until("nothing is being paid", async () => !(await paying(m)) && (await held(m)).length === 0);
  await click(map, "A-1-2");
  await map.evaluate((e) => e.hold());
  await holds(map, "A-1-2");
  await book((await locksOf(event))[0], user);
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await until("it looked again", () => paying(map));
  expectNoErrors(page);
});

test("a seat that was given up while the next one went is not held invisibly", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const [clicked, go] = gate();
  await page.route("**/locks/*/seats", async (route) => {
    await lockFor(event, "A-1-2"); // another customer is quicker
    await clicked;
    await route.continue();
  }, { times: 1 });
  await click(map, "A-1-2");
  await page.waitForTimeout(350); // it is not a double click
  await click(map, "A-1-1");
  assert.deepEqual(await chosen(map), ["A-1-2"]);
  go();
  await says(map, /No longer available/);
  await until("only the other customer's seat is locked", async () => (await locksOf(event)).map((l) => l.places[0].seatId).join() === "A-1-2");
  await until("the page knows that nothing is held", async () =>
    (await held(map)).length === 0 && (await told(map, "holdchanged")).at(-1).locks.length === 0);
  assert.deepEqual(await chosen(map), []);
  expectNoErrors(page);
});

test("what is chosen while hold() waits for its answer stays chosen, and what is given up stays so", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { hold: "checkout" });
  const more = map.getByRole("button", { name: "One more: Pit" });
  for (const seat of ["A-1-1", "A-2-5"]) await click(map, seat);
  await more.click();
  const [answered, go] = gate();
  await page.route("**/locks", async (route) => {
    const response = await route.fetch();
    await answered;
    await route.fulfill({ response });
  }, { times: 2 });
  await map.evaluate((e) => { e.holding = e.hold(); });
  await click(map, "A-1-2");
  await click(map, "A-2-5");
  await more.click();
  go();
  assert.deepEqual((await map.evaluate((e) => e.holding)).map((l) => l.seats).sort(), [1, 2]);
  assert.deepEqual(await chosen(map), ["A-1-1", "A-1-2", "2 in pit"]);
  assert.deepEqual(await map.evaluate((e) => e.selection.map((s) => s.held)), [true, false, false]);
  assert.deepEqual((await map.evaluate((e) => e.hold())).map((l) => l.seats), [2, 2]);
  await holds(map, "A-1-1", "A-1-2", "2 in pit");
  expectNoErrors(page);
});

test("what is chosen and not held stays chosen when the shop extends the lock, and when places are refused", async () => {
  const event = await sell(studio(), { maxSeatsPerUser: 4 });
  const { page, map } = await show(event, { hold: "checkout" });
  const more = map.getByRole("button", { name: "One more: Pit" });
  await click(map, "A-1-1");
  await more.click();
  await map.evaluate((e) => e.hold());
  await click(map, "A-1-2");
  await more.click();
  await extend(event, page, map);
  assert.deepEqual(await chosen(map), ["A-1-1", "A-1-2", "2 in pit"]);
  await map.getByLabel("Number of places in Pit").fill("6");
  await map.getByLabel("Number of places in Pit").press("Enter");
  assert.equal(await map.evaluate((e) => e.hold().catch((error) => error.code)), "SEAT_LIMIT_REACHED");
  assert.deepEqual(await chosen(map), ["A-1-1", "A-1-2", "6 in pit"]);
  expectNoErrors(page);
});

test("a seat that is not held because it would leave a single one stays marked when the shop extends the lock", async () => {
  const event = await sell(studio(), { orphanRule: "REFUSE" });
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await click(map, "A-2-2");
  await says(map, /single seat/);
  await extend(event, page, map);
  assert.deepEqual(await chosen(map), ["A-1-1", "A-2-2"]);
  assert.deepEqual(await held(map), ["A-1-1"]);
  expectNoErrors(page);
});

test("a change of the lock elsewhere changes what is chosen by as much", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { hold: "checkout" });
  for (const seat of ["A-1-1", "A-1-2"]) await click(map, seat);
  await map.evaluate((e) => e.hold());
  await click(map, "A-2-3");
  const [lock] = await locksOf(event);
  await holdfast.ask("PUT", `/api/events/${event.id}/locks/${lock.id}/seats`, { seatIds: ["A-1-2", "A-1-3"] });
  await page.evaluate(() => dispatchEvent(new Event("focus")));
  await holds(map, "A-1-2", "A-1-3");
  assert.deepEqual(await chosen(map), ["A-1-2", "A-1-3", "A-2-3"]);
  expectNoErrors(page);
});

test("hold() and best() reject if the lock has ended", async () => {
  const event = await sell(studio());
  for (const method of ["hold", "best"]) {
    const { page, map } = await show(event, { hold: "checkout" });
    await click(map, "A-1-1");
    await map.evaluate((e) => e.hold());
    await click(map, "A-1-2");
    await page.route("**/locks/*/seats", (route) => route.fulfill(problem(410, { code: "LOCK_EXPIRED" })));
    assert.equal(await map.evaluate((e, name) => e[name](2).then(() => "held", (error) => error.code), method), "LOCK_EXPIRED");
    assert.equal((await told(map, "holdexpired")).length, 1);
    assert.deepEqual(await chosen(map), []);
    for (const lock of await locksOf(event)) await release(lock);
  }
});

test("best() does not reject for a click before it that was refused", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-2-6");
  await holds(map, "A-2-6");
  const [asked, go] = gate();
  await page.route("**/locks/*/seats", async (route) => {
    await asked;
    await route.fulfill(problem(409, { code: "SEAT_LIMIT_REACHED", limit: 1 }));
  }, { times: 1 });
  await click(map, "A-2-5");
  await map.evaluate((e) => { e.found = e.best(2).then(() => e.selection.map((s) => s.id), (error) => error.code); });
  go();
  assert.deepEqual(await map.evaluate((e) => e.found), ["A-1-4", "A-1-5"]);
  await holds(map, "A-1-4", "A-1-5");
});

test("… and if it is refused too, what is held is what is chosen", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-2-6");
  await holds(map, "A-2-6");
  const [asked, go] = gate();
  const codes = ["SEAT_LIMIT_REACHED", "SEATS_NOT_ADJACENT", "SEATS_UNAVAILABLE"];
  await page.route("**/locks/*/seats", async (route) => {
    await asked;
    await route.fulfill(problem(409, { code: codes.shift(), longest: 1, available: 1 }));
  });
  await click(map, "A-2-5");
  await map.evaluate((e) => { e.found = e.best(2).then(() => "held", (error) => error.code); });
  go();
  assert.equal(await map.evaluate((e) => e.found), "SEATS_UNAVAILABLE");
  assert.deepEqual(await chosen(map), ["A-2-6"]);
});

test("what a page asks for right after holdchanged is not lost", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await map.evaluate((e) => {
    const next = [() => e.best(2), () => e.best(3), () => e.release()];
    e.addEventListener("holdchanged", () => queueMicrotask(() => next.shift()?.()));
  });
  await click(map, "A-2-6");
  await until("all is released", async () => (await told(map, "holdchanged")).length === 4);
  assert.deepEqual((await told(map, "holdchanged")).map((h) => [h.locks.map((l) => l.seats), h.selection.length]), [[[1], 1], [[2], 2], [[3], 3], [[], 0]]);
  assert.deepEqual(await locksOf(event), []);
  expectNoErrors(page);
});

test("a lock that is made while the map is removed is released", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  const [removed, done] = gate();
  await page.route("**/locks", async (route) => {
    const response = await route.fetch();
    await map.evaluate((e) => e.remove());
    await route.fulfill({ response });
    done();
  });
  await click(map, "A-1-1");
  await removed;
  await until("nothing is locked", async () => (await locksOf(event)).length === 0);
  expectNoErrors(page);
});

test("a map that was removed while it took over its locks tells nothing of them", async () => {
  const event = await sell(studio());
  const user = await holdfast.user();
  const lock = (wish) => holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, ttlSeconds: 6, ...wish });
  const [first, second] = [await lock({ section: "pit", seats: 2 }), await lock({ seatIds: ["A-1-1"] })];
  const { page, map } = await show(event, {}, { user });
  const [asked, done] = gate();
  await page.route(`**/api/locks/${second.id}`, done); // it is not answered
  await map.evaluate((e, ids) => {
    e.setAttribute("lock", ids);
    e.setAttribute("src", "/");
  }, `${first.id} ${second.id}`);
  await asked;
  await map.evaluate((e) => e.removeAttribute("event"));
  await until("the locks have expired", async () => (await locksOf(event)).length === 0);
  await page.waitForTimeout(500);
  assert.deepEqual(await told(map, "holdexpired"), []);
  expectNoErrors(page);
});

test("another event, and back: no lock is told as expired, and the first event's is gone on with", async () => {
  const [event, other] = [await sell(studio()), await sell(studio())];
  const { page, map } = await show(event);
  const ready = (n) => until("the map is ready", async () => (await told(map, "ready")).length === n);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await map.evaluate((e, id) => e.setAttribute("event", id), other.id);
  await ready(2);
  await until("the page is told that nothing is held", async () => (await told(map, "holdchanged")).at(-1).locks.length === 0);
  await map.evaluate((e, id) => e.setAttribute("event", id), event.id);
  await ready(3);
  await holds(map, "A-1-1");
  assert.deepEqual(await told(map, "holdexpired"), []);
  expectNoErrors(page);
});

test("a map that is loaded again: a sold lock is not told as expired, an ended one is, and then what is held", async () => {
  for (const isSold of [true, false]) {
    const event = await sell(studio());
    const { page, map, user } = await show(event);
    await click(map, "A-1-1");
    await holds(map, "A-1-1");
    await map.evaluate((e) => e.removeAttribute("event"));
    if (isSold) await buy(event, user);
    else for (const lock of await locksOf(event)) await release(lock);
    await map.evaluate((e, id) => {
      e.told.length = 0;
      e.setAttribute("event", id);
    }, event.id);
    await until("the page is told what is held", async () => (await told(map, "holdchanged")).length === 1);
    const events = await map.evaluate((e) => e.told.map(({ type, locks }) => type + (locks?.length ?? "")));
    assert.deepEqual(events, [...(isSold ? [] : ["holdexpired"]), "ready", "holdchanged0"]);
    expectNoErrors(page);
  }
});

test("a token of a holder: its seats are held for the holder", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, {}, { user: await holdfast.user() });
  const claims = { sub: "6b0166d19f73b711049e40f2", holder: "Körbchen 1" };
  await map.evaluate((e, text) => { e.token = `e30.${btoa(String.fromCharCode(...new TextEncoder().encode(text)))}.x`; }, JSON.stringify(claims));
  await map.evaluate((e) => e.removeAttribute("user"));
  await until("the map is ready", async () => (await told(map, "ready")).length === 2);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  assert.deepEqual((await locksOf(event)).map((l) => [l.holder, l.userId]), [[claims.holder, undefined]]);
  await map.evaluate((e) => { e.token = `e30.${btoa(JSON.stringify({ sub: "cart-2" }))}.x`; }); // no ID, so a holder
  await click(map, "A-1-2");
  await until("the map notices another customer", async () => (await told(map, "ready")).length === 3);
  expectNoErrors(page);
});

test("a token of another customer: what is held from then on is that one's, and locks of the first are not gone on with", async () => {
  const event = await sell(studio());
  const [guest, ada] = [await holdfast.user(), await holdfast.user()];
  const { page, map } = await show(event, {}, { user: guest });
  const ready = (n) => until("the map is ready", async () => (await told(map, "ready")).length === n);
  const setToken = (user) => map.evaluate((e, sub) => { e.token = `e30.${btoa(JSON.stringify({ sub }))}.x`; }, user.id);
  await setToken(guest);
  await map.evaluate((e) => e.removeAttribute("user"));
  await ready(2);
  await setToken(ada);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  assert.deepEqual((await locksOf(event)).map((l) => l.userId), [ada.id]);
  assert.equal((await told(map, "ready")).length, 2, "nothing was held: the map stays");
  await page.route("**/api/locks/*", (route) => route.fulfill(problem(404, { code: "LOCK_NOT_FOUND" }))); // as a server with keys answers another customer
  await setToken(guest);
  await ready(3);
  await until("the page is told that nothing is held", async () => (await told(map, "holdchanged")).at(-1).locks.length === 0);
  await click(map, "A-1-2");
  await holds(map, "A-1-2");
  assert.deepEqual((await locksOf(event)).map((l) => l.userId).sort(), [ada.id, guest.id].sort());
  expectNoErrors(page);
});
