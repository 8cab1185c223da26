// 10,000 random gestures with all tools, keys and fields of the panel: after all undos the drawing is the one of the beginning. On the way
// the editor finds wrong what the server does.

import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { check } from "../../editor/src/check.js";
import { Holdfast, browse, expectNoErrors } from "./harness.mjs";
import { editorOf, openEditor, planOf } from "./plan-editor.mjs";

const holdfast = await Holdfast.start({ after });
const browser = await browse({ after, afterEach });
const gestures = 10_000;

test(`${gestures} random gestures, undone and done again`, async () => {
  const page = await openEditor(browser, `${holdfast.url}/console#/new-plan`, undefined, { viewport: { width: 1280, height: 900 } });
  const seed = Number(process.env.HOLDFAST_SEED ?? 7); // another one tries others
  console.log(`HOLDFAST_SEED=${seed}`);
  await editorOf(page).evaluate(play, { seed });
  const counts = { gestures: 0, changes: 0, most: 0, tools: new Set() };
  while (counts.gestures < gestures) {
    const some = await page.evaluate(() => window.playSome(500));
    for (const tool of some.tools) counts.tools.add(tool);
    counts.gestures += some.gestures;
    counts.changes += some.changes;
    counts.most = Math.max(counts.most, some.most);
    const plan = await planOf(page);
    const { problems } = await holdfast.ask("POST", "/api/admin/seating-plans/preview", { plan, seats: [] });
    assert.deepEqual(check(plan).map(({ where, what }) => ({ where, what })), problems, "the editor says what the server would");
  }
  console.log(`${counts.gestures} gestures made ${counts.changes} changes; at most ${counts.most} seats; ${[...counts.tools].sort().join(", ")}`);
  assert.ok(counts.changes > gestures / 10, "the gestures change something");
  assert.ok(counts.most > 50, "there are seats");
  assert.ok(counts.tools.size >= 12, "all tools are used");

  const { isFirst, isLast, undone } = await page.evaluate(() => window.undoAll());
  assert.ok(undone > gestures / 20, `${undone} steps`);
  assert.ok(isFirst, "undo leads to the plan of the beginning");
  assert.ok(isLast, "redo leads to the last plan");
  expectNoErrors(page);
});

// play prepares random gestures in the page: there a gesture takes some milliseconds.
function play(editor, { seed }) {
  let state = seed;
  const random = () => { // a number from 0 to 1, by mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const upTo = (n) => Math.floor(random() * n);
  const one = (list) => list[upTo(list.length)];
  const { drawing, root } = editor;
  const { canvas, node } = editor.board;
  canvas.setPointerCapture = () => {}; // only the browser's own pointers can be captured
  const first = drawing.plan;
  const size = canvas.getBoundingClientRect();
  const tools = [...root.querySelectorAll('[role="toolbar"][aria-label="Tools"] button')];
  const pointer = (type, [x, y], options) => canvas.dispatchEvent(new PointerEvent(type, {
    bubbles: true, cancelable: true, pointerId: 1, pointerType: "mouse", isPrimary: true, button: 0, clientX: size.left + x, clientY: size.top + y, ...options,
  }));
  const point = () => [20 + upTo(size.width - 40), 20 + upTo(size.height - 40)];
  const key = (name, options) => node.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, composed: true, ...options }));
  const withControl = (name, options) => key(name, { ctrlKey: true, ...options });
  const drag = () => {
    const modifiers = { shiftKey: random() < 0.2, altKey: random() < 0.2 };
    const from = point();
    const to = random() < 0.5 ? point() : from.map((v) => v + upTo(160) - 80);
    pointer("pointerdown", from, modifiers);
    for (const share of [0.3, 0.7, 1]) pointer("pointermove", from.map((v, i) => v + (to[i] - v) * share), modifiers);
    if (random() < 0.1) one([() => key("Escape"), () => withControl("z"), () => one(tools).click()])();
    pointer(random() < 0.05 ? "pointercancel" : "pointerup", to, modifiers);
  };
  const click = () => {
    const at = point();
    const times = random() < 0.2 ? 2 : 1;
    for (let n = 0; n < times; n++) {
      pointer("pointerdown", at);
      pointer("pointerup", at);
    }
    if (times === 2) canvas.dispatchEvent(new MouseEvent("dblclick", { bubbles: true, clientX: size.left + at[0], clientY: size.top + at[1] }));
  };
  const visible = (selector) => [...root.querySelectorAll(`.panel ${selector}`)].filter((e) => !e.disabled && e.offsetParent !== null);
  const field = () => {
    const input = one(visible("input:not([type=file]), select, textarea"));
    if (input === undefined) return;
    if (input.type === "checkbox") return input.click();
    if (input.tagName === "SELECT") input.value = one([...input.options].filter((o) => !o.hidden)).value;
    else if (input.type === "color") input.value = one(["#112233", "#aa5500"]);
    else if (input.type === "number" || input.type === "range") input.value = one(["", "0", "1", "2", "3", "5", "8", "-4", "1e9", "0.5"]);
    else input.value = one(["", "A", "Z", "9", "Left", "<b>x</b>", "https://example.org/1.jpg", "2, 4", "Ä ö".repeat(upTo(20))]);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    return input.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const button = () => { // of the panel; none that asks the server
    const found = one(visible("button:not([disabled])").filter((b) => !/server|Find out|picture/i.test(b.textContent)));
    found?.click();
  };
  const keys = () => one([
    () => key("Delete"), () => key("Escape"), () => key("Enter"), () => key("Backspace"), () => key(one(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]), { shiftKey: random() < 0.3 }),
    () => withControl("a"), () => withControl("c"), () => withControl("x"), () => withControl("v"), () => withControl("d"), () => withControl("z"), () => withControl("z"), () => withControl("y"),
  ])();
  const wheel = () => canvas.dispatchEvent(new WheelEvent("wheel", { bubbles: true, cancelable: true, deltaY: upTo(200) - 100, clientX: size.left + 300, clientY: size.top + 300 }));
  const used = new Map([[drag, 40], [click, 12], [() => one(tools).click(), 12], [keys, 16], [field, 12], [button, 6], [wheel, 2]]);
  const bag = [...used].flatMap(([gesture, times]) => Array(times).fill(gesture));

  window.playSome = async (n) => {
    const counts = { gestures: 0, changes: 0, most: 0, tools: new Set() };
    while (counts.gestures < n) {
      const before = drawing.plan;
      one(bag)();
      counts.gestures++;
      counts.tools.add(drawing.tool.name);
      if (drawing.plan !== before) counts.changes++;
      const seats = editor.totalSeats;
      if (seats < 10_000) counts.most = Math.max(counts.most, seats);
      if (editor.board.hall.seats > 400) { // small plans are quick, and have as many corners
        withControl("a");
        key("Delete");
      }
      if (counts.gestures % 20 === 0) await new Promise((done) => { setTimeout(done); });
    }
    return { ...counts, tools: [...counts.tools] };
  };
  window.undoAll = () => {
    key("Escape");
    while (drawing.history.redoName !== undefined) drawing.redo();
    const last = drawing.plan;
    let undone = 0;
    while (drawing.history.undoName !== undefined) {
      drawing.undo();
      undone++;
    }
    const isFirst = drawing.plan === first;
    while (drawing.history.redoName !== undefined) drawing.redo();
    return { isFirst, isLast: drawing.plan === last, undone };
  };
}
