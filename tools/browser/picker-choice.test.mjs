// What customers may choose: categories picked in the legend, and those that the page allows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, expectNoErrors, until } from "./harness.mjs";
import { chosen, click, held, holdfast, holds, positionOf, says, sell, show, studio, told } from "./picker.mjs";

// mixed is the studio with a row of which half is of another category.
const mixed = () => {
  const plan = studio();
  for (const seat of plan.sections[0].rows[1].seats.slice(3)) seat.category = "box";
  return plan;
};
const entry = (map, name) => map.getByRole("list", { name: "Legend" }).getByRole("button", { name });

// shadeOf is how dark the map is where a seat is: its least channel.
async function shadeOf(map, seat) {
  const { x, y } = await positionOf(map, seat);
  const box = await map.locator("canvas").first().boundingBox();
  return map.evaluate((e, [dx, dy]) => {
    const canvas = e.shadowRoot.querySelector("canvas");
    const ratio = canvas.width / canvas.clientWidth;
    const { data } = canvas.getContext("2d").getImageData(Math.round((dx - 12) * ratio), Math.round((dy - 12) * ratio), Math.round(24 * ratio), Math.round(24 * ratio));
    return data.reduce((least, v, i) => (i % 4 === 3 ? least : Math.min(least, v)), 255);
  }, [x - box.x, y - box.y]);
}

test("the legend shows the seats of the categories that are pressed, and of no others", async () => {
  const { page, map } = await show(await sell(mixed()), { hold: "checkout" });
  const box = entry(map, /^Box/);
  assert.equal(await box.getAttribute("aria-pressed"), "false");
  await map.evaluate((e) => { e.blur(); });
  const before = await shadeOf(map, "A-1-2");
  await box.click();
  assert.equal(await box.getAttribute("aria-pressed"), "true");
  await until("other seats are faint", async () => (await shadeOf(map, "A-1-2")) > before + 60);
  assert.ok((await shadeOf(map, "A-2-5")) < before + 60);
  await click(map, "A-1-2");
  await says(map, /^Seats is not among the categories chosen in the legend\.$/);
  assert.match(await map.locator(".cursor").textContent(), /Seats is not among/);
  await page.keyboard.press("Enter");
  assert.deepEqual(await chosen(map), []);
  await click(map, "A-2-5");
  await until("a seat of the category is chosen", async () => (await chosen(map)).join() === "A-2-5");
  await entry(map, /^Seats/).click();
  await click(map, "A-1-2");
  await until("one of another pressed category, too", async () => (await chosen(map)).length === 2);
  await entry(map, /^Seats/).click();
  await page.waitForTimeout(400); // two clicks at once choose once
  await click(map, "A-1-2"); // what is chosen can always be given up
  await until("it is given up", async () => (await chosen(map)).join() === "A-2-5");
  await box.click();
  await until("all are shown again", async () => (await shadeOf(map, "A-1-2")) <= before + 5);
  await accessible(page);
  expectNoErrors(page);
});

test("best available looks in the categories that are pressed", async () => {
  const { page, map } = await show(await sell(mixed()));
  const options = () => map.locator(".best select").first().locator("option").allTextContents();
  assert.deepEqual(await options(), ["Any category", "Seats", "Box"]);
  await entry(map, /^Box/).click();
  assert.deepEqual(await options(), ["Any category", "Box"]);
  await map.getByRole("button", { name: "Find seats" }).click();
  await until("two seats are held", async () => (await held(map)).length === 2);
  const places = await map.evaluate((e) => e.locks.flatMap((l) => l.places.map((p) => p.category)));
  assert.deepEqual(places, ["box", "box"]);
  await entry(map, /^Box/).click();
  await entry(map, /^Standing/).click();
  assert.ok(!(await map.getByRole("button", { name: "Find seats" }).isVisible()), "standing places are no numbered seats");
  assert.ok(await map.getByLabel("Number of places in Pit").isVisible());
  await entry(map, /^Standing/).click();
  await entry(map, /^Seats/).click();
  assert.ok(!(await map.getByLabel("Number of places in Pit").isVisible()));
  expectNoErrors(page);
});

test("the list has the sections and the seats of the categories that are pressed", async () => {
  const { page, map } = await show(await sell(mixed()));
  await entry(map, /^Box/).click();
  await map.getByRole("button", { name: "List of seats" }).click();
  await map.locator(".list").waitFor();
  const heads = async () => (await map.locator(".list summary:visible, .list .area:visible").allTextContents()).map((t) => t.split(",")[0]);
  assert.deepEqual(await heads(), ["Stalls", "Box"]);
  await map.locator(".list summary", { hasText: "Stalls" }).click();
  const seat = map.locator('.list button[aria-label^="Stalls, row 1, seat 2"]');
  assert.equal(await seat.getAttribute("aria-disabled"), "true");
  await seat.click({ force: true }); // Playwright waits for what is aria-disabled
  await says(map, /not among the categories/);
  assert.equal(await map.locator('.list button[aria-label^="Stalls, row 2, seat 5"]').getAttribute("aria-disabled"), null);
  await entry(map, /^Box/).click();
  assert.deepEqual(await heads(), ["Stalls", "Box", "Pit"]);
  assert.equal(await seat.getAttribute("aria-disabled"), null);
  await accessible(page);
  expectNoErrors(page);
});

test("the list says so if it can't be loaded, and can be opened later", async () => {
  const { page, map } = await show(await sell(studio()));
  await page.route("**/holdfast-seats/list-*.js", (route) => route.abort());
  await map.getByRole("button", { name: "List of seats" }).click();
  await says(map, /^That did not work/);
  await page.unroute("**/holdfast-seats/list-*.js");
  await map.getByRole("button", { name: "List of seats" }).click();
  await map.locator(".list").waitFor();
});

test("only the selectable categories can be chosen, and the others say why", async () => {
  const { page, map } = await show(await sell(mixed()), { selectable: "box" });
  assert.deepEqual(await map.evaluate((e) => e.selectable), ["box"]);
  await positionOf(map, "A-1-2");
  assert.match(await map.locator(".cursor").textContent(), /not available to you$/);
  await click(map, "A-1-2");
  await says(map, /^Seats: not available to you$/);
  assert.deepEqual(await chosen(map), []);
  assert.ok(await entry(map, /^Seats.*not available to you/).isDisabled());
  assert.ok(await map.getByLabel("Number of places in Pit").isDisabled());
  await click(map, "B-1-1");
  await holds(map, "B-1-1");
  await map.evaluate((e) => e.best(2));
  assert.deepEqual(await map.evaluate((e) => e.locks[0].places.map((p) => p.category)), ["box", "box"]);
  const refused = await map.evaluate((e) => e.best(2, { categories: ["seats"] }).catch(({ code, status }) => [code, status]));
  assert.deepEqual(refused, ["NOT_SELECTABLE", 0]);

  // The member's code: more can be chosen, what is held stays, and the map is not loaded again.
  const before = (await told(map, "ready")).length;
  await map.evaluate((e) => { e.selectable = null; });
  assert.equal(await map.getAttribute("selectable"), null);
  await click(map, "A-1-2");
  await until("it is held as well", async () => (await held(map)).includes("A-1-2"));
  assert.equal((await told(map, "ready")).length, before);
  await map.evaluate((e) => { e.selectable = ["standing"]; });
  await map.getByRole("button", { name: "One more: Pit" }).click();
  await until("the seats stay, with a place", async () => (await held(map)).length === 4);
  await click(map, "A-1-2");
  await until("it can be given up", async () => !(await held(map)).includes("A-1-2"));
  await accessible(page);
  expectNoErrors(page);
});

test("what is selectable can change while the map loads", async () => {
  const event = await sell(mixed());
  const user = await holdfast.user();
  const { id } = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-1"] });
  const { map } = await show(event, { lock: id }, { user, before: (page) => page.route(`**/api/locks/${id}`, async (route) => {
    await page.locator("#first").evaluate((e) => { e.selectable = ["box"]; });
    await route.continue();
  }) });
  assert.ok(await entry(map, /^Seats.*not available to you/).isDisabled());
});

test("the waiting list has the selectable categories", async () => {
  const event = await sell(studio(), { waitlist: "OPEN" });
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: (await holdfast.user()).id, seatIds: ["B-1-1", "B-1-2"] });
  const { map } = await show(event, { selectable: "box standing" });
  const kinds = () => map.getByLabel("To wait for").locator("option").allTextContents();
  await map.getByLabel("To wait for").waitFor();
  assert.deepEqual(await kinds(), ["Box", "Pit"]);
  await map.evaluate((e) => e.removeAttribute("selectable"));
  await until("all are there", async () => (await kinds()).join() === "Any seats,Seats,Box,Pit");
});
