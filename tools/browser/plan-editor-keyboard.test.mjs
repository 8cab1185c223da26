// The plan editor without a mouse, on a phone, in the dark, and for screen readers.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, screenshot, until } from "./harness.mjs";
import { at, drag, editorOf, openEditor, planOf } from "./plan-editor.mjs";
import { hall } from "./frames.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const keys = async (page, ...names) => { for (const name of names) await page.keyboard.press(name); };
const seats = (plan) => plan.sections.flatMap((s) => s.rows ?? []).flatMap((r) => r.seats).filter(Boolean);

test("a plan is drawn, changed and stored by the keyboard alone", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  const before = async (x, y) => editor.evaluate((e, [cx, cy]) => { // how far the cross is from a place, in steps of the grid
    const c = e.board.cursor;
    return [(cx - c.x) / e.drawing.options.grid, (cy - c.y) / e.drawing.options.grid];
  }, [x, y]);
  const goTo = async (x, y) => {
    await keys(page, "ArrowRight");
    const [dx, dy] = await before(x, y);
    for (let i = 0; i < Math.abs(dx); i++) await keys(page, dx > 0 ? "ArrowRight" : "ArrowLeft");
    for (let i = 0; i < Math.abs(dy); i++) await keys(page, dy > 0 ? "ArrowDown" : "ArrowUp");
  };
  await keys(page, "b");
  await goTo(0, 0);
  await keys(page, "Enter"); // 8 rows of 12
  let plan = await planOf(page);
  assert.deepEqual(plan.sections[0].rows.map((r) => r.seats.length), Array(8).fill(12));
  assert.deepEqual([seats(plan)[0].x, seats(plan)[0].y], [-5.5, 0]);

  await keys(page, "Escape", "Control+a", "ArrowDown", "ArrowDown", "Shift+ArrowRight");
  plan = await planOf(page);
  assert.deepEqual([seats(plan)[0].x, seats(plan)[0].y], [-0.5, 1]);
  await keys(page, "Control+z"); // the steps of the arrows are one
  assert.deepEqual([seats(await planOf(page))[0].x, seats(await planOf(page))[0].y], [-5.5, 0]);
  await keys(page, "Control+d");
  assert.equal(seats(await planOf(page)).length, 192);
  await keys(page, "Delete");

  await keys(page, "g");
  await goTo(-4, -5);
  await keys(page, "Enter");
  for (const step of ["ArrowRight", "ArrowDown", "ArrowLeft"]) {
    for (let i = 0; i < (step === "ArrowDown" ? 4 : 16); i++) await keys(page, step);
    await keys(page, "Enter");
  }
  await keys(page, "Enter"); // at the last corner: done
  plan = await planOf(page);
  assert.deepEqual(plan.decorations[0].points, [[-4, -5], [4, -5], [4, -3], [-4, -3]]);

  await keys(page, "Escape");
  await editor.getByRole("tab", { name: "Draw" }).focus();
  await keys(page, "ArrowRight", "Tab", "Tab");
  await page.keyboard.type("By keys");
  await keys(page, "Control+s"); // the name is still being typed
  await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).focus();
  await keys(page, "Enter");
  await page.getByRole("heading", { name: "By keys" }).waitFor();
  expectNoErrors(page);
});

test("letters and signs are keys of the drawing and the tools alone, those with Ctrl of the whole editor", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  const now = () => editor.evaluate((e) => [e.drawing.tool.name, e.board.camera.scale]);
  await editor.getByRole("button", { name: "Block of seats" }).click();
  await drag(page, [-5, 0], [4, 4]);
  const before = await now();
  const others = [
    editor.getByRole("button", { name: "Mirror ↔", exact: true }), editor.getByLabel("Wheelchair place"), editor.getByRole("tab", { name: "Draw" }),
    editor.getByRole("button", { name: "Undo" }), editor.getByRole("slider", { name: "Curve" }),
  ];
  for (const other of others) {
    await other.focus();
    await keys(page, "r", "v", "x", "+", "=", "-", "0");
    assert.deepEqual(await now(), before, String(other));
  }
  await keys(page, "Control+z");
  assert.deepEqual((await planOf(page)).sections, []);
  await editor.getByRole("tab", { name: "Plan" }).click();
  await keys(page, "Control+s");
  await editor.getByText("Give the plan a name first.").waitFor();

  await editor.getByRole("button", { name: "Add a category" }).focus();
  await keys(page, "Escape", "r"); // Escape goes back to the drawing
  assert.deepEqual(await now(), ["row", before[1]]);
  await editor.getByRole("button", { name: "Zoom out" }).click();
  await keys(page, "t");
  assert.equal((await now())[0], "table");
  await editor.getByRole("button", { name: "Stage" }).click();
  await keys(page, "w");
  assert.equal((await now())[0], "wall");
  await editor.getByRole("button", { name: "Text" }).focus();
  await keys(page, "s", "0");
  assert.deepEqual(await now(), ["seat", before[1]]);
  expectNoErrors(page);
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe-core finds nothing in any tab, ${colorScheme}, on a desktop and on a phone`, async () => {
    const { id } = await holdfast.ask("POST", "/api/seating-plans", { ...hall(1000), name: "W".repeat(200) });
    const page = await openEditor(browser, `${holdfast.url}/console#/edit-plan/${id}`, undefined, { colorScheme });
    const editor = editorOf(page);
    await until("the plan is there", () => editor.evaluate((e) => e.totalSeats === 1000));
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await editor.evaluate((e) => e.drawing.select(e.board.hall.ids.slice(0, 20)));
      for (const tab of ["Draw", "Plan", "Check"]) {
        await editor.getByRole("tab", { name: tab }).click();
        await accessible(page);
        await fits(page);
      }
      await editor.getByRole("tab", { name: "Draw" }).click();
      await screenshot(page, `plan-editor-${colorScheme}-${width}`);
      for (const tool of ["Block of seats", "Table", "Best view", "Floor plan picture"]) {
        await editor.getByRole("button", { name: tool }).click();
        await accessible(page);
      }
      await editor.getByRole("button", { name: "File" }).click();
      await accessible(page);
      await page.keyboard.press("Escape");
    }
    expectNoErrors(page);
  });
}

test("on a touch screen a tap selects, a drag moves what is selected, and two fingers move the view", async () => {
  const { id } = await holdfast.ask("POST", "/api/seating-plans", hall(500));
  const page = await openEditor(browser, `${holdfast.url}/console#/edit-plan/${id}`, undefined, { hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } });
  const editor = editorOf(page);
  await until("the plan is there", () => editor.evaluate((e) => e.totalSeats === 500));
  await page.touchscreen.tap(...await at(page, 12, 10));
  const selected = () => editor.evaluate((e) => [...e.drawing.selection]);
  assert.deepEqual(await selected(), ["s0-11-13"]);
  const client = await page.context().newCDPSession(page);
  const touch = (type, ...points) => client.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], n) => ({ x, y, id: n })) });
  const [x, y] = await at(page, 12, 10);
  const scale = () => editor.evaluate((e) => e.board.camera.scale);
  const first = await scale();
  await touch("touchStart", [x - 20, y], [x + 20, y]);
  for (let i = 1; i <= 5; i++) await touch("touchMove", [x - 20 - 8 * i, y], [x + 20 + 8 * i, y]);
  await touch("touchEnd");
  assert.ok(await scale() > first * 2);
  assert.deepEqual(seats(await planOf(page))[0].x, 0); // nothing has moved
  const from = await at(page, 12, 10);
  const to = await at(page, 13, 10);
  await touch("touchStart", from);
  for (let i = 1; i <= 5; i++) await touch("touchMove", [from[0] + ((to[0] - from[0]) * i) / 5, from[1]]);
  await touch("touchEnd");
  await until("the seat is moved", async () => seats(await planOf(page)).find((s) => s.id === "s0-11-13").x === 13);
  expectNoErrors(page);
});
