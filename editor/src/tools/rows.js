// Tools that make rows: a block of them, one row, and a table. What was drawn last can still be given other numbers: it is made again of
// the plan before it, and stays one step of the history.

import { renumber } from "../numbering.js";
import { addRows, addSection, sectionByKey } from "../plan.js";
import { block, rectangularTable, roundTable } from "../shapes.js";

const degrees = Math.PI / 180;
let drawn = 0;

const newMerge = () => `drawn ${drawn += 1}`;

/** Rows is what was drawn last, as the numbers of which it is made. */
export class Rows {
  constructor(drawing, words) {
    Object.assign(this, { drawing, words });
    this.last = undefined; // {base, plan, name, make, shape, adjacency, isNew, section, key, numbering, category, merge}
  }

  /** canChange reports whether what was drawn last is still as it was drawn. */
  get canChange() { return this.last !== undefined && this.last.plan === this.drawing.plan; }

  /** draw adds rows, which a function makes of a shape. */
  draw(name, make, shape, adjacency = "LINE") {
    const { drawing } = this;
    const { section, plan } = drawing;
    const isNew = section === undefined;
    const into = isNew ? { name: this.#newName(plan), category: drawing.category, floor: drawing.floor || undefined } : { key: section.key };
    this.last = { base: plan, name, make, shape, adjacency, isNew, section: into, numbering: undefined, category: drawing.category, merge: newMerge() };
    this.#build();
    if (name !== "block") drawing.set({ section: this.last.key }); // single rows and tables make one section, a block is one
  }

  #newName(plan) {
    const names = new Set(plan.sections.map((s) => s.name));
    let n = plan.sections.length + 1;
    while (names.has(this.words.sectionName(n))) n++;
    return this.words.sectionName(n);
  }

  /** change gives what was drawn last other numbers. */
  change({ shape, section, numbering, category }, isStep = false) {
    if (!this.canChange) return;
    const { last } = this;
    if (isStep) last.merge = newMerge();
    if (shape !== undefined) last.shape = { ...last.shape, ...shape };
    if (section !== undefined) last.section = { ...last.section, ...section };
    if (numbering !== undefined) last.numbering = numbering;
    if (category !== undefined) {
      last.category = category;
      if (last.isNew) last.section = { ...last.section, category };
    }
    this.#build();
  }

  #build() {
    const { drawing, last, words } = this;
    let plan = last.base;
    let { key } = last.section;
    if (last.isNew) {
      plan = addSection(plan, last.section);
      key = plan.sections.at(-1).key;
    }
    last.key = key;
    const before = sectionByKey(plan, key).rows.length;
    plan = addRows(plan, key, last.make(last.shape), { adjacency: last.adjacency, category: last.category });
    const idsOf = (p) => sectionByKey(p, key).rows.slice(before).flatMap((row) => row.seats.filter(Boolean).map((seat) => seat.id));
    if (last.numbering !== undefined) plan = renumber(plan, new Set(idsOf(plan)), last.numbering, drawing.kept);
    last.plan = plan;
    drawing.do(plan, words.did[last.name], { select: idsOf(plan), merge: last.merge });
  }
}

/** rowsOf makes the rows of a block of the numbers that the panel shows. */
export function rowsOf({ rows, seats, spacing, rowSpacing, bend = 0, skew = 0, fan = 0, rotation = 0, aisles = [], at }) {
  const width = Math.max(1, seats - 1) * spacing;
  return block({ rows, seats, spacing, rowSpacing, curvature: (bend * degrees) / width, skew, fan, rotation, aisles, at });
}

/** tableOf makes the row of a table. */
export function tableOf({ kind, seats, sides, spacing, rotation = 0, at }) {
  return [kind === "round" ? roundTable({ seats, spacing, rotation, at }) : rectangularTable({ sides, spacing, rotation, at })];
}

export class BlockTool {
  name = "block";
  cursor = "crosshair";
  shape = { rows: 8, seats: 12, bend: 0, skew: 0, fan: 0, rotation: 0, aisles: [] };
  #from = undefined;

  constructor(board, drawing, words, rows) {
    Object.assign(this, { board, drawing, words, rows });
  }

  get hint() { return this.rows.canChange ? this.words.hints.drawn : this.words.hints.block; }

  #sized(shape) {
    const { spacing, rowSpacing } = this.drawing.options;
    return { ...this.shape, spacing, rowSpacing, ...shape };
  }

  start(at) { this.#from = this.drawing.snap(at); }

  // #dragged is the block between two corners.
  #dragged(at) {
    const [from, to] = [this.#from, this.drawing.snap(at)];
    const { spacing, rowSpacing } = this.drawing.options;
    const [seats, rows] = [Math.round(Math.abs(to.x - from.x) / spacing) + 1, Math.round(Math.abs(to.y - from.y) / rowSpacing) + 1].map((n) => Math.min(500, n));
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

  click(at) { this.drawing.select([]); this.board.cursor = this.drawing.snap(at); this.board.draw(); }

  /** enter places a block with the panel's numbers: the middle of its front row is at the cross. */
  enter(cursor) {
    if (cursor !== undefined) this.rows.draw("block", rowsOf, this.#sized({ at: [cursor.x, cursor.y] }));
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
