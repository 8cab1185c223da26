// The tool for single seats: each click adds one to the row that is being drawn.

export class SeatTool {
  name = "seat";
  cursor = "crosshair";
  #last = undefined; // of the row that is being drawn, its recipe's ID

  constructor(board, drawing, words, rows) {
    Object.assign(this, { board, drawing, words, rows });
  }

  get hint() { return this.words.hints.seat; }

  #continues() { return this.#last !== undefined && this.rows.last?.id === this.#last; }

  click(at) {
    const { x, y } = this.drawing.snap(at);
    const { rows } = this;
    if (this.#continues()) rows.change({ shape: { points: [...rows.last.shape.points, [x, y]] } }, true);
    else {
      rows.draw("seat", ({ points }) => [points], { points: [[x, y]] });
      this.#last = rows.last?.id;
    }
  }

  drop(at) { this.click(at); }

  /** enter adds a seat at the cross; without a cross the next seat begins a row. */
  enter(cursor) {
    if (cursor === undefined) this.escape();
    else this.click({ ...cursor, alt: true });
  }

  hover(at) {
    const { x, y } = this.drawing.snap(at);
    this.board.preview = [[x, y]];
    this.board.draw();
  }

  escape() {
    const had = this.#continues();
    this.#last = undefined;
    this.leave();
    return had;
  }

  cancel() { this.leave(); }

  leave() {
    this.board.preview = [];
    this.board.draw();
  }
}
