// A theatre of 800 seats, drawn from nothing as a box office does it: by mouse and keyboard, from a plan on paper.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, screenshot } from "./harness.mjs";
import { Clerk } from "./plan-editor-clerk.mjs";
import { at, choose, drag, openEditor, planOf } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const rowNames = [..."ABCDEFGHJKLMNPQRST"]; // on paper there is no row I and no row O
const click = async (page, ...points) => { for (const p of points) await page.mouse.click(...await at(page, ...p)); };
const places = (seats) => seats.map((s) => [s.x, s.y]);

// aislesOf are the seats on the two sides of each aisle of a row.
const aislesOf = (row) => row.seats.flatMap((seat, i) => (seat === null ? [[row.seats[i - 1], row.seats[i + 1]]] : []));

async function drawStalls(page, clerk) {
  await choose(page, "Block of seats");
  await drag(page, [-14, 0], [14, 17]);
  await clerk.type("Section", "Stalls");
  await clerk.type("Aisle after seats (such as 8, 16)", "7, 22");
  await clerk.type("Wider to the back (°)", "20");
  await clerk.pick("Rows are named", "A, B … without I and O");
  await clerk.pick("Begin at", "the middle: odd left, even right", 1);
  await clerk.slide("Curve", 20);
}

async function drawMezzanine(page, clerk) {
  await choose(page, "Block of seats");
  await drag(page, [-18, 24], [17, 29]);
  await clerk.type("Section", "Mezzanine");
  await clerk.type("Aisle after seats (such as 8, 16)", "10, 26");
  await clerk.pick("Category", "Balcony");
  await clerk.pick("Begin at", "the middle: odd left, even right", 1);
  await clerk.slide("Curve", 20);
}

async function drawBoxes(page, clerk) {
  await choose(page, "Block of seats");
  await drag(page, [-26, 6], [-25, 7]);
  await clerk.type("Section", "Box 1");
  await clerk.pick("Neighbours", "None are neighbours");
  await clerk.press("Duplicate");
  await choose(page, "Select");
  await page.keyboard.press("Escape");
  await drag(page, [-28, 5], [-20, 13]);
  await clerk.press("Mirror image ↔"); // around the best view
  await choose(page, "Single seat");
  await click(page, [-26, 15]);
  await clerk.type("Section", "House seat");
}

async function drawThings(page, clerk) {
  for (const [symbol, point] of [["Entrance", [-24, 20]], ["Exit", [24, 20]], ["Bar", [-24, 28]], ["Toilets", [24, 28]]]) {
    await choose(page, "Symbol");
    await clerk.pick("Symbol", symbol);
    await click(page, point);
  }
}

// drawPillars draws two of them in the aisles, at the ends of a row.
async function drawPillars(page, ends) {
  for (const [x, y] of ends) {
    await choose(page, "Wall");
    await click(page, [x - 0.5, y - 0.5], [x + 0.5, y - 0.5], [x + 0.5, y + 0.5], [x - 0.5, y + 0.5], [x - 0.5, y - 0.5]);
    await page.keyboard.press("Enter");
  }
}

test("a theatre is drawn from a plan on paper, checked and stored", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const clerk = new Clerk(page);
  const stalls = async () => (await planOf(page)).sections.find((s) => s.name === "Stalls");
  for (let i = 0; i < 4; i++) await clerk.press("Zoom out");

  await clerk.tab("Plan");
  await clerk.type("Name of the plan", "Theatre Royal");
  for (const name of ["Rear stalls", "Balcony"]) await clerk.newCategory(name);
  await clerk.tab("Draw");
  await choose(page, "Stage");
  await drag(page, [-7, -6], [7, -4]);
  await choose(page, "Best view");
  await click(page, [0, -4]);

  await drawStalls(page, clerk);
  await drawMezzanine(page, clerk);
  await drawBoxes(page, clerk);
  await drawThings(page, clerk);
  await clerk.section("Stalls", { Floor: "Ground floor" });
  await clerk.section("Mezzanine", { Floor: "Upper floor" });
  await clerk.press("Whole plan");
  await screenshot(page, "plan-editor-paper-drawn");

  // The last eight rows are cheaper; the last has places for wheelchairs, each with a companion's seat.
  const rows = (await stalls()).rows;
  await choose(page, "Select");
  await page.keyboard.press("Escape");
  const middle = rows.at(-8).seats.filter(Boolean)[15];
  await drag(page, [-24, middle.y - 0.5], [24, rows.at(-1).seats.filter(Boolean)[15].y + 0.5]);
  await clerk.press("Take whole rows");
  await clerk.pick("Category", "Rear stalls");
  const last = rows.at(-1).seats.slice(rows.at(-1).seats.indexOf(null) + 1);
  await clerk.take(...places([0, 2, 4, 6, 8, 10].map((i) => last[i])));
  await clerk.tick("Wheelchair place");
  await clerk.take(...places([1, 3, 5, 7, 9, 11].map((i) => last[i])));
  await clerk.tick("Companion seat");

  await drawPillars(page, aislesOf(rows[5]).map(([before, behind]) => [(before.x + behind.x) / 2, (before.y + behind.y) / 2]));
  await page.keyboard.press("Escape");
  const [[leftSeat], [, rightSeat]] = aislesOf(rows[6]);
  await clerk.take(...places([leftSeat, rightSeat]));
  await clerk.tick("Restricted view");
  await clerk.type("Note for customers", "Behind a pillar");

  await clerk.tab("Check");
  await clerk.editor.getByText("Nothing to correct").waitFor();
  await clerk.press("Ask the server");
  await clerk.editor.getByRole("button", { name: /^Show/ }).first().waitFor();
  await screenshot(page, "plan-editor-paper");
  await clerk.press("Save");
  await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).click();
  await page.getByRole("heading", { name: "Theatre Royal" }).waitFor();
  const { items } = await holdfast.ask("GET", "/api/seating-plans?pageSize=500");
  const stored = items.find((p) => p.name === "Theatre Royal");
  assert.equal(stored.totalSeats, 800);
  compare(await holdfast.ask("GET", `/api/seating-plans/${stored.id}`));
  expectNoErrors(page);
});

// compare compares a plan with the one on paper.
function compare(plan) {
  const [stalls, mezzanine, ...others] = plan.sections;
  const lengths = [29, 29, 29, 30, 30, 30, 31, 31, 31, 32, 32, 32, 33, 33, 33, 34, 34, 34];
  assert.deepEqual(stalls.rows.map((r) => r.key), rowNames);
  assert.deepEqual(stalls.rows.map(blocksOf), lengths.map((n) => onPaper(n, 15, 14)));
  assert.deepEqual(stalls.rows.map((r) => categoryOf(stalls, r)), rowNames.map((_, i) => (i < 10 ? "Standard" : "Rear-stalls")));
  assert.deepEqual(mezzanine.rows.map((r) => r.key), rowNames.slice(0, 6));
  assert.deepEqual(mezzanine.rows.map(blocksOf), Array.from({ length: 6 }, () => onPaper(36, 15, 16)));
  assert.deepEqual([...new Set(mezzanine.rows.map((r) => categoryOf(mezzanine, r)))], ["Balcony"]);
  assert.deepEqual([stalls, mezzanine].map((s) => s.floor), ["Ground floor", "Upper floor"]);
  assert.ok([...stalls.rows, ...mezzanine.rows].every((r) => r.seats[0].y < r.seats[Math.floor(r.seats.length / 2)].y), "the ends of rows are nearer to the stage");

  const boxes = others.slice(0, 4);
  assert.deepEqual(others.map((s) => s.name), ["Box 1", "Box 2", "Box 3", "Box 4", "House seat"]);
  assert.ok(boxes.every((s) => s.rows.length === 2 && s.rows.every((r) => r.seats.length === 2 && r.adjacency === "NONE")));
  assert.deepEqual(boxes.map((s) => Math.sign(s.rows[0].seats[0].x)), [-1, -1, 1, 1]);

  const marked = (flag) => stalls.rows.flatMap((r) => r.seats.filter((seat) => seat?.[flag]).map((seat) => `${r.key}${seat.label}`));
  assert.deepEqual(marked("accessible"), ["T15", "T11", "T7", "T3", "T2", "T6"]);
  assert.deepEqual(marked("companion"), ["T13", "T9", "T5", "T1", "T4", "T8"]);
  assert.deepEqual([marked("restrictedView"), marked("note")], [["G17", "G16"], ["G17", "G16"]]);
  assert.deepEqual(plan.categories.map((c) => c.name), ["Standard", "Rear stalls", "Balcony"]);
  assert.equal(new Set(plan.categories.map((c) => c.color)).size, 3);
  assert.deepEqual(plan.decorations.map((d) => d.icon ?? d.kind), ["stage", "entrance", "exit", "bar", "toilet", "wall", "wall"]);
  assert.deepEqual(plan.focalPoint, { x: 0, y: -4 });
}

const categoryOf = (section, row) => [...new Set(row.seats.filter(Boolean).map((seat) => seat.category ?? row.category ?? section.category))].join();

// blocksOf are the labels of a row, with the aisles between them.
const blocksOf = (row) => row.seats.map((seat) => seat?.label ?? "|").join(" ");

// onPaper is a row of n seats: odd numbers on the left of the middle and even ones on the right, with aisles after two of them.
function onPaper(n, left, right) {
  const odd = Array.from({ length: Math.ceil(n / 2) }, (_, i) => 2 * i + 1).reverse();
  const even = Array.from({ length: Math.floor(n / 2) }, (_, i) => 2 * i + 2);
  return [...odd.flatMap((label) => (label === left ? ["|", label] : [label])), ...even.flatMap((label) => (label === right ? [label, "|"] : [label]))].join(" ");
}
