// Tools that draw along points, which are clicked one by one: areas, stages, walls and curved rows.

const same = 4; // pixels: a second click there is part of a double click

/**
 * PointsTool collects points; `finish(points)` is called at the end, with at least `least` points. With `isClosed` a drag draws a
 * rectangle.
 */
export class PointsTool {
  cursor = "crosshair";
  points = [];
  #hovered = undefined;
  #rectangle = undefined;

  constructor(board, drawing, words, { name, least, isClosed, finish, preview }) {
    Object.assign(this, { board, drawing, words, name, least, isClosed, finish, preview });
  }

  get hint() { return this.words.hints[this.name]; }

  click(at) {
    const { x, y } = this.drawing.snap(at);
    const last = this.points.at(-1);
    const near = same / this.board.camera.scale;
    if (last !== undefined && Math.hypot(last[0] - x, last[1] - y) <= near) return;
    const [first] = this.points;
    if (this.isClosed && this.points.length >= this.least && Math.hypot(first[0] - x, first[1] - y) <= 2 * near) return void this.#end();
    this.points = [...this.points, [x, y]];
    this.#changed();
  }

  doubleClick() { this.#end(); }

  /** enter is a click of the keyboard; at the last point, or without a cursor, it ends the drawing. */
  enter(cursor) {
    const last = this.points.at(-1);
    if (cursor === undefined || (last !== undefined && last[0] === cursor.x && last[1] === cursor.y)) this.#end();
    else this.click({ ...cursor, alt: true });
  }

  start(at) { if (this.isClosed && this.points.length === 0) this.#rectangle = { from: this.drawing.snap(at) }; }

  drag(at) {
    if (this.#rectangle === undefined) return this.hover(at);
    this.#rectangle.to = this.drawing.snap(at);
    return this.board.draw();
  }

  drop(at) {
    const r = this.#rectangle;
    this.#rectangle = undefined;
    if (r === undefined) return this.click(at);
    const { from, to } = r;
    if (to === undefined || from.x === to.x || from.y === to.y) return this.board.draw();
    this.points = [[from.x, from.y], [to.x, from.y], [to.x, to.y], [from.x, to.y]];
    return this.#end();
  }

  hover(at) {
    this.#hovered = this.drawing.snap(at);
    this.#changed();
  }

  /** back removes the last point. */
  back() {
    if (this.points.length === 0) return false;
    this.points = this.points.slice(0, -1);
    this.#changed();
    return true;
  }

  escape() {
    const had = this.points.length > 0;
    this.cancel();
    return had;
  }

  leave() { this.cancel(); }

  cancel() {
    this.points = [];
    this.#rectangle = this.#hovered = undefined;
    this.board.preview = [];
    this.board.draw();
  }

  #end() {
    const { points } = this;
    this.cancel();
    if (points.length >= this.least) this.finish(points);
  }

  get #shown() {
    const end = this.#hovered ?? this.board.cursor;
    return end === undefined || this.points.length === 0 ? this.points : [...this.points, [end.x, end.y]];
  }

  #changed() {
    this.board.preview = this.preview?.(this.#shown) ?? [];
    this.board.draw();
  }

  draw(pen) {
    const r = this.#rectangle;
    if (r?.to !== undefined) pen.box({ x0: r.from.x, y0: r.from.y, x1: r.to.x, y1: r.to.y });
    if (this.points.length === 0) return;
    pen.line(this.#shown, { isDashed: this.preview !== undefined });
    for (const [x, y] of this.points) pen.handle(x, y);
  }
}
