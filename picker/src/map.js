// The map: a canvas, the camera over it, and one button on it, which is where the keyboard is.

import { Camera } from "./camera.js";
import { el, setText } from "./dom.js";
import { union } from "./hall.js";
import { Painter, free, seatsFrom } from "./painter.js";

const dragFrom = 6; // pixels, from which on a press moves the map
const finger = 16; // pixels around a touch in which a seat is meant
const doubleTap = 300; // ms
const oneTurn = 400; // ms between two events of a wheel that is still being turned
const settle = 120; // ms after the last movement, until the picture is drawn sharp
const step = Math.SQRT2; // of the zoom buttons
const miniFrom = 480; // pixels of the map's width, and half as many of its height, from which on it has a mini map
const seatSize = 24; // pixels between two seats after zooming to one

/**
 * SeatMap shows a hall. `look` is the painter's, with `describe(seat)` and `describeSection(section)` for the
 * keyboard's button, and `hasMini`, if it may have a mini map; `on` has `seat(seat, isTouch)` (clicked, or Enter), `area(section)` (of general admission), `hover(seat)`,
 * `moved(sections in view)`, `left()` and, if `drawsRectangles` is set, `rectangle(seats, area of the plan)`, which Shift with the keys that move gives too; optionally
 * `scrolled()`, when the wheel has moved the page and not the map.
 */
export class SeatMap {
  #camera = new Camera();
  #moving = 0;
  #frame = 0;
  #animation = undefined;
  #pointers = new Map();
  #press = undefined;
  #tapped = { at: 0, x: 0, y: 0 };
  #focus = undefined; // {seat} or {section}

  constructor(hall, look, on, words) {
    this.hall = hall;
    this.look = look;
    this.on = on;
    this.words = words;
    this.canvas = el("canvas", { "aria-hidden": "true" });
    this.node = el("div", { className: "map", part: "map", role: "group", "aria-label": words.map, "aria-describedby": "help" },
      this.canvas, el("span", { id: "help", className: "hidden", textContent: words.help }));
    this.painter = new Painter(this.canvas, hall, {
      ...look,
      overlay: () => ({ ...look.overlay(), ...(this.#hasFocus && this.#focus), rectangle: this.#rectangle }), redrawn: () => this.draw(),
    });
    this.#listen();
    this.#size = new ResizeObserver(() => this.#resize());
    this.#size.observe(this.node);
    this.#setFocus({ section: hall.sections[0] }, false);
  }

  #size;
  #isDrawn = false;
  #rectangle = undefined; // of the screen, while it is drawn

  #drawsRectangles = false;

  /** drawsRectangles is set if a drag draws a rectangle around seats instead of moving the map. */
  get drawsRectangles() { return this.#drawsRectangles; }
  set drawsRectangles(draws) {
    this.#drawsRectangles = draws;
    this.#setGestures();
  }

  stop() {
    this.#size.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#moving);
  }

  get showsSeats() { return this.painter.showsSeats(this.#camera); }
  get #hasFocus() { return this.node.matches(":focus-within"); }
  get #box() {
    const { hall, painter } = this;
    return painter.floor === undefined ? hall.box : union([...hall.sections.filter((s) => painter.isShown(s)), ...painter.decorations].map((s) => s.box));
  }

  setColors(colors) {
    this.painter.setColors(colors);
    this.draw();
  }

  /** redraw draws everything again, such as with other faint categories. */
  redraw() {
    this.painter.redraw();
    this.#describe();
    this.draw();
  }

  setFloor(floor) {
    this.painter.setFloor(floor);
    const { seat, section } = this.#focus;
    const focused = section ?? this.hall.section(seat);
    if (!this.painter.isShown(focused)) this.#setFocus({ section: this.hall.sections.find((s) => this.painter.isShown(s)) }, this.#hasFocus);
    this.whole();
  }

  /** changed redraws seats and sections, and the words of the focused one. */
  changed(seats, sections) {
    this.painter.changed(seats, sections);
    this.#describe();
    this.draw();
  }

  /** draw draws with the next frame of the screen. */
  draw() {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame((time) => {
      this.#frame = 0;
      if (this.painter.colors === undefined || this.#camera.width <= 1) return;
      if (this.#animation !== undefined) this.#animate(time);
      const more = this.painter.frame(this.#camera, this.#moving !== 0);
      if (!more && !this.#isDrawn) {
        this.#isDrawn = true;
        performance.mark("holdfast-drawn");
      }
      this.#putButton();
      this.#showMini();
      if (more || this.#animation !== undefined) this.draw();
    });
  }

  #mini; // null while it is loaded

  // #showMini shows a small picture of the hall, if the map has room for it and does not show all.
  #showMini() {
    const c = this.#camera;
    const box = this.#box;
    if (!this.look.hasMini || c.width < miniFrom || c.height < miniFrom / 2 || c.contains(box)) {
      if (this.#mini) this.#mini.node.hidden = true;
      return;
    }
    if (this.#mini === undefined) {
      this.#mini = null;
      import("./minimap.js").then(({ MiniMap }) => {
        this.#mini = new MiniMap(this.hall, this.painter, (x, y) => this.#goTo({ scale: c.scale, dx: c.width / 2 - x * c.scale, dy: c.height / 2 - y * c.scale }, false));
        this.canvas.after(this.#mini.node);
        this.draw();
      }, () => {}); // the map can be moved without
    }
    this.#mini?.show(c, box);
  }

  /** whole shows the whole hall. */
  whole(isAnimated = true) { this.#goTo(this.#camera.fitting(this.#box), isAnimated); }

  zoom(factor) { this.#goTo(this.#camera.zoomed(factor, this.#camera.width / 2, this.#camera.height / 2)); }
  zoomIn() { this.zoom(step); }
  zoomOut() { this.zoom(1 / step); }

  /** showSection zooms to a section: to all of it or, if no seats were drawn then, to what is around a point of the plan. */
  showSection(section, at = section.middle) {
    const c = this.#camera;
    const whole = c.fitting(section.box);
    const scale = (1.2 * seatsFrom) / this.hall.spacing;
    this.#goTo(whole.scale >= scale ? whole : c.around(scale, at, section.box));
  }

  /** focusSeat brings the keyboard to a seat, and the seat into view. */
  focusSeat(seat, takesFocus = true) {
    if (!this.painter.isShown(this.hall.section(seat))) return;
    this.#reveal(seat);
    this.#setFocus({ seat }, takesFocus);
  }

  // #reveal brings a seat into view, with as much of its section as there is room for.
  #reveal(seat) {
    const c = this.#camera;
    const target = this.#animation?.to ?? c;
    const at = { x: this.hall.x[seat], y: this.hall.y[seat] };
    const [x, y] = [at.x * target.scale + target.dx, at.y * target.scale + target.dy];
    const border = Math.min(48, c.width / 6, c.height / 6);
    const isLarge = target.scale * this.hall.spacing >= seatSize * 0.6;
    if (isLarge && x >= border && y >= border && x <= c.width - border && y <= c.height - border) return;
    const { box } = this.hall.section(seat);
    const whole = Math.max(Math.min(c.fitting(box, border).scale, seatSize / this.hall.spacing), (seatSize * 0.6) / this.hall.spacing);
    this.#goTo(c.around(isLarge ? target.scale : whole, at, box, border));
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.node;
    if (width === 0 || height === 0) return;
    const c = this.#camera;
    const isFirst = c.width <= 1;
    const wasWhole = !isFirst && Math.abs(c.scale / this.#fit - 1) < 0.001;
    const middle = { x: c.planX(c.width / 2), y: c.planY(c.height / 2) };
    Object.assign(c, { width, height, least: 0, most: Infinity });
    this.painter.resize(width, height, Math.min(devicePixelRatio || 1, 2));
    const fit = c.fitting(this.hall.box).scale;
    Object.assign(c, { least: fit * 0.8, most: Math.max(fit * 2, 64 / this.hall.spacing) });
    if (isFirst || wasWhole) this.whole(false);
    else this.#set({ scale: c.scale, dx: width / 2 - middle.x * c.scale, dy: height / 2 - middle.y * c.scale });
  }

  get #fit() { return this.#camera.fitting(this.#box).scale; }

  /** isWhole reports whether the map is zoomed in no further than to the whole hall: swipes and the wheel are the page's then. */
  get isWhole() { return this.#camera.scale <= this.#fit * 1.001; }

  #setGestures() {
    const action = this.isWhole && !this.#drawsRectangles ? "pan-y" : "none";
    if (this.canvas.style.touchAction !== action) this.canvas.style.touchAction = action;
  }

  #set(position) {
    this.#camera.set(position, this.#box);
    this.#setGestures();
    clearTimeout(this.#moving);
    this.#moving = setTimeout(() => {
      this.#moving = 0;
      this.draw();
      this.#tellView();
    }, settle);
    this.draw();
  }

  // #tellView reports the sections in view, from its middle outwards; none if seats are not drawn.
  #tellView() {
    const c = this.#camera;
    if (this.node.hidden) return undefined; // the list reports what is in view
    if (!this.showsSeats) return this.on.moved([]);
    const [x, y] = [c.planX(c.width / 2), c.planY(c.height / 2)];
    const far = (s) => Math.hypot(Math.max(s.box.x0 - x, 0, x - s.box.x1), Math.max(s.box.y0 - y, 0, y - s.box.y1));
    this.on.moved(this.hall.sections.filter((s) => this.painter.isShown(s) && s.first < s.end && c.sees(s.box)).sort((a, b) => far(a) - far(b)));
  }

  #goTo(to, isAnimated = true) {
    if (!isAnimated || matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.#animation = undefined;
      return this.#set(to);
    }
    const { scale, dx, dy } = this.#camera;
    this.#animation = { from: { scale, dx, dy }, to, start: undefined };
    this.draw();
  }

  #animate(time) {
    const a = this.#animation;
    const duration = 250; // ms
    a.start ??= time;
    const t = Math.min(1, (time - a.start) / duration);
    const f = 1 - (1 - t) ** 3;
    const scale = a.from.scale * (a.to.scale / a.from.scale) ** f;
    const share = a.to.scale === a.from.scale ? f : (scale - a.from.scale) / (a.to.scale - a.from.scale);
    this.#set({ scale, dx: a.from.dx + (a.to.dx - a.from.dx) * share, dy: a.from.dy + (a.to.dy - a.from.dy) * share });
    if (t === 1) this.#animation = undefined;
  }

  #listen() {
    const at = (event) => {
      const { left, top, width, height } = this.canvas.getBoundingClientRect();
      const { clientWidth, clientHeight } = this.canvas; // another size, if the page enlarges the element
      return { x: ((event.clientX - left) * clientWidth) / width, y: ((event.clientY - top) * clientHeight) / height };
    };
    const { canvas, node } = this;
    node.addEventListener("wheel", (event) => this.#wheel(event, at(event)), { passive: false });
    for (const type of ["touchstart", "touchmove"]) { // two fingers zoom, where the browser would scroll
      canvas.addEventListener(type, (event) => { if (event.touches.length > 1 && event.cancelable) event.preventDefault(); }, { passive: false });
    }
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button > 0) return;
      event.preventDefault(); // the focus stays
      this.#isMeant = true;
      canvas.setPointerCapture(event.pointerId);
      this.#animation = undefined;
      this.#pointers.set(event.pointerId, at(event));
      this.#press = this.#pointers.size === 1 ? { ...at(event), isTouch: event.pointerType !== "mouse" } : undefined;
    });
    canvas.addEventListener("pointermove", (event) => {
      const last = this.#pointers.get(event.pointerId);
      const now = at(event);
      if (last === undefined) return this.on.hover(this.showsSeats ? this.#seatAt(now, 2) : -1, now);
      const p = this.#press;
      if (p !== undefined && Math.hypot(now.x - p.x, now.y - p.y) < dragFrom) return;
      if (p !== undefined) {
        this.on.hover(-1, now);
        if (this.drawsRectangles && this.#pointers.size === 1) this.#rectangle = { x0: p.x, y0: p.y, x1: now.x, y1: now.y };
      }
      this.#press = undefined;
      if (this.#rectangle === undefined) return this.#drag(event, last, now);
      Object.assign(this.#rectangle, { x1: now.x, y1: now.y });
      this.draw();
    });
    const up = (event) => {
      const p = this.#press;
      this.#pointers.delete(event.pointerId);
      this.#press = undefined;
      const rectangle = this.#rectangle;
      this.#rectangle = undefined;
      if (event.type !== "pointerup") return this.draw();
      if (p !== undefined) this.#tap(p);
      if (rectangle !== undefined) this.on.rectangle(...this.#seatsIn(this.#planArea(rectangle)));
    };
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", up);
    canvas.addEventListener("pointerleave", (event) => {
      this.#isMeant = false;
      this.on.hover(-1, at(event));
    });
    node.addEventListener("keydown", (event) => this.#key(event));
    node.addEventListener("focusin", () => this.draw());
    node.addEventListener("focusout", () => this.draw());
  }

  #isMeant = false; // the map was clicked, and the pointer has not left it since
  #wheeled = -Infinity; // when the wheel zoomed

  // #wheel zooms, if that can be meant: with Ctrl (a pinch of a touchpad has it, too) or ⌘, or on a map that is zoomed in,
  // clicked or focused. Else the page scrolls, as it does when there is no further to zoom; but not at the end of a turn.
  #wheel(event, { x, y }) {
    if (!event.cancelable) return undefined; // the page is being scrolled
    const c = this.#camera;
    const isMeant = event.ctrlKey || event.metaKey || this.#isMeant || this.#hasFocus || !this.isWhole;
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY / 100 : event.deltaY / 3;
    const to = c.zoomed(2 ** (-Math.max(-1, Math.min(1, lines)) / 3), x, y);
    const zooms = isMeant && to.scale !== c.scale;
    if (!zooms && !event.ctrlKey && event.timeStamp - this.#wheeled > oneTurn) return isMeant ? undefined : this.on.scrolled?.();
    event.preventDefault();
    this.#wheeled = event.timeStamp;
    if (!zooms) return undefined;
    this.#animation = undefined;
    return this.#set(to);
  }

  #drag({ pointerId: id, pointerType }, last, now) {
    const c = this.#camera;
    this.#pointers.set(id, now);
    if (this.#pointers.size === 1 && pointerType === "touch" && this.isWhole) return undefined; // the page scrolls
    if (this.#pointers.size === 1) return this.#set({ scale: c.scale, dx: c.dx + now.x - last.x, dy: c.dy + now.y - last.y });
    const other = [...this.#pointers].find(([n]) => n !== id)[1];
    const [before, after] = [last, now].map((p) => Math.hypot(p.x - other.x, p.y - other.y));
    const zoomed = c.zoomed(after / Math.max(1, before), (now.x + other.x) / 2, (now.y + other.y) / 2);
    return this.#set({ scale: zoomed.scale, dx: zoomed.dx + (now.x - last.x) / 2, dy: zoomed.dy + (now.y - last.y) / 2 });
  }

  #seatAt({ x, y }, reach) {
    const c = this.#camera;
    const most = Math.max(this.hall.spacing * 0.5, reach / c.scale);
    return this.hall.grid.nearest(c.planX(x), c.planY(y), most, (i, d) => (this.painter.isShown(this.hall.section(i)) ? d : Infinity));
  }

  #planArea({ x0, y0, x1, y1 }) {
    const c = this.#camera;
    return { x0: c.planX(Math.min(x0, x1)), y0: c.planY(Math.min(y0, y1)), x1: c.planX(Math.max(x0, x1)), y1: c.planY(Math.max(y0, y1)) };
  }

  #seatsIn(area) {
    const found = [];
    this.hall.grid.each(area.x0, area.y0, area.x1, area.y1, (i) => {
      if (this.painter.isShown(this.hall.section(i))) found.push(i);
    });
    this.draw();
    return [found.sort((a, b) => a - b), area];
  }

  #tap(p) {
    const again = performance.now() - this.#tapped.at < doubleTap && Math.hypot(p.x - this.#tapped.x, p.y - this.#tapped.y) < 2 * finger;
    const last = this.#tapped;
    this.#tapped = { at: performance.now(), x: p.x, y: p.y };
    if (again && last.section !== undefined) return undefined; // a double click goes into a section, and chooses no seat of it
    const c = this.#camera;
    const size = this.hall.spacing * c.scale;
    const seat = this.showsSeats ? this.#seatAt(p, p.isTouch ? Math.min(finger, size) : 2) : -1;
    if (seat >= 0 && p.isTouch && size < seatSize * 0.6) return this.#goTo(c.zoomed(seatSize / size, p.x, p.y)); // too small to hit
    if (seat >= 0) {
      this.#tapped.seat = seat;
      if (again && last.seat === seat) return undefined; // a double click chooses once
      this.#setFocus({ seat }, true);
      return this.on.seat(seat, p.isTouch);
    }
    const section = this.hall.sectionAt(c.planX(p.x), c.planY(p.y), (s) => this.painter.isShown(s));
    if (section !== undefined && (!this.showsSeats || section.capacity > 0)) {
      this.#setFocus({ section }, true);
      if (section.capacity > 0) return this.on.area(section);
      this.#tapped.section = section;
      return this.showSection(section, { x: c.planX(p.x), y: c.planY(p.y) });
    }
    if (again) this.#goTo(c.zoomed(2, p.x, p.y));
  }

  // #enter goes into a section by the keyboard: to its first free seat, which is not chosen by that, or to the number of
  // places in it.
  #enter(section) {
    if (section.capacity > 0) return this.on.area(section);
    let seat = section.first;
    while (seat < section.end - 1 && this.look.state(seat) !== free) seat++;
    this.showSection(section, { x: this.hall.x[seat], y: this.hall.y[seat] });
    return this.#setFocus({ seat }, this.#hasFocus);
  }

  #key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const { seat, section } = this.#focus;
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const page = { PageUp: -1, PageDown: 1 }[event.key];
    const moves = direction !== undefined || event.key === "Home" || event.key === "End";
    const anchor = this.#drawsRectangles && event.shiftKey && moves && seat !== undefined ? this.#anchor ?? seat : undefined;
    if (direction !== undefined) seat === undefined ? this.#moveSection(section, direction) : this.#moveSeat(seat, direction);
    else if (event.key === "Enter" || event.key === " ") {
      if (!event.repeat) seat === undefined ? this.#enter(section) : this.on.seat(seat);
    }
    else if (event.key === "Escape" && seat !== undefined) {
      this.whole();
      this.#setFocus({ section: this.hall.section(seat) }, true);
    } else if (event.key === "Escape") this.on.left();
    else if (page !== undefined && seat === undefined) this.#walkSections(section, page);
    else if (event.key === "Home" && seat !== undefined) this.focusSeat(this.hall.row(seat).first);
    else if (event.key === "End" && seat !== undefined) this.focusSeat(this.hall.row(seat).end - 1);
    else if (event.key === "+") this.zoomIn();
    else if (event.key === "-") this.zoomOut();
    else return;
    if (anchor !== undefined) this.#span(anchor);
    event.preventDefault();
    event.stopPropagation();
  }

  #anchor; // the seat at which a rectangle of the keyboard began

  // #span makes the rectangle from the anchor to the focused seat.
  #span(anchor) {
    const { hall } = this;
    const to = this.#focus.seat;
    const around = hall.spacing * 0.3;
    const [[x0, x1], [y0, y1]] = [hall.x, hall.y].map((at) => [Math.min(at[anchor], at[to]) - around, Math.max(at[anchor], at[to]) + around]);
    this.#anchor = anchor;
    this.on.rectangle(...this.#seatsIn({ x0, y0, x1, y1 }));
  }

  #moveSeat(seat, [dx, dy]) {
    const { hall } = this;
    for (let reach = hall.spacing * 2; ; reach *= 3) {
      const found = hall.grid.nearest(hall.x[seat], hall.y[seat], reach, (i) => this.#cost(seat, i, dx, dy));
      if (found >= 0) return this.focusSeat(found);
      if (reach > Math.hypot(hall.box.x1 - hall.box.x0, hall.box.y1 - hall.box.y0)) return undefined;
    }
  }

  // #cost is how far a seat is in a direction; what lies aside counts three times. A neighbour in the row comes first.
  #cost(from, to, dx, dy) {
    const { hall } = this;
    if (to === from || !this.painter.isShown(hall.section(to))) return Infinity;
    const [x, y] = [hall.x[to] - hall.x[from], hall.y[to] - hall.y[from]];
    const along = x * dx + y * dy;
    const aside = Math.abs(x * dy) + Math.abs(y * dx);
    if (along <= 0 || aside > along * 2) return Infinity;
    return (along + 3 * aside) * (hall.rowOf[to] === hall.rowOf[from] && aside < along ? 0.6 : 1);
  }

  #moveSection(from, [dx, dy]) {
    const { x: x0, y: y0 } = from.middle;
    let [best, least] = [undefined, Infinity];
    for (const s of this.hall.sections) {
      if (s === from || !this.painter.isShown(s)) continue;
      const { x, y } = s.middle;
      const along = (x - x0) * dx + (y - y0) * dy;
      const aside = Math.abs((x - x0) * dy) + Math.abs((y - y0) * dx);
      const cost = along + 2 * aside;
      if (along > 0 && aside <= along * 2 && cost < least) [best, least] = [s, cost];
    }
    if (best !== undefined) this.#setFocus({ section: best }, true);
  }

  // #walkSections goes to the previous or the next section of the plan. Arrows don't reach all of them: a ring around a floor has
  // the same middle.
  #walkSections(from, by) {
    const shown = this.hall.sections.filter((s) => this.painter.isShown(s));
    const to = shown[shown.indexOf(from) + by];
    if (to !== undefined) this.#setFocus({ section: to }, true);
  }

  #button;

  // #setFocus puts a new button on what is focused: screen readers read a new one, but not one whose name changes.
  #setFocus(focus, takesFocus) {
    this.#focus = focus;
    this.#anchor = undefined;
    const old = this.#button;
    this.#button = el("button", { type: "button", className: "cursor", part: "cursor", onclick: () => (focus.seat === undefined ? this.#enter(focus.section) : this.on.seat(focus.seat)) });
    this.#describe();
    this.node.append(this.#button);
    if (takesFocus) this.#button.focus({ preventScroll: true });
    old?.remove();
    this.draw();
  }

  #describe() {
    const { seat, section } = this.#focus;
    const { text, isPressed } = seat === undefined ? { text: this.look.describeSection(section) } : this.look.describe(seat);
    setText(this.#button, seat === undefined || this.look.warning === undefined ? text : [text, this.look.warning(seat)].filter(Boolean).join(". "));
    if (isPressed === undefined) this.#button.removeAttribute("aria-pressed");
    else this.#button.setAttribute("aria-pressed", String(isPressed));
  }

  #putButton() {
    const c = this.#camera;
    const { seat, section } = this.#focus;
    const [x, y] = seat === undefined
      ? [section.middle.x, section.middle.y] : [this.hall.x[seat], this.hall.y[seat]];
    this.#button.style.transform = `translate(${Math.round(c.x(x))}px, ${Math.round(c.y(y))}px)`;
  }
}
