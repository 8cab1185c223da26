// The seat map warns of single seats before the click: by the same rule as the server.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Hall, accessible } from "../../picker/src/hall.js";
import { orphans } from "../../picker/src/orphans.js";
import { Holdfast } from "./harness.mjs";

const holdfast = await Holdfast.start({ after });

// random numbers that a failure names the seed of
function randomOf(seed) {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

function planOf(random) {
  const rows = Array.from({ length: 6 }, (_, r) => ({
    key: String(r), adjacency: ["LINE", "LINE", "LINE", "LINE", "NONE", "ALL"][r],
    seats: Array.from({ length: 9 }, (__, i) => (random(7) === 0 ? null : { id: `s${r}-${i}`, ...(random(8) === 0 && { accessible: true }) })),
  }));
  rows[0].seats[0] ??= { id: "s0-0" };
  return { name: "Random", categories: [{ key: "c", name: "C" }], sections: [{ key: "A", name: "A", category: "c", rows }] };
}

test("what the map calls a single seat, the server refuses, and nothing else", async (t) => {
  const user = await holdfast.user();
  const lock = async (event, seatIds, accessibleSeats) => {
    const body = JSON.stringify({ eventId: event.id, userId: user.id, seatIds, accessibleSeats });
    const response = await fetch(`${holdfast.url}/api/locks`, { method: "POST", body, headers: { "Content-Type": "application/json" } });
    return { ...(await response.json()), status: response.status };
  };
  let refused = 0;
  for (let seed = 1; seed <= 12; seed++) {
    const random = randomOf(seed);
    const isOpen = seed % 3 === 0;
    const { id } = await holdfast.ask("POST", "/api/seating-plans", planOf(random));
    const hall = new Hall(await holdfast.ask("GET", `/api/seating-plans/${id}`));
    const settings = { seatingPlanId: id, eventDate: "2027-06-15T19:00:00Z", accessiblePolicy: isOpen ? "OPEN" : "RESERVED" };
    const event = await holdfast.ask("POST", "/api/events", { name: `Random ${seed}`, ...settings });
    const taken = new Set();
    for (let i = 0; i < hall.seats; i++) if (random(3) === 0) taken.add(i);
    await holdfast.ask("POST", `/api/events/${event.id}/seats/block`, { seatIds: [...taken].map((i) => hall.ids[i]) });
    await holdfast.ask("PATCH", `/api/events/${event.id}`, { orphanRule: "REFUSE" });
    for (let n = 0; n < 40; n++) {
      const chosen = new Set();
      const row = random(hall.rows.length);
      for (let k = 0; k <= random(5); k++) {
        const i = random(4) === 0 ? random(hall.seats) : hall.rows[row].first + random(Math.max(1, hall.rows[row].end - hall.rows[row].first));
        if (i < hall.seats && !taken.has(i)) chosen.add(i);
      }
      if (chosen.size === 0) continue;
      const expected = orphans(hall, [...chosen], (i) => !taken.has(i) && (isOpen || !(hall.kind[i] & accessible)));
      const reserved = [...chosen].filter((i) => hall.kind[i] & accessible).length;
      const answer = await lock(event, [...chosen].map((i) => hall.ids[i]), reserved);
      const about = `seed ${seed}, choice ${n}: ${[...chosen].map((i) => hall.ids[i])}`;
      assert.deepEqual(answer.code === "SEAT_ORPHANED" ? answer.orphans : [], expected.map((i) => hall.ids[i]), about);
      assert.equal(answer.status, expected.length > 0 ? 409 : 201, `${about} ${JSON.stringify(answer)}`);
      if (answer.status === 201) await fetch(`${holdfast.url}/api/locks/${answer.id}`, { method: "DELETE" });
      else refused++;
    }
  }
  assert.ok(refused > 20, `only ${refused} were refused`);
  t.diagnostic(`${refused} refused`);
});
