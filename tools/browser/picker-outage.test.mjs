// An outage that outlives what the server keeps: a file of its own, because it lasts for more than a minute.

import assert from "node:assert/strict";
import { test } from "node:test";
import { expectNoErrors, until } from "./harness.mjs";
import { cable, chosen, click, held, holdfast, holds, positionOf, says, sell, show, studio, told } from "./picker.mjs";

// An event without listeners loses its messages after a minute: topicTTL of live/hub.go.
const outage = 61_000; // ms

const allSeats = studio().sections.flatMap((s) => s.rows ?? []).flatMap((r) => r.seats.map(({ id }) => id));

// takenIn are the seats that a map describes as not available. It moves the map.
const takenIn = (map) => map.evaluate((e, ids) => ids.filter((id) => {
  e.showSeat(id);
  return /not available$/.test(e.shadowRoot.querySelector(".cursor").textContent);
}), allSeats);

test("a stream that was down for more than a minute: the map stays where it was, shows what is true, and tells what went", async (t) => {
  const event = await sell(studio());
  const customer = await holdfast.user();
  const lock = (wish) => holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: customer.id, ...wish });
  const release = ({ id }) => holdfast.ask("DELETE", `/api/locks/${id}`);
  const earlier = await lock({ seatIds: ["A-1-3"] });

  const line = await cable(t, holdfast);
  const chooser = await show(event, { hold: "checkout" }, { on: line });
  const holder = await show(event, {}, { on: line }); // of a seat that another customer has afterwards
  const loser = await show(event, {}, { on: line }); // of a seat that is free afterwards
  const keeper = await show(event, {}, { on: line }); // of a seat that stays its own
  const all = [chooser, holder, loser, keeper];
  const requests = [];
  chooser.page.on("request", (r) => { if (r.url().includes("/seats/stream")) requests.push(r); });

  for (const { map } of all) {
    await map.getByRole("button", { name: "Zoom in" }).click();
    await map.getByRole("button", { name: "Zoom in" }).click();
  }
  await click(chooser.map, "A-2-5");
  await click(chooser.map, "A-2-6");
  for (const [{ map }, seat] of [[holder, "A-1-1"], [loser, "A-1-2"], [keeper, "A-1-6"]]) {
    await click(map, seat);
    await holds(map, seat);
  }
  await until("the stream has sent all locks", async () => (await takenIn(chooser.map)).join() === "A-1-1,A-1-2,A-1-3,A-1-6");
  for (const { map } of all) await positionOf(map, "A-2-6");
  const place = ({ map }) => map.locator(".cursor").boundingBox();
  const before = await Promise.all(all.map(place));

  line.pull();
  const end = Date.now() + outage;
  for (const { map } of all) await map.getByText("Connection lost.").waitFor();
  await release(earlier);
  for (const { map } of [holder, loser]) await release((await map.evaluate((e) => e.locks))[0]);
  for (const wish of [{ seatIds: ["A-2-5"] }, { seatIds: ["A-1-1"] }, { seatIds: ["B-1-1", "B-1-2"] }, { section: "pit", seats: 6 }]) await lock(wish);
  await chooser.page.waitForTimeout(end - Date.now());
  line.plug();

  for (const { map } of all) await map.locator(".notice").waitFor({ state: "hidden", timeout: 30_000 }); // the pause grows to 22 s
  assert.match(requests.at(-1).headers()["last-event-id"], /^\d+/, "the stream asks for what follows the last message");
  await until("the server has it no more", () => /^event: reset$/m.test(line.received));
  await says(chooser.map, /No longer available: .*5/);
  await until("what went is chosen no more", async () => (await chosen(chooser.map)).join() === "A-2-6");
  const deselected = (await told(chooser.map, "seatselected")).filter((e) => !e.selected).map((e) => e.seat.id);
  assert.deepEqual(deselected, ["A-2-5"]);
  for (const { map } of [holder, loser]) {
    await until("the page is told that its seats went", async () => (await told(map, "holdexpired")).length === 1);
    assert.deepEqual([await held(map), await chosen(map)], [[], []]);
    await says(map, /^The seats were released elsewhere/);
  }
  await holds(keeper.map, "A-1-6");
  assert.deepEqual(await told(keeper.map, "holdexpired"), []);

  assert.deepEqual(await Promise.all(all.map(place)), before, "no map has moved");
  for (const { map } of all) assert.equal((await told(map, "ready")).length, 1, "no map was built again");
  const taken = ["A-1-1", "A-1-6", "A-2-5", "B-1-1", "B-1-2"];
  for (const of of all) {
    await of.map.getByText("14 free", { exact: true }).first().waitFor();
    const others = taken.filter((id) => of !== keeper || id !== "A-1-6");
    await of.map.evaluate((e) => e.showSeat("B-1-2")); // a section that was out of view
    await until("the map shows its seats as they are", async () => /not available$/.test(await of.map.locator(".cursor").textContent()));
    assert.deepEqual(await takenIn(of.map), others);
    expectNoErrors(of.page);
  }
});
