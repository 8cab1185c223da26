// The arena of seats/planfile/examples, drawn from nothing with the mouse, and its standing areas by touch.
//
// Seats of rows that are drawn go counter-clockwise around the arena, and those of the example clockwise. So it is drawn as in a mirror, with the first block
// in the west. As the last step all of it is mirrored, and so is the order of the seats.

import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, screenshot } from "./harness.mjs";
import { Clerk, assertSameHall, example, stored } from "./plan-editor-clerk.mjs";
import { openEditor } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

// A rake has straight sides at a distance from a rectangle of 36 by 60, and round corners around the corners of it. front and rear are the seats of the rows
// of its corners, without and with stairs in the middle; bend are the angles of their front rows' arcs.
const lower = {
  first: 101, floor: 1, distance: 11, rows: 20, rowSpacing: 0.85, categories: ["Category 1", "Category 2", "Category 3"],
  front: { seats: "14, 16, 17, 18, 20, 21, 22, 24, 24, 24", bend: 34 },
  rear: { seats: "25, 27, 28, 29, 31, 32, 33, 35, 36, 37", bend: 35, behind: 10 },
};
const upper = {
  first: 201, floor: 3, distance: 32, rows: 12, rowSpacing: 0.9, categories: ["Category 2", "Category 3", "Category 4"],
  rear: { seats: "45, 46, 48, 49, 51, 52, 53, 55, 56, 58, 59, 61", bend: 39, behind: 0 },
};

async function drawAreas(clerk) {
  await clerk.tool("Standing area");
  await clerk.swipe([-16, -22], [16, -8]);
  await clerk.typeAll({ Places: 600, Floor: 0, Entrance: "Gate A", Name: "Standing, front" });
  await clerk.pick("Category", "Standing, front");
  await clerk.tool("Standing area");
  await clerk.tap([-20, -8], [20, -8], [24, 24], [14, 34], [-14, 34], [-24, 24], [-20, -8]);
  await clerk.typeAll({ Places: 1200, Floor: 0, Entrance: "Gate B", Name: "Standing" });
  await clerk.pick("Category", "Standing");
}

// drawBlock draws a block in the middle, and puts it where it is by its numbers; into is the section that it goes on.
async function drawBlock(clerk, { name, into, category, rows, turned = 0, at: [x, y], values, bend }) {
  await clerk.tool("Block of seats");
  if (into !== undefined) await clerk.pick("Section", into);
  await clerk.drag([0, 0], [2, 2]);
  if (into === undefined) await clerk.type("Section", name);
  await clerk.pick("Category", category);
  await clerk.typeAll(values);
  if (bend !== undefined) await clerk.slide("Curve", bend);
  if (turned !== 0) await clerk.type("Turned by (°)", turned);
  await clerk.typeAll({ "Middle of the front row: x": x, "Middle of the front row: y": y });
}

async function copyInLine(clerk, n, right, down) {
  await clerk.typeAll({ "How many": n, "Each to the right by": right, "Each down by": down });
  await clerk.press("Copy in a line");
}

// copyAroundCorner adds the other block of a corner.
async function copyAroundCorner(clerk, x) {
  await clerk.typeAll({ "How many": 1, "Each turned by (°)": -45, "Around x": x, "Around y": 30 });
  await clerk.press("Copy around");
}

async function mirrorImage(clerk) {
  await clerk.type("Around x", 0);
  await clerk.press("Mirror image ↔");
}

const thousandths = (n) => Math.round(n * 1000) / 1000;

// drawSides draws the blocks from the first one, in the west, to the one in the south-west.
async function drawSides(clerk, { first, floor, distance, rows, rowSpacing, categories: [best, middle], front, rear }) {
  const x = -18 - distance;
  const half = x - (rows / 2) * rowSpacing;
  await clerk.tool("Block of seats");
  await clerk.typeAll({ "From seat to seat": 0.5, "From row to row": rowSpacing });
  await drawBlock(clerk, { name: `Block ${first}`, category: best, turned: 90, at: [x, -25], values: { Rows: rows, "Seats in a row": 17 } });
  await clerk.press("Whole plan");
  await clerk.tool("Select");
  await clerk.drag([half + 0.4, -29.6], [x - rows * rowSpacing, -20.4]);
  await clerk.pick("Category", middle);
  await clerk.section(`Block ${first}`, { Floor: floor, Entrance: "East" });
  await copyInLine(clerk, 5, 0, 10);
  await clerk.press("Whole plan");
  await clerk.keys("Escape");
  await clerk.drag([x + 0.6, 10.4], [x - rows * rowSpacing, 29.6]);
  await clerk.pick("Category", middle);

  const corner = (behind) => [-1, 1].map((sign, i) => {
    const far = (distance + behind * rowSpacing) * [Math.cos(Math.PI / 8), Math.sin(Math.PI / 8)][i];
    return thousandths([-18, 30][i] + sign * far);
  });
  const name = `Block ${first + 6}`;
  const seatsOfRows = "Seats of each row (such as 18, 20, 20)";
  const common = { category: middle, turned: 67.5 };
  if (front !== undefined) await drawBlock(clerk, { ...common, name, at: corner(0), values: { [seatsOfRows]: front.seats }, bend: front.bend });
  await drawBlock(clerk, {
    ...common, ...front === undefined ? { name } : { into: name }, at: corner(rear.behind), bend: rear.bend,
    values: { [seatsOfRows]: rear.seats, "Aisle after seats (such as 8, 16)": 0.5, "Width of an aisle": 1.2 },
  });
  await clerk.section(name, { Floor: floor, Entrance: "South-east" });
  await copyAroundCorner(clerk, -18);
  await clerk.press("Whole plan");
}

// drawSouth draws the blocks in the south, with places for wheelchairs in the last row of the lower rake.
async function drawSouth(clerk, { first, floor, distance, rows, rowSpacing, categories: [, middle, last] }) {
  const y = 30 + distance;
  const name = `Block ${first + 8}`;
  await drawBlock(clerk, { name, category: middle, at: [-13.5, y], values: { Rows: rows, "Seats in a row": 15 } });
  await clerk.tool("Select");
  await clerk.drag([-17.6, y + (rows / 2) * rowSpacing - 0.4], [-9.4, y + rows * rowSpacing]);
  await clerk.pick("Category", last);
  if (first === 101) {
    const back = y + (rows - 1) * rowSpacing;
    const everySecond = (from) => Array.from({ length: 15 }, (_, i) => [-17 + i / 2, back]).filter((_, i) => i % 2 === from);
    await clerk.take(...everySecond(0));
    await clerk.tick("Wheelchair place");
    await clerk.take(...everySecond(1));
    await clerk.tick("Companion seat");
  }
  await clerk.section(name, { Floor: floor, Entrance: "South" });
  await copyInLine(clerk, 3, 9, 0);
}

// drawOtherHalf draws the blocks after those in the south: mirror images, and copies of these.
async function drawOtherHalf(clerk, { first }) {
  const block = (n) => `Block ${first + n}`;
  await clerk.section(block(7));
  await mirrorImage(clerk);
  await clerk.section(block(12), { Entrance: "South-west" });
  await copyAroundCorner(clerk, 18);
  await clerk.section(block(5));
  await mirrorImage(clerk);
  await clerk.section(block(14), { Entrance: "West" });
  await copyInLine(clerk, 1, 0, -10);
  await clerk.section(block(3));
  await mirrorImage(clerk);
  await clerk.section(block(16), { Entrance: "West" });
  await copyInLine(clerk, 3, 0, -10);
  await clerk.press("Whole plan");
}

// finish mirrors the arena, and numbers it.
async function finish(clerk) {
  await clerk.keys("Escape", "Control+a");
  await clerk.press("Mirror ↔");
  await clerk.pick("Rows are named", "A, B … without I and O");
  await clerk.pick("Begin at", "the row drawn first");
  await clerk.pick("Begin at", "the right", 1);
  await clerk.tick("Gaps count as seats");
  await clerk.press("Number them");
}

test("the arena is drawn with the mouse and by touch, and is that of the examples", async () => {
  const hall = example("arena");
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`, undefined, { viewport: { width: 1600, height: 1200 }, hasTouch: true });
  const clerk = new Clerk(page);
  await clerk.tab("Plan");
  await clerk.typeAll({ "Name of the plan": hall.name, "Category 1": hall.categories[0].name });
  for (const { name } of hall.categories.slice(1)) await clerk.newCategory(name);
  await clerk.colors(hall.categories);
  await clerk.tab("Draw");
  for (let i = 0; i < 3; i++) await clerk.press("Zoom out");
  await clerk.tool("Best view");
  await clerk.typeAll({ x: 0, y: -28 });
  await drawAreas(clerk);
  for (const rake of [lower, upper]) {
    await drawSides(clerk, rake);
    await drawSouth(clerk, rake);
    await drawOtherHalf(clerk, rake);
  }
  await finish(clerk);
  await clerk.press("Whole plan");
  await screenshot(page, "plan-editor-gestures-arena");
  await clerk.press("Save");
  clerk.gestures++;
  await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).click();
  await page.getByRole("heading", { name: hall.name }).waitFor();
  clerk.says("The arena");
  assertSameHall(await stored(holdfast, hall.name), hall, 0.05);
  expectNoErrors(page);
});
