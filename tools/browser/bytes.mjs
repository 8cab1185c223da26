// Measures what one listener of the seat map receives in headless Chromium while its hall of 60,000 seats is sold:
// scripts/browser bytes.mjs. The load is that of bench/sell.go: 2,000 locks a second of 1 to 4 named seats, as many
// releases, and half of both in the 20 sections next to the stage. The page, the API, MongoDB and the load share the
// machine, so it prints the rate that was achieved beside each figure, and tests nothing.

import { execFileSync, spawn } from "node:child_process";
import { cpus } from "node:os";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Holdfast, browse, open, until } from "./harness.mjs";

const rate = 2000;
const settle = 3000; // ms, after the map was moved: the first messages of its sections have come
const duration = 15_000; // ms, of one measurement

// views of the hall: a seat to look at, and how often to zoom in from there.
const views = [
  { name: "the whole hall, no seats in view" },
  { name: "seats of one section", seat: "312-20", zoom: 3 },
  { name: "seats of the busiest sections", seat: "350-20", zoom: -2 },
];

const root = fileURLToPath(new URL("../../", import.meta.url));
const ends = [];
const t = { after: (end) => ends.push(end) };

// load sells a hall until the end; state is what it said last.
async function load(holdfast) {
  execFileSync("go", ["build", "-o", ".build/", "./bench"], { cwd: root, stdio: "inherit" });
  const p = spawn(`${root}.build/bench`, ["sell", new URL(holdfast.url).host, String(rate)], { stdio: ["pipe", "pipe", "inherit"] });
  const state = {};
  const ended = new Promise((resolve) => { p.on("exit", resolve); });
  createInterface({ input: p.stdout }).on("line", (line) => Object.assign(state, JSON.parse(line)));
  t.after(() => {
    p.stdin.end();
    return ended;
  });
  await until("the hall is sold", () => state.released > 0);
  return state;
}

// receive counts what a page receives of the API's seats: in all, and what the stream has of it.
async function receive(page) {
  const client = await page.context().newCDPSession(page);
  const [streams, counted] = [new Map(), new Set()];
  const bytes = { all: 0, stream: 0, sections: 0 };
  client.on("Network.requestWillBeSent", ({ requestId, request }) => {
    const url = new URL(request.url);
    if (!/^\/api\/events\/\w+\/seats/.test(url.pathname)) return;
    counted.add(requestId);
    if (!url.pathname.endsWith("/stream")) return;
    streams.set(requestId, true);
    bytes.sections = url.searchParams.getAll("section").length;
  });
  // The encoded length has the framing of HTTP; the stream is not compressed, so it is never less than the data.
  client.on("Network.dataReceived", ({ requestId, dataLength, encodedDataLength }) => {
    if (!counted.has(requestId)) return;
    const length = Math.max(dataLength, encodedDataLength);
    bytes.all += length;
    if (streams.has(requestId)) bytes.stream += length;
  });
  await client.send("Network.enable");
  return bytes;
}

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

try {
  const holdfast = await Holdfast.start(t);
  const browser = await browse(t);
  const sold = await load(holdfast);
  console.log(`${cpus()[0].model}, ${cpus().length} cores; headless Chromium ${browser.version()}, 1280 × 900; ${rate} locks a second asked for`);
  const user = await holdfast.user();
  const page = await open(browser, `${holdfast.url}/demo/examples?event=`);
  const bytes = await receive(page);
  const map = page.locator("#first");
  await map.evaluate((e, { event, id }) => { e.setAttribute("user", id); e.setAttribute("event", event); }, { event: sold.event, id: user.id });
  await until("the map is drawn", () => map.evaluate((e) => e.locks !== undefined && e.shadowRoot.querySelector("canvas") !== null));
  for (const { name, seat, zoom = 0 } of views) {
    if (seat !== undefined) await map.evaluate((e, id) => e.showSeat(id), seat);
    for (let n = 0; n < Math.abs(zoom); n++) await map.getByRole("button", { name: zoom > 0 ? "Zoom in" : "Zoom out" }).click();
    await pause(settle);
    const [before, began] = [{ ...bytes, ...sold }, performance.now()];
    await pause(duration);
    const seconds = (performance.now() - began) / 1000;
    const per = (n) => `${(n / seconds / 1000).toFixed(1)} kB/s`;
    const locks = (sold.granted - before.granted) / (sold.seconds - before.seconds);
    const releases = (sold.released - before.released) / (sold.seconds - before.seconds);
    console.log(`${name}: ${per(bytes.all - before.all)}, of which ${per(bytes.stream - before.stream)} by the stream, with ${bytes.sections} sections; ` +
      `${Math.round(locks)} locks and ${Math.round(releases)} releases a second were granted, ${sold.failed - before.failed} requests failed`);
    await page.screenshot({ path: `${root}.build/images/bytes-${bytes.sections}.png` });
  }
} finally {
  for (const end of ends.reverse()) await end();
}
