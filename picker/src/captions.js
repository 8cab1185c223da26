// The texts on the map: a section's caption, while seats are not drawn, and its name, while they are.

import { roomIn, topOf } from "./hall.js";

const sizes = [16, 14, 12, 10.5, 9]; // of a caption, in pixels
const nameSize = 13;
const fewest = 5; // characters of a text that is cut

// halves are a text on two lines, at the space that leaves the longer one as short as it can be; undefined without a space.
function halves(text, width) {
  const words = text.split(" ");
  let [best, least] = [undefined, Infinity];
  for (let n = 1; n < words.length; n++) {
    const lines = [words.slice(0, n).join(" "), words.slice(n).join(" ")];
    const most = Math.max(...lines.map(width));
    if (most < least) [best, least] = [lines, most];
  }
  return best;
}

// cut is as much of a text as fits, with an ellipsis; undefined if that is next to nothing.
function cut(text, fits) {
  if (fits(text)) return text;
  const characters = [...text];
  for (let n = characters.length - 1; n >= fewest; n--) {
    const shorter = `${characters.slice(0, n).join("").trimEnd()}…`;
    if (fits(shorter)) return shorter;
  }
  return undefined;
}

/**
 * captionOf is a section's name, and what is free of it, as large as its outline lets them be: on one line or two, else
 * the name alone, else what of the name tells the section from others, else cut. It has `lines` (none if there is no
 * room), at a point of the plan. `widths` keeps those of texts for other scales.
 */
export function captionOf(c, section, count, { scale, ratio, font, widths }) {
  const { name, short, box, middle } = section;
  const none = { count, lines: [], x: middle.x, y: middle.y };
  const [width, height] = [(box.x1 - box.x0) * scale, (box.y1 - box.y0) * scale];
  if (width < 20 * ratio || height < 1.2 * sizes.at(-1) * ratio) return none;
  const fontOf = (size, isName) => `${isName ? "600 " : ""}${size}px ${font}`;
  const measured = (isName) => (text) => { // in units of the name's size
    const key = `${isName ? "n" : "c"}${text}`;
    if (!widths.has(key)) {
      c.font = fontOf(100, isName);
      widths.set(key, c.measureText(text).width / 100 * (isName ? 1 : 0.85));
    }
    return widths.get(key);
  };
  const wide = measured(true);
  const small = measured(false)(count);
  const measure = (...all) => all.filter((lines) => lines !== undefined).map((lines) => ({ lines, most: Math.max(...lines.map(wide)) }));
  const names = measure([name], halves(name, wide));
  const at = (room, lines, size, hasCount) => {
    const leading = 1.2 * size;
    const top = -(lines.length - 1 + (hasCount ? 0.85 : 0)) * leading / 2;
    const written = lines.map((text, n) => ({ text, font: fontOf(size, true), dy: top + n * leading }));
    if (hasCount) written.push({ text: count, font: fontOf(0.85 * size, false), dy: top + (lines.length - 0.08) * leading });
    return { count, lines: written, x: room.x, y: room.y };
  };
  for (const [texts, hasCount, from] of [[names, true, 0], [names, false, 0], [measure([short]), false, 2]]) {
    for (const css of sizes.slice(from, hasCount ? -1 : undefined)) { // a count is smaller still
      const size = css * ratio;
      for (const { lines, most } of texts) {
        const high = 1.2 * size * (lines.length + (hasCount ? 0.85 : 0));
        const need = size * Math.max(most, hasCount ? small : 0);
        if (high > height || need > width) continue;
        const room = roomIn(section, high / scale);
        if (room !== undefined && need <= 0.94 * room.width * scale) return at(room, lines, size, hasCount);
      }
    }
  }
  const size = sizes.at(-1) * ratio;
  const room = roomIn(section, (1.2 * size) / scale);
  const shorter = room && cut(name, (text) => size * wide(text) <= 0.94 * room.width * scale);
  return shorter === undefined ? none : at(room, [shorter], size, false);
}

/**
 * nameOf is the picture of a section's name, and where it is: beside a point of the plan, inside or outside of the outline,
 * where it covers the fewest seats. null: the section is too small for it. `pictures` keeps pictures for other scales.
 */
export function nameOf({ hall, ratio, colors, context: c, pictures }, { scale }, section) {
  const { box, name, middle } = section;
  const width = (box.x1 - box.x0) * scale;
  if (width < 40 * ratio) return null;
  const font = `600 ${nameSize * ratio}px ${colors.font}`;
  c.font = font;
  const most = Math.max(1.3 * width, Math.min(2 * width, 100 * ratio));
  const text = cut(name, (t) => c.measureText(t).width <= most);
  if (text === undefined) return null;
  const [wide, high] = [Math.ceil(c.measureText(text).width + 8 * ratio), Math.ceil(1.5 * nameSize * ratio)];
  const [top, bottom] = topOf(section);
  const away = high / 2;
  const places = [];
  for (const [y, dy] of [[top, away], [top, -away], [box.y0, -away], [bottom, away]]) {
    const [px, py, r] = [wide / 2 / scale, away / scale, hall.spacing * 0.4];
    let covers = 0;
    hall.grid.each(middle.x - px - r, y + dy / scale - py - r, middle.x + px + r, y + dy / scale + py + r, () => { covers++; });
    places.push({ x: middle.x, y, dy, covers });
    if (covers === 0) break;
  }
  const place = places.reduce((a, b) => (b.covers < a.covers ? b : a));
  const halo = place === places[0] ? colors.floor : colors.background;
  let picture = pictures.get(text + halo);
  if (picture === undefined) {
    picture = document.createElement("canvas");
    Object.assign(picture, { width: wide, height: high });
    const pen = picture.getContext("2d");
    Object.assign(pen, { font, textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4 * ratio, strokeStyle: halo, fillStyle: colors.ink });
    for (const write of ["strokeText", "fillText"]) pen[write](text, wide / 2, away);
    pictures.set(text + halo, picture);
  }
  return { picture, ...place };
}
