// The view of the map: a scale in pixels per unit of the plan, and a shift in pixels.

export class Camera {
  scale = 1;
  dx = 0;
  dy = 0;
  width = 1;
  height = 1;
  least = 0.001;
  most = 1000;

  x(x) { return x * this.scale + this.dx; }
  y(y) { return y * this.scale + this.dy; }
  planX(x) { return (x - this.dx) / this.scale; }
  planY(y) { return (y - this.dy) / this.scale; }

  /** sees reports whether a part of a box is in view. */
  sees(box) {
    return this.x(box.x1) >= 0 && this.y(box.y1) >= 0 && this.x(box.x0) <= this.width && this.y(box.y0) <= this.height;
  }

  /** contains reports whether all of a box is in view. */
  contains(box) { return this.x(box.x0) >= -1 && this.y(box.y0) >= -1 && this.x(box.x1) <= this.width + 1 && this.y(box.y1) <= this.height + 1; }

  /** fitting is the camera's position that shows a box. */
  fitting(box, border = 16) {
    const [width, height] = [Math.max(box.x1 - box.x0, 1e-6), Math.max(box.y1 - box.y0, 1e-6)];
    const free = (length) => Math.max(1, length - 2 * border);
    const scale = this.#bounded(Math.min(free(this.width) / width, free(this.height) / height));
    return {
      scale, dx: this.width / 2 - ((box.x0 + box.x1) / 2) * scale, dy: this.height / 2 - ((box.y0 + box.y1) / 2) * scale,
    };
  }

  /**
   * around is the position of a scale that has a point of a box in the middle, unless the screen would then show what is outside of the
   * box. A box that is smaller than the screen is in its middle.
   */
  around(scale, { x, y }, box, border = 16) {
    const shift = (at, from, to, length) => {
      const [low, high] = [length - border - to * scale, border - from * scale];
      return low > high ? (low + high) / 2 : Math.min(Math.max(length / 2 - at * scale, low), high);
    };
    return { scale, dx: shift(x, box.x0, box.x1, this.width), dy: shift(y, box.y0, box.y1, this.height) };
  }

  /** zoomed is the position after zooming by a factor around a point of the screen. */
  zoomed(factor, x, y) {
    const scale = this.#bounded(this.scale * factor);
    const f = scale / this.scale;
    return { scale, dx: x - (x - this.dx) * f, dy: y - (y - this.dy) * f };
  }

  #bounded(scale) { return Math.min(this.most, Math.max(this.least, scale)); }

  /** set moves the camera to a position. At least a third of the screen always shows the box. */
  set({ scale, dx, dy }, box) {
    this.scale = scale;
    const keep = (shift, from, to, length) => {
      const [low, high] = [length / 3 - to * scale, (length * 2) / 3 - from * scale];
      return Math.min(Math.max(shift, low), high);
    };
    this.dx = keep(dx, box.x0, box.x1, this.width);
    this.dy = keep(dy, box.y0, box.y1, this.height);
  }
}
