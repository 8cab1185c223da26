// Measures the seat map in headless Chromium: scripts/browser frames.mjs. For each size of hall: the time until the
// map is drawn, and how long the page's main thread works for each frame (script, layout, paint, and drawing the
// canvas, all in one) while the map is zoomed and moved. Figures depend on the machine: it prints them, and tests nothing.

import { cpus } from "node:os";
import { Holdfast, browse, open, until } from "./harness.mjs";

const ends = [];
const t = { after: (end) => ends.push(end), afterEach() {} }; // pages are closed below

// hall is a plan of sections of 20 rows of 25 seats, ten side by side, without one position left out.
export function hall(seats) {
  const [rows, across] = [20, 25];
  const sections = [];
  for (let n = 0; n < seats / (rows * across); n++) {
    const [left, top] = [(n % 10) * (across + 4), Math.floor(n / 10) * (rows + 4)];
    sections.push({
      key: `s${n}`, name: `Section ${n + 1}`, category: ["near", "middle", "far"][Math.min(2, Math.floor(n / 14))],
      rows: Array.from({ length: rows }, (_, r) => ({
        key: String(r + 1), seats: Array.from({ length: across }, (__, i) => ({ id: `s${n}-${r + 1}-${i + 1}`, label: String(i + 1), x: left + i, y: top + r })),
      })),
    });
  }
  return {
    name: `Hall of ${seats}`, focalPoint: { x: 140, y: -10 }, sections,
    categories: [{ key: "near", name: "Near", color: "#7a1f3d" }, { key: "middle", name: "Middle", color: "#0b5d66" }, { key: "far", name: "Far", color: "#4a5a8c" }],
  };
}

export const at = (list, share) => list[Math.min(list.length - 1, Math.floor(list.length * share))];

// frames are the times that the main thread has worked, from one frame to the next, in ms.
export function frames(events) {
  const main = events.find((e) => e.name === "thread_name" && e.args.name === "CrRendererMain" && events.some((o) => o.pid === e.pid && o.name === "FireAnimationFrame"));
  const ours = events.filter((e) => e.pid === main.pid && e.tid === main.tid);
  const starts = ours.filter((e) => e.name === "FireAnimationFrame").map((e) => e.ts).sort((a, b) => a - b);
  const tasks = ours.filter((e) => e.name === "RunTask" && e.dur > 0);
  const busy = starts.map(() => 0);
  let n = 0;
  for (const task of tasks.sort((a, b) => a.ts - b.ts)) { // a task belongs to the frame that begins in it, or to the last one
    while (n + 1 < starts.length && starts[n + 1] <= task.ts + task.dur) n++;
    // What begins later than two frames after the last one is of none: the map rests, as while the wheel turns and there is no further to zoom.
    if (starts[n] <= task.ts + task.dur && task.ts - starts[n] < 33_000) busy[n] += task.dur / 1000;
  }
  return busy.sort((a, b) => a - b);
}

export async function trace(page, work) {
  const client = await page.context().newCDPSession(page);
  const events = [];
  client.on("Tracing.dataCollected", ({ value }) => events.push(...value));
  await client.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["devtools.timeline", "toplevel", "disabled-by-default-devtools.timeline"] } });
  await work();
  const complete = new Promise((resolve) => { client.once("Tracing.tracingComplete", resolve); });
  await client.send("Tracing.end");
  await complete;
  return events;
}

// move zooms in and out by the wheel, and drags the map about.
async function move(page, box) {
  await page.locator("holdfast-seats .cursor").first().focus(); // the wheel zooms a map that has the focus
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.move(x, y);
  for (const direction of [-40, 40, -40]) {
    for (let i = 0; i < 45; i++) {
      await page.mouse.wheel(0, direction);
      await page.waitForTimeout(16);
    }
  }
  for (const [dx, dy] of [[300, 120], [-300, -200], [200, 200]]) {
    await page.mouse.move(x, y);
    await page.mouse.down();
    for (let i = 1; i <= 40; i++) {
      await page.mouse.move(x + (dx * i) / 40, y + (dy * i) / 40);
      await page.waitForTimeout(16);
    }
    await page.mouse.up();
  }
}

if (import.meta.filename === process.argv[1]) try {
  const holdfast = await Holdfast.start(t);
  const browser = await browse(t);
  console.log(`${cpus()[0].model}, ${cpus().length} cores; headless Chromium ${browser.version()}, 1280 × 900`);
  for (const seats of [800, 20_000, 100_000]) {
    const plan = await holdfast.ask("POST", "/api/seating-plans", hall(seats));
    const event = await holdfast.ask("POST", "/api/events", { name: plan.name, seatingPlanId: plan.id, eventDate: "2027-06-15T19:00:00Z" });
    const user = await holdfast.user();
    const page = await open(browser, `${holdfast.url}/demo/examples?event=${event.id}&user=${user.id}`);
    const map = page.locator("holdfast-seats").first();
    await until("the map is drawn", () => map.evaluate((e) => e.locks !== undefined && e.shadowRoot.querySelector("canvas") !== null && performance.getEntriesByName("holdfast-drawn").length > 0));
    const drawn = await page.evaluate(() => performance.getEntriesByName("holdfast-drawn")[0].startTime);
    const box = await map.locator("canvas").first().boundingBox();
    const busy = frames(await trace(page, () => move(page, box)));
    console.log(`${seats} seats: drawn ${Math.round(drawn)} ms after the navigation began; work a frame of ${busy.length}: median ${at(busy, 0.5).toFixed(1)} ms, ` +
      `p99 ${at(busy, 0.99).toFixed(1)} ms, most ${busy.at(-1).toFixed(1)} ms`);
    await page.context().close();
  }
} finally {
  for (const end of ends.reverse()) await end();
}
