// The plan that is drawn: a seating plan as POST /api/seating-plans takes it, written out. It never changes. A command makes
// another plan, which shares each section, row and seat that the command leaves as it is.

import { Hall } from "../../picker/src/hall.js";
import { mostCoordinate, round } from "./points.js";

/**
 * @typedef {[number, number]} Point x and y; y grows away from a stage that is drawn at the top.
 * @typedef {{ key: string, name: string, color?: string }} Category
 * @typedef {{
 *   id: string, label: string, category: string, x: number, y: number, accessible?: true, companion?: true, restrictedView?: true,
 *   note?: string, viewUrl?: string,
 * }} Seat
 * @typedef {"LINE" | "NONE" | "ALL"} Adjacency
 * @typedef {{ key: string, label: string, category: string, adjacency: Adjacency, seats: (Seat | null)[] }} Row `null` is a gap
 * @typedef {{
 *   key: string, name: string, category: string, floor?: string, entrance?: string, viewUrl?: string,
 *   rows?: Row[], capacity?: number, outline?: Point[],
 * }} Section It has rows, or the capacity of general admission.
 * @typedef {{
 *   kind: "stage" | "area" | "wall" | "text" | "icon", points?: Point[], at?: Point, text?: string, icon?: string, floor?: string,
 * }} Decoration
 * @typedef {{
 *   name: string, categories: Category[], focalPoint?: { x: number, y: number }, sections: Section[], decorations: Decoration[],
 * }} Plan
 * @typedef {ReadonlySet<string>} Selection IDs of seats, and references of other things: see select.js
 */

/** @returns {Plan} a plan without sections, with one category */
export function emptyPlan(name = "", category = "Standard") {
  return { name, categories: [{ key: keyOf(category, [], "standard"), name: category, color: "#0b5d66" }], sections: [], decorations: [] };
}

/**
 * fromServer writes a plan out: each row and each seat has its label and category, and each seat its position, where the seat map
 * draws it. It knows the answer of GET /api/seating-plans/{id}, the body of POST, and what toServer returns. The plan's own ID and
 * its time are left out, because the drawing becomes another plan.
 * @returns {Plan}
 */
export function fromServer(plan) {
  const written = /** @type {Plan} */ (pick(plan, ["name", "categories", "focalPoint"]));
  written.name ??= "";
  written.categories = (plan.categories ?? []).map((c) => pick(c, ["key", "name", "color"]));
  written.sections = (plan.sections ?? []).map(writeOut);
  written.decorations = (plan.decorations ?? []).map((d) => pick(d, ["kind", "points", "at", "text", "icon", "floor"]));
  return asDrawn(written);
}

function writeOut(s) {
  const section = pick(s, ["key", "name", "category", "floor", "entrance", "viewUrl", "capacity", "outline"]);
  if (!section.outline?.length) delete section.outline;
  if (section.capacity && !s.rows?.length) return section;
  delete section.capacity;
  section.rows = (s.rows ?? []).map((r, index) => {
    const row = { key: r.key, label: r.label || r.key, category: r.category || s.category, adjacency: r.adjacency || "LINE", seats: [] };
    const list = typeof r.seats === "number" ? Array.from({ length: r.seats }, (_, i) => ({ id: `${s.key}-${r.key}-${i + 1}` })) : r.seats;
    row.seats = list.map((seat, i) => seat && {
      ...pick(seat, ["id"]), label: seat.label || String(i + 1), category: seat.category || row.category,
      x: round(seat.x ?? i + 1), y: round(seat.y ?? index), ...pick(seat, ["accessible", "companion", "restrictedView", "note", "viewUrl"]),
    });
    return row;
  });
  return section;
}

// asDrawn gives seats the positions, and areas the outlines, that the seat map draws: it moves sections that lie on each other.
function asDrawn(plan) {
  if (plan.sections.length === 0) return plan;
  const hall = new Hall(plan);
  let i = 0;
  return mapSections(plan, (s, n) => {
    const at = hall.sections[n];
    if (s.capacity) return s.outline?.length > 2 ? s : { ...s, outline: pointsOf(at.outline).map(([x, y]) => [within(x), within(y)]) };
    const first = s.rows.flatMap((row) => row.seats).find(Boolean);
    const [dx, dy] = first ? [round(hall.x[i] - first.x), round(hall.y[i] - first.y)] : [0, 0];
    i = at.end;
    if (dx === 0 && dy === 0) return s;
    const outline = s.outline?.map(([x, y]) => [round(x + dx), round(y + dy)]);
    if ([at.box.x0, at.box.y0, at.box.x1, at.box.y1, ...(outline ?? []).flat()].some((v) => within(v) !== v)) return s;
    const moved = mapRows(s, (row) => mapRow(row, (seat) => ({ ...seat, x: round(seat.x + dx), y: round(seat.y + dy) })));
    return outline ? { ...moved, outline: /** @type {Point[]} */ (outline) } : moved;
  });
}

const within = (v) => Math.max(-mostCoordinate, Math.min(mostCoordinate, v));

const pointsOf = (outline) => Array.from({ length: outline.length / 2 }, (_, i) => [round(outline[2 * i]), round(outline[2 * i + 1])]);

// pick copies those of the fields that have a value: not null, not "" and not false.
function pick(from, fields) {
  const copy = {};
  for (const field of fields) if (from[field]) copy[field] = from[field];
  return copy;
}

/** toServer is the plan as POST /api/seating-plans takes it, without what follows from the rest. */
export function toServer(plan) {
  const { decorations, ...rest } = plan;
  const body = { ...rest, sections: plan.sections.map(sectionToServer) };
  return decorations.length > 0 ? { ...body, decorations } : body;
}

function sectionToServer(s) {
  if (!s.rows) return s;
  return {
    ...s,
    rows: s.rows.map((row) => {
      const { key, label, category, adjacency, seats } = row;
      const written = /** @type {any} */ ({ key });
      if (label !== key) written.label = label;
      if (category !== s.category) written.category = category;
      if (adjacency !== "LINE") written.adjacency = adjacency;
      written.seats = seats.map((seat) => {
        if (seat === null || seat.category !== category) return seat;
        const { category: _, ...rest } = seat;
        return rest;
      });
      return written;
    }),
  };
}

/**
 * seatsOf walks over the seats, in the plan's order.
 * @param {Plan} plan
 * @returns {Generator<{ seat: Seat, place: number, row: Row, section: Section }>} place is the index in the row
 */
export function* seatsOf(plan) {
  for (const section of plan.sections) {
    for (const row of section.rows ?? []) {
      for (let place = 0; place < row.seats.length; place++) {
        const seat = row.seats[place];
        if (seat) yield { seat, place, row, section };
      }
    }
  }
}

/** idsOf are the IDs of all seats. Of a plan that was opened they are kept for ever: they are the set `kept` of other functions. */
export function idsOf(plan) {
  const ids = new Set();
  for (const { seat } of seatsOf(plan)) ids.add(seat.id);
  return ids;
}

// indexes are made once for each section, so a command costs those of the sections that it changes.
/** @type {WeakMap<Section, Map<string, number>>} */
const indexes = new WeakMap();
const most = 1024; // more than the places of a row

function indexOf(section) {
  let index = indexes.get(section);
  if (index === undefined) {
    index = new Map();
    const rows = section.rows ?? [];
    for (let r = 0; r < rows.length; r++) {
      const { seats } = rows[r];
      for (let place = 0; place < seats.length; place++) if (seats[place]) index.set(seats[place].id, r * most + place);
    }
    indexes.set(section, index);
  }
  return index;
}

/** @typedef {{ seat: Seat, place: number, row: Row, rowIndex: number, section: Section, sectionIndex: number }} Place */

const few = 500; // seats that are looked up in one section after the other

/**
 * finder is find for many seats of a plan. After a few it makes an index of the whole plan, so that each costs the same in any number of
 * sections.
 * @param {Plan} plan
 * @returns {(id: string) => Place | undefined}
 */
export function finder(plan) {
  let asked = 0;
  let sections;
  return (id) => {
    if (++asked > few) sections ??= sectionsByID(plan);
    const sectionIndex = sections === undefined ? plan.sections.findIndex((s) => indexOf(s).has(id)) : sections.get(id) ?? -1;
    if (sectionIndex < 0) return undefined;
    const section = plan.sections[sectionIndex];
    const at = indexOf(section).get(id);
    const [rowIndex, place] = [Math.floor(at / most), at % most];
    const row = section.rows[rowIndex];
    return { seat: row.seats[place], place, row, rowIndex, section, sectionIndex };
  };
}

/** @returns {Map<string, number>} */
function sectionsByID(plan) {
  const found = new Map();
  plan.sections.forEach((s, n) => {
    for (const id of indexOf(s).keys()) if (!found.has(id)) found.set(id, n);
  });
  return found;
}

/**
 * find is where a seat is; undefined if the plan has none with this ID.
 * @param {Plan} plan
 * @param {string} id
 */
export const find = (plan, id) => finder(plan)(id);

/**
 * sectionsWith are the sections that have one of some seats. A seat is mostly in the section of the one before it, so this costs no walk over all
 * seats of the plan.
 * @param {Plan} plan
 * @param {Iterable<string>} ids
 * @returns {Set<Section>}
 */
export function sectionsWith(plan, ids) {
  const found = new Set();
  let last;
  for (const id of ids) {
    if (last?.has(id)) continue;
    const section = id.includes(":") ? undefined : plan.sections.find((s) => indexOf(s).has(id));
    if (section === undefined) continue;
    last = indexOf(section);
    found.add(section);
  }
  return found;
}

/** rowOf and sectionOf are those of a seat. */
export const rowOf = (plan, id) => find(plan, id)?.row;
export const sectionOf = (plan, id) => find(plan, id)?.section;

/** @returns {Section | undefined} the section with a key */
export const sectionByKey = (plan, key) => plan.sections.find((s) => s.key === key);

// mapList is the list of what fn returns: null leaves an item out, and a list takes its place. It is the same list if nothing changes.
export function mapList(list, fn) {
  let copy;
  for (let i = 0; i < list.length; i++) {
    const item = fn(list[i], i);
    if (item === list[i]) {
      copy?.push(item);
      continue;
    }
    copy ??= list.slice(0, i);
    if (Array.isArray(item)) copy.push(...item);
    else if (item !== null) copy.push(item);
  }
  return copy ?? list;
}

/**
 * mapSections, mapRows and mapRow change the parts of a plan, a section and a row. They return the same object if fn returns the
 * same parts. The fn of the first two may return null, which removes the part, and a list of parts to put in its place.
 * @param {Plan} plan
 * @param {(section: Section, index: number) => Section | Section[] | null} fn
 * @returns {Plan}
 */
export function mapSections(plan, fn) {
  const sections = mapList(plan.sections, fn);
  return sections === plan.sections ? plan : { ...plan, sections };
}

/**
 * @param {Section} section
 * @param {(row: Row, index: number) => Row | Row[] | null} fn
 * @returns {Section}
 */
export function mapRows(section, fn) {
  if (!section.rows) return section;
  const rows = mapList(section.rows, fn);
  return rows === section.rows ? section : { ...section, rows };
}

/**
 * @param {Row} row
 * @param {(seat: Seat, place: number) => Seat | null} fn null makes it a gap
 * @returns {Row}
 */
export function mapRow(row, fn) {
  let seats;
  for (let i = 0; i < row.seats.length; i++) {
    const seat = row.seats[i];
    if (seat === null) continue;
    const changed = fn(seat, i);
    if (changed !== seat) (seats ??= row.seats.slice())[i] = changed;
  }
  return seats === undefined ? row : { ...row, seats };
}

/**
 * mapSeats changes those of the seats that are in the set.
 * @param {Plan} plan
 * @param {Selection} ids
 * @param {(seat: Seat, row: Row, section: Section) => Seat} fn
 * @returns {Plan}
 */
export function mapSeats(plan, ids, fn) {
  const touched = sectionsWith(plan, ids);
  if (touched.size === 0) return plan;
  return mapSections(plan, (s) => (touched.has(s) ? mapRows(s, (row) => mapRow(row, (seat) => (ids.has(seat.id) ? fn(seat, row, s) : seat))) : s));
}

/**
 * removeSeats removes the seats in the set, and with them rows and sections that have no others. A seat within a row leaves a gap, unless
 * there is one next to it; of a row of ALL it leaves none.
 * @param {Plan} plan
 * @param {Selection} ids
 * @returns {Plan}
 */
export function removeSeats(plan, ids) {
  const touched = sectionsWith(plan, ids);
  return mapSections(plan, (s) => {
    if (!touched.has(s)) return s;
    const changed = mapRows(s, (row) => {
      const rest = mapRow(row, (seat) => (ids.has(seat.id) ? null : seat));
      return rest === row ? row : tidy(rest, row);
    });
    return changed !== s && changed.rows.length === 0 ? null : changed;
  });
}

// tidy joins the gaps that a row got, and drops those at an end that lost its seat; null if the row has no seat. Other gaps stay.
function tidy(row, before) {
  const isNew = (i) => row.seats[i] === null && before.seats[i] !== null;
  const first = row.seats.findIndex(Boolean);
  if (first < 0) return null;
  const last = row.seats.findLastIndex(Boolean);
  const [isFirstNew, isLastNew] = [first !== before.seats.findIndex(Boolean), last !== before.seats.findLastIndex(Boolean)];
  const seats = row.seats.filter((seat, i) => {
    if (i < first) return !isFirstNew;
    if (i > last) return !isLastNew;
    if (seat !== null || !isNew(i)) return true;
    return row.adjacency !== "ALL" && row.seats[i - 1] !== null && !(row.seats[i + 1] === null && !isNew(i + 1));
  });
  return { ...row, seats };
}

/**
 * addSection adds a section at the end. Its key is made of its name, unless there is one. Without a capacity it has rows: none yet.
 * @param {Plan} plan
 * @param {Partial<Section> & { name: string }} section
 * @returns {Plan}
 */
export function addSection(plan, section) {
  const key = keyOf(section.key ?? section.name, plan.sections.map((s) => s.key), "section");
  const added = /** @type {Section} */ ({ ...pick(section, Object.keys(section)), key, category: section.category ?? plan.categories[0]?.key ?? "" });
  if (!added.capacity) added.rows ??= [];
  return { ...plan, sections: [...plan.sections, added] };
}

/**
 * addRows adds rows of new seats to a section, at the end of its rows. Labels of rows are in the order of the rows; labels of seats are
 * for each row, where gaps have none.
 * @param {Plan} plan
 * @param {string} sectionKey
 * @param {(Point | null)[][]} rows positions, as the functions of shapes.js return them; null is a gap
 * @param {{ labels?: string[], seatLabels?: string[][], adjacency?: Adjacency, category?: string, taken?: Taken }} [options] without labels of rows,
 *   they continue those that the section has (A, B … or 1, 2 …); without labels of seats, they are 1, 2 …. taken: takenIn of a plan that has all
 *   seats but those that it was given itself
 * @returns {Plan}
 */
export function addRows(plan, sectionKey, rows, { labels, seatLabels, adjacency = "LINE", category, taken = takenIn(plan) } = {}) {
  const drawn = rows.filter((points) => points.some(Boolean));
  if (drawn.length === 0 || !sectionByKey(plan, sectionKey)?.rows) return plan;
  return mapSections(plan, (s) => {
    if (s.key !== sectionKey) return s;
    const keys = new Set(s.rows.map((row) => row.key));
    const names = labels ?? nextLabels(s.rows.map((row) => row.label), drawn.length);
    const added = drawn.map((points, n) => {
      const label = names[n] ?? String(s.rows.length + n + 1);
      const key = keyOf(rowName(label), keys, "row");
      keys.add(key);
      let i = 0;
      const seats = points.map((at) => {
        if (at === null) return null;
        const name = seatLabels?.[n]?.[i] ?? String(i + 1);
        i++;
        const id = seatID(s.key, key, name, taken);
        taken.add(id);
        return { id, label: name, category: category ?? s.category, x: round(at[0]), y: round(at[1]) };
      });
      return { key, label, category: category ?? s.category, adjacency, seats };
    });
    return { ...s, rows: [...s.rows, ...added] };
  });
}

/** takenIn is a set of the plan's IDs that grows. It costs nothing to make. */
export function takenIn(plan) {
  const added = new Set();
  const placeOf = finder(plan);
  return { has: (id) => added.has(id) || placeOf(id) !== undefined, add: (id) => added.add(id) };
}

/** @typedef {{ has: (id: string) => boolean, add: (id: string) => unknown }} Taken IDs that new seats can't have */

/** nextLabels continues labels of rows: after A, B are C, D …; after Row 9 is Row 10. Without any, they begin with A. */
export function nextLabels(labels, n) {
  const taken = new Set(labels);
  const next = [];
  let last = labels.at(-1);
  while (next.length < n) {
    last = last === undefined ? "A" : successor(last);
    if (!taken.has(last)) next.push(last);
  }
  return next;
}

/** successor is the next name: 10 after 9, AA after Z, Row C after Row B, Stalls 2 after Stalls. */
export function successor(name) {
  const number = /^(.*?)(\d{1,15})$/s.exec(name);
  if (number) return number[1] + String(Number(number[2]) + 1).padStart(/^0/.test(number[2]) ? number[2].length : 0, "0");
  const letters = /^(|.*[ \-])([A-Z]{1,2}|[a-z]{1,2})$/s.exec(name);
  if (!letters) return `${name} 2`;
  const code = letters[2] < "a" ? 65 : 97;
  const text = [...letters[2]].map((c) => c.charCodeAt(0) - code);
  for (let i = text.length - 1; i >= 0; i--) {
    if (++text[i] < 26) return letters[1] + String.fromCharCode(...text.map((v) => v + code));
    text[i] = 0;
  }
  return letters[1] + String.fromCharCode(...[0, ...text].map((v) => v + code));
}

/**
 * capacityOf counts seats and places.
 * @param {Plan} plan
 * @returns {{ total: number, sections: Map<string, number>, categories: Map<string, number> }} by key
 */
export function capacityOf(plan) {
  const sections = new Map();
  const categories = new Map(plan.categories.map((c) => [c.key, 0]));
  let total = 0;
  for (const s of plan.sections) {
    let n = 0;
    for (const [category, seats] of countsOf(s)) {
      categories.set(category, (categories.get(category) ?? 0) + seats);
      n += seats;
    }
    sections.set(s.key, n);
    total += n;
  }
  return { total, sections, categories };
}

/** @type {WeakMap<Section, Map<string, number>>} */
const counts = new WeakMap();

function countsOf(s) {
  let n = counts.get(s);
  if (n === undefined) {
    n = new Map();
    if (s.capacity) n.set(s.category, s.capacity);
    for (const row of s.rows ?? []) for (const seat of row.seats) if (seat) n.set(seat.category, (n.get(seat.category) ?? 0) + 1);
    counts.set(s, n);
  }
  return n;
}

// Letters that Unicode does not take apart, and those whose usual spelling has two letters.
const latin = {
  ä: "ae", ö: "oe", ü: "ue", Ä: "Ae", Ö: "Oe", Ü: "Ue", ß: "ss", æ: "ae", Æ: "Ae", œ: "oe", Œ: "Oe", ø: "o", Ø: "O", ł: "l", Ł: "L", ı: "i",
};

/** slug writes a name with letters and digits of ASCII; "" if it has none. */
export function slug(name, length = 32) {
  const ascii = name.normalize("NFC").replace(/[äöüÄÖÜßæÆœŒøØłŁı]/g, (c) => latin[c]).normalize("NFD").replace(/\p{M}/gu, "");
  return ascii.replace(/[^A-Za-z0-9._]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, length).replace(/[._-]+$/, "");
}

/**
 * keyOf is a key for a name that is not taken: the name itself if it is a valid key.
 * @param {string} name
 * @param {Iterable<string> | { has: (key: string) => boolean }} taken
 * @param {string} otherwise for a name without letters and digits
 */
export function keyOf(name, taken, otherwise, length = 32) {
  const isTaken = "has" in taken ? taken : new Set(taken);
  const base = (isKey(name, length) && name) || slug(name, length) || otherwise;
  let key = base;
  for (let n = 2; isTaken.has(key); n++) key = `${base.slice(0, length - 1 - String(n).length)}-${n}`;
  return key;
}

/** isKey reports whether a text can be a key, or the ID of a seat with a length of 64. */
export const isKey = (text, length = 32) => text.length <= length && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(text);

/** rowName is a row's label without the word before it: A of Row A. */
export const rowName = (label) => label.replace(/^\p{L}+\s+(?=\S+$)/u, "");

/**
 * seatID is a new ID, <section>-<row>-<label>, that is not taken.
 * @param {string} section its key
 * @param {string} row its key
 * @param {string} label
 * @param {{ has: (id: string) => boolean }} taken
 */
export const seatID = (section, row, label, taken) => keyOf(`${section}-${row}-${slug(label) || "seat"}`, taken, "seat", 64);
