// Which seats are in a rectangle, and which one is nearest: without looking at all of them.

/** Grid has the numbers of points, by square cells. */
export class Grid {
  constructor(x, y, box, size) {
    this.x = x;
    this.y = y;
    this.x0 = box.x0;
    this.y0 = box.y0;
    const most = 1000; // cells in a line: a plan may be wide and sparse
    this.size = Math.max(size, (box.x1 - box.x0) / most, (box.y1 - box.y0) / most);
    this.columns = Math.floor((box.x1 - box.x0) / this.size) + 1;
    this.lines = Math.floor((box.y1 - box.y0) / this.size) + 1;
    this.start = new Uint32Array(this.columns * this.lines + 1);
    const cell = new Uint32Array(x.length);
    for (let i = 0; i < x.length; i++) {
      cell[i] = this.#column(x[i]) + this.#line(y[i]) * this.columns;
      this.start[cell[i] + 1]++;
    }
    for (let c = 1; c < this.start.length; c++) this.start[c] += this.start[c - 1];
    const next = this.start.slice();
    this.items = new Uint32Array(x.length);
    for (let i = 0; i < x.length; i++) this.items[next[cell[i]]++] = i;
  }

  #column(x) { return Math.min(this.columns - 1, Math.max(0, Math.floor((x - this.x0) / this.size))); }
  #line(y) { return Math.min(this.lines - 1, Math.max(0, Math.floor((y - this.y0) / this.size))); }

  /** each calls visit for the points in a rectangle, cell by cell. */
  each(x0, y0, x1, y1, visit) {
    const [c0, c1, l0, l1] = [this.#column(x0), this.#column(x1), this.#line(y0), this.#line(y1)];
    for (let l = l0; l <= l1; l++) {
      const [from, to] = [this.start[l * this.columns + c0], this.start[l * this.columns + c1 + 1]];
      for (let n = from; n < to; n++) {
        const i = this.items[n];
        if (this.x[i] >= x0 && this.x[i] <= x1 && this.y[i] >= y0 && this.y[i] <= y1) visit(i);
      }
    }
  }

  /** nearest is the point with the least cost, not farther than most; -1: there is none. */
  nearest(x, y, most, cost = (i, d) => d) {
    let [best, least] = [-1, Infinity];
    this.each(x - most, y - most, x + most, y + most, (i) => {
      const d = Math.hypot(this.x[i] - x, this.y[i] - y);
      const c = d > most ? Infinity : cost(i, d);
      if (c < least) [best, least] = [i, c];
    });
    return best;
  }
}
