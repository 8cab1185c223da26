// Selects, moves and turns what is drawn.

import { decorationRef, focalRef, isOn, move, rotate, sectionRef, setDecoration, setSection } from "../edit.js";
import { rowOf } from "../plan.js";
import { boxOfSelection, decorationAt, isClosed, pointsOf, thing, things } from "../things.js";

const handleSize = 12; // pixels around a handle in which it is meant
const handleAway = 30; // pixels from the selection to the handle that turns it
const snapSize = 6; // pixels in which a seat goes into line with others
const turnStep = 5; // degrees, while the grid is on

export class SelectTool {
  name = "select";
  cursor = "default";
  #gesture = undefined; // {kind, …} while something is dragged
  #guides = [];

  constructor(board, drawing, words) {
    Object.assign(this, { board, drawing, words });
  }

  get hint() { return this.drawing.selection.size > 0 ? this.words.hints.selected : this.words.hints.select; }

  // -- what is at a place

  #refAt(at) {
    const { board, drawing } = this;
    const seat = board.seatAt(at);
    if (seat >= 0) return board.hall.ids[seat];
    const decoration = decorationAt(drawing.plan, at, handleSize / 2 / board.camera.scale, (d) => isOn(drawing.floor, d.floor));
    if (decoration >= 0) return decorationRef(decoration);
    const focal = drawing.plan.focalPoint;
    if (focal !== undefined && Math.hypot(focal.x - at.x, focal.y - at.y) * board.camera.scale <= handleSize) return focalRef;
    const area = board.areaAt(at);
    return area === undefined ? undefined : sectionRef(area.key);
  }

  #turnHandle() {
    const { board } = this;
    const box = boxOfSelection(board);
    if (box === undefined || (box.x0 === box.x1 && box.y0 === box.y1)) return undefined;
    return { x: (box.x0 + box.x1) / 2, y: box.y0 - (handleAway + board.hall.spacing * board.camera.scale / 2) / board.camera.scale, box };
  }

  // #corner is the corner of the thing that is selected, alone, at a place.
  #corner(at) {
    const only = this.#only;
    if (only === undefined) return -1;
    const near = handleSize / this.board.camera.scale;
    return pointsOf(only).findIndex(([x, y]) => Math.hypot(x - at.x, y - at.y) <= near);
  }

  // #only is the thing with corners that is selected alone.
  get #only() {
    const { selection, plan } = this.drawing;
    const [ref] = selection;
    const only = selection.size === 1 && ref.includes(":") ? thing(plan, ref) : undefined;
    return only !== undefined && pointsOf(only).length > 1 ? only : undefined;
  }

  // -- gestures

  click(at) {
    const ref = this.#refAt(at);
    const { selection } = this.drawing;
    if (ref === undefined) return at.shift || selection.size === 0 ? undefined : this.drawing.select([]);
    const row = at.alt ? this.#rowOf(ref) : [ref];
    if (!at.shift) return this.drawing.select(row);
    const next = new Set(selection);
    const removes = selection.has(ref);
    for (const r of row) removes ? next.delete(r) : next.add(r);
    return this.drawing.select(next);
  }

  doubleClick(at) {
    const ref = this.#refAt(at);
    const found = ref === undefined ? this.#sectionAt(at) : this.#rowOf(ref);
    if (found.length > 0) this.drawing.select([...at.shift ? this.drawing.selection : [], ...found]);
  }

  // #sectionAt are the seats of the section on whose floor a place is.
  #sectionAt(at) {
    const { board } = this;
    const section = board.hall.sectionAt(at.x, at.y, (s) => board.painter.isShown(s));
    return section === undefined ? [] : board.hall.ids.slice(section.first, section.end);
  }

  #rowOf(ref) { return rowOf(this.drawing.plan, ref)?.seats.filter(Boolean).map((s) => s.id) ?? [ref]; }

  start(at) {
    const { board, drawing } = this;
    const handle = this.#turnHandle();
    if (handle !== undefined && Math.hypot(handle.x - at.x, handle.y - at.y) * board.camera.scale <= handleSize) {
      const { box } = handle;
      this.#gesture = { kind: "turn", about: { x: (box.x0 + box.x1) / 2, y: (box.y0 + box.y1) / 2 }, degrees: 0 };
      return board.lift(board.selected);
    }
    const corner = this.#corner(at);
    if (corner >= 0) {
      this.#gesture = { kind: "corner", corner, points: pointsOf(this.#only), only: this.#only };
      return undefined;
    }
    const ref = this.#refAt(at);
    const seat = board.hall.byID.get(ref);
    const anchor = this.#middleOf(seat) ?? at;
    const isSeat = seat !== undefined;
    if (ref === undefined || (isSeat || at.isTouch) && !drawing.selection.has(ref)) { // between seats there is no room to begin at
      const box = { x0: anchor.x, y0: anchor.y, x1: at.x, y1: at.y };
      this.#gesture = { kind: "rectangle", box, before: at.shift ? [...drawing.selection] : [], isFromSeat: isSeat };
      return undefined;
    }
    if (!drawing.selection.has(ref)) drawing.select([...at.shift ? drawing.selection : [], ref]);
    this.#gesture = { kind: "move", dx: 0, dy: 0, anchor, isSeat, moved: new Set(board.selected) };
    return board.lift(board.selected);
  }

  #middleOf(seat) {
    const { hall } = this.board;
    return seat >= 0 ? { x: hall.x[seat], y: hall.y[seat] } : undefined;
  }

  drag(at, from) {
    const g = this.#gesture;
    const { board } = this;
    if (g === undefined) return;
    if (g.kind === "rectangle") {
      const { x, y } = (g.isFromSeat && this.#middleOf(board.seatAt(at))) || at; // from one seat to another, both are meant
      Object.assign(g.box, { x1: x, y1: y });
    } else if (g.kind === "turn") {
      const angle = Math.atan2(at.x - g.about.x, g.about.y - at.y) * (180 / Math.PI);
      const size = this.drawing.options.snaps && !at.alt ? turnStep : 0.5;
      g.degrees = Math.round(angle / size) * size;
      board.shift({ angle: (g.degrees * Math.PI) / 180, about: g.about });
    } else if (g.kind === "corner") {
      const { x, y } = this.drawing.snap(at);
      g.points = g.points.with(g.corner, [x, y]);
    } else {
      Object.assign(g, this.#shift(g, at, from));
      board.shift({ dx: g.dx, dy: g.dy });
    }
    board.draw();
  }

  // #shift is by how far the selection goes: by steps of the grid, or into line with seats that stay.
  #shift(g, at, from) {
    const { board, drawing } = this;
    this.#guides = [];
    const to = { x: g.anchor.x + at.x - from.x, y: g.anchor.y + at.y - from.y };
    if (at.shift) Math.abs(at.x - from.x) > Math.abs(at.y - from.y) ? to.y = g.anchor.y : to.x = g.anchor.x;
    if (at.alt || !drawing.options.snaps) return { dx: to.x - g.anchor.x, dy: to.y - g.anchor.y };
    const grid = drawing.options.grid;
    const step = (v) => Math.round(v / grid) * grid;
    const found = { x: undefined, y: undefined };
    if (g.isSeat) this.#lines(g, to, found);
    return {
      dx: found.x === undefined ? step(to.x - g.anchor.x) : found.x - g.anchor.x,
      dy: found.y === undefined ? step(to.y - g.anchor.y) : found.y - g.anchor.y,
    };
  }

  // #lines finds a seat that stays, at nearly the same height and one at nearly the same distance from the side.
  #lines(g, to, found) {
    const { board } = this;
    const { hall } = board;
    const near = Math.min(snapSize / board.camera.scale, hall.spacing * 0.4);
    const far = hall.spacing * 12;
    const look = (axis, box) => {
      let [best, least] = [-1, Infinity];
      hall.grid.each(box.x0, box.y0, box.x1, box.y1, (i) => {
        const d = Math.hypot(hall.x[i] - to.x, hall.y[i] - to.y);
        if (d < least && !g.moved.has(i)) [best, least] = [i, d];
      });
      if (best < 0) return;
      found[axis] = hall[axis][best];
      this.#guides.push({ axis, x: hall.x[best], y: hall.y[best] });
    };
    look("x", { x0: to.x - near, x1: to.x + near, y0: to.y - far, y1: to.y + far });
    look("y", { x0: to.x - far, x1: to.x + far, y0: to.y - near, y1: to.y + near });
  }

  drop() {
    const g = this.#gesture;
    const { board, drawing, words } = this;
    this.#gesture = undefined;
    this.#guides = [];
    if (g === undefined) return;
    const { plan, selection } = drawing;
    if (g.kind === "rectangle") drawing.select([...g.before, ...board.seatsIn(g.box), ...this.#thingsIn(g.box)]);
    else if (g.kind === "corner") drawing.do(withPoints(plan, g.only, g.points), words.did.outline);
    else if (g.kind === "turn") drawing.do(rotate(plan, selection, g.degrees, [g.about.x, g.about.y]), words.did.turn);
    else drawing.do(move(plan, selection, g.dx, g.dy), words.did.move);
    board.lower();
  }

  // #thingsIn are those in sight that are wholly in a rectangle.
  #thingsIn(box) {
    const [x0, x1] = [Math.min(box.x0, box.x1), Math.max(box.x0, box.x1)];
    const [y0, y1] = [Math.min(box.y0, box.y1), Math.max(box.y0, box.y1)];
    const { plan, floor } = this.drawing;
    const isIn = (t) => pointsOf(t).every(([x, y]) => x >= x0 && x <= x1 && y >= y0 && y <= y1);
    return [
      ...plan.sections.filter((s) => s.capacity > 0 && s.outline && isOn(floor, s.floor ?? "") && isIn({ section: s })).map((s) => sectionRef(s.key)),
      ...plan.decorations.flatMap((d, i) => (isOn(floor, d.floor) && isIn({ decoration: d }) ? [decorationRef(i)] : [])),
    ];
  }

  cancel() {
    this.#gesture = undefined;
    this.#guides = [];
    this.board.lower();
  }

  /** escape ends a gesture, or the selection. */
  escape() {
    if (this.#gesture !== undefined) return this.board.cancel();
    return this.drawing.select([]);
  }

  hover(at) {
    const { board, drawing } = this;
    const handle = this.#turnHandle();
    const isOnHandle = handle !== undefined && Math.hypot(handle.x - at.x, handle.y - at.y) * board.camera.scale <= handleSize;
    const ref = this.#refAt(at);
    const isMoved = ref !== undefined && (drawing.selection.has(ref) || !board.hall.byID.has(ref));
    board.setCursor(isOnHandle ? "grab" : this.#corner(at) >= 0 ? "crosshair" : isMoved ? "move" : "default");
  }

  draw(pen) {
    const g = this.#gesture;
    const { dx = 0, dy = 0 } = g ?? {};
    for (const t of things(this.drawing.plan, this.drawing.selection)) {
      const points = g?.kind === "corner" ? g.points : pointsOf(t).map(([x, y]) => [x + dx, y + dy]);
      if (points.length > 1) pen.line(points, { isClosed: isClosed(t), isDashed: g !== undefined });
      else if (points.length === 1) pen.mark(points[0][0], points[0][1]);
    }
    if (g === undefined) {
      const only = this.#only;
      if (only !== undefined) for (const [x, y] of pointsOf(only)) pen.handle(x, y);
      const handle = this.#turnHandle();
      if (handle !== undefined) {
        pen.line([[handle.x, handle.y], [handle.x, handle.box.y0]], { width: 1.5 });
        pen.handle(handle.x, handle.y, { isRound: true });
      }
    } else if (g.kind === "rectangle") pen.rectangle(g.box);
    else if (g.kind === "turn") pen.label(g.about.x, g.about.y, `${g.degrees}°`);
    for (const { axis, x, y } of this.#guides) {
      const [ax, ay] = [g.anchor.x + g.dx, g.anchor.y + g.dy];
      pen.line(axis === "x" ? [[x, y], [x, ay]] : [[x, y], [ax, y]], { isDashed: true, width: 1.5 });
    }
  }
}

const withPoints = (plan, { section, index }, points) => (section === undefined ? setDecoration(plan, index, { points }) : setSection(plan, section.key, { outline: points }));
