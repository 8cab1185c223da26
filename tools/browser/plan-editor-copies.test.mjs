// The plan editor draws many blocks at once, and copies in a line, around a point, as in a mirror, and from floor to floor.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, screenshot } from "./harness.mjs";
import { at, choose, drag, editorOf, openEditor, planOf } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

test("a fan of blocks and a ring are drawn at once, and take on other numbers while they are typed", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  await editor.getByRole("button", { name: "Draw the blocks" }).click();
  let plan = await planOf(page);
  assert.deepEqual(plan.sections.map((s) => [s.name, s.rows.length]), [["Block 1", 10], ["Block 2", 10], ["Block 3", 10]]);
  await editor.getByLabel("Blocks", { exact: true }).fill("5");
  await editor.getByLabel("Rows of each").fill("4");
  plan = await planOf(page);
  assert.deepEqual(plan.sections.map((s) => s.rows.length), [4, 4, 4, 4, 4]);
  await editor.getByLabel("Name of the first").fill("Block 201");
  await editor.getByLabel("Name of the first").press("Enter");
  await editor.getByLabel("Shape").selectOption("A ring, as in a stadium");
  plan = await planOf(page);
  assert.deepEqual(plan.sections.map((s) => s.name), ["Block 201", "Block 202", "Block 203", "Block 204", "Block 205"]);
  await editor.getByRole("button", { name: "Draw the blocks" }).click();
  plan = await planOf(page);
  assert.deepEqual(plan.sections.map((s) => s.name).slice(4), ["Block 205", "Block 206", "Block 207", "Block 208", "Block 209", "Block 210"]);
  const right = (sections) => Math.max(...sections.flatMap((s) => s.rows.flatMap((r) => r.seats.filter(Boolean).map((seat) => seat.x))));
  assert.equal(right(plan.sections.slice(5)) - right(plan.sections.slice(0, 5)) > 5, true, "they are behind the others: 4 rows and an aisle farther out");
  await editor.getByRole("button", { name: "Whole plan" }).click();
  await screenshot(page, "plan-editor-blocks");
  await editor.getByRole("button", { name: "Undo" }).click();
  assert.equal((await planOf(page)).sections.length, 5);
  await editor.getByRole("button", { name: "Undo" }).click();
  assert.deepEqual((await planOf(page)).sections, [], "all of it is one step");
  expectNoErrors(page);
});

test("a table becomes a ring of tables, and a block a line of blocks and its mirror image", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  for (let i = 0; i < 3; i++) await editor.getByRole("button", { name: "Zoom out" }).click();
  await choose(page, "Table");
  await page.mouse.click(...await at(page, 0, 5));
  await editor.getByLabel("How many").fill("5");
  await editor.getByLabel("Each turned by (°)").fill("60");
  await editor.getByLabel("Around y").fill("0");
  await editor.getByLabel("Keep them upright, as tables").check();
  await editor.getByRole("button", { name: "Copy around" }).click();
  let { sections } = await planOf(page);
  assert.deepEqual(sections.map((s) => s.rows.length), [6]);
  assert.equal(await editor.evaluate((e) => e.drawing.selection.size), 48);

  await editor.getByRole("button", { name: "Delete", exact: true }).click();
  await choose(page, "Block of seats");
  await page.mouse.click(...await at(page, -12, 4));
  await editor.getByRole("button", { name: "Place at the cross" }).click();
  await editor.getByLabel("How many").fill("2");
  await editor.getByLabel("Each to the right by").fill("0");
  await editor.getByLabel("Each down by").fill("12");
  await editor.getByRole("button", { name: "Copy in a line" }).click();
  await editor.getByLabel("Around x").fill("0");
  await editor.getByRole("button", { name: "Mirror image ↔" }).click();
  ({ sections } = await planOf(page));
  assert.equal(sections.length, 6);
  assert.equal(new Set(sections.map((s) => s.name)).size, 6);
  const xs = sections.map((s) => s.rows[0].seats.map((seat) => seat.x));
  assert.deepEqual(xs[3], xs[0].map((x) => -x).reverse());
  await editor.getByRole("button", { name: "Whole plan" }).click();
  await screenshot(page, "plan-editor-copies");
  expectNoErrors(page);
});

test("all tables of a section are mirrored as a section of their own", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  await choose(page, "Table");
  for (const point of [[-10, 2], [-5, 2]]) await page.mouse.click(...await at(page, ...point));
  assert.equal(await editor.getByLabel("Tables become a new section").isVisible(), false, "the last table is one of two");
  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.getByRole("button", { name: "Select Section 1" }).click();
  await editor.getByRole("tab", { name: "Draw" }).click();
  await editor.getByLabel("Tables become a new section").check();
  await editor.getByRole("button", { name: "Mirror image ↔" }).click();
  const { sections: [left, right] } = await planOf(page);
  assert.deepEqual([left.rows.length, right.rows.length, right.name], [2, 2, "Section 2"]);
  left.rows.forEach((row, r) => {
    assert.deepEqual(right.rows[r].seats.map((s) => [s.label, s.x, s.y]), row.seats.map((s) => [s.label, -s.x, s.y]));
  });
  expectNoErrors(page);
});

test("a block with a pillar is copied from one floor and pasted in the same place of another", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  const setFloor = async (floor) => {
    await editor.getByLabel("Floor", { exact: true }).last().fill(floor);
    await editor.getByLabel("Floor", { exact: true }).last().press("Enter");
  };
  for (const [name, floor, y] of [["Section 1", "0", 2], ["Section 2", "1", 9]]) {
    await choose(page, "Block of seats");
    await drag(page, [-3, y], [3, y + 3]);
    await editor.getByRole("tab", { name: "Plan" }).click();
    await editor.getByRole("button", { name: `Select ${name}` }).click();
    await setFloor(floor);
    await editor.getByRole("tab", { name: "Draw" }).click();
  }
  const show = async (floor) => {
    await editor.getByRole("combobox", { name: "Floor" }).focus();
    await editor.getByRole("combobox", { name: "Floor" }).selectOption(floor);
  };
  await choose(page, "Symbol");
  await page.mouse.click(...await at(page, 7, 3)); // on all floors
  await show("Floor 0");
  await choose(page, "Pillar or room");
  await drag(page, [5, 2], [6, 3]);
  await page.keyboard.press("Escape");
  await drag(page, [-4, 1], [8, 6]);
  await page.keyboard.press("Control+c");
  await show("Floor 1");
  await page.keyboard.press("Control+v");
  await page.keyboard.press("Control+v");
  const { sections, decorations } = await planOf(page);
  const placed = sections.map((s) => [s.name, s.floor, s.rows[0].seats[0].x, s.rows[0].seats[0].y]);
  assert.deepEqual(placed, [["Section 1", "0", -3, 2], ["Section 2", "1", -3, 9], ["Section 3", "1", -3, 2], ["Section 4", "1", -3, 7]]);
  assert.deepEqual(decorations.map((d) => [d.kind, d.floor]), [["icon", undefined], ["area", "0"], ["area", "1"], ["area", "1"]]);
  assert.equal(await editor.evaluate((e) => e.board.selected.length), 28, "the copy is selected");
  await screenshot(page, "plan-editor-floors");
  await show("\u0000"); // all floors
  await page.keyboard.press("Control+v");
  await show("Floor 0");
  await page.keyboard.press("Control+v");
  const below = (await planOf(page)).sections.slice(-2).map((s) => [s.floor, s.rows[0].seats[0].y]);
  assert.deepEqual(below, [["0", 7], ["0", 12]], "not on each other");
  expectNoErrors(page);
});
