// Commands that change where things are, and what there is. Each is a pure function: it returns another plan, or the same one if
// nothing changes. rows.js has those that change rows, properties.js those that change what things are; all are exported here.

import { addRows, addSection, keyOf, mapList, mapRow, mapRows, mapSeats, mapSections, removeSeats, rowName, seatID, sectionsWith, successor, takenIn } from "./plan.js";
import { boxOf, middleOf, rounded, turn } from "./points.js";
import { partsOf, pointsOf, sectionRef, unitsOf, withoutDecorations } from "./select.js";
import { around } from "./shapes.js";

export * from "./properties.js";
export * from "./rows.js";
export * from "./select.js";

/**
 * @typedef {import("./plan.js").Plan} Plan
 * @typedef {import("./plan.js").Selection} Selection
 * @typedef {import("./plan.js").Point} Point
 * @typedef {import("./plan.js").Section} Section
 * @typedef {import("./plan.js").Decoration} Decoration
 */

/**
 * transform moves each selected point to where fn says.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {(point: Point) => Point} fn
 * @returns {Plan}
 */
export function transform(plan, selection, fn) {
  const { seats, sections, decorations, focal } = partsOf(plan, selection);
  const to = (point) => rounded(fn(point));
  let changed = mapSeats(plan, seats, (seat) => placed(seat, to([seat.x, seat.y])));
  if (sections.size > 0) {
    changed = mapSections(changed, (s) => {
      if (!s.outline || !sections.has(s.key)) return s;
      const outline = samePoints(s.outline, s.outline.map(to));
      return outline === s.outline ? s : { ...s, outline };
    });
  }
  if (decorations.size > 0) {
    const list = mapList(changed.decorations, (d, i) => (decorations.has(i) ? movedDecoration(d, to) : d));
    if (list !== changed.decorations) changed = { ...changed, decorations: list };
  }
  if (focal) {
    const { x, y } = plan.focalPoint;
    const [fx, fy] = to([x, y]);
    if (fx !== x || fy !== y) changed = { ...changed, focalPoint: { x: fx, y: fy } };
  }
  return changed;
}

const placed = (seat, [x, y]) => (seat.x === x && seat.y === y ? seat : { ...seat, x, y });

const samePoints = (before, after) => (before.every(([x, y], i) => x === after[i][0] && y === after[i][1]) ? before : after);

function movedDecoration(d, to) {
  if (d.points) {
    const points = samePoints(d.points, d.points.map(to));
    return points === d.points ? d : { ...d, points };
  }
  const [at] = samePoints([d.at], [to(d.at)]);
  return at === d.at ? d : { ...d, at };
}

/** move moves what is selected. @param {Plan} plan @param {Selection} selection @returns {Plan} */
export const move = (plan, selection, dx, dy) => (dx === 0 && dy === 0 ? plan : transform(plan, selection, ([x, y]) => [x + dx, y + dy]));

/**
 * rotate turns what is selected around a point: without one, around its own middle.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {number} degrees clockwise as drawn
 * @param {Point} [at]
 * @returns {Plan}
 */
export function rotate(plan, selection, degrees, at = middleOf(pointsOf(plan, selection))) {
  return degrees % 360 === 0 ? plan : transform(plan, selection, (p) => turn(p, degrees, at));
}

/**
 * mirror swaps left and right ("x") or top and bottom ("y").
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {"x" | "y"} axis
 * @param {number} [at] where the mirror is: without it, in the middle of what is selected
 * @returns {Plan}
 */
export function mirror(plan, selection, axis, at = middleOf(pointsOf(plan, selection))[axis === "x" ? 0 : 1]) {
  return transform(plan, selection, mirroring(axis, at));
}

/** @returns {(point: Point) => Point} */
const mirroring = (axis, at) => ([x, y]) => (axis === "x" ? [2 * at - x, y] : [x, 2 * at - y]);

/**
 * scale makes distances larger or smaller, from a point.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {number} factor
 * @param {Point} [at]
 * @returns {Plan}
 */
export function scale(plan, selection, factor, at = middleOf(pointsOf(plan, selection))) {
  return transform(plan, selection, ([x, y]) => [at[0] + (x - at[0]) * factor, at[1] + (y - at[1]) * factor]);
}

/**
 * align moves units (unitsOf) so that they share an edge or a middle: "left", "centre", "right", "top", "middle", "bottom".
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {"left" | "centre" | "right" | "top" | "middle" | "bottom"} edge
 * @returns {Plan}
 */
export function align(plan, selection, edge) {
  const units = unitsOf(plan, selection).map((unit) => ({ unit, box: boxOf(pointsOf(plan, unit)) })).filter(({ box }) => box);
  const all = boxOf(pointsOf(plan, selection));
  if (units.length < 2) return plan;
  const by = {
    left: (b) => [all.x0 - b.x0, 0], right: (b) => [all.x1 - b.x1, 0], centre: (b) => [(all.x0 + all.x1 - b.x0 - b.x1) / 2, 0],
    top: (b) => [0, all.y0 - b.y0], bottom: (b) => [0, all.y1 - b.y1], middle: (b) => [0, (all.y0 + all.y1 - b.y0 - b.y1) / 2],
  }[edge];
  return moveUnits(plan, units.map(({ unit, box }) => ({ unit, by: by(box) })));
}

/**
 * distribute moves units (unitsOf) so that the distances between their boxes are equal. The first and the last stay.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {"x" | "y"} axis
 * @returns {Plan}
 */
export function distribute(plan, selection, axis) {
  const [from, to] = axis === "x" ? ["x0", "x1"] : ["y0", "y1"];
  const units = unitsOf(plan, selection).map((unit) => ({ unit, box: boxOf(pointsOf(plan, unit)) })).filter(({ box }) => box);
  if (units.length < 3) return plan;
  units.sort((a, b) => a.box[from] + a.box[to] - b.box[from] - b.box[to]);
  const size = units.reduce((sum, { box }) => sum + box[to] - box[from], 0);
  const gap = (units.at(-1).box[to] - units[0].box[from] - size) / (units.length - 1);
  let at = units[0].box[from];
  return moveUnits(plan, units.map(({ unit, box }) => {
    const d = at - box[from];
    at += box[to] - box[from] + gap;
    return { unit, by: axis === "x" ? [d, 0] : [0, d] };
  }));
}

const moveUnits = (plan, units) => units.reduce((moved, { unit, by: [dx, dy] }) => move(moved, unit, dx, dy), plan);

/**
 * remove removes what is selected; rows and sections without seats go too.
 * @param {Plan} plan
 * @param {Selection} selection
 * @returns {Plan}
 */
export function remove(plan, selection) {
  const { seats, sections, decorations, focal } = partsOf(plan, selection);
  let changed = removeSeats(plan, seats);
  if (sections.size > 0) changed = mapSections(changed, (s) => (sections.has(s.key) ? null : s));
  if (decorations.size > 0) changed = { ...changed, decorations: withoutDecorations(changed.decorations, decorations) };
  if (!focal) return changed;
  const { focalPoint: _, ...rest } = changed;
  return rest;
}

/**
 * @typedef {{ sections: (Section & { isWhole: boolean })[], decorations: Decoration[] }} Clip a copy, which JSON can hold
 */

/**
 * @typedef {"rows" | "sections"} As what copies of all seats of a section become: rows of it, or sections. Without it, a section that is selected as such,
 *   or has other rows than tables, is copied as a section.
 */

/**
 * copy is what is selected, for paste: now, later, or in another plan.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {{ as?: As }} [options]
 * @returns {Clip}
 */
export function copy(plan, selection, { as } = {}) {
  const { seats, sections, decorations } = partsOf(plan, selection);
  const clip = { sections: [], decorations: [...decorations].map((i) => plan.decorations[i]) };
  const touched = sectionsWith(plan, seats);
  for (const s of plan.sections) {
    if (!touched.has(s) && !sections.has(s.key)) continue;
    const isWhole = sections.has(s.key) && (!s.rows || (as ?? copiesAs(s, selection)) === "sections");
    const rows = (s.rows ?? []).flatMap((row) => {
      if (isWhole) return [row];
      const first = row.seats.findIndex((seat) => seat && seats.has(seat.id));
      const last = row.seats.findLastIndex((seat) => seat && seats.has(seat.id));
      if (first < 0) return [];
      const part = row.seats.slice(first, last + 1).map((seat) => (seat && seats.has(seat.id) ? seat : null));
      return [{ ...row, seats: row.adjacency === "ALL" ? part.filter(Boolean) : part }];
    });
    if (!isWhole && rows.length === 0) continue;
    clip.sections.push(s.rows ? { ...s, rows, isWhole } : { ...s, isWhole });
  }
  return clip;
}

const copiesAs = (s, selection) => (!selection.has(sectionRef(s.key)) && hasTablesAlone(s) ? "rows" : "sections");

const hasTablesAlone = (s) => s.rows?.length > 0 && s.rows.every((row) => row.adjacency === "ALL");

/**
 * copiesTables reports whether all of a section of tables is selected: its copies may be rows or sections.
 * @param {Plan} plan
 * @param {Selection} selection
 */
export function copiesTables(plan, selection) {
  if (!plan.sections.some(hasTablesAlone)) return false;
  const { sections } = partsOf(plan, selection);
  return plan.sections.some((s) => sections.has(s.key) && hasTablesAlone(s));
}

/**
 * paste adds a copy. A whole section becomes a new one, with the next name (Block 102 after Block 101); other rows get into the section that they are from, with the
 * next labels. All seats have new IDs.
 * @param {Plan} plan
 * @param {Clip} clip
 * @param {(point: Point) => Point} [to] where each point goes
 * @param {{ reverse?: boolean, floor?: string }} [options] reverse: the order of the seats in a row, for a mirrored copy; tables keep theirs.
 *   floor: the one to which all of it goes; without it, each thing stays on its own
 * @returns {Plan} select.js's added says what is new
 */
export function paste(plan, clip, to = ([x, y]) => [x + 1, y + 1], { reverse = false, floor } = {}) {
  const put = (point) => rounded(to(point));
  const onFloor = (thing) => (floor === undefined ? thing : setFloor(thing, floor));
  const taken = takenIn(plan);
  let changed = plan;
  for (const { isWhole, ...section } of clip.sections) {
    const target = changed.sections.find((s) => s.key === section.key && (s.floor ?? "") === (floor ?? s.floor ?? ""));
    if (isWhole || !target?.rows) changed = pasteSection(changed, onFloor(section), put, taken, reverse);
    else changed = mapSections(changed, (s) => (s === target ? { ...s, rows: [...s.rows, ...pasteRows(changed, s, section.rows, put, taken, reverse)] } : s));
  }
  if (clip.decorations.length === 0) return changed;
  return { ...changed, decorations: [...changed.decorations, ...clip.decorations.map((d) => movedCopy(onFloor(d), put))] };
}

// A decoration without a floor is on all of them.
const setFloor = ({ floor: _, ...thing }, floor) => (floor === "" ? thing : { ...thing, floor });

const movedCopy = (d, put) => (d.points ? { ...d, points: d.points.map(put) } : { ...d, at: put(d.at) });

function pasteSection(plan, section, put, taken, reverse) {
  const names = new Set(plan.sections.map((s) => s.name));
  const name = freeName(section.name, names);
  const key = keyOf(name === section.name ? section.key : name, plan.sections.map((s) => s.key), "section");
  const added = { ...section, key, name, category: knownCategory(plan, section.category) };
  if (section.outline) added.outline = section.outline.map(put);
  if (section.rows) added.rows = pasteRows(plan, { ...added, rows: [] }, section.rows, put, taken, reverse);
  return { ...plan, sections: [...plan.sections, added] };
}

function pasteRows(plan, section, rows, put, taken, reverse) {
  const labels = new Set(section.rows.map((row) => row.label));
  const keys = new Set(section.rows.map((row) => row.key));
  return rows.map((row) => {
    const label = freeName(row.label, labels);
    const key = keyOf(label === row.label ? row.key : rowName(label), keys, "row");
    labels.add(label);
    keys.add(key);
    const copied = mapRow(row, (seat) => {
      const id = seatID(section.key, key, seat.label, taken);
      taken.add(id);
      const [x, y] = put([seat.x, seat.y]);
      return { ...seat, id, x, y, category: knownCategory(plan, seat.category) };
    });
    const seats = reverse && row.adjacency !== "ALL" ? copied.seats.toReversed() : copied.seats;
    return { ...copied, key, label, category: knownCategory(plan, row.category), seats };
  });
}

const knownCategory = (plan, key) => (plan.categories.some((c) => c.key === key) ? key : plan.categories[0]?.key ?? key);

function freeName(name, taken) {
  let free = name;
  while (taken.has(free)) free = successor(free);
  return free;
}

/**
 * duplicate adds a copy of what is selected, moved.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {number} dx
 * @param {number} dy
 * @param {{ as?: As }} [options]
 * @returns {Plan}
 */
export const duplicate = (plan, selection, dx, dy, options) => paste(plan, copy(plan, selection, options), ([x, y]) => [x + dx, y + dy]);

/**
 * repeat adds n copies along a line, each moved by dx and dy from the one before it.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {number} n
 * @param {number} dx
 * @param {number} dy
 * @param {{ as?: As }} [options]
 * @returns {Plan}
 */
export function repeat(plan, selection, n, dx, dy, options) {
  const clip = copy(plan, selection, options);
  return times(plan, n, (changed, i) => paste(changed, clip, ([x, y]) => [x + i * dx, y + i * dy]));
}

/**
 * repeatAround adds n copies around a point, each turned by the degrees from the one before it.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {number} n
 * @param {number} degrees
 * @param {Point} at
 * @param {{ upright?: boolean, as?: As }} [options] upright: the copies are not turned, as tables in a ring
 * @returns {Plan}
 */
export function repeatAround(plan, selection, n, degrees, at, { upright = false, as } = {}) {
  const clip = copy(plan, selection, { as });
  const middle = middleOf(pointsOf(plan, selection));
  return times(plan, n, (changed, i) => {
    const [mx, my] = turn(middle, i * degrees, at);
    return paste(changed, clip, upright ? ([x, y]) => [x + mx - middle[0], y + my - middle[1]] : (p) => turn(p, i * degrees, at));
  });
}

function times(plan, n, fn) {
  let changed = plan;
  for (let i = 1; i <= n; i++) changed = fn(changed, i);
  return changed;
}

/**
 * mirrorCopy adds a mirrored copy, such as the right half of a hall. Seats in a row stay in order from left to right, and those of a table from
 * the first one on.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {"x" | "y"} axis
 * @param {number} at where the mirror is
 * @param {{ as?: As }} [options]
 * @returns {Plan}
 */
export function mirrorCopy(plan, selection, axis, at, options) {
  return paste(plan, copy(plan, selection, options), mirroring(axis, at), { reverse: axis === "x" });
}

/**
 * addBlocks adds a section for each block, as fan, ring and blocksAlong of shapes.js lay them out.
 * @param {Plan} plan
 * @param {(Point | null)[][][]} blocks
 * @param {Partial<Section> & { name: string, labels?: string[], adjacency?: import("./plan.js").Adjacency, outlines?: boolean }} options name: of
 *   the first block; the others have the next names. labels: of rows. outlines: around each block
 * @returns {Plan}
 */
export function addBlocks(plan, blocks, { name, labels, adjacency, outlines = false, ...section }) {
  const names = new Set(plan.sections.map((s) => s.name));
  const taken = takenIn(plan);
  let next = name;
  return blocks.reduce((changed, rows) => {
    next = freeName(next, names);
    names.add(next);
    const outline = outlines ? { outline: around(rows.flat().filter(Boolean)) } : {};
    const withSection = addSection(changed, { ...section, ...outline, name: next });
    return addRows(withSection, withSection.sections.at(-1).key, rows, { labels, adjacency, taken });
  }, plan);
}

/** setFocalPoint sets what the hall looks at; null: nothing. @param {Plan} plan @param {Point | null} point @returns {Plan} */
export function setFocalPoint(plan, point) {
  const { focalPoint, ...rest } = plan;
  if (point === null) return focalPoint ? rest : plan;
  const [x, y] = rounded(point);
  return focalPoint?.x === x && focalPoint?.y === y ? plan : { ...plan, focalPoint: { x, y } };
}

/** addDecoration adds one at the end: it is drawn over the others. @param {Plan} plan @param {Decoration} decoration @returns {Plan} */
export const addDecoration = (plan, decoration) => ({ ...plan, decorations: [...plan.decorations, movedCopy(decoration, rounded)] });

/**
 * setDecoration changes one; a field that is undefined or "" is removed.
 * @param {Plan} plan
 * @param {number} index
 * @param {Partial<Decoration>} changes
 * @returns {Plan}
 */
export function setDecoration(plan, index, changes) {
  const decorations = mapList(plan.decorations, (d, i) => {
    if (i !== index) return d;
    const changed = { ...d, ...changes };
    for (const field of Object.keys(changes)) if (changed[field] === undefined || changed[field] === "") delete changed[field];
    if (Object.keys({ ...d, ...changed }).every((field) => d[field] === changed[field])) return d;
    return movedCopy(changed, rounded);
  });
  return decorations === plan.decorations ? plan : { ...plan, decorations };
}

