// The theatre of seats/planfile/examples, drawn from nothing with the mouse, as a clerk does it.

import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, screenshot } from "./harness.mjs";
import { Clerk, assertSameHall, example, stored } from "./plan-editor-clerk.mjs";
import { openEditor } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

// drawTier draws curved rows. They are given as the seats of each row, and the angle of the front row's arc.
async function drawTier(clerk, { name, at: [x, y], seats, rowSpacing, bend, category }) {
  await clerk.tool("Block of seats");
  await clerk.drag([x - 4, y], [x + 4, y + 3]);
  await clerk.type("Section", name);
  await clerk.pick("Category", category);
  await clerk.typeAll({
    "Seats of each row (such as 18, 20, 20)": seats.join(", "), "From seat to seat": 0.55, "From row to row": rowSpacing,
    "Aisle after seats (such as 8, 16)": 0.5, "Width of an aisle": 1.1, "Middle of the front row: x": x, "Middle of the front row: y": y,
  });
  await clerk.slide("Curve", bend);
  await clerk.pick("Rows are named", "A, B … without I and O");
  await clerk.type("Word before it", "Row");
  await clerk.pick("Begin at", "the row drawn first");
  await clerk.pick("Begin at", "the middle: odd left, even right", 1);
}

// drawBoxes draws a box seat by seat, in the order of their numbers, and copies it.
async function drawBoxes(clerk, name, side, entrance) {
  await clerk.tool("Single seat");
  await clerk.click(...[[11.5, 2.5], [12.3, 2.5], [11.5, 3.3], [12.3, 3.3]].map(([x, y]) => [side * x, y]));
  await clerk.pick("Neighbours", "A table: all are neighbours");
  await clerk.type("Section", name);
  await clerk.pick("Category", "Boxes");
  await clerk.pick("Rows are named", "1, 2, 3 …");
  await clerk.type("Word before it", "Box");
  await clerk.keys("Escape");
  await clerk.typeAll({ "How many": 3, "Each to the right by": side * 0.6, "Each down by": 3 });
  await clerk.press("Copy in a line");
  await clerk.tool("Select");
  await clerk.take(...[2.5, 3.3].map((y) => [side * 12.3, y]));
  await clerk.tick("Restricted view");
  await clerk.section(name, { Floor: 1, Entrance: entrance });
}

// takeRows selects the rows that a line down the hall crosses: it is to the right of the aisle in the middle.
async function takeRows(clerk, from, to) {
  await clerk.keys("Escape");
  await clerk.drag([0.6, from], [1.1, to]);
  await clerk.press("Take whole rows");
}

// seatsOf are where seats of a row of the example are; a person sees them.
function seatsOf(hall, section, label, ...labels) {
  const { seats } = hall.sections.find((s) => s.key === section).rows.find((r) => r.key === label);
  return labels.map((l) => seats.find((seat) => seat?.label === l)).map((seat) => [seat.x, seat.y]);
}

async function markSeats(clerk, hall) {
  await clerk.tool("Select");
  await takeRows(clerk, 3.5, 4.4);
  await clerk.type("Note for customers", "close to the stage");
  await takeRows(clerk, 5.4, 11.6);
  await clerk.pick("Category", "Premium");
  await takeRows(clerk, 16.2, 18.8);
  await clerk.pick("Category", "Second");
  await clerk.take(...seatsOf(hall, "stalls", "S", "29", "25", "26", "30"));
  await clerk.tick("Wheelchair place");
  await clerk.take(...seatsOf(hall, "stalls", "S", "27", "23", "24", "28"));
  await clerk.tick("Companion seat");
  await takeRows(clerk, 20.2, 20.9);
  await clerk.pick("Category", "Premium");
  await clerk.keys("Escape", "Escape"); // from the field, and nothing is selected
  await clerk.add(async () => { // the two outer seats of each row of the circle
    for (const side of [-1, 1]) {
      await clerk.drag([side * 8.15, 18.6], [side * 9.3, 20.4]);
      await clerk.drag([side * 8.7, 20.55], [side * 9.8, 22.2]);
      await clerk.drag([side * 9.25, 22.4], [side * 10.4, 23]);
    }
  });
  await clerk.tick("Restricted view");
  await clerk.take(...seatsOf(hall, "balcony", "C", "11", "12"));
  await clerk.tick("Restricted view");
  await clerk.type("Note for customers", "behind a pillar");
  await takeRows(clerk, 29.1, 30.6);
  await clerk.pick("Category", "Fourth");
}

test("the theatre is drawn with the mouse, and is that of the examples", async () => {
  const hall = example("theatre");
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`, undefined, { viewport: { width: 1600, height: 1200 } });
  const clerk = new Clerk(page);
  await clerk.tab("Plan");
  await clerk.typeAll({ "Name of the plan": hall.name, "Category 1": "Premium" });
  for (const { name } of hall.categories.slice(1)) await clerk.newCategory(name);
  await clerk.colors(hall.categories);
  await clerk.tab("Draw");
  await clerk.press("Zoom out");
  await drawTier(clerk, {
    name: "Stalls", category: "First", at: [0, 4], seats: [18, 20, 20, 22, 22, 24, 24, 26, 26, 28, 28, 30, 30, 30, 30, 30, 30], rowSpacing: 0.9, bend: 54,
  });
  await clerk.press("Snap");
  await drawBoxes(clerk, "Boxes, left", -1, "Left stairs");
  await drawBoxes(clerk, "Boxes, right", 1, "Right stairs");
  await clerk.press("Snap");
  await drawTier(clerk, { name: "Dress circle", category: "Second", at: [0, 20.5], seats: [32, 32, 34, 34, 36], rowSpacing: 0.95, bend: 37 });
  await clerk.press("Whole plan");
  await drawTier(clerk, { name: "Balcony", category: "Third", at: [0, 26.5], seats: [26, 28, 30, 32, 34], rowSpacing: 0.95, bend: 24 });
  await clerk.press("Whole plan");
  await markSeats(clerk, hall);
  for (const [name, values] of [
    ["Stalls", { Floor: 0, Entrance: "Foyer" }], ["Dress circle", { Floor: 1, Entrance: "Grand stairs" }], ["Balcony", { Floor: 2, Entrance: "Upper foyer" }],
  ]) await clerk.section(name, values);
  await clerk.tool("Best view");
  await clerk.typeAll({ x: 0, y: 0 });
  await clerk.press("Whole plan");
  await screenshot(page, "plan-editor-gestures-theatre");
  await clerk.press("Save");
  clerk.gestures++;
  await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).click();
  await page.getByRole("heading", { name: hall.name }).waitFor();
  clerk.says("The theatre");
  assertSameHall(await stored(holdfast, hall.name), hall, 0.05);
  expectNoErrors(page);
});
