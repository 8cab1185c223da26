// Lines in the plane as many short pieces, with the direction of their sides. Rows and blocks are laid out along them.

import { turn } from "./points.js";

/**
 * @typedef {import("./plan.js").Point} Point
 * @typedef {object} Line
 * @property {Point[]} points
 * @property {Point[]} normals of length 1: to the right of the direction as drawn, which is below if the line goes to the right
 * @property {number[]} lengths from the start
 * @property {number} length
 * @property {boolean} isClosed
 * @property {Point} [middle] what the line goes around, if it is known
 */

const error = 1e-4; // how far pieces may be from the line: rounding takes more

// pieces is how many pieces of a circle are near enough to it.
const pieces = (radius, degrees) => Math.max(8, Math.min(20000, Math.ceil(Math.abs(degrees) / ((2 * Math.acos(1 - Math.min(1, error / radius)) * 180) / Math.PI))));

/**
 * lineOf is the line through many points that are near each other.
 * @param {Point[]} points
 * @returns {Line}
 */
export function lineOf(points, isClosed = false, middle = undefined) {
  const lengths = [0];
  for (let i = 1; i < points.length; i++) {
    lengths.push(lengths[i - 1] + Math.hypot(points[i][0] - points[i - 1][0], points[i][1] - points[i - 1][1]));
  }
  const last = points.length - 1;
  const normals = points.map((_, i) => {
    const before = points[i > 0 ? i - 1 : isClosed && last > 0 ? last - 1 : 0];
    const after = points[i < last ? i + 1 : isClosed && last > 0 ? 1 : last];
    const [dx, dy] = [after[0] - before[0], after[1] - before[1]];
    const length = Math.hypot(dx, dy) || 1;
    return /** @type {Point} */ ([-dy / length, dx / length]);
  });
  return { points, normals, lengths, length: lengths.at(-1) ?? 0, isClosed, middle };
}

/** arcLine is a part of a circle, from one angle to another. */
export const arcLine = ({ at = /** @type {Point} */ ([0, 0]), radius, from = 0, to = 360 }) => ellipseLine({ at, radii: [radius, radius], from, to });

/**
 * ellipseLine is a part of an ellipse, from one angle to another.
 * @param {{ at?: Point, radii: Point, from?: number, to?: number, rotation?: number }} options
 * @returns {Line}
 */
export function ellipseLine({ at = [0, 0], radii, from = 0, to = 360, rotation = 0 }) {
  const n = pieces(Math.max(...radii), to - from);
  const points = Array.from({ length: n + 1 }, (_, i) => {
    const a = ((from + ((to - from) * i) / n) * Math.PI) / 180;
    const [x, y] = turn([radii[0] * Math.cos(a), radii[1] * Math.sin(a)], rotation);
    return /** @type {Point} */ ([at[0] + x, at[1] + y]);
  });
  return lineOf(points, Math.abs(to - from) >= 360, at);
}

/**
 * roundedRectangleLine is a rectangle with round corners, such as the edge of a pitch; clockwise from the middle of its right side.
 * @param {{ at?: Point, width: number, height: number, radius: number, rotation?: number }} options
 * @returns {Line}
 */
export function roundedRectangleLine({ at = [0, 0], width, height, radius, rotation = 0 }) {
  const r = Math.max(0.01, Math.min(radius, width / 2, height / 2));
  const [x, y] = [width / 2 - r, height / 2 - r];
  const points = [[width / 2, 0]];
  const n = pieces(r, 90);
  for (const [cx, cy, start] of [[x, y, 0], [-x, y, 90], [-x, -y, 180], [x, -y, 270]]) {
    for (let i = 0; i <= n; i++) {
      const a = ((start + (90 * i) / n) * Math.PI) / 180;
      points.push([cx + r * Math.cos(a), cy + r * Math.sin(a)]);
    }
  }
  points.push([width / 2, 0]);
  const line = points.map(([px, py]) => {
    const [tx, ty] = turn([px, py], rotation);
    return /** @type {Point} */ ([at[0] + tx, at[1] + ty]);
  });
  return lineOf(line, true, at);
}

/**
 * lineThrough is a smooth line through points: a Catmull-Rom spline with centripetal parameters, which makes no loops.
 * @param {Point[]} points
 * @returns {Line}
 */
export function lineThrough(points, isClosed = false) {
  const given = points.filter((p, i) => i === 0 || p[0] !== points[i - 1][0] || p[1] !== points[i - 1][1]);
  if (isClosed && given.length > 2) given.push(given[0]);
  if (given.length < 3) return lineOf(given, false);
  const beyond = (a, b) => /** @type {Point} */ ([2 * a[0] - b[0], 2 * a[1] - b[1]]);
  const before = isClosed ? given.at(-2) : beyond(given[0], given[1]);
  const after = isClosed ? given[1] : beyond(given.at(-1), given.at(-2));
  const all = [before, ...given, after];
  const line = [given[0]];
  for (let i = 1; i < all.length - 2; i++) {
    const n = 100;
    for (let k = 1; k <= n; k++) line.push(k === n ? all[i + 1] : between(all[i - 1], all[i], all[i + 1], all[i + 2], k / n));
  }
  return lineOf(line, isClosed);
}

// between is a point of the spline from b to c.
function between(a, b, c, d, share) {
  const knot = (p, q) => Math.sqrt(Math.hypot(q[0] - p[0], q[1] - p[1])) || 1e-6;
  const [t1, t2] = [knot(a, b), knot(a, b) + knot(b, c)];
  const t3 = t2 + knot(c, d);
  const t = t1 + (t2 - t1) * share;
  const mix = (p, q, from, to) => [0, 1].map((i) => (p[i] * (to - t) + q[i] * (t - from)) / (to - from));
  const [ab, bc, cd] = [mix(a, b, 0, t1), mix(b, c, t1, t2), mix(c, d, t2, t3)];
  const point = mix(mix(ab, bc, 0, t2), mix(bc, cd, t1, t3), t1, t2);
  return /** @type {Point} */ ([point[0], point[1]]);
}

/**
 * indexAfter is the first point behind a length from the line's start; the second and the last point at its ends.
 * @param {{ lengths: number[] }} line
 * @param {number} length
 */
export function indexAfter({ lengths }, length) {
  let [low, high] = [0, lengths.length - 1];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (lengths[middle] <= length) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * alongLine is the point at a length from the line's start, and the normal there. Beyond its ends the line goes straight on.
 * @param {Line} line
 * @returns {{ at: Point, normal: Point }}
 */
export function alongLine({ points, normals, lengths }, length) {
  if (points.length < 2) return { at: points[0], normal: [0, 1] };
  const high = indexAfter({ lengths }, length);
  const low = high - 1;
  const share = (length - lengths[low]) / (lengths[high] - lengths[low] || 1);
  const mix = (p, q) => /** @type {Point} */ ([p[0] + (q[0] - p[0]) * share, p[1] + (q[1] - p[1]) * share]);
  const normal = mix(normals[low], normals[high]);
  const size = Math.hypot(...normal) || 1;
  return { at: mix(points[low], points[high]), normal: [normal[0] / size, normal[1] / size] };
}

/** sideOf is 1 if the normals of a line point away from what it goes around, and else -1. @param {Line} line */
export function sideOf(line) {
  if (line.middle) {
    const i = line.points.length >> 1;
    const [p, n, m] = [line.points[i], line.normals[i], line.middle];
    return (p[0] - m[0]) * n[0] + (p[1] - m[1]) * n[1] < 0 ? -1 : 1;
  }
  if (!line.isClosed) return 1;
  let area = 0;
  for (let i = 1; i < line.points.length; i++) area += line.points[i - 1][0] * line.points[i][1] - line.points[i][0] * line.points[i - 1][1];
  return area > 0 ? -1 : 1;
}
