// What else than seats is drawn and can be selected: areas of general admission, as section:KEY, and decorations, as decoration:NUMBER.

import { boxOf } from "./points.js";
import { sectionByKey } from "./plan.js";
import { parseRef } from "./select.js";

/** drawable is a plan for the seat map's drawing code, which expects sections with something in them. */
export function drawable(plan) {
  const sections = plan.sections.filter((s) => s.capacity > 0 || s.rows?.length > 0);
  return sections.length === plan.sections.length ? plan : { ...plan, sections };
}

/** thing is what a reference stands for: {section}, {decoration, index} or {focal}; undefined for the ID of a seat, and for what the plan lacks. */
export function thing(plan, ref) {
  const parsed = parseRef(ref);
  if (parsed.focal) return plan.focalPoint && { focal: plan.focalPoint };
  if (parsed.section !== undefined) {
    const section = sectionByKey(plan, parsed.section);
    return section && { section };
  }
  const decoration = plan.decorations[parsed.decoration];
  return decoration && { decoration, index: parsed.decoration };
}

/** pointsOf are the corners of a thing, or its place. */
export function pointsOf({ section, decoration, focal }) {
  if (focal !== undefined) return [[focal.x, focal.y]];
  if (section !== undefined) return section.outline ?? [];
  return decoration.points ?? [decoration.at];
}

/** isClosed reports whether the corners of a thing are those of an area. */
export const isClosed = ({ section, decoration }) => section !== undefined || decoration?.kind === "stage" || decoration?.kind === "area";

/** things are those of a selection. */
export const things = (plan, selection) => [...selection].map((ref) => (ref.includes(":") ? thing(plan, ref) : undefined)).filter((t) => t !== undefined);

/** decorationAt is the index of the decoration at a point, the last one that is drawn; -1: none. near is how far a line may be. */
export function decorationAt(plan, { x, y }, near, isShown = () => true) {
  return plan.decorations.findLastIndex((d) => {
    if (!isShown(d)) return false;
    if (d.at !== undefined) return Math.abs(d.at[0] - x) <= Math.max(near, 0.2 * (d.text?.length ?? 3)) && Math.abs(d.at[1] - y) <= Math.max(near, 0.8);
    if (d.kind === "wall") return d.points.some((p, i) => i > 0 && fromLine(d.points[i - 1], p, x, y) <= near);
    return isWithin(d.points, x, y);
  });
}

function fromLine([ax, ay], [bx, by], x, y) {
  const length = (bx - ax) ** 2 + (by - ay) ** 2;
  const t = length === 0 ? 0 : Math.max(0, Math.min(1, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length));
  return Math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay));
}

function isWithin(points, x, y) {
  let within = false;
  for (let i = 0, j = points.length - 1; i < points.length; j = i++) {
    const [[xi, yi], [xj, yj]] = [points[i], points[j]];
    if (yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi) within = !within;
  }
  return within;
}

/** boxOfSelection is around everything that is selected; undefined if that is nothing. */
export function boxOfSelection(board) {
  const { hall, drawing } = board;
  const points = board.selected.map((i) => [hall.x[i], hall.y[i]]);
  for (const t of things(drawing.plan, drawing.selection)) points.push(...pointsOf(t));
  return boxOf(points);
}
