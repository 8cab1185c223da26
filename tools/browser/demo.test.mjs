import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, screenshot, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const available = async (page) => Number(await page.locator("#available").textContent());
const choose = (page, name) => page.getByRole("button", { name }).click();
const holdSeats = async (page, seats, time = "2 minutes") => {
  await page.getByLabel("Seats", { exact: true }).fill(String(seats));
  await page.getByLabel("Locked for").selectOption(time);
  await page.getByRole("button", { name: "Lock the seats" }).click();
};
const said = (page, text) => until(text, async () => (await page.locator("#toast").textContent()).includes(text));

test("two tabs compete for the last seats: one buys them, the other sees them go", async () => {
  await holdfast.event("Two tabs", 10);
  const ada = await open(browser, `${holdfast.url}/demo`);
  const bob = await ada.context().newPage();
  await bob.goto(`${holdfast.url}/demo`);
  for (const page of [ada, bob]) {
    await choose(page, "Two tabs");
    await page.getByText("Live updates").waitFor();
  }
  assert.notEqual(await ada.locator("#customer").textContent(), await bob.locator("#customer").textContent());
  await holdSeats(ada, 8);
  await until("Bob sees the change", async () => (await available(bob)) === 2);
  await holdSeats(bob, 3);
  await said(bob, "Only 2 seats are available.");
  await holdSeats(bob, 2);
  await until("Ada sees the change", async () => (await available(ada)) === 0);
  assert.match(await ada.locator("#timer").textContent(), /^1:5\d$|^2:00$/);
  await ada.getByRole("button", { name: "Book the seats" }).click();
  await ada.getByRole("button", { name: "Pay", exact: true }).click();
  await ada.getByText("You bought 8 seats").waitFor();
  await bob.getByRole("button", { name: "Release the seats" }).click();
  await until("both see Bob's seats come back", async () => (await available(ada)) === 2 && (await available(bob)) === 2);
  expectNoErrors(ada);
});

test("a guest buys without an account, and an operator finds the order by its number", async () => {
  const event = await holdfast.event("For guests", 4);
  const page = await open(browser, `${holdfast.url}/demo`);
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  await choose(page, "For guests");
  await holdSeats(page, 2);
  await page.getByRole("button", { name: "Book the seats" }).click();
  const order = /^Order (demo-[0-9a-f]{8})$/;
  await page.getByText(order).waitFor();
  await page.reload();
  const [, number] = order.exec(await page.getByText(order).textContent());
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByText("You bought 2 seats").waitFor();
  const holder = await page.locator("#customer").textContent();
  const { items: [booking, ...others] } = await holdfast.ask("GET", `/api/bookings?reference=${number}`);
  assert.deepEqual([booking.eventId, booking.holder, booking.userId, booking.status, others], [event.id, holder, undefined, "CONFIRMED", []]);
  assert.ok(!asked.includes("/api/users"));
  const operator = await open(browser, `${holdfast.url}/console`);
  await operator.getByRole("search").getByRole("searchbox").fill(number);
  await operator.getByRole("search").getByRole("searchbox").press("Enter");
  await operator.getByRole("table", { name: "What was found" }).getByRole("link").filter({ hasText: booking.id.slice(-8) }).first().click();
  for (const text of [holder, number]) await operator.getByRole("region", { name: "Booking", exact: true }).getByText(text).first().waitFor();
  expectNoErrors(page);
});

test("the server's clock decides when the time runs out, and the seats come back", async () => {
  const event = await holdfast.event("Running out", 4);
  const page = await open(browser, `${holdfast.url}/demo`);
  await page.clock.install({ time: Date.now() + 3_600_000 }); // the browser's clock is an hour ahead
  await page.reload();
  await choose(page, "Running out");
  await holdSeats(page, 4, "20 seconds");
  await page.getByText("4 seats are locked for you").waitFor();
  assert.match(await page.locator("#timer").textContent(), /^0:(1[5-9]|20)$/);
  await page.getByRole("button", { name: "Book the seats" }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).waitFor();
  await page.getByText("Your time is over").waitFor({ timeout: 30_000 });
  await until("the seats are back", async () => (await available(page)) === 4);
  await until("the booking is shown as EXPIRED", async () => (await page.locator("#state").textContent()) === "EXPIRED");
  assert.equal((await holdfast.ask("GET", `/api/events/${event.id}`)).availableSeats, 4);
  await page.getByRole("button", { name: "Start over" }).click();
  await page.getByRole("button", { name: "Lock the seats" }).waitFor();
  expectNoErrors(page);
});

test("the countdown goes on when the device's clock is set, and is right again after the device has slept", async () => {
  await holdfast.event("Set clock", 4);
  const page = await open(browser, `${holdfast.url}/demo`);
  await choose(page, "Set clock");
  await holdSeats(page, 4);
  await page.getByText("4 seats are locked for you").waitFor();
  const left = async () => {
    const [minutes, seconds] = (await page.locator("#timer").textContent()).split(":").map(Number);
    return 60 * minutes + seconds;
  };
  const before = await left();
  await page.evaluate(() => {
    const now = Date.now.bind(Date);
    Date.now = () => now() + 1_200_000;
  });
  await until("the countdown has gone on", async () => (await left()) < before);
  assert.ok((await left()) > before - 30, `${await left()} s, ${before} s before`);
  await page.evaluate(() => {
    const now = performance.now.bind(performance);
    performance.now = () => now() - 20_000;
    return new Promise((resolve) => { setTimeout(resolve, 600); });
  });
  assert.ok((await left()) <= before, `after a sleep ${await left()} s, ${before} s before`);
  expectNoErrors(page);
});

test("the shop waits for the start of a sale, also if it is moved, and stops at its end", async () => {
  const at = (seconds) => new Date(Date.now() + 1000 * seconds).toISOString();
  const event = await holdfast.event("Not yet", 4);
  const patch = (change) => holdfast.ask("PATCH", `/api/events/${event.id}`, change);
  await patch({ saleStartsAt: at(3600) });
  const page = await open(browser, `${holdfast.url}/demo`);
  await choose(page, "Not yet");
  await page.locator("#opening", { hasText: /^The sale begins in (59:5\d|1:00:00)\.$/ }).waitFor();
  const lock = page.getByRole("button", { name: "Lock the seats" });
  assert.equal(await lock.getAttribute("aria-disabled"), "true");
  await lock.click({ force: true });
  await page.getByRole("status").getByText("The sale begins in").waitFor();
  await accessible(page);
  const starts = at(4);
  await patch({ saleStartsAt: starts });
  await page.getByRole("status").getByText("The sale has begun.").waitFor();
  assert.ok(Date.now() > Date.parse(starts) - 1000);
  await page.route("**/locks", (route) => route.fulfill({ status: 409, json: { code: "SALE_NOT_OPEN", opensAt: at(0.3) } }), { times: 1 }); // as if its clock were early
  await holdSeats(page, 2);
  await page.getByText("2 seats are locked for you").waitFor();
  await patch({ saleEndsAt: at(2) });
  await page.getByRole("status").getByText("The sale has ended.").waitFor();
  await page.getByRole("button", { name: "Release the seats" }).click();
  await until("nothing can be locked", async () => (await lock.getAttribute("aria-disabled")) === "true");
  expectNoErrors(page);
});

test("a reloaded tab continues with the seats that it held", async () => {
  await holdfast.event("Again", 6);
  const page = await open(browser, `${holdfast.url}/demo`);
  await choose(page, "Again");
  await holdSeats(page, 5);
  await page.getByRole("button", { name: "Book the seats" }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).waitFor();
  const name = await page.locator("#customer").textContent();
  await page.reload();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByText("You bought 5 seats").waitFor();
  assert.equal(await page.locator("#customer").textContent(), name);
  expectNoErrors(page);
});

test("the shop is always ready: two tabs on the map of a theatre, and an arena with places to stand", async (t) => {
  const own = await Holdfast.start(t);
  await own.event("Another event", 6);
  const ada = await open(browser, `${own.url}/demo`);
  const bob = await ada.context().newPage();
  await bob.goto(`${own.url}/demo`);
  for (const page of [ada, bob]) {
    await choose(page, /^The Tempest/);
    await page.locator("holdfast-seats .map").waitFor();
  }
  assert.equal((await own.ask("GET", "/api/events")).items.length, 4); // each sample once, although two tabs made them
  await ada.getByLabel("Number of seats").fill("1");
  await ada.getByRole("button", { name: "Find seats" }).click();
  await ada.getByRole("heading", { name: "1 seat is locked for you: The Tempest, City theatre" }).waitFor();
  const [seat] = await ada.locator("holdfast-seats").evaluate((e) => e.selection);
  await until("Bob sees it go", () => bob.locator("holdfast-seats").evaluate((e, id) => {
    e.showSeat(id);
    return /not available$/.test(e.shadowRoot.querySelector(".cursor").textContent);
  }, seat.id));
  await ada.reload(); // the tab goes on with its seat
  await ada.getByRole("button", { name: "Book the seat" }).click();
  await ada.getByRole("button", { name: "Pay", exact: true }).click();
  await ada.getByRole("heading", { name: "You bought 1 seat: The Tempest, City theatre" }).waitFor();
  await ada.getByRole("button", { name: "Start over" }).click();

  await choose(bob, /^Summer concert/);
  await bob.getByRole("button", { name: "One more: Standing", exact: true }).click();
  await bob.getByRole("button", { name: "Find seats" }).click();
  await bob.getByRole("heading", { name: "3 seats are locked for you: Summer concert, Arena" }).waitFor();
  await bob.getByRole("button", { name: "Book the seats" }).click();
  await bob.getByRole("button", { name: "Release the seats" }).click();
  await until("all came back", async () => (await own.ask("GET", "/api/events")).items.every((e) => e.name !== "Summer concert, Arena" || e.availableSeats === e.totalSeats));
  expectNoErrors(ada);
});

test("the samples are first however many other events there are, and none is made twice", async (t) => {
  const own = await Holdfast.start(t);
  for (let n = 1; n <= 60; n++) await own.event(`Other ${n}`, 6);
  const names = (page) => page.locator("#events [data-part=name]").allTextContents();
  const samples = ["The Tempest, City theatre", "Summer concert, Arena", "Opening night, unnumbered"];
  for (const canFind of [true, true, false]) {
    const page = await open(browser, `${own.url}/console`);
    // As with so many events that the search for the samples ends before them.
    if (!canFind) await page.route("**/api/events?pageSize=200*", (route) => route.fulfill({ json: { items: [], nextPageToken: "" } }));
    await page.goto(`${own.url}/demo`);
    await choose(page, /^The Tempest/);
    await page.locator("holdfast-seats .map").waitFor();
    assert.deepEqual(await names(page), [...samples, ...Array.from({ length: 50 }, (_, n) => `Other ${n + 1}`)]);
    await page.getByRole("button", { name: "More events" }).click();
    await until("all events are listed", async () => (await names(page)).length === 63);
    assert.deepEqual((await names(page)).slice(0, 4), [...samples, "Other 1"]);
    expectNoErrors(page);
    await page.context().close();
  }
});

test("what is left is said in the singular too, and that nothing is", async () => {
  const event = await holdfast.event("Few left", 3);
  await holdfast.lock(event, 2);
  const page = await open(browser, `${holdfast.url}/demo`);
  await choose(page, /^Few left/);
  await holdSeats(page, 2);
  await said(page, "Only 1 seat is available.");
  await holdfast.lock(event, 1);
  await holdSeats(page, 1);
  await said(page, "No seats are available any more.");
  expectNoErrors(page);
});

test("on a phone the chosen event comes into view", async () => {
  const page = await open(browser, `${holdfast.url}/demo`, { viewport: { width: 390, height: 844 }, hasTouch: true });
  await choose(page, /^Summer concert/);
  await until("the event is in view", () => page.evaluate(() => Math.abs(document.getElementById("event").getBoundingClientRect().top) < 60));
  assert.equal(await page.evaluate(() => document.activeElement.id), "name");
  await fits(page);
  expectNoErrors(page);
});

test("the shop survives a restart of the API, and loses no lock", async (t) => {
  const own = await Holdfast.start(t);
  const event = await own.event("Restarted", 6);
  const page = await open(browser, `${own.url}/demo`);
  await choose(page, "Restarted");
  await holdSeats(page, 2);
  await page.getByText("2 seats are locked for you").waitFor();
  await own.end("api", "SIGKILL");
  await page.getByText("Disconnected.").waitFor();
  own.run("api", {});
  await page.getByText("Live updates").waitFor();
  await own.lock(event, 1);
  await until("the stream is connected again", async () => (await available(page)) === 3);
  await page.getByRole("button", { name: "Book the seats" }).click();
  await page.getByRole("button", { name: "Pay", exact: true }).click();
  await page.getByText("You bought 2 seats").waitFor();
  expectNoErrors(page);
});

test("a request whose answer was lost is retried with the same key: one lock", async () => {
  const event = await holdfast.event("Lost answers", 10);
  const page = await open(browser, `${holdfast.url}/demo`);
  await choose(page, "Lost answers");
  let lost = 0;
  await page.route("**/locks", async (route) => {
    if (route.request().method() !== "POST" || lost === 6) return route.continue();
    lost++;
    await route.fetch(); // the API answers …
    await route.abort(); // … and the page does not get the answer
  });
  await holdSeats(page, 3);
  await said(page, "The server does not answer."); // after five attempts
  await page.getByRole("button", { name: "Lock the seats" }).click();
  await page.getByText("3 seats are locked for you").waitFor();
  const { items } = await holdfast.ask("GET", `/api/locks?eventId=${event.id}`);
  assert.deepEqual([lost, items.length, items[0].seats], [6, 1, 3]);
  expectNoErrors(page);
});

test("with the keyboard alone: the focus goes along from step to step", async () => {
  await holdfast.event("Keys", 6);
  const page = await open(browser, `${holdfast.url}/demo`);
  await choose(page, "Keys");
  await page.getByRole("button", { name: "Lock the seats" }).focus();
  for (const next of ["Book the seats", "Pay", "Start over", "Keys"]) {
    await page.keyboard.press("Enter");
    await until(`the focus is on ${next}`, () => page.evaluate((name) => document.activeElement.textContent === name, next));
  }
  expectNoErrors(page);
});

test("there is no shop without DEMO", async (t) => {
  const own = await Holdfast.start(t, { DEMO: "false" });
  assert.equal((await fetch(`${own.url}/demo`)).status, 404);
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe-core finds nothing, ${colorScheme}, on a desktop and on a phone; takes the screenshots`, async (t) => {
    const own = await Holdfast.start(t);
    const event = await own.event("First night", 120);
    await own.event("Matinee", 80);
    await own.lock(event, 71);
    const page = await open(browser, `${own.url}/demo`, { colorScheme, viewport: { width: 1280, height: 760 } });
    await choose(page, "First night");
    await page.getByText("Live updates").waitFor();
    await accessible(page);
    await holdSeats(page, 2);
    await page.getByText("2 seats are locked for you").waitFor();
    await until("the seats are taken", async () => (await available(page)) === 47);
    await accessible(page);
    await screenshot(page, `demo-${colorScheme}`);
    await page.setViewportSize({ width: 390, height: 844 });
    await fits(page);
    await accessible(page);
    await screenshot(page, `demo-${colorScheme}-phone`, { fullPage: true });
    expectNoErrors(page);
  });
}

test("the page of the API obeys its policy, and begins with what customers may do", async () => {
  const page = await open(browser, `${holdfast.url}/docs`);
  await page.getByText("/api/events", { exact: true }).first().waitFor();
  const parts = await page.locator(".opblock-tag").evaluateAll((all) => all.map((e) => e.dataset.tag));
  assert.deepEqual([parts[0], parts.at(-1)], ["Events", "Operators"]);
  const paths = await page.locator(".opblock-summary-path").evaluateAll((all) => all.map((e) => e.dataset.path));
  assert.ok(!paths[0].startsWith("/api/admin"), paths[0]);
  await page.getByText("/api/events", { exact: true }).first().click();
  await page.getByRole("button", { name: "Try it out" }).first().click();
  await page.getByRole("button", { name: "Execute" }).first().click();
  await page.getByText("Server response").first().waitFor();
  expectNoErrors(page);
});

test("the pages fit the screen in both directions of text", async () => {
  for (const path of ["/demo", "/demo/examples", "/console", "/console#/locks"]) {
    for (const width of [390, 1280]) {
      const page = await open(browser, holdfast.url + path, { viewport: { width, height: 900 } });
      await page.evaluate(() => { document.documentElement.dir = "rtl"; });
      const scrolled = await page.evaluate(() => { scrollTo(-10_000, 0); return scrollX; });
      assert.equal(scrolled, 0, `${path}, ${width} px wide`);
      await page.context().close();
    }
  }
});
