import assert from "node:assert/strict";
import { test } from "node:test";
import { accessible, expectNoErrors, fits, screenshot, until } from "./harness.mjs";
import { click, file, held, holdfast, holds, sell, show, studio, positionOf } from "./picker.mjs";

test("names in a plan are text", async () => {
  const evil = '<img src=x onerror="document.title=`bad`">';
  const plan = studio({ name: evil });
  plan.categories[0].name = evil;
  plan.sections[0].name = evil;
  plan.sections[0].rows[0].label = "<b>1</b>";
  plan.sections[0].rows[0].seats[0].label = "<i>1</i>";
  plan.sections[0].rows[0].seats[0].note = evil;
  const event = await sell(plan);
  const { page, map } = await show(event, { prices: JSON.stringify({ seats: evil }) });
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await map.getByRole("button", { name: "List of seats" }).click();
  await map.locator("summary").first().click();
  assert.equal(await map.evaluate((e) => e.shadowRoot.querySelectorAll("img, b, i").length), 0);
  assert.notEqual(await page.title(), "bad");
  assert.equal((await map.getByText(evil).count()) > 0, true);
  expectNoErrors(page);
});

test("an arena by the keyboard alone: a section, a seat, a standing place, and out again", async () => {
  const event = await sell(JSON.parse(file("seats/planfile/examples/arena.json")));
  const { page, map } = await show(event);
  const focused = () => map.evaluate((e) => e.shadowRoot.activeElement?.getAttribute("aria-label") ?? e.shadowRoot.activeElement?.textContent);
  await page.locator("h2").first().click();
  for (let n = 0; n < 30 && !/free/.test((await focused()) ?? ""); n++) await page.keyboard.press("Tab");
  assert.match(await focused(), /^Standing, front, 600 free/);
  for (const key of ["ArrowRight", "ArrowRight", "ArrowLeft"]) await page.keyboard.press(key);
  await page.keyboard.press("ArrowRight");
  const section = await focused();
  assert.match(section, /^Block \d+, \d+ free/);
  await page.keyboard.press("Enter");
  await until("a seat has the focus", async () => /row A, seat 1,/.test(await focused()));
  const seat = await focused();
  await page.keyboard.press("Enter");
  await until("it is held", async () => /held for you$/.test(await focused()));
  for (const key of ["ArrowDown", "ArrowRight"]) {
    await page.keyboard.press(key);
    assert.notEqual(await focused(), seat);
  }
  await page.keyboard.press(" ");
  await until("two are held", async () => (await held(map)).length === 2);
  await page.keyboard.press("Home");
  assert.match(await focused(), /seat 1,/);
  await page.keyboard.press("Escape");
  assert.match(await focused(), /^Block/);
  await page.keyboard.press("Escape");
  assert.equal(await focused(), "List of seats");
  await map.getByLabel("Number of places in Standing", { exact: true }).focus();
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await until("a standing place is held", async () => (await held(map)).includes("1 in floor"));
  expectNoErrors(page);
});

test("the list alone: sections, rows and seats, by the keyboard and for a screen reader", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, { prices: '{"seats":20}', currency: "EUR" });
  await map.getByRole("button", { name: "List of seats" }).focus();
  await page.keyboard.press("Enter");
  await map.locator("summary").first().focus();
  await page.keyboard.press("Enter");
  const seat = map.getByRole("row", { name: /^Row 1/ }).getByRole("button", { name: /^Stalls, row 1, seat 2, Seats, €20\.00, available$/ });
  await seat.focus();
  await page.keyboard.press("Enter");
  await holds(map, "A-1-2");
  const mine = map.getByRole("button", { name: /^Stalls, row 1, seat 2, .*held for you$/, pressed: true });
  await mine.waitFor();
  const other = await holdfast.user();
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: other.id, seatIds: ["A-1-4"] });
  const gone = map.getByRole("button", { name: /seat 4, .*not available$/ });
  await gone.waitFor();
  assert.equal(await gone.getAttribute("aria-disabled"), "true");
  await accessible(page);
  await map.getByRole("button", { name: "Seat map" }).click();
  await accessible(page);
  await map.getByRole("button", { name: /^Remove/ }).focus();
  await page.keyboard.press("Enter");
  await until("nothing is locked by the page", async () => (await held(map)).length === 0);
  expectNoErrors(page);
});

test("the list has one stop of the Tab key for each open section, and arrow keys in it", async () => {
  const rows = Array.from({ length: 33 }, (_, r) => ({ key: String(r + 1), seats: Array.from({ length: 4 }, (__, i) => ({ id: `H-${r + 1}-${i + 1}`, label: String(i + 1), x: i, y: r })) }));
  const plan = studio();
  plan.sections.push({ key: "H", name: "Hall", category: "seats", rows });
  const event = await sell(plan);
  const { page, map } = await show(event);
  await map.getByRole("button", { name: "List of seats" }).click();
  const focused = () => map.evaluate((e) => e.shadowRoot.activeElement?.getAttribute("aria-label") ?? e.shadowRoot.activeElement?.textContent);
  for (const section of ["Stalls", "Hall"]) {
    await map.locator("summary").filter({ hasText: section }).click();
    await map.getByRole("grid", { name: section }).getByRole("button").first().waitFor();
  }
  await map.locator("summary").first().focus();
  const seen = [];
  for (let n = 0; n < 3; n++) {
    await page.keyboard.press("Tab");
    seen.push(await focused());
  }
  assert.match(seen[0], /^Stalls, row 1, seat 1,/);
  assert.match(seen[1], /^Box, 2 free/);
  await map.getByRole("grid", { name: "Stalls" }).getByRole("button").first().focus();
  for (const [key, seat] of [["ArrowRight", "row 1, seat 2"], ["ArrowDown", "row 2, seat 2"], ["End", "row 2, seat 6"], ["ArrowRight", "row 2, seat 6"], ["ArrowUp", "row 1, seat 6"], ["Home", "row 1, seat 1"]]) {
    await page.keyboard.press(key);
    assert.ok((await focused()).startsWith(`Stalls, ${seat},`), `${key}: ${await focused()}`);
  }
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await holds(map, "A-1-2");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Shift+Tab");
  assert.match(await focused(), /^Stalls, row 1, seat 2, .*held for you$/, "the stop is where one has been");
  await map.getByRole("button", { name: "More rows" }).focus();
  await page.keyboard.press("Enter");
  assert.match(await focused(), /^Hall, row 31, seat 1,/);
  assert.equal(await map.evaluate((e) => e.shadowRoot.querySelectorAll('[aria-label="Hall"] [tabindex="0"]').length), 1);
  for (const [key, to] of [["Escape", /^Hall,/], ["ArrowUp", /^Pit,/], ["Home", /^Stalls, .* free/], ["End", /^Hall,/], ["Escape", /^Seat map$/]]) {
    await page.keyboard.press(key);
    assert.match(await focused(), to, key);
  }
  await accessible(page);
  expectNoErrors(page);
});

test("the prices of a section are a range, the lowest first", async () => {
  const plan = studio();
  plan.sections[0].rows[0].category = "box";
  const event = await sell(plan);
  const { map } = await show(event, { prices: '{"seats":90.5,"box":9,"standing":"from €5"}', currency: "EUR" });
  await map.getByRole("button", { name: "List of seats" }).click();
  assert.equal(await map.locator("summary").first().textContent(), "Stalls, 12 free, €9.00 – €90.50");
  assert.match(await map.locator(".list .area").textContent(), /^Pit, 20 free, from €5$/);
});

test("the list has the prices that a page sets later, in the currency that it sets later", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await map.getByRole("button", { name: "List of seats" }).click();
  const head = map.locator("summary").first();
  await head.click();
  const seat = map.locator(".list .row button").first();
  const shows = async (price) => {
    assert.equal(await head.textContent(), ["Stalls", "12 free", price].filter(Boolean).join(", "));
    assert.equal(await seat.getAttribute("aria-label"), ["Stalls", "row 1", "seat 1", "Seats", price, "available"].filter(Boolean).join(", "));
  };
  await shows("");
  await map.evaluate((e) => { e.prices = { seats: 20 }; });
  await shows("20");
  await map.evaluate((e) => e.setAttribute("currency", "EUR"));
  await shows("€20.00");
  expectNoErrors(page);
});

test("the list warns of a single seat before the click, as long as there would be one", async () => {
  const event = await sell(studio(), { orphanRule: "REFUSE" });
  const { page, map } = await show(event);
  await map.getByRole("button", { name: "List of seats" }).click();
  await map.locator("summary").first().click();
  const named = (n) => map.locator(".list .row").first().getByRole("button").nth(n - 1).getAttribute("aria-label");
  const warns = (name) => /available\. This would leave a single seat: (\d)\./.exec(name)?.[1];
  await map.locator(".list .row button").first().focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(warns(await named(2)), "1");
  await page.keyboard.press("ArrowRight");
  assert.deepEqual([warns(await named(2)), warns(await named(3))], [undefined, undefined]);
  await page.keyboard.press("Enter");
  await holds(map, "A-1-3");
  await page.keyboard.press("Home");
  assert.equal(warns(await named(1)), "2");
  const other = await holdfast.user();
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: other.id, seatIds: ["A-1-2"] });
  await until("no seat would be single any more", async () => /available$/.test(await named(1)));
  expectNoErrors(page);
});

test("the keyboard stays on the standing places that it is on, whatever is answered meanwhile", async () => {
  const plan = studio();
  plan.sections.push({ key: "floor", name: "Floor", category: "standing", capacity: 20, outline: [[8, 3], [13, 3], [13, 6], [8, 6]] });
  const event = await sell(plan);
  const { page, map } = await show(event);
  for (const section of ["Pit", "Floor"]) await map.getByRole("button", { name: `One more: ${section}` }).click();
  await holds(map, "1 in pit", "1 in floor");
  const focused = () => map.evaluate((e) => e.shadowRoot.activeElement?.getAttribute("aria-label"));
  await map.getByRole("button", { name: /^Remove Floor/ }).focus();
  await map.evaluate((e) => e.best(1));
  assert.match(await focused(), /^Remove Floor/);
  await map.evaluate((e) => { e.prices = { standing: 5 }; });
  assert.equal(await focused(), "Remove Floor, 1 place, 5");
  await page.keyboard.press("Enter");
  await until("Floor is given up", async () => !(await held(map)).includes("1 in floor"));
  assert.ok((await held(map)).includes("1 in pit"));
  assert.match(await focused(), /^Remove Pit/);
  expectNoErrors(page);
});

test("a section that is a ring around another one is reached by the keyboard", async () => {
  const row = (key, list) => ({ key, seats: list.map(([x, y], i) => ({ id: `ring-${key}-${i + 1}`, label: String(i + 1), x, y })) });
  const eight = Array.from({ length: 8 }, (_, i) => i + 1);
  const sections = [
    { key: "B", name: "Box", category: "box", rows: [{ key: "1", seats: [{ id: "B-1-1", x: -6, y: 4 }, { id: "B-1-2", x: -5, y: 4 }] }] },
    { key: "floor", name: "Floor", category: "standing", capacity: 20, outline: [[3, 3], [6, 3], [6, 6], [3, 6]] },
    { key: "ring", name: "Ring", category: "seats", rows: [
      row("north", eight.map((x) => [x, 0])), row("south", eight.map((x) => [x, 9])), row("west", eight.map((y) => [0, y])), row("east", eight.map((y) => [9, y])),
    ] },
  ];
  const event = await sell(studio({ sections, focalPoint: { x: 4.5, y: -6 } }));
  const { page, map } = await show(event);
  await map.locator(".cursor").focus();
  const focused = () => map.evaluate((e) => e.shadowRoot.activeElement?.textContent);
  for (const [key, to] of [["PageUp", /^Box, 2 free/], ["PageDown", /^Floor, 20 free/], ["PageDown", /^Ring, 32 free/], ["PageDown", /^Ring,/],
    ["Enter", /^Ring, row north, seat 1,/], ["Escape", /^Ring, 32 free/], ["PageUp", /^Floor,/]]) {
    await page.keyboard.press(key);
    assert.match(await focused(), to, key);
  }
  expectNoErrors(page);
});

test("a phone: a tap on a section, a tap on a seat, a pinch, and no page wider than the screen", async () => {
  const event = await sell(JSON.parse(file("seats/planfile/examples/arena.json")));
  const { page, map } = await show(event, {}, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, colorScheme: "dark" });
  await map.evaluate((e) => e.shadowRoot.querySelector(".map").scrollIntoView());
  const box = await map.locator(".map").boundingBox();
  await page.touchscreen.tap(box.x + box.width * 0.22, box.y + box.height * 0.36);
  await until("a section has the focus", () => map.evaluate((e) => /^Block \d+, \d+ free$/.test(e.shadowRoot.activeElement?.textContent)));
  const seat = await positionOf(map, "117-C-5");
  await page.touchscreen.tap(seat.x, seat.y);
  await until("a seat is held", async () => (await held(map)).length === 1);
  const client = await page.context().newCDPSession(page);
  const apartOf = async () => { // two neighbours, on the screen
    const [a, b] = [await positionOf(map, "101-A-1"), await positionOf(map, "101-A-2")];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  const before = await apartOf();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const touch = (type, apart) => client.send("Input.dispatchTouchEvent", {
    type, touchPoints: apart === undefined ? [] : [{ x: x - apart, y, id: 1 }, { x: x + apart, y, id: 2 }],
  });
  await touch("touchStart", 20);
  for (let apart = 20; apart < 120; apart += 20) await touch("touchMove", apart);
  await touch("touchEnd");
  await until("the map is nearer", async () => (await apartOf()) > before * 2);
  assert.equal((await held(map)).length, 1);
  await map.evaluate((e) => { e.prices = { one: "from €60 to €80, depending on the day" }; });
  const narrowest = await map.locator(".legend .name").evaluateAll((names) => Math.min(...names.map((n) => n.offsetWidth)));
  assert.ok(narrowest > 60, `a long price leaves ${narrowest} px for the name of a category`);
  await fits(page);
  await accessible(page);
  await screenshot(page, "picker-phone");
  expectNoErrors(page);
});

for (const colorScheme of ["light", "dark"]) {
  test(`a theatre during a sale, ${colorScheme}, at three widths; takes the screenshots`, async () => {
    const event = await sell(JSON.parse(file("seats/planfile/examples/theatre.json")), { orphanRule: "REFUSE" });
    const prices = { premium: 95, first: 72, box: 80, second: 48, third: 32, fourth: 22 };
    const { page, map } = await show(event, { prices: JSON.stringify(prices), currency: "EUR" }, { colorScheme, viewport: { width: 1280, height: 860 } });
    const others = await holdfast.user();
    for (let n = 0; n < 90; n++) { // some hundred seats, where people like to sit
      const bestAvailable = { seats: 2 + (n % 4), categories: [["premium", "first", "second", "box", "third"][(n * 7) % 5]] };
      await fetch(`${holdfast.url}/api/locks`, { method: "POST", body: JSON.stringify({ eventId: event.id, userId: others.id, bestAvailable }), headers: { "Content-Type": "application/json" } });
    }
    await map.getByLabel("Number of seats").fill("3");
    await map.getByLabel("Category").selectOption("First");
    await map.getByRole("button", { name: "Find seats" }).click();
    await until("three seats are held", async () => (await held(map)).length === 3);
    await accessible(page);
    await map.evaluate((e) => e.scrollIntoView());
    await page.mouse.move(2, 2);
    await map.locator(".toast").waitFor({ state: "hidden" });
    await screenshot(map, `seat-map-${colorScheme}`);
    for (const width of [820, 390]) {
      await page.setViewportSize({ width, height: 860 });
      await fits(page);
      await accessible(page);
      await screenshot(map, `seat-map-${colorScheme}-${width}-phone`);
    }
    expectNoErrors(page);
  });
}

test("the wheel, a double click, and the buttons zoom; the whole hall comes back", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  const apart = async () => {
    const [a, b] = [await positionOf(map, "A-1-3"), await positionOf(map, "A-1-4")];
    return Math.hypot(a.x - b.x, a.y - b.y);
  };
  const whole = await apart();
  const { x, y } = await positionOf(map, "A-1-3");
  await page.mouse.move(x, y);
  await page.mouse.wheel(0, -300);
  await until("the wheel zooms in", async () => (await apart()) > whole * 1.1);
  const near = await apart();
  await map.getByRole("button", { name: "Zoom out" }).click();
  await until("the button zooms out", async () => (await apart()) < near * 0.8);
  await map.getByRole("button", { name: "Whole hall" }).click();
  await until("the whole hall is back", async () => Math.abs((await apart()) - whole) < 1);
  const box = await map.locator(".map").boundingBox();
  await page.mouse.dblclick(box.x + box.width - 20, box.y + box.height - 20); // where nothing is
  await until("a double click zooms in", async () => (await apart()) > whole * 1.5);
  assert.deepEqual(await held(map), []);
  await page.mouse.dblclick(...Object.values(await positionOf(map, "A-1-3")));
  await until("a double click on a seat chooses it once", async () => (await held(map)).length === 1);
  expectNoErrors(page);
});

test("a hall of many sections is live in all of them, and an element that was removed asks for nothing", async () => {
  const sections = Array.from({ length: 30 }, (_, n) => ({
    key: `s${n}`, name: `Table ${n}`, category: "c", rows: [{ key: "1", adjacency: "ALL", seats: [0, 1].map((i) => ({ id: `s${n}-${i}`, x: (n % 6) * 3 + i, y: Math.floor(n / 6) * 3 })) }],
  }));
  const event = await sell({ name: "Tables", categories: [{ key: "c", name: "C" }], sections });
  const { page, map } = await show(event);
  const user = await holdfast.user();
  const isTaken = (id) => map.evaluate((e, seat) => {
    e.showSeat(seat);
    return /not available$/.test(e.shadowRoot.querySelector(".cursor").textContent);
  }, id);
  for (const id of ["s0-0", "s14-1", "s29-0", "s5-1"]) {
    await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: [id] });
    await until(`${id} goes`, () => isTaken(id));
  }
  await map.evaluate((e) => e.remove());
  await page.waitForTimeout(300);
  const asked = [];
  page.on("request", (r) => asked.push(r.url()));
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["s1-0"] });
  await page.waitForTimeout(2500); // longer than anything waits
  assert.deepEqual(asked, []);
  expectNoErrors(page);
});
