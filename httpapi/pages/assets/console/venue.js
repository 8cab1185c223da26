// What the console draws on the map and customers don't see: the state of each seat, and how much of a section each state has.

import { blocked, free, taken } from "/assets/holdfast-seats.js";

const holeUpTo = 19; // pixels of a seat; nearer by its label is there

export const venue = {
  colorOf: (state, colors) => [undefined, colors.locked, colors.sold, colors.blocked][state],

  // seat draws a free one as a ring, a locked one with a hole, and a blocked one crossed out. shape(r, kind) makes a path.
  seat(c, state, size, colors, shape) {
    if (state === free) {
      shape(size * 0.42);
      c.lineWidth = Math.max(1, size * 0.14);
      c.stroke();
      return;
    }
    shape(size * 0.5);
    c.fill();
    c.fillStyle = c.strokeStyle = colors.floor;
    if (state === taken && size < holeUpTo) {
      shape(size * 0.16, 0);
      c.fill();
    }
    if (state !== blocked) return;
    c.beginPath();
    for (const s of [-1, 1]) {
      c.moveTo(-size * 0.25, -s * size * 0.25);
      c.lineTo(size * 0.25, s * size * 0.25);
    }
    c.lineWidth = Math.max(1, size * 0.12);
    c.stroke();
  },

  // fill fills the path of a section from the left, with the colors of the states as far as it has them.
  fill(c, [x0, y0, x1, y1], shares, colors, ratio) {
    let from = x0;
    c.save();
    c.clip();
    shares.forEach((share, state) => {
      if (state === free || share === 0) return;
      c.fillStyle = this.colorOf(state, colors);
      const wide = Math.max(share * (x1 - x0), 3 * ratio); // few seats are seen, too
      c.fillRect(from, y0, wide, y1 - y0);
      from += wide;
    });
    c.restore();
  },

  // plate is behind a text that is on several colors.
  plate(c, text, y, colors, ratio) {
    const { width, actualBoundingBoxAscent: up, actualBoundingBoxDescent: down } = c.measureText(text);
    const pad = 2 * ratio;
    c.save();
    c.globalAlpha = 0.85;
    c.fillStyle = colors.floor;
    c.fillRect(-width / 2 - pad, y - up - pad, width + 2 * pad, up + down + 2 * pad);
    c.restore();
  },
};
