// The console's seating plans: list, preview and upload.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, screenshot, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const hall = (name) => ({
  name, categories: [{ key: "a", name: "First" }, { key: "b", name: "Second" }],
  sections: [
    { key: "A", name: "Left", category: "a", rows: [{ key: "1", seats: 4 }, { key: "2", category: "b", seats: [{ id: "x" }, null, { id: "y", category: "a" }] }] },
    { key: "pit", name: "Pit", category: "b", capacity: 1 },
  ],
});

const chamber = readFileSync(new URL("../../seats/planfile/testdata/chamber.json", import.meta.url));
const csv = "section,row,seat,category,mood\nA,1,1,Best,good\nA,1,2,Best,bad\n";

const upload = async (page, name, content) => {
  await page.getByLabel("File", { exact: true }).setInputFiles({ name, mimeType: "application/octet-stream", buffer: Buffer.from(content) });
  await page.getByRole("button", { name: "Check the file" }).click();
};
const region = (page, name) => page.getByRole("region", { name, exact: true });

test("plans are listed page by page, and each has a page with its sections", async () => {
  for (let i = 1; i <= 21; i++) await holdfast.ask("POST", "/api/seating-plans", hall(`Hall ${String(i).padStart(2, "0")}`));
  const page = await open(browser, `${holdfast.url}/console`);
  await page.getByRole("navigation").getByRole("link", { name: "Plans" }).click();
  const rows = page.getByRole("table", { name: "Seating plans" }).locator("tbody tr");
  await until("a page is full", async () => (await rows.count()) === 20);
  await page.getByRole("link", { name: "Next page" }).click();
  await until("the rest is shown", async () => (await rows.count()) === 1);
  await page.getByRole("link", { name: "Hall 21" }).click();
  const sections = page.getByRole("table", { name: "Sections of the plan" }).locator("tbody tr");
  await until("the sections are shown", async () => (await sections.count()) === 3);
  assert.match(await sections.nth(0).innerText(), /Left\s+A\s+2 rows\s+First\s+5/);
  assert.match(await sections.nth(1).innerText(), /Left\s+A\s+2 rows\s+Second\s+1/);
  assert.match(await sections.nth(2).innerText(), /Pit\s+pit\s+general admission\s+Second\s+1/);
  assert.match(await page.getByRole("table", { name: "Categories of the plan" }).locator("tbody").innerText(), /First\s+a\s+5\s+Second\s+b\s+2/);
  await page.getByText("7 seats in 2 sections and 2 categories.").waitFor();
  await accessible(page);
  expectNoErrors(page);
});

test("a file of each format is checked, previewed and created", async () => {
  const page = await open(browser, `${holdfast.url}/console#/plans`);
  for (const [file, content, name, says] of [
    ["hall.json", JSON.stringify(hall("Uploaded hall")), "Uploaded hall", /7 seats in 2 sections and 2 categories/],
    ["Table.csv", csv, "Table", /dropped[^]*mood[^]*2 seats in 1 section and 1 category/],
    ["chamber.json", chamber, "", /guessed[^]*seats in/],
  ]) {
    await upload(page, file, content);
    await until(`${file} is shown`, async () => says.test(await region(page, "Upload").innerText()));
    await page.getByRole("button", { name: "Create the plan" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Create the plan" }).click();
    await region(page, "Seating plan").waitFor();
    if (name !== "") await page.getByRole("heading", { name, exact: true }).waitFor();
    await page.goBack();
    await region(page, "Upload").waitFor();
  }
  const { items } = await holdfast.ask("GET", "/api/seating-plans?pageSize=500");
  assert.equal(items.filter((p) => ["Uploaded hall", "Table"].includes(p.name)).length, 2);
  expectNoErrors(page);
});

test("what is wrong with a file is shown in place, with its places", async () => {
  const page = await open(browser, `${holdfast.url}/console#/plans`);
  const problem = region(page, "Upload").getByRole("alert");
  const before = (await holdfast.ask("GET", "/api/seating-plans?pageSize=500")).items.length;
  await upload(page, "broken.json", JSON.stringify({ ...hall("Broken"), categories: [{ key: "a", name: "First" }] }));
  await problem.getByText("body.sections[1].category").waitFor();
  await accessible(page);
  await upload(page, "broken.csv", "section,row,seat,category\nA,1,1,c\nA,,2,c\n");
  await problem.getByText("line 3").waitFor();
  await upload(page, "broken.json", "{");
  await problem.getByText("MALFORMED_REQUEST").waitFor();
  await upload(page, "pretix.json", JSON.stringify({ name: "P", categories: [], zones: [{ name: "A", rows: [{ seats: [{}] }] }] }));
  await problem.getByText(/zones\[0\]/).first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Create the plan" }).count(), 0);
  assert.equal((await holdfast.ask("GET", "/api/seating-plans?pageSize=500")).items.length, before);
  await upload(page, "good.json", JSON.stringify(hall("Good")));
  await page.getByRole("button", { name: "Create the plan" }).waitFor();
  assert.equal(await problem.count(), 0); // hidden
  expectNoErrors(page);
});

test("what a file lacks is asked for at its field", async () => {
  const page = await open(browser, `${holdfast.url}/console#/plans`);
  const seats = [[0, 0], [60, 0], [0, 25], [60, 25]].map(([x, y], i) => ({ seat_guid: `B${i}`, seat_number: `${i}`, category: "", position: { x, y }, wheelchair: i === 0 }));
  const bench = JSON.stringify({ name: "Bench", categories: [], zones: [{ name: "Main, left", rows: [{ row_number: "1", seats }] }] });
  await upload(page, "bench.json", bench);
  await region(page, "Upload").getByText("The file has no categories").waitFor();
  await page.getByLabel("Category of seats that have none").fill("Floor");
  await page.getByRole("button", { name: "Check the file" }).click();
  await page.getByRole("cell", { name: /wheelchair.*name it above/ }).waitFor();
  await page.getByText(/become a row for each/).waitFor();
  await page.getByLabel("Property or column of accessible seats").fill("weelchair");
  await page.getByRole("button", { name: "Check the file" }).click();
  await region(page, "Upload").getByText("No seat of the file has this property").waitFor();
  await page.getByLabel("Property or column of accessible seats").fill("wheelchair");
  await page.getByLabel("Rows that are tables").fill("Main, left/1=ALL\n");
  await page.getByRole("button", { name: "Check the file" }).click();
  await page.getByRole("button", { name: "Create the plan" }).waitFor();
  assert.doesNotMatch(await page.getByRole("table", { name: "Differences" }).innerText(), /wheelchair|become a row/);
  assert.doesNotMatch(await region(page, "Upload").innerText(), /--\w/);
  await accessible(page);
  expectNoErrors(page);
});

test("a plan with long names fits on a phone", async () => {
  const long = "W".repeat(200);
  const plan = hall(long);
  plan.sections[0].name = long;
  for (let i = 0; i < 20; i++) plan.categories.push({ key: `c${i}`, name: long.slice(i) });
  const { id } = await holdfast.ask("POST", "/api/seating-plans", plan);
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(browser, `${holdfast.url}/console#/plans/${id}`, { colorScheme });
    await page.getByText("22 categories").waitFor();
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 });
      await fits(page);
      await accessible(page);
    }
    await page.goto(`${holdfast.url}/console#/plans`);
    await upload(page, "chamber.json", chamber);
    await page.getByRole("table", { name: "Differences" }).waitFor();
    await fits(page);
    await accessible(page);
    await screenshot(page, `plans-${colorScheme}-phone`, { fullPage: true });
    expectNoErrors(page);
  }
});
