import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { Holdfast, accessible, browse, expectNoErrors, fits, open, screenshot, until } from "./harness.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });

const row = (page, name) => page.locator("#events tr", { hasText: name });
const number = async (page, name, column) => {
  const text = await row(page, name).locator(`[data-part="${column}"]`).textContent();
  return Number(text.replaceAll(",", ""));
};
const numbers = async (page, name) =>
  Promise.all(["Available", "Locked", "Sold"].map((column) => number(page, name, column)));

test("the seats of an event change as they are locked, sold and released", async () => {
  const event = await holdfast.event("Moving", 50);
  const page = await open(browser, `${holdfast.url}/console`);
  await row(page, "Moving").waitFor();
  assert.deepEqual(await numbers(page, "Moving"), [50, 0, 0]);
  const lock = await holdfast.lock(event, 5);
  await until("5 seats are locked", async () => {
    const [available, locked] = await numbers(page, "Moving");
    return available === 45 && locked === 5;
  });
  await holdfast.sell(event, 3);
  await until("3 seats are sold", async () => {
    const [available, , sold] = await numbers(page, "Moving");
    return available === 42 && sold === 3;
  });
  assert.equal(await row(page, "Moving").getByRole("img").getAttribute("aria-label"), "3 sold, 5 locked, 42 available of 50");
  await holdfast.ask("DELETE", `/api/locks/${lock.id}`);
  await until("5 seats are back", async () => (await number(page, "Moving", "Available")) === 47);
  await until("the booking is counted", async () => /CONFIRMED\s*1/.test(await page.locator("#bookings").innerText()));
  expectNoErrors(page);
});

test("locks about to expire count down, and disappear when they end", async () => {
  const event = await holdfast.event("Short", 9);
  const page = await open(browser, `${holdfast.url}/console`);
  const lock = await holdfast.lock(event, 2, 8);
  const line = page.locator("#expiring tr", { hasText: lock.id.slice(-8) });
  await line.waitFor();
  assert.match(await line.locator('[data-part="left"]').textContent(), /^0:0[0-8]$|^due$/);
  await line.waitFor({ state: "detached" }); // by the worker's sweep
  await until("the seats are back", async () => (await number(page, "Short", "Available")) === 9);
  expectNoErrors(page);
});

test("a click runs a job and shows its result", async () => {
  const page = await open(browser, `${holdfast.url}/console`);
  await page.getByRole("button", { name: "Run now: reconcile" }).click();
  await until("the outcome is shown", async () => /^reconcile completed: found 0, applied 0/.test(await page.locator("#toast").textContent()));
  const job = page.locator("#jobs tr", { hasText: "reconcile" });
  await until("the last run is shown", async () => /completed/.test(await job.innerText()));
  await job.getByText("Last runs").click();
  await job.getByText("manual").waitFor();
  await until("the audit is shown", async () => /^Last check/.test(await page.locator("#audit").textContent()));
  expectNoErrors(page);
});

test("the counts of the jobs are in the singular too", async () => {
  const page = await open(browser, `${holdfast.url}/console`);
  let n = 1;
  await page.route("**/api/admin/jobs", async (route) => {
    const { items } = await (await route.fetch()).json();
    const lastRun = { outcome: "completed", startedAt: new Date().toISOString(), found: n, applied: n, errors: 0, contended: 0, seatsRestored: n };
    return route.fulfill({ json: { items: items.map((job) => ({ ...job, lastRun })) } });
  });
  const run = page.locator("#jobs tr", { hasText: "lock-expiry" }).locator('[data-part="run"]');
  for (const [of, counters, seats] of [[1, /, 1 counter corrected\.$/, /, 1 seat restored$/], [0, /, 0 counters corrected\.$/, /, applied 0$/], [2, /, 2 counters corrected\.$/, /, 2 seats restored$/]]) {
    n = of;
    await until(`${n} are counted`, async () => counters.test(await page.locator("#audit").textContent()) && seats.test(await run.textContent()));
  }
  expectNoErrors(page);
});

test("the leader is shown, and its lease is freed after a confirmation", async () => {
  const page = await open(browser, `${holdfast.url}/console`);
  await until("the worker leads", async () => /^worker-1\//.test(await page.locator("#leader").textContent()));
  const button = page.getByRole("button", { name: "Free the leader's lease" });
  await button.click();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  assert.equal(await page.locator("#toast").textContent(), "");
  await button.click();
  await page.getByRole("button", { name: "Free the lease" }).click();
  await until("the new leader is shown", async () => /^The lease of leader is free\. worker-1\//.test(await page.locator("#toast").textContent()));
  await until("a worker leads again", async () => /^worker-1\//.test(await page.locator("#leader").textContent()));
  expectNoErrors(page);
});

test("the counters are checked on demand", async () => {
  const page = await open(browser, `${holdfast.url}/console`);
  await page.getByRole("button", { name: "Check the counters now" }).click();
  await page.getByText("all bookings agree with their locks").waitFor();
  expectNoErrors(page);
});

test("an unreachable server is reported, and the last data stays on the page", async (t) => {
  const own = await Holdfast.start(t);
  await own.event("Staying", 7);
  const page = await open(browser, `${own.url}/console`);
  await row(page, "Staying").waitFor();
  await own.end("api", "SIGKILL");
  await page.getByRole("alert").getByText("does not answer").waitFor();
  assert.ok(await row(page, "Staying").isVisible());
  await until("the status is: no answer", async () => (await page.locator("#status").textContent()) === "no answer");
  own.run("api", {});
  await page.getByRole("alert").waitFor({ state: "hidden" });
  expectNoErrors(page);
});

test("the console asks for the admin key, and keeps it in this tab only", async (t) => {
  const own = await Holdfast.start(t, { API_KEYS: "shop:booking:shop-secret-key-1,boss:admin:boss-secret-key-1" });
  await own.event("Locked away", 5, "boss-secret-key-1");
  const page = await open(browser, `${own.url}/console`);
  const use = async (secret) => {
    await page.getByLabel("Secret of a key").fill(secret);
    await page.getByRole("button", { name: "Use this key" }).click();
  };
  await page.getByText("This server requires a key.").waitFor();
  await accessible(page);
  for (let i = 0; i < 3; i++) await page.keyboard.press("Escape");
  await page.getByText("This server requires a key.").waitFor(); // Escape does not close the dialog
  await use("wrong");
  await page.getByText("The server does not accept this key.").waitFor();
  await use("shop-secret-key-1");
  await page.getByText("This key does not have the required scope.").waitFor();
  await use("boss-secret-key-1");
  await row(page, "Locked away").waitFor();
  await page.reload();
  await row(page, "Locked away").waitFor();
  const stored = await page.evaluate(() => JSON.stringify([localStorage, document.cookie]));
  assert.equal(stored, '[{},""]');
  const tab = await page.context().newPage();
  await tab.goto(`${own.url}/console`);
  await tab.getByText("This server requires a key.").waitFor();
  await page.getByRole("button", { name: "Forget the key" }).click();
  await page.getByText("This server requires a key.").waitFor();
  expectNoErrors(page);
});

// The time that the user takes to type must not count as time that the server took. The
// browser's clock advances by a millisecond for each poll here.
test("the page fills at once after a key was entered, however long that took", async (t) => {
  const own = await Holdfast.start(t, { API_KEYS: "boss:admin:boss-secret-key-1" });
  await own.event("Locked away", 5, "boss-secret-key-1");
  const page = await open(browser, `${own.url}/console`);
  await page.clock.install();
  await page.reload();
  await page.getByText("This server requires a key.").waitFor();
  await page.locator("#status").getByText("needs a key").waitFor();
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.getByLabel("Secret of a key").fill("boss-secret-key-1");
  await page.getByRole("button", { name: "Use this key" }).click();
  const shown = async (...wanted) => {
    await page.clock.runFor(1);
    return (await Promise.all(wanted.map((w) => w.isVisible()))).every(Boolean);
  };
  await until("the page fills", () => shown(row(page, "Locked away"), page.locator("#jobs tr").first(), page.locator("#status.good")));
  expectNoErrors(page);
});

test("with the keyboard alone: the focus stays while the page updates", async () => {
  const page = await open(browser, `${holdfast.url}/console`);
  await page.getByRole("button", { name: "Run now: lock-expiry" }).waitFor();
  const focused = () => page.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.textContent.trim());
  for (let i = 0; i < 80 && (await focused()) !== "Run now: lock-expiry"; i++) await page.keyboard.press("Tab");
  assert.equal(await focused(), "Run now: lock-expiry");
  const answers = () => page.waitForResponse((r) => r.url().endsWith("/api/admin/jobs"));
  await answers();
  await answers();
  assert.equal(await focused(), "Run now: lock-expiry");
  await page.keyboard.press("Enter");
  await until("the job has run", async () => {
    const said = await page.locator("#toast").textContent();
    if (/ already runs lock-expiry\.$/.test(said)) await page.keyboard.press("Enter"); // the worker's own run
    return /^lock-expiry completed/.test(said);
  });
  expectNoErrors(page);
});

test("events are listed page by page", async (t) => {
  const own = await Holdfast.start(t);
  for (let i = 1; i <= 23; i++) await own.event(`Numbered ${String(i).padStart(2, "0")}`, 10);
  const page = await open(browser, `${own.url}/console`);
  await row(page, "Numbered 23").waitFor();
  assert.equal(await page.locator("#events tr").count(), 20);
  await page.getByRole("button", { name: "Older" }).click();
  await row(page, "Numbered 01").waitFor();
  assert.equal(await page.locator("#events tr").count(), 3);
  assert.ok(await page.getByRole("button", { name: "Older" }).isDisabled());
  await page.getByRole("button", { name: "Newer" }).click();
  await row(page, "Numbered 23").waitFor();
  expectNoErrors(page);
});

test("a name is shown as text, even if it is long or contains markup", async (t) => {
  const own = await Holdfast.start(t);
  const markup = `<img src=x onerror="document.title='broken'">`;
  const event = await own.event(markup, 5);
  await own.event("W".repeat(200), 10_000_000);
  await own.lock(event, 1);
  for (const path of ["/console", "/demo"]) {
    const page = await open(browser, own.url + path, { viewport: { width: 390, height: 844 } });
    await page.getByText(markup).first().waitFor();
    if (path === "/demo") await page.getByRole("button", { name: "WWWW" }).click();
    await page.getByText("W".repeat(200)).last().waitFor();
    await fits(page);
    assert.match(await page.title(), /^Holdfast/);
    expectNoErrors(page);
  }
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe-core finds nothing, ${colorScheme}, on a desktop and on a phone; takes the screenshots`, async (t) => {
    const own = await Holdfast.start(t, { LOCK_EXPIRY_INTERVAL: "1h", BOOKING_EXPIRY_INTERVAL: "1h" });
    const opening = await own.event("Opening night", 400);
    const matinee = await own.event("Matinee", 120);
    const gala = await own.event("Gala", 60);
    for (const [event, sold, locked] of [[opening, 212, 31], [matinee, 37, 14], [gala, 58, 2]]) {
      await own.sell(event, sold);
      await own.lock(event, locked - 1, 100 + locked);
      await own.lock(event, 1, 30 + locked);
    }
    await own.ask("PATCH", `/api/events/${gala.id}`, { status: "CLOSED" });
    await own.ask("POST", "/api/admin/jobs/reconcile/run");
    const page = await open(browser, `${own.url}/console`, { colorScheme });
    await until("all events are shown", async () => (await number(page, "Opening night", "Sold")) === 212);
    await until("all jobs are shown", async () => (await page.locator("#jobs tr").count()) === 9);
    await until("the leader is shown", async () => /^worker-1\//.test(await page.locator("#leader").textContent()));
    await page.locator("#checks").evaluate((node) => node.closest("details").open = true);
    await accessible(page);
    await page.locator("#checks").evaluate((node) => node.closest("details").open = false);
    const end = await page.locator("#jobs").evaluate((node) => node.closest("section").getBoundingClientRect().bottom + scrollY);
    await page.setViewportSize({ width: 1280, height: Math.ceil(end) + 20 });
    await screenshot(page, `console-${colorScheme}`);
    await page.setViewportSize({ width: 390, height: 844 });
    await fits(page);
    await accessible(page);
    await screenshot(page, `console-${colorScheme}-phone`, { fullPage: true });
    expectNoErrors(page);
  });
}
