// Tools that make rows: a block of them, one row, and a table. What was drawn can be given other numbers: it is made again. Until something
// else is done, that is one step of the history.

import { setSection } from "../edit.js";
import { renumber } from "../numbering.js";
import { addRows, addSection, mapRows, mapSections, rowOf, sectionByKey } from "../plan.js";
import { block, mostRows, mostSeats, rectangularTable, roundTable } from "../shapes.js";

const degrees = Math.PI / 180;
let drawn = 0;

const newMerge = () => `drawn ${drawn += 1}`;

/**
 * Rows knows of what numbers rows were made, as long as they stand as they were drawn. Each change makes a new recipe: an undone step has
 * its own.
 */
export class Rows {
  // #recipes are of rows: {base, plan, name, make, shape, adjacency, isNew, hasSection, section, key, rows, seats, numbering, category, merge, id}.
  // With hasSection, the section is in the base.
  #recipes = new WeakMap();
  #seen = undefined; // the recipe that was found last

  constructor(drawing, words) {
    Object.assign(this, { drawing, words });
  }

  /** last is of what the selected rows were made; undefined: they are not all the rows that were drawn together. */
  get last() {
    const { plan, selection } = this.drawing;
    const [first] = selection;
    const row = first === undefined ? undefined : rowOf(plan, first);
    if (row === undefined) return undefined;
    if (!this.#recipes.has(row)) this.#recipes.set(row, this.#seen && moved(this.#seen, plan, row));
    const recipe = this.#recipes.get(row);
    if (recipe === undefined || recipe.seats.length !== selection.size) return undefined;
    const rows = new Set(sectionByKey(plan, recipe.key)?.rows);
    if (!recipe.rows.every((r) => rows.has(r)) || !recipe.seats.every((id) => selection.has(id))) return undefined;
    this.#seen = recipe;
    return recipe;
  }

  /** canChange reports whether what is selected can be given other numbers. */
  get canChange() { return this.last !== undefined; }

  /** draw adds rows, which a function makes of a shape. */
  draw(name, make, shape, adjacency = "LINE") {
    const { drawing, last } = this;
    const { section, plan, category } = drawing;
    if (last?.name === name && last.plan === plan && isSame({ ...last.shape, at: undefined }, { ...shape, at: undefined })
      && String(last.shape.at) === String(shape.at)) return; // a double click
    const isNew = section === undefined;
    const into = isNew ? { name: this.#newName(plan), category, floor: drawing.floor || undefined } : undefined;
    const key = this.#build({
      base: plan, name, make, shape, adjacency, isNew, hasSection: !isNew, section: into, key: section?.key, category, merge: newMerge(), id: newMerge(),
    });
    if (name !== "block") drawing.set({ section: key }); // single rows and tables make one section, a block is one
  }

  #newName(plan) {
    const names = new Set(plan.sections.map((s) => s.name));
    let n = plan.sections.length + 1;
    while (names.has(this.words.sectionName(n))) n++;
    return this.words.sectionName(n);
  }

  /** change gives what is selected other numbers. */
  change({ shape = {}, section = {}, numbering, category, adjacency }, isStep = false) {
    const { drawing, last } = this;
    if (last === undefined) return;
    const { plan } = drawing;
    const ofSection = last.isNew && category !== undefined ? { category, ...section } : section;
    const next = {
      ...last, shape: { ...last.shape, ...shape }, numbering: numbering ?? last.numbering, category: category ?? last.category, adjacency: adjacency ?? last.adjacency,
    };
    if (last.plan !== plan) Object.assign(next, { base: withoutRows(plan, last), hasSection: true, merge: newMerge() });
    else if (isStep) next.merge = newMerge();
    if (next.hasSection) next.base = setSection(next.base, last.key, ofSection);
    else next.section = { ...last.section, ...ofSection };
    const key = this.#build(next);
    if (drawing.options.section === last.key) drawing.set({ section: key }); // a name gives it another key
  }

  #build({ base, hasSection, section, ...made }) {
    const { drawing, words } = this;
    let plan = base;
    let { key } = made;
    if (!hasSection) {
      plan = addSection(plan, section);
      key = plan.sections.at(-1).key;
    }
    const before = sectionByKey(plan, key).rows.length;
    plan = addRows(plan, key, made.make(made.shape), { adjacency: made.adjacency, category: made.category });
    const rowsOfIt = () => sectionByKey(plan, key).rows.slice(before);
    const idsOfIt = () => rowsOfIt().flatMap((row) => row.seats.filter(Boolean).map((seat) => seat.id));
    if (made.numbering !== undefined) plan = renumber(plan, new Set(idsOfIt()), made.numbering, drawing.kept);
    const recipe = { ...made, base, hasSection, section, plan, key, rows: rowsOfIt(), seats: idsOfIt() };
    for (const row of recipe.rows) this.#recipes.set(row, recipe);
    drawing.do(plan, words.did[made.name], { select: recipe.seats, merge: made.merge });
    return key;
  }
}

// moved is a recipe for rows that have been moved since, as one, and are else as they were; one of them is given.
function moved(recipe, plan, one) {
  const byKey = new Map(sectionByKey(plan, recipe.key)?.rows?.map((row) => [row.key, row]));
  const rows = recipe.rows.map((row) => byKey.get(row.key));
  if (recipe.shape.at === undefined || !rows.includes(one) || rows.includes(undefined)) return undefined;
  const [from, to] = [recipe.rows[0], rows[0]].map((row) => row.seats.find(Boolean));
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const isMoved = (seat, old) => seat === old || (seat && old && isSame({ ...seat, x: 0, y: 0 }, { ...old, x: 0, y: 0 })
    && Math.abs(seat.x - old.x - dx) < 0.002 && Math.abs(seat.y - old.y - dy) < 0.002);
  const isWhole = rows.every((row, i) => row.seats.length === recipe.rows[i].seats.length
    && isSame({ ...row, seats: undefined }, { ...recipe.rows[i], seats: undefined }) && row.seats.every((seat, k) => isMoved(seat, recipe.rows[i].seats[k])));
  if (!isWhole) return undefined;
  const [x, y] = recipe.shape.at;
  return { ...recipe, rows, plan: undefined, shape: { ...recipe.shape, at: [x + dx, y + dy] } };
}

const isSame = (a, b) => Object.keys(a).length === Object.keys(b).length && Object.keys(a).every((name) => a[name] === b[name]);

// withoutRows is a plan without the rows of a recipe, whose section stays.
function withoutRows(plan, { key, rows }) {
  const gone = new Set(rows);
  return mapSections(plan, (s) => (s.key === key ? mapRows(s, (row) => (gone.has(row) ? null : row)) : s));
}

/** rowsOf makes the rows of a block of the numbers that the panel shows; seats: of the front row, or a list of those of each row. */
export function rowsOf({ rows, seats, spacing, rowSpacing, bend = 0, skew = 0, fan = 0, rotation = 0, aisles = [], aisle = spacing, at }) {
  const width = Math.max(1, frontOf(seats) - 1) * spacing;
  return block({ rows, seats, spacing, rowSpacing, curvature: (bend * degrees) / width, skew, fan, rotation, aisles, aisle, at });
}

const frontOf = (seats) => (Array.isArray(seats) ? seats[0] : seats);

/** withSeatsOfRows is what a list such as "18, 20, 20" changes in a block: a row for each number. Without one, all have as many as the first. */
export function withSeatsOfRows({ rows, seats }, text) {
  const list = text.split(/[,;\s]+/).map((n) => Math.floor(Number(n))).filter((n) => n > 0 && n <= mostSeats).slice(0, mostRows);
  return list.length === 0 ? { rows, seats: frontOf(seats) } : { rows: list.length, seats: list };
}

/** tableOf makes the row of a table. */
export function tableOf({ kind, seats, sides, spacing, rotation = 0, at }) {
  return [kind === "round" ? roundTable({ seats, spacing, rotation, at }) : rectangularTable({ sides, spacing, rotation, at })];
}

export class BlockTool {
  name = "block";
  cursor = "crosshair";
  shape = { rows: 8, seats: 12, bend: 0, skew: 0, fan: 0, rotation: 0, aisles: [] };
  typed = {}; // {rows, seats}: kept by drags
  #from = undefined;

  constructor(board, drawing, words, rows) {
    Object.assign(this, { board, drawing, words, rows });
  }

  get hint() { return this.rows.canChange ? this.words.hints.drawn : this.words.hints.block; }

  #sized(shape) {
    const { spacing, rowSpacing } = this.drawing.options;
    return { ...this.shape, ...this.typed, spacing, rowSpacing, ...shape };
  }

  start(at) { this.#from = this.drawing.snap(at); }

  // #dragged is the block between two corners. Numbers that were typed stay: the drag says on which side of its beginning the block is.
  #dragged(at) {
    const [from, to] = [this.#from, this.drawing.snap(at)];
    const { spacing, rowSpacing } = this.drawing.options;
    const between = (a, b, apart) => Math.min(500, Math.round(Math.abs(b - a) / apart) + 1);
    const { rows = between(from.y, to.y, rowSpacing), seats = between(from.x, to.x, spacing) } = this.typed;
    const left = to.x < from.x ? from.x - (seats - 1) * spacing : from.x;
    const top = to.y < from.y ? from.y - (rows - 1) * rowSpacing : from.y;
    return this.#sized({ rows, seats, bend: 0, skew: 0, fan: 0, rotation: 0, aisles: [], at: [left + ((seats - 1) * spacing) / 2, top] });
  }

  drag(at) {
    if (this.#from === undefined) return;
    const shape = this.#dragged(at);
    this.board.preview = rowsOf(shape).flat();
    this.size = { x: at.x, y: at.y, text: this.words.blockSize(shape.rows, shape.seats) };
    this.board.draw();
  }

  drop(at) {
    if (this.#from === undefined) return;
    const shape = this.#dragged(at);
    this.cancel();
    this.rows.draw("block", rowsOf, shape);
  }

  get #isTyped() { return this.typed.rows !== undefined && this.typed.seats !== undefined; }

  hover(at) {
    const { x, y } = this.drawing.snap(at);
    this.board.preview = this.#isTyped ? rowsOf(this.#sized({ at: [x, y] })).flat() : [];
    this.board.draw();
  }

  click(at) {
    const cursor = this.drawing.snap(at);
    if (this.#isTyped) return this.enter(cursor);
    this.drawing.select([]);
    this.board.cursor = cursor;
    return this.board.draw();
  }

  /** enter places a block with the panel's numbers: the middle of its front row is at the cross. */
  enter(cursor) {
    if (cursor === undefined) return;
    this.board.preview = [];
    this.rows.draw("block", rowsOf, this.#sized({ at: [cursor.x, cursor.y] }));
  }

  cancel() {
    this.#from = this.size = undefined;
    this.board.preview = [];
    this.board.draw();
  }

  leave() { this.cancel(); }

  draw(pen) { if (this.size !== undefined) pen.label(this.size.x, this.size.y, this.size.text); }
}

export class RowTool {
  name = "row";
  cursor = "crosshair";
  #from = undefined;

  constructor(board, drawing, words, rows) {
    Object.assign(this, { board, drawing, words, rows });
  }

  get hint() { return this.words.hints.row; }

  start(at) { this.#from = this.drawing.snap(at); }

  #dragged(at) {
    const [from, to] = [this.#from, this.drawing.snap(at)];
    const { spacing, rowSpacing } = this.drawing.options;
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    const seats = Math.min(500, Math.max(1, Math.round(length / spacing) + 1));
    const [ux, uy] = length === 0 ? [1, 0] : [(to.x - from.x) / length, (to.y - from.y) / length];
    const half = ((seats - 1) * spacing) / 2;
    return { rows: 1, seats, spacing, rowSpacing, rotation: (Math.atan2(uy, ux) * 180) / Math.PI, at: [from.x + ux * half, from.y + uy * half] };
  }

  drag(at) {
    if (this.#from === undefined) return;
    const shape = this.#dragged(at);
    this.board.preview = rowsOf(shape).flat();
    this.size = { x: at.x, y: at.y, text: this.words.seats(shape.seats) };
    this.board.draw();
  }

  drop(at) {
    if (this.#from === undefined) return;
    const shape = this.#dragged(at);
    this.cancel();
    this.rows.draw("row", rowsOf, shape);
  }

  enter(cursor) {
    if (cursor === undefined) return;
    if (this.#from === undefined) {
      this.#from = { ...cursor };
      return;
    }
    this.drop({ ...cursor, alt: true });
  }

  escape() {
    const had = this.#from !== undefined;
    this.cancel();
    return had;
  }

  cancel() {
    this.#from = this.size = undefined;
    this.board.preview = [];
    this.board.draw();
  }

  leave() { this.cancel(); }

  draw(pen) {
    if (this.#from !== undefined) pen.handle(this.#from.x, this.#from.y, { isRound: true });
    if (this.size !== undefined) pen.label(this.size.x, this.size.y, this.size.text);
  }
}

export class TableTool {
  name = "table";
  cursor = "crosshair";
  shape = { kind: "round", seats: 8, sides: [3, 1, 3, 1], rotation: 0 };

  constructor(board, drawing, words, rows) {
    Object.assign(this, { board, drawing, words, rows });
  }

  get hint() { return this.words.hints.table; }

  #at(at) {
    const { x, y } = this.drawing.snap(at);
    return { ...this.shape, spacing: this.drawing.options.spacing, at: [x, y] };
  }

  hover(at) {
    this.board.preview = tableOf(this.#at(at)).flat();
    this.board.draw();
  }

  click(at) {
    this.board.preview = [];
    this.rows.draw("table", tableOf, this.#at(at), "ALL");
  }

  drop(at) { this.click(at); }

  enter(cursor) { if (cursor !== undefined) this.click({ ...cursor, alt: true }); }

  cancel() {
    this.board.preview = [];
    this.board.draw();
  }

  leave() { this.cancel(); }
}
