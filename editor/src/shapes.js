// Where seats stand. Each function returns rows of points, the front row first: null is a gap. In a row that is not turned, seats go
// from left to right, and rows away from a stage at the top. Lengths are in the plan's unit, angles in degrees, clockwise as drawn:
// 0 is to the right, 90 below.

import { median, round, rounded, turn } from "./points.js";
import { alongLine, arcLine, ellipseLine, indexAfter, lineOf, lineThrough, sideOf } from "./lines.js";

export { arcLine, ellipseLine, lineThrough, roundedRectangleLine } from "./lines.js";

/**
 * @typedef {import("./plan.js").Point} Point
 * @typedef {(Point | null)[]} Places
 */

/** mostSeats is what a row can have; mostRows bounds a gesture that is far too long. */
export const mostSeats = 500;
export const mostRows = 500;
const mostOutlinePoints = 200;

/**
 * block lays out rows behind each other.
 * @param {object} options
 * @param {number} options.rows
 * @param {number | number[]} options.seats of the front row, or of each
 * @param {number} [options.spacing] between neighbours
 * @param {number} [options.rowSpacing]
 * @param {number} [options.curvature] 1 / radius of the front row; above 0 the ends of rows are nearer to the stage, below 0 farther
 * @param {number} [options.skew] how far each row is to the right of the one before it
 * @param {number} [options.fan] the angle between the two sides: later rows have more seats
 * @param {number[]} [options.aisles] after how many seats there is a gap: 8 after the eighth of the front row, and straight on behind it in a
 *   fan; below 1 as a share of the row: 0.5 in the middle
 * @param {number} [options.aisle] how wide a gap is, from seat to seat, more than neighbours
 * @param {number} [options.rotation]
 * @param {Point} [options.at] the middle of the front row
 * @returns {Places[]}
 */
export function block({
  rows, seats, spacing = 1, rowSpacing = 1, curvature = 0, skew = 0, fan = 0, aisles = [], aisle = spacing, rotation = 0, at = [0, 0],
}) {
  const front = Array.isArray(seats) ? seats[0] ?? 1 : seats;
  const width = (Math.max(1, front) - 1) * spacing;
  return Array.from({ length: bounded(rows, mostRows) }, (_, k) => {
    const wide = width + 2 * k * Math.abs(rowSpacing) * Math.tan((fan * Math.PI) / 360);
    const n = bounded(Array.isArray(seats) ? seats[k] ?? front : Math.floor(wide / spacing + 1e-9) + 1, mostSeats);
    const more = Array.isArray(seats) ? 0 : Math.floor((n - front) / 2); // on the left
    const offsets = places(n, spacing, aisles.map((a) => (a < 1 ? a : a + more)), aisle);
    return offsets.map((u) => (u === null ? null : rounded(onRow({ curvature, rowSpacing, skew, rotation, at }, k, u))));
  });
}

const bounded = (n, most) => Math.max(1, Math.min(most, Math.floor(n) || 1));

// places are the offsets of a row's seats from its middle, with null for each aisle.
function places(n, spacing, aisles, aisle) {
  const after = new Set(aisles.map((a) => (a < 1 ? Math.floor(n * a) : Math.floor(a))).filter((a) => a > 0 && a < n));
  const offsets = [];
  let u = 0;
  for (let i = 0; i < n; i++) {
    if (after.has(i)) {
      offsets.push(null);
      u += aisle;
    }
    offsets.push(u);
    u += spacing;
  }
  const half = (u - spacing) / 2;
  return offsets.map((v) => (v === null ? null : v - half));
}

// onRow is the point at an offset from the middle of row k, along its arc.
function onRow({ curvature, rowSpacing, skew, rotation, at }, k, u) {
  const along = u + skew * k;
  const depth = rowSpacing * k;
  let point = [along, depth];
  if (curvature !== 0) {
    const front = 1 / curvature;
    const radius = front + depth;
    if (radius * front > 0 && Math.abs(along / radius) <= Math.PI) {
      point = [radius * Math.sin(along / radius), radius * Math.cos(along / radius) - front];
    }
  }
  const [x, y] = turn(point, rotation);
  return /** @type {Point} */ ([at[0] + x, at[1] + y]);
}

/**
 * measure finds the options of block with which rows stand, as well as can be.
 * @param {Places[]} rows
 */
export function measure(rows) {
  const drawn = rows.map((row) => row.filter(Boolean)).filter((row) => row.length > 0);
  const steps = rows.flatMap(neighbours);
  const spacing = median(steps) ?? 1;
  const chords = drawn.map((row) => [row.at(-1)[0] - row[0][0], row.at(-1)[1] - row[0][1]]);
  const longest = Math.max(0, ...chords.map((c) => Math.hypot(...c)));
  // In a curved block with a skew, each row is turned a little more, so the front row says most; unless it is short.
  const isFrontLong = chords.length > 0 && Math.hypot(...chords[0]) > 0.3 * longest;
  const direction = isFrontLong ? chords[0] : chords.reduce(([x, y], c) => [x + c[0], y + c[1]], [0, 0]);
  const isPoint = Math.hypot(...direction) < 1e-9;
  const rotation = isPoint ? 0 : (Math.atan2(direction[1], direction[0]) * 180) / Math.PI;
  const level = drawn.map((row) => row.map((p) => turn(p, -rotation)));
  const bends = level.map(bendOf);
  const middles = level.map((row, i) => middleOfRow(row, bends[i]));
  const apart = middles.slice(1).map((m, i) => m[1] - middles[i][1]);
  const rowSpacing = median(apart.filter((d) => Math.abs(d) > 1e-9)) ?? spacing;
  const radius = median(bends.flatMap((bend, k) => (bend === 0 ? [] : [1 / bend - k * rowSpacing]))) ?? 0;
  const skew = median(middles.flatMap((m, i) => middles.slice(0, i).map((before, j) => (m[0] - before[0]) / (i - j)))) ?? 0; // of all pairs
  return {
    spacing: round(spacing), rowSpacing: round(rowSpacing), curvature: radius === 0 ? 0 : 1 / radius, skew: round(skew),
    rotation: Math.round(rotation * 1e4) / 1e4, at: rounded(turn(middles[0] ?? [0, 0], rotation)),
  };
}

const neighbours = (row) => row.flatMap((p, i) => (p && row[i - 1] ? [Math.hypot(p[0] - row[i - 1][0], p[1] - row[i - 1][1])] : []));

// bendOf is 1 / radius of the circle through the ends of a row and a seat between them: above 0 if the ends are above the middle; 0 if it is
// straight. Of three such seats, one may have been moved by hand.
function bendOf(row) {
  if (row.length < 3) return 0;
  const last = row.length - 1;
  const between = [Math.floor(last / 2), Math.ceil(last / 4), Math.floor((3 * last) / 4)];
  return median(between.map((i) => bendThrough(row[0], row[i], row[last])));
}

function bendThrough(a, b, c) {
  const area = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const d = (p, q) => Math.hypot(p[0] - q[0], p[1] - q[1]);
  const sides = d(a, b) * d(b, c) * d(a, c);
  const bend = sides < 1e-12 ? 0 : (-2 * area) / sides;
  return Math.abs(bend) * d(a, c) < 0.01 ? 0 : bend; // what rounding to thousandths bends, too
}

// middleOfRow is the middle of the arc between the ends.
function middleOfRow(row, bend) {
  const [a, c] = [row[0], row.at(-1)];
  const [mx, my] = [(a[0] + c[0]) / 2, (a[1] + c[1]) / 2];
  const chord = Math.hypot(c[0] - a[0], c[1] - a[1]);
  if (bend === 0 || chord === 0) return [mx, my];
  const radius = 1 / bend;
  const rise = radius - Math.sign(radius) * Math.sqrt(Math.max(0, radius * radius - (chord * chord) / 4));
  const [tx, ty] = [(c[0] - a[0]) / chord, (c[1] - a[1]) / chord];
  return [mx - ty * rise, my + tx * rise];
}

/**
 * reshape lays out rows that exist with other options of block. What is not given stays as measure finds it; aisles keep their width in
 * seats. A spacing and a curvature make rows even; else seats keep how far they are from where measure expects them.
 * @param {Places[]} rows
 * @param {{ spacing?: number, rowSpacing?: number, curvature?: number, skew?: number, rotation?: number, at?: Point }} options
 * @returns {Places[]}
 */
export function reshape(rows, options) {
  const now = measure(rows);
  const to = { ...now, ...options };
  const factor = to.spacing / now.spacing;
  let k = -1;
  const shaped = rows.map((row) => {
    const drawn = row.filter(Boolean);
    if (drawn.length === 0) return row;
    k++;
    const level = drawn.map((p) => turn([p[0] - now.at[0], p[1] - now.at[1]], -now.rotation));
    const bend = bendOf(level);
    const lengths = arcLengths(level, bend);
    const [middle] = middleOfRow(level, bend);
    const isEven = options.spacing !== undefined || options.curvature !== undefined;
    let i = 0;
    let at = 0;
    const offsets = row.map((p, place) => {
      if (p === null) return null;
      if (i > 0) {
        const step = lengths[i] - lengths[i - 1];
        at += isEven && row[place - 1] ? now.spacing : step;
      }
      i++;
      return at;
    });
    const aside = middle - now.skew * k;
    return offsets.map((u, place) => {
      if (u === null) return null;
      const along = u - at / 2 + aside;
      const [x, y] = onRow(to, k, along * factor);
      if (isEven) return rounded([x, y]);
      const [wasX, wasY] = onRow(now, k, along);
      const [dx, dy] = turn([row[place][0] - wasX, row[place][1] - wasY], to.rotation - now.rotation);
      return rounded([x + dx, y + dy]);
    });
  });
  // Seats that all stand on one place have no shape to change.
  return shaped.flat().every((p) => p === null || p.every(Number.isFinite)) ? shaped : rows;
}

// arcLengths are the lengths along a row up to each of its seats.
function arcLengths(row, bend) {
  let length = 0;
  return row.map((p, i) => {
    if (i > 0) {
      const chord = Math.hypot(p[0] - row[i - 1][0], p[1] - row[i - 1][1]);
      const share = Math.min(1, (chord * Math.abs(bend)) / 2);
      length += bend === 0 ? chord : (2 * Math.asin(share)) / Math.abs(bend);
    }
    return length;
  });
}

/**
 * alongArc is a row on a part of a circle, from left to right for people who look at its middle.
 * @param {{ at?: Point, radius: number, from?: number, to?: number, seats?: number, spacing?: number }} options either seats, which
 *   are spread evenly from end to end, or a spacing
 * @returns {Places}
 */
export function alongArc({ at = [0, 0], radius, from = 150, to = 30, seats, spacing = 1 }) {
  const arc = Math.abs(((to - from) * Math.PI) / 180) * radius;
  const n = bounded(seats ?? Math.floor(arc / spacing + 1e-9) + 1, mostSeats);
  const step = n < 2 ? 0 : seats === undefined ? ((spacing / radius) * 180) / Math.PI : Math.abs(to - from) / (n - 1);
  const middle = (from + to) / 2;
  const sign = to < from ? -1 : 1;
  const points = Array.from({ length: n }, (_, i) => rounded(turn([at[0] + radius, at[1]], middle + sign * (i - (n - 1) / 2) * step, at)));
  return sign < 0 ? points : points.reverse();
}

/**
 * alongCurve is a row on a free curve through points, with seats at even distances along it.
 * @param {Point[]} points
 * @param {{ seats?: number, spacing?: number }} [options] either seats, which are spread evenly from end to end, or a spacing
 * @returns {Places}
 */
export function alongCurve(points, { seats, spacing = 1 } = {}) {
  if (points.length === 0) return [];
  const line = lineThrough(points);
  const n = bounded(seats ?? Math.floor(line.length / spacing + 1e-9) + 1, mostSeats);
  const step = n < 2 ? 0 : seats === undefined ? spacing : line.length / (n - 1);
  return Array.from({ length: n }, (_, i) => rounded(alongLine(line, i * step).at));
}

/**
 * roundTable is a row of seats around a table, clockwise from its top. Its adjacency should be ALL.
 * @param {{ seats: number, radius?: number, at?: Point, rotation?: number, open?: number, spacing?: number }} options open: degrees
 *   without seats, at the top, such as 120 towards a stage. Without a radius, seats are a spacing from each other
 * @returns {Places}
 */
export function roundTable({ seats, spacing = 1, radius, at = [0, 0], rotation = 0, open = 0 }) {
  const n = bounded(seats, mostSeats);
  const arc = 360 - open;
  const r = radius ?? Math.max(0.8 * spacing, (n * spacing * 180) / (arc * Math.PI));
  const step = open > 0 ? (n < 2 ? 0 : arc / (n - 1)) : arc / n;
  const first = open > 0 ? (n < 2 ? 180 : open / 2) : 0;
  return Array.from({ length: n }, (_, i) => rounded(turn([at[0], at[1] - r], rotation + first + i * step, at)));
}

/**
 * rectangularTable is a row of seats around a table, clockwise from the top left. Its adjacency should be ALL.
 * @param {{ sides: [number, number, number, number], spacing?: number, at?: Point, rotation?: number }} options sides: seats at the top, on
 *   the right, at the bottom, on the left
 * @returns {Places}
 */
export function rectangularTable({ sides, spacing = 1, at = [0, 0], rotation = 0 }) {
  const [top, right, bottom, left] = sides.map((n) => Math.max(0, Math.floor(n)));
  const [x, y] = [(Math.max(top, bottom, 1) * spacing) / 2, (Math.max(left, right, 1) * spacing) / 2];
  const out = spacing / 2;
  const side = (n, place) => Array.from({ length: n }, (_, i) => place((i - (n - 1) / 2) * spacing));
  const points = [
    ...side(top, (u) => [u, -y - out]), ...side(right, (u) => [x + out, u]), ...side(bottom, (u) => [-u, y + out]), ...side(left, (u) => [-x - out, -u]),
  ];
  return points.slice(0, mostSeats).map(([px, py]) => {
    const [tx, ty] = turn([px, py], rotation);
    return rounded([at[0] + tx, at[1] + ty]);
  });
}

/**
 * @typedef {object} Blocks
 * @property {number} blocks how many
 * @property {number[]} [widths] of the blocks, against each other; they are equally wide without
 * @property {number} rows of each block
 * @property {number | number[]} [seats] of each row; as many as there is room for without
 * @property {number} [spacing]
 * @property {number} [rowSpacing]
 * @property {number} [aisle] between two blocks, from seat to seat
 * @property {number[]} [aisles] within each block, as those of block
 * @property {number} [gap] how wide an aisle within a block is, more than neighbours are from each other
 */

/**
 * blocksAlong lays out blocks next to each other along a line, such as the edge of a pitch: their rows are parallel to it, on its outer side.
 * @param {import("./lines.js").Line} line
 * @param {Blocks} options
 * @returns {Places[][]} rows of each block; seats go from left to right for people who look at the line
 */
export function blocksAlong(line, { blocks, widths = [], rows, seats, spacing = 1, rowSpacing = 1, aisle = 2 * spacing, aisles = [], gap = spacing }) {
  const count = bounded(blocks, mostRows);
  const shares = Array.from({ length: count }, (_, i) => widths[i] ?? 1);
  const total = shares.reduce((a, b) => a + b, 0);
  const side = sideOf(line);
  let from = 0;
  return shares.map((share) => {
    const to = from + (share / total) * line.length;
    const block = Array.from({ length: bounded(rows, mostRows) }, (_, k) => {
      const part = partOf(line, from, to, side * k * rowSpacing);
      const room = part.length - aisle - aisles.length * gap;
      const n = bounded((Array.isArray(seats) ? seats[k] : seats) ?? Math.floor(room / spacing + 1e-6) + 1, mostSeats);
      return places(n, spacing, aisles, gap).map((u) => (u === null ? null : rounded(alongLine(part, part.length / 2 + side * u).at)));
    });
    from = to;
    return block;
  });
}

// partOf is a part of a line, moved sideways.
function partOf(line, from, to, aside) {
  const moved = ([x, y], normal) => /** @type {Point} */ ([x + normal[0] * aside, y + normal[1] * aside]);
  const [first, last] = [alongLine(line, from), alongLine(line, to)];
  const points = [moved(first.at, first.normal)];
  for (let i = indexAfter(line, from); i < line.points.length && line.lengths[i] < to; i++) points.push(moved(line.points[i], line.normals[i]));
  points.push(moved(last.at, last.normal));
  return lineOf(points);
}

/**
 * fan lays out blocks around what the hall looks at, with aisles between them.
 * @param {Blocks & { at?: Point, radius: number, from?: number, to?: number }} options at: the middle; radius: of the front rows; from and to:
 *   the angles of the first and the last block's outer sides
 * @returns {Places[][]}
 */
export function fan({ at = [0, 0], radius, from = 150, to = 30, ...blocks }) {
  return blocksAlong(arcLine({ at, radius, from, to }), blocks);
}

/**
 * ring lays out blocks around an ellipse, such as one rake of a stadium: the first begins on the right, and they go clockwise.
 * @param {Blocks & { at?: Point, radii: Point, from?: number, to?: number, rotation?: number }} options
 * @returns {Places[][]}
 */
export function ring({ at = [0, 0], radii, from = 0, to = 360, rotation = 0, ...blocks }) {
  return blocksAlong(ellipseLine({ at, radii, from, to, rotation }), blocks);
}

/**
 * rectangle is a polygon, from its top left corner clockwise.
 * @param {{ at?: Point, width: number, height: number, rotation?: number }} options at: its middle
 * @returns {Point[]}
 */
export function rectangle({ at = [0, 0], width, height, rotation = 0 }) {
  const [x, y] = [width / 2, height / 2];
  return [[-x, -y], [x, -y], [x, y], [-x, y]].map((p) => {
    const [tx, ty] = turn([p[0], p[1]], rotation);
    return rounded([at[0] + tx, at[1] + ty]);
  });
}

/**
 * polygon is a regular polygon, or an ellipse with many sides.
 * @param {{ at?: Point, radii: Point, sides?: number, rotation?: number }} options
 * @returns {Point[]}
 */
export function polygon({ at = [0, 0], radii, sides = 32, rotation = 0 }) {
  return Array.from({ length: Math.max(3, Math.min(200, Math.floor(sides))) }, (_, i) => {
    const a = (i / sides) * 2 * Math.PI - Math.PI / 2;
    const [x, y] = turn([radii[0] * Math.cos(a), radii[1] * Math.sin(a)], rotation);
    return rounded([at[0] + x, at[1] + y]);
  });
}

/**
 * around is the convex hull of points with a margin, as an outline.
 * @param {Point[]} points
 * @returns {Point[]}
 */
export function around(points, margin = 0.7) {
  const corners = points.flatMap(([x, y]) => [[x - margin, y - margin], [x + margin, y - margin], [x - margin, y + margin], [x + margin, y + margin]]);
  corners.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const turns = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const chain = [];
    for (const p of list) {
      while (chain.length > 1 && turns(chain.at(-2), chain.at(-1), p) <= 0) chain.pop();
      chain.push(p);
    }
    return chain.slice(0, -1);
  };
  const hull = [...half(corners), ...half(corners.toReversed())];
  const every = Math.ceil(hull.length / mostOutlinePoints);
  return hull.filter((_, i) => i % every === 0).map(rounded);
}
