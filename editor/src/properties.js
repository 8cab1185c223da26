// Commands that change what seats, rows, sections and categories are.

import { keyOf, mapList, mapRow, mapRows, mapSections, sectionsWith } from "./plan.js";
import { partsOf } from "./select.js";

/**
 * @typedef {import("./plan.js").Plan} Plan
 * @typedef {import("./plan.js").Selection} Selection
 * @typedef {import("./plan.js").Section} Section
 * @typedef {import("./plan.js").Category} Category
 */

// changedBy is an object with other values: undefined, "" and false remove a field. It is the same object if nothing changes.
function changedBy(object, changes) {
  let changed = object;
  for (const [field, value] of Object.entries(changes)) {
    const isAbsent = value === undefined || value === null || value === "" || value === false;
    if (isAbsent ? !(field in object) : object[field] === value) continue;
    if (changed === object) changed = { ...object };
    if (isAbsent) delete changed[field];
    else changed[field] = value;
  }
  return changed;
}

/**
 * setSeats changes what selected seats are. A category is that of selected areas, too. false, "" and undefined remove what may be absent.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {{ category?: string, accessible?: boolean, companion?: boolean, restrictedView?: boolean, note?: string, viewUrl?: string, label?: string }} changes
 * @returns {Plan}
 */
export function setSeats(plan, selection, changes) {
  const { category, label, ...others } = changes;
  const all = { ...others, ...(category ? { category } : {}), ...(label ? { label } : {}) };
  const { seats, sections } = partsOf(plan, selection);
  const touched = sectionsWith(plan, seats);
  return mapSections(plan, (s) => {
    if (!touched.has(s) && !sections.has(s.key)) return s;
    if (!s.rows) return category && sections.has(s.key) ? changedBy(s, { category }) : s;
    const changed = mapRows(s, (row) => {
      const withSeats = mapRow(row, (seat) => (seats.has(seat.id) ? changedBy(seat, all) : seat));
      return category && withSeats !== row && hasOnly(withSeats, category) ? changedBy(withSeats, { category }) : withSeats;
    });
    return category && changed !== s && changed.rows.every((row) => hasOnly(row, category)) ? changedBy(changed, { category }) : changed;
  });
}

const hasOnly = (row, category) => row.seats.every((seat) => seat === null || seat.category === category);

/**
 * setRows changes the rows that have a selected seat.
 * @param {Plan} plan
 * @param {Selection} selection
 * @param {{ label?: string, adjacency?: import("./plan.js").Adjacency }} changes
 * @returns {Plan}
 */
export function setRows(plan, selection, { label, adjacency }) {
  const { seats } = partsOf(plan, selection);
  const changes = { ...(label ? { label } : {}), ...(adjacency ? { adjacency } : {}) };
  const touched = sectionsWith(plan, seats);
  const isMeant = (row) => row.seats.some((seat) => seat && seats.has(seat.id));
  return mapSections(plan, (s) => (touched.has(s) ? mapRows(s, (row) => (isMeant(row) ? changedBy(row, changes) : row)) : s));
}

/**
 * setSection changes a section, or several. A capacity is for an area, or a section that has no rows yet. A category is only that of an
 * area: setSeats is for seats.
 * @param {Plan} plan
 * @param {string | Iterable<string>} keys
 * @param {Partial<Omit<Section, "rows">>} changes key: made valid and unique, for a single section
 * @returns {Plan}
 */
export function setSection(plan, keys, changes) {
  const wanted = typeof keys === "string" ? new Set([keys]) : new Set(keys);
  const others = plan.sections.map((s) => s.key).filter((key) => !wanted.has(key));
  const { key, name, category, capacity, ...rest } = changes;
  return mapSections(plan, (s) => {
    if (!wanted.has(s.key)) return s;
    const all = { ...rest, ...(name ? { name } : {}), ...(key && wanted.size === 1 && key !== s.key ? { key: keyOf(key, others, "section") } : {}) };
    const isArea = !s.rows?.length;
    const changed = changedBy(s, { ...all, ...(isArea && category ? { category } : {}), ...(isArea && capacity ? { capacity } : {}) });
    if (!changed.capacity || !changed.rows) return changed;
    const { rows: _, ...area } = changed;
    return area;
  });
}

/** moveSection puts a section at another index of the plan. @param {Plan} plan @param {string} key @param {number} index @returns {Plan} */
export function moveSection(plan, key, index) {
  const sections = movedTo(plan.sections, key, index);
  return sections === plan.sections ? plan : { ...plan, sections };
}

function movedTo(list, key, index) {
  const from = list.findIndex((item) => item.key === key);
  const to = Math.max(0, Math.min(list.length - 1, index));
  if (from < 0 || from === to) return list;
  const moved = list.toSpliced(from, 1);
  moved.splice(to, 0, list[from]);
  return moved;
}

/** setName names the plan. @param {Plan} plan @param {string} name @returns {Plan} */
export const setName = (plan, name) => (plan.name === name ? plan : { ...plan, name });

/** addCategory adds a category at the end, with a key made of its name. @param {Plan} plan @param {{ name: string, color?: string }} category @returns {Plan} */
export function addCategory(plan, category) {
  const key = keyOf(category.name, plan.categories.map((c) => c.key), "category");
  return { ...plan, categories: [...plan.categories, { ...category, key }] };
}

/** setCategory names or colours a category. @param {Plan} plan @param {string} key @param {{ name?: string, color?: string }} changes @returns {Plan} */
export function setCategory(plan, key, { name, ...rest }) {
  const categories = mapList(plan.categories, (c) => (c.key === key ? changedBy(c, { ...rest, ...(name ? { name } : {}) }) : c));
  return categories === plan.categories ? plan : { ...plan, categories };
}

/** moveCategory puts a category at another index: the best one is the first. @param {Plan} plan @param {string} key @param {number} index @returns {Plan} */
export function moveCategory(plan, key, index) {
  const categories = movedTo(plan.categories, key, index);
  return categories === plan.categories ? plan : { ...plan, categories };
}

/**
 * removeCategory removes a category; what has it gets another one. The last one stays.
 * @param {Plan} plan
 * @param {string} key
 * @param {string} to
 * @returns {Plan}
 */
export function removeCategory(plan, key, to) {
  if (key === to || !plan.categories.some((c) => c.key === key) || !plan.categories.some((c) => c.key === to)) return plan;
  const swap = (part) => (part.category === key ? { ...part, category: to } : part);
  const changed = mapSections(plan, (s) => mapRows(swap(s), (row) => mapRow(swap(row), swap)));
  return { ...changed, categories: plan.categories.filter((c) => c.key !== key) };
}
