// What the browser tests share: a browser, and for each test its own API and worker on
// its own database.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const root = fileURLToPath(new URL("../../", import.meta.url));
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

function need(name, what) {
  const value = process.env[name];
  assert.ok(value, `${name} is not set: ${what}`);
  return value;
}

// The runner fails a file for an unhandled rejection outside its tests, but shows no stack, and among the failures no cause.
process.on("unhandledRejection", (error) => {
  console.error("Unhandled rejection:", error?.stack ?? error);
  process.exitCode = 1;
});

const mongodb = need("HOLDFAST_TEST_MONGODB_URI", "run scripts/test, which starts a MongoDB");

// Holdfast runs the programs of .build on a new database.
export class Holdfast {
  processes = [];
  log = "";

  // start runs until the test t ends, or until the end of the file if t is { after }.
  static async start(t, settings = {}) {
    const h = new Holdfast();
    t.after(() => h.stop());
    h.environment = {
      ...process.env, MONGODB_URI: mongodb, MONGODB_DATABASE: `holdfast_browser_${randomBytes(6).toString("hex")}`,
      HTTP_ADDR: "127.0.0.1:0", SHUTDOWN_DELAY: "0s", LOCK_EXPIRY_INTERVAL: "1s", BOOKING_EXPIRY_INTERVAL: "1s", LOG_FORMAT: "json", DEMO: "true", ...settings,
    };
    h.worker = { METRICS_ADDR: "127.0.0.1:0", POD_NAME: "worker-1" };
    h.run("api", { POD_NAME: "api-1" });
    const listening = /"Listening","addr":"(.+?)"/;
    await until("the API listens", () => listening.test(h.log));
    h.environment.HTTP_ADDR = listening.exec(h.log)[1];
    h.url = `http://${h.environment.HTTP_ADDR}`;
    await until("the API serves", async () => (await fetch(`${h.url}/readyz`)).ok);
    h.run("worker", h.worker);
    return h;
  }

  run(program, settings) {
    const p = spawn(`${root}.build/${program}`, [], { env: { ...this.environment, ...settings }, stdio: ["ignore", "ignore", "pipe"] });
    p.stderr.on("data", (text) => { this.log += text; });
    p.program = program;
    this.processes.push(p);
    return p;
  }

  async end(program, signal = "SIGTERM") {
    await Promise.all(this.processes.filter((p) => p.program === program).map((p) => new Promise((resolve) => {
      if (p.exitCode !== null || p.signalCode !== null) return resolve();
      p.on("exit", resolve);
      p.kill(signal);
    })));
    this.processes = this.processes.filter((p) => p.program !== program);
  }

  async stop() {
    await this.end("worker");
    await this.end("api");
  }

  // ask calls the API as the back end of a shop does.
  async ask(method, path, body, secret) {
    const response = await fetch(this.url + path, {
      method, body: body && JSON.stringify(body),
      headers: { "Content-Type": "application/json", ...(secret && { Authorization: `Bearer ${secret}` }) },
    });
    const answer = await response.json();
    assert.ok(response.ok, `${method} ${path}: ${JSON.stringify(answer)}`);
    return answer;
  }

  event(name, totalSeats, secret) {
    return this.ask("POST", "/api/events", { name, totalSeats, eventDate: "2027-06-15T19:00:00Z" }, secret);
  }

  async user(secret) {
    const name = randomBytes(6).toString("hex");
    return this.ask("POST", "/api/users", { name, email: `${name}@example.com` }, secret);
  }

  async lock(event, seats, ttlSeconds = 600, secret = undefined) {
    const user = await this.user(secret);
    return this.ask("POST", "/api/locks", { eventId: event.id, userId: user.id, seats, ttlSeconds }, secret);
  }

  async sell(event, seats) {
    const lock = await this.lock(event, seats);
    const request = { userId: lock.userId, eventId: event.id, lockId: lock.id, paymentTtlSeconds: 600 };
    const booking = await this.ask("POST", "/api/bookings", request);
    return this.ask("POST", `/api/bookings/${booking.id}/confirm`, {});
  }
}

// gate returns a promise and the function that fulfils it.
export function gate() {
  let pass;
  return [new Promise((resolve) => { pass = resolve; }), pass];
}

// answersLate lets the next read of a URL be answered late: begin returns once the server has answered it, end lets the page
// have the answer, and returns once the page has worked on it.
export async function answersLate(page, url) {
  const [[isRead, read], [mayAnswer, answer]] = [gate(), gate()];
  let isLate = false;
  await page.route(url, async (route) => {
    if (!isLate) return route.continue();
    isLate = false;
    const response = await route.fetch();
    read();
    await mayAnswer;
    return route.fulfill({ response });
  });
  return {
    async begin() {
      isLate = true;
      await isRead; // by the next poll
    },
    async end() {
      const late = page.waitForResponse(url);
      answer();
      await (await late).finished();
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
    },
  };
}

// until polls holds until it returns true; the test fails after a minute.
export async function until(what, holds) {
  const deadline = Date.now() + 60_000;
  let last = "";
  while (Date.now() < deadline) {
    try {
      if (await holds()) return;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail(`${what}: not within 60 s ${last}`);
}

// browse starts the Chromium of this machine. It closes all pages after each test, while the servers that they poll still run:
// a rejection in a handler of page.route fails the file, even after all its tests have passed.
export async function browse(t) {
  const executablePath = need("HOLDFAST_TEST_CHROMIUM", "scripts/test finds or installs one");
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  t.afterEach(() => Promise.all(browser.contexts().map(closePages)));
  t.after(() => browser.close());
  return browser;
}

async function closePages(context) {
  await Promise.all(context.pages().map((page) => page.unrouteAll({ behavior: "ignoreErrors" })));
  await context.close();
}

// open loads a page in a new profile. It records errors of the page, violations of its
// Content-Security-Policy and requests to other hosts, for expectNoErrors.
export async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  page.errors = [];
  page.on("pageerror", (error) => page.errors.push(String(error)));
  page.on("console", (message) => {
    // The browser logs this for every response that is not a success.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.errors.push(message.text());
  });
  page.foreignRequests = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(url).origin)) page.foreignRequests.push(request.url());
  });
  await page.goto(url);
  return page;
}

// expectNoErrors fails the test if the page reported an error, or sent a request to another host.
export function expectNoErrors(page) {
  assert.deepEqual(page.errors, []);
  assert.deepEqual(page.foreignRequests, []);
}

// accessible runs axe-core. It is evaluated through the debugger, because the pages'
// Content-Security-Policy allows no further scripts.
export async function accessible(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const found = violations.map((v) => `${v.impact}: ${v.id}: ${v.nodes.map((n) => n.html).join(" | ")}`);
  assert.deepEqual(found, []);
}

// fits fails the test if the page is wider than the screen.
export async function fits(page) {
  const { width, seen } = await page.evaluate(() => ({ width: document.documentElement.scrollWidth, seen: innerWidth }));
  assert.ok(width <= seen, `the page is ${width} px wide on a screen of ${seen} px`);
}

// screenshot writes a picture to .build/images. With HOLDFAST_UPDATE_IMAGES set, pictures of
// the desktop go to docs/images, where the README shows them.
export async function screenshot(page, name, options = {}) {
  const isInDocs = existsSync(`${root}docs/images/${name}.png`);
  const folder = process.env.HOLDFAST_UPDATE_IMAGES && isInDocs ? `${root}docs/images` : `${root}.build/images`;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png`, ...options });
}
