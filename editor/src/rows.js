// Commands that change rows: their gaps, their seats and the order of both.

import { addSection, find, keyOf, mapRow, mapRows, mapSections, rowName, seatID, sectionByKey, sectionsWith, successor, takenIn } from "./plan.js";
import { circleThrough, distance, median, middleOf, rounded, turn } from "./points.js";
import { partsOf, rowsIn } from "./select.js";
import { measure, reshape } from "./shapes.js";

/**
 * @typedef {import("./plan.js").Plan} Plan
 * @typedef {import("./plan.js").Selection} Selection
 * @typedef {import("./plan.js").Point} Point
 * @typedef {import("./plan.js").Row} Row
 * @typedef {import("./plan.js").Seat} Seat
 */

const pointOf = (seat) => seat && /** @type {Point} */ ([seat.x, seat.y]);

// changeRow changes the row of a seat.
function changeRow(plan, id, fn) {
  const at = find(plan, id);
  if (!at) return plan;
  return mapSections(plan, (s) => (s === at.section ? mapRows(s, (row) => (row === at.row ? fn(row, at) : row)) : s));
}

/**
 * insertGap puts a gap before or after a seat.
 * @param {Plan} plan
 * @param {string} id
 * @param {"before" | "after"} [side]
 * @param {number} [width] how far the seats behind the gap move, along the row
 * @returns {Plan}
 */
export function insertGap(plan, id, side = "after", width = 0) {
  return changeRow(plan, id, (row, { place }) => {
    const at = side === "after" ? place + 1 : place;
    if (at === 0 || at === row.seats.length) return row;
    const seats = shifted(row, at, width);
    return { ...row, seats: [...seats.slice(0, at), null, ...seats.slice(at)] };
  });
}

/**
 * insertGaps puts a gap before or after each of some seats, such as an aisle through a block.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {"before" | "after"} [side]
 * @param {number} [width]
 * @returns {Plan}
 */
export const insertGaps = (plan, selection, side, width) => [...partsOf(plan, selection).seats].reduce((p, id) => insertGap(p, id, side, width), plan);

/**
 * removeGaps removes the gaps next to each of some seats.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {"before" | "after"} [side]
 * @param {number} [width]
 * @returns {Plan}
 */
export const removeGaps = (plan, selection, side, width) => [...partsOf(plan, selection).seats].reduce((p, id) => removeGap(p, id, side, width), plan);

/**
 * removeGap removes the gap next to a seat, so that the seats on its two sides are neighbours.
 * @param {Plan} plan
 * @param {string} id
 * @param {"before" | "after"} [side]
 * @param {number} [width] how far the seats behind the gap move towards it
 * @returns {Plan}
 */
export function removeGap(plan, id, side = "after", width = 0) {
  return changeRow(plan, id, (row, { place }) => {
    const step = side === "after" ? 1 : -1;
    let end = place + step;
    while (end >= 0 && end < row.seats.length && row.seats[end] === null) end += step;
    const [from, to] = side === "after" ? [place + 1, end] : [end + 1, place];
    if (from === to) return row;
    const seats = shifted(row, to, -width);
    return { ...row, seats: [...seats.slice(0, from), ...seats.slice(to)] };
  });
}

// shifted moves the seats from a place on along the row: on its circle if it is curved.
function shifted(row, from, by) {
  const before = pointOf(row.seats.slice(0, from).findLast(Boolean));
  const after = pointOf(row.seats.slice(from).find(Boolean));
  if (by === 0 || !before || !after) return row.seats;
  const to = sliding(row, before, after, by);
  return row.seats.map((seat, i) => {
    if (seat === null || i < from) return seat;
    const [x, y] = rounded(to(pointOf(seat)));
    return { ...seat, x, y };
  });
}

function sliding(row, [ax, ay], [bx, by], length) {
  const circle = circleThrough(row.seats.filter(Boolean).map(pointOf));
  if (!circle) {
    const step = length / (Math.hypot(bx - ax, by - ay) || 1);
    return ([x, y]) => [x + (bx - ax) * step, y + (by - ay) * step];
  }
  const [cx, cy] = circle.middle;
  const side = Math.sign((ax - cx) * (by - cy) - (ay - cy) * (bx - cx));
  const degrees = ((side * length) / circle.radius / Math.PI) * 180;
  return (point) => turn(point, degrees, circle.middle);
}

/**
 * guessGaps puts gaps into the selected rows where neighbours are farther apart than is usual there, and removes the other gaps.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {number} [factor] how much farther
 * @returns {Plan}
 */
export function guessGaps(plan, selection, factor = 1.5) {
  return changeRows(plan, selection, (row) => (row.adjacency === "ALL" ? row : withSeats(row, withGaps(row.seats.filter(Boolean), factor))));
}

function withGaps(seats, factor = 1.5) {
  const steps = seats.slice(1).map((seat, i) => distance(pointOf(seat), pointOf(seats[i])));
  const usual = median(steps) ?? 0;
  return seats.flatMap((seat, i) => (i > 0 && seats.length > 2 && usual > 0 && steps[i - 1] > factor * usual ? [null, seat] : [seat]));
}

const withSeats = (row, seats) => (seats.length === row.seats.length && seats.every((seat, i) => seat === row.seats[i]) ? row : { ...row, seats });

// changeRows changes the rows that have a selected seat.
function changeRows(plan, selection, fn) {
  const { seats } = partsOf(plan, selection);
  const touched = sectionsWith(plan, seats);
  return mapSections(plan, (s) => (!touched.has(s) ? s : mapRows(s, (row) => (row.seats.some((seat) => seat && seats.has(seat.id)) ? fn(row) : row))));
}

/**
 * splitRow makes a seat and those after it a row of their own. Seats keep their IDs.
 * @param {Plan} plan
 * @param {string} id
 * @param {string} [label] of the new row; without one, the next after the row's
 * @returns {Plan}
 */
export function splitRow(plan, id, label) {
  const at = find(plan, id);
  if (!at || !at.row.seats.slice(0, at.place).some(Boolean)) return plan;
  const { row, section, place } = at;
  const name = label || freeLabel(row.label, section.rows);
  const key = keyOf(rowName(name), section.rows.map((r) => r.key), "row");
  const before = row.seats.slice(0, row.seats.slice(0, place).findLastIndex(Boolean) + 1);
  return mapSections(plan, (s) => (s === section
    ? mapRows(s, (r) => (r === row ? [{ ...row, seats: before }, { ...row, key, label: name, seats: row.seats.slice(place) }] : r)) : s));
}

function freeLabel(label, rows) {
  const taken = new Set(rows.map((row) => row.label));
  let free = label;
  while (taken.has(free)) free = successor(free);
  return free;
}

/**
 * joinRows makes one row of two that are selected in a section. Of more, it joins those that go on in one line over an aisle. The row is the first
 * of them, with the seats in the order in which they stand, and a gap between parts that are farther apart than seats are.
 * @param {Plan} plan
 * @param {Selection} selection
 * @returns {Plan}
 */
export function joinRows(plan, selection) {
  const rows = rowsIn(plan, selection);
  return mapSections(plan, (s) => {
    const mine = rows.filter((r) => r.section === s).map((r) => r.row);
    if (mine.length < 2) return s;
    const becomes = new Map();
    for (const group of mine.length === 2 ? [mine] : lines(mine)) {
      for (const row of group) becomes.set(row, null);
      becomes.set(group[0], { ...group[0], seats: inLine(group) });
    }
    return mapRows(s, (row) => (becomes.has(row) ? becomes.get(row) : row));
  });
}

const widestAisle = 10; // in distances between seats

// lines are groups of rows that go on from each other's ends.
function lines(rows) {
  const usual = median(rows.flatMap((row) => steps(row.seats))) ?? 1;
  const ends = rows.flatMap((row, r) => endsOf(row).map((end) => ({ ...end, r })));
  const cost = (a, b) => {
    const far = distance(a.at, b.at);
    const to = [(b.at[0] - a.at[0]) / far, (b.at[1] - a.at[1]) / far];
    const straight = Math.min(to[0] * a.out[0] + to[1] * a.out[1], -to[0] * b.out[0] - to[1] * b.out[1]);
    return a.r === b.r || far > widestAisle * usual || !(straight > 0.8) ? Infinity : far * (2 - straight);
  };
  const nearest = ends.map((a) => ends.reduce((best, b) => (cost(a, b) < cost(a, best) ? b : best), a));
  const groupOf = rows.map((_, r) => r);
  ends.forEach((a, i) => {
    const b = nearest[i];
    if (cost(a, b) === Infinity || nearest[ends.indexOf(b)] !== a) return;
    const [from, to] = [groupOf[b.r], groupOf[a.r]];
    groupOf.forEach((g, r) => { if (g === from) groupOf[r] = to; });
  });
  return [...new Set(groupOf)].map((g) => rows.filter((_, r) => groupOf[r] === g)).filter((group) => group.length > 1);
}

// endsOf are both ends of a row, with the direction in which it would go on.
function endsOf(row) {
  const points = row.seats.filter(Boolean).map(pointOf);
  if (points.length < 2) return [];
  const end = (last, before) => {
    const length = distance(last, before) || 1;
    return { at: last, out: [(last[0] - before[0]) / length, (last[1] - before[1]) / length] };
  };
  return [end(points[0], points[1]), end(points.at(-1), points.at(-2))];
}

// inLine puts rows behind each other: each next one is the nearest, from its nearer end.
function inLine(rows) {
  const usual = median(rows.flatMap((row) => steps(row.seats))) ?? 1;
  const lists = rows.map((row) => trimmed(row.seats));
  let line = lists.shift();
  while (lists.length > 0) {
    const options = lists.flatMap((list, i) => {
      const [a, b, c, d] = [line[0], line.at(-1), list[0], list.at(-1)].map(pointOf);
      return [
        { i, far: distance(b, c), join: () => [line, list] }, { i, far: distance(b, d), join: () => [line, list.toReversed()] },
        { i, far: distance(a, d), join: () => [list, line] }, { i, far: distance(a, c), join: () => [list.toReversed(), line] },
      ];
    });
    const best = options.reduce((x, y) => (y.far < x.far ? y : x));
    const [left, right] = best.join();
    line = [...left, ...(best.far > 1.5 * usual ? [null] : []), ...right];
    lists.splice(best.i, 1);
  }
  return line;
}

const steps = (seats) => seats.flatMap((seat, i) => (seat && seats[i - 1] ? [distance(pointOf(seat), pointOf(seats[i - 1]))] : []));

const trimmed = (seats) => seats.slice(seats.findIndex(Boolean), seats.findLastIndex(Boolean) + 1);

/**
 * moveToSection moves selected seats to another section with rows: their rows become rows of it, at the end. Seats keep their IDs.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {string} key
 * @returns {Plan}
 */
export function moveToSection(plan, selection, key) {
  const target = sectionByKey(plan, key);
  const parts = rowsIn(plan, selection).filter((r) => r.section !== target);
  if (!target?.rows || parts.length === 0) return plan;
  const rows = [...target.rows];
  const left = new Map();
  for (const { row, selected } of parts) {
    const ids = new Set(selected);
    const label = freeLabel(row.label, rows);
    const seats = trimmed(row.seats.map((seat) => (ids.has(seat) ? seat : null)));
    rows.push({ ...row, label, key: keyOf(label === row.label ? row.key : rowName(label), rows.map((r) => r.key), "row"), seats });
    const rest = row.seats.map((seat) => (ids.has(seat) ? null : seat));
    left.set(row, rest.some(Boolean) ? { ...row, seats: trimmed(rest) } : null);
  }
  return mapSections(plan, (s) => {
    if (s === target) return { ...s, rows };
    const changed = mapRows(s, (row) => (left.has(row) ? left.get(row) : row));
    return changed !== s && changed.rows.length === 0 ? null : changed;
  });
}

/**
 * splitSection makes a section of the selected seats.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {Partial<import("./plan.js").Section> & { name: string }} section
 * @returns {Plan}
 */
export function splitSection(plan, selection, section) {
  const first = rowsIn(plan, selection)[0]?.section;
  if (!first) return plan;
  const { floor, entrance, category } = first;
  const withSection = addSection(plan, { category, ...(floor ? { floor } : {}), ...(entrance ? { entrance } : {}), ...section });
  return moveToSection(withSection, selection, withSection.sections.at(-1).key);
}

/**
 * addSeat adds a seat to a row, in the place where it stands: that of another seat's row, or else a new row of a section.
 * @param {Plan} plan
 * @param {Point} point
 * @param {{ next?: string, section?: string, label?: string }} to next: the ID of a seat in the row; section: a key
 * @returns {Plan}
 */
export function addSeat(plan, point, { next, section, label }) {
  const at = next === undefined ? undefined : find(plan, next);
  const target = at?.section ?? sectionByKey(plan, section);
  if (!target?.rows) return plan;
  const [x, y] = rounded(point);
  const taken = takenIn(plan);
  if (!at) {
    const name = freeLabel(target.rows.at(-1)?.label ?? "A", target.rows);
    const key = keyOf(rowName(name), target.rows.map((r) => r.key), "row");
    const seat = { id: seatID(target.key, key, label || "1", taken), label: label || "1", category: target.category, x, y };
    const row = { key, label: name, category: target.category, adjacency: /** @type {const} */ ("LINE"), seats: [seat] };
    return mapSections(plan, (s) => (s === target ? { ...s, rows: [...s.rows, row] } : s));
  }
  return changeRow(plan, next, (row) => {
    const labels = new Set(row.seats.map((seat) => seat?.label));
    let name = label || at.seat.label;
    while (labels.has(name)) name = successor(name);
    const seat = { id: seatID(target.key, row.key, name, taken), label: name, category: row.category, x, y };
    const seats = row.seats.toSpliced(placeFor(row.seats, [x, y]), 0, seat);
    return { ...row, seats };
  });
}

// placeFor is where a point makes the row the least longer.
function placeFor(seats, point) {
  const drawn = seats.flatMap((seat, place) => (seat ? [{ place, at: pointOf(seat) }] : []));
  let [best, least] = [0, distance(point, drawn[0].at)];
  drawn.forEach(({ place, at }, i) => {
    const after = drawn[i + 1];
    const more = after ? distance(at, point) + distance(point, after.at) - distance(at, after.at) : distance(at, point);
    if (more < least) [best, least] = [after && seats[place + 1] === null && distance(point, at) > distance(point, after.at) ? after.place : place + 1, more];
  });
  return best;
}

/**
 * orderSeats puts the seats of the selected rows in the order in which they stand, and gaps where neighbours are far apart.
 * @param {Plan} plan
 * @param {Selection} selection
 * @returns {Plan}
 */
export const orderSeats = (plan, selection) => changeRows(plan, selection, inOrder);

/** inOrder is a row with its seats in the order in which they stand; the same row if they are. @param {Row} row @returns {Row} */
export function inOrder(row) {
  const seats = row.seats.filter(Boolean);
  if (seats.length < 3 && row.adjacency !== "ALL") return row;
  const ordered = row.adjacency === "ALL" ? clockwise(seats) : chain(seats);
  if (ordered.every((seat, i) => seat === seats[i])) return row;
  return { ...row, seats: row.adjacency === "ALL" ? ordered : withGaps(ordered) };
}

// clockwise begins with the first seat.
function clockwise(seats) {
  const [cx, cy] = middleOf(seats.map(pointOf));
  const angle = (seat) => Math.atan2(seat.y - cy, seat.x - cx);
  const start = angle(seats[0]);
  const from = (seat) => (seat === seats[0] ? 0 : (angle(seat) - start + 4 * Math.PI) % (2 * Math.PI));
  return seats.map((seat) => ({ seat, at: from(seat) })).sort((a, b) => a.at - b.at).map(({ seat }) => seat);
}

// chain goes from one end to the nearest seat that is left, again and again; in the direction that agrees with the order that is there.
function chain(seats) {
  const middle = middleOf(seats.map(pointOf));
  const farthest = (from) => seats.reduce((a, b) => (distance(pointOf(b), from) > distance(pointOf(a), from) ? b : a));
  const one = farthest(middle);
  const candidates = [walk(seats, one), walk(seats, farthest(pointOf(one)))];
  const best = candidates[1].length < candidates[0].length ? candidates[1].order : candidates[0].order;
  const place = new Map(seats.map((seat, i) => [seat, i]));
  const forward = best.slice(1).reduce((n, seat, i) => n + Math.sign(place.get(seat) - place.get(best[i])), 0);
  return forward < 0 ? best.reverse() : best;
}

function walk(seats, first) {
  const left = new Set(seats);
  const order = [first];
  let length = 0;
  left.delete(first);
  while (left.size > 0) {
    const from = pointOf(order.at(-1));
    let [nearest, least] = [undefined, Infinity];
    for (const seat of left) {
      const d = distance(pointOf(seat), from);
      if (d < least) [nearest, least] = [seat, d];
    }
    left.delete(nearest);
    order.push(nearest);
    length += least;
  }
  return { order, length };
}

/** reverseRows turns the order of the seats in the selected rows around. @param {Plan} plan @param {Selection} selection @returns {Plan} */
export const reverseRows = (plan, selection) => changeRows(plan, selection, (row) => withSeats(row, row.seats.toReversed()));

/**
 * orderRows puts the rows of sections in the order of their distance from the focal point; without one, from the top of the drawing.
 * @param {Plan} plan
 * @param {Iterable<string>} keys of sections
 * @param {"front" | "back"} [first]
 * @returns {Plan}
 */
export function orderRows(plan, keys, first = "front") {
  const wanted = new Set(keys);
  return mapSections(plan, (s) => {
    if (!s.rows || !wanted.has(s.key)) return s;
    const rows = byDistance(plan, s.rows, first);
    return rows.every((row, i) => row === s.rows[i]) ? s : { ...s, rows };
  });
}

/**
 * byDistance sorts rows by how far they are from what the hall looks at.
 * @param {Plan} plan
 * @param {Row[]} rows
 * @param {"front" | "back"} first
 */
export function byDistance(plan, rows, first) {
  const sign = first === "front" ? 1 : -1;
  return rows.map((row) => ({ row, far: sign * farness(plan, row) })).sort((a, b) => a.far - b.far).map(({ row }) => row);
}

function farness(/** @type {Plan} */ { focalPoint }, row) {
  const seats = row.seats.filter(Boolean);
  const far = (seat) => (focalPoint ? Math.hypot(seat.x - focalPoint.x, seat.y - focalPoint.y) : seat.y);
  return seats.reduce((sum, seat) => sum + far(seat), 0) / Math.max(1, seats.length);
}

/**
 * measureRows are the options with which the selected rows of the first section stand, for a form: see shapes.js's measure.
 * @param {Plan} plan
 * @param {Selection} selection
 */
export function measureRows(plan, selection) {
  const rows = rowsIn(plan, selection);
  return measure(rows.filter((r) => r.section === rows[0].section).map(({ row }) => row.seats.map(pointOf)));
}

/**
 * reshapeRows lays the selected rows out with other options, each section for itself. What is not given stays as it is. Whole rows are laid out.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {{ spacing?: number, rowSpacing?: number, curvature?: number, skew?: number, rotation?: number, at?: Point }} options
 * @returns {Plan}
 */
export function reshapeRows(plan, selection, options) {
  const rows = rowsIn(plan, selection);
  return mapSections(plan, (s) => {
    const mine = rows.filter((r) => r.section === s && r.row.adjacency !== "ALL").map((r) => r.row);
    if (mine.length === 0) return s;
    const points = reshape(mine.map((row) => row.seats.map(pointOf)), options);
    const at = new Map(mine.map((row, i) => [row, points[i]]));
    return mapRows(s, (row) => {
      const to = at.get(row);
      return to === undefined ? row : mapRow(row, (seat, place) => {
        const [x, y] = to[place];
        return seat.x === x && seat.y === y ? seat : { ...seat, x, y };
      });
    });
  });
}
