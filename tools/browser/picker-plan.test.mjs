// What the map shows of a plan besides its seats: decorations, and the views from seats.

import assert from "node:assert/strict";
import { test } from "node:test";
import { captionOf } from "../../picker/src/captions.js";
import { drawLabel, labelsOf } from "../../picker/src/decorations.js";
import { Hall, meets } from "../../picker/src/hall.js";
import { addressOf } from "../../picker/src/view.js";
import { accessible, expectNoErrors, until } from "./harness.mjs";
import { click, file, holdfast, holds, positionOf, sell, show, studio } from "./picker.mjs";

const icons = ["bar", "cloakroom", "entrance", "exit", "first-aid", "food", "information", "lift", "stairs", "toilet"];
const decorations = [
  { kind: "stage", points: [[-1, -6], [9, -6], [9, -3], [-1, -3]] },
  { kind: "area", points: [[8, 2], [12, 2], [12, 5], [8, 5]], text: "Foyer" },
  { kind: "wall", points: [[-3, -7], [-3, 9], [13, 9]] },
  { kind: "text", at: [5, 10], text: "Way to the square" },
  ...icons.map((icon, n) => ({ kind: "icon", at: [-2, 1.5 * n - 5], icon })),
];

// hallOf is a hall of a plan as the server writes it out: with the categories of seats.
function hallOf(plan) {
  for (const s of plan.sections) for (const row of s.rows ?? []) for (const seat of row.seats) if (seat) seat.category ??= s.category;
  return new Hall(plan);
}

// recorded collects the texts and the lines that are drawn on the map when it is drawn again, with the colors of fills.
const recorded = (map) => map.evaluate(async (e) => {
  const draw = CanvasRenderingContext2D.prototype;
  const { fillText, stroke, fill } = draw;
  const found = { texts: [], icons: 0, fills: [] };
  draw.fillText = function (text, ...at) {
    found.texts.push(text);
    return fillText.call(this, text, ...at);
  };
  draw.stroke = function (...path) {
    if (path.length > 0) found.icons++;
    return stroke.apply(this, path);
  };
  draw.fill = function (...path) {
    found.fills.push(this.fillStyle);
    return fill.apply(this, path);
  };
  e.setAttribute("theme", e.getAttribute("theme") === "dark" ? "light" : "dark");
  for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
  Object.assign(draw, { fillText, stroke, fill });
  return found;
});

test("decorations are drawn, and are within what the map shows; a stage is in place of the focal point's mark", async () => {
  const { page, map } = await show(await sell(studio({ decorations })));
  await until("they are drawn", async () => {
    const { texts, icons: drawn } = await recorded(map);
    return new Set(texts).has("Foyer") && drawn >= icons.length;
  });
  const { texts } = await recorded(map);
  for (const text of ["Stage", "Foyer", "Way to the square"]) assert.ok(texts.includes(text), `${text} is not among ${texts}`);
  const hall = hallOf({ ...studio(), decorations });
  assert.equal(hall.stage, undefined);
  assert.ok(hall.box.y0 <= -7 && hall.box.x0 <= -3 && hall.box.y1 >= 10 && hall.box.x1 >= 13, JSON.stringify(hall.box));
  assert.ok(hallOf({ ...studio(), decorations: decorations.slice(1) }).stage !== undefined);
  expectNoErrors(page);
});

test("of floors that lie on each other, the decorations of the floor that is shown are drawn, and those of all floors", async () => {
  const plan = studio();
  for (const s of plan.sections) s.floor = "0";
  const rows = [{ key: "1", seats: [1, 2, 3, 4, 5, 6].map((n) => ({ id: `C-1-${n}`, label: String(n), x: n, y: 0 })) }, { key: "2", seats: [1, 2, 3].map((n) => ({ id: `C-2-${n}`, x: n, y: 1.2 })) }];
  plan.sections.push({ key: "C", name: "Circle", category: "seats", floor: "1", rows });
  plan.decorations = [{ kind: "text", at: [4, -6], text: "Everywhere" }, ...[["0", "Below"], ["1", "Above"]].map(([floor, text]) => ({ kind: "text", at: [4, 10], text, floor }))];
  const { page, map } = await show(await sell(plan));
  const drawn = async () => (await recorded(map)).texts.filter((t) => ["Everywhere", "Below", "Above"].includes(t));
  await until("those of the first floor are drawn", async () => [...new Set(await drawn())].join() === "Everywhere,Below");
  await map.getByLabel("Floor").selectOption("1");
  assert.deepEqual([...new Set(await drawn())], ["Everywhere", "Above"]);
  expectNoErrors(page);
});

test("the texts of decorations lie on no seat and not on each other, at any zoom", () => {
  const plan = JSON.parse(file("seats/planfile/examples/arena.json"));
  const hall = hallOf({ ...plan, decorations: [] });
  const { x0, y0, x1, y1 } = hall.box;
  let seed = 7;
  const random = () => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  const at = () => [x0 + random() * (x1 - x0), y0 + random() * (y1 - y0)];
  plan.decorations = Array.from({ length: 300 }, (_, n) => (n % 2 ? { kind: "text", at: at(), text: `Way ${n} to the square` } : { kind: "icon", at: at(), icon: icons[n % 10], text: n % 4 ? "Here" : "" }));
  const decorated = hallOf(plan);
  const pen = { font: "", measureText(text) { return { width: 0.6 * Number(/([\d.]+)px/.exec(this.font)[1]) * text.length }; } };
  const counts = [3, 8, 24, 60].map((apart) => {
    const view = { scale: apart / hall.spacing, ratio: 1, font: "sans-serif", widths: new Map() };
    const isFree = (box) => {
      let free = true;
      decorated.grid.each(box.x0, box.y0, box.x1, box.y1, () => { free = false; });
      return free;
    };
    const labels = labelsOf(pen, decorated.decorations, { ...view, spacing: hall.spacing, box: decorated.box, stage: "Stage", isFree, captionOf: (d) => captionOf(pen, d, "", view, 1) });
    labels.forEach((a, n) => {
      assert.ok(isFree(a.box));
      for (const b of labels.slice(0, n)) assert.ok(!meets(a.box, b.box));
      for (const { font } of a.lines) assert.ok(Number(/([\d.]+)px/.exec(font)[1]) >= 11, font);
    });
    return labels.length;
  });
  assert.ok(counts[0] > 0 && counts[3] > counts[0], `${counts}`);
});

test("each icon has a picture, and one of a later version is left out", () => {
  globalThis.Path2D ??= class { constructor(path) { this.path = path; } };
  const paths = new Set();
  const pen = new Proxy({ font: "", measureText: () => ({ width: 10 }), stroke: (path) => path && paths.add(path.path) }, { get: (o, name) => o[name] ?? (() => {}) });
  const list = [...icons, "helicopter"].map((icon, n) => ({ kind: "icon", at: [9 * n, 9], icon }));
  const hall = hallOf({ ...studio(), decorations: list });
  const labels = labelsOf(pen, hall.decorations, { scale: 20, ratio: 1, font: "", widths: new Map(), spacing: 1, box: hall.box, isFree: () => true });
  assert.equal(labels.length, icons.length);
  for (const label of labels) drawLabel(pen, label, 0, 0, { ratio: 1, colors: {} });
  assert.equal(paths.size, icons.length);
});

test("a seat on an area that is sold and comes back leaves the area as it was", async () => {
  const area = { kind: "area", points: [[0.5, -0.5], [6.5, -0.5], [6.5, 1.7], [0.5, 1.7]] };
  const event = await sell(studio({ decorations: [area] }));
  const { page, map } = await show(event);
  const pixels = () => map.evaluate(async (e) => {
    for (let frame = 0; frame < 20; frame++) await new Promise(requestAnimationFrame);
    return e.shadowRoot.querySelector("canvas").toDataURL();
  });
  let first = await pixels();
  await until("the area is drawn", async () => {
    const now = await pixels();
    const [is, was] = [now, first];
    first = now;
    return is === was;
  });
  const lock = await holdfast.ask("POST", "/api/locks", { eventId: event.id, userId: (await holdfast.user()).id, seatIds: ["A-1-2"] });
  await until("it is taken", async () => (await pixels()) !== first);
  await holdfast.ask("DELETE", `/api/locks/${lock.id}`);
  await until("the picture is the first one again", async () => (await pixels()) === first);
  expectNoErrors(page);
});

const picture = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "base64");

// withViews shows the studio with views: of a section, of seats of it, and of an area. It returns what was asked of their host, with the page that asked.
async function withViews() {
  const asked = [];
  const route = (page) => page.route("https://views.example/**", async (r) => {
    asked.push([new URL(r.request().url()).pathname, (await r.request().allHeaders()).referer]);
    return r.request().url().endsWith(".png") ? r.fulfill({ contentType: "image/png", body: picture }) : r.fulfill({ contentType: "text/html", body: "<!doctype html>" });
  });
  const plan = studio();
  plan.sections[0].viewUrl = "https://views.example/stalls.png";
  plan.sections[0].rows[0].seats[1].viewUrl = "https://views.example/tour?seat=2";
  plan.sections[2].viewUrl = "https://views.example/pit.png";
  return { asked, ...(await show(await sell(plan), {}, { before: route, bypassCSP: true })) }; // the page's policy allows no pictures of others
}

test("the view from a seat is a picture, loaded when the customer opens it, without the page's address", async () => {
  const { page, map, asked } = await withViews();
  await click(map, "A-1-1");
  await holds(map, "A-1-1");
  assert.deepEqual(asked, []);
  const item = map.locator(".cart li").first();
  await item.getByText("View from here").click();
  await until("it is shown", () => item.locator("img").evaluate((i) => i.naturalWidth > 0));
  assert.equal(await item.locator("img").getAttribute("alt"), "View from here: Stalls, row 1, seat 1, Seats");
  await map.locator(".areas").getByText("View from here").click();
  await until("the area's, too", () => map.locator(".areas img").evaluate((i) => i.naturalWidth > 0));
  assert.deepEqual(asked, [["/stalls.png", undefined], ["/pit.png", undefined]]);
  await accessible(page);
  assert.deepEqual(page.errors, []);
});

test("a view that is not a picture is a link, which opens a page that knows nothing of this one", async () => {
  const { page, map } = await withViews();
  await click(map, "A-1-2");
  await holds(map, "A-1-2");
  await map.locator(".cart li").getByText("View from here").click();
  const link = map.locator(".cart li").getByRole("link", { name: "View from here" });
  await link.waitFor();
  assert.deepEqual(await link.evaluate((a) => [a.href, a.target, a.rel, a.referrerPolicy]), ["https://views.example/tour?seat=2", "_blank", "noopener noreferrer", "no-referrer"]);
  const [other] = await Promise.all([page.context().waitForEvent("page"), link.click()]);
  await until("it was opened", () => other.url() === "https://views.example/tour?seat=2" || other.url() === "chrome-error://chromewebdata/");
  assert.equal(await other.evaluate(() => window.opener === null && document.referrer === ""), true);
});

test("the tip has the view after the pointer has rested, of the seat under it alone", async () => {
  const { page, map, asked } = await withViews();
  const { x, y } = await positionOf(map, "A-1-3");
  await page.mouse.move(x, y);
  await page.waitForTimeout(200);
  assert.deepEqual(asked, [], "it is not loaded at once");
  await map.locator(".tip img").waitFor();
  await page.mouse.move(x, y - 200);
  await map.locator(".tip").waitFor({ state: "hidden" });
  assert.deepEqual(asked, [["/stalls.png", undefined]]);
  assert.deepEqual(page.errors, []);
});

test("only https addresses of a host count as views", () => {
  for (const [url, is] of [
    ["https://a.example", true], ["https://a.example/x.png?y#z", true], ["https://a.example:8443/", true], ["HTTPS://a.example/", true],
    ["http://a.example/", false], ["javascript:alert(1)", false], ["https:a.example", false], ["https://", false], ["https:///x", false], ["//a.example/x", false],
    ["https://user@a.example/", false], ["https://a.example\\@b.example/", false], [" https://a.example/", false], ["https://a b/", false], ["", false], [undefined, false],
    [7, false], ["data:image/png,x", false],
  ]) {
    assert.equal(addressOf(url) !== undefined, is, url);
    const plan = studio();
    plan.sections[1].viewUrl = url;
    assert.equal(hallOf(plan).viewOf(12) !== undefined, is, url);
  }
});
