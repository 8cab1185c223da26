// Draws above the plan: positions are the plan's, widths are pixels.

import { contrast, mix } from "../../picker/src/color.js";

/** Pen draws on the canvas of a board, between begin and end. */
export class Pen {
  #ring = { size: 0, color: "", picture: undefined };

  constructor(board) {
    this.board = board;
  }

  get colors() { return this.board.painter.colors; }

  begin() {
    this.c = this.board.painter.context;
    this.ratio = this.board.painter.ratio;
    this.c.save();
    this.c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.c.lineJoin = this.c.lineCap = "round";
  }

  end() { this.c.restore(); }

  x(x) { return this.board.camera.x(x); }
  y(y) { return this.board.camera.y(y); }

  image({ image, x, y, width, height, opacity }) {
    const { scale } = this.board.camera;
    this.c.globalAlpha = opacity;
    this.c.imageSmoothingQuality = "high";
    this.c.drawImage(image, this.x(x), this.y(y), width * scale, height * scale);
    this.c.globalAlpha = 1;
  }

  /** turned draws a picture that belongs at a place of the plan, moved and turned about a point. */
  turned(picture, { x, y, width, height }, { dx = 0, dy = 0, angle = 0, about = { x: 0, y: 0 } }) {
    const { c } = this;
    const { scale } = this.board.camera;
    c.save();
    c.globalAlpha = 0.85;
    c.translate(this.x(about.x + dx), this.y(about.y + dy));
    c.rotate(angle);
    c.drawImage(picture, (x - about.x) * scale, (y - about.y) * scale, width * scale, height * scale);
    c.restore();
  }

  /** grid has lines at multiples of a size, if they are not too near to each other. */
  grid(size) {
    const { camera } = this.board;
    let apart = size;
    while (apart * camera.scale < 12) apart *= 5;
    const { c } = this;
    c.beginPath();
    for (let x = Math.ceil(camera.planX(0) / apart) * apart; x <= camera.planX(camera.width); x += apart) {
      c.moveTo(Math.round(this.x(x)) + 0.5, 0);
      c.lineTo(Math.round(this.x(x)) + 0.5, camera.height);
    }
    for (let y = Math.ceil(camera.planY(0) / apart) * apart; y <= camera.planY(camera.height); y += apart) {
      c.moveTo(0, Math.round(this.y(y)) + 0.5);
      c.lineTo(camera.width, Math.round(this.y(y)) + 0.5);
    }
    const { background, line } = this.colors;
    c.strokeStyle = mix(background, line, 0.5);
    c.lineWidth = 1;
    c.globalCompositeOperation = contrast(background, "#000000") > contrast(background, "#ffffff") ? "darken" : "lighten"; // behind the seats
    c.stroke();
    c.globalCompositeOperation = "source-over";
  }

  /** rings marks seats of the hall. One picture of a ring serves for all: thousands may be selected. */
  rings(seats) {
    const { camera, hall, painter } = this.board;
    const size = Math.max(5, hall.spacing * camera.scale * 1.02);
    const picture = this.#ringOf(size);
    const half = picture.width / this.ratio / 2;
    for (const i of seats) {
      const [x, y] = [this.x(hall.x[i]), this.y(hall.y[i])];
      if (x < -half || y < -half || x > camera.width + half || y > camera.height + half || !painter.isShown(hall.section(i))) continue;
      this.c.drawImage(picture, x - half, y - half, 2 * half, 2 * half);
    }
  }

  #ringOf(size) {
    const color = this.colors.focus;
    if (this.#ring.size === size && this.#ring.color === color) return this.#ring.picture;
    const picture = document.createElement("canvas");
    picture.width = picture.height = Math.ceil((size + 4) * this.ratio);
    const c = picture.getContext("2d");
    c.beginPath();
    c.arc(picture.width / 2, picture.width / 2, (size / 2) * this.ratio, 0, 2 * Math.PI);
    c.strokeStyle = color;
    c.lineWidth = Math.max(1.5, Math.min(3, size * 0.13)) * this.ratio;
    c.stroke();
    this.#ring = { size, color, picture };
    return picture;
  }

  /** dots are seats that are not in the plan yet. */
  dots(seats) {
    if (seats.length === 0) return;
    const { camera, hall } = this.board;
    const r = Math.max(2, hall.spacing * camera.scale * 0.42);
    const { c } = this;
    c.beginPath();
    for (const point of seats) {
      if (point === null) continue;
      const [x, y] = [this.x(point[0]), this.y(point[1])];
      c.moveTo(x + r, y);
      c.arc(x, y, r, 0, 2 * Math.PI);
    }
    c.fillStyle = this.colors.accent;
    c.globalAlpha = 0.75;
    c.fill();
    c.globalAlpha = 1;
  }

  line(points, { isClosed = false, isDashed = false, color = this.colors.focus, width = 2 } = {}) {
    const { c } = this;
    c.beginPath();
    for (const [x, y] of points) c.lineTo(this.x(x), this.y(y));
    if (isClosed) c.closePath();
    c.setLineDash(isDashed ? [6, 4] : []);
    c.strokeStyle = color;
    c.lineWidth = width;
    c.stroke();
    c.setLineDash([]);
  }

  box({ x0, y0, x1, y1 }, options = {}) { this.line([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], { isClosed: true, ...options }); }

  /** rectangle is one that is being drawn around what is to be selected. */
  rectangle({ x0, y0, x1, y1 }) {
    const { c } = this;
    const [x, y, width, height] = [this.x(x0), this.y(y0), this.x(x1) - this.x(x0), this.y(y1) - this.y(y0)];
    c.fillStyle = this.colors.focus;
    c.globalAlpha = 0.12;
    c.fillRect(x, y, width, height);
    c.globalAlpha = 1;
    c.strokeStyle = this.colors.focus;
    c.lineWidth = 1.5;
    c.strokeRect(x, y, width, height);
  }

  /** handle is what can be dragged. */
  handle(x, y, { isRound = false } = {}) {
    const { c } = this;
    const r = 6;
    c.beginPath();
    if (isRound) c.arc(this.x(x), this.y(y), r, 0, 2 * Math.PI);
    else c.rect(this.x(x) - r, this.y(y) - r, 2 * r, 2 * r);
    c.fillStyle = this.colors.background;
    c.fill();
    c.strokeStyle = this.colors.focus;
    c.lineWidth = 2.5;
    c.stroke();
  }

  /** mark goes around a thing that has one point, and leaves it in sight. */
  mark(x, y) {
    const { c } = this;
    c.beginPath();
    c.arc(this.x(x), this.y(y), 16, 0, 2 * Math.PI);
    c.strokeStyle = this.colors.focus;
    c.lineWidth = 2.5;
    c.stroke();
  }

  /** target is what the audience looks at. */
  target({ x, y }) {
    const { c } = this;
    c.beginPath();
    c.arc(this.x(x), this.y(y), 8, 0, 2 * Math.PI);
    c.moveTo(this.x(x) + 2, this.y(y));
    c.arc(this.x(x), this.y(y), 2, 0, 2 * Math.PI);
    c.strokeStyle = this.colors.mine;
    c.lineWidth = 2.5;
    c.stroke();
  }

  /** label is a text next to a point. */
  label(x, y, text, { dx = 14, dy = -18 } = {}) {
    const { c, board: { camera } } = this;
    c.font = `600 14px ${this.colors.font}`;
    c.textAlign = "left";
    c.textBaseline = "middle";
    const width = c.measureText(text).width + 16;
    const left = Math.max(4, Math.min(this.x(x) + dx, camera.width - width - 4));
    const middle = Math.max(18, Math.min(this.y(y) + dy, camera.height - 18));
    c.fillStyle = this.colors.ink;
    c.beginPath();
    c.roundRect(left, middle - 13, width, 26, 6);
    c.fill();
    c.fillStyle = this.colors.background;
    c.fillText(text, left + 8, middle + 1);
  }

  /** cross is where the keyboard is. */
  cross({ x, y }) {
    const { c } = this;
    const [cx, cy] = [this.x(x), this.y(y)];
    c.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      c.moveTo(cx + 3 * dx, cy + 3 * dy);
      c.lineTo(cx + 14 * dx, cy + 14 * dy);
    }
    c.strokeStyle = this.colors.focus;
    c.lineWidth = 3;
    c.stroke();
  }
}
