// The picture of a floor plan: it is moved by dragging, and gets its scale by two points whose distance is known.

export class PictureTool {
  name = "picture";
  cursor = "move";
  points = undefined; // of the scale, while it is set
  #from = undefined;

  constructor(board, drawing, words) {
    Object.assign(this, { board, drawing, words });
  }

  get hint() { return this.points === undefined ? this.words.hints.picture : this.words.hints.scale(this.points.length); }

  /** show puts a picture into the middle of the view. */
  show(image, file) {
    const { camera } = this.board;
    const width = (camera.width * 0.8) / camera.scale;
    const height = (width * image.height) / image.width;
    const [x, y] = [camera.planX(camera.width / 2) - width / 2, camera.planY(camera.height / 2) - height / 2];
    this.#set({ image, file, x, y, width, height, opacity: 0.5 });
  }

  change(changes) { if (this.board.picture !== undefined) this.#set({ ...this.board.picture, ...changes }); }

  remove() { this.#set(undefined); }

  #set(picture) {
    this.board.picture = picture;
    this.board.pictureChanged?.();
    this.drawing.tell();
    this.board.draw();
  }

  beginScale() {
    this.points = [];
    this.drawing.tell();
  }

  /** useLength gives the picture the scale in which the two points are so far from each other, in units of the plan. */
  useLength(length) {
    const [a, b] = this.points ?? [];
    const p = this.board.picture;
    if (b === undefined || p === undefined) return;
    const factor = length / Math.hypot(b.x - a.x, b.y - a.y);
    this.points = undefined;
    this.#set({ ...p, x: a.x + (p.x - a.x) * factor, y: a.y + (p.y - a.y) * factor, width: p.width * factor, height: p.height * factor });
    this.board.whole();
  }

  click(at) {
    if (this.points === undefined || this.points.length > 1 || (this.points[0]?.x === at.x && this.points[0]?.y === at.y)) return;
    this.points = [...this.points, { x: at.x, y: at.y }];
    this.drawing.tell();
  }

  enter(cursor) { if (cursor !== undefined) this.click(cursor); }

  start() {
    const p = this.board.picture;
    if (this.points === undefined && p !== undefined) this.#from = { x: p.x, y: p.y };
  }

  drag(at, from) {
    if (this.#from === undefined) return;
    Object.assign(this.board.picture, { x: this.#from.x + at.x - from.x, y: this.#from.y + at.y - from.y });
    this.board.draw();
  }

  drop(at) {
    if (this.#from === undefined) return this.click(at);
    this.#from = undefined;
    return this.change({});
  }

  escape() {
    const had = this.points !== undefined;
    this.cancel();
    return had;
  }

  cancel() {
    this.points = this.#from = undefined;
    this.board.draw();
  }

  leave() { this.cancel(); }

  draw(pen) {
    if (this.points === undefined) return;
    pen.line(this.points.map(({ x, y }) => [x, y]));
    for (const { x, y } of this.points) pen.handle(x, y, { isRound: true });
  }
}
