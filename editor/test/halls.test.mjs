// Halls as people draw them, in a few commands each: the server accepts them, nothing is to be corrected, and they are as they should be.

import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../src/check.js";
import * as edit from "../src/edit.js";
import { findings } from "../src/findings.js";
import { renumber } from "../src/numbering.js";
import { addRows, addSection, capacityOf, emptyPlan, fromServer, idsOf, seatsOf, toServer } from "../src/plan.js";
import { around, block, fan, rectangle, ring, roundTable } from "../src/shapes.js";

const all = (plan) => new Set(plan.sections.map((s) => edit.sectionRef(s.key)));
const ref = (key) => new Set([edit.sectionRef(key)]);

// assertGood is what holds for each hall. A plan that is sent and opened again is the same.
function assertGood(plan, seats) {
  assert.deepEqual(check(plan), []);
  assert.deepEqual(findings(plan).filter((f) => f.severity !== "hint"), []);
  assert.equal(capacityOf(plan).total, seats);
  assert.deepEqual(fromServer(JSON.parse(JSON.stringify(toServer(plan)))), plan);
}

test("a church: two banks of pews, two pillars, a place for wheelchairs", () => {
  let plan = edit.setFocalPoint(emptyPlan("St. Mary"), [0, -4]);
  plan = addSection(plan, { name: "Nave" });
  plan = addRows(plan, "Nave", block({ rows: 20, seats: 16, spacing: 0.5, rowSpacing: 0.9, aisles: [8], aisle: 1.5 }));
  const pillars = [...seatsOf(plan)].filter(({ seat, row }) => ["F", "G"].includes(row.label) && ["3", "14"].includes(seat.label));
  plan = edit.remove(plan, new Set(pillars.map(({ seat }) => seat.id)));
  plan = edit.setSeats(plan, new Set(["Nave-A-8", "Nave-A-9"]), { accessible: true });
  plan = edit.setSeats(plan, new Set(["Nave-A-7", "Nave-A-10"]), { companion: true });
  plan = edit.setSeats(plan, new Set(["Nave-H-3", "Nave-H-14"]), { restrictedView: true, note: "behind a pillar" });
  plan = renumber(plan, ref("Nave"), { rows: { kind: "numbers" }, seats: { scheme: "sides" } });
  assertGood(plan, 20 * 16 - 4);
  const row = plan.sections[0].rows[5];
  assert.equal(row.seats.map((seat) => seat?.label ?? "_").join(" "), "13 11 _ 9 7 5 3 1 _ 2 4 6 8 10 _ 12 14");
  // For distance, every row but that of the wheelchairs is one without neighbours.
  const others = [...seatsOf(plan)].filter((at) => at.row.label !== "1").map(({ seat }) => seat.id);
  assertGood(edit.setRows(plan, new Set(others), { adjacency: "NONE" }), 316);
});

test("a gala: a ring of round tables around a dance floor, and a bar", () => {
  let plan = edit.setFocalPoint(emptyPlan("Gala"), [0, 0]);
  plan = addSection(plan, { name: "Tables" });
  for (const [n, radius] of [[8, 9], [14, 14]]) {
    const before = plan;
    plan = addRows(plan, "Tables", [roundTable({ seats: 10, spacing: 0.6, at: [0, -radius] })], { labels: [`Table ${plan.sections[0].rows.length + 1}`], adjacency: "ALL" });
    plan = edit.repeatAround(plan, edit.added(before, plan), n - 1, 360 / n, [0, 0], { upright: true, as: "rows" });
  }
  plan = edit.addDecoration(plan, { kind: "area", points: rectangle({ width: 8, height: 8 }), text: "Dance floor" });
  plan = edit.addDecoration(plan, { kind: "icon", at: [18, 0], icon: "bar" });
  assertGood(plan, 220);
  assert.equal(plan.sections[0].rows.at(-1).label, "Table 22");
});

test("a stadium: two rakes of blocks around a pitch, and the visitors' fence", () => {
  let plan = edit.setFocalPoint(emptyPlan("Stadium", "Sides"), [0, 0]);
  plan = edit.addCategory(plan, { name: "Ends", color: "#7a1f3d" });
  plan = edit.addBlocks(plan, ring({ radii: [80, 60], blocks: 24, rows: 20, aisle: 1.6 }), { name: "Block 101", floor: "1" });
  plan = edit.addBlocks(plan, ring({ radii: [105, 85], blocks: 36, rows: 15, aisle: 1.6 }), { name: "Block 201", floor: "2" });
  const ends = plan.sections.filter((s) => s.rows[0].seats.every((seat) => Math.abs(seat.x) > 55)).map((s) => edit.sectionRef(s.key));
  assert.ok(ends.length > 10);
  plan = edit.setSeats(plan, new Set(ends), { category: "Ends" });
  plan = renumber(plan, all(plan), { rows: { kind: "numbers" }, seats: {} });
  plan = edit.addDecoration(plan, { kind: "wall", points: [[-80, 0], [-110, 0]] });
  assertGood(plan, capacityOf(plan).total);
  assert.ok(capacityOf(plan).total > 15_000);
  assert.equal(plan.sections.at(-1).name, "Block 236");
  assert.deepEqual(plan.sections[0].rows[0].seats.map((seat) => seat.label).slice(0, 3), ["1", "2", "3"]);
});

test("an opera: a fan of curved blocks with numbers from aisle to aisle, boxes in the mirror, rows AA after Z", () => {
  let plan = edit.setFocalPoint(emptyPlan("Opera"), [0, 0]);
  plan = edit.addBlocks(plan, fan({ radius: 12, from: 135, to: 45, blocks: 3, rows: 28, spacing: 0.55, rowSpacing: 0.9, aisle: 1.5 }), { name: "Stalls 1", outlines: true });
  plan = renumber(plan, all(plan), { rows: { skip: "IO", prefix: "Row " }, seats: { over: "blocks" } });
  plan = addSection(plan, { name: "Boxes left", floor: "1" });
  plan = addRows(plan, "Boxes-left", [[[-20, 4], [-21, 4], [-20, 5], [-21, 5]]], { labels: ["Box 1"], adjacency: "ALL" });
  plan = edit.repeat(plan, ref("Boxes-left"), 5, 0, 4, { as: "rows" });
  plan = edit.mirrorCopy(plan, ref("Boxes-left"), "x", 0);
  plan = edit.setSection(plan, plan.sections.at(-1).key, { name: "Boxes right", key: "Boxes-right" });
  assertGood(plan, capacityOf(plan).total);
  assert.deepEqual(plan.sections[0].rows.slice(22).map((row) => row.label), ["Row Y", "Row Z", "Row AA", "Row AB", "Row AC", "Row AD"]);
  const row = plan.sections.slice(0, 3).flatMap((s) => s.rows[4].seats);
  assert.deepEqual(row.map((seat) => seat.label), row.map((_, i) => String(i + 1)), "one long row over two aisles");
  assert.equal(plan.sections[4].rows[5].label, "Box 6");
  assert.deepEqual(plan.sections[4].rows[0].seats.map((seat) => seat.x), [20, 21, 20, 21], "seats around a table keep their order");
});

test("a sports hall: a plan that was sold gets another block, and all sold seats keep their IDs", () => {
  let sold = addSection(emptyPlan("Sports hall"), { name: "East" });
  sold = addRows(sold, "East", block({ rows: 5, seats: 10 }));
  let plan = fromServer(JSON.parse(JSON.stringify(toServer(sold))));
  const kept = idsOf(plan);
  plan = edit.mirrorCopy(plan, ref("East"), "y", 20);
  plan = edit.setSection(plan, "East-2", { name: "West" });
  plan = edit.reshapeRows(plan, ref("East"), { curvature: 0.02 });
  plan = renumber(plan, all(plan), { rows: { kind: "numbers" }, seats: { direction: "left" } }, kept);
  assert.deepEqual(findings(plan, { kept }).map((f) => f.code), ["no-focal-point"]);
  for (const id of kept) assert.ok(idsOf(plan).has(id));
  assert.equal(capacityOf(plan).total, 100);
  assert.ok(around([...seatsOf(plan)].map(({ seat }) => [seat.x, seat.y])).length > 4);
});
