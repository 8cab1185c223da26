import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as edit from "../src/edit.js";
import { findings, sentences } from "../src/findings.js";
import { addRows, addSection, emptyPlan, fromServer, idsOf } from "../src/plan.js";
import { block, rectangle } from "../src/shapes.js";

// hall is a section with rows, and nothing to find.
function hall(rows = block({ rows: 2, seats: 6 })) {
  const plan = addSection(edit.setFocalPoint(emptyPlan("Hall"), [0, -5]), { name: "Stalls" });
  return addRows(plan, "Stalls", rows);
}

const ids = (...labels) => new Set(labels.map((label) => `Stalls-A-${label}`));
const codes = (plan, options) => findings(plan, options).map((f) => f.code);
const only = (plan, options) => { const found = findings(plan, options); assert.equal(found.length, 1, JSON.stringify(found)); return found[0]; };

test("a plan without mistakes has no findings, nor have the examples", () => {
  assert.deepEqual(findings(hall()), []);
  for (const name of ["theatre", "arena", "cinema"]) {
    assert.deepEqual(codes(fromServer(JSON.parse(readFileSync(new URL(`../../seats/planfile/examples/${name}.json`, import.meta.url), "utf8")))), [], name);
  }
});

test("what the server refuses comes first, with the part that it is about", () => {
  const plan = edit.setSeats(edit.setFocalPoint(hall(), null), ids(2), { note: "x".repeat(201) });
  const [first, second] = findings(plan);
  assert.deepEqual(first, {
    code: "server", what: "The text must have at most 200 characters.", values: { what: "The text must have at most 200 characters." }, severity: "error",
    where: "sections[0].rows[0].seats[1].note", section: "Stalls", seats: ["Stalls-A-2"],
  });
  assert.equal(second.code, "no-focal-point");
  assert.equal(findings({ ...plan, sections: [] })[0].where, "sections");
  assert.equal(findings(edit.addDecoration(plan, { kind: "text", at: [0, 9] })).find((f) => f.where === "decorations[0].text").decoration, 0);
});

test("labels that occur twice", () => {
  assert.deepEqual(only(edit.setSeats(hall(), ids(2, 3), { label: "7" })), {
    code: "same-seat-label", what: "Row A of Stalls has the seat 7 2 times.", values: { section: "Stalls", row: "A", label: "7", n: 2 }, severity: "warning",
    section: "Stalls", seats: ["Stalls-A-2", "Stalls-A-3"],
  });
  assert.equal(only(edit.setRows(hall(), edit.everything(hall()), { label: "Q" })).code, "same-row-label");
});

test("seats that lie on each other, but not on another floor", () => {
  const plan = edit.move(hall(), ids(2), 0.9, 0);
  const found = findings(plan).find((f) => f.code === "overlap");
  assert.deepEqual(found.seats, ["Stalls-A-2", "Stalls-A-3"]);
  assert.equal(found.severity, "warning");
  const above = edit.setSection(edit.duplicate(hall(), edit.everything(hall()), 0, 0), "Stalls-2", { floor: "1" });
  assert.deepEqual(codes(above), []);
  assert.deepEqual(codes(edit.setSection(above, "Stalls-2", { floor: "" })), ["overlap", "sections-overlap"]);
});

test("all seats of a section on one place", () => {
  const plan = addRows(addSection(hall([]), { name: "Heap" }), "Heap", [[[1, 1], [1, 1]], [[1, 1], [1, 1]]]);
  assert.equal(findings(plan).find((f) => f.code === "overlap")?.seats.length, 4);
});

test("a block that a gallery surrounds is drawn where it is", () => {
  const line = (at, dx, dy, n) => Array.from({ length: n }, (_, i) => [at[0] + i * dx, at[1] + i * dy]);
  const inside = hall(block({ rows: 3, seats: 5, at: [0, 0] }));
  const sides = [line([-6, -3], 0, 1, 9), line([-6, 6], 1, 0, 13), line([6, -3], 0, 1, 9)];
  const plan = addRows(addSection(inside, { name: "Gallery" }), "Gallery", sides);
  const positions = (p) => p.sections.map((s) => s.rows.map((row) => row.seats.map(({ x, y }) => [x, y])));
  assert.deepEqual(positions(fromServer(plan)), positions(plan));
  assert.ok(!codes(plan).includes("sections-overlap"));
  const onIt = edit.move(plan, new Set(plan.sections[1].rows.flatMap((row) => row.seats.map(({ id }) => id))), 5, 0);
  const [moved] = positions(fromServer(onIt)).slice(1);
  assert.ok(codes(onIt).includes("sections-overlap"));
  assert.notDeepEqual(moved, positions(onIt)[1]);
});

test("seats of two sections that lie on each other, at any side", () => {
  // The block's corners are at -2.5, 0 and 2.5, 1. Each row touches it with one of its seats, which are far from each other.
  for (const [x, y, mine, other] of [
    [-2.5 - 9.9, 0, "Side-A-2", "Stalls-A-1"], [2.5 + 9.9, 1, "Side-A-1", "Stalls-B-6"], [2.5 + 10.3, 0.1, "Side-A-1", "Stalls-A-6"],
    [10.5, -0.3, "Side-A-1", "Stalls-A-4"], [-9.5, 1.3, "Side-A-2", "Stalls-B-4"],
  ]) {
    const plan = addRows(addSection(hall(), { name: "Side" }), "Side", block({ rows: 1, seats: 2, spacing: 20, at: [x, y] }));
    const [found, ...others] = findings(plan).filter((f) => f.code === "overlap");
    assert.deepEqual([new Set(found?.seats), others], [new Set([mine, other]), []], `${x}, ${y}`);
  }
  const clear = addRows(addSection(hall(), { name: "Side" }), "Side", block({ rows: 1, seats: 2, spacing: 20, at: [10.5, -0.5] }));
  assert.ok(!codes(clear).includes("overlap"));
});

test("a row whose order is not that of its seats in space, and an aisle that is not a gap", () => {
  const plan = hall();
  const [a, b, c, d, e, f] = plan.sections[0].rows[0].seats;
  const withRow = (seats, adjacency = "LINE") => ({ ...plan, sections: [{ ...plan.sections[0], rows: [{ ...plan.sections[0].rows[0], adjacency, seats }] }] });
  assert.equal(only(withRow([a, c, b, d, e, f])).code, "order");
  assert.deepEqual(codes(withRow([a, c, b, d, e, f], "NONE")), []);
  assert.deepEqual(codes(withRow([f, e, d, c, b, a])), [], "either direction is an order");
  assert.deepEqual(only(edit.move(plan, ids(4, 5, 6), 1, 0)).seats, ["Stalls-A-3", "Stalls-A-4"]);
  assert.deepEqual(codes(edit.insertGap(plan, "Stalls-A-3", "after", 1)), []);
});

test("companion seats need an accessible neighbour, and accessible seats may want a companion", () => {
  const accessible = edit.setSeats(hall(), ids(2), { accessible: true });
  assert.deepEqual([only(accessible).code, only(accessible).severity], ["accessible-alone", "hint"]);
  assert.deepEqual(codes(edit.setSeats(accessible, ids(3), { companion: true })), []);
  const apart = edit.setSeats(accessible, ids(5), { companion: true });
  assert.deepEqual(codes(apart), ["companion-alone", "accessible-alone"]);
  assert.deepEqual(codes(edit.setRows(apart, ids(1), { adjacency: "ALL" })), [], "at a table all are neighbours");
  const table = edit.insertGap(edit.setRows(hall(), ids(1), { adjacency: "ALL" }), "Stalls-A-3");
  assert.deepEqual(codes(edit.setSeats(table, ids(2), { companion: true })), ["companion-alone"], "and none is its own neighbour");
  assert.deepEqual(codes(edit.setRows(edit.setSeats(accessible, ids(3), { companion: true }), ids(1), { adjacency: "NONE" })), ["companion-alone", "accessible-alone"]);
  assert.deepEqual(codes(edit.insertGap(edit.setSeats(accessible, ids(3), { companion: true }), "Stalls-A-2", "after", 1)), ["companion-alone", "accessible-alone"]);
});

test("hints: an area without an outline, a category without seats, seats that are gone, limits that are near", () => {
  const area = addSection(hall(), { name: "Pit", capacity: 5 });
  assert.equal(only(area).code, "no-outline");
  assert.deepEqual(codes(edit.setSection(area, "Pit", { outline: rectangle({ at: [0, 9], width: 3, height: 3 }) })), []);
  assert.equal(only(edit.addCategory(hall(), { name: "Premium" })).what, "No seat has the category Premium.");
  assert.deepEqual(only(edit.remove(hall(), ids(1)), { kept: idsOf(hall()) }).values, { n: 1 });
  assert.deepEqual(only(hall(block({ rows: 1, seats: 460 }))).values, { section: "Stalls", row: "A", n: 460, most: 500 });
  assert.equal(only(hall(block({ rows: 45, seats: 410 }))).code, "section-limit");
});

test("there are at most 100 of a kind", () => {
  const many = hall(block({ rows: 150, seats: 2 }));
  assert.equal(codes(edit.setSeats(many, edit.everything(many), { label: "1" })).length, 100);
});

test("each sentence has its values", () => {
  for (const sentence of Object.values(sentences)) assert.match(sentence, /\.$|^\{what\}$/);
});
