// Commands never change a plan, share what they leave, and are undone exactly.

import assert from "node:assert/strict";
import { test } from "node:test";
import { History } from "../src/history.js";
import { find, idsOf, mapSeats, seatsOf } from "../src/plan.js";
import { Random, command, commandNames, drawing } from "./random.mjs";

// freeze makes an assignment to any part of a plan throw. Parts that are frozen are shared with a plan that was frozen before.
function freeze(part) {
  if (part === null || typeof part !== "object" || Object.isFrozen(part)) return part;
  Object.freeze(part);
  for (const value of Object.values(part)) freeze(value);
  return part;
}

test("10,000 random commands are undone to the very plan before, and done again", () => {
  const r = new Random(1);
  const done = new Map(commandNames.map((name) => [name, 0]));
  let count = 0;
  while (count < 10_000) {
    const start = freeze(drawing(r));
    const kept = idsOf(start);
    const history = new History(start);
    const plans = [start];
    for (let i = 0; i < 100; i++) {
      const before = history.plan;
      const text = i === 0 ? JSON.stringify(before) : undefined;
      const { name, plan } = command(r, before, kept);
      count++;
      freeze(plan);
      if (text) assert.equal(JSON.stringify(before), text, name);
      const ids = idsOf(plan);
      if (name !== "remove") for (const id of kept) assert.ok(ids.has(id) || !find(before, id), `${name} loses ${id}`);
      assert.equal(ids.size, [...seatsOf(plan)].length, `${name} gives an ID twice`);
      history.do(plan, name);
      if (plan !== before) {
        plans.push(plan);
        done.set(name, done.get(name) + 1);
        assert.equal(history.undoName, name);
      }
      assert.equal(history.undo(), plan === before ? plans.at(-2) ?? start : before, name);
      assert.equal(history.redo(), plan, name);
    }
    for (let i = plans.length - 2; i >= 0; i--) assert.equal(history.undo(), plans[i]);
    assert.equal(history.plan, start);
    assert.equal(history.undoName, undefined);
    for (let i = 1; i < plans.length; i++) assert.equal(history.redo(), plans[i]);
  }
  assert.deepEqual([...done].filter(([, n]) => n < 10), [], "each command changed plans");
});

test("seats that no command is about stay the same objects", () => {
  const r = new Random(2);
  let shared = 0;
  for (let i = 0; i < 2000; i++) {
    const before = drawing(r, 1);
    const { name, selected, plan } = command(r, before);
    if (!["move", "rotate", "mirror", "scale", "setSeats", "align", "distribute"].includes(name)) continue;
    const after = new Map([...seatsOf(plan)].map(({ seat, row, section }) => [seat.id, { seat, row, section }]));
    for (const section of before.sections) {
      const isTouched = selected.has(`section:${section.key}`);
      const rows = section.rows ?? [];
      const touched = (row) => isTouched || row.seats.some((seat) => seat && selected.has(seat.id));
      if (!isTouched && !rows.some(touched)) assert.ok(plan.sections.includes(section), name);
      for (const row of rows) {
        for (const seat of row.seats) if (seat && !isTouched && !selected.has(seat.id)) assert.equal(after.get(seat.id).seat, seat, name);
        if (!touched(row)) {
          shared++;
          assert.ok(row.seats.every((seat) => seat === null || after.get(seat.id).row === row), name);
        }
      }
    }
  }
  assert.ok(shared > 500);
});

test("a plan that stays as it is makes no step", () => {
  const plan = drawing(new Random(3));
  const history = new History(plan);
  history.do(mapSeats(plan, idsOf(plan), (seat) => seat), "nothing");
  assert.equal(history.undoName, undefined);
  assert.equal(history.isChanged, false);
});

test("steps with the same value of merge are undone together, until they settle", () => {
  const [a, b, c, d] = [1, 2, 3, 4].map((n) => drawing(new Random(n)));
  const history = new History(a);
  history.do(b, "move", "arrow");
  history.do(c, "move", "arrow");
  assert.equal(history.undo(), a);
  assert.equal(history.redo(), c);
  history.do(d, "move", "arrow");
  assert.equal(history.undo(), c);
  history.do(d, "move", "arrow");
  history.saved();
  assert.equal(history.isChanged, false);
  history.do(b, "move", "arrow");
  assert.equal(history.undo(), d, "saving settles");
  assert.equal(history.isChanged, false);
});
