// The rules in JavaScript answer what the server's rules answer: seats/planfile writes the vectors.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { check } from "../src/check.js";
import { fromServer, toServer } from "../src/plan.js";
import { isReadable } from "../src/readable.js";

const vectors = JSON.parse(readFileSync(new URL("vectors/check.json", import.meta.url), "utf8"));

test("check answers the server's problems", () => {
  assert.ok(vectors.length > 300);
  for (const { name, plan, problems } of vectors) assert.deepEqual(check(plan), problems, name);
});

test("a plan that the server accepts is accepted when it was opened, and when it is sent", () => {
  const valid = vectors.filter(({ problems }) => problems.length === 0);
  assert.ok(valid.length > 20);
  for (const { name, plan } of valid) {
    assert.ok(isReadable(plan), name);
    const opened = fromServer(plan);
    assert.deepEqual(check(opened), [], name);
    assert.deepEqual(check(toServer(opened)), [], name);
  }
});

test("check stops at more seats than the server reads", () => {
  const { plan } = vectors[0];
  const seats = Array.from({ length: 1000 }, () => ({ id: "x" }));
  const section = { ...plan.sections[0], rows: Array.from({ length: 200 }, (_, i) => ({ key: String(i), seats })) };
  assert.equal(check({ ...plan, sections: [section] }).some(({ what }) => /seats in rows/.test(what)), false);
  assert.deepEqual(check({ ...plan, sections: [section, { ...section, rows: [{ key: "a", seats: [null, { id: "y" }] }] }] }), [
    { where: "sections[1].rows[0].seats[1]", what: "A plan must have at most 200000 seats in rows." },
  ]);
});

test("check counts the points of all decorations", () => {
  const plan = vectors[0].plan;
  const wall = { kind: "wall", points: Array.from({ length: 200 }, () => [0, 0]) };
  const walls = Array.from({ length: 100 }, () => wall);
  assert.deepEqual(check({ ...plan, decorations: walls }), []);
  assert.deepEqual(check({ ...plan, decorations: [...walls, { kind: "wall", points: [[0, 0], [1, 1]] }] }), [
    { where: "decorations", what: "The decorations have 20002 points; a plan must have at most 20000." },
  ]);
});
