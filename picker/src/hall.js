// A seating plan, compiled for drawing: numbers in typed arrays, because a hall may have 200,000 seats.

import { isColor, palette } from "./color.js";
import { Grid } from "./grid.js";
import { cellsOf, isMostlyOn, seatsMeet } from "./overlap.js";
import { addressOf } from "./view.js";

/** What a seat is besides. */
export const accessible = 1;
export const companion = 2;
export const restricted = 4;

/**
 * Hall has seats, numbered in the plan's order, sections and decorations. A section has `first` and `end` (its seats), `rows`,
 * a `box`, an `outline` (x, y, x, y …), `main` (the category of most of its seats), a `short` name, the word that it shares
 * with its `kin`, and, for general admission, a `capacity`. A decoration has `kind`, `text`, `icon` and `floor` (without one it is on all), a `box`, an
 * `outline` (of one point for texts and icons), its `middle`, and `isInside`: it is in a section, whose floor must not cover it.
 */
export class Hall {
  /**
   * @param plan as GET /api/seating-plans/{id} answers it: written out
   * @param {{ isDrawn?: boolean }} [options] isDrawn: sections that lie on each other stay where they are, as they are drawn
   */
  constructor(plan, { isDrawn = false } = {}) {
    this.name = plan.name;
    this.categories = plan.categories.map((c, i) => ({
      key: c.key, name: c.name, color: isColor(c.color ?? "") ? c.color : palette[i % palette.length],
    }));
    const numberOf = new Map(this.categories.map((c, i) => [c.key, i]));
    let n = 0;
    for (const s of plan.sections) for (const r of s.rows ?? []) for (const seat of r.seats) if (seat) n++;
    this.seats = n;
    this.x = new Float64Array(n);
    this.y = new Float64Array(n);
    this.kind = new Uint8Array(n);
    this.category = new Uint8Array(n);
    this.sectionOf = new Uint16Array(n);
    this.rowOf = new Uint32Array(n);
    this.place = new Uint16Array(n); // in its row; gaps count
    this.ids = new Array(n);
    this.labels = new Array(n);
    this.notes = new Map();
    this.views = new Map(); // addresses of pictures, where a seat has its own
    this.rows = [];
    this.sections = plan.sections.map((s, i) => this.#section(s, i, numberOf));
    this.byID = new Map(this.ids.map((id, i) => [id, i]));
    nameShort(this.sections);
    this.sectionByKey = new Map(this.sections.map((s) => [s.key, s]));
    this.spacing = spacing(this);
    layOut(this, isDrawn);
    for (const s of this.sections) {
      s.outline ??= around(this, s);
      s.middle = middle(s.outline);
    }
    const box = union(this.sections.map((s) => s.box)) ?? emptyHall;
    this.decorations = (plan.decorations ?? []).map((d) => decorationOf(this, d));
    const hasStage = this.decorations.some((d) => d.kind === "stage");
    this.stage = plan.focalPoint && !hasStage ? stage(this, box, plan.focalPoint) : undefined;
    this.box = union([box, ...(this.stage ? [this.stage] : []), ...this.decorations.map((d) => d.box)]);
    this.grid = new Grid(this.x, this.y, this.box, this.spacing * 4);
    this.floors = [...new Set(this.sections.map((s) => s.floor))];
    /** floorsMeet: floors lie on each other, so that only one can be shown. */
    this.floorsMeet = this.sections.some((a, n) => this.sections.slice(0, n).some((b) => a.floor !== b.floor && isMostlyOn(a.box, b.box)));
  }

  #filled = 0;

  #section(s, number, numberOf) {
    const section = {
      number, key: s.key, name: s.name, floor: s.floor ?? "", entrance: s.entrance ?? "", view: addressOf(s.viewUrl), category: numberOf.get(s.category),
      capacity: s.capacity ?? 0, first: this.#filled, end: 0, rows: [], categories: [], main: numberOf.get(s.category), outline: undefined,
      given: s.outline?.length > 2 ? Float64Array.from(s.outline.flat()) : undefined,
    };
    for (const row of s.rows ?? []) {
      const r = { number: this.rows.length, label: row.label ?? row.key, adjacency: row.adjacency ?? "LINE", first: this.#filled, end: 0, section };
      row.seats.forEach((seat, place) => {
        if (seat === null) return;
        const i = this.#filled++;
        this.x[i] = seat.x;
        this.y[i] = seat.y;
        this.kind[i] = (seat.accessible ? accessible : 0) | (seat.companion ? companion : 0) | (seat.restrictedView ? restricted : 0);
        this.category[i] = numberOf.get(seat.category);
        this.sectionOf[i] = number;
        this.rowOf[i] = r.number;
        this.place[i] = place;
        this.ids[i] = seat.id;
        this.labels[i] = seat.label;
        if (seat.note) this.notes.set(i, seat.note);
        if (addressOf(seat.viewUrl)) this.views.set(i, seat.viewUrl);
      });
      r.end = this.#filled;
      section.rows.push(r);
      this.rows.push(r);
    }
    section.end = this.#filled;
    const seats = new Map();
    for (const c of section.capacity > 0 ? [section.category] : this.category.subarray(section.first, section.end)) seats.set(c, (seats.get(c) ?? 0) + 1);
    section.categories = [...seats.keys()].sort((a, b) => a - b);
    for (const c of section.categories) if (seats.get(c) > (seats.get(section.main) ?? 0)) section.main = c;
    return section;
  }

  /** section and row of a seat. */
  section(seat) { return this.sections[this.sectionOf[seat]]; }
  /** viewOf is the address of what is seen from a seat; undefined if the plan has none. */
  viewOf(seat) { return this.views.get(seat) ?? this.section(seat).view; }
  row(seat) { return this.rows[this.rowOf[seat]]; }

  /**
   * sectionAt is the section under a point; the last one that is drawn, if there are several.
   * @param {number} x
   * @param {number} y
   * @param {(section: any) => boolean} isShown
   */
  sectionAt(x, y, isShown = () => true) {
    return this.sections.findLast((s) => isShown(s) && holds(s.box, x, y) && isIn(s.outline, x, y));
  }
}

const emptyHall = { x0: -20, y0: -10, x1: 20, y1: 20 };

// spacing is a usual distance between neighbours, in the plan's unit: of three, the shortest.
function spacing(hall) {
  const found = [];
  const step = Math.max(1, Math.floor(hall.seats / 5000));
  for (let i = 1; i < hall.seats; i += step) {
    if (hall.rowOf[i] !== hall.rowOf[i - 1]) continue;
    const places = hall.place[i] - hall.place[i - 1];
    const d = Math.hypot(hall.x[i] - hall.x[i - 1], hall.y[i] - hall.y[i - 1]) / places;
    if (d > 0) found.push(d);
  }
  for (const s of hall.sections) { // rows may be nearer to each other than seats
    for (let r = 1; r < s.rows.length; r += Math.max(1, Math.floor(s.rows.length / 5))) {
      const [a, b] = [s.rows[r - 1], s.rows[r]];
      if (a.end === a.first || b.end === b.first) continue;
      const i = b.first;
      let nearest = Infinity;
      for (let j = a.first; j < a.end; j++) nearest = Math.min(nearest, Math.hypot(hall.x[i] - hall.x[j], hall.y[i] - hall.y[j]));
      if (nearest > 0 && nearest < Infinity) found.push(nearest);
    }
  }
  found.sort((a, b) => a - b);
  return found[Math.floor(found.length / 3)] ?? 1;
}

// nameShort gives each section what of its name tells it from others: 101 of Block 101, if there are further blocks. Its
// `kin` is the word that it shares with them.
function nameShort(sections) {
  const shared = new Map();
  for (const { name } of sections) shared.set(name.split(" ")[0], (shared.get(name.split(" ")[0]) ?? 0) + 1);
  for (const s of sections) {
    const [first, ...rest] = s.name.split(" ");
    const isShared = shared.get(first) > 1 && rest.length > 0;
    s.short = isShared ? rest.join(" ") : s.name;
    s.kin = isShared ? first : undefined;
  }
}

const margin = 0.9; // around the seats of a section, in spacings

function boxOf(hall, s) {
  const box = { x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity };
  const grow = (x, y, by) => {
    box.x0 = Math.min(box.x0, x - by);
    box.y0 = Math.min(box.y0, y - by);
    box.x1 = Math.max(box.x1, x + by);
    box.y1 = Math.max(box.y1, y + by);
  };
  for (let i = s.first; i < s.end; i++) grow(hall.x[i], hall.y[i], margin * hall.spacing);
  for (let i = 0; i < (s.given?.length ?? 0); i += 2) grow(s.given[i], s.given[i + 1], 0);
  return box.x0 === Infinity ? undefined : box;
}

// layOut gives each section its box. Sections of a plan without coordinates lie on each other, and an area without
// an outline has no place: they go below, in the plan's order.
function layOut(hall, isDrawn) {
  const cells = new Map();
  const cellsIn = (s) => {
    if (!cells.has(s)) cells.set(s, cellsOf(Array.from({ length: s.end - s.first }, (_, n) => [hall.x[s.first + n], hall.y[s.first + n]]), hall.spacing));
    return cells.get(s);
  };
  const liesOn = (s, o) => isMostlyOn(s.box, o.box) && seatsMeet(cellsIn(s), cellsIn(o));
  const placed = [];
  const waiting = [];
  for (const s of hall.sections) {
    s.box = boxOf(hall, s);
    s.outline = s.given;
    if (s.box === undefined || (!isDrawn && s.first < s.end && placed.some((o) => o.floor === s.floor && o.first < o.end && liesOn(s, o)))) waiting.push(s);
    else placed.push(s);
  }
  if (waiting.length === 0) return;
  const all = union(placed.map((s) => s.box)) ?? { x0: 0, y0: 0, x1: 20 * hall.spacing, y1: 0 };
  let { y1: y } = all;
  for (const s of waiting) {
    y += 2 * hall.spacing;
    const width = Math.max(all.x1 - all.x0, 10 * hall.spacing);
    if (s.box === undefined) s.box = { x0: all.x0, y0: 0, x1: all.x0 + width, y1: Math.max(4 * hall.spacing, width / 8) };
    const [dx, dy] = [all.x0 - s.box.x0, y - s.box.y0];
    for (let i = s.first; i < s.end; i++) {
      hall.x[i] += dx;
      hall.y[i] += dy;
    }
    s.box = { x0: s.box.x0 + dx, y0: s.box.y0 + dy, x1: s.box.x1 + dx, y1: s.box.y1 + dy };
    s.outline = undefined;
    y = s.box.y1;
  }
}

/** union is the box around boxes; undefined if there is none. */
export function union(boxes) {
  if (boxes.length === 0) return undefined;
  return boxes.reduce((a, b) => ({
    x0: Math.min(a.x0, b.x0), y0: Math.min(a.y0, b.y0), x1: Math.max(a.x1, b.x1), y1: Math.max(a.y1, b.y1),
  }));
}

// stage is a box at what the hall looks at; undefined if seats are there. What is far from the seats is drawn at their
// edge, in its direction: the map fits the seats. It is as wide as the hall lets it be.
function stage(hall, seats, focus) {
  const [width, height] = [seats.x1 - seats.x0, seats.y1 - seats.y0];
  const reach = Math.max(8 * hall.spacing, Math.max(width, height) / 4);
  const within = (v, from, to) => Math.min(Math.max(v, from - reach), to + reach);
  const at = { x: within(focus.x, seats.x0, seats.x1), y: within(focus.y, seats.y0, seats.y1) };
  const boxOfWidth = (w) => ({ x0: at.x - w / 2, y0: at.y - w / 8, x1: at.x + w / 2, y1: at.y + w / 8 });
  const least = boxOfWidth(8 * hall.spacing);
  const wide = boxOfWidth(Math.max(8 * hall.spacing, width / 7));
  const r = hall.spacing / 2;
  for (let i = 0; i < hall.seats; i++) if (holds(least, hall.x[i], hall.y[i], r)) return undefined;
  if (hall.sections.some((s) => s.given && isIn(s.given, at.x, at.y))) return undefined;
  return hall.sections.some((s) => meets(s.box, wide)) ? least : wide;
}

function decorationOf(hall, { kind, points, at, text = "", icon, floor }) {
  const outline = Float64Array.from((points ?? [at]).flat());
  const [xs, ys] = [0, 1].map((odd) => outline.filter((_, i) => i % 2 === odd));
  const box = { x0: Math.min(...xs), y0: Math.min(...ys), x1: Math.max(...xs), y1: Math.max(...ys) };
  const centre = middle(outline);
  const isInside = hall.sections.some((s) => s.box.x0 <= box.x0 && s.box.x1 >= box.x1 && s.box.y0 <= box.y0 && s.box.y1 >= box.y1 && isIn(s.outline, centre.x, centre.y));
  return { kind, text, icon, floor, outline, box, middle: centre, isInside };
}

// middle is the centre of an outline's area.
function middle(outline) {
  let [area, x, y] = [0, 0, 0];
  for (let i = 0, j = outline.length - 2; i < outline.length; j = i, i += 2) {
    const cross = outline[j] * outline[i + 1] - outline[i] * outline[j + 1];
    area += cross;
    x += (outline[j] + outline[i]) * cross;
    y += (outline[j + 1] + outline[i + 1]) * cross;
  }
  return Math.abs(area) < 1e-9 ? { x: outline[0], y: outline[1] } : { x: x / (3 * area), y: y / (3 * area) };
}

// around is the convex hull of a section's seats, with a margin.
function around(hall, s) {
  const by = margin * hall.spacing * 0.7;
  const { x0, y0, x1, y1 } = s.box;
  if (s.first === s.end) return Float64Array.of(x0, y0, x1, y0, x1, y1, x0, y1);
  const points = [];
  for (const row of s.rows) { // only the ends of a row, and its bend, can be on the hull
    for (let i = row.first; i < row.end; i++) {
      const [x, y] = [hall.x[i], hall.y[i]];
      points.push([x - by, y - by], [x + by, y - by], [x - by, y + by], [x + by, y + by]);
    }
  }
  points.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (list) => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1 && turn(chain.at(-2), chain.at(-1), p) <= 0) chain.pop();
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  return Float64Array.from([...half(points), ...half(points.toReversed())].flat());
}

const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);

const holds = (box, x, y, by = 0) => x >= box.x0 - by && x <= box.x1 + by && y >= box.y0 - by && y <= box.y1 + by;

/** meets reports whether two boxes touch. */
export const meets = (a, b) => a.x1 >= b.x0 && a.x0 <= b.x1 && a.y1 >= b.y0 && a.y0 <= b.y1;

// isIn is the rule of even and odd crossings.
function isIn(outline, x, y) {
  let inside = false;
  for (let i = 0, j = outline.length - 2; i < outline.length; j = i, i += 2) {
    const [xi, yi, xj, yj] = [outline[i], outline[i + 1], outline[j], outline[j + 1]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) inside = !inside;
  }
  return inside;
}

/** inside are the stretches of a horizontal line that are inside of an outline, as [from, to]. */
export function inside(outline, y) {
  const at = [];
  for (let i = 0, j = outline.length - 2; i < outline.length; j = i, i += 2) {
    const [xi, yi, xj, yj] = [outline[i], outline[i + 1], outline[j], outline[j + 1]];
    if (yi > y !== yj > y) at.push(((xj - xi) * (y - yi)) / (yj - yi) + xi);
  }
  at.sort((a, b) => a - b);
  return Array.from({ length: at.length / 2 }, (_, n) => [at[2 * n], at[2 * n + 1]]);
}

/** edgesOf are where an outline's upper and lower edges are, as [upper, lower]: at each x of some that it reaches to. */
export function edgesOf({ outline, box }, xs) {
  const turned = Float64Array.from(outline, (_, i) => outline[i ^ 1]);
  const edges = xs.map((x) => inside(turned, x)).filter((stretches) => stretches.length > 0).map((stretches) => [stretches[0][0], stretches.at(-1)[1]]);
  return edges.length === 0 ? [[box.y0, box.y1]] : edges;
}
