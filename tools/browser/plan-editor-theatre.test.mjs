// A theatre of 800 seats, drawn with the mouse as a clerk would: blocks, their numbers in the panel, categories, a standing area, a stage.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, screenshot } from "./harness.mjs";
import { choose, drag, editorOf, openEditor } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

test("a theatre of 800 seats takes fewer than 100 actions, and is sold as it was drawn", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`, undefined, { viewport: { width: 1600, height: 1000 } });
  const editor = editorOf(page);
  let actions = 0;
  const did = (work) => {
    actions++;
    return work;
  };
  const fill = async (label, value) => {
    const field = editor.getByLabel(label, { exact: true });
    await did(field.fill(value));
    await did(field.press("Enter"));
  };
  for (let i = 0; i < 4; i++) await did(editor.getByRole("button", { name: "Zoom out" }).click());
  await did(choose(page, "Stage"));
  await did(drag(page, [-8, -8], [8, -4]));
  await did(choose(page, "Best view"));
  await did(page.mouse.click(...await editor.evaluate((e) => { // the middle of the front of the stage
    const { left, top } = e.board.canvas.getBoundingClientRect();
    return [left + e.board.camera.x(0), top + e.board.camera.y(-4)];
  })));
  await did(editor.getByRole("tab", { name: "Plan" }).click());
  await fill("Name of the plan", "City theatre");
  await fill("Category 1", "First");
  await did(editor.getByRole("button", { name: "Add a category" }).click());
  await fill("Category 2", "Balcony");
  await did(editor.getByRole("tab", { name: "Draw" }).click());
  await did(choose(page, "Block of seats"));
  await did(drag(page, [-14.5, 0], [14.5, 19])); // 20 rows of 30
  await fill("Section", "Stalls");
  await fill("Aisle after seats (such as 8, 16)", "15");
  await did(editor.getByLabel("Curve", { exact: true }).fill("40"));
  await did(editor.getByLabel("Rows are named").selectOption("A, B … without I and O"));
  await did(editor.getByLabel("Begin at").nth(1).selectOption("the middle: odd left, even right"));
  await did(drag(page, [-12, 25], [12, 32])); // 8 rows of 25
  await fill("Section", "Balcony");
  await did(editor.getByLabel("Category", { exact: true }).first().selectOption("Balcony"));
  await did(choose(page, "Standing area"));
  await did(drag(page, [18, 0], [24, 10]));
  await fill("Name", "Standing");
  await screenshot(page, "plan-editor-theatre");
  await did(editor.getByRole("button", { name: "Save" }).click());
  await did(page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).click());
  await page.getByRole("heading", { name: "City theatre" }).waitFor();
  assert.ok(actions < 100, `${actions} actions`);
  console.log(`${actions} actions`);

  const { items } = await holdfast.ask("GET", "/api/seating-plans");
  const plan = await holdfast.ask("GET", `/api/seating-plans/${items.find((p) => p.name === "City theatre").id}`);
  assert.deepEqual(plan.sections.map((s) => [s.key, s.name, s.category, s.capacity ?? s.rows.reduce((n, r) => n + r.seats.filter(Boolean).length, 0)]),
    [["Stalls", "Stalls", "First", 600], ["Balcony", "Balcony", "Balcony", 200], ["Standing", "Standing", "First", 100]]);
  assert.deepEqual(plan.sections[0].rows.map((r) => r.label).join(""), "ABCDEFGHJKLMNPQRSTUV");
  const event = await holdfast.ask("POST", "/api/events", { name: "Premiere", seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" });
  const user = await holdfast.user();
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, bestAvailable: { seats: 2 }, ttlSeconds: 60 });
  assert.deepEqual(lock.places.map((p) => p.seatId).sort(), ["Stalls-A-1", "Stalls-A-3"]); // side by side, next to the aisle
  expectNoErrors(page);
});
