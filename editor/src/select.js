// What is selected: a set of texts. A seat is its ID; anything else has a colon, which no ID has.

import { finder, mapList, seatsOf, sectionsWith } from "./plan.js";

/**
 * @typedef {import("./plan.js").Plan} Plan
 * @typedef {import("./plan.js").Selection} Selection
 * @typedef {import("./plan.js").Point} Point
 */

/** sectionRef is a section with all its seats, or an area; decorationRef a decoration by its index; focalRef the focal point. */
export const sectionRef = (key) => `section:${key}`;
export const decorationRef = (index) => `decoration:${index}`;
export const focalRef = "focal:";

/**
 * parseRef says what a text of a selection is.
 * @param {string} ref
 * @returns {{ seat: string } | { section: string } | { decoration: number } | { focal: true }}
 */
export function parseRef(ref) {
  if (ref === focalRef) return { focal: true };
  if (ref.startsWith("section:")) return { section: ref.slice("section:".length) };
  if (ref.startsWith("decoration:")) return { decoration: Number(ref.slice("decoration:".length)) };
  return { seat: ref };
}

/**
 * partsOf takes a selection apart. What the plan does not have is left out.
 * @param {Plan} plan
 * @param {Selection} selection
 * @returns {{ seats: Set<string>, sections: Set<string>, decorations: Set<number>, focal: boolean }} seats: with those of selected
 *   sections; sections: keys of those that are selected, or all of whose seats are
 */
export function partsOf(plan, selection) {
  const parts = { seats: new Set(), sections: new Set(), decorations: new Set(), focal: selection.has(focalRef) && Boolean(plan.focalPoint) };
  if (selection.size === 0) return parts;
  const touched = sectionsWith(plan, selection);
  for (const s of plan.sections) {
    const isSelected = selection.has(sectionRef(s.key));
    if (!isSelected && !touched.has(s)) continue;
    let [n, all] = [0, 0];
    for (const row of s.rows ?? []) {
      for (const seat of row.seats) {
        if (seat === null) continue;
        all++;
        if (!isSelected && !selection.has(seat.id)) continue;
        n++;
        parts.seats.add(seat.id);
      }
    }
    if (isSelected || (n === all && n > 0)) parts.sections.add(s.key);
  }
  plan.decorations.forEach((_, i) => selection.has(decorationRef(i)) && parts.decorations.add(i));
  return parts;
}

/**
 * everything is all that a plan has or, of a floor, all that is drawn with it.
 * @param {Plan} plan
 * @param {string} [floor]
 * @returns {Set<string>}
 */
export function everything(plan, floor) {
  const sections = plan.sections.filter((s) => isOn(floor, s.floor ?? ""));
  const all = new Set(sections.map((s) => sectionRef(s.key)));
  for (const { seat } of seatsOf({ ...plan, sections })) all.add(seat.id);
  plan.decorations.forEach((d, i) => { if (isOn(floor, d.floor)) all.add(decorationRef(i)); });
  if (plan.focalPoint) all.add(focalRef);
  return all;
}

/** isOn reports whether something is drawn while a floor is shown; undefined stands for all floors. */
export const isOn = (shown, floor) => shown === undefined || floor === undefined || floor === shown;

/**
 * rowsIn are the rows with a selected seat, in the plan's order.
 * @param {Plan} plan
 * @param {Selection} selection
 */
export function rowsIn(plan, selection) {
  const { seats } = partsOf(plan, selection);
  const touched = sectionsWith(plan, seats);
  return plan.sections.flatMap((section, sectionIndex) => (!touched.has(section) ? [] : section.rows).flatMap((row, rowIndex) => {
    const selected = row.seats.filter((seat) => seat && seats.has(seat.id));
    return selected.length === 0 ? [] : [{ section, sectionIndex, row, rowIndex, selected }];
  }));
}

/** wholeRows is a selection with all seats of the rows that it touches. @param {Plan} plan @param {Selection} selection */
export function wholeRows(plan, selection) {
  return new Set([...selection, ...idsIn(rowsIn(plan, selection).map(({ row }) => row))]);
}

/**
 * sameRows is a selection with all rows that have the label of one that it touches, in the sections of the floor that is shown.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {string} [floor]
 */
export function sameRows(plan, selection, floor) {
  const labels = new Set(rowsIn(plan, selection).map(({ row }) => row.label));
  const shown = plan.sections.filter((s) => isOn(floor, s.floor ?? ""));
  const rows = shown.flatMap((s) => (s.rows ?? []).filter((row) => labels.has(row.label)));
  return new Set([...selection, ...idsIn(rows)]);
}

const idsIn = (rows) => rows.flatMap((row) => row.seats.flatMap((seat) => (seat ? [seat.id] : [])));

/** pointsOf are the positions of all that is selected. @param {Plan} plan @param {Selection} selection @returns {Point[]} */
export function pointsOf(plan, selection) {
  const { seats, sections, decorations, focal } = partsOf(plan, selection);
  const points = /** @type {Point[]} */ ([]);
  const touched = sectionsWith(plan, seats);
  for (const s of plan.sections) {
    if (sections.has(s.key)) points.push(...(s.outline ?? []));
    if (!touched.has(s)) continue;
    for (const row of s.rows ?? []) for (const seat of row.seats) if (seat && seats.has(seat.id)) points.push([seat.x, seat.y]);
  }
  for (const i of decorations) points.push(...(plan.decorations[i].points ?? [plan.decorations[i].at]));
  if (focal) points.push([plan.focalPoint.x, plan.focalPoint.y]);
  return points;
}

/**
 * added is what a plan has that the one before it did not: what a command made, such as copies.
 * @param {Plan} before
 * @param {Plan} after
 * @returns {Set<string>}
 */
export function added(before, after) {
  const found = new Set();
  const placeBefore = finder(before);
  const [oldSections, oldRows, keys] = [new Set(before.sections), new Set(before.sections.flatMap((s) => s.rows ?? [])), new Set(before.sections.map((s) => s.key))];
  for (const s of after.sections) {
    if (oldSections.has(s)) continue;
    if (!s.rows && !keys.has(s.key)) found.add(sectionRef(s.key));
    for (const row of s.rows ?? []) {
      if (oldRows.has(row)) continue;
      for (const seat of row.seats) if (seat && !placeBefore(seat.id)) found.add(seat.id);
    }
  }
  const decorations = new Set(before.decorations);
  if (after.decorations.length > before.decorations.length) {
    after.decorations.forEach((d, i) => !decorations.has(d) && found.add(decorationRef(i)));
  }
  return found;
}

/**
 * follow is a selection after a command, or after its undoing. Where seats get other IDs, as renumber does, an ID may be that of another seat than
 * before: a seat that stands where it stood is the same one.
 * @param {Plan} before
 * @param {Plan} after
 * @param {Selection} selection
 * @returns {Set<string>}
 */
export function follow(before, after, selection) {
  const followed = new Set();
  const idAfter = follower(before, after);
  for (const ref of selection) {
    const { seat, section, decoration } = /** @type {any} */ (parseRef(ref));
    if (seat !== undefined) {
      const id = idAfter(seat);
      if (id !== undefined) followed.add(id);
    } else if (section !== undefined) {
      if (after.sections.some((s) => s.key === section)) followed.add(ref);
    } else if (decoration === undefined || after.decorations[decoration]) {
      followed.add(ref);
    }
  }
  return followed;
}

function follower(before, after) {
  const [findBefore, findAfter] = [finder(before), finder(after)];
  return (id) => {
    const [was, is] = [findBefore(id), findAfter(id)];
    if (!was) return is && id;
    const stands = (seat) => seat && seat.x === was.seat.x && seat.y === was.seat.y;
    if (stands(is?.seat)) return id;
    const there = after.sections[was.sectionIndex]?.rows?.[was.rowIndex]?.seats[was.place];
    if (there?.id !== id && stands(there)) return there.id;
    return is && id;
  };
}

/**
 * unitsOf are what align and distribute keep together: whole sections, if more than one is touched; or else rows, if more than one is; or
 * else seats. Each area and each decoration is one.
 * @param {Plan} plan
 * @param {Selection} selection
 * @returns {Set<string>[]}
 */
export function unitsOf(plan, selection) {
  const { sections, decorations, focal } = partsOf(plan, selection);
  const rows = rowsIn(plan, selection);
  const touched = new Set(rows.map((r) => r.section.key));
  const areas = [...sections].filter((key) => !touched.has(key)).map((key) => new Set([sectionRef(key)]));
  const others = [...[...decorations].map((i) => new Set([decorationRef(i)])), ...(focal ? [new Set([focalRef])] : []), ...areas];
  const ids = (found) => found.flatMap((r) => r.selected.map((seat) => seat.id));
  if (touched.size > 1) {
    return [...[...touched].map((key) => new Set([
      ...ids(rows.filter((r) => r.section.key === key)), ...(sections.has(key) ? [sectionRef(key)] : []),
    ])), ...others];
  }
  if (rows.length > 1) return [...rows.map((r) => new Set(ids([r]))), ...others];
  return [...ids(rows).map((id) => new Set([id])), ...others];
}

/**
 * withoutDecorations is the list without those at the indexes.
 * @param {import("./plan.js").Decoration[]} decorations
 * @param {Set<number>} indexes
 */
export const withoutDecorations = (decorations, indexes) => mapList(decorations, (d, i) => (indexes.has(i) ? null : d));
