// What a drawing may want: what the server refuses, mistakes that it accepts, and what is near a limit. Each finding says where it is, so that
// a click can go there.

import { Grid } from "../../picker/src/grid.js";
import { cellsOf, isMostlyOn, seatsMeet } from "../../picker/src/overlap.js";
import { check, limits } from "./check.js";
import { capacityOf, finder } from "./plan.js";
import { boxOf, distance, median } from "./points.js";
import { inOrder } from "./rows.js";

/**
 * @typedef {import("./plan.js").Plan} Plan
 * @typedef {import("./plan.js").Section} Section
 * @typedef {import("./plan.js").Row} Row
 *
 * @typedef {object} Finding
 * @property {string} code what kind of finding it is, for a translation
 * @property {string} what a sentence
 * @property {Record<string, string | number>} values what the sentence says of this plan
 * @property {"error" | "warning" | "hint"} severity error: the server refuses the plan
 * @property {string[]} [seats] IDs
 * @property {string} [section] key
 * @property {number} [decoration] index
 * @property {string} [where] the path in the plan
 */

/** sentences by code; {name} is a value. Translations have the same codes. */
export const sentences = {
  server: "{what}",
  "same-seat-label": "Row {row} of {section} has the seat {label} {n} times.",
  "same-row-label": "{section} has {n} rows with the label {row}.",
  overlap: "{n} seats lie on each other, such as {first} and {second}.",
  order: "The seats of row {row} of {section} are not in the order in which they stand, so others count as neighbours.",
  "no-gap": "Row {row} of {section} has neighbours that are far apart, without a gap between them: they are sold as neighbours.",
  "companion-alone": "Row {row} of {section} has companion seats without an accessible seat next to them.",
  "accessible-alone": "Row {row} of {section} has accessible seats without a companion seat next to them.",
  "sections-overlap": "{section} lies on {other}, on the same floor: the seat map draws it in another place.",
  "no-outline": "{section} has no outline: the seat map draws it below the hall.",
  "no-focal-point": "No best view is set: best available takes the middle of each row.",
  "unused-category": "No seat has the category {category}.",
  "section-limit": "{section} has {n} of at most {most} seats.",
  "row-limit": "Row {row} of {section} has {n} of at most {most} seats.",
  "plan-limit": "The plan has {n} of at most {most} {things}.",
  gone: "{n} seats of the plan that was copied are gone: an event that has sold them can't move to this plan.",
};

const most = 100; // of a kind

/**
 * findings are all of them: errors first, then warnings, then hints.
 * @param {Plan} plan
 * @param {{ kept?: ReadonlySet<string> }} [options] kept: IDs of the plan that was copied
 * @returns {Finding[]}
 */
export function findings(plan, { kept } = {}) {
  const found = check(plan).map(({ where, what }) => finding("server", "error", { what }, { where, ...partAt(plan, where) }));
  for (const s of plan.sections) found.push(...ofSection(s));
  found.push(...overlaps(plan), ...sectionOverlaps(plan), ...ofPlan(plan, kept));
  const rank = { error: 0, warning: 1, hint: 2 };
  const counts = new Map();
  return found.sort((a, b) => rank[a.severity] - rank[b.severity]).filter(({ code }) => {
    counts.set(code, (counts.get(code) ?? 0) + 1);
    return counts.get(code) <= most;
  });
}

function finding(code, severity, values, place) {
  const what = sentences[code].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
  return /** @type {Finding} */ ({ code, what, values, severity, ...place });
}

// partAt is the part of the plan at a path.
function partAt(plan, where) {
  const at = /^sections\[(\d+)\](?:\.rows\[(\d+)\](?:\.seats\[(\d+)\])?)?/.exec(where);
  if (!at) {
    const decoration = /^decorations\[(\d+)\]/.exec(where);
    return decoration ? { decoration: Number(decoration[1]) } : {};
  }
  const section = plan.sections[Number(at[1])];
  if (section === undefined) return {};
  const row = at[2] === undefined ? undefined : section.rows?.[Number(at[2])];
  const seats = at[3] === undefined ? row?.seats : [row?.seats[Number(at[3])]];
  return { section: section.key, ...(seats ? { seats: seats.filter(Boolean).map((seat) => seat.id) } : {}) };
}

// What is found in a section depends on it alone, so it is found once.
/** @type {WeakMap<Section, Finding[]>} */
const bySection = new WeakMap();

function ofSection(s) {
  let found = bySection.get(s);
  if (found === undefined) {
    found = s.rows ? [...sameRowLabels(s), ...s.rows.flatMap((row) => ofRow(s, row)), ...sectionLimit(s)] : noOutline(s);
    bySection.set(s, found);
  }
  return found;
}

const noOutline = (s) => (s.outline?.length > 2 ? [] : [finding("no-outline", "hint", { section: s.name }, { section: s.key })]);

function sameRowLabels(s) {
  return [...grouped(s.rows, (row) => row.label)].filter(([, rows]) => rows.length > 1).map(([label, rows]) => finding(
    "same-row-label", "warning", { section: s.name, row: label, n: rows.length }, { section: s.key, seats: rows.flatMap(idsOfRow) },
  ));
}

const idsOfRow = (row) => row.seats.flatMap((seat) => (seat ? [seat.id] : []));

function grouped(list, keyOfItem) {
  const groups = new Map();
  for (const item of list) {
    const key = keyOfItem(item);
    if (groups.has(key)) groups.get(key).push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

function sectionLimit(s) {
  const n = s.rows.reduce((sum, row) => sum + row.seats.filter(Boolean).length, 0);
  return isNear(n, limits.sectionSeats) ? [finding("section-limit", "hint", { section: s.name, n, most: limits.sectionSeats }, { section: s.key })] : [];
}

const isNear = (n, limit) => n > 0.9 * limit && n <= limit;

function ofRow(s, row) {
  const seats = row.seats.filter(Boolean);
  const found = [];
  const add = (code, severity, at, values = {}) => {
    found.push(finding(code, severity, { section: s.name, row: row.label, ...values }, { section: s.key, seats: at.map((seat) => seat.id) }));
  };
  for (const [label, same] of grouped(seats, (seat) => seat.label)) if (same.length > 1) add("same-seat-label", "warning", same, { label, n: same.length });
  if (row.adjacency === "LINE") {
    if (isOutOfOrder(row)) add("order", "warning", seats);
    else {
      const far = withoutGap(row);
      if (far.length > 0) add("no-gap", "warning", far);
    }
  }
  const alone = (seat, next) => !neighboursOf(row, seat).some(next);
  const companions = seats.filter((seat) => seat.companion && !seat.accessible && alone(seat, (next) => next.accessible));
  if (companions.length > 0) add("companion-alone", "warning", companions);
  const accessible = seats.filter((seat) => seat.accessible && alone(seat, (next) => next.companion));
  if (accessible.length > 0) add("accessible-alone", "hint", accessible);
  if (isNear(seats.length, limits.rowSeats)) add("row-limit", "hint", seats, { n: seats.length, most: limits.rowSeats });
  return found;
}

function neighboursOf(row, seat) {
  if (row.adjacency === "NONE") return [];
  if (row.adjacency === "ALL") return row.seats.filter((other) => other && other !== seat);
  const place = row.seats.indexOf(seat);
  return [row.seats[place - 1], row.seats[place + 1]].filter(Boolean);
}

const pointOf = (seat) => /** @type {import("./plan.js").Point} */ ([seat.x, seat.y]);

const lengthOf = (seats) => seats.slice(1).reduce((sum, seat, i) => sum + distance(pointOf(seat), pointOf(seats[i])), 0);

// isOutOfOrder reports whether another order makes the row clearly shorter.
function isOutOfOrder(row) {
  if (isStraightOn(row)) return false;
  const ordered = inOrder(row);
  return ordered !== row && lengthOf(ordered.seats.filter(Boolean)) < 0.99 * lengthOf(row.seats.filter(Boolean));
}

// isStraightOn reports whether no seat turns back, which is so in most rows, and quick to see.
function isStraightOn({ seats }) {
  let [before, last] = [undefined, undefined];
  for (const seat of seats) {
    if (seat === null) continue;
    if (before && (last.x - before.x) * (seat.x - last.x) + (last.y - before.y) * (seat.y - last.y) < 0) return false;
    [before, last] = [last, seat];
  }
  return true;
}

function withoutGap(row) {
  const steps = row.seats.map((seat, i) => (seat && row.seats[i - 1] ? distance(pointOf(seat), pointOf(row.seats[i - 1])) : 0));
  const usual = median(steps.filter((d) => d > 0)) ?? 0;
  if (usual === 0 || row.seats.length < 4) return [];
  return row.seats.filter((_, i) => steps[i] > 1.9 * usual || steps[i + 1] > 1.9 * usual).filter(Boolean);
}

// overlaps are seats of a floor that are much nearer to each other than neighbours are: in a section, or in two that meet.
function overlaps(plan) {
  const found = [];
  for (const [, sections] of grouped(plan.sections.filter((s) => s.rows?.length), (s) => s.floor ?? "")) {
    const pairs = sections.flatMap(pairsWithin);
    for (let i = 0; i < sections.length; i++) for (let j = 0; j < i; j++) pairs.push(...pairsBetween(sections[j], sections[i]));
    if (pairs.length === 0) continue;
    const seats = [...new Set(pairs.flat())];
    found.push(finding("overlap", "warning", { n: seats.length, first: pairs[0][0], second: pairs[0][1] }, { seats: seats.slice(0, mostSeatsOfFinding) }));
  }
  return found;
}

const mostSeatsOfFinding = 1000;
const onOnePlace = 0.01; // less than a spacing: for a section whose seats have none, because they all lie on each other

/** @type {WeakMap<Section, [string, string][]>} */
const pairs = new WeakMap();

function pairsWithin(s) {
  let found = pairs.get(s);
  if (found === undefined) pairs.set(s, found = nearPairs(seatsOfSection(s), 0.4 * (spacingOf(s) ?? onOnePlace)));
  return found;
}

const seatsOfSection = (s) => s.rows.flatMap((row) => row.seats.filter(Boolean));

function pairsBetween(a, b) {
  const least = 0.4 * Math.min(spacingOf(a) ?? Infinity, spacingOf(b) ?? Infinity);
  const [p, q] = [seatsBox(a), seatsBox(b)];
  const box = { x0: Math.max(p.x0, q.x0) - least, y0: Math.max(p.y0, q.y0) - least, x1: Math.min(p.x1, q.x1) + least, y1: Math.min(p.y1, q.y1) + least };
  if (!Number.isFinite(least) || box.x0 > box.x1 || box.y0 > box.y1) return [];
  const within = (s) => seatsOfSection(s).filter((seat) => seat.x >= box.x0 && seat.x <= box.x1 && seat.y >= box.y0 && seat.y <= box.y1);
  const [mine, others] = [within(a), within(b)];
  return mine.length > 0 && others.length > 0 ? nearPairs([...mine, ...others], least, mine.length) : [];
}

// nearPairs are IDs of seats that are nearer than least to each other; with a border, one before it and one behind.
function nearPairs(seats, least, border = undefined) {
  const found = [];
  const box = boxOf(seats.map(pointOf));
  if (!box || least <= 0) return found;
  const [xs, ys] = [Float64Array.from(seats, (seat) => seat.x), Float64Array.from(seats, (seat) => seat.y)];
  const grid = new Grid(xs, ys, box, 8 * least);
  for (let i = 0; i < (border ?? seats.length) && found.length < mostSeatsOfFinding; i++) {
    grid.each(xs[i] - least, ys[i] - least, xs[i] + least, ys[i] + least, (j) => {
      if (j > i && j >= (border ?? 0) && Math.hypot(xs[j] - xs[i], ys[j] - ys[i]) < least) found.push([seats[i].id, seats[j].id]);
    });
  }
  return found;
}

/** @type {WeakMap<Section, { spacing: number | undefined }>} */
const spacings = new WeakMap();

// spacingOf is a usual distance between neighbours of a section; undefined if it has none.
function spacingOf(s) {
  let found = spacings.get(s);
  if (found === undefined) {
    const steps = [];
    for (const row of s.rows) {
      const at = row.seats.findIndex((seat, i) => seat && row.seats[i + 1]);
      if (at >= 0) steps.push(distance(pointOf(row.seats[at]), pointOf(row.seats[at + 1])));
    }
    spacings.set(s, found = { spacing: median(steps.filter((d) => d > 0)) });
  }
  return found.spacing;
}

// sectionOverlaps are sections that the seat map would draw in another place, because they lie on one before them.
function sectionOverlaps(plan) {
  const placed = [];
  const found = [];
  const spacing = median(plan.sections.flatMap((s) => (s.rows?.length ? spacingOf(s) ?? [] : []))) ?? 1;
  const cells = new Map();
  const cellsIn = (s) => {
    if (!cells.has(s)) cells.set(s, cellsOf(seatsOfSection(s).map(pointOf), spacing));
    return cells.get(s);
  };
  for (const s of plan.sections) {
    if (!s.rows?.length) continue;
    const box = boxOfSection(s, spacing);
    const under = placed.find((p) => (p.section.floor ?? "") === (s.floor ?? "") && isMostlyOn(box, p.box) && seatsMeet(cellsIn(s), cellsIn(p.section)));
    if (under) found.push(finding("sections-overlap", "warning", { section: s.name, other: under.section.name }, { section: s.key, seats: s.rows.flatMap(idsOfRow) }));
    else placed.push({ section: s, box });
  }
  return found;
}

/** @type {WeakMap<Section, any>} */
const boxes = new WeakMap();

function seatsBox(s) {
  let box = boxes.get(s);
  if (box === undefined) boxes.set(s, box = boxOf(seatsOfSection(s).map(pointOf)) ?? { x0: 0, y0: 0, x1: 0, y1: 0 });
  return box;
}

function boxOfSection(s, spacing) {
  const box = seatsBox(s);
  const by = 0.9 * spacing;
  const grown = { x0: box.x0 - by, y0: box.y0 - by, x1: box.x1 + by, y1: box.y1 + by };
  const outline = boxOf(s.outline ?? []);
  if (!outline) return grown;
  return { x0: Math.min(grown.x0, outline.x0), y0: Math.min(grown.y0, outline.y0), x1: Math.max(grown.x1, outline.x1), y1: Math.max(grown.y1, outline.y1) };
}

function ofPlan(plan, kept) {
  const found = [];
  const { total, categories } = capacityOf(plan);
  const n = total - plan.sections.reduce((sum, s) => sum + (s.rows ? 0 : s.capacity ?? 0), 0);
  if (!plan.focalPoint && n > 0) found.push(finding("no-focal-point", "hint", {}, {}));
  for (const c of plan.categories) if (categories.get(c.key) === 0 && total > 0) found.push(finding("unused-category", "hint", { category: c.name }, {}));
  for (const [things, count, limit] of /** @type {const} */ ([
    ["seats", n, limits.seats], ["sections", plan.sections.length, limits.sections], ["categories", plan.categories.length, limits.categories],
    ["decorations", plan.decorations.length, limits.decorations],
  ])) if (isNear(count, limit)) found.push(finding("plan-limit", "hint", { n: count, most: limit, things }, {}));
  const placeOf = finder(plan);
  const gone = kept ? [...kept].filter((id) => placeOf(id) === undefined).length : 0;
  if (gone > 0) found.push(finding("gone", "hint", { n: gone }, {}));
  return found;
}
