import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../src/check.js";
import * as edit from "../src/edit.js";
import { labels, preview, renameIDs, renumber } from "../src/numbering.js";
import { addRows, addSection, emptyPlan, idsOf, keyOf, nextLabels, slug, successor } from "../src/plan.js";
import { block, fan } from "../src/shapes.js";
import { Random, drawing, numbering, selection } from "./random.mjs";

// hall has a section for each block of points.
function hall(blocks, { focalPoint = [0, -10] } = {}) {
  let plan = edit.setFocalPoint(emptyPlan("Hall"), focalPoint);
  blocks.forEach((rows, i) => {
    plan = addSection(plan, { name: String.fromCharCode(83 + i) });
    plan = addRows(plan, plan.sections.at(-1).key, rows);
  });
  return plan;
}

const all = (plan) => new Set(plan.sections.map((s) => edit.sectionRef(s.key)));
const seatLabels = (plan, section = 0) => plan.sections[section].rows.map((row) => row.seats.map((seat) => seat?.label ?? "_").join(" "));
const rowLabels = (plan, section = 0) => plan.sections[section].rows.map((row) => row.label).join(" ");

test("letters go on after Z, leave out letters, double, go down, and are small if the first one is", () => {
  assert.deepEqual(labels("letters", 28).slice(-3), ["Z", "AA", "AB"]);
  assert.deepEqual(labels("letters", 27 + 26 * 26).at(-1), "AAA");
  assert.deepEqual(labels("letters", 4, { from: "Y", doubled: true }), ["Y", "Z", "AA", "BB"]);
  assert.deepEqual(labels("letters", 26, { doubled: true, skip: "IO" }).slice(-3), ["Z", "AA", "BB"]);
  assert.deepEqual(labels("letters", 3, { from: "YY", doubled: true }), ["YY", "ZZ", "AAA"]);
  assert.deepEqual(labels("letters", 3, { from: "AB", doubled: false }), ["AB", "AC", "AD"]);
  assert.equal(labels("letters", 24, { skip: "IO" }).join(""), "ABCDEFGHJKLMNPQRSTUVWXYZ");
  assert.deepEqual(labels("letters", 26, { skip: "IO" }).slice(-2), ["AA", "AB"]);
  assert.deepEqual(labels("letters", 2, { from: "H", skip: "io" }), ["H", "J"]);
  assert.deepEqual(labels("letters", 5, { from: "C", step: -1 }), ["C", "B", "A"], "they run out");
  assert.deepEqual(labels("letters", 3, { from: "b", step: 2 }), ["b", "d", "f"]);
  assert.deepEqual(labels("letters", 3, { skip: ["B"], prefix: "Row ", suffix: "." }), ["Row A.", "Row C.", "Row D."]);
});

test("numbers have a first one, steps, leading zeros, and leave out labels", () => {
  assert.deepEqual(labels("numbers", 3), ["1", "2", "3"]);
  assert.deepEqual(labels("numbers", 3, { from: 101, step: 2 }), ["101", "103", "105"]);
  assert.deepEqual(labels("numbers", 3, { from: "08" }), ["08", "09", "10"]);
  assert.deepEqual(labels("numbers", 3, { from: 12, skip: ["13"] }), ["12", "14", "15"]);
  assert.deepEqual(labels("numbers", 4, { from: 1, step: -1 }), ["1", "0"]);
});

test("names have a next one", () => {
  assert.deepEqual(["Block 101", "09", "Z", "AZ", "ZZ", "Row C", "Stalls", "a", "Reihe 7"].map(successor),
    ["Block 102", "10", "AA", "BA", "AAA", "Row D", "Stalls 2", "b", "Reihe 8"]);
  assert.deepEqual(nextLabels(["A", "B"], 2), ["C", "D"]);
  assert.deepEqual(nextLabels(["C", "A"], 3), ["B", "D", "E"]);
});

test("keys are made of names, valid and unique", () => {
  assert.equal(slug("Größe, 1. Rang (links)"), "Groesse-1.-Rang-links");
  assert.equal(slug("Łódź Ørsted"), "Lodz-Orsted");
  assert.equal(keyOf("Rang", ["Rang", "Rang-2"], "section"), "Rang-3");
  assert.equal(keyOf("劇場", ["section"], "section"), "section-2");
  assert.equal(keyOf("x".repeat(40), ["x".repeat(32)], "section"), `${"x".repeat(30)}-2`);
});

test("rows are numbered from the front or the back, in each section or on and on", () => {
  const plan = hall([block({ rows: 3, seats: 2 }), block({ rows: 2, seats: 2, at: [20, 3] })]);
  const numbered = (rows) => { const p = renumber(plan, all(plan), { rows }); return [rowLabels(p), rowLabels(p, 1)]; };
  assert.deepEqual(numbered({}), ["A B C", "A B"]);
  assert.deepEqual(numbered({ order: "back" }), ["C B A", "B A"]);
  assert.deepEqual(numbered({ kind: "numbers", across: true, order: "first" }), ["1 2 3", "4 5"]);
  assert.deepEqual(numbered({ kind: "numbers", order: "last", prefix: "Row " }), ["Row 3 Row 2 Row 1", "Row 2 Row 1"]);
});

test("without a focal point, the front is at the top and right is right", () => {
  const plan = edit.setFocalPoint(hall([block({ rows: 2, seats: 3 })]), null);
  const numbered = renumber(plan, all(plan), { rows: { order: "back" }, seats: {} });
  assert.equal(rowLabels(numbered), "B A");
  assert.deepEqual(seatLabels(numbered), ["1 2 3", "1 2 3"]);
});

test("left and right are those of people who look at the focal point, wherever they sit", () => {
  // Four blocks around a stage in the middle: each row goes clockwise in the plan, which is from right to left for those who sit there.
  const around = [0, 90, 180, 270].map((rotation) => block({ rows: 1, seats: 3, at: [[0, 10], [-10, 0], [0, -10], [10, 0]][rotation / 90], rotation }));
  const plan = hall(around, { focalPoint: [0, 0] });
  for (let i = 0; i < 4; i++) {
    assert.deepEqual(seatLabels(renumber(plan, all(plan), { seats: { direction: "right" } }), i), ["1 2 3"]);
    assert.deepEqual(seatLabels(renumber(plan, all(plan), { seats: { direction: "left" } }), i), ["3 2 1"]);
  }
  const reversed = edit.reverseRows(plan, all(plan));
  assert.deepEqual(seatLabels(renumber(reversed, all(reversed), { seats: { direction: "right" } }), 1), ["3 2 1"]);
  assert.deepEqual(seatLabels(renumber(reversed, all(reversed), { seats: { direction: "plan" } }), 1), ["1 2 3"]);
});

test("odd numbers on one side and even ones on the other, from the aisle or the middle on", () => {
  const sides = (rows, options = {}) => { const p = hall([rows]); return seatLabels(renumber(p, all(p), { seats: { scheme: "sides", ...options } }))[0]; };
  assert.equal(sides(block({ rows: 1, seats: 6, aisles: [3] })), "5 3 1 _ 2 4 6");
  assert.equal(sides(block({ rows: 1, seats: 6, aisles: [3] }), { odd: "right" }), "6 4 2 _ 1 3 5");
  assert.equal(sides(block({ rows: 1, seats: 7, aisles: [2] })), "3 1 _ 2 4 6 8 10", "the only aisle, wherever it is");
  assert.equal(sides(block({ rows: 1, seats: 7, aisles: [2] }), { middle: "count" }), "7 5 _ 3 1 2 4 6");
  assert.equal(sides(block({ rows: 1, seats: 5 })), "5 3 1 2 4", "without an aisle the middle seat is 1");
  assert.equal(sides(block({ rows: 1, seats: 8, aisles: [2, 6] })), "7 5 _ 3 1 2 4 _ 6 8", "no aisle is in the middle");
  assert.equal(sides(block({ rows: 1, seats: 4, aisles: [2] }), { from: 101 }), "103 101 _ 102 104");
  assert.equal(sides(block({ rows: 1, seats: 4, aisles: [2] }), { from: 100 }), "103 101 _ 100 102");
  assert.equal(sides(block({ rows: 1, seats: 5 }), { from: 2 }), "5 3 2 4 6", "the first number is in the middle");
  assert.equal(sides(block({ rows: 1, seats: 5 }), { from: 2, odd: "right" }), "6 4 2 3 5");
  assert.equal(sides(block({ rows: 1, seats: 6 }), { odd: "right" }), "6 4 2 1 3 5");
  assert.equal(sides(block({ rows: 1, seats: 4, aisles: [2] }), { direction: "left" }), "3 1 _ 2 4");
});

test("gaps take numbers, or do not", () => {
  const plan = hall([block({ rows: 1, seats: 4, aisles: [2] })]);
  assert.deepEqual(seatLabels(renumber(plan, all(plan), { seats: {} })), ["1 2 _ 3 4"]);
  assert.deepEqual(seatLabels(renumber(plan, all(plan), { seats: { gaps: true } })), ["1 2 _ 4 5"]);
});

test("numbers go on from row to row, or from block to block in rows with the same label", () => {
  const blocks = [block({ rows: 2, seats: 2, at: [10, 0] }), block({ rows: 3, seats: 3, at: [0, 0] }), block({ rows: 2, seats: 2, at: [-10, 0] })];
  const plan = hall(blocks);
  const over = (value) => { const p = renumber(plan, all(plan), { rows: {}, seats: { over: value } }); return [0, 1, 2].map((i) => seatLabels(p, i)); };
  assert.deepEqual(over("row"), [["1 2", "1 2"], ["1 2 3", "1 2 3", "1 2 3"], ["1 2", "1 2"]]);
  assert.deepEqual(over("rows"), [["1 2", "3 4"], ["1 2 3", "4 5 6", "7 8 9"], ["1 2", "3 4"]]);
  assert.deepEqual(over("blocks"), [["6 7", "6 7"], ["3 4 5", "3 4 5", "1 2 3"], ["1 2", "1 2"]], "the plan's order of sections is not theirs in space");
  const sides = renumber(plan, all(plan), { seats: { over: "blocks", scheme: "sides" } });
  assert.deepEqual([2, 1, 0].map((i) => seatLabels(sides, i)[0]), ["7 5", "3 1 2", "4 6"]);
});

test("a long row of a fan is numbered from aisle to aisle", () => {
  const plan = hall(fan({ at: [0, -10], radius: 12, from: 130, to: 50, blocks: 3, rows: 2 }), { focalPoint: [0, -10] });
  const row = renumber(plan, all(plan), { seats: { over: "blocks" } }).sections.flatMap((s) => s.rows[0].seats.map((seat) => Number(seat.label)));
  assert.deepEqual(row, Array.from(row, (_, i) => i + 1));
});

test("a part of a row is numbered without the rest", () => {
  const plan = hall([block({ rows: 1, seats: 6 })]);
  const part = new Set(plan.sections[0].rows[0].seats.slice(2, 5).map((seat) => seat.id));
  assert.deepEqual(seatLabels(renumber(plan, part, { seats: { from: 50 } })), ["1 2 50 51 52 6"]);
});

test("seats at tables are numbered in the plan's order", () => {
  let plan = edit.setRows(hall([block({ rows: 1, seats: 3 })]), new Set(["S-A-1"]), { adjacency: "ALL" });
  plan = renumber(edit.reverseRows(plan, all(plan)), all(plan), { seats: { kind: "letters" } });
  assert.deepEqual(seatLabels(plan), ["A B C"]);
});

test("IDs and keys follow the labels, but kept IDs stay, and keys of rows with kept seats", () => {
  const plan = hall([block({ rows: 2, seats: 3 })]);
  const [kept] = plan.sections[0].rows[1].seats;
  const options = { rows: { from: "K", prefix: "Row " }, seats: { direction: "left" } };
  const numbered = renumber(plan, all(plan), options, new Set([kept.id]));
  assert.deepEqual(numbered.sections[0].rows.map((row) => [row.key, row.label, row.seats.map((seat) => [seat.id, seat.label])]), [
    ["K", "Row K", [["S-K-3", "3"], ["S-K-2", "2"], ["S-K-1", "1"]]],
    ["B", "Row L", [["S-B-1", "3"], ["S-B-2", "2"], ["S-B-1-2", "1"]]],
  ]);
  assert.equal(renumber(numbered, all(numbered), options, new Set([kept.id])), numbered, "what has its labels stays the same object");
  assert.equal(renameIDs(plan, idsOf(plan)), plan);
});

test("an ID that another seat gets does not take the selection along", () => {
  const plan = hall([block({ rows: 1, seats: 4 })]);
  const selected = new Set(["S-A-1", "S-A-2"]);
  const numbered = renumber(plan, all(plan), { seats: { direction: "left" } });
  const followed = edit.follow(plan, numbered, selected);
  assert.deepEqual([...followed], ["S-A-4", "S-A-3"]);
  assert.deepEqual(edit.follow(numbered, plan, followed), selected, "nor does its undoing");
  const moved = edit.move(plan, selected, 5, 5);
  assert.deepEqual(edit.follow(plan, moved, selected), selected);
});

test("any numbering keeps kept IDs, is valid, and labels each seat of a row once", () => {
  const r = new Random(9);
  for (let i = 0; i < 500; i++) {
    const plan = drawing(r);
    const kept = new Set([...idsOf(plan)].filter(() => r.yes(0.3)));
    const options = numbering(r);
    const numbered = renumber(plan, selection(r, plan), options, kept);
    assert.deepEqual(check(numbered), [], JSON.stringify(options));
    const ids = idsOf(numbered);
    for (const id of kept) assert.ok(ids.has(id));
    const whole = renumber(plan, all(plan), { seats: { ...options.seats, kind: "numbers", step: 1, from: 1 } }, kept);
    for (const s of whole.sections) {
      for (const row of s.rows ?? []) {
        const seats = row.seats.filter(Boolean);
        assert.equal(new Set(seats.map((seat) => seat.label)).size, seats.length, JSON.stringify([options, row]));
      }
    }
  }
});

test("a preview has the labels that numbering gives", () => {
  const plan = hall([block({ rows: 3, seats: 2, aisles: [1] })]);
  assert.deepEqual(preview(plan, all(plan), { rows: { prefix: "Row " }, seats: { from: 7 } }, 2), [
    { section: "S", row: "Row A", seats: ["7", null, "8"] }, { section: "S", row: "Row B", seats: ["7", null, "8"] },
  ]);
});
