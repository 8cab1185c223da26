// What people do who see the editor for the first time.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, until } from "./harness.mjs";
import { at, choose, drag, editorOf, openEditor, planOf } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });
const newPlan = () => openEditor(browser, `${holdfast.url}/console#/new-plan`);
const selected = (page) => editorOf(page).evaluate((e) => [...e.drawing.selection]);
const click = async (page, x, y) => page.mouse.click(...await at(page, x, y));

test("a drag on what was just drawn moves it, and draws nothing on it", async () => {
  const page = await newPlan();
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 3]);
  await drag(page, [0, 1], [0, 5]);
  const [section, ...others] = (await planOf(page)).sections;
  assert.deepEqual(others, []);
  assert.deepEqual(section.rows.map((row) => row.seats[0].y), [4, 5, 6, 7]);
  await editorOf(page).getByLabel("Rows", { exact: true }).fill("5"); // the form is still the block's
  assert.equal((await planOf(page)).sections[0].rows.length, 5);
  await drag(page, [0, -4], [3, -3]);
  assert.equal((await planOf(page)).sections.length, 2);
  expectNoErrors(page);
});

test("a rectangle may begin on a seat, and takes it and the seat at its end; a double click between rows takes the section", async () => {
  const page = await newPlan();
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 3]);
  const drawn = await planOf(page);
  await choose(page, "Select");
  await page.keyboard.press("Escape");
  await drag(page, [-1.8, 1.2], [0.8, 1.8]);
  assert.deepEqual(await selected(page).then((ids) => ids.sort()), ["B-4", "B-5", "B-6", "B-7", "C-4", "C-5", "C-6", "C-7"].map((s) => `Section-1-${s}`));
  assert.deepEqual(await planOf(page), drawn);
  await page.mouse.dblclick(...await at(page, 0.5, 1.5));
  assert.equal((await selected(page)).length, 40);
  expectNoErrors(page);
});

test("tables go on in a section that has got its name", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Table");
  await click(page, -4, 0);
  await editor.getByLabel("Section", { exact: true }).fill("Long tables");
  await editor.getByLabel("Section", { exact: true }).press("Enter");
  await click(page, 4, 0);
  assert.deepEqual((await planOf(page)).sections.map((s) => [s.name, s.rows.map((row) => row.label ?? row.key)]), [["Long tables", ["A", "B"]]]);
  expectNoErrors(page);
});

test("many blocks that are drawn at once are in view", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  await editor.getByLabel("Distance of the front row").fill("60");
  await editor.getByRole("button", { name: "Draw the blocks" }).click();
  const areInView = () => editor.evaluate(({ board: { camera: c, hall } }) => hall.seats > 0
    && hall.x.every((x, i) => c.x(x) > 0 && c.x(x) < c.width && c.y(hall.y[i]) > 0 && c.y(hall.y[i]) < c.height));
  assert.ok(await areInView());
  await editor.getByLabel("Rows of each").fill("20");
  assert.ok(await areInView());
  expectNoErrors(page);
});

test("a press on another control while a name is typed is not lost", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 3]);
  await choose(page, "Select");
  await page.keyboard.press("Escape");
  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.getByRole("button", { name: "Add a category" }).click();
  for (const [n, name] of ["Gold", "Silver"].entries()) {
    await editor.getByLabel(`Category ${n + 1}`, { exact: true }).click();
    await page.keyboard.press("Control+a");
    await page.keyboard.type(name);
  }
  await editor.getByRole("button", { name: "Select Section 1" }).click();
  assert.deepEqual((await planOf(page)).categories.map((c) => [c.key, c.name]), [["Gold", "Gold"], ["Silver", "Silver"]]);
  await until("the section is selected", async () => (await selected(page)).length === 40);
  await editor.getByRole("button", { name: "Silver is better: sold earlier" }).click();
  assert.deepEqual((await planOf(page)).categories.map((c) => c.name), ["Silver", "Gold"]);
  expectNoErrors(page);
});

test("rows of all blocks get a price of their own by their names", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  for (const x of [-7, 1]) await drag(page, [x, 0], [x + 5, 3]);
  await choose(page, "Select");
  await page.keyboard.press("Escape");
  await click(page, 2, 1);
  await editor.getByRole("button", { name: "Take same rows in all sections" }).click();
  const { sections } = await planOf(page);
  assert.equal(sections.length, 2);
  assert.deepEqual((await selected(page)).sort(), sections.flatMap((s) => s.rows[1].seats.map((seat) => seat.id)).sort());
  expectNoErrors(page);
});

test("a double click places one block, and one table", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  await editor.getByLabel("Rows", { exact: true }).fill("2");
  await editor.getByLabel("Seats in a row", { exact: true }).fill("3");
  await page.mouse.dblclick(...await at(page, -4, 0));
  await choose(page, "Table");
  await page.mouse.dblclick(...await at(page, 4, 0));
  assert.deepEqual((await planOf(page)).sections.map((s) => s.rows.length), [2, 1]);
  await click(page, 4, 6);
  assert.deepEqual((await planOf(page)).sections.map((s) => s.rows.length), [2, 2]);
  expectNoErrors(page);
});

test("a number above the most is the most; Delete in a field of the panel, and steps back from elsewhere, leave the rest as it is", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 3]);
  const rows = editor.getByLabel("Rows", { exact: true });
  await rows.focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.type("600");
  assert.equal((await planOf(page)).sections[0].rows.length, 500);
  await editor.getByRole("slider", { name: "Curve" }).focus();
  await page.keyboard.press("Delete");
  assert.equal((await planOf(page)).sections[0].rows.length, 500);
  await rows.focus();
  await editor.evaluate((e) => e.undo());
  await until("the form is another one", async () => (await rows.count()) === 0 || (await rows.inputValue()) === "");
  expectNoErrors(page);
});

test("two points of a picture in one place are one", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Floor plan picture");
  const chosen = page.waitForEvent("filechooser");
  await editor.getByRole("button", { name: "Choose a picture" }).click();
  await (await chosen).setFiles({ name: "hall.png", mimeType: "image/png", buffer: await page.screenshot({ clip: { x: 0, y: 0, width: 100, height: 50 } }) });
  await editor.getByRole("button", { name: "Set the scale by two points" }).click();
  for (const x of [-3, -3, 3]) await click(page, x, 0);
  await editor.getByLabel("Length").fill("12");
  await editor.getByRole("button", { name: "Use this length" }).click();
  const { width, height } = await editor.evaluate((e) => e.board.picture);
  assert.ok(Number.isFinite(width) && Math.abs(width - 2 * height) < 1e-6, `${width} × ${height}`);
  expectNoErrors(page);
});
