// Random drawings and random commands, the same ones each time.

import * as edit from "../src/edit.js";
import { labels, renameIDs, renumber } from "../src/numbering.js";
import { addRows, addSection, emptyPlan, seatsOf } from "../src/plan.js";
import * as shapes from "../src/shapes.js";

/** Random draws numbers: mulberry32. */
export class Random {
  constructor(seed) { this.state = seed >>> 0; }

  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  int(from, to) { return from + Math.floor(this.next() * (to - from + 1)); }
  real(from, to) { return from + this.next() * (to - from); }
  of(list) { return list[Math.floor(this.next() * list.length)]; }
  yes(share = 0.5) { return this.next() < share; }
  point(most = 50) { return [this.real(-most, most), this.real(-most, most)]; }
}

const names = ["Parkett", "Rang links", "Block 101", "Loge 1", "Балкон", "Ä", "Stalls", "—", "Very long name of a section that goes on and on"];

/** someRows are rows of a random shape, with the adjacency that suits it. */
export function someRows(r) {
  const at = r.point();
  switch (r.int(0, 6)) {
    case 0: return { rows: shapes.block({ rows: r.int(1, 8), seats: r.int(1, 14), at }) };
    case 1: return {
      rows: shapes.block({
        rows: r.int(1, 6), seats: r.int(2, 12), curvature: r.real(-0.05, 0.08), fan: r.int(0, 40), skew: r.real(-0.5, 0.5), aisles: r.of([[], [0.5], [3], [2, 6]]),
        rotation: r.int(0, 359), spacing: r.real(0.5, 1.2), rowSpacing: r.real(0.8, 1.5), at,
      }),
    };
    case 2: return { rows: [shapes.roundTable({ seats: r.int(1, 12), at, open: r.of([0, 120]) })], adjacency: "ALL" };
    case 3: return { rows: [shapes.rectangularTable({ sides: [r.int(1, 6), r.int(0, 2), r.int(0, 6), r.int(0, 2)], at, rotation: r.int(0, 90) })], adjacency: "ALL" };
    case 4: return { rows: [shapes.alongArc({ at, radius: r.real(3, 20), seats: r.int(1, 20) })] };
    case 5: return { rows: [shapes.alongCurve(Array.from({ length: r.int(2, 6) }, () => r.point()), { spacing: r.real(1, 3) })], adjacency: "NONE" };
    default: return { rows: shapes.block({ rows: r.int(1, 5), seats: Array.from({ length: r.int(1, 5) }, () => r.int(1, 9)), at }) };
  }
}

/** drawing is a random plan, drawn by commands. */
export function drawing(r, commands = r.int(1, 8)) {
  let plan = emptyPlan(r.of(["Hall", "Große Halle", "劇場"]));
  for (let i = r.int(0, 2); i > 0; i--) plan = edit.addCategory(plan, { name: r.of(["Premium", "Standard", "A", "Ö"]), color: "#7a1f3d" });
  for (let i = r.int(1, 3); i > 0; i--) plan = newSection(r, plan);
  for (let i = 0; i < commands; i++) plan = command(r, plan).plan;
  return plan.sections.length > 0 ? plan : newSection(r, plan);
}

function newSection(r, plan) {
  if (r.yes(0.15)) return addSection(plan, { name: r.of(names), capacity: r.int(1, 500), outline: shapes.rectangle({ at: r.point(), width: 10, height: 5 }) });
  const { rows, adjacency } = someRows(r);
  const withSection = addSection(plan, { name: r.of(names), floor: r.of(["", "0", "1"]), category: r.of(plan.categories).key });
  return addRows(withSection, withSection.sections.at(-1).key, rows, { adjacency });
}

/** selection is a random one: seats here and there, a row, a section, decorations, or all of the plan. */
export function selection(r, plan) {
  const seats = [...seatsOf(plan)];
  const some = new Set();
  const kind = r.int(0, 6);
  if (kind === 0) return edit.everything(plan);
  if (kind < 3 && seats.length > 0) for (const seat of r.of(seats).row.seats) if (seat) some.add(seat.id);
  if (kind === 3 && plan.sections.length > 0) some.add(edit.sectionRef(r.of(plan.sections).key));
  if (kind === 4) for (const { seat } of seats) if (r.yes(0.1)) some.add(seat.id);
  if (kind === 5) plan.decorations.forEach((_, i) => r.yes() && some.add(edit.decorationRef(i)));
  if (kind === 6 && seats.length > 0) for (const { seat } of r.of(seats).section.rows.flatMap((row) => row.seats.map((s) => ({ seat: s })))) if (seat) some.add(seat.id);
  if (r.yes(0.1)) some.add(edit.focalRef);
  return some;
}

const oneSeat = (r, plan) => r.of([...seatsOf(plan)])?.seat.id ?? "none";
const oneSection = (r, plan) => r.of(plan.sections)?.key ?? "none";

function series(r) {
  return {
    kind: r.of(["letters", "numbers"]), from: r.of([undefined, 1, "A", "Y", 101]), step: r.of([1, 1, 2]), skip: r.of(["", "IO", ["13"]]), doubled: r.yes(), prefix: r.of(["", "Row "]),
  };
}

/** numbering are random options of renumber. */
export function numbering(r) {
  return {
    rows: r.yes() ? { ...series(r), order: r.of(["front", "back", "first", "last"]), across: r.yes() } : undefined,
    seats: r.yes(0.8) ? {
      ...series(r), prefix: "", direction: r.of(["left", "right", "plan"]), scheme: r.of(["line", "sides"]), odd: r.of(["left", "right"]),
      middle: r.of(["gap", "count"]), gaps: r.yes(0.3), over: r.of(["row", "rows", "blocks"]),
    } : undefined,
  };
}

/** commands are all of them, each with random arguments. The plan of a command that copies stays small. */
const commands = {
  move: (r, plan, s) => edit.move(plan, s, r.real(-9, 9), r.real(-9, 9)),
  rotate: (r, plan, s) => edit.rotate(plan, s, r.of([90, 45, r.real(0, 360)])),
  mirror: (r, plan, s) => edit.mirror(plan, s, r.of(["x", "y"])),
  scale: (r, plan, s) => edit.scale(plan, s, r.real(0.9, 1.2)),
  align: (r, plan, s) => edit.align(plan, s, r.of(["left", "centre", "right", "top", "middle", "bottom"])),
  distribute: (r, plan, s) => edit.distribute(plan, s, r.of(["x", "y"])),
  remove: (r, plan, s) => (plan.sections.length > 1 ? edit.remove(plan, s) : plan),
  duplicate: (r, plan, s) => (isSmall(plan) ? edit.duplicate(plan, s, r.real(1, 20), 3) : plan),
  repeat: (r, plan, s) => (isSmall(plan) ? edit.repeat(plan, s, r.int(1, 3), 8, 0) : plan),
  repeatAround: (r, plan, s) => (isSmall(plan) ? edit.repeatAround(plan, s, r.int(1, 3), 30, r.point(), { upright: r.yes() }) : plan),
  mirrorCopy: (r, plan, s) => (isSmall(plan) ? edit.mirrorCopy(plan, s, r.of(["x", "y"]), 60) : plan),
  addBlocks: (r, plan) => (isSmall(plan)
    ? edit.addBlocks(plan, shapes.fan({ radius: r.real(5, 30), blocks: r.int(1, 4), rows: r.int(1, 3), at: r.point() }), { name: "Block 1", outlines: r.yes() }) : plan),
  addRows: (r, plan) => (isSmall(plan) ? addRows(plan, oneSection(r, plan), someRows(r).rows, { labels: r.yes() ? labels("letters", 20, { from: "K" }) : undefined }) : plan),
  newSection: (r, plan) => (isSmall(plan) ? newSection(r, plan) : plan),
  insertGap: (r, plan) => edit.insertGap(plan, oneSeat(r, plan), r.of(["before", "after"]), r.of([0, 1])),
  removeGap: (r, plan) => edit.removeGap(plan, oneSeat(r, plan), r.of(["before", "after"]), r.of([0, 1])),
  guessGaps: (r, plan, s) => edit.guessGaps(plan, s),
  splitRow: (r, plan) => edit.splitRow(plan, oneSeat(r, plan)),
  joinRows: (r, plan, s) => (edit.rowsIn(plan, s).reduce((n, { row }) => n + row.seats.length, 0) < 450 ? edit.joinRows(plan, s) : plan),
  moveToSection: (r, plan, s) => edit.moveToSection(plan, s, oneSection(r, plan)),
  splitSection: (r, plan, s) => edit.splitSection(plan, s, { name: r.of(names) }),
  addSeat: (r, plan) => edit.addSeat(plan, r.point(), r.yes() ? { next: oneSeat(r, plan) } : { section: oneSection(r, plan) }),
  orderSeats: (r, plan, s) => edit.orderSeats(plan, s),
  reverseRows: (r, plan, s) => edit.reverseRows(plan, s),
  orderRows: (r, plan) => edit.orderRows(plan, [oneSection(r, plan)], r.of(["front", "back"])),
  reshapeRows: (r, plan, s) => edit.reshapeRows(plan, s, r.of([{ spacing: r.real(0.5, 2) }, { curvature: r.real(-0.1, 0.1) }, { rotation: r.int(0, 360) }, { skew: 0.5, rowSpacing: 1.2 }])),
  setSeats: (r, plan, s) => edit.setSeats(plan, s, r.of([
    { category: r.of(plan.categories).key }, { accessible: r.yes() }, { companion: r.yes() }, { restrictedView: r.yes() }, { note: r.of(["", "behind a pillar"]) },
    { viewUrl: r.of(["", "https://views.example/1.jpg"]) }, { label: r.of(["1", "12a"]) },
  ])),
  setRows: (r, plan, s) => edit.setRows(plan, s, r.of([{ label: r.of(["A", "Reihe 1"]) }, { adjacency: r.of(["LINE", "NONE", "ALL"]) }])),
  setSection: (r, plan) => edit.setSection(plan, oneSection(r, plan), r.of([{ name: r.of(names) }, { key: r.of(names) }, { floor: r.of(["", "2"]) }, { entrance: "West" }, { capacity: 7 }])),
  moveSection: (r, plan) => edit.moveSection(plan, oneSection(r, plan), r.int(0, 5)),
  setName: (r, plan) => edit.setName(plan, r.of(["Hall", "Hall 2"])),
  addCategory: (r, plan) => (plan.categories.length < 6 ? edit.addCategory(plan, { name: r.of(["Premium", "Ö"]) }) : plan),
  setCategory: (r, plan) => edit.setCategory(plan, r.of(plan.categories).key, r.of([{ name: "Best" }, { color: "#123456" }, { color: "" }])),
  moveCategory: (r, plan) => edit.moveCategory(plan, r.of(plan.categories).key, r.int(0, 3)),
  removeCategory: (r, plan) => edit.removeCategory(plan, r.of(plan.categories).key, r.of(plan.categories).key),
  setFocalPoint: (r, plan) => edit.setFocalPoint(plan, r.yes(0.9) ? r.point() : null),
  addDecoration: (r, plan) => (plan.decorations.length < 20 ? edit.addDecoration(plan, r.of([
    { kind: "stage", points: shapes.rectangle({ at: r.point(), width: 9, height: 3 }), text: "Stage" }, { kind: "wall", points: [r.point(), r.point()] },
    { kind: "text", at: r.point(), text: "Bar" }, { kind: "icon", at: r.point(), icon: "lift" },
  ])) : plan),
  setDecoration: (r, plan) => (plan.decorations.length > 0 ? edit.setDecoration(plan, r.int(0, plan.decorations.length - 1), { floor: r.of(["", "1"]) }) : plan),
  renumber: (r, plan, s, kept) => renumber(plan, s, numbering(r), kept),
  renameIDs: (r, plan, s, kept) => renameIDs(plan, kept),
};

const isSmall = (plan) => [...seatsOf(plan)].length < 300 && plan.sections.length < 40;

export const commandNames = Object.keys(commands);

/** command does a random one. */
export function command(r, plan, kept = new Set()) {
  const name = r.of(commandNames);
  const selected = selection(r, plan);
  return { name, selected, plan: commands[name](r, plan, selected, kept) };
}
