// The tools of the plan editor: each draws what it is for, and the panel changes it.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, screenshot, until } from "./harness.mjs";
import { at, choose, drag, editorOf, openEditor, planOf } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const click = async (page, ...points) => { for (const p of points) await page.mouse.click(...await at(page, ...p)); };
const labels = (row) => row.seats.map((s) => s && s.label);

async function newPlan() {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  for (let i = 0; i < 2; i++) await editorOf(page).getByRole("button", { name: "Zoom out" }).click();
  return page;
}

test("a block takes on its numbers while they are typed, and is one step of the history", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 3]);
  await editor.getByLabel("Seats in a row").fill("12");
  await editor.getByLabel("Curve", { exact: true }).fill("60");
  await editor.getByLabel("Aisle after").fill("6");
  await editor.getByLabel("Aisle after").press("Enter");
  let [section] = (await planOf(page)).sections;
  assert.deepEqual(section.rows.map((r) => r.key), ["A", "B", "C", "D"]);
  assert.deepEqual(labels(section.rows[0]), ["1", "2", "3", "4", "5", "6", null, "7", "8", "9", "10", "11", "12"]);
  assert.ok(section.rows[0].seats[0].y < -1); // its ends are nearer to the stage

  await editor.getByLabel("Rows are named").selectOption("numbers");
  await editor.getByLabel("Begin at").nth(1).selectOption("the middle: odd left, even right");
  [section] = (await planOf(page)).sections;
  assert.deepEqual(section.rows.map((r) => r.key), ["1", "2", "3", "4"]);
  assert.deepEqual(labels(section.rows[0]), ["11", "9", "7", "5", "3", "1", null, "2", "4", "6", "8", "10", "12"]);
  assert.match(await editor.locator(".preview").innerText(), /1: 11 9 7 5 3 1 – 2 4 6 8 10 12/);
  assert.equal(await editor.getByLabel("Step").isVisible(), false);
  await editor.getByLabel("Aisle after").fill("4");
  await editor.getByLabel("Aisle after").press("Enter");
  await editor.getByLabel("Begin at").nth(1).selectOption("the middle: odd right, even left");
  await editor.getByLabel("The middle is").selectOption("half of the seats on each side");
  [section] = (await planOf(page)).sections;
  assert.deepEqual(labels(section.rows[0]), ["12", "10", "8", "6", null, "4", "2", "1", "3", "5", "7", "9", "11"]);
  await editor.getByLabel("Rows are named").selectOption("A … Z, AA, BB …");
  await editor.getByLabel("First row").fill("Y");
  await editor.getByLabel("First row").press("Enter");
  [section] = (await planOf(page)).sections;
  assert.deepEqual(section.rows.map((r) => r.key), ["Y", "Z", "AA", "BB"]);
  assert.equal(await editor.getByLabel("Rows are named").inputValue(), "doubled");
  await editor.getByRole("button", { name: "Undo" }).click();
  assert.deepEqual((await planOf(page)).sections, []);
  expectNoErrors(page);
});

test("rows and seats that are typed before a block is drawn stay as typed, by a click and by a drag", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  const sizes = async () => (await planOf(page)).sections.map((s) => [s.rows.length, s.rows[0].seats.length]);
  await choose(page, "Block of seats");
  await editor.getByLabel("Rows", { exact: true }).fill("3");
  await editor.getByLabel("From seat to seat").fill("0.5");
  await drag(page, [4, 4], [0, 0]); // three rows, and as many seats as there is room for
  assert.deepEqual(await sizes(), [[3, 9]]);
  const first = (await planOf(page)).sections[0].rows[0].seats[0];
  assert.deepEqual([first.x, first.y], [0, 2]); // up and to the left from where the drag began
  await choose(page, "Block of seats");
  assert.equal(await editor.getByLabel("Rows", { exact: true }).inputValue(), "3");
  await editor.getByLabel("Seats in a row").fill("7");
  await drag(page, [6, 0], [7, 1]);
  await click(page, [0, 8]);
  assert.deepEqual(await sizes(), [[3, 9], [3, 7], [3, 7]]);
  assert.deepEqual((await planOf(page)).sections[2].rows[0].seats.map((s) => s.x), [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]);
  await choose(page, "Block of seats");
  await editor.getByLabel("Rows", { exact: true }).fill("");
  await drag(page, [6, 5], [7, 9]); // grows again
  await choose(page, "Select");
  await choose(page, "Block of seats"); // what was typed is gone with the tool
  assert.equal(await editor.getByLabel("Seats in a row").inputValue(), "");
  await drag(page, [-8, 0], [-4, 1]);
  assert.deepEqual((await sizes()).slice(3), [[5, 7], [2, 9]]);
  expectNoErrors(page);
});

test("the field of aisles says what it accepts, and why it does not accept a text", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 3]);
  const aisles = editor.getByLabel("Aisle after");
  const enter = async (text) => {
    await aisles.fill(text);
    await aisles.press("Enter");
    return [await aisles.getAttribute("aria-invalid"), await aisles.evaluate((e) => e.getRootNode().getElementById(e.getAttribute("aria-describedby")).textContent)];
  };
  assert.match(await aisles.evaluate((e) => e.getRootNode().getElementById(e.getAttribute("aria-describedby")).textContent), /0\.5 is its middle/);
  const rows = async () => (await planOf(page)).sections[0].rows.map((r) => r.seats.indexOf(null));
  assert.equal((await enter("0.5"))[0], "false");
  assert.deepEqual(await rows(), [5, 5, 5, 5]);
  for (const [text, wrong] of [["0,5", "0"], ["10", "10"], ["2.5", "2.5"], ["3, middle", "middle"], ["-1", "-1"]]) {
    const [isInvalid, reason] = await enter(text);
    assert.deepEqual([isInvalid, reason.startsWith(`“${wrong}” makes no aisle.`)], ["true", true], text);
    assert.equal(await aisles.inputValue(), text);
  }
  assert.deepEqual(await rows(), [5, 5, 5, 5]);
  await accessible(page);
  assert.deepEqual([(await enter("3; 7"))[0], await rows()], ["false", [3, 3, 3, 3]]);
  assert.equal((await enter(""))[0], "false");
  assert.deepEqual(await rows(), [-1, -1, -1, -1]);
  expectNoErrors(page);
});

test("the seats of rows are put in the other order, and back", async () => {
  const page = await newPlan();
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 1]);
  await choose(page, "Select");
  await page.keyboard.press("Control+a");
  const orders = async () => (await planOf(page)).sections[0].rows.map((row) => row.seats.map((seat) => seat.id));
  const before = await orders();
  assert.equal(await editorOf(page).locator(".ids").innerText(), `IDs ${before[0][0]} to ${before[1].at(-1)}`);
  await editorOf(page).getByRole("button", { name: "Reverse the order" }).click();
  assert.deepEqual(await orders(), before.map((ids) => ids.toReversed()));
  await editorOf(page).getByRole("button", { name: "Reverse the order" }).click();
  assert.deepEqual(await orders(), before);
  expectNoErrors(page);
});

test("another tool in the middle of a drag ends the drag without a change", async () => {
  const page = await newPlan();
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 4]);
  const drawn = await planOf(page);
  for (const key of ["b", "x", "s", "t"]) { // a block begins with a drag, the others are placed where a press ends
    await page.keyboard.press("v");
    await page.keyboard.press("Control+a");
    await page.mouse.move(...await at(page, 0, 0));
    await page.mouse.down();
    await page.mouse.move(...await at(page, 2, 8), { steps: 4 });
    await page.keyboard.press(key);
    await page.mouse.move(...await at(page, 3, 8), { steps: 4 });
    await page.mouse.up();
    assert.deepEqual(await planOf(page), drawn, key);
    assert.ok(await editorOf(page).evaluate(({ board }) => board.hall.ids.every((_, i) => !board.painter.look.hides(i))), `a seat is hidden after ${key}`);
  }
  expectNoErrors(page);
});

test("rows, curves, tables, single seats and standing areas are drawn", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Row");
  await drag(page, [-8, 0], [-3, 0]);
  await drag(page, [-8, 1], [-3, 1]);
  await choose(page, "Curved row");
  await click(page, [0, 0], [3, 1], [6, 0]);
  await page.keyboard.press("Enter");
  await choose(page, "Table");
  await click(page, [-6, 6], [0, 6]);
  await editor.getByLabel("Seats", { exact: true }).fill("6");
  await choose(page, "Single seat");
  await click(page, [6, 6], [7, 6], [9, 6]);
  await choose(page, "Standing area");
  await drag(page, [-8, 10], [8, 13]);
  await editor.getByLabel("Places").fill("250");
  const { sections } = await planOf(page);
  assert.deepEqual(sections.map((s) => s.rows?.map((r) => r.seats.length) ?? s.capacity), [[6, 6], [7], [8, 6], [3], 250]);
  assert.deepEqual(sections[2].rows.map((r) => r.adjacency), ["ALL", "ALL"]);
  assert.deepEqual(sections[0].rows.map((r) => r.key), ["A", "B"]);
  assert.deepEqual(sections[4].outline, [[-8, 10], [8, 10], [8, 13], [-8, 13]]);
  await page.keyboard.press("Escape");
  await screenshot(page, "plan-editor-tools");
  expectNoErrors(page);
});

test("a stage, walls, texts and symbols are drawn, selected, changed and removed; the best view is set", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Stage");
  await drag(page, [-6, -4], [6, -1]);
  await editor.getByRole("textbox", { name: "Text" }).fill("Orchestra");
  await editor.getByRole("textbox", { name: "Text" }).press("Enter");
  await choose(page, "Wall");
  await click(page, [-9, -6], [9, -6], [9, 2]);
  await page.keyboard.press("Enter");
  await choose(page, "Text");
  await click(page, [0, 8]);
  await editor.getByRole("textbox", { name: "Text" }).fill("Balcony above");
  await editor.getByRole("textbox", { name: "Text" }).press("Enter");
  await choose(page, "Symbol");
  await editor.getByRole("combobox", { name: "Symbol" }).selectOption("Toilets");
  await click(page, [7, 7]);
  await choose(page, "Pillar or room");
  await drag(page, [-8, 4], [-6, 6]);
  await editor.getByRole("textbox", { name: "Text" }).fill("Bar");
  await editor.getByRole("textbox", { name: "Text" }).press("Enter");
  await choose(page, "Best view");
  await click(page, [0, -1]);
  const plan = await planOf(page);
  assert.deepEqual(plan.decorations, [
    { kind: "stage", points: [[-6, -4], [6, -4], [6, -1], [-6, -1]], text: "Orchestra" }, { kind: "wall", points: [[-9, -6], [9, -6], [9, 2]] },
    { kind: "text", at: [0, 8], text: "Balcony above" }, { kind: "icon", at: [7, 7], icon: "toilet" },
    { kind: "area", points: [[-8, 4], [-6, 4], [-6, 6], [-8, 6]], text: "Bar" },
  ]);
  assert.deepEqual(plan.focalPoint, { x: 0, y: -1 });
  await screenshot(page, "plan-editor-decorations");

  await choose(page, "Select");
  await click(page, [0, -3]);
  await drag(page, [6, -1], [8, 0]); // a corner
  assert.deepEqual((await planOf(page)).decorations[0].points[2], [8, 0]);
  await drag(page, [0, -3], [0, -4]);
  assert.deepEqual((await planOf(page)).decorations[0].points[0], [-6, -5]);
  await click(page, [9, 0]);
  await page.keyboard.press("Delete");
  assert.deepEqual((await planOf(page)).decorations.map((d) => d.kind), ["stage", "text", "icon", "area"]);
  expectNoErrors(page);
});

test("a picture lies over the plan, and gets its scale by two points", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Floor plan picture");
  const picture = await page.screenshot({ clip: { x: 0, y: 0, width: 400, height: 200 } });
  const chosen = page.waitForEvent("filechooser");
  await editor.getByRole("button", { name: "Choose a picture" }).click();
  await (await chosen).setFiles({ name: "hall.png", mimeType: "image/png", buffer: picture });
  await until("the picture is there", () => editor.evaluate((e) => e.board.picture !== undefined));
  await editor.getByRole("button", { name: "Set the scale" }).click();
  await click(page, [-5, 0], [5, 0]);
  await editor.getByLabel("Length between").fill("11");
  const before = await editor.evaluate((e) => e.board.picture.width);
  await editor.getByRole("button", { name: "Use this length" }).click();
  assert.ok(Math.abs(await editor.evaluate((e) => e.board.picture.width) / before - 2) < 0.05); // 11 m are 20 seats of 0.55 m, not 10
  assert.equal(JSON.stringify(await planOf(page)).includes("picture"), false);
  await screenshot(page, "plan-editor-picture");
  expectNoErrors(page);
});

test("a block takes other numbers later, when something else has been drawn, and keeps what its section has got", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await choose(page, "Block of seats");
  await drag(page, [-5, 0], [4, 3]);
  await editor.getByLabel("Neighbours").selectOption("None are neighbours");
  await editor.getByLabel("Rows are named").selectOption("A, B … without I and O");
  await editor.getByLabel("Wider to the back").fill("60");
  await editor.getByLabel("Aisle after").fill("5");
  await editor.getByLabel("Aisle after").press("Enter");
  await choose(page, "Stage");
  await drag(page, [-4, -4], [4, -3]);
  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.getByRole("button", { name: "Section 1" }).first().click();
  await editor.getByLabel("Floor", { exact: true }).last().fill("Ground");
  await editor.getByLabel("Floor", { exact: true }).last().press("Enter");
  await editor.getByRole("tab", { name: "Draw" }).click();
  await editor.getByLabel("Rows", { exact: true }).fill("2");
  await editor.getByLabel("Rows", { exact: true }).press("Enter");
  await editor.getByLabel("Section", { exact: true }).fill("Stalls");
  await editor.getByLabel("Section", { exact: true }).press("Enter");
  const plan = await planOf(page);
  const [section] = plan.sections;
  assert.equal(plan.decorations.length, 1);
  assert.deepEqual([section.name, section.floor, section.rows.length, section.rows[0].adjacency], ["Stalls", "Ground", 2, "NONE"]);
  assert.deepEqual(section.rows.map((r) => r.seats.indexOf(null)), [5, 5]);

  await editor.getByRole("button", { name: "Undo" }).click();
  const [undone] = (await planOf(page)).sections;
  assert.equal(undone.rows.length, 4);
  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.locator("button.name", { hasText: undone.name }).click();
  await editor.getByRole("tab", { name: "Draw" }).click();
  assert.equal(await editor.getByLabel("Rows", { exact: true }).inputValue(), "4");
  const { x, y } = undone.rows[0].seats[0];
  await drag(page, [x, y], [x, y + 4]);
  await editor.getByLabel("Rows", { exact: true }).fill("3");
  await editor.getByLabel("Rows", { exact: true }).press("Enter");
  const [shorter] = (await planOf(page)).sections;
  assert.deepEqual([shorter.rows.length, shorter.rows[0].seats[0].x, shorter.rows[0].seats[0].y], [3, x, y + 4]);
  await editor.getByRole("button", { name: "Turn", exact: true }).click(); // turned rows are not those that were drawn
  assert.equal(await editor.getByLabel("Rows", { exact: true }).count(), 0);
  assert.equal(await editor.getByLabel("Rows are named").inputValue(), "lettersNoIO"); // as the last ones
  expectNoErrors(page);
});

test("the menu of files is as wide as its words", async () => {
  const page = await newPlan();
  const editor = editorOf(page);
  await editor.getByRole("button", { name: "File" }).click();
  const [menu, ...items] = await editor.locator("#files, #files button").evaluateAll((nodes) => nodes.map((n) => [n.getBoundingClientRect().right, n.scrollWidth - n.clientWidth]));
  assert.ok(items.length > 3 && items.every(([right, hidden]) => right <= menu[0] && hidden <= 0), JSON.stringify([menu, items]));
  expectNoErrors(page);
});
