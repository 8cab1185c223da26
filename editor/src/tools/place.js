// Tools that place one thing with a click: a single seat, a text, a symbol, and the point of the best view.

export class PlaceTool {
  cursor = "crosshair";

  /** @param {(at: {x: number, y: number}) => void} options.place @param {(pen, at) => void} [options.show] */
  constructor(board, drawing, words, { name, place, show }) {
    Object.assign(this, { board, drawing, words, name, place, show });
  }

  get hint() { return this.words.hints[this.name]; }

  click(at) {
    this.at = undefined;
    this.place(this.drawing.snap(at));
  }

  drop(at) { this.click(at); }

  enter(cursor) { if (cursor !== undefined) this.place(cursor); }

  hover(at) {
    this.at = this.drawing.snap(at);
    this.board.draw();
  }

  leave() { this.at = undefined; }

  draw(pen) { if (this.at !== undefined) this.show?.(pen, this.at); }
}

export class PanTool {
  name = "pan";
  cursor = "grab";
  pans = true;

  constructor(words) { this.words = words; }

  get hint() { return this.words.hints.pan; }
}
