// Where a text has room in an outline: level, or along it.

import { inside } from "./hall.js";

const lines = 24; // at which an outline is measured, from its top to its bottom

/** Room is what an outline has of it for texts at an angle. It is measured once, for all heights: the map asks in each frame. */
export class Room {
  #best = []; // by the number of distances between lines that a text is high
  #height;

  /** @param angle of the text, clockwise, about the outline's middle */
  constructor(outline, middle, angle) {
    this.angle = angle;
    const turned = turn(outline, middle, -angle);
    let [top, bottom] = [Infinity, -Infinity];
    for (let i = 1; i < turned.length; i += 2) [top, bottom] = [Math.min(top, turned[i]), Math.max(bottom, turned[i])];
    this.#height = (bottom - top) / lines;
    const edge = this.#height / 1000; // an edge of the outline may lie on the first line, or on the last
    const y = (n) => Math.min(Math.max(top + n * this.#height, top + edge), bottom - edge);
    const stretches = Array.from({ length: lines + 1 }, (_, n) => inside(turned, y(n)));
    for (let first = 0; first < lines; first++) {
      let common = stretches[first];
      for (let last = first + 1; last <= lines && common.length > 0; last++) {
        common = both(common, stretches[last]);
        for (const [from, to] of common) this.#offer(last - first, from, to, (y(first) + y(last)) / 2, middle);
      }
    }
    for (const best of this.#best) {
      if (best !== undefined) [best.x, best.y] = turn([best.x, best.y], middle, angle);
    }
  }

  // #offer keeps the best place for a height. Of places that are about as wide, it is the one nearest to the middle.
  #offer(high, from, to, y, middle) {
    const x = Math.min(Math.max(middle.x, from + (to - from) * 0.35), to - (to - from) * 0.35);
    const width = 2 * Math.min(x - from, to - x);
    const worth = width - Math.abs(y - middle.y) / 2;
    if (width > 0 && !(worth <= this.#best[high]?.worth)) this.#best[high] = { x, y, width, worth };
  }

  /** at is where a text of a height has the most room: the middle of the text, and the width; undefined if it is too high. */
  at(height) { return this.#best[Math.max(1, Math.ceil(height / this.#height))]; }
}

/** roomsOf are the rooms of a section: level, and along its longer side, if that is another one. */
export function roomsOf(section) {
  if (section.rooms === undefined) {
    const { outline, middle } = section;
    section.rooms = [0, along(outline)].filter((angle, n) => n === 0 || Math.abs(angle) > 0.1).map((angle) => new Room(outline, middle, angle));
  }
  return section.rooms;
}

// along is the angle of the edge along which an outline is the least high: from -90° (a text that is read upwards) to 90°.
function along(outline) {
  let [best, least] = [0, Infinity];
  for (let i = 0, j = outline.length - 2; i < outline.length; j = i, i += 2) {
    const [dx, dy] = [outline[i] - outline[j], outline[i + 1] - outline[j + 1]];
    const length = Math.hypot(dx, dy);
    if (length === 0) continue;
    let [from, to] = [Infinity, -Infinity];
    for (let k = 0; k < outline.length; k += 2) {
      const far = (outline[k + 1] * dx - outline[k] * dy) / length;
      [from, to] = [Math.min(from, far), Math.max(to, far)];
    }
    if (to - from < least * 0.999) [best, least] = [Math.abs(dx) < length / 1000 ? -Math.PI / 2 : Math.atan(dy / dx), to - from];
  }
  return best;
}

function turn(points, { x, y }, angle) {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return points.map((v, i) => (i % 2 === 0 ? x + (v - x) * cos - (points[i + 1] - y) * sin : y + (points[i - 1] - x) * sin + (v - y) * cos));
}

// both are the stretches that two lines share.
function both(a, b) {
  const found = [];
  for (const [a0, a1] of a) for (const [b0, b1] of b) if (Math.min(a1, b1) > Math.max(a0, b0)) found.push([Math.max(a0, b0), Math.min(a1, b1)]);
  return found;
}
