// The halls of seats/planfile/examples, drawn once more by commands: the same seats in the same order, with the same labels, categories and
// marks, where the examples have them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { check } from "../src/check.js";
import * as edit from "../src/edit.js";
import { labels, renumber } from "../src/numbering.js";
import { addRows, addSection, emptyPlan, fromServer } from "../src/plan.js";
import { block, fan, rectangle } from "../src/shapes.js";

const example = (name) => fromServer(JSON.parse(readFileSync(new URL(`../../seats/planfile/examples/${name}.json`, import.meta.url), "utf8")));

// assertSame compares plans; IDs of seats are the drawing's own, and positions may differ by what the examples round.
function assertSame(drawn, wanted, near) {
  assert.deepEqual(check(drawn), []);
  assert.deepEqual([drawn.name, drawn.categories, drawn.focalPoint], [wanted.name, wanted.categories, wanted.focalPoint]);
  assert.deepEqual(drawn.sections.map((s) => s.key), wanted.sections.map((s) => s.key));
  wanted.sections.forEach((section, n) => {
    const { rows, ...rest } = drawn.sections[n];
    const { rows: wantedRows, ...wantedRest } = section;
    assert.deepEqual(rest, wantedRest);
    assert.equal(rows?.length, wantedRows?.length, section.key);
    wantedRows?.forEach((row, r) => {
      const at = `${section.key}, ${row.key}`;
      const { seats, ...rowRest } = rows[r];
      const { seats: wantedSeats, ...wantedRowRest } = row;
      assert.deepEqual(rowRest, wantedRowRest, at);
      const plain = (seat) => seat && { ...seat, id: "", x: 0, y: 0 };
      assert.deepEqual(seats.map(plain), wantedSeats.map(plain), at);
      wantedSeats.forEach((seat, i) => seat && assert.ok(Math.hypot(seat.x - seats[i].x, seat.y - seats[i].y) <= near, `${at}, ${i}: ${JSON.stringify([seat, seats[i]])}`));
    });
  });
}

// seatsIn is a selection: seats of a section by labels of rows and of seats.
function seatsIn(plan, key, rows = () => true, seats = () => true) {
  const section = plan.sections.find((s) => s.key === key);
  return new Set(section.rows.filter((row) => rows(row.label)).flatMap((row) => row.seats.filter((seat) => seat && seats(seat.label)).map((seat) => seat.id)));
}

const all = (key) => new Set([edit.sectionRef(key)]);

function withCategories(name, categories) {
  const [[first, color], ...others] = categories;
  const plan = others.reduce((p, [n, c]) => edit.addCategory(p, { name: n, color: c }), emptyPlan(name, first));
  return { ...edit.setCategory(plan, plan.categories[0].key, { color }) };
}

// withKeys gives categories the keys of an example, which no command makes of their names.
const withKeys = (plan, keys) => ({ ...plan, categories: plan.categories.map((c, i) => ({ ...c, key: keys[i] })) });

test("the theatre: curved rows, odd numbers on the left, boxes", () => {
  const wanted = example("theatre");
  let plan = withKeys(withCategories("City theatre", [
    ["Premium", "#7a1f3d"], ["First", "#0b5d66"], ["Boxes", "#8a6d1b"], ["Second", "#2f6f3e"], ["Third", "#4a5a8c"], ["Fourth", "#6b6b6b"],
  ]), ["premium", "first", "box", "second", "third", "fourth"]);
  plan = edit.setFocalPoint(plan, [0, 0]);
  const rowLabels = (n) => labels("letters", n, { skip: "IO", prefix: "Row " });
  const tier = (section, seats, radius, y, rowSpacing) => {
    plan = addSection(plan, section);
    const rows = block({ rows: seats.length, seats, spacing: 0.55, rowSpacing, curvature: 1 / radius, aisles: [0.5], aisle: 1.1, at: [0, y] });
    plan = addRows(plan, section.key, rows, { labels: rowLabels(seats.length) });
    plan = renumber(plan, all(section.key), { seats: { scheme: "sides", odd: "left" } });
  };
  const mark = (key, row, seats, changes) => { plan = edit.setSeats(plan, seatsIn(plan, key, row, seats), changes); };
  const oneOf = (...list) => (label) => list.includes(label.replace("Row ", ""));
  tier({ key: "stalls", name: "Stalls", category: "first", floor: "0", entrance: "Foyer" },
    [18, 20, 20, 22, 22, 24, 24, 26, 26, 28, 28, 30, 30, 30, 30, 30, 30], 10, 4, 0.9);
  mark("stalls", oneOf("A"), undefined, { note: "close to the stage" });
  mark("stalls", oneOf("C", "D", "E", "F", "G", "H", "J"), undefined, { category: "premium" });
  mark("stalls", oneOf("Q", "R", "S"), undefined, { category: "second" });
  mark("stalls", oneOf("S"), oneOf("29", "25", "26", "30"), { accessible: true });
  mark("stalls", oneOf("S"), oneOf("27", "23", "24", "28"), { companion: true });

  plan = addSection(plan, { key: "boxes-left", name: "Boxes, left", category: "box", floor: "1", entrance: "Left stairs" });
  plan = addRows(plan, "boxes-left", [[[-11.5, 2.5], [-12.3, 2.5], [-11.5, 3.3], [-12.3, 3.3]]], { labels: ["Box 1"], adjacency: "ALL" });
  plan = edit.repeat(plan, seatsIn(plan, "boxes-left"), 3, -0.6, 3);
  mark("boxes-left", oneOf("Box 1"), oneOf("2", "4"), { restrictedView: true });
  plan = addSection(plan, { key: "boxes-right", name: "Boxes, right", category: "box", floor: "1", entrance: "Right stairs" });
  const left = plan.sections[1].rows.map((row) => row.seats.map((seat) => [-seat.x, seat.y]));
  plan = addRows(plan, "boxes-right", left, { labels: labels("numbers", 4, { prefix: "Box " }), adjacency: "ALL" });
  mark("boxes-right", oneOf("Box 1"), oneOf("2", "4"), { restrictedView: true });

  const tiers = [
    [{ key: "circle", name: "Dress circle", category: "second", floor: "1", entrance: "Grand stairs" }, [32, 32, 34, 34, 36], 26.5, 20.5],
    [{ key: "balcony", name: "Balcony", category: "third", floor: "2", entrance: "Upper foyer" }, [26, 28, 30, 32, 34], 32.5, 26.5],
  ];
  for (const [section, seats, radius, y] of tiers) tier(section, seats, radius, y, 0.95);
  mark("circle", oneOf("A"), undefined, { category: "premium" });
  for (const row of plan.sections[3].rows) {
    const outer = new Set([0, 1, -1, -2].map((i) => row.seats.at(i).label));
    mark("circle", (label) => label === row.label, (label) => outer.has(label), { restrictedView: true });
  }
  mark("balcony", oneOf("C"), oneOf("11", "12"), { restrictedView: true, note: "behind a pillar" });
  mark("balcony", oneOf("D", "E"), undefined, { category: "fourth" });
  assertSame(plan, wanted, 0.02);
});

test("the cinema: rows of one length with aisles, sofas, and no letters that are mistaken for numbers", () => {
  const wanted = example("cinema");
  let plan = withKeys(withCategories("Cinema, screen 1", [
    ["Recliner", "#7a1f3d"], ["Standard", "#0b5d66"], ["Sofa for two", "#8a6d1b"], ["Front rows", "#6b6b6b"],
  ]), ["premium", "standard", "sofa", "front"]);
  plan = addSection(plan, { key: "screen-1", name: "Screen 1", category: "standard", entrance: "Upper foyer" });
  const middle = block({ rows: 10, seats: 20, aisles: [4, 16], at: [11.5, 0] });
  const sofas = block({ rows: 1, seats: 16, aisles: [2, 4, 6, 8, 10, 12, 14], at: [12, 10] });
  plan = addRows(plan, "screen-1", [...middle, ...sofas], { labels: labels("letters", 11, { skip: "I", prefix: "Row " }) });
  const row = (label) => seatsIn(plan, "screen-1", (l) => l === `Row ${label}`);
  const some = (label, places) => new Set(plan.sections[0].rows.find((r) => r.label === `Row ${label}`).seats.flatMap((seat, i) => (seat && places.includes(i) ? [seat.id] : [])));
  for (const [label, category] of [["A", "front"], ["B", "front"], ["G", "premium"], ["H", "premium"], ["J", "premium"], ["L", "sofa"]]) {
    plan = edit.setSeats(plan, row(label), { category });
  }
  plan = edit.remove(plan, some("A", [0, 1, 2, 3, 17, 18, 19, 20, 21]));
  plan = edit.remove(plan, some("B", [0, 21]));
  // The example has the gaps at the ends of two rows, too. They have no neighbours, so they say nothing.
  const trimmed = { ...wanted, sections: wanted.sections.map((s) => ({ ...s, rows: s.rows.map((r) => ({ ...r, seats: r.seats.slice(r.seats.findIndex(Boolean), r.seats.findLastIndex(Boolean) + 1) })) })) };
  plan = renumber(plan, all("screen-1"), { seats: {} });
  plan = edit.setSeats(plan, seatsIn(plan, "screen-1", (l) => l === "Row F", (l) => ["1", "3", "18", "20"].includes(l)), { accessible: true });
  plan = edit.setSeats(plan, seatsIn(plan, "screen-1", (l) => l === "Row F", (l) => ["2", "4", "17", "19"].includes(l)), { companion: true });
  plan = edit.setFocalPoint(plan, [11.5, 7]);
  assertSame(plan, trimmed, 0.001);
});

// withEarlierGap moves the aisle of a row with an odd number of seats by a seat.
function withEarlierGap(plan, { seats }) {
  const gap = seats.indexOf(null);
  if (gap < 0 || seats.length % 2 === 1) return plan;
  return edit.insertGap(edit.removeGap(plan, seats[gap - 1].id, "after", 1.2), seats[gap - 2].id, "after", 1.2);
}

test("the arena: two rakes with straight sides and round corners", () => {
  const wanted = example("arena");
  let plan = withKeys(withCategories("Arena, stage in the north", [
    ["Standing, front", "#7a1f3d"], ["Standing", "#8a6d1b"], ["Category 1", "#0b5d66"], ["Category 2", "#2f6f3e"], ["Category 3", "#4a5a8c"], ["Category 4", "#6b6b6b"],
  ]), ["front", "standing", "one", "two", "three", "four"]);
  plan = edit.setFocalPoint(plan, [0, -28]);
  plan = addSection(plan, {
    key: "front", name: "Standing, front", category: "front", capacity: 600, floor: "0", entrance: "Gate A", outline: rectangle({ at: [0, -15], width: 32, height: 14 }),
  });
  plan = addSection(plan, {
    key: "floor", name: "Standing", category: "standing", capacity: 1200, floor: "0", entrance: "Gate B",
    outline: [[-20, -8], [20, -8], [24, 24], [14, 34], [-14, 34], [-24, 24]],
  });
  // A rake: 40 by 60 inside of the corners' middles, at a distance; the last rows of corners from one on have an aisle.
  const rake = ({ name, distance, rows, rowSpacing, withAisle, floor, nearest, others, last }) => {
    const straight = (seats, at, rotation) => block({ rows, seats, spacing: 0.5, rowSpacing, at, rotation });
    const side = (x, rotation, ys) => ys.map((y) => straight(17, [x, y], rotation));
    const corner = (at, from) => {
      const around = (first, n, aisles) => fan({
        at, radius: distance + first * rowSpacing, from, to: from + 90, blocks: 2, rows: n, spacing: 0.5, rowSpacing, seats: counts.slice(first, first + n), aisles, gap: 1.2,
      });
      const counts = Array.from({ length: rows }, (_, k) => wanted.sections.find((s) => s.name.endsWith(String(name + 6))).rows[k].seats.filter(Boolean).length);
      const [inner, outer] = [withAisle > 0 ? around(0, withAisle, []) : [[], []], around(withAisle, rows - withAisle, [0.5])];
      return inner.map((block, i) => [...block, ...outer[i]]);
    };
    const ys = [-25, -15, -5, 5, 15, 25];
    const blocks = [
      ...side(18 + distance, -90, ys), ...corner([18, 30], 0), ...[13.5, 4.5, -4.5, -13.5].map((x) => straight(15, [x, 30 + distance], 0)),
      ...corner([-18, 30], 90), ...side(-18 - distance, 90, ys.toReversed()),
    ];
    const first = plan.sections.length;
    plan = edit.addBlocks(plan, blocks, { name: `Block ${name}`, floor, category: others, labels: labels("letters", rows, { skip: "IO" }) });
    const entrances = { East: 6, "South-east": 2, South: 4, "South-west": 2, West: 6 };
    const entranceOf = Object.entries(entrances).flatMap(([entrance, n]) => Array(n).fill(entrance));
    blocks.forEach((_, i) => {
      const { key } = plan.sections[first + i];
      plan = edit.setSection(plan, key, { key: String(name + i), entrance: entranceOf[i] });
      plan = edit.reverseRows(plan, all(String(name + i))); // clockwise, as the blocks are
      if (i === 6 || i === 7) plan = plan.sections.at(first + i).rows.reduce(withEarlierGap, plan);
      plan = renumber(plan, all(String(name + i)), { seats: { direction: "plan", gaps: true } });
    });
    const far = (n) => (label) => labels("letters", rows, { skip: "IO" }).indexOf(label) >= n;
    for (const i of [0, 1, 2, 3, 16, 17, 18, 19]) {
      plan = edit.setSeats(plan, all(String(name + i)), { category: nearest });
      plan = edit.setSeats(plan, seatsIn(plan, String(name + i), far(rows / 2)), { category: others });
    }
    for (const i of [8, 9, 10, 11]) plan = edit.setSeats(plan, seatsIn(plan, String(name + i), far(rows / 2)), { category: last });
  };
  rake({ name: 101, distance: 11, rows: 20, rowSpacing: 0.85, withAisle: 10, floor: "1", nearest: "one", others: "two", last: "three" });
  rake({ name: 201, distance: 32, rows: 12, rowSpacing: 0.9, withAisle: 0, floor: "3", nearest: "two", others: "three", last: "four" });
  for (const key of ["109", "110", "111", "112"]) {
    const row = plan.sections.find((s) => s.key === key).rows.at(-1);
    const every = (n) => new Set(row.seats.filter((_, i) => i % 2 === n).map((seat) => seat.id));
    plan = edit.setSeats(edit.setSeats(plan, every(0), { accessible: true }), every(1), { companion: true });
  }
  assertSame(plan, wanted, 0.03);
});
