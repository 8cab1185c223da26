// Draws the map. Pictures of 256 × 256 pixels are kept and moved about: a frame costs the same however many seats the
// hall has. Far away, sections are drawn; near by, seats.

import { captionOf, kindOf, nameOf } from "./captions.js";
import { inkOn, mix, readable } from "./color.js";
import { accessible, companion, meets, restricted } from "./hall.js";
import { rowLabelSize, rowLabels } from "./rows.js";

const tileSize = 256; // pixels of the screen
/** seatsFrom is how many pixels are between two seats, from which on seats are drawn. */
export const seatsFrom = 7;
const labelsFrom = 19; // … and their labels
const budget = 2; // ms a frame for new pictures; to put them on the screen takes as long again, or longer
const firstBudget = 8; // … while there is nothing to see yet
const maxTiles = 120;
const maxSpare = 60;
const faintness = 0.3; // opacity of what the customer does not look at

/** States of a seat. */
export const [free, taken, sold, blocked] = [0, 1, 2, 3];

/**
 * Painter draws a hall on a canvas. `look` provides what the painter does not know: `state(seat)`, `available(section)`, `text(section)`
 * `isFaint(category)` and `isFaintSection(section)`, if there are such, and `overlay()`: lists of seats (mine, pending, hinted), the focused seat or section, a rectangle of the screen and an
 * area of the plan. A state is free or taken for customers, and one of the four for the venue: for
 * it `look.venue` draws what customers don't see (the console has it), and `shares(section)` is how much of a section each state has. `redrawn()`, if there is one, is called when another
 * frame must be drawn for what was loaded. The plan editor has two more: `hides(seat)` (it is being moved) and
 * `seatsFrom`, in place of seatsFrom.
 */
export class Painter {
  constructor(canvas, hall, look) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d", { alpha: false });
    this.hall = hall;
    this.look = look;
    this.ratio = 1; // pixels of the screen in one of CSS
    this.layer = undefined;
    this.previous = undefined; // the last layer that was whole
    this.spare = []; // pictures of previous layers: new ones would have to be cleared away, in the middle of a movement
    this.floor = undefined; // undefined means all
    this.rowLabels = rowLabels(hall);
    this.widths = new Map(); // of texts of captions
    this.pictures = new Map(); // of names
    this.#load();
  }

  #drawing; // of decorations, once it is loaded

  #load() {
    if (this.hall.decorations.length === 0 || this.#drawing !== undefined) return;
    import("./decorations.js").then((drawing) => this.#decorate(drawing), () => {}); // the seats can be chosen without
  }

  #decorate(drawing) {
    this.#drawing = drawing;
    this.redraw();
    this.look.redrawn?.();
  }

  /** redraw draws everything again, from the next frame on, over what is seen now. */
  redraw() {
    for (const layer of [this.layer, this.previous]) {
      if (layer === undefined) continue;
      for (const tile of layer.tiles.values()) tile.dirty = true;
      layer.captions.clear();
      layer.sprites.clear();
    }
  }

  /** setColors draws everything again with other colours. */
  setColors(colors) {
    this.colors = colors;
    this.direction = getComputedStyle(this.canvas).direction; // of texts: a picture that is not in the page has no other
    this.fills = this.hall.categories.map((c) => readable(c.color, colors.background));
    this.#forget();
    this.widths.clear(); // the font may be another one
    this.pictures.clear();
  }

  /** setHall shows another hall, or this one after a change. The last picture stays until the new one is drawn. */
  setHall(hall) {
    const { layer, previous } = this;
    this.hall = hall;
    this.rowLabels = rowLabels(hall);
    this.#load();
    if (this.colors === undefined) return;
    const shown = layer?.whole ? layer : previous;
    this.layer = this.previous = undefined;
    this.setColors(this.colors);
    this.previous = shown;
  }

  /** setFloor shows one floor, or all. */
  setFloor(floor) {
    this.floor = floor;
    this.#forget();
  }

  #forget() {
    for (const layer of [this.layer, this.previous]) if (layer !== undefined) this.#keepPictures(layer, []);
    this.layer = this.previous = undefined;
  }

  // #keepPictures keeps some pictures of a layer where they are, and the others for further layers.
  #keepPictures(layer, keys) {
    for (const tile of layer.keep(keys)) if (this.spare.length < maxSpare) this.spare.push(tile);
  }

  isShown(section) { return this.floor === undefined || section.floor === this.floor; }

  /** decorations are those on the floor that is shown. */
  get decorations() { return this.hall.decorations.filter((d) => !d.floor || this.isShown(d)); }

  /** showsSeats reports whether seats are drawn at the camera's scale. */
  showsSeats(camera) { return this.hall.spacing * camera.scale >= (this.look.seatsFrom ?? seatsFrom); }

  resize(width, height, ratio) {
    if (ratio !== this.ratio) this.pictures.clear();
    this.ratio = ratio;
    this.canvas.width = Math.max(1, Math.round(width * ratio));
    this.canvas.height = Math.max(1, Math.round(height * ratio));
    this.#forget();
  }

  /** changed redraws seats, and the sections that have them. */
  changed(seats, sections) {
    for (const layer of [this.layer, this.previous]) {
      if (layer === undefined) continue;
      if (layer.seats) for (const i of seats) if (this.isShown(this.hall.section(i))) this.#redraw(layer, i);
      for (const s of sections) if (!layer.seats || s.capacity > 0) layer.soil(s.box);
    }
  }

  /** frame draws one frame. It returns whether another one must follow. */
  frame(camera, isMoving) {
    const scale = camera.scale * this.ratio;
    if (this.layer === undefined || (this.layer.scale !== scale && (!isMoving || Math.abs(Math.log2(scale / this.layer.scale)) > 0.6))) {
      const isPrevious = this.layer?.whole || this.previous === undefined;
      const old = isPrevious ? this.previous : this.layer;
      if (old !== undefined) this.#keepPictures(old, []);
      if (isPrevious) this.previous = this.layer;
      this.layer = new Layer(scale, this.hall.box, this.showsSeats(camera));
    }
    const [dx, dy] = [Math.round(camera.dx * this.ratio), Math.round(camera.dy * this.ratio)];
    const wanted = this.layer.visible(scale, dx, dy, this.canvas);
    const deadline = performance.now() + (this.previous === undefined ? firstBudget : budget);
    let left = 0;
    for (const key of wanted) {
      const tile = this.layer.tiles.get(key);
      if (tile !== undefined && !tile.dirty) continue;
      if (performance.now() < deadline) this.#render(this.layer, key, tile);
      else left++;
    }
    this.layer.whole = left === 0;
    const c = this.context;
    c.fillStyle = this.colors.background;
    c.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (left > 0 && this.previous !== undefined) this.#put(this.previous, this.previous.visible(scale, dx, dy, this.canvas), scale, dx, dy);
    this.#put(this.layer, wanted, scale, dx, dy);
    if (this.layer.tiles.size > maxTiles) this.#keepPictures(this.layer, wanted);
    return this.#overlay(camera, deadline) || left > 0;
  }

  #put(layer, keys, scale, dx, dy) {
    const f = scale / layer.scale;
    const size = tileSize * f;
    const [x0, y0] = [layer.box.x0 * scale + dx, layer.box.y0 * scale + dy];
    const c = this.context;
    c.imageSmoothingEnabled = f !== 1;
    for (const key of keys) {
      const tile = layer.tiles.get(key);
      if (tile === undefined) continue;
      const [x, y] = [Math.round(x0 + (key % layer.columns) * size), Math.round(y0 + Math.floor(key / layer.columns) * size)];
      if (f === 1) c.drawImage(tile.canvas, x, y);
      else c.drawImage(tile.canvas, x, y, Math.ceil(size), Math.ceil(size));
    }
  }

  #render(layer, key, old) {
    const tile = old ?? layer.add(key, this.spare.pop());
    tile.dirty = false;
    const c = tile.context;
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.direction = this.direction;
    c.fillStyle = this.colors.background;
    c.fillRect(0, 0, tileSize, tileSize);
    const area = layer.area(key);
    const x = (v) => (v - area.x0) * layer.scale;
    const y = (v) => (v - area.y0) * layer.scale;
    const sections = this.hall.sections.filter((s) => this.isShown(s) && meets(s.box, area));
    this.#shapes(c, layer, area, x, y, false);
    for (const s of sections) this.#section(c, layer, s, x, y);
    this.#shapes(c, layer, area, x, y, true);
    for (const s of sections) this.#writeCaption(c, layer, s, x, y);
    this.#stage(c, layer, x, y);
    this.#labels(c, layer, area, x, y);
    if (!layer.seats) return;
    const { spacing } = this.hall;
    this.#setLabels(c, layer);
    this.hall.grid.each(area.x0 - spacing, area.y0 - spacing, area.x1 + spacing, area.y1 + spacing, (i) => {
      if (this.isShown(this.hall.section(i))) this.#seat(c, layer, i, x(this.hall.x[i]), y(this.hall.y[i]));
    });
    this.#rowLabels(c, layer, area, x, y);
  }

  // #shapes draws the decorations over the floors of sections, or those under them.
  #shapes(c, layer, area, x, y, isOver) {
    if (this.#drawing === undefined) return;
    const reach = (3 * this.ratio) / layer.scale; // of lines
    const near = { x0: area.x0 - reach, y0: area.y0 - reach, x1: area.x1 + reach, y1: area.y1 + reach };
    layer.decorations ??= this.decorations;
    for (const d of layer.decorations) {
      if (isOver === (d.isInside || d.kind === "wall") && meets(d.box, near)) this.#drawing.drawShape(c, d, { x, y, ratio: this.ratio, colors: this.colors });
    }
  }

  // #labels writes the texts of decorations. They keep off seats and, while these are not drawn, off sections.
  #labels(c, layer, area, x, y) {
    if (this.#drawing === undefined) return;
    const { hall, ratio, colors, widths, look: { stage } } = this;
    const view = { scale: layer.scale, ratio, font: colors.font, widths };
    layer.labels ??= this.#drawing.labelsOf(c, layer.decorations, {
      ...view, spacing: hall.spacing, box: layer.box, stage, captionOf: (d) => captionOf(c, d, "", view, 1), isFree: (box, d) => this.#isFree(layer, box, d),
    });
    for (const label of layer.labels) if (meets(label.box, area)) this.#drawing.drawLabel(c, label, x(label.x), y(label.y), this);
  }

  #isFree(layer, { x0, y0, x1, y1 }, { kind }) {
    const { hall, rowLabels: rows } = this;
    if (!layer.seats) return kind === "stage" || ![x0, (x0 + x1) / 2, x1].some((x) => [y0, (y0 + y1) / 2, y1].some((y) => hall.sectionAt(x, y, (s) => this.isShown(s))));
    const by = hall.spacing / 2;
    let isFree = true;
    const covers = (section) => { if (this.isShown(section)) isFree = false; };
    hall.grid.each(x0 - by, y0 - by, x1 + by, y1 + by, (i) => covers(hall.section(i)));
    if (rowLabelSize(this, layer) > 0) rows.grid.each(x0 - by, y0 - by, x1 + by, y1 + by, (n) => covers(rows.labels[n].section));
    return isFree;
  }

  #isFaint(s) { return this.look.isFaintSection?.(s) ?? false; }

  #drawsShare(layer, s) { return !layer.seats || s.capacity > 0; }

  // #fill is the background of a section.
  #fill(layer, s) {
    if (!this.#drawsShare(layer, s) || this.look.venue) return this.colors.floor;
    const share = Math.min(1, this.look.available(s) / Math.max(1, s.capacity || s.end - s.first));
    return mix(this.colors.background, this.fills[s.main], share === 0 ? 0.08 : 0.2 + 0.5 * Math.ceil(share * 4) / 4);
  }

  #section(c, layer, s, x, y) {
    const drawsShare = this.#drawsShare(layer, s);
    c.beginPath();
    for (let i = 0; i < s.outline.length; i += 2) c.lineTo(x(s.outline[i]), y(s.outline[i + 1]));
    c.closePath();
    c.globalAlpha = this.#isFaint(s) ? faintness : 1;
    c.fillStyle = this.#fill(layer, s);
    c.fill();
    if (drawsShare) this.look.venue?.fill(c, [x(s.box.x0), y(s.box.y0), x(s.box.x1), y(s.box.y1)], this.look.shares(s), this.colors, this.ratio);
    c.strokeStyle = drawsShare ? this.fills[s.main] : this.colors.line;
    c.lineWidth = 1.5 * this.ratio;
    c.stroke();
    c.globalAlpha = 1;
  }

  #writeCaption(c, layer, s, x, y) {
    if (!this.#drawsShare(layer, s)) return;
    const caption = this.#caption(c, layer, s);
    const isFaint = this.#isFaint(s);
    c.globalAlpha = isFaint ? faintness : 1;
    c.fillStyle = isFaint ? this.colors.ink : inkOn(this.#fill(layer, s));
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.translate(x(caption.x), y(caption.y));
    c.rotate(caption.angle);
    for (const line of caption.lines) {
      c.font = line.font;
      this.look.venue?.plate(c, line.text, line.dy, this.colors, this.ratio);
      c.fillText(line.text, 0, line.dy);
    }
    c.globalAlpha = 1;
    c.setTransform(1, 0, 0, 1, 0, 0);
  }

  // #caption is a section's, of the kind that all of its kin have room for.
  #caption(c, layer, s) {
    const count = this.look.text(s);
    const last = layer.captions.get(s);
    if (last?.count === count) return last;
    const view = { scale: layer.scale, ratio: this.ratio, font: this.colors.font, widths: this.widths };
    if (s.kin !== undefined && !layer.kinds.has(s.kin)) {
      const kinds = this.hall.sections.filter((o) => o.kin === s.kin).map((o) => kindOf(c, o, this.look.text(o), view)).filter((kind) => kind >= 0);
      layer.kinds.set(s.kin, Math.min(2, ...kinds));
    }
    const caption = captionOf(c, s, count, view, layer.kinds.get(s.kin));
    layer.captions.set(s, caption);
    return caption;
  }

  // #stage shows where the stage is.
  #stage(c, layer, x, y) {
    const box = this.hall.stage;
    if (box === undefined) return;
    const [x0, y0, width, height] = [x(box.x0), y(box.y0), (box.x1 - box.x0) * layer.scale, (box.y1 - box.y0) * layer.scale];
    c.fillStyle = this.colors.line;
    c.fillRect(x0, y0, width, height);
    const size = Math.min(15 * this.ratio, height * 0.7);
    if (size < 7 * this.ratio) return;
    c.fillStyle = this.colors.ink;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.font = `${size}px ${this.colors.font}`;
    c.fillText(this.look.stage, x0 + width / 2, y0 + height / 2, width * 0.9);
  }

  #rowLabels(c, layer, area, x, y) {
    const size = rowLabelSize(this, layer);
    if (size === 0) return;
    c.fillStyle = this.colors.soft;
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.font = `${size}px ${this.colors.font}`;
    const { labels, grid } = this.rowLabels;
    const reach = this.hall.spacing * 2;
    grid.each(area.x0 - reach, area.y0 - reach, area.x1 + reach, area.y1 + reach, (n) => {
      if (this.isShown(labels[n].section)) c.fillText(labels[n].text, x(grid.x[n]), y(grid.y[n]), reach * layer.scale * 0.46);
    });
  }

  #seat(c, layer, i, x, y) {
    if (this.look.hides?.(i)) return;
    const state = this.look.state(i);
    const isFaint = this.look.isFaint?.(this.hall.category[i]) ?? false;
    const sprite = this.#sprite(layer, this.hall.category[i], this.hall.kind[i], state, isFaint);
    c.drawImage(sprite, Math.round(x - sprite.width / 2), Math.round(y - sprite.height / 2));
    const size = this.hall.spacing * layer.scale;
    if (isFaint || size < labelsFrom * this.ratio || (state !== free && !this.look.venue)) return;
    c.fillStyle = this.look.venue && state === free ? this.colors.ink : inkOn(this.#color(this.hall.category[i], state));
    const label = this.hall.labels[i];
    if (label.length <= 2) c.fillText(label, x, y); // to fit it into a width, its own is measured first
    else c.fillText(label, x, y, size * 0.7);
  }

  // #setLabels prepares a picture for the labels of seats.
  #setLabels(c, layer) {
    c.textAlign = "center";
    c.textBaseline = "middle";
    c.font = `${this.hall.spacing * layer.scale * 0.36}px ${this.colors.font}`;
  }

  #redraw(layer, i) {
    const [x, y] = [this.hall.x[i], this.hall.y[i]];
    const r = this.hall.spacing * 0.48;
    const box = { x0: x - r, y0: y - r, x1: x + r, y1: y + r };
    if (layer.decorations?.some((d) => meets(d.box, box))) return layer.soil(box); // it may be on one
    return layer.each(box, (tile, area) => {
      const [px, py, pr] = [(x - area.x0) * layer.scale, (y - area.y0) * layer.scale, Math.round(r * layer.scale)];
      tile.context.fillStyle = this.colors.floor;
      tile.context.fillRect(Math.round(px) - pr, Math.round(py) - pr, 2 * pr, 2 * pr);
      this.#setLabels(tile.context, layer);
      this.#seat(tile.context, layer, i, px, py);
    });
  }

  // #sprite is the picture of a seat. Its shape alone shows its state: a small dot is taken, a square is
  // accessible, a rhombus is for a companion, and a seat with a restricted view has a cut. For the venue a free seat is a
  // ring, a locked one has a hole, and a blocked one is crossed out.
  #sprite(layer, category, kind, state, isFaint) {
    const key = (category << 6) | (kind << 3) | (state << 1) | Number(isFaint);
    let sprite = layer.sprites.get(key);
    if (sprite !== undefined) return sprite;
    sprite = document.createElement("canvas");
    const size = this.hall.spacing * layer.scale * 0.86;
    sprite.width = sprite.height = Math.max(2, Math.ceil(size));
    const c = sprite.getContext("2d");
    c.translate(sprite.width / 2, sprite.height / 2);
    c.globalAlpha = isFaint ? faintness : 1;
    c.fillStyle = c.strokeStyle = this.#color(category, state);
    if (this.look.venue) this.look.venue.seat(c, state, size, this.colors, (r, of = kind) => shape(c, of, r));
    else {
      shape(c, kind, (state === free ? 0.5 : 0.24) * size);
      c.fill();
    }
    if (kind & restricted && state === free) {
      c.fillStyle = this.colors.floor;
      c.fillRect(-size / 2, size * 0.2, size, size * 0.12);
    }
    layer.sprites.set(key, sprite);
    return sprite;
  }

  #color(category, state) {
    if (state === free) return this.fills[category];
    return this.look.venue?.colorOf(state, this.colors) ?? this.colors.taken;
  }

  // #name writes a section's name at its top. If that is out of view, it stays at the edge of the map.
  #name(camera, s) {
    const { layer, ratio, context: c } = this;
    let name = layer.sprites.get(s);
    if (name === undefined) layer.sprites.set(s, name = nameOf(this, layer, s));
    if (name === null) return;
    const { width, height } = name.picture;
    const [left, right] = [camera.x(s.box.x0) * ratio, camera.x(s.box.x1) * ratio];
    const [from, to] = [Math.max(left, 0), Math.min(right, this.canvas.width)];
    if (to - from < 0.6 * Math.min(width, right - left)) return; // of a section of which next to nothing is in view
    const natural = camera.y(name.y) * ratio + name.dy;
    const middle = to - from < width ? (from + to) / 2 : Math.min(Math.max(camera.x(name.x) * ratio, from + width / 2), to - width / 2);
    const x = Math.min(Math.max(middle, width / 2), this.canvas.width - width / 2);
    const y = natural >= height / 2 ? natural : Math.min(height / 2, camera.y(s.box.y1) * ratio - height / 2);
    c.globalAlpha = 0.85;
    c.fillStyle = this.colors.background;
    if (name.covers || y !== natural) c.fillRect(Math.round(x - width / 2), Math.round(y - height / 2), width, height);
    c.globalAlpha = 1;
    c.drawImage(name.picture, Math.round(x - width / 2), Math.round(y - height / 2));
  }

  // #overlay has what changes with the customer: drawn in each frame, for some dozens of seats.
  // It returns whether there is more to draw, with the next frame.
  #overlay(camera, deadline) {
    const { mine = [], pending = [], hinted = [], seat, section, rectangle, area } = this.look.overlay();
    const c = this.context;
    const ratio = this.ratio;
    let isLate = false;
    if (this.layer.seats) {
      for (const s of this.hall.sections) {
        if (s.first === s.end || !this.isShown(s) || !camera.sees(s.box)) continue;
        if (this.layer.sprites.has(s) || performance.now() < deadline) this.#name(camera, s);
        else isLate = true;
      }
    }
    const size = Math.max(this.hall.spacing * camera.scale * ratio, 5 * ratio);
    const at = (i) => [camera.x(this.hall.x[i]) * ratio, camera.y(this.hall.y[i]) * ratio];
    const ring = (i, r, color, width, dash = []) => {
      if (!this.isShown(this.hall.section(i))) return;
      const [x, y] = at(i);
      c.beginPath();
      c.setLineDash(dash);
      c.arc(x, y, r, 0, 2 * Math.PI);
      c.strokeStyle = color;
      c.lineWidth = width;
      c.stroke();
      c.setLineDash([]);
    };
    const tick = (i, isHeld) => {
      if (!this.isShown(this.hall.section(i))) return;
      const [x, y] = at(i);
      c.save();
      c.translate(x, y);
      c.fillStyle = this.colors.mine;
      shape(c, this.hall.kind[i], size * 0.5);
      c.fill();
      c.restore();
      ring(i, size * 0.56, this.colors.ink, Math.max(1.5 * ratio, size * 0.07), isHeld ? [] : [3 * ratio, 2 * ratio]);
      if (size < 10 * ratio) return;
      c.beginPath();
      c.moveTo(x - size * 0.2, y);
      c.lineTo(x - size * 0.05, y + size * 0.16);
      c.lineTo(x + size * 0.22, y - size * 0.16);
      c.strokeStyle = inkOn(this.colors.mine);
      c.lineWidth = Math.max(1.5 * ratio, size * 0.1);
      c.stroke();
    };
    for (const i of mine) tick(i, true);
    for (const i of pending) tick(i, false);
    for (const i of hinted) ring(i, size * 0.55, this.colors.warn, 2 * ratio, [4 * ratio, 3 * ratio]);
    if (seat !== undefined) ring(seat, size * 0.72, this.colors.focus, 3 * ratio);
    const outline = ({ x0, y0, x1, y1 }) => {
      c.strokeStyle = this.colors.focus;
      c.lineWidth = 2 * ratio;
      c.strokeRect(x0 * ratio, y0 * ratio, (x1 - x0) * ratio, (y1 - y0) * ratio);
    };
    if (area !== undefined) outline({ x0: camera.x(area.x0), y0: camera.y(area.y0), x1: camera.x(area.x1), y1: camera.y(area.y1) });
    if (rectangle !== undefined) outline(rectangle);
    if (section !== undefined) {
      c.beginPath();
      for (let i = 0; i < section.outline.length; i += 2) {
        c.lineTo(camera.x(section.outline[i]) * ratio, camera.y(section.outline[i + 1]) * ratio);
      }
      c.closePath();
      c.strokeStyle = this.colors.focus;
      c.lineWidth = 3 * ratio;
      c.stroke();
    }
    return isLate;
  }
}

function shape(c, kind, r) {
  c.beginPath();
  if (kind & accessible) c.rect(-r * 0.88, -r * 0.88, r * 1.76, r * 1.76);
  else if (kind & companion) {
    c.moveTo(0, -r);
    c.lineTo(r, 0);
    c.lineTo(0, r);
    c.lineTo(-r, 0);
    c.closePath();
  } else c.arc(0, 0, r, 0, 2 * Math.PI);
}

// Layer has the pictures of one scale, by the number of their place.
class Layer {
  tiles = new Map();
  sprites = new Map(); // of seats, by a number, and names of sections
  captions = new Map(); // of sections
  kinds = new Map(); // of captions, by the sections' kin
  decorations = undefined;
  labels = undefined; // … of decorations
  whole = false;

  constructor(scale, box, seats) {
    this.scale = scale;
    this.seats = seats;
    const reach = tileSize / scale / 4; // labels are outside of the hall
    this.box = { x0: box.x0 - reach, y0: box.y0 - reach, x1: box.x1 + reach, y1: box.y1 + reach };
    this.columns = Math.ceil(((this.box.x1 - this.box.x0) * scale) / tileSize);
    this.lines = Math.ceil(((this.box.y1 - this.box.y0) * scale) / tileSize);
  }

  /** add makes a picture, of one that is not needed any more if there is one. */
  add(key, spare) {
    let tile = spare;
    if (tile === undefined) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = tileSize;
      tile = { canvas, context: canvas.getContext("2d", { alpha: false }), dirty: true };
    }
    this.tiles.set(key, tile);
    return tile;
  }

  /** area is what a picture shows, in the plan's units. */
  area(key) {
    const size = tileSize / this.scale;
    const [x0, y0] = [this.box.x0 + (key % this.columns) * size, this.box.y0 + Math.floor(key / this.columns) * size];
    return { x0, y0, x1: x0 + size, y1: y0 + size };
  }

  /** visible are the places that a screen shows, from its middle outwards. */
  visible(scale, dx, dy, screen) {
    const size = (tileSize * scale) / this.scale;
    const [x0, y0] = [this.box.x0 * scale + dx, this.box.y0 * scale + dy];
    const range = (from, length, most) => [Math.max(0, Math.floor(-from / size)), Math.min(most - 1, Math.floor((length - from) / size))];
    const [c0, c1] = range(x0, screen.width, this.columns);
    const [l0, l1] = range(y0, screen.height, this.lines);
    const keys = [];
    for (let l = l0; l <= l1; l++) for (let c = c0; c <= c1; c++) keys.push(l * this.columns + c);
    const far = (key) => Math.abs((key % this.columns) - (c0 + c1) / 2) + Math.abs(Math.floor(key / this.columns) - (l0 + l1) / 2);
    return keys.sort((a, b) => far(a) - far(b));
  }

  /** each calls visit for the pictures that show a part of a box. */
  each(box, visit) {
    const size = tileSize / this.scale;
    for (let l = Math.floor((box.y0 - this.box.y0) / size); l <= Math.floor((box.y1 - this.box.y0) / size); l++) {
      for (let c = Math.floor((box.x0 - this.box.x0) / size); c <= Math.floor((box.x1 - this.box.x0) / size); c++) {
        const key = l * this.columns + c;
        const tile = c >= 0 && c < this.columns ? this.tiles.get(key) : undefined;
        if (tile !== undefined) visit(tile, this.area(key));
      }
    }
  }

  soil(box) { this.each(box, (tile) => { tile.dirty = true; }); }

  /** keep forgets all pictures but some, and returns them. */
  keep(keys) {
    const kept = new Set(keys);
    const forgotten = [];
    for (const [key, tile] of this.tiles) {
      if (kept.has(key)) continue;
      forgotten.push(tile);
      this.tiles.delete(key);
    }
    return forgotten;
  }
}
