// What is seen of the map, and how it is moved: names, gestures, the wheel, forced colors, and two maps on a page.

import assert from "node:assert/strict";
import { test } from "node:test";
import { captionOf, nameOf } from "../../picker/src/captions.js";
import { drawShape } from "../../picker/src/decorations.js";
import { Hall } from "../../picker/src/hall.js";
import { rowLabels } from "../../picker/src/rows.js";
import { accessible, expectNoErrors, screenshot, until } from "./harness.mjs";
import { chosen, click, file, held, holdfast, holds, positionOf, sell, show, studio } from "./picker.mjs";

const hallOf = async (plan) => {
  const { id } = await holdfast.ask("POST", "/api/seating-plans", plan);
  return new Hall(await holdfast.ask("GET", `/api/seating-plans/${id}`));
};

// isIn is the rule of even and odd crossings.
function isIn(outline, x, y) {
  let is = false;
  for (let i = 0, j = outline.length - 2; i < outline.length; j = i, i += 2) {
    const [xi, yi, xj, yj] = [outline[i], outline[i + 1], outline[j], outline[j + 1]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) is = !is;
  }
  return is;
}

// pen measures texts as a canvas does, in a font of letters of the same width.
const pen = {
  font: "", get size() { return Number(/([\d.]+)px/.exec(this.font)[1]); },
  measureText(text) { return { width: 0.6 * this.size * [...text].length }; },
};

test("captions of sections stay inside of their outlines, at any zoom, and a name that is too long is cut", async () => {
  const plan = JSON.parse(file("seats/planfile/examples/arena.json"));
  plan.sections.find((s) => s.key === "213").name = "An-exceptionally-long-name-without-a-space";
  const hall = await hallOf(plan);
  let [cut, shortened, turned] = [0, 0, 0];
  for (const scale of [1, 2, 3, 5, 8, 12]) {
    for (const s of hall.sections) {
      const caption = captionOf(pen, s, "340 free", { scale, ratio: 1, font: "sans-serif", widths: new Map() });
      if (caption.angle !== 0) turned++;
      if (scale >= 8) assert.ok(caption.lines.length > 0, `${s.name} has no caption at ${scale}`);
      for (const { text, font, dy } of caption.lines) {
        pen.font = font;
        const [w, h] = [pen.measureText(text).width / 2 / scale, (0.5 * pen.size) / scale];
        const [cos, sin] = [Math.cos(caption.angle), Math.sin(caption.angle)];
        for (const x of [-w, w]) for (const y of [dy / scale - h, dy / scale + h]) {
          assert.ok(isIn(s.outline, caption.x + x * cos - y * sin, caption.y + x * sin + y * cos), `${text} runs out of ${s.name} at ${scale}`);
        }
        if (text.endsWith("…")) cut++;
        if (text === s.short && text !== s.name) shortened++;
      }
    }
  }
  assert.ok(cut > 0 && shortened > 0 && turned > 0, `${cut} were cut, ${shortened} shortened, and ${turned} turned`);
});

test("a large area that sells one by one keeps the widths of few counts", async () => {
  const hall = await hallOf(JSON.parse(file("seats/planfile/examples/arena.json")));
  const area = hall.sections.find((s) => s.capacity > 0);
  const view = { scale: 8, ratio: 1, font: "sans-serif", widths: new Map() };
  const caption = (n) => captionOf(pen, area, `${n.toLocaleString("en")} free`, view);
  const first = caption(20_000);
  for (let n = 20_000; n > 0; n--) caption(n);
  assert.ok(view.widths.size <= 5000, `${view.widths.size} are kept`);
  assert.deepEqual(caption(20_000), first);
});

// writtenOn records the texts that are written on the map when it is redrawn.
const writtenOn = (map) => map.evaluate(async (e) => {
  const draw = CanvasRenderingContext2D.prototype;
  const { fillText } = draw;
  const texts = new Set();
  draw.fillText = function (text, ...at) {
    texts.add(text);
    return fillText.call(this, text, ...at);
  };
  e.setAttribute("theme", e.getAttribute("theme") === "dark" ? "light" : "dark");
  for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
  Object.assign(draw, { fillText });
  return [...texts];
});

test("sections of one name have captions of one kind on a phone, narrow ones too", async () => {
  const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true };
  for (const [plan, captions] of [["arena", Array.from({ length: 20 }, (_, n) => [String(101 + n), String(201 + n)]).flat()], ["theatre", ["Boxes, left", "Boxes, right"]]]) {
    const { page, map } = await show(await sell(JSON.parse(file(`seats/planfile/examples/${plan}.json`))), {}, phone);
    const written = (await writtenOn(map)).filter((text) => /^(Block |Boxes, )?(\d{3}|left|right)$/.test(text));
    assert.deepEqual(written.sort(), captions.sort(), plan);
    await page.context().close();
  }
});

test("what the hall looks at is drawn at its edge if it is far away: the seats still fill the map", async () => {
  const near = await hallOf(studio());
  const far = await hallOf(studio({ focalPoint: { x: -4000, y: 90_000 } }));
  const across = (hall) => Math.max(hall.box.x1 - hall.box.x0, hall.box.y1 - hall.box.y0);
  assert.ok(across(far) < 3 * across(near), `${across(far)} and ${across(near)}`);
  assert.ok(far.stage.y0 > Math.max(...far.sections.map((s) => s.box.y1)) && far.stage.x1 < near.box.x0 + across(near) / 2, "it is where the focal point is");
});

// namesOf records names that are drawn on the map, with their places in pixels of the map.
const namesOf = (map) => map.evaluate(async (e) => {
  const canvas = e.shadowRoot.querySelector("canvas");
  const draw = CanvasRenderingContext2D.prototype;
  const { fillText, drawImage } = draw;
  const [texts, names] = [new WeakMap(), new Map()];
  draw.fillText = function (text, ...at) {
    texts.set(this.canvas, text);
    return fillText.call(this, text, ...at);
  };
  draw.drawImage = function (image, x, y, ...size) {
    if (this.canvas === canvas && image.height < 60 && texts.has(image)) names.set(texts.get(image), { x, y, width: image.width, height: image.height });
    return drawImage.call(this, image, x, y, ...size);
  };
  e.setAttribute("theme", e.getAttribute("theme") === "dark" ? "light" : "dark"); // everything is redrawn
  for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
  Object.assign(draw, { fillText, drawImage });
  return { names: Object.fromEntries(names), width: canvas.width, height: canvas.height };
});

test("a section's name is on the map while its seats are drawn, also when its top is out of view", async () => {
  const event = await sell(JSON.parse(file("seats/planfile/examples/arena.json")));
  const { page, map } = await show(event);
  assert.deepEqual((await namesOf(map)).names, {}, "from far away there are captions");
  for (const seat of ["101-A-3", "101-S-3"]) {
    await positionOf(map, seat);
    await map.getByRole("button", { name: "Zoom in" }).click();
    await map.getByRole("button", { name: "Zoom in" }).click();
    await positionOf(map, seat);
    const { names, width, height } = await namesOf(map);
    const name = names["Block 101"];
    assert.ok(name !== undefined, `${seat}: ${JSON.stringify(names)}`);
    assert.ok(name.x >= 0 && name.y >= 0 && name.x + name.width <= width && name.y + name.height <= height, JSON.stringify(name));
  }
  expectNoErrors(page);
});

for (const viewport of [{ width: 1280, height: 900 }, { width: 390, height: 844 }]) {
  test(`the best available seats are shown among the other seats of their section, ${viewport.width} pixels wide`, async () => {
    const { page, map } = await show(await sell(JSON.parse(file("seats/planfile/examples/arena.json"))), {}, { viewport });
    await map.evaluate((e) => e.best(4));
    // The least share of a quarter of the map that has a color.
    const least = () => map.evaluate((e) => {
      const canvas = e.shadowRoot.querySelector("canvas");
      const [width, height] = [canvas.width >> 1, canvas.height >> 1];
      return Math.min(...[[0, 0], [width, 0], [0, height], [width, height]].map((at) => {
        const pixels = new Uint32Array(canvas.getContext("2d").getImageData(...at, width, height).data.buffer);
        return pixels.filter((p) => p !== 0xffffffff).length / pixels.length;
      }));
    });
    await until("seats are in all quarters of the map", async () => {
      const share = await least();
      if (share > 0.3) return true;
      throw new Error(`a quarter is empty but for ${share}`);
    });
    expectNoErrors(page);
  });
}

test("labels of rows are at their ends and on no seat, from the zoom at which a seat is shown", async () => {
  const { page, map } = await show(await sell(JSON.parse(file("seats/planfile/examples/arena.json"))));
  await positionOf(map, "101-A-3");
  const written = await writtenOn(map);
  for (const row of ["A", "B", "C"]) assert.ok(written.includes(row), `${row} is not among ${written}`);
  for (const plan of ["arena", "theatre"]) {
    const hall = await hallOf(JSON.parse(file(`seats/planfile/examples/${plan}.json`)));
    const { labels, grid } = rowLabels(hall);
    const named = new Set(labels.map((l) => `${l.section.key} ${l.text}`));
    for (const row of hall.rows) if (row.adjacency !== "ALL") assert.ok(named.has(`${row.section.key} ${row.label.replace("Row ", "")}`), `${row.label} of ${row.section.name} in ${plan}`);
    labels.forEach((_, n) => assert.equal(hall.grid.nearest(grid.x[n], grid.y[n], 0.9 * hall.spacing), -1, `${plan}: a label is on a seat`));
  }
  expectNoErrors(page);
});

test("the number of a table is in its middle", async () => {
  const seat = (id, [x, y]) => ({ id, label: id, x, y });
  const table = (label, places) => {
    const key = label.replace(" ", "-");
    return { key, label, adjacency: "ALL", seats: places.map((at, i) => seat(`${key}-${i}`, at)) };
  };
  const angles = Array.from({ length: 8 }, (_, i) => (i * Math.PI) / 4);
  const round = (cx) => angles.map((a) => [cx + 1.3 * Math.sin(a), -1.3 * Math.cos(a)]);
  const long = [[17, -1], [18, -1], [19, -1], [20, 0], [19, 1], [18, 1], [17, 1], [16, 0]];
  const seven = Array.from({ length: 7 }, (_, i) => [28 + 1.2 * Math.sin((i * 2 * Math.PI) / 7), -1.2 * Math.cos((i * 2 * Math.PI) / 7)]);
  const rows = [table("Table 12", round(0)), table("Table B", round(8)), table("Long 3", long), table("Table 7", seven)];
  const hall = await hallOf({ name: "Tables", categories: [{ key: "c", name: "C" }], sections: [{ key: "s", name: "S", category: "c", rows }] });
  const { labels, grid } = rowLabels(hall);
  const written = labels.map(({ text }, n) => `${text} at ${Math.round(grid.x[n])}`);
  assert.deepEqual(written, ["12 at 0", "B at 8", "3 at 18", "7 at 28"]);
  assert.ok(grid.y.every((y) => Math.abs(y) < 0.01));
});

test("the outline of a pillar stands out from the floor of a section", () => {
  const colors = { line: "#d1d5db", soft: "#4b5563", ink: "#111827" };
  const strokes = [];
  const nothing = () => {};
  const c = { save: nothing, beginPath: nothing, lineTo: nothing, closePath: nothing, fill: nothing, restore: nothing, stroke() { strokes.push(c.strokeStyle); } };
  drawShape(c, { kind: "area", outline: [0, 0, 1, 0, 1, 1] }, { x: (v) => v, y: (v) => v, ratio: 1, colors });
  assert.deepEqual(strokes, [colors.soft]);
});

test("the names of sections lie on no seat, label of a row or edge, where seats are drawn at a slant too", async () => {
  const hall = await hallOf(JSON.parse(file("seats/planfile/examples/arena.json")));
  for (const apart of [11, 16, 23, 32]) { // pixels between two seats
    const scale = apart / hall.spacing;
    const painter = { hall, ratio: 1, colors: { font: "sans-serif" }, context: pen, pictures: { get: () => ({}) }, isShown: () => true, rowLabels: rowLabels(hall) };
    for (const s of hall.sections) {
      const { x, y, dy } = nameOf(painter, { scale }, s);
      pen.font = "13px sans-serif";
      const [w, h, middle] = [pen.measureText(s.name).width / 2 / scale, pen.size / 2 / scale, y + dy / scale];
      const corners = [-w, w].flatMap((by) => [-h, h].map((down) => isIn(s.outline, x + by, middle + down)));
      assert.equal(new Set(corners).size, 1, `${s.name} lies across its edge at ${apart}`);
      if (apart >= 16) rowLabels(hall).grid.each(x - w, middle - h, x + w, middle + h, () => assert.fail(`${s.name} lies on the label of a row at ${apart}`));
      for (let i = 0; i < hall.seats; i++) {
        assert.ok(Math.abs(hall.x[i] - x) > w || Math.abs(hall.y[i] - middle) > h, `${s.name} lies on the seat ${hall.ids[i]} at ${apart}`);
      }
    }
  }
});

test("on a page that enlarges the map, the seat under the pointer is the one that is clicked", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event);
  for (const [n, style] of ["zoom: 2", "transform: scale(0.7)"].entries()) {
    await map.evaluate((e, text) => { e.style.cssText = text; }, style);
    await click(map, `A-2-${n + 2}`);
    await until("the seat is chosen", async () => (await chosen(map)).includes(`A-2-${n + 2}`));
  }
  expectNoErrors(page);
});

const scrolled = (page) => page.evaluate(() => scrollY);
const place = (map) => map.locator(".cursor").boundingBox();
const middle = async (map) => {
  const box = await map.locator("canvas").first().boundingBox();
  return [box.x + box.width / 2, box.y + box.height / 2, box];
};
const isSame = (a, b) => Math.abs(a.x - b.x) < 1 && Math.abs(a.y - b.y) < 1;

test("the wheel scrolls the page over the whole hall; it zooms with Ctrl, after a click, and once zoomed in", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, {}, { viewport: { width: 1280, height: 600 } });
  await map.evaluate((e) => { e.style.marginBottom = "3000px"; e.shadowRoot.querySelector(".map").scrollIntoView(); });
  let [x, y] = await middle(map);
  await page.mouse.move(x, y);
  const offset = async () => { // of the cursor in the map
    const [, , box] = await middle(map);
    const at = await place(map);
    return { x: at.x - box.x, y: at.y - box.y };
  };
  const before = await offset();
  const from = await scrolled(page);
  await page.mouse.wheel(0, 120);
  await until("the page scrolls", async () => (await scrolled(page)) > from);
  await map.locator(".toast").getByText("hold Ctrl").waitFor();
  assert.ok(isSame(await offset(), before), "the map stays");
  await map.evaluate((e) => e.shadowRoot.querySelector(".map").scrollIntoView());
  const at = await scrolled(page);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await until("Ctrl zooms", async () => !isSame(await offset(), before));
  await page.keyboard.up("Control");
  const near = await offset();
  await page.waitForTimeout(500); // a new turn of the wheel
  await page.mouse.wheel(0, -120);
  await until("a map that is zoomed in takes the wheel", async () => !isSame(await offset(), near));
  assert.equal(await scrolled(page), at);
  await map.getByRole("button", { name: "Whole hall" }).click();
  await until("the whole hall is back", async () => isSame(await offset(), before));
  await map.evaluate((e) => e.shadowRoot.querySelector(".map").scrollIntoView());
  [x, y] = await middle(map);
  await page.mouse.click(x + 300, y + 150); // where nothing is
  await page.evaluate(() => document.activeElement.blur());
  await page.waitForTimeout(500);
  await page.mouse.wheel(0, -120);
  await until("a map that was clicked takes the wheel", async () => !isSame(await offset(), before));
  assert.equal(await scrolled(page), at);
  expectNoErrors(page);
});

test("a phone's page scrolls by a swipe over the whole hall; zoomed in, the swipe moves the map; two fingers always zoom", async () => {
  const event = await sell(studio());
  const { page, map } = await show(event, {}, { viewport: { width: 390, height: 700 }, hasTouch: true, isMobile: true });
  await map.evaluate((e) => { e.style.marginBottom = "3000px"; e.shadowRoot.querySelector(".map").scrollIntoView(); });
  const client = await page.context().newCDPSession(page);
  const swipe = async (by) => {
    const [x, y] = await middle(map);
    await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
    for (let n = 1; n <= 8; n++) {
      await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x, y: y + (by * n) / 8 }] });
      await page.waitForTimeout(16);
    }
    await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await page.waitForTimeout(300);
  };
  const offset = async () => {
    const [, , box] = await middle(map);
    const at = await place(map);
    return { x: at.x - box.x, y: at.y - box.y };
  };
  const [whole, from] = [await offset(), await scrolled(page)];
  await swipe(-150);
  await until("the page scrolls", async () => (await scrolled(page)) > from + 50);
  assert.ok(isSame(await offset(), whole), "the map stays");
  await map.evaluate((e) => e.shadowRoot.querySelector(".map").scrollIntoView());
  const at = await scrolled(page);
  const pinch = async (first, last) => {
    const [x, y] = await middle(map);
    const fingers = (apart, dy) => [{ x: x - 20, y: y - apart + dy, id: 1 }, { x: x + 20, y: y + apart + dy, id: 2 }];
    await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(first, 0) });
    for (let n = 1; n <= 8; n++) {
      await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(first + ((last - first) * n) / 8, -8 * n) });
      await page.waitForTimeout(16);
    }
    await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await page.waitForTimeout(300);
  };
  await pinch(30, 100);
  await until("two fingers zoom", async () => !isSame(await offset(), whole));
  await page.waitForTimeout(300);
  const near = await offset();
  assert.equal(await scrolled(page), at, "and the page stays");
  await swipe(-60);
  assert.equal(await scrolled(page), at);
  await until("the map moves with the finger", async () => Math.abs((await offset()).y - near.y + 60) < 12);
  assert.deepEqual(await chosen(map), []);
  expectNoErrors(page);
});

test("a small hall that is shown whole stays whole when the window becomes a quarter as wide", async () => {
  const event = await sell(studio());
  const narrow = { viewport: { width: 320, height: 700 } };
  const { page, map } = await show(event, {}, { viewport: { width: 1280, height: 700 } });
  await page.setViewportSize(narrow.viewport);
  const fresh = await show(event, {}, narrow);
  await until("it is drawn as on a page that was narrow from the start", async () => {
    const [is, box] = [await place(map), await map.locator("canvas").first().boundingBox()];
    const [wanted, freshBox] = [await place(fresh.map), await fresh.map.locator("canvas").first().boundingBox()];
    return isSame({ x: is.x - box.x, y: is.y - box.y }, { x: wanted.x - freshBox.x, y: wanted.y - freshBox.y });
  });
  expectNoErrors(page);
});

test("a click on a section shows it and keeps the focus on it, a double click too: no seat is chosen", async () => {
  const event = await sell(JSON.parse(file("seats/planfile/examples/arena.json")));
  const { page, map } = await show(event);
  await map.evaluate((e) => e.shadowRoot.querySelector(".map").scrollIntoView());
  const focused = () => map.evaluate((e) => e.shadowRoot.activeElement?.textContent);
  const [x, y, box] = await middle(map);
  for (const clicks of [1, 2]) {
    await page.mouse.click(x - 0.23 * box.width, y, { clickCount: clicks, delay: 5 });
    await until("the section is near", async () => Object.keys((await namesOf(map)).names).includes("Block 115"));
    assert.match(await focused(), /^Block 115, 340 free/);
    assert.deepEqual([await chosen(map), await held(map)], [[], []]);
    await page.keyboard.press("Enter");
    assert.match(await focused(), /^Block 115, row A, seat \d+, .*available$/);
    await page.keyboard.press("Escape");
    assert.match(await focused(), /^Block 115, 340 free/);
    assert.deepEqual(await chosen(map), []);
    await page.waitForTimeout(500);
  }
  expectNoErrors(page);
});

test("forced colors: free, taken, chosen and focused seats can be told apart, in the map and in the list", async () => {
  const event = await sell(studio());
  const other = await holdfast.user();
  await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: other.id, seatIds: ["A-1-3"] });
  const { page, map } = await show(event, { theme: "dark" }, { forcedColors: "active" });
  await map.evaluate((e) => { e.style.setProperty("--holdfast-mine", "#808080"); }); // the system's colors win
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  const system = (name) => map.evaluate((e, color) => {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.forcedColorAdjust = "none";
    const pen = document.createElement("canvas").getContext("2d");
    for (const name of ["Canvas", color]) { // it may be translucent
      probe.style.color = name;
      pen.fillStyle = getComputedStyle(probe).color;
      pen.fillRect(0, 0, 1, 1);
    }
    probe.remove();
    return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)].join();
  }, name);
  const pixel = ({ x, y }, dy = 0) => map.evaluate((e, p) => {
    const canvas = e.shadowRoot.querySelector("canvas");
    const { left, top } = canvas.getBoundingClientRect();
    return [...canvas.getContext("2d").getImageData(Math.round(p.x - left), Math.round(p.y - top), 1, 1).data.slice(0, 3)].join();
  }, { x, y: y + dy });
  const colors = async () => {
    const at = {};
    for (const seat of ["A-1-1", "A-1-2", "A-1-3", "A-1-4"]) at[seat] = await positionOf(map, seat); // A-1-4 has the focus
    const size = at["A-1-2"].x - at["A-1-1"].x;
    return [
      await pixel(at["A-1-1"], -0.33 * size), await pixel(at["A-1-3"]), await pixel(at["A-1-3"], -0.45 * size),
      await pixel(at["A-1-4"], -0.72 * size), await pixel(at["A-1-2"], -0.33 * size),
    ];
  };
  const wanted = await Promise.all(["Highlight", "GrayText", "Canvas", "CanvasText"].map(system));
  let seen;
  await until("the colors are those of the system", async () => { // what is above the map may move it meanwhile
    seen = await colors();
    assert.deepEqual(seen.slice(0, 4), wanted);
    return true;
  });
  const [mine, taken, back, , free] = seen;
  assert.equal(new Set([mine, free, taken, back]).size, 4, [mine, free, taken, back].join(" "));
  await map.getByRole("button", { name: "List of seats" }).click();
  await map.locator("summary").first().click();
  await map.getByRole("button", { name: /seat 1, .*held for you$/, pressed: true }).first().waitFor();
  const styles = await map.evaluate((e) => [1, 2, 3].map((n) => {
    const { backgroundColor, borderTopStyle } = getComputedStyle(e.shadowRoot.querySelectorAll(".list .row button")[n - 1]);
    return `${backgroundColor} ${borderTopStyle}`;
  }));
  assert.equal(new Set(styles).size, 3, styles.join("; "));
  expectNoErrors(page);
});

test("two maps on one page have names of their own", async () => {
  const event = await sell(studio());
  const { page, map, user } = await show(event);
  await map.evaluate((e, [id, owner]) => {
    const other = document.createElement("holdfast-seats");
    other.setAttribute("user", owner);
    other.setAttribute("event", id);
    e.after(other);
  }, [event.id, user.id]);
  await until("there are two", async () => (await page.locator("holdfast-seats .map").count()) === 2);
  for (const role of ["region", "form"]) {
    const names = await page.locator("holdfast-seats").evaluateAll((all, tag) => all.map((e) => e.shadowRoot.querySelector(tag)?.getAttribute("aria-label")).filter(Boolean),
      role === "region" ? "section" : "form");
    assert.equal(names.length, 2);
    assert.equal(new Set(names).size, 2, names.join());
  }
  await accessible(page);
  expectNoErrors(page);
});

const mini = (map) => map.locator(".mini");

test("a hall that is larger than the view has a mini map, by which it is moved", async () => {
  const { page, map } = await show(await sell(JSON.parse(file("seats/planfile/examples/arena.json"))));
  assert.equal(await mini(map).count(), 0, "all of it is in view");
  await positionOf(map, "101-A-3");
  await mini(map).waitFor();
  assert.equal(await mini(map).getAttribute("aria-hidden"), "true");
  const picture = () => map.evaluate(async (e) => {
    for (let frame = 0; frame < 10; frame++) await new Promise(requestAnimationFrame);
    return ["canvas:not(.mini)", ".mini"].map((which) => e.shadowRoot.querySelector(which).toDataURL());
  });
  const [hall, frame] = await picture();
  const box = await mini(map).boundingBox();
  assert.ok(box.width <= 162 && box.height <= 122, JSON.stringify(box));
  const cursor = () => map.locator(".cursor").boundingBox();
  const before = await cursor();
  // A click brings what was clicked into the middle; a drag goes on with it.
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.9);
  await page.mouse.down();
  await until("it moved", async () => (await picture())[0] !== hall);
  const clicked = await cursor();
  assert.notDeepEqual([clicked.x, clicked.y], [before.x, before.y]);
  await page.mouse.move(box.x + box.width * 0.25, box.y + box.height * 0.9, { steps: 4 });
  await page.mouse.up();
  await until("it followed", async () => (await cursor()).x > clicked.x + 100);
  assert.ok(Math.abs((await cursor()).y - clicked.y) < 2);
  assert.notEqual((await picture())[1], frame);
  assert.deepEqual(await chosen(map), [], "a click on it chooses nothing");
  await screenshot(page, "minimap-phone"); // not one of the README's
  await map.getByRole("button", { name: "Whole hall" }).click();
  await mini(map).waitFor({ state: "hidden" });
  await accessible(page);
  expectNoErrors(page);
});

test("a small map has no mini map, nor has one whose file can't be loaded", async () => {
  const event = await sell(JSON.parse(file("seats/planfile/examples/arena.json")));
  const phone = await show(event, {}, { viewport: { width: 390, height: 844 } });
  await positionOf(phone.map, "101-A-3");
  assert.equal(await mini(phone.map).count(), 0);
  const { page, map } = await show(event, {}, { before: (p) => p.route("**/minimap-*.js", (route) => route.abort()) });
  await click(map, "101-A-3");
  await holds(map, "101-A-3");
  assert.equal(await mini(map).count(), 0);
  expectNoErrors(page);
});
