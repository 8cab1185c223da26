// The plan editor in the console: drawing, selecting, moving, undoing, and storing a plan.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, open, screenshot, until } from "./harness.mjs";
import { at, drag, editorOf, openEditor, planOf } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const seats = (plan) => plan.sections.flatMap((s) => s.rows ?? []).flatMap((r) => r.seats).filter(Boolean);

test("a new plan is drawn with a block of seats, named, and stored", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/plans`, "Draw a new plan");
  const editor = editorOf(page);
  await editor.getByRole("button", { name: "Block of seats" }).click();
  await drag(page, [-10, 0], [9, 11]);
  await until("the block is drawn", async () => seats(await planOf(page)).length === 240);
  await screenshot(page, "plan-editor-block");
  await editor.getByLabel("Section", { exact: true }).fill("Stalls");
  await editor.getByLabel("Section", { exact: true }).press("Enter");
  await editor.getByLabel("Rows", { exact: true }).fill("10");
  const plan = await planOf(page);
  assert.equal(plan.sections[0].name, "Stalls");
  assert.equal(plan.sections[0].key, "Stalls");
  assert.equal(seats(plan).length, 200);
  assert.equal(seats(plan)[0].id, "Stalls-A-1");
  assert.equal(seats(plan).at(-1).id, "Stalls-J-20");

  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.getByLabel("Name of the plan").fill("Small theatre");
  await editor.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).click();
  await page.getByRole("heading", { name: "Small theatre" }).waitFor();
  const { items } = await holdfast.ask("GET", "/api/seating-plans?pageSize=500");
  assert.equal(items.find((p) => p.name === "Small theatre").totalSeats, 200);
  expectNoErrors(page);
});

test("seats are selected, moved, removed, and all of it is undone and done again", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  await editor.getByRole("button", { name: "Block of seats" }).click();
  await drag(page, [-5, 0], [4, 4]);
  const selected = () => editor.evaluate((e) => e.drawing.selection.size);
  await until("the block is drawn", async () => (await selected()) === 50);
  const drawn = await planOf(page);

  await page.keyboard.press("v");
  await page.keyboard.press("Escape");
  assert.equal(await selected(), 0);
  await page.mouse.click(...await at(page, -5, 0));
  assert.equal(await selected(), 1);
  await page.keyboard.down("Shift");
  await page.mouse.click(...await at(page, -4, 0));
  await page.keyboard.up("Shift");
  assert.equal(await selected(), 2);
  await page.mouse.dblclick(...await at(page, 0, 2));
  assert.equal(await selected(), 10);
  await drag(page, [-5.4, -0.4], [4.4, 1.4]); // a rectangle around two rows
  assert.equal(await selected(), 20);

  await drag(page, [-5, 0], [-5, -4]);
  await until("the rows are moved", async () => seats(await planOf(page))[0].y === -4);
  const moved = await planOf(page);
  assert.deepEqual(seats(moved).filter((s) => s.y < 0).length, 20);
  await screenshot(page, "plan-editor-moved");
  await page.keyboard.press("Delete");
  assert.equal(seats(await planOf(page)).length, 30);
  await page.keyboard.press("Control+z");
  assert.deepEqual(await planOf(page), moved);
  await page.keyboard.press("Control+z");
  assert.deepEqual(await planOf(page), drawn);
  await page.keyboard.press("Control+Shift+z");
  await page.keyboard.press("Control+Shift+z");
  assert.equal(seats(await planOf(page)).length, 30);
  for (let i = 0; i < 3; i++) await page.keyboard.press("Control+z");
  assert.equal((await planOf(page)).sections.length, 0);
  expectNoErrors(page);
});

test("a copy of a stored plan keeps the IDs of its seats, whatever is changed", async () => {
  const { id } = await holdfast.ask("POST", "/api/seating-plans", {
    name: "Old", categories: [{ key: "a", name: "First" }], sections: [{ key: "A", name: "Left", category: "a", rows: [{ key: "1", seats: 4 }, { key: "2", seats: [{ id: "x" }, null, { id: "y" }] }] }],
  });
  const page = await openEditor(browser, `${holdfast.url}/console#/plans/${id}`, "Edit a copy");
  const editor = editorOf(page);
  await until("the plan is there", async () => seats(await planOf(page)).length === 6);
  await page.keyboard.press("Control+a");
  await editor.getByLabel("Rows are named").selectOption("numbers");
  await editor.getByLabel("Word before it").fill("Row");
  await editor.getByLabel("Word before it").press("Enter");
  await editor.getByLabel("Begin at").first().selectOption("the back row");
  await editor.getByRole("button", { name: "Number them" }).click();
  const plan = await planOf(page);
  assert.deepEqual(seats(plan).map((s) => s.id), ["A-1-1", "A-1-2", "A-1-3", "A-1-4", "x", "y"]);
  assert.deepEqual(plan.sections[0].rows.map((r) => r.label), ["Row 2", "Row 1"]);
  await accessible(page);
  expectNoErrors(page);
});
