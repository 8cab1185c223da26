// Points: [x, y]. Angles are in degrees, clockwise as drawn.

/** mostCoordinate is the largest coordinate of a plan, on either side of 0. */
export const mostCoordinate = 100_000;

/** round rounds to thousandths, which is all that a plan keeps. */
export const round = (v) => Math.round(v * 1000) / 1000 + 0;

/** rounded is a point of a plan. @param {readonly number[]} point @returns {[number, number]} */
export const rounded = ([x, y]) => [round(x), round(y)];

export const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/**
 * turn rotates a point around another one.
 * @param {readonly number[]} point
 * @param {number} degrees
 * @param {readonly number[]} [middle]
 * @returns {[number, number]}
 */
export function turn([x, y], degrees, [cx, cy] = [0, 0]) {
  const a = (degrees * Math.PI) / 180;
  const quarter = [[1, 0], [0, 1], [-1, 0], [0, -1]][(((degrees / 90) % 4) + 4) % 4]; // exact
  const [cos, sin] = quarter ?? [Math.cos(a), Math.sin(a)];
  return [cx + (x - cx) * cos - (y - cy) * sin, cy + (x - cx) * sin + (y - cy) * cos];
}

/** boxOf is the box around points; undefined without any. @param {readonly (readonly number[])[]} points */
export function boxOf(points) {
  if (points.length === 0) return undefined;
  const box = { x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity };
  for (const [x, y] of points) {
    box.x0 = Math.min(box.x0, x);
    box.y0 = Math.min(box.y0, y);
    box.x1 = Math.max(box.x1, x);
    box.y1 = Math.max(box.y1, y);
  }
  return box;
}

/** middleOf is the middle of the box around points. @param {readonly (readonly number[])[]} points @returns {[number, number]} */
export function middleOf(points) {
  const box = boxOf(points);
  return box ? [(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2] : [0, 0];
}

/**
 * circleThrough is the circle through the ends and the middle of points; undefined if they are on a straight line, or nearly.
 * @param {readonly (readonly number[])[]} points
 * @returns {{ middle: [number, number], radius: number } | undefined}
 */
export function circleThrough(points) {
  if (points.length < 3) return undefined;
  const [[ax, ay], [bx, by], [cx, cy]] = [points[0], points[points.length >> 1], points.at(-1)];
  const area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
  const chord = Math.hypot(cx - ax, cy - ay);
  if (Math.abs(area) <= 0.0025 * chord * chord) return undefined;
  const [b, c] = [(bx - ax) ** 2 + (by - ay) ** 2, (cx - ax) ** 2 + (cy - ay) ** 2];
  const [x, y] = [((cy - ay) * b - (by - ay) * c) / (2 * area), ((bx - ax) * c - (cx - ax) * b) / (2 * area)];
  return { middle: [ax + x, ay + y], radius: Math.hypot(x, y) };
}

/** median of numbers; undefined without any. */
export function median(numbers) {
  return numbers.length === 0 ? undefined : numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
