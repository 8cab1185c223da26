// Whether a file has the form of a seating plan, within the bounds of what can be drawn. What else is wrong with a plan is for check.js, because a
// drawing that is not finished is saved and opened too.

import { limits } from "./check.js";
import { round } from "./points.js";

const isObject = (v) => typeof v === "object" && v !== null && !Array.isArray(v);
const isList = (v, is) => Array.isArray(v) && v.every(is);
const isPlace = (v) => typeof v === "number" && Math.abs(round(v)) <= limits.coordinate;
const isPoint = (v) => isList(v, isPlace) && v.length === 2;
const isText = (v) => typeof v === "string";
const maybe = (is) => (v) => v === undefined || v === null || is(v);
const texts = (v, ...fields) => fields.every((field) => maybe(isText)(v[field]));

/**
 * isReadable reports whether a plan can be drawn.
 * @param {any} plan
 */
export const isReadable = (plan) => isObject(plan) && texts(plan, "name") && maybe((p) => isObject(p) && isPlace(p.x) && isPlace(p.y))(plan.focalPoint)
  && isList(plan.categories, (c) => isObject(c) && isText(c.key) && texts(c, "name", "color"))
  && isList(plan.sections, isSection) && maybe((list) => isList(list, isDecoration))(plan.decorations);

const isSection = (s) => isObject(s) && isText(s.key) && texts(s, "name", "category", "floor", "entrance", "viewUrl")
  && maybe(Number.isInteger)(s.capacity) && maybe((list) => isList(list, isPoint))(s.outline) && maybe((rows) => isList(rows, isRow))(s.rows);

const isRow = (r) => isObject(r) && isText(r.key) && texts(r, "label", "category", "adjacency")
  && (Array.isArray(r.seats) ? r.seats.length <= limits.rowPlaces && r.seats.every(maybe(isSeat)) : Number.isInteger(r.seats) && r.seats > 0 && r.seats <= limits.rowSeats);

const isSeat = (s) => isObject(s) && isText(s.id) && texts(s, "label", "category", "note", "viewUrl") && maybe(isPlace)(s.x) && maybe(isPlace)(s.y);

const isDecoration = (d) => isObject(d) && isText(d.kind) && texts(d, "text", "icon", "floor")
  && (d.kind === "text" || d.kind === "icon" ? isPoint(d.at) : isList(d.points, isPoint));
