import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "../src/check.js";
import * as edit from "../src/edit.js";
import { addRows, addSection, capacityOf, emptyPlan, find, finder, idsOf, removeSeats, rowOf, seatsOf, sectionByKey } from "../src/plan.js";
import { distance } from "../src/points.js";
import { alongArc, block, roundTable } from "../src/shapes.js";

function hall(...blocks) {
  return blocks.reduce((plan, rows, i) => {
    const withSection = addSection(plan, { name: `Block ${i + 1}` });
    return addRows(withSection, withSection.sections.at(-1).key, rows);
  }, emptyPlan("Hall"));
}

const ids = (...list) => new Set(list);
const places = (row) => row.seats.map((seat) => seat?.label ?? "_").join(" ");
const rows = (plan, section = 0) => plan.sections[section].rows.map(places);
const xs = (row) => row.seats.flatMap((seat) => (seat ? [seat.x] : []));
const row = (plan, r = 0, section = 0) => plan.sections[section].rows[r];
const all = (plan, section = 0) => ids(edit.sectionRef(plan.sections[section].key));

test("new seats have IDs of section, row and label; new rows go on with the labels", () => {
  let plan = hall(block({ rows: 2, seats: 2 }));
  plan = addRows(plan, "Block-1", block({ rows: 1, seats: 1, at: [0, 5] }));
  assert.deepEqual([...idsOf(plan)], ["Block-1-A-1", "Block-1-A-2", "Block-1-B-1", "Block-1-B-2", "Block-1-C-1"]);
  assert.equal(addRows(plan, "none", block({ rows: 1, seats: 1 })), plan);
});

test("the same rows are those with the label of a selected one, in the sections of the floor that is shown", () => {
  const three = () => block({ rows: 3, seats: 2 });
  let plan = hall(three(), three(), three());
  plan = edit.setSection(plan, "Block-3", { floor: "Gallery" });
  const some = ids("Block-1-A-1", "Block-1-B-2");
  const rowsOf = (n) => ["A-1", "A-2", "B-1", "B-2"].map((seat) => `Block-${n}-${seat}`);
  assert.deepEqual([...edit.sameRows(plan, some, "")].sort(), [...rowsOf(1), ...rowsOf(2)]);
  assert.deepEqual([...edit.sameRows(plan, some)].sort(), [...rowsOf(1), ...rowsOf(2), ...rowsOf(3)]);
  assert.deepEqual(edit.sameRows(plan, ids(edit.focalRef)), ids(edit.focalRef));
});

test("a seat that is removed leaves a gap, but not at an end, at another gap, or at a table", () => {
  const plan = hall(block({ rows: 1, seats: 7, aisles: [3] }), block({ rows: 1, seats: 1, at: [0, 9] }));
  const without = (...labels) => rows(removeSeats(plan, new Set(labels.map((label) => `Block-1-A-${label}`))))[0];
  assert.equal(without(2), "1 _ 3 _ 4 5 6 7");
  assert.equal(without(5, 6), "1 2 3 _ 4 _ 7");
  assert.equal(without(3), "1 2 _ 4 5 6 7");
  assert.equal(without(4), "1 2 3 _ 5 6 7");
  assert.equal(without(1, 7), "2 3 _ 4 5 6");
  assert.equal(without(1, 2, 3), "4 5 6 7");
  const table = edit.setRows(plan, all(plan), { adjacency: "ALL" });
  assert.equal(rows(removeSeats(table, ids("Block-1-A-2")))[0], "1 3 _ 4 5 6 7");
  const empty = edit.remove(plan, all(plan, 1));
  assert.deepEqual(empty.sections.map((s) => s.key), ["Block-1"]);
  assert.equal(empty.sections[0], plan.sections[0]);
});

test("units are sections, or rows, or seats, and align and distribute move them as they are", () => {
  let plan = hall(block({ rows: 2, seats: [2, 4] }), block({ rows: 1, seats: 2, at: [20, 9] }));
  assert.deepEqual(edit.unitsOf(plan, all(plan)).map((unit) => unit.size), [2, 4]);
  assert.deepEqual(edit.unitsOf(plan, edit.everything(plan)).length, 2);
  assert.deepEqual(edit.unitsOf(plan, new Set(["Block-1-A-1", "Block-1-A-2"])).length, 2);
  const left = edit.align(plan, all(plan), "left");
  assert.deepEqual([xs(row(left)), xs(row(left, 1))], [[-1.5, -0.5], [-1.5, -0.5, 0.5, 1.5]]);
  assert.equal(row(left, 1), row(plan, 1), "what is there already stays the same object");
  plan = edit.align(plan, edit.everything(plan), "top");
  assert.equal(row(plan, 0, 1).seats[0].y, 0);
  const spread = edit.distribute(hall(block({ rows: 1, seats: [4] }), block({ rows: 1, seats: 2, at: [5, 1] }), block({ rows: 1, seats: 2, at: [20, 3] })), ids("section:Block-1", "section:Block-2", "section:Block-3"), "x");
  assert.deepEqual([0, 1, 2].map((i) => xs(row(spread, 0, i))), [[-1.5, -0.5, 0.5, 1.5], [10, 11], [19.5, 20.5]]);
});

test("what is moved, turned and mirrored takes outlines, decorations and the focal point along", () => {
  let plan = addSection(emptyPlan("Hall"), { name: "Pit", capacity: 5, outline: [[0, 0], [4, 0], [4, 2]] });
  plan = edit.addDecoration(edit.setFocalPoint(plan, [1, 1]), { kind: "icon", at: [2, 2], icon: "bar" });
  const moved = edit.move(plan, edit.everything(plan), 1, -1);
  assert.deepEqual([moved.sections[0].outline, moved.decorations[0].at, moved.focalPoint], [[[1, -1], [5, -1], [5, 1]], [3, 1], { x: 2, y: 0 }]);
  assert.deepEqual(edit.rotate(plan, ids("decoration:0"), 90, [0, 0]).decorations[0].at, [-2, 2]);
  assert.deepEqual(edit.mirror(plan, ids("section:Pit"), "x").sections[0].outline, [[4, 0], [0, 0], [0, 2]]);
  assert.deepEqual(edit.scale(plan, ids("section:Pit"), 2, [0, 0]).sections[0].outline, [[0, 0], [8, 0], [8, 4]]);
  assert.deepEqual(edit.remove(plan, edit.everything(plan)), { name: "Hall", categories: plan.categories, sections: [], decorations: [] });
});

test("copies of sections have the next names, and copies of rows the next labels; all seats are new", () => {
  const plan = hall(block({ rows: 2, seats: 2 }));
  const sections = edit.repeat(plan, all(plan), 2, 5, 0);
  assert.deepEqual(sections.sections.map((s) => [s.name, s.key]), [["Block 1", "Block-1"], ["Block 2", "Block-2"], ["Block 3", "Block-3"]]);
  assert.deepEqual(sections.sections[2].rows.map((r) => [r.label, r.seats[0].id]), [["A", "Block-3-A-1"], ["B", "Block-3-B-1"]]);
  assert.equal(row(sections, 0, 2).seats[0].x, row(plan).seats[0].x + 10);
  const asRows = edit.repeat(plan, all(plan), 2, 0, 2, { as: "rows" });
  assert.deepEqual(asRows.sections[0].rows.map((r) => r.label), ["A", "B", "C", "D", "E", "F"]);
  const part = edit.duplicate(plan, ids("Block-1-A-2"), 0, 9);
  assert.deepEqual(part.sections[0].rows.map((r) => [r.label, places(r)]), [["A", "1 2"], ["B", "1 2"], ["C", "2"]]);
  assert.deepEqual([...edit.added(plan, part)], ["Block-1-C-2"]);
  assert.equal(idsOf(sections).size, 12);
  const elsewhere = edit.paste(emptyPlan("Other", "Cheap"), JSON.parse(JSON.stringify(edit.copy(plan, all(plan)))));
  assert.deepEqual(check(elsewhere), []);
  assert.equal(row(elsewhere).seats[0].category, "Cheap", "a category that is not there becomes the first");
});

test("what was copied from one floor is pasted on another", () => {
  let plan = edit.setSection(hall(block({ rows: 2, seats: 2 })), "Block-1", { floor: "0" });
  plan = edit.addDecoration(plan, { kind: "icon", at: [5, 0], icon: "bar", floor: "0" });
  const floors = ({ sections, decorations }) => [...sections, ...decorations].map((t) => t.floor);
  const whole = edit.copy(plan, ids("section:Block-1", "decoration:0"));
  assert.deepEqual(floors(edit.paste(plan, whole)), ["0", "0", "0", "0"]);
  assert.deepEqual(floors(edit.paste(plan, whole, undefined, { floor: "1" })), ["0", "1", "0", "1"]);
  assert.deepEqual(floors(edit.paste(plan, whole, undefined, { floor: "" })), ["0", undefined, "0", undefined]);
  const part = edit.copy(plan, ids("Block-1-A-1"));
  assert.deepEqual(edit.paste(plan, part, undefined, { floor: "0" }).sections.map((s) => s.rows.length), [3]);
  const other = edit.paste(plan, part, undefined, { floor: "1" });
  assert.deepEqual(other.sections.map((s) => [s.name, s.floor, s.rows.length]), [["Block 1", "0", 2], ["Block 2", "1", 1]]);
});

test("a ring of tables: one table, drawn once", () => {
  let plan = addSection(emptyPlan("Gala"), { name: "Tables" });
  plan = addRows(plan, "Tables", [roundTable({ seats: 8, at: [0, -20] })], { labels: ["Table 1"], adjacency: "ALL" });
  plan = edit.repeatAround(plan, idsOf(plan), 11, 30, [0, 0], { upright: true });
  assert.equal(plan.sections.length, 1);
  assert.deepEqual(plan.sections[0].rows.map((r) => r.label), Array.from({ length: 12 }, (_, i) => `Table ${i + 1}`));
  assert.equal(capacityOf(plan).total, 96);
  assert.equal(row(plan, 11).seats[0].id, "Tables-12-1");
  for (const r of plan.sections[0].rows) {
    const middle = [r.seats.reduce((n, s) => n + s.x, 0) / 8, r.seats.reduce((n, s) => n + s.y, 0) / 8];
    assert.ok(Math.abs(distance(middle, [0, 0]) - 20) < 0.01);
    assert.ok(Math.abs(r.seats[0].x - middle[0]) < 0.01 && r.seats[0].y < middle[1], "the first seat is at the top");
  }
  const turned = edit.repeatAround(plan, new Set(row(plan).seats.map((s) => s.id)), 1, 90, [0, 0]);
  assert.ok(row(turned, 12).seats[0].x > 20, "a turned copy looks outwards");
});

test("a mirrored copy is the other half of a hall, from left to right as well", () => {
  const plan = edit.mirrorCopy(hall(block({ rows: 1, seats: 3, at: [-10, 0], skew: 1 })), ids("section:Block-1"), "x", 0);
  assert.deepEqual(xs(row(plan, 0, 1)), [9, 10, 11]);
  assert.deepEqual(rows(plan, 1), ["3 2 1"], "a seat has the label of the one that it mirrors");
});

test("a section of tables is mirrored as a whole: each table keeps its seats around it, with their labels and their order", () => {
  let plan = addSection(emptyPlan("Gala"), { name: "Tables" });
  plan = addRows(plan, "Tables", [[-10, 0], [-14, 4]].map((at) => roundTable({ seats: 5, at, open: 120 })), { labels: ["Table 1", "Table 2"], adjacency: "ALL" });
  assert.equal(edit.copiesTables(plan, idsOf(plan)), true);
  assert.equal(edit.copiesTables(plan, ids("Tables-1-1")), false);
  assert.equal(edit.copiesTables(hall(block({ rows: 1, seats: 2 })), ids("Block-1-A-1", "Block-1-A-2")), false);
  const copied = edit.mirrorCopy(plan, idsOf(plan), "x", 0, { as: "sections" });
  assert.deepEqual(copied.sections.map((s) => [s.name, s.rows.map((r) => r.label)]), [["Tables", ["Table 1", "Table 2"]], ["Tables 2", ["Table 1", "Table 2"]]]);
  const mirrored = edit.mirror(plan, idsOf(plan), "x", 0);
  for (const { rows: [...tables] } of [copied.sections[1], mirrored.sections[0]]) {
    tables.forEach((table, t) => {
      assert.equal(table.adjacency, "ALL");
      assert.deepEqual(table.seats.map((seat) => [seat.label, seat.x, seat.y]), row(plan, t).seats.map((seat) => [seat.label, -seat.x + 0, seat.y]));
    });
  }
});

test("a gap is put in and taken out, and the seats behind it move along the row, on its circle", () => {
  const plan = hall(block({ rows: 1, seats: 5 }), block({ rows: 1, seats: 9, curvature: 0.1, at: [0, 20] }));
  const gap = edit.insertGap(plan, "Block-1-A-2", "after", 1);
  assert.deepEqual([rows(gap)[0], xs(row(gap))], ["1 2 _ 3 4 5", [-2, -1, 1, 2, 3]]);
  assert.deepEqual(edit.removeGap(gap, "Block-1-A-3", "before", 1), plan);
  assert.equal(edit.insertGap(plan, "Block-1-A-5", "after"), plan, "no gap at an end");
  assert.equal(edit.removeGap(plan, "Block-1-A-2"), plan);
  const curved = row(edit.insertGap(plan, "Block-2-A-5", "after", 2), 0, 1);
  for (const seat of curved.seats.filter(Boolean)) assert.ok(Math.abs(distance([seat.x, seat.y], [0, 10]) - 10) < 0.01);
  assert.ok(Math.abs(distance([curved.seats[4].x, curved.seats[4].y], [curved.seats[6].x, curved.seats[6].y]) - 2.98) < 0.03);
  const guessed = edit.guessGaps(edit.move(plan, ids("Block-1-A-4", "Block-1-A-5"), 1, 0), all(plan));
  assert.deepEqual(rows(guessed), ["1 2 3 _ 4 5"]);
  assert.equal(edit.guessGaps(guessed, all(guessed)), guessed);
});

test("a row is split and joined, in the order in which the parts stand", () => {
  const plan = hall(block({ rows: 1, seats: 6, aisles: [3] }));
  const split = edit.splitRow(plan, "Block-1-A-4");
  assert.deepEqual(split.sections[0].rows.map((r) => [r.label, places(r)]), [["A", "1 2 3"], ["B", "4 5 6"]]);
  assert.deepEqual(idsOf(split), idsOf(plan), "seats keep their IDs");
  assert.deepEqual(edit.joinRows(split, all(split)), plan);
  const turned = edit.reverseRows(edit.orderRows(split, ["Block-1"]), ids("Block-1-A-4"));
  assert.deepEqual(rows(edit.joinRows(turned, all(turned))), ["1 2 3 _ 4 5 6"], "a part that goes the other way is turned");
  assert.equal(edit.splitRow(plan, "Block-1-A-1"), plan);
  assert.equal(edit.joinRows(plan, all(plan)), plan);
});

test("rows of three blocks are joined over their aisles, each with those in its line", () => {
  const three = (options) => [-14, 0, 14].flatMap((x) => block({ rows: 4, seats: 10, at: [x, 0], ...options }));
  let plan = hall(three());
  plan = edit.joinRows(plan, all(plan));
  assert.deepEqual(plan.sections[0].rows.map((r) => r.seats.map((seat) => (seat ? "x" : "_")).join("")), Array(4).fill("xxxxxxxxxx_xxxxxxxxxx_xxxxxxxxxx"));
  assert.deepEqual(plan.sections[0].rows.map((r) => r.label), ["A", "B", "C", "D"]);
  assert.deepEqual(xs(row(plan)).toSorted((a, b) => a - b), xs(row(plan)));
  const curved = [110, 90, 70].flatMap((to) => [0, 1, 2].map((k) => alongArc({ radius: 30 + k, from: to + 8, to: to - 8, seats: 9 })));
  const bent = hall(curved);
  assert.equal(edit.joinRows(bent, all(bent)).sections[0].rows.length, 3);
  const apart = hall(block({ rows: 5, seats: 6 }));
  assert.equal(edit.joinRows(apart, all(apart)), apart, "rows behind each other stay");
});

test("an aisle goes through a block, after a seat of each row", () => {
  const plan = hall(block({ rows: 3, seats: 4 }));
  const column = ids("Block-1-A-2", "Block-1-B-2", "Block-1-C-2");
  const aisle = edit.insertGaps(plan, column, "after", 1);
  assert.deepEqual(rows(aisle), ["1 2 _ 3 4", "1 2 _ 3 4", "1 2 _ 3 4"]);
  assert.deepEqual(xs(row(aisle, 2)), [-1.5, -0.5, 1.5, 2.5]);
  assert.deepEqual(edit.removeGaps(aisle, column, "after", 1), plan);
});

test("seats go to another section, in rows of their own, and keep their IDs", () => {
  const plan = hall(block({ rows: 2, seats: 4 }), block({ rows: 1, seats: 2, at: [20, 0] }));
  const moved = edit.moveToSection(plan, ids("Block-1-A-2", "Block-1-A-3", "Block-1-B-4"), "Block-2");
  assert.deepEqual(rows(moved), ["1 _ _ 4", "1 2 3"]);
  assert.deepEqual(moved.sections[1].rows.map((r) => [r.label, r.key, places(r)]), [["A", "A", "1 2"], ["B", "B", "2 3"], ["C", "C", "4"]]);
  assert.equal(find(moved, "Block-1-A-2").section.key, "Block-2");
  assert.deepEqual(edit.moveToSection(plan, all(plan, 1), "Block-1").sections.length, 1);
  const own = edit.splitSection(plan, ids("Block-1-A-1", "Block-1-B-1"), { name: "Loge" });
  assert.deepEqual(rows(own, 2), ["1", "1"]);
});

test("the seats of a row are put in the order in which they stand", () => {
  const plan = hall(block({ rows: 1, seats: 6, curvature: 0.05 }));
  const [a, b, c, d, e, f] = row(plan).seats;
  const mixed = { ...plan, sections: [{ ...plan.sections[0], rows: [{ ...row(plan), seats: [b, a, c, f, d, e] }] }] };
  assert.deepEqual(rows(edit.orderSeats(mixed, all(mixed))), ["1 2 3 4 5 6"]);
  const odd = { ...plan, sections: [{ ...plan.sections[0], rows: [{ ...row(plan), seats: [a, c, e, b, d, f] }] }] };
  assert.deepEqual(rows(edit.orderSeats(odd, all(odd))), ["1 2 3 4 5 6"]);
  assert.equal(edit.orderSeats(plan, all(plan)), plan);
});

test("a seat is added where it makes its row the least longer", () => {
  const plan = hall(block({ rows: 1, seats: 3, spacing: 2 }));
  const added = edit.addSeat(edit.addSeat(plan, [1, 0.1], { next: "Block-1-A-1" }), [4, 0], { next: "Block-1-A-1" });
  assert.deepEqual([rows(added)[0], xs(row(added))], ["1 2 4 3 5", [-2, 0, 1, 2, 4]]);
  assert.deepEqual(edit.addSeat(plan, [-4, 0], { next: "Block-1-A-1", label: "0" }).sections[0].rows.map(places), ["0 1 2 3"]);
  const gap = edit.insertGap(plan, "Block-1-A-2", "after", 3); // at 0 and 5
  assert.deepEqual([1, 4].map((x) => rows(edit.addSeat(gap, [x, 0], { next: "Block-1-A-1", label: "x" }))[0]), ["1 2 x _ 3", "1 2 _ x 3"]);
  assert.deepEqual(rows(edit.addSeat(plan, [0, 9], { section: "Block-1" })), ["1 2 3", "1"]);
});

test("what seats are is set and removed; a category becomes that of the row and the section if all seats have it", () => {
  let plan = edit.addCategory(hall(block({ rows: 2, seats: 2 })), { name: "Premium", color: "#123456" });
  plan = edit.setSeats(plan, ids("Block-1-A-1", "Block-1-A-2"), { category: "Premium", accessible: true, note: "near", viewUrl: "https://a.example/1" });
  assert.deepEqual([row(plan).category, row(plan, 1).category, plan.sections[0].category], ["Premium", "Standard", "Standard"]);
  assert.deepEqual(capacityOf(plan), { total: 4, sections: new Map([["Block-1", 4]]), categories: new Map([["Standard", 2], ["Premium", 2]]) });
  assert.equal(edit.setSeats(plan, ids("Block-1-A-1"), { accessible: true, note: "near", category: "Premium" }), plan);
  const plain = edit.setSeats(plan, ids("Block-1-A-1"), { accessible: false, note: "", viewUrl: undefined });
  assert.deepEqual(Object.keys(row(plain).seats[0]).sort(), ["category", "id", "label", "x", "y"]);
  plan = edit.setSeats(plan, all(plan), { category: "Premium" });
  assert.equal(plan.sections[0].category, "Premium");
  const removed = edit.removeCategory(plan, "Premium", "Standard");
  assert.deepEqual([removed.sections[0].category, row(removed).seats[0].category, removed.categories.length], ["Standard", "Standard", 1]);
  assert.equal(edit.removeCategory(plan, "Premium", "Premium"), plan);
});

test("sections and categories are changed and put in another order", () => {
  let plan = hall(block({ rows: 1, seats: 1 }), block({ rows: 1, seats: 1, at: [9, 0] }));
  plan = edit.setSection(plan, ["Block-1", "Block-2"], { floor: "1", entrance: "West" });
  plan = edit.setSection(plan, "Block-2", { key: "Ränge", name: "Ränge", floor: "" });
  assert.deepEqual(plan.sections.map(({ rows: _, ...s }) => s), [
    { name: "Block 1", key: "Block-1", category: "Standard", floor: "1", entrance: "West" }, { name: "Ränge", key: "Raenge", category: "Standard", entrance: "West" },
  ]);
  assert.deepEqual(edit.moveSection(plan, "Raenge", 0).sections.map((s) => s.key), ["Raenge", "Block-1"]);
  assert.equal(edit.setSection(plan, "Block-1", { capacity: 9 }), plan, "a section with rows has no capacity");
  const area = edit.setSection(addSection(plan, { name: "Pit" }), "Pit", { capacity: 9 });
  assert.deepEqual(sectionByKey(area, "Pit"), { name: "Pit", key: "Pit", category: "Standard", capacity: 9 });
  const better = edit.moveCategory(edit.addCategory(plan, { name: "Premium" }), "Premium", 0);
  assert.deepEqual(better.categories.map((c) => c.key), ["Premium", "Standard"]);
});

test("the focal point is set, moved along an axis, and removed", () => {
  const plan = edit.setFocalPoint(emptyPlan("Hall"), [1, 2]);
  assert.equal(edit.setFocalPoint(plan, [1, 2.0001]), plan);
  assert.deepEqual([edit.setFocalPoint(plan, [1, 3]).focalPoint, edit.setFocalPoint(plan, [0, 2]).focalPoint], [{ x: 1, y: 3 }, { x: 0, y: 2 }]);
  assert.deepEqual([edit.move(plan, ids("focal:"), 0, 1).focalPoint, edit.move(plan, ids("focal:"), 1, 0).focalPoint], [{ x: 1, y: 3 }, { x: 2, y: 2 }]);
  assert.equal(edit.transform(plan, ids("focal:"), (p) => p), plan);
  assert.deepEqual(edit.setFocalPoint(plan, null), emptyPlan("Hall"));
});

test("decorations are added, changed and removed", () => {
  let plan = edit.addDecoration(emptyPlan("Hall"), { kind: "text", at: [1.00049, 2], text: "Bar" });
  plan = edit.addDecoration(plan, { kind: "wall", points: [[0, 0], [1, 1]] });
  assert.deepEqual(plan.decorations[0].at, [1, 2]);
  plan = edit.setDecoration(plan, 0, { text: "Foyer", floor: "1" });
  assert.equal(edit.setDecoration(plan, 0, { text: "Foyer" }), plan);
  assert.deepEqual(edit.setDecoration(plan, 0, { floor: "" }).decorations[0], { kind: "text", at: [1, 2], text: "Foyer" });
  assert.deepEqual(edit.remove(plan, ids("decoration:0")).decorations, [{ kind: "wall", points: [[0, 0], [1, 1]] }]);
});

test("a selection is followed: what is gone is left out", () => {
  let plan = edit.addDecoration(hall(block({ rows: 1, seats: 2 }), block({ rows: 1, seats: 1, at: [9, 0] })), { kind: "icon", at: [0, 0], icon: "bar" });
  plan = edit.setFocalPoint(plan, [0, 0]);
  const selected = edit.everything(plan);
  assert.deepEqual(edit.follow(plan, plan, selected), selected);
  const after = edit.remove(plan, ids("decoration:0", "Block-1-A-1", "section:Block-2"));
  assert.deepEqual(edit.follow(plan, after, selected), ids("section:Block-1", "Block-1-A-2", "focal:"));
  assert.deepEqual(edit.partsOf(after, selected), { seats: ids("Block-1-A-2"), sections: ids("Block-1"), decorations: new Set(), focal: true });
});

test("a row is found by a seat, after each command", () => {
  let plan = hall(block({ rows: 30, seats: 30 }));
  for (let i = 0; i < 5; i++) plan = edit.move(plan, ids("Block-1-C-7"), 0, 0.25);
  assert.equal(rowOf(plan, "Block-1-C-7").label, "C");
  assert.equal(find(plan, "Block-1-C-7").seat.y, 2 + 1.25);
  assert.equal(find(plan, "none"), undefined);
  assert.equal([...seatsOf(plan)].length, 900);
});

test("many seats are looked up without a walk over the sections for each", () => {
  const plan = hall(...Array.from({ length: 60 }, (_, i) => block({ rows: 2, seats: 10, at: [0, 3 * i] })));
  let reads = 0;
  const counted = { ...plan, sections: new Proxy(plan.sections, { get(list, field) { reads++; return list[field]; } }) };
  const at = finder(counted);
  for (const id of idsOf(plan)) assert.deepEqual(at(id), find(plan, id));
  const known = reads;
  for (let i = 0; i < 1000; i++) assert.equal(at(`none-${i}`), undefined);
  assert.equal(reads, known, "nor for those that are not there");
});
