// The drawing on the screen: the seat map's painter shows the plan, and above it is what belongs to the editor: the picture of the
// floor plan, the grid, the selection, and what the tool in use draws.

import { Camera } from "../../picker/src/camera.js";
import { el } from "../../picker/src/dom.js";
import { Hall, union } from "../../picker/src/hall.js";
import { Painter, free } from "../../picker/src/painter.js";
import { Ghost } from "./ghost.js";
import { Pen } from "./pen.js";
import { drawable } from "./things.js";

const dragFrom = 4; // pixels, from which on a press is a drag
const settle = 120; // ms after the last movement of the view, until the picture is drawn sharp
const step = Math.SQRT2; // of the zoom buttons
const reach = { mouse: 4, touch: 16 }; // pixels around the pointer in which a seat is meant
const usualView = 900; // pixels that 30 seats take in an empty plan

/**
 * Board shows a drawing and passes what the pointer does to its tool, which may have `down(at)`, `drag(at)`, `up(at)`, `click(at)`,
 * `hover(at)`, `cancel()` and `draw(pen)`, and a `mover`, the tool that moves what is selected. `at` has `x` and `y` in the plan, `px`
 * and `py` on the screen, `shift`, `alt` and `isTouch`.
 */
export class Board {
  camera = new Camera();
  picture = undefined; // {image, x, y, width, height, opacity}
  cursor = undefined; // where the keyboard is, in the plan
  preview = []; // points of seats that are not in the plan yet; null is a gap
  #ghost = undefined;
  #hidden = new Uint8Array(0); // by seat: it is being moved
  #frame = 0;
  #moving = 0;
  #pointers = new Map();
  #press = undefined;
  #dragger = undefined; // the mover of the tool, while it has a drag
  #isPanning = false;
  #hasSpace = false;
  #plan = undefined;
  #selected = undefined; // numbers of the selected seats
  #size;

  constructor(drawing, words) {
    this.drawing = drawing;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.node = el("div", { className: "board", part: "board", role: "application", tabIndex: 0, "aria-label": words.board, "aria-describedby": "hint" }, this.canvas);
    this.hall = new Hall(drawable(drawing.plan), { isDrawn: true });
    this.painter = new Painter(this.canvas, this.hall, {
      stage: words.stage, seatsFrom: 3, state: () => free, hides: (i) => this.#hidden[i] === 1,
      available: (s) => s.capacity || s.end - s.first, text: (s) => words.seats(s.capacity || s.end - s.first), shares: () => [], overlay: () => ({}), redrawn: () => this.draw(),
    });
    this.pen = new Pen(this);
    this.#listen();
    this.#size = new ResizeObserver(() => this.#resize());
    this.#size.observe(this.node);
  }

  stop() {
    this.#size.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#moving);
  }

  /** leave ends what pointers and keys do: the board is in no page. */
  leave() {
    this.#pointers.clear();
    this.#hasSpace = false;
    if (this.#press !== undefined) this.cancel();
  }

  get tool() { return this.drawing.tool; }
  get #inUse() { return this.#dragger ?? this.tool; }
  get isDragging() { return this.#press?.isDrag === true; }

  setColors(colors) {
    this.painter.setColors(colors);
    this.#ghost = undefined;
    this.draw();
  }

  /** changed shows the drawing as it is now. */
  changed() {
    this.#selected = undefined;
    if (this.#plan !== this.drawing.plan) {
      this.#plan = this.drawing.plan;
      this.hall = new Hall(drawable(this.#plan), { isDrawn: true });
      this.#hidden = new Uint8Array(this.hall.seats);
      this.painter.setHall(this.hall);
      this.#setBounds();
    }
    const floor = this.drawing.floor;
    if (this.painter.floor !== floor) this.painter.setFloor(floor);
    this.draw();
  }

  /** selected are the numbers of the selected seats in the hall. */
  get selected() {
    if (this.#selected === undefined) {
      this.#selected = [];
      for (const id of this.drawing.selection) {
        const i = this.hall.byID.get(id);
        if (i !== undefined) this.#selected.push(i);
      }
    }
    return this.#selected;
  }

  /** lift takes seats out of the picture, to draw them apart while they are moved. */
  lift(seats) {
    this.#ghost = new Ghost(this, seats);
    for (const i of seats) this.#hidden[i] = 1;
    this.painter.changed(seats, []);
    this.draw();
  }

  /** shift shows the seats that are lifted elsewhere: moved by dx and dy, and turned about a point. Without arguments they are left out. */
  shift(to) {
    if (this.#ghost !== undefined) this.#ghost.to = to;
    this.draw();
  }

  /** lower puts the seats back where the plan has them. */
  lower() {
    if (this.#ghost === undefined) return;
    const lifted = [];
    this.#hidden.forEach((is, i) => { if (is) lifted.push(i); });
    this.#hidden.fill(0);
    this.#ghost.isDropped = true; // it stays in sight until the plan is drawn with them
    if (this.#plan === this.drawing.plan) {
      this.#ghost = undefined;
      this.painter.changed(lifted, []);
    }
    this.draw();
  }

  draw() {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.painter.colors === undefined || this.camera.width <= 1) return;
      const more = this.painter.frame(this.camera, this.#moving !== 0);
      if (!more && this.#ghost?.isDropped) this.#ghost = undefined;
      this.#drawOver();
      if (more) this.draw();
    });
  }

  #drawOver() {
    const { pen } = this;
    pen.begin();
    if (this.picture !== undefined) pen.image(this.picture);
    if (this.drawing.options.showsGrid) pen.grid(this.drawing.options.grid);
    if (this.drawing.plan.focalPoint !== undefined) pen.target(this.drawing.plan.focalPoint);
    this.#ghost?.draw(pen);
    if (this.#ghost === undefined) pen.rings(this.selected);
    pen.dots(this.preview);
    this.#inUse?.draw?.(pen);
    if (this.cursor !== undefined && this.node.matches(":focus")) pen.cross(this.cursor);
    pen.end();
  }

  // -- the view

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.node;
    if (width === 0 || height === 0) return;
    const c = this.camera;
    const isFirst = c.width <= 1;
    const middle = { x: c.planX(c.width / 2), y: c.planY(c.height / 2) };
    Object.assign(c, { width, height });
    this.painter.resize(width, height, Math.min(devicePixelRatio || 1, 2));
    this.#setBounds();
    if (isFirst) this.whole();
    else this.set({ scale: c.scale, dx: width / 2 - middle.x * c.scale, dy: height / 2 - middle.y * c.scale });
  }

  // #setBounds lets the view go well beyond what is drawn: there is room to draw more.
  #setBounds() {
    const box = this.#content;
    const [width, height] = [Math.max(box.x1 - box.x0, 40), Math.max(box.y1 - box.y0, 40)];
    this.bounds = { x0: box.x0 - width, y0: box.y0 - height, x1: box.x1 + width, y1: box.y1 + height };
    const c = this.camera;
    if (c.width <= 1) return;
    Object.assign(c, { least: 0, most: Infinity });
    Object.assign(c, { least: c.fitting(this.bounds).scale / 2, most: Math.max(c.fitting(box).scale * 2, 100 / this.hall.spacing) });
  }

  get #content() {
    const p = this.picture;
    return union([this.hall.box, ...(p === undefined ? [] : [{ x0: p.x, y0: p.y, x1: p.x + p.width, y1: p.y + p.height }])]);
  }

  whole() {
    const c = this.camera;
    const isEmpty = this.drawing.plan.sections.length === 0 && this.picture === undefined;
    this.set(isEmpty ? { scale: usualView / 30, dx: c.width / 2, dy: c.height / 3 } : c.fitting(this.#content, 40));
  }

  zoom(factor) { this.set(this.camera.zoomed(factor, this.camera.width / 2, this.camera.height / 2)); }
  zoomIn() { this.zoom(step); }
  zoomOut() { this.zoom(1 / step); }

  /** show brings a box of the plan into view. */
  show(box) {
    const c = this.camera;
    const isIn = c.x(box.x0) >= 0 && c.y(box.y0) >= 0 && c.x(box.x1) <= c.width && c.y(box.y1) <= c.height;
    if (isIn) return this.draw();
    const whole = c.fitting(box, 60).scale;
    const scale = Math.min(Math.max(c.scale, 12 / this.hall.spacing), whole);
    return this.set({ scale, dx: c.width / 2 - ((box.x0 + box.x1) / 2) * scale, dy: c.height / 2 - ((box.y0 + box.y1) / 2) * scale });
  }

  set(position) {
    this.camera.set(position, this.bounds);
    clearTimeout(this.#moving);
    this.#moving = setTimeout(() => {
      this.#moving = 0;
      this.draw();
    }, settle);
    this.draw();
  }

  // -- what is at a place

  /** at is a point of the plan, with how the pointer got there. */
  at(event) {
    const { left, top, width, height } = this.canvas.getBoundingClientRect();
    const [px, py] = [((event.clientX - left) * this.camera.width) / width, ((event.clientY - top) * this.camera.height) / height];
    return {
      px, py, x: this.camera.planX(px), y: this.camera.planY(py), shift: event.shiftKey, alt: event.altKey,
      isTouch: event.pointerType === "touch",
    };
  }

  /** seatAt is the number of the seat at a place; -1: none. */
  seatAt({ x, y, isTouch }) {
    const most = Math.max(this.hall.spacing * 0.5, (isTouch ? reach.touch : reach.mouse) / this.camera.scale);
    return this.hall.grid.nearest(x, y, most, (i, d) => (this.painter.isShown(this.hall.section(i)) ? d : Infinity));
  }

  /** seatsIn are the IDs of the seats in a rectangle, in the plan's order. */
  seatsIn({ x0, y0, x1, y1 }) {
    const found = [];
    this.hall.grid.each(Math.min(x0, x1), Math.min(y0, y1), Math.max(x0, x1), Math.max(y0, y1), (i) => {
      if (this.painter.isShown(this.hall.section(i))) found.push(i);
    });
    return found.sort((a, b) => a - b).map((i) => this.hall.ids[i]);
  }

  /** areaAt is the section of general admission at a place. */
  areaAt({ x, y }) { return this.hall.sectionAt(x, y, (s) => s.capacity > 0 && this.painter.isShown(s)); }

  // -- the pointer

  #listen() {
    const { canvas, node } = this;
    node.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    for (const type of ["touchstart", "touchmove"]) {
      canvas.addEventListener(type, (event) => { if (event.touches.length > 1 && event.cancelable) event.preventDefault(); }, { passive: false });
    }
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", (event) => this.#up(event));
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", (event) => this.tool?.doubleClick?.(this.at(event)));
    node.addEventListener("focus", () => this.draw());
    node.addEventListener("blur", () => {
      this.#hasSpace = false;
      this.draw();
    });
    node.addEventListener("keydown", (event) => { if (event.key === " " && !event.repeat) this.#setSpace(true); });
    node.addEventListener("keyup", (event) => { if (event.key === " ") this.#setSpace(false); });
  }

  #setSpace(has) {
    this.#hasSpace = has;
    canvasCursor(this.canvas, has ? "grab" : this.tool?.cursor);
  }

  /** setCursor shows the pointer of the tool. */
  setCursor(name = this.tool?.cursor) { canvasCursor(this.canvas, name); }

  #down(event) {
    if (event.button > 1) return;
    this.node.focus({ preventScroll: true });
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    const at = this.at(event);
    this.cursor = undefined;
    this.#pointers.set(event.pointerId, at);
    if (this.#pointers.size > 1) return this.cancel(); // two fingers move the view
    this.#isPanning = event.button === 1 || this.#hasSpace || this.tool?.pans === true;
    this.#press = { ...at, isDrag: false };
    if (!this.#isPanning) this.tool?.down?.(at);
  }

  #move(event) {
    const last = this.#pointers.get(event.pointerId);
    const at = this.at(event);
    if (last === undefined) return this.tool?.hover?.(at);
    this.#pointers.set(event.pointerId, at);
    if (this.#pointers.size > 1) return this.#pinch(event.pointerId, last, at);
    const p = this.#press;
    if (p === undefined || (!p.isDrag && Math.hypot(at.px - p.px, at.py - p.py) < (at.isTouch ? 2 : 1) * dragFrom)) return undefined;
    if (this.#isPanning) {
      p.isDrag = true;
      const c = this.camera;
      return this.set({ scale: c.scale, dx: c.dx + at.px - last.px, dy: c.dy + at.py - last.py });
    }
    if (!p.isDrag) {
      p.isDrag = true;
      this.#dragger = this.drawing.selection.has(this.hall.ids[this.seatAt(p)]) ? this.tool?.mover : undefined;
      this.#inUse?.start?.({ ...p, shift: at.shift, alt: at.alt });
    }
    return this.#inUse?.drag?.(at, p);
  }

  #up(event) {
    const at = this.at(event);
    if (!this.#pointers.delete(event.pointerId)) return;
    const p = this.#press;
    this.#press = undefined;
    if (p === undefined || this.#isPanning) return;
    const tool = this.#inUse;
    this.#dragger = undefined;
    if (event.type !== "pointerup") tool?.cancel?.();
    else if (p.isDrag) tool?.drop?.(at, p);
    else tool?.click?.(at);
  }

  /** cancel ends a drag without a change. */
  cancel() {
    this.#press = undefined;
    this.#inUse?.cancel?.();
    this.#dragger = undefined;
    this.draw();
  }

  #pinch(id, last, now) {
    const c = this.camera;
    const other = [...this.#pointers].find(([n]) => n !== id)[1];
    const [before, after] = [last, now].map((p) => Math.hypot(p.px - other.px, p.py - other.py));
    const zoomed = c.zoomed(after / Math.max(1, before), (now.px + other.px) / 2, (now.py + other.py) / 2);
    this.set({ scale: zoomed.scale, dx: zoomed.dx + (now.px - last.px) / 2, dy: zoomed.dy + (now.py - last.py) / 2 });
  }

  #wheel(event) {
    event.preventDefault();
    const c = this.camera;
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 1 : 33;
    if (event.shiftKey) return this.set({ scale: c.scale, dx: c.dx - (event.deltaX || event.deltaY) * unit, dy: c.dy });
    const { px, py } = this.at(event);
    const lines = (event.deltaY * unit) / 100;
    return this.set(c.zoomed(2 ** (-Math.max(-1, Math.min(1, lines)) / 3), px, py));
  }
}

function canvasCursor(canvas, name = "default") { canvas.style.cursor = name; }
