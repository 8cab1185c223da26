// What the plan editor finds wrong, what would be sold first, exports, floors and categories.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, screenshot, until } from "./harness.mjs";
import { at, choose, drag, editorOf, openEditor, planOf } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const seats = (plan) => plan.sections.flatMap((s) => s.rows ?? []).flatMap((r) => r.seats).filter(Boolean);

async function block(page, from = [-5, 0], to = [4, 4]) {
  await choose(page, "Block of seats");
  await drag(page, from, to);
}

test("a plan without a name, and one with a mistake, are not stored: a click on the mistake goes to it", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  await block(page);
  await editor.getByRole("button", { name: "Save" }).click();
  await editor.getByText("Give the plan a name first").waitFor();
  await page.keyboard.type("Hall");
  await page.keyboard.press("Enter");
  await choose(page, "Select");
  await page.mouse.click(...await at(page, 2, 2));
  await editor.getByRole("tab", { name: "Draw" }).click();
  await editor.getByLabel("Picture of the view").fill("http://example.com/a.jpg"); // not https
  await editor.getByLabel("Picture of the view").press("Enter");
  await page.mouse.click(...await at(page, -5, 0));
  await editor.getByRole("button", { name: "Save" }).click();
  const finding = editor.locator(".finding.error button").first();
  await finding.waitFor();
  await finding.click();
  const [id] = await editor.evaluate((e) => [...e.drawing.selection]);
  assert.equal(seats(await planOf(page)).find((s) => s.id === id).viewUrl, "http://example.com/a.jpg");
  await screenshot(page, "plan-editor-check");
  await editor.getByRole("tab", { name: "Draw" }).click();
  await editor.getByLabel("Picture of the view").fill("");
  await editor.getByLabel("Picture of the view").press("Enter");
  await editor.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).waitFor();
  expectNoErrors(page);
});

test("the server says what sells first, and shows it", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  await choose(page, "Best view");
  await page.mouse.click(...await at(page, 0, -3));
  await block(page, [-5, 0], [5, 3]);
  await editor.getByRole("tab", { name: "Check" }).click();
  await editor.locator(".finding").getByText("Give the plan a name first").waitFor(); // it has none, and can be asked about
  await editor.getByRole("button", { name: "Ask the server" }).click();
  const list = editor.getByRole("list", { name: "What sells first" });
  await until("the picks are listed", async () => (await list.getByRole("listitem").count()) === 8);
  await list.getByRole("button").nth(2).click();
  const chosen = await editor.evaluate((e) => [...e.drawing.selection]);
  const plan = await planOf(page);
  const picked = seats(plan).filter((s) => chosen.includes(s.id));
  assert.deepEqual(picked.map((s) => [s.x, s.y]), [[-1, 0], [0, 0], [1, 0]]);
  await screenshot(page, "plan-editor-first");
  expectNoErrors(page);
});

test("CSV, a file for pretix and a picture are exported, with what they lack", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  await block(page);
  await choose(page, "Stage");
  await drag(page, [-5, -4], [5, -2]);
  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.getByLabel("Name of the plan").fill("Hall 1/2");
  await editor.getByLabel("Name of the plan").press("Enter");
  for (const [name, file, says] of [["Export CSV", "Hall 12.csv", /^section,/], ["Export for pretix", "Hall 12.pretix.json", /"zones"/], ["Export a picture (SVG)", "Hall 12.svg", /^<svg/]]) {
    const download = page.waitForEvent("download");
    await editor.getByRole("button", { name: "File" }).click();
    await editor.getByRole("button", { name }).click();
    const saved = await download;
    assert.equal(saved.suggestedFilename(), file);
    assert.match(await readFile(await saved.path(), "utf8"), says);
    if (name === "Export CSV") await editor.getByText("Not in the file").waitFor();
  }
  expectNoErrors(page);
});

test("categories are added, given to seats, ordered and removed; floors are shown one by one", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const editor = editorOf(page);
  await block(page);
  await block(page, [-5, 6], [4, 9]);
  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.getByRole("button", { name: "Add a category" }).click();
  await page.keyboard.type("Balcony");
  await page.keyboard.press("Tab");
  await editor.getByRole("button", { name: "Select Section 2" }).click();
  await editor.getByLabel("Floor", { exact: true }).last().fill("1");
  await editor.getByLabel("Floor", { exact: true }).last().press("Enter");
  await editor.getByLabel("Name", { exact: true }).fill("Upper tier");
  await editor.getByLabel("Name", { exact: true }).press("Enter");
  assert.deepEqual((await planOf(page)).sections.map((s) => [s.key, s.rows[0].seats[0].id]), [["Section-1", "Section-1-A-1"], ["Upper-tier", "Upper-tier-A-1"]]);
  await editor.getByRole("tab", { name: "Draw" }).click();
  await editor.getByLabel("Category").first().selectOption("Balcony");
  let plan = await planOf(page);
  assert.deepEqual(plan.categories.map((c) => c.key), ["Standard", "Balcony"]);
  assert.deepEqual(plan.sections.map((s) => [s.category, s.floor]), [["Standard", undefined], ["Balcony", "1"]]);

  await editor.getByRole("combobox", { name: "Floor" }).selectOption("Floor 1");
  await page.mouse.click(...await at(page, 0, 0)); // a seat of the other floor
  assert.equal(await editor.evaluate((e) => e.drawing.selection.size), 0);
  await page.mouse.click(...await at(page, 0, 6));
  assert.equal(await editor.evaluate((e) => e.drawing.selection.size), 1);
  await page.keyboard.press("Control+a");
  assert.deepEqual(await editor.evaluate((e) => [e.board.selected.length, e.drawing.selection.has("section:Section-1")]), [40, false]);
  await editor.getByRole("combobox", { name: "Floor" }).selectOption("No floor");
  assert.equal(await editor.evaluate((e) => e.drawing.selection.size), 0); // Delete removes nothing that is hidden
  await editor.getByRole("combobox", { name: "Floor" }).selectOption("Floor 1");
  await editor.evaluate((e) => { while (e.plan.sections.some((s) => s.floor)) e.undo(); });
  assert.equal(await editor.evaluate((e) => e.drawing.floor), undefined); // the choice of floors is gone
  await editor.evaluate((e) => { while (e.drawing.history.redoName) e.redo(); });

  await editor.getByRole("tab", { name: "Plan" }).click();
  await editor.getByRole("button", { name: "Balcony is better" }).click();
  assert.deepEqual((await planOf(page)).categories.map((c) => c.key), ["Balcony", "Standard"]);
  await editor.getByRole("button", { name: "Remove Standard" }).click();
  plan = await planOf(page);
  assert.deepEqual(plan.sections.map((s) => s.category), ["Balcony", "Balcony"]);
  expectNoErrors(page);
});
