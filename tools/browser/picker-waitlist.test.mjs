// The waiting list in the seat map: a customer joins it where seats are gone, and has what is offered held.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, expectNoErrors, fits, until } from "./harness.mjs";
import { chosen, click, held, holdfast, holds, says, sell, show, studio, told } from "./picker.mjs";

const stalls = [1, 2].flatMap((row) => [1, 2, 3, 4, 5, 6].map((n) => `A-${row}-${n}`));
const box = ["B-1-1", "B-1-2"];
const open = { waitlist: "OPEN", waitlistOfferSeconds: 600 };

const lock = (event, seatIds, holder) => holdfast.ask("POST", "/api/locks", {
  eventId: event.id, holder, seatIds, ...(seatIds.includes("A-1-6") && { accessibleSeats: 1 }), ttlSeconds: 1200,
});
const release = ({ id }) => holdfast.ask("DELETE", `/api/locks/${id}`);
const entriesOf = async (event) => (await holdfast.ask("GET", `/api/events/${event.id}/waitlist`)).items;
const wait = (map) => map.getByRole("region", { name: "Waiting list" });
const join = (map) => map.getByRole("form", { name: "Join the waiting list" });
const shows = (map, pattern) => until(`the box shows ${pattern}`, async () => pattern.test(await wait(map).innerText()));
// pollsOf counts the polls of an entry.
const pollsOf = (page, list = []) => {
  page.on("request", (r) => { if (r.method() === "GET" && /\/api\/waitlist\//.test(r.url())) list.push(r); });
  return list;
};
// setHidden makes the page hidden, or seen again.
const setHidden = (page, isHidden) => page.evaluate((is) => {
  Object.defineProperty(document, "hidden", { configurable: true, value: is });
  Object.defineProperty(document, "visibilityState", { configurable: true, value: is ? "hidden" : "visible" });
  document.dispatchEvent(new Event("visibilitychange"));
}, isHidden);

test("where seats are gone a customer joins; what another one gives up is offered on the page within its poll, and bought", async () => {
  const event = await sell(studio(), open);
  await lock(event, stalls.slice(2), "others");
  const { map: bob } = await show(event);
  await click(bob, "A-1-1");
  await click(bob, "A-1-2");
  await holds(bob, "A-1-1", "A-1-2");
  const { page, map, user } = await show(event);
  await join(map).getByLabel("How many seats").fill("2");
  await join(map).getByLabel("To wait for").selectOption({ label: "Seats" });
  await accessible(page);
  await join(map).getByRole("button", { name: "Join the waiting list" }).click();
  await says(map, /^You are number 1 on the waiting list, 2 seats, Seats\.$/);
  const [entry] = await entriesOf(event);
  assert.deepEqual([entry.userId, entry.seats, entry.categories, entry.status], [user.id, 2, ["seats"], "WAITING"]);
  assert.ok(await join(map).isHidden());
  await page.setViewportSize({ width: 390, height: 844 });
  await fits(page);
  await accessible(page);

  await click(bob, "A-1-2");
  await click(bob, "A-1-1");
  await holds(bob);
  const asked = pollsOf(page);
  await says(map, /^From the waiting list: 2 seats are held for you\.$/);
  assert.equal(asked.length, 1, "the next poll has told it");
  await holds(map, "A-1-1", "A-1-2");
  await shows(map, /Ends in (9:\d\d|10:00)/);
  await accessible(page);
  const [offer] = await map.evaluate((e) => e.locks);
  assert.deepEqual([offer.waitlistEntryId, offer.userId], [entry.id, user.id]);
  const changes = await told(map, "waitlistchanged");
  assert.deepEqual(changes.map((c) => [c.entry.status, c.lock?.id]), [["WAITING", undefined], ["OFFERED", offer.id]]);
  assert.equal((await told(map, "holdchanged")).at(-1).locks[0].id, offer.id);

  await map.evaluate((e) => { e.paying = true; });
  await until("an offer that is being paid can't be declined", () => wait(map).getByRole("button", { name: "Decline the offer" }).isHidden());
  const booking = await holdfast.ask("POST", "/api/bookings", { userId: user.id, eventId: event.id, lockId: offer.id, paymentTtlSeconds: 600 });
  await holdfast.ask("POST", `/api/bookings/${booking.id}/confirm`, { paymentReference: `pay-${booking.id}` });
  await map.evaluate((e, id) => e.finish([id]), offer.id);
  await until("the entry is accepted", () => map.evaluate((e) => e.waitlistEntry.status === "ACCEPTED"));
  assert.equal((await entriesOf(event))[0].status, "ACCEPTED");
  expectNoErrors(page);
  expectNoErrors(bob.page());
});

test("a closed list is not shown; a refused best available fills in the form, and keeps what the page asked for", async () => {
  const event = await sell(studio());
  await lock(event, stalls.filter((id) => !["A-1-1", "A-1-3", "A-2-2"].includes(id)), "others");
  const { page, map } = await show(event);
  await map.evaluate((e) => e.best(3, { categories: ["seats"], adjacent: "REQUIRED" }).catch(() => {}));
  await says(map, /^At most 1 seat is available side by side\.$/);
  assert.ok(await wait(map).isHidden());
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { ...open, waitlist: "PAUSED" });
  await map.evaluate((e) => e.best(3, { categories: ["seats"], adjacent: "REQUIRED" }).catch(() => {}));
  await join(map).waitFor();
  assert.equal(await join(map).getByLabel("How many seats").inputValue(), "3");
  await join(map).getByRole("button").click();
  await shows(map, /You are number 1 on the waiting list, 3 seats, Seats/);
  const [entry] = await entriesOf(event);
  assert.deepEqual([entry.seats, entry.categories, entry.adjacent], [3, ["seats"], "REQUIRED"]);
  await wait(map).getByRole("button", { name: "Leave the waiting list" }).focus();
  await page.keyboard.press("Enter");
  await says(map, /^You have left the waiting list\.$/);
  assert.equal((await entriesOf(event))[0].status, "LEFT");
  assert.equal(await map.evaluate((e) => e.shadowRoot.activeElement.textContent), "Waiting list"); // the focus stays there

  // Seats that are free at once, a wish that no hall fills, and a list that was closed meanwhile.
  await join(map).getByLabel("How many seats").fill("1");
  await join(map).getByLabel("To wait for").selectOption({ label: "Box" });
  await join(map).getByRole("button").click();
  await says(map, /^Such seats are available now: choose them\.$/);
  await join(map).getByLabel("How many seats").fill("3");
  await join(map).getByRole("button").click();
  await says(map, /^This event has no such seats\. Please ask for others\.$/);
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { waitlist: "CLOSED" });
  await join(map).getByLabel("How many seats").fill("1");
  await join(map).getByRole("button").click();
  await says(map, /^The waiting list is closed\.$/);
  await until("the form is gone", () => join(map).isHidden());
  assert.deepEqual((await told(map, "error")).map((e) => e.code).slice(-3), ["SEATS_STILL_AVAILABLE", "VALIDATION_FAILED", "WAITLIST_CLOSED"]);
  expectNoErrors(page);
});

test("standing places that are gone can be waited for, and an answer that was lost is asked for again", async () => {
  const event = await sell(studio(), open);
  const others = await holdfast.ask("POST", "/api/locks", { eventId: event.id, holder: "others", section: "pit", seats: 19 });
  const { page, map } = await show(event);
  await map.getByLabel("Number of places in Pit").fill("3");
  await map.getByLabel("Number of places in Pit").press("Tab");
  await says(map, /^Only 1 seat is available\.$/);
  await join(map).waitFor();
  let lost = 0;
  await page.route("**/waitlist", async (route) => {
    if (route.request().method() !== "POST" || lost === 2) return route.continue();
    lost++;
    await route.fetch();
    return route.abort();
  });
  await join(map).getByRole("button").click();
  await says(map, /^You are number 1 on the waiting list, 3 seats, Pit\.$/);
  const entries = await entriesOf(event);
  assert.deepEqual([lost, entries.length, entries[0].section, entries[0].seats], [2, 1, "pit", 3]);
  await release(others);
  await setHidden(page, false); // such as when the customer comes back to the page
  await holds(map, "3 in pit");
  await map.getByRole("button", { name: "Remove Pit, 3 places" }).click();
  await says(map, /^You have declined the offer\.$/);
  assert.deepEqual([await held(map), (await entriesOf(event))[0].status], [[], "DECLINED"]);
  expectNoErrors(page);
});

test("the entry is found again after a reload, also its offer; a hidden page asks less often, and at once when it is seen", async () => {
  const event = await sell(studio(), open);
  const [some, others] = [await lock(event, box, "some"), await lock(event, stalls, "others")];
  const first = await show(event);
  await first.map.evaluate((e) => e.joinWaitlist(2, { categories: ["box"] }));
  await first.page.context().close();
  const { page, map } = await show(event, {}, { user: first.user });
  await shows(map, /You are number 1 on the waiting list, 2 seats, Box/);
  await page.evaluate(() => {
    const set = globalThis.setTimeout;
    globalThis.delays = [];
    globalThis.setTimeout = (work, ms, ...rest) => { globalThis.delays.push(ms); return set(work, ms, ...rest); };
  });
  const [asked, nextPoll] = [pollsOf(page), () => page.evaluate(() => globalThis.delays.findLast((ms) => ms >= 15_000))];
  await setHidden(page, true);
  assert.equal(await nextPoll(), 60_000);
  await release(some);
  assert.equal(asked.length, 0);
  await setHidden(page, false);
  await holds(map, ...box);
  assert.equal(asked.length, 1);
  await page.context().close();
  const again = await show(event, {}, { user: first.user });
  await holds(again.map, ...box);
  assert.equal(await again.map.evaluate((e) => e.waitlistEntry.status), "OFFERED");
  await release(others); // nobody waits for these
  await until("they are free", async () => (await holdfast.ask("GET", `/api/events/${event.id}`)).availableSeats === 32);
  assert.deepEqual(await held(again.map), box);
  expectNoErrors(again.page);
});

test("an offer leaves held seats alone until the customer takes it in their place; it can be declined, and its time ends", async () => {
  const event = await sell(studio(), open);
  const others = await lock(event, stalls, "others");
  const { page, map, user } = await show(event);
  await click(map, "B-1-1");
  await holds(map, "B-1-1");
  await map.evaluate((e) => e.joinWaitlist(2, { categories: ["seats"] }));
  await release(others);
  await setHidden(page, false);
  await says(map, /^From the waiting list: 2 seats are held for you\.$/);
  assert.deepEqual(await held(map), ["B-1-1"]);
  await accessible(page);
  await wait(map).getByRole("button", { name: "Take these in place of the held seats" }).click();
  await until("the offered seats are held", async () => (await held(map)).length === 2 && (await held(map)).every((id) => stalls.includes(id)));
  assert.deepEqual([...await chosen(map)].sort(), [...await held(map)].sort());
  assert.ok(await wait(map).getByRole("button", { name: "Take these" }).isHidden());
  await wait(map).getByRole("button", { name: "Decline the offer" }).click();
  await says(map, /^You have declined the offer\.$/);
  assert.deepEqual([await held(map), await told(map, "holdexpired")], [[], []]);
  assert.deepEqual((await holdfast.ask("GET", `/api/locks?eventId=${event.id}&status=ACTIVE`)).items, []);

  // The time of an offer ends: as the server says then.
  const rest = await lock(event, [...stalls, ...box], "others");
  await map.evaluate((e) => e.joinWaitlist(1));
  await release(rest);
  await setHidden(page, false);
  await until("a seat is held", async () => (await held(map)).length === 1);
  for (const [of, status] of [["waitlist", "EXPIRED"], ["locks", "EXPIRED"]]) {
    await page.route(`**/api/${of}/*`, async (route) => route.fulfill({ json: { ...await (await route.fetch()).json(), status } }));
  }
  await setHidden(page, false);
  await until("the lock has ended", async () => (await told(map, "holdexpired")).length === 1);
  await shows(map, /The time of the offer is over\./);
  assert.equal(await map.evaluate((e) => e.waitlistEntry.status), "EXPIRED");
  assert.equal(user.id, (await entriesOf(event)).at(-1).userId);
  expectNoErrors(page);
});

test("the list that ends while a customer waits says so", async () => {
  const event = await sell(studio(), open);
  await lock(event, box, "others");
  const { page, map } = await show(event);
  await map.evaluate((e) => e.joinWaitlist(2, { categories: ["box"] }));
  await holdfast.ask("PATCH", `/api/events/${event.id}`, { waitlist: "CLOSED" });
  await setHidden(page, false);
  await says(map, /^The waiting list is closed\.$/);
  assert.deepEqual((await told(map, "waitlistchanged")).map((c) => c.entry.status), ["WAITING", "CLOSED"]);
  expectNoErrors(page);
});
