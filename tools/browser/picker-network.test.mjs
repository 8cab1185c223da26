import assert from "node:assert/strict";
import { test } from "node:test";
import { Holdfast, expectNoErrors, gate, screenshot, until } from "./harness.mjs";
import { cable, chosen, click, held, holdfast, holds, locksOf, positionOf, says, sell, show, studio, told } from "./picker.mjs";

test("a lost answer is asked for again, with the same key, and the clicks that followed are not lost", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  const keys = [];
  let lost = 0;
  await page.route("**/locks", async (route) => {
    keys.push(route.request().postDataJSON().idempotencyKey);
    if (lost++ > 1) return route.continue();
    await route.fetch(); // the server takes the seat
    return route.abort(); // and the answer is lost
  });
  await click(map, "A-1-1");
  await click(map, "A-1-2");
  await holds(map, "A-1-1", "A-1-2");
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  assert.equal((await locksOf(event)).length, 1);
  assert.equal((await told(map, "error")).every((e) => e.retrying), true);
  await map.locator(".notice").waitFor({ state: "hidden" });
  expectNoErrors(page);
});

test("the map survives a server that is killed: it says so, and goes on without a jump", async (t) => {
  const own = await Holdfast.start(t);
  const event = await sell(studio(), {}, own);
  const { page, map } = await show(event, {}, { on: own });
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await map.getByRole("button", { name: "Zoom in" }).click();
  await map.getByRole("button", { name: "Zoom in" }).click();
  const place = () => map.locator(".cursor").boundingBox();
  await positionOf(map, "A-1-1");
  const before = await place();
  await own.end("api", "SIGKILL");
  await map.getByText("Connection lost.").waitFor();
  assert.deepEqual(await place(), before, "the notice moves nothing");
  await click(map, "A-1-2"); // it waits for the server
  assert.deepEqual(await chosen(map), ["A-1-1", "A-1-2"]);
  own.run("api", { POD_NAME: "api-2" });
  await holds(map, "A-1-1", "A-1-2");
  await map.locator(".notice").waitFor({ state: "hidden" });
  await click(map, "A-1-2");
  await holds(map, "A-1-1");
  assert.deepEqual(await told(map, "holdexpired"), []);
  assert.equal((await told(map, "ready")).length, 1);
  await positionOf(map, "A-1-1");
  assert.deepEqual(await place(), before);
  expectNoErrors(page);
});

test("a stream that was down catches up with everything that happened", async (t) => {
  const event = await sell(studio());
  const line = await cable(t, holdfast);
  const { page, map } = await show(event, {}, { on: line });
  const resumed = [];
  page.on("request", (r) => { if (r.url().includes("/seats/stream")) resumed.push(r.headers()["last-event-id"]); });
  await click(map, "A-1-6"); // what comes by the stream has an ID
  await holds(map, "A-1-6");
  await page.waitForTimeout(500);
  line.pull();
  await map.getByText("Connection lost.").waitFor();
  const user = await holdfast.user();
  for (const seat of ["A-1-1", "A-2-5", "B-1-2"]) await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: [seat] });
  line.plug();
  await map.locator(".notice").waitFor({ state: "hidden" });
  const states = () => map.evaluate((e) => ["A-1-1", "A-2-5", "B-1-2", "A-1-2"].map((id) => {
    e.showSeat(id);
    return /not available$/.test(e.shadowRoot.querySelector(".cursor").textContent);
  }));
  await until("the map has caught up", async () => JSON.stringify(await states()) === "[true,true,true,false]");
  assert.match(resumed.at(-1), /^\d+/, "the stream goes on behind the last message");
  expectNoErrors(page);
});

test("a browser that is offline says so at once, and goes on as soon as it is online", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  await page.clock.install(); // without it, a retry comes by itself
  await page.clock.pauseAt(Date.now() + 1000);
  const isOffline = () => map.evaluate((e) => !e.shadowRoot.querySelector(".notice").hidden);
  assert.equal(await isOffline(), false);
  await page.context().setOffline(true);
  await until("it says so", isOffline);
  const user = await holdfast.user();
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-3"] });
  await page.waitForTimeout(300);
  assert.equal(await isOffline(), true);
  await page.context().setOffline(false);
  await until("it is connected", async () => !(await isOffline()));
  await until("it has caught up", () => map.evaluate((e) => {
    e.showSeat("A-1-3");
    return /not available$/.test(e.shadowRoot.querySelector(".cursor").textContent);
  }));
  assert.deepEqual(await held(map), ["A-1-1"]);
  expectNoErrors(page);
});

test("a slow network: a click is shown at once, and held when the answer comes", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  const client = await page.context().newCDPSession(page);
  await client.send("Network.emulateNetworkConditions", { offline: false, latency: 800, downloadThroughput: 20_000, uploadThroughput: 20_000 });
  await click(map, "A-1-1");
  await click(map, "A-1-2");
  await click(map, "A-1-3");
  assert.deepEqual(await chosen(map), ["A-1-1", "A-1-2", "A-1-3"]);
  assert.notEqual((await held(map)).length, 3);
  await holds(map, "A-1-1", "A-1-2", "A-1-3");
  expectNoErrors(page);
});

test("a stream that ends after its first bytes is asked for again after the time that it names, not at once", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  let asked = 0;
  await page.route("**/seats/stream*", (route) => {
    asked++;
    return route.fulfill({ contentType: "text/event-stream", body: "retry: 1000\n: live updates\n\n" });
  });
  await page.evaluate(() => dispatchEvent(new Event("offline"))); // the map connects again
  await until("it is asked for", () => asked > 0);
  await page.waitForTimeout(3500);
  assert.ok(asked >= 2 && asked <= 5, `${asked} times`);
  assert.equal(await map.locator(".notice").isVisible(), false);
  expectNoErrors(page);
});

test("a token that does not come is not an answer, and is asked for again", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await page.clock.install();
  await map.evaluate((e) => { e.token = () => new Promise(() => {}); });
  await click(map, "A-1-1");
  await until("it is told", async () => {
    await page.clock.fastForward(16_000);
    return (await told(map, "error")).some((e) => e.code === "NO_TOKEN" && e.retrying);
  });
  await map.evaluate((e) => { e.token = ""; });
  await until("the seat is held", async () => {
    await page.clock.fastForward(16_000);
    return (await held(map)).join() === "A-1-1";
  });
  expectNoErrors(page);
});

test("a token that a page can't get at the moment is asked for again, without an error of the page", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await map.evaluate((e) => { e.token = () => Promise.reject(new Error("the shop's own server does not answer")); });
  await click(map, "A-1-1");
  await until("it is told", async () => (await told(map, "error")).some((e) => e.code === "NO_TOKEN" && e.retrying));
  await map.evaluate((e) => { e.token = () => { throw new Error("nor now"); }; });
  await map.evaluate((e) => { e.told.length = 0; });
  await until("it is told again", async () => (await told(map, "error")).some((e) => e.code === "NO_TOKEN" && e.retrying));
  await map.evaluate((e) => { e.token = ""; });
  await holds(map, "A-1-1");
  expectNoErrors(page);
});

test("a seat that went while the browser was offline is named, although it is connected again just then", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const [online, go] = gate();
  await page.route("**/seats/stream**", async (route) => {
    await online;
    await route.continue();
  });
  await page.context().setOffline(true);
  await map.evaluate((e) => e.showSeat("A-1-3"));
  await page.keyboard.press("Enter");
  const user = await holdfast.user();
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["A-1-3"] });
  await map.evaluate((e) => {
    e.said = [];
    new MutationObserver(() => e.said.push(e.shadowRoot.querySelector("[role=status].hidden").textContent))
      .observe(e.shadowRoot.querySelector("[role=status].hidden"), { childList: true });
  });
  await page.context().setOffline(false);
  const said = () => map.evaluate((e) => e.said.at(-1) ?? "");
  await until("the loss is told", async () => /^No longer available: Stalls, row 1, seat 3/.test(await said()));
  go();
  await until("both are told", async () => /^Connected again\. No longer available: Stalls, row 1, seat 3/.test(await said()));
  assert.deepEqual(await chosen(map), ["A-1-1"]);
  expectNoErrors(page);
});

test("a request that is given up is told so", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  await page.clock.install();
  await page.route("**/locks", (route) => route.fulfill({ status: 503, contentType: "application/problem+json", body: '{"code":"UNAVAILABLE"}' }));
  await click(map, "A-1-1");
  await until("it is told", async () => {
    await page.clock.fastForward(13_000);
    return (await told(map, "error")).some((e) => !e.retrying);
  });
  assert.equal((await told(map, "error")).filter((e) => e.retrying).length, 59);
  assert.deepEqual(await chosen(map), []);
});

test("memory stays flat over 10,000 changes of 20,000 seats", async () => {
  const { hall } = await import("./frames.mjs");
  const event = await sell(hall(20_000));
  const { page, map } = await show(event);
  await positionOf(map, "s12-10-12"); // seats are drawn
  const client = await page.context().newCDPSession(page);
  const heap = async () => {
    await client.send("HeapProfiler.collectGarbage");
    return (await client.send("Runtime.getHeapUsage")).usedSize;
  };
  const user = await holdfast.user();
  const change = async (rounds) => {
    for (let n = 0; n < rounds; n++) {
      const seatIds = Array.from({ length: 25 }, (_, i) => `s12-${(n % 20) + 1}-${i + 1}`);
      const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds });
      const response = await fetch(`${holdfast.url}/api/locks/${lock.id}`, { method: "DELETE" });
      assert.equal(response.status, 200);
    }
  };
  await change(40);
  const before = await heap();
  await change(200);
  const last = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seatIds: ["s12-20-25"] });
  await until("the page has seen all changes", () => map.evaluate((e) => {
    e.showSeat("s12-20-25");
    return /not available$/.test(e.shadowRoot.querySelector(".cursor").textContent);
  }));
  assert.equal(last.status, "ACTIVE");
  const grown = (await heap()) - before;
  assert.ok(grown < 1_000_000, `the page's memory has grown by ${grown} bytes`);
  expectNoErrors(page);
});
