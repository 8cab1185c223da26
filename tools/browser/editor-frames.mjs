// Measures the plan editor in headless Chromium: scripts/browser editor-frames.mjs. In halls of several sizes it drags a block of 500
// seats, and all seats, and prints how long the page's main thread works for each frame, as frames.mjs does for the seat map. It tests
// nothing.

import { cpus } from "node:os";
import { at, frames, hall, trace } from "./frames.mjs";
import { Holdfast, browse } from "./harness.mjs";
import { at as place, editorOf, openEditor } from "./plan-editor.mjs";

const ends = [];
const t = { after: (end) => ends.push(end), afterEach() {} };

// dragAbout takes hold of a seat of the selection, moves it for some seconds, and lets it go.
async function dragAbout(page) {
  const [x, y] = await place(page, 12, 10);
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (const [dx, dy] of [[200, 100], [-150, 160], [100, 40], [-60, -60], [180, 90], [0, 0]]) {
    for (let i = 1; i <= 80; i++) {
      await page.mouse.move(x + (dx * i) / 80, y + (dy * i) / 80);
      await page.waitForTimeout(16);
    }
  }
}

try {
  const holdfast = await Holdfast.start(t);
  const browser = await browse(t);
  console.log(`${cpus()[0].model}, ${cpus().length} cores; headless Chromium ${browser.version()}, 1280 × 900`);
  for (const [seats, what] of [[800, "s0"], [20_000, "s0"], [20_000, "all"]]) {
    const plan = await holdfast.ask("POST", "/api/seating-plans", hall(seats));
    const page = await openEditor(browser, `${holdfast.url}/console#/edit-plan/${plan.id}`);
    await editorOf(page).evaluate((e, section) => {
      const chosen = section === "all" ? e.board.hall.ids : e.board.hall.ids.filter((id) => id.startsWith(`${section}-`));
      e.drawing.select(chosen);
      e.board.zoom(2);
      e.board.show({ x0: -10, y0: -10, x1: 40, y1: 30 });
    }, what);
    await page.waitForTimeout(2000);
    const events = await trace(page, () => dragAbout(page));
    const busy = frames(events);
    const cpu = frames(events.map((e) => ({ ...e, dur: e.tdur }))); // without the time that other processes had the core
    const dropped = await editorOf(page).evaluate((e) => new Promise((resolve) => {
      const start = performance.now();
      e.drawing.onChange(() => requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - start))));
      const up = new PointerEvent("pointerup", { pointerId: 1, clientX: 600, clientY: 400, bubbles: true });
      e.board.canvas.dispatchEvent(up);
    }));
    await page.mouse.up();
    console.log(`${plan.totalSeats ?? seats} seats, ${what === "all" ? "all" : "500"} dragged: work a frame of ${busy.length}: median ${at(busy, 0.5).toFixed(1)} ms, ` +
      `p99 ${at(busy, 0.99).toFixed(1)} ms, most ${busy.at(-1).toFixed(1)} ms; of the processor: median ${at(cpu, 0.5).toFixed(1)} ms, p99 ${at(cpu, 0.99).toFixed(1)} ms, most ${cpu.at(-1).toFixed(1)} ms; the frame of the drop ${dropped.toFixed(0)} ms`);
    await page.context().close();
  }
} finally {
  for (const end of ends.reverse()) await end();
}
