// What the buttons above the drawing and the keys do with the selection.

import { added, copy, duplicate, everything, move, paste, remove } from "./edit.js";
import { boxOf } from "./points.js";
import { boxOfSelection } from "./things.js";

export class Commands {
  #pasted = new Map(); // by floor: how often the clipboard was pasted. Each copy lies next to the last one

  constructor(board, drawing, words) {
    Object.assign(this, { board, drawing, words });
  }

  get hasSelection() { return this.drawing.selection.size > 0; }

  copy() {
    if (!this.hasSelection) return;
    this.drawing.clipboard = copy(this.drawing.plan, this.drawing.selection);
    this.#pasted = new Map();
    this.drawing.tell();
  }

  cut() {
    this.copy();
    this.remove();
  }

  /**
   * paste adds what was copied to the floor that is shown, next to where it was. On another floor than it was on, it gets the same place, without
   * decorations that are on all floors.
   */
  paste() {
    const { drawing, board, words } = this;
    if (drawing.clipboard === undefined) return;
    const { plan, floor } = drawing;
    const floors = floorsOf(drawing.clipboard);
    const isElsewhere = floor !== undefined && floors.length > 0 && !floors.includes(floor);
    const clip = isElsewhere ? withoutEverywhere(drawing.clipboard) : drawing.clipboard;
    const box = boxOf(clip.sections.flatMap((s) => [...s.rows?.flatMap((r) => r.seats.filter(Boolean).map((seat) => [seat.x, seat.y])) ?? s.outline ?? []])
      .concat(clip.decorations.flatMap((d) => d.points ?? [d.at])));
    const where = isElsewhere ? floor : undefined;
    const n = this.#pasted.get(where) ?? (isElsewhere ? 0 : 1);
    this.#pasted.set(where, n + 1);
    const by = Math.max(2, box === undefined ? 2 : Math.min(box.y1 - box.y0 + 2, 1e6)) * n;
    const next = paste(plan, clip, ([x, y]) => [x, y + by], { floor });
    drawing.do(next, words.did.paste, { select: added(plan, next) });
    this.#show(board);
  }

  duplicate() {
    const { drawing, board, words } = this;
    const box = boxOfSelection(board);
    if (box === undefined) return;
    const { plan } = drawing;
    const wide = box.x1 - box.x0 >= box.y1 - box.y0;
    const next = duplicate(plan, drawing.selection, wide ? 0 : box.x1 - box.x0 + 2, wide ? box.y1 - box.y0 + 2 : 0);
    drawing.do(next, words.did.duplicate, { select: added(plan, next) });
    this.#show(board);
  }

  #show(board) {
    const box = boxOfSelection(board);
    if (box !== undefined) board.show(box);
  }

  remove() {
    if (this.hasSelection) this.drawing.do(remove(this.drawing.plan, this.drawing.selection), this.words.did.delete, { select: [] });
  }

  selectAll() {
    this.drawing.select(everything(this.drawing.plan, this.drawing.floor));
  }

  /** nudge moves the selection by steps of the grid. */
  nudge(dx, dy) {
    const { drawing, words } = this;
    const { grid } = drawing.options;
    drawing.do(move(drawing.plan, drawing.selection, dx * grid, dy * grid), words.did.move, { merge: "nudge" });
  }
}

const floorsOf = (clip) => [...clip.sections.map((s) => s.floor ?? ""), ...withoutEverywhere(clip).decorations.map((d) => d.floor)];

const withoutEverywhere = (clip) => ({ ...clip, decorations: clip.decorations.filter((d) => d.floor !== undefined) });
