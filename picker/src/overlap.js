// Whether sections lie on each other, so that one of them is drawn elsewhere.

/** isMostlyOn reports whether most of a box is in another one, or the other way round. */
export function isMostlyOn(a, b) {
  const width = Math.min(a.x1, b.x1) - Math.max(a.x0, b.x0);
  const height = Math.min(a.y1, b.y1) - Math.max(a.y0, b.y0);
  if (width <= 0 || height <= 0) return false;
  const area = (box) => (box.x1 - box.x0) * (box.y1 - box.y0);
  return (width * height) / Math.min(area(a), area(b)) > 0.8;
}

/**
 * cellsOf are the squares in which seats are, so small that two seats are in one only if they overlap.
 * @param {Iterable<[number, number]>} points
 * @param {number} spacing
 */
export function cellsOf(points, spacing) {
  const cells = new Set();
  for (const [x, y] of points) cells.add(Math.floor((2 * x) / spacing) * 2 ** 26 + Math.floor((2 * y) / spacing));
  return cells;
}

/** seatsMeet reports whether more than a few seats of one section are where the other has seats, by their cells. */
export function seatsMeet(a, b) {
  const [few, many] = a.size < b.size ? [a, b] : [b, a];
  let shared = 0;
  for (const cell of few) if (many.has(cell)) shared++;
  return shared > 0.05 * few.size;
}
