// The labels of rows and seats.

import { keyOf, mapRow, mapRows, mapSections, rowName, seatID, takenIn } from "./plan.js";
import { middleOf } from "./points.js";
import { byDistance } from "./rows.js";
import { rowsIn } from "./select.js";

/**
 * @typedef {import("./plan.js").Plan} Plan
 * @typedef {import("./plan.js").Selection} Selection
 * @typedef {import("./plan.js").Row} Row
 * @typedef {import("./plan.js").Seat} Seat
 *
 * @typedef {object} Series
 * @property {"letters" | "numbers"} [kind]
 * @property {string | number} [from] the first one; A or 1 without
 * @property {number} [step] such as 2 for odd numbers; below 0, they go down
 * @property {string | string[]} [skip] letters that are not used, such as "IO"; or labels that are left out, such as ["13"]
 * @property {boolean} [doubled] BB comes after AA; else AB does
 * @property {string} [prefix] such as "Row "
 * @property {string} [suffix]
 *
 * @typedef {Series & { order?: "front" | "back" | "first" | "last", across?: boolean }} RowNumbers order: the first row is the nearest to the
 *   focal point or the farthest from it, or the first or last in the plan's order. across: they go on from section to section, and
 *   else begin in each
 *
 * @typedef {object} SeatOptions
 * @property {"right" | "left" | "plan"} [direction] to the right or to the left for people who look at the focal point, or in the plan's order
 * @property {"line" | "sides"} [scheme] sides: odd numbers on one side of the middle and even ones on the other, both from the middle on
 * @property {"left" | "right"} [odd] the side of the odd numbers
 * @property {"gap" | "count"} [middle] where the middle of sides is: the only gap, or one that is next to half of the seats; without such a gap, or by
 *   count, half of the seats
 * @property {boolean} [gaps] gaps take numbers too
 * @property {"row" | "rows" | "blocks"} [over] where numbers go on: in each row alone, from row to row of a section, or from section to section
 *   over the rows with the same label, as in a long row with aisles
 *
 * @typedef {Series & SeatOptions} SeatNumbers
 */

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/**
 * labels are n labels in a row: A, B … Z, AA, AB …, or 1, 2 …. There are fewer if letters run out at A.
 * @param {"letters" | "numbers"} kind
 * @param {number} n
 * @param {Series} [options]
 * @returns {string[]}
 */
export function labels(kind, n, { from, step = 1, skip = [], doubled = false, prefix = "", suffix = "" } = {}) {
  const by = Math.trunc(step) || 1;
  const left = new Set(skip);
  const found = [];
  const write = kind === "letters" ? lettersOf(from, left, doubled) : numbersOf(from);
  for (let i = 0; found.length < n && i < n * 2 + 1000; i++) {
    const label = write(i * by);
    if (label === undefined) break;
    if (!left.has(label)) found.push(prefix + label + suffix);
  }
  return found;
}

function numbersOf(from) {
  const first = Number.parseInt(String(from ?? 1), 10) || 0;
  const width = /^0\d/.test(String(from ?? "")) ? String(from).length : 0;
  return (i) => (first + i < 0 ? undefined : String(first + i).padStart(width, "0"));
}

function lettersOf(from, skip, doubled) {
  const isSmall = /^[a-z]/.test(String(from ?? ""));
  const used = [...alphabet].filter((c) => !skip.has(c) && !skip.has(c.toLowerCase()));
  const base = used.length;
  const start = indexOfLetters(String(from ?? "A").toUpperCase(), used, doubled);
  return (i) => {
    const at = start + i;
    if (at < 0 || base === 0) return undefined;
    const text = doubled ? used[at % base].repeat(Math.floor(at / base) + 1) : bijective(at, used);
    return isSmall ? text.toLowerCase() : text;
  };
}

function bijective(at, used) {
  let [n, text] = [at + 1, ""];
  for (; n > 0; n = Math.floor((n - 1) / used.length)) text = used[(n - 1) % used.length] + text;
  return text;
}

function indexOfLetters(text, used, doubled) {
  const places = [...text].map((c) => used.indexOf(c)).filter((i) => i >= 0);
  if (places.length === 0) return 0;
  return doubled ? (places.length - 1) * used.length + places[0] : places.reduce((n, place) => n * used.length + place + 1, 0) - 1;
}

/**
 * renumber gives labels to the rows and the seats that are selected. Seats that are not kept get IDs to match, and rows without kept seats
 * keys.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {{ rows?: RowNumbers, seats?: SeatNumbers }} options
 * @param {{ has: (id: string) => boolean }} [kept] IDs that stay
 * @returns {Plan} select.js's follow says what became of a selection
 */
export function renumber(plan, selection, options, kept = new Set()) {
  const parts = rowsIn(plan, selection);
  if (parts.length === 0) return plan;
  const rowLabels = options.rows ? labelsOfRows(plan, parts, options.rows) : new Map();
  const seatLabels = options.seats ? labelsOfSeats(plan, parts, options.seats, options.rows?.order, rowLabels) : new Map();
  const touched = new Set(parts.map((p) => p.row));
  const sections = new Set(parts.map((p) => p.sectionIndex));
  const labelled = mapSections(plan, (s, n) => (!sections.has(n) ? s : mapRows(s, (row) => {
    if (!touched.has(row)) return row;
    const withSeats = mapRow(row, (seat) => {
      const label = seatLabels.get(seat.id) ?? seat.label;
      return label === seat.label ? seat : { ...seat, label };
    });
    const label = rowLabels.get(row) ?? row.label;
    return label === row.label ? withSeats : { ...withSeats, label };
  })));
  return withIDs(labelled, (s, r) => touched.has(plan.sections[s].rows[r]), kept, Boolean(options.rows), sections);
}

/**
 * renameIDs gives all seats that are not kept the IDs <section>-<row>-<label>, and rows without kept seats keys made of their labels.
 * @param {Plan} plan
 * @param {{ has: (id: string) => boolean }} [kept]
 * @returns {Plan}
 */
export const renameIDs = (plan, kept = new Set()) => withIDs(plan, () => true, kept, true, new Set(plan.sections.keys()));

// withIDs gives keys and IDs to match to the rows that isMeant names, by the indexes of section and row; all are in the sections that are given.
function withIDs(plan, isMeant, kept, withKeys, sections) {
  const isFree = (row) => row.seats.every((seat) => seat === null || !kept.has(seat.id));
  const [given, released] = [new Set(), new Set()];
  for (const n of sections) {
    plan.sections[n].rows?.forEach((row, r) => {
      if (isMeant(n, r)) for (const seat of row.seats) if (seat && !kept.has(seat.id)) released.add(seat.id);
    });
  }
  const others = takenIn(plan);
  const taken = { has: (id) => given.has(id) || (!released.has(id) && others.has(id)), add: (id) => given.add(id) };
  return mapSections(plan, (s, n) => {
    if (!sections.has(n)) return s;
    const keys = new Set((s.rows ?? []).filter((row, r) => !withKeys || !isMeant(n, r) || !isFree(row)).map((row) => row.key));
    return mapRows(s, (row, r) => {
      if (!isMeant(n, r)) return row;
      const key = withKeys && isFree(row) ? keyOf(rowName(row.label), keys, "row") : row.key;
      keys.add(key);
      const named = mapRow(row, (seat) => {
        if (kept.has(seat.id)) return seat;
        const id = seatID(s.key, key, seat.label, taken);
        taken.add(id);
        return id === seat.id ? seat : { ...seat, id };
      });
      return key === row.key ? named : { ...named, key };
    });
  });
}

/** @returns {Map<Row, string>} */
function labelsOfRows(plan, parts, /** @type {RowNumbers} */ { order = "front", across = false, kind = "letters", ...series }) {
  const groups = across ? [parts] : [...grouped(parts, (p) => p.section).values()];
  const found = new Map();
  for (const group of groups) {
    const rows = ordered(plan, group.map((p) => p.row), order);
    const names = labels(kind, rows.length, series);
    rows.forEach((row, i) => names[i] !== undefined && found.set(row, names[i]));
  }
  return found;
}

function ordered(plan, rows, order) {
  if (order === "first") return rows;
  return order === "last" ? rows.toReversed() : byDistance(plan, rows, order);
}

function grouped(list, keyOfItem) {
  const groups = new Map();
  for (const item of list) {
    const key = keyOfItem(item);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(item);
  }
  return groups;
}

// labelsOfSeats are labels by ID. A run is what is numbered in one go: seats, and null for gaps, from left to right.
/** @returns {Map<string, string>} */
function labelsOfSeats(plan, parts, seats, order = "front", rowLabels = new Map()) {
  const { over = "row", scheme = "line" } = seats;
  const found = new Map();
  const labelOf = (part) => rowLabels.get(part.row) ?? part.row.label;
  for (const run of runsOf(plan, parts, over, order, seats.direction ?? "right", labelOf)) {
    if (scheme === "sides") sides(run, seats, found);
    else line(run, seats, found);
  }
  return found;
}

function runsOf(plan, parts, over, order, direction, labelOf) {
  const runOf = ({ row, selected }) => oriented(plan, row, new Set(selected), direction);
  const byRow = new Map(parts.map((p) => [p.row, p]));
  if (over === "rows") {
    return [...grouped(parts, (p) => p.section).values()].map((group) => ordered(plan, group.map((p) => p.row), order).flatMap((row) => runOf(byRow.get(row))));
  }
  if (over !== "blocks") return parts.map(runOf);
  return [...grouped(parts, labelOf).values()].map((level) => {
    const at = level.map((p) => ({ p, middle: middleOf(p.selected.map((seat) => [seat.x, seat.y])) }));
    const right = rightOf(plan, middleOf(at.map(({ middle }) => middle)));
    const sign = direction === "left" ? -1 : 1;
    if (direction !== "plan") at.sort((a, b) => sign * (along(a.middle, right) - along(b.middle, right)));
    return at.flatMap(({ p }, i) => [...(i > 0 ? [null] : []), ...runOf(p)]);
  });
}

const along = (/** @type {readonly number[]} */ point, /** @type {readonly number[]} */ [x, y]) => point[0] * x + point[1] * y;

// rightOf is the direction to the right of people who look at the focal point; without one, they look up.
function rightOf(/** @type {Plan} */ { focalPoint }, /** @type {readonly number[]} */ [x, y]) {
  const [dx, dy] = focalPoint ? [focalPoint.x - x, focalPoint.y - y] : [0, -1];
  const length = Math.hypot(dx, dy);
  return length < 1e-9 ? [1, 0] : [-dy / length, dx / length];
}

// oriented is the selected part of a row in a direction.
function oriented(plan, row, selected, direction) {
  const first = row.seats.findIndex((seat) => selected.has(seat));
  const last = row.seats.findLastIndex((seat) => selected.has(seat));
  const part = row.seats.slice(first, last + 1).map((seat) => (selected.has(seat) ? seat : null));
  if (direction === "plan" || row.adjacency === "ALL") return part;
  const drawn = part.filter(Boolean);
  const right = rightOf(plan, middleOf(drawn.map((seat) => [seat.x, seat.y])));
  const isRight = along([drawn.at(-1).x - drawn[0].x, drawn.at(-1).y - drawn[0].y], right) >= -1e-9;
  return isRight === (direction === "right") ? part : part.reverse();
}

function line(run, /** @type {SeatNumbers} */ { kind = "numbers", gaps = false, ...series }, found) {
  const numbered = gaps ? run : run.filter(Boolean);
  const names = labels(kind, numbered.length, series);
  numbered.forEach((seat, i) => seat && names[i] !== undefined && found.set(seat.id, names[i]));
}

// sides numbers from the middle on: with from 1, odd numbers on one side and even ones on the other.
function sides(run, { from = 1, odd = "left", middle = "gap", direction = "right", gaps = false, prefix, suffix, skip }, found) {
  const row = direction === "left" ? run.toReversed() : run;
  const first = Number.parseInt(String(from), 10) || 1;
  const other = odd === "left" ? "right" : "left";
  const cut = middleOfRun(row, middle, first % 2 === 1 ? odd : other);
  const halves = { left: row.slice(0, cut).reverse(), right: row.slice(cut) };
  for (const side of ["left", "right"]) {
    const isOdd = side === odd;
    const start = first % 2 === 1 ? first + (isOdd ? 0 : 1) : first + (isOdd ? 1 : 0);
    const part = halves[side].slice(halves[side].findIndex(Boolean));
    line(part, { from: start, step: 2, gaps, prefix, suffix, skip }, found);
  }
}

// middleOfRun is the index at which the right half begins. The seat in the middle has the first number, so it is on its side.
function middleOfRun(row, middle, firstSide) {
  const all = row.filter(Boolean).length;
  const gaps = [];
  const after = []; // how many seats are before each index
  let n = 0;
  row.forEach((seat, i) => {
    after.push(n);
    if (seat !== null) n++;
    else if (n > 0 && n < all && row[i - 1] !== null) gaps.push({ i, far: Math.abs(n - all / 2) });
  });
  if (middle === "gap" && gaps.length > 0) {
    const nearest = gaps.reduce((a, b) => (b.far < a.far ? b : a));
    if (gaps.length === 1 || nearest.far <= 1) return nearest.i;
  }
  const half = firstSide === "left" ? Math.ceil(all / 2) : Math.floor(all / 2);
  const at = row.findIndex((seat, i) => seat !== null && after[i] === half);
  return at < 0 ? row.length : at;
}

/**
 * preview is what renumber would do to a few rows, for a form: the labels of each, in the plan's order; null is a gap.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {{ rows?: RowNumbers, seats?: SeatNumbers }} options
 * @param {number} [most]
 * @returns {{ section: string, row: string, seats: (string | null)[] }[]}
 */
export function preview(plan, selection, options, most = 10) {
  const after = renumber(plan, selection, options, { has: () => true });
  return rowsIn(plan, selection).slice(0, most).map(({ section, sectionIndex, rowIndex }) => {
    const row = after.sections[sectionIndex].rows[rowIndex];
    return { section: section.name, row: row.label, seats: row.seats.map((seat) => seat && seat.label) };
  });
}
