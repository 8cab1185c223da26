// From a stored plan to a copy of it, and an event that is moved to the copy.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, until } from "./harness.mjs";
import { at, editorOf, openEditor } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const hall = (name, seats) => ({
  name, categories: [{ key: "a", name: "First" }], sections: [{ key: "A", name: "Left", category: "a", rows: [{ key: "1", seats }, { key: "2", seats }] }],
});

test("a copy without a sold seat is refused with the seat's name; with it, the event moves", async () => {
  const plan = await holdfast.ask("POST", "/api/seating-plans", hall("Old hall", 5));
  const event = await holdfast.ask("POST", "/api/events", { name: "Premiere", seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" });
  const user = await holdfast.user();
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-2"], ttlSeconds: 3600 });

  const page = await openEditor(browser, `${holdfast.url}/console#/plans/${plan.id}`, "Edit a copy");
  const editor = editorOf(page);
  const save = async (name) => {
    await editor.getByRole("tab", { name: "Plan" }).click();
    await editor.getByLabel("Name of the plan").fill(name);
    await editor.getByRole("button", { name: "Save" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).click();
    await page.getByRole("heading", { name }).waitFor();
  };
  await until("the plan is there", () => editor.evaluate((e) => e.totalSeats === 10));
  await page.mouse.click(...await at(page, 2, 0));
  await page.keyboard.press("Delete");
  await save("Without it");
  await page.getByRole("button", { name: "Move to this plan: Premiere" }).click();
  await page.getByRole("alert").getByText("Left, 1, seat 2: locked").waitFor();
  assert.equal((await holdfast.ask("GET", `/api/events/${event.id}`)).seatingPlanId, plan.id);
  await accessible(page);

  await page.goto(`${holdfast.url}/console#/edit-plan/${plan.id}`);
  await until("the plan is there", () => editor.evaluate((e) => e.totalSeats === 10));
  await page.mouse.click(...await at(page, 1, 1));
  await page.keyboard.press("Delete");
  await save("With it");
  await page.getByRole("button", { name: "Move to this plan: Premiere" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Move the event" }).click();
  await page.getByText("has this plan now", { exact: true }).waitFor();
  const moved = await holdfast.ask("GET", `/api/events/${event.id}`);
  assert.notEqual(moved.seatingPlanId, plan.id);
  assert.equal(moved.totalSeats, 9);
  expectNoErrors(page);
});
