// The cinema of seats/planfile/examples, drawn from nothing by the keyboard alone.

import { after, afterEach, test } from "node:test";
import { Holdfast, browse, expectNoErrors, screenshot } from "./harness.mjs";
import { Clerk, assertSameHall, example, stored } from "./plan-editor-clerk.mjs";
import { openEditor } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

// atPlaces is where places of a row are: the first is at 1, and aisles are places, too.
const atPlaces = (letter, ...places) => places.map((n) => [n, "ABCDEFGHJKL".indexOf(letter)]);

async function drawRows(clerk) {
  await clerk.keys("Escape", "b");
  await clerk.writeAll({ Rows: 10, "Seats in a row": 20 });
  await clerk.keys("Escape");
  await clerk.goTo(11.5, 0);
  await clerk.keys("Enter");
  await clerk.writeAll({ Section: "Screen 1", "Aisle after seats (such as 8, 16)": "4, 16" });
  await clerk.choose("Category", "Standard");
  await clerk.choose("Rows are named", "A, B … without I and O");
  await clerk.write("Word before it", "Row");
}

async function drawSofas(clerk) {
  await clerk.keys("Escape", "Escape", "b");
  await clerk.choose("Section", "Screen 1");
  await clerk.choose("Category", "Sofa for two");
  await clerk.writeAll({ Rows: 1, "Seats in a row": 16 });
  await clerk.keys("Escape");
  await clerk.goTo(12, 10);
  await clerk.keys("Enter");
  await clerk.writeAll({ "Aisle after seats (such as 8, 16)": "2, 4, 6, 8, 10, 12, 14" });
}

// backToBoard goes from a form to the drawing, which keeps its cross and what is selected.
async function backToBoard(clerk) {
  await clerk.reach("Note for customers");
  await clerk.keys("Escape");
}

test("the cinema is drawn by the keyboard alone, and is that of the examples", async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`);
  const clerk = new Clerk(page);
  await clerk.reach("Draw");
  await clerk.keys("ArrowRight");
  await clerk.writeAll({ "Name of the plan": "Cinema, screen 1", "Category 1": "Recliner" });
  for (const name of ["Standard", "Sofa for two", "Front rows"]) {
    await clerk.hit("Add a category");
    clerk.fields++;
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
  }
  await clerk.colors(example("cinema").categories);
  await clerk.reach("Plan");
  await clerk.keys("ArrowLeft");
  await drawRows(clerk);
  await drawSofas(clerk);

  await clerk.keys("Escape", "v", "Escape");
  for (const [rows, category] of [["AB", "Front rows"], ["GHJ", "Recliner"]]) {
    await clerk.takeByKeys(...[...rows].flatMap((letter) => atPlaces(letter, 6)));
    await clerk.hit("Take whole rows");
    await clerk.choose("Category", category);
    await backToBoard(clerk);
  }
  await clerk.takeByKeys(...atPlaces("A", 1, 2, 3, 4, 22, 21, 20, 19), ...atPlaces("B", 22, 1));
  await clerk.keys("Delete");
  await clerk.keys("Control+a");
  await clerk.hit("Number them");
  await backToBoard(clerk);
  await clerk.takeByKeys(...atPlaces("F", 1, 3, 20, 22));
  await clerk.hit("Wheelchair place");
  await backToBoard(clerk);
  await clerk.takeByKeys(...atPlaces("F", 2, 4, 19, 21));
  await clerk.hit("Companion seat");

  await clerk.keys("Escape", "f"); // as the last: seats would be numbered for people who look at it
  await clerk.writeAll({ x: 11.5, y: 7 });
  await clerk.reach("Draw");
  await clerk.keys("ArrowRight");
  await clerk.hit("Select Screen 1");
  await clerk.write("Entrance", "Upper foyer");
  await screenshot(page, "plan-editor-gestures-cinema");
  await clerk.keys("Control+s");
  await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).waitFor();
  await clerk.keys("Enter");
  await page.getByRole("heading", { name: "Cinema, screen 1" }).waitFor();
  clerk.says("The cinema");
  assertSameHall(await stored(holdfast, "Cinema, screen 1"), example("cinema"), 0.001);
  expectNoErrors(page);
});
