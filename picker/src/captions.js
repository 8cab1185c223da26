// The texts on the map: a section's caption, while seats are not drawn, and its name, while they are.

import { edgesOf, meets } from "./hall.js";
import { roomsOf } from "./room.js";
import { rowLabelSize } from "./rows.js";

const sizes = [16, 14, 12, 10.5, 9]; // of a caption, in pixels
const countSize = 0.85; // of the count under a name
const leading = 1.2;
const nameSize = 13;
const fewest = 5; // characters of a text that is cut
const maxWidths = 5000; // of texts that are kept: a large area has a new count with each sale

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

// cut is the longest beginning of a text that fits, with an ellipsis; undefined if that is too short.
function cut(text, fits) {
  if (fits(text)) return text;
  const characters = [...text];
  for (let n = characters.length - 1; n >= fewest; n--) {
    const shorter = `${characters.slice(0, n).join("").trimEnd()}…`;
    if (fits(shorter)) return shorter;
  }
  return undefined;
}

// Kinds of captions, from the shortest: the part of the name that differs from similar sections; the name; the name and a count.
const [short, whole, counted] = [0, 1, 2];

// sizesOf are the sizes that a caption of a kind may have: a count is smaller still than the name, and a short name stays small.
const sizesOf = [sizes.slice(2), sizes, sizes.slice(0, -1)];

// widthsOf measures texts in units of the size of the name.
function widthsOf(c, font, widths) {
  return (text, isName = true) => {
    const key = `${isName ? "n" : "c"}${text}`;
    if (!widths.has(key)) {
      if (widths.size === maxWidths) widths.clear();
      c.font = fontOf(100, font, isName);
      widths.set(key, c.measureText(text).width / 100 * (isName ? 1 : countSize));
    }
    return widths.get(key);
  };
}

const fontOf = (size, font, isName) => `${isName ? "600 " : ""}${size}px ${font}`;

// fitting is the largest caption of a kind that a section has room for: level if possible, or along its longer side.
function fitting(width, section, count, kind, { scale, ratio }) {
  const name = kind === short ? section.short : section.name;
  const texts = [[name], kind === short ? undefined : halves(name, width)].filter((lines) => lines !== undefined);
  const small = kind === counted ? width(count, false) : 0;
  for (const room of roomsOf(section)) {
    for (const css of sizesOf[kind]) {
      const size = css * ratio;
      for (const lines of texts) {
        const place = room.at((leading * size * (lines.length + (kind === counted ? countSize : 0))) / scale);
        if (place !== undefined && size * Math.max(small, ...lines.map((text) => width(text))) <= 0.94 * place.width * scale) return { lines, size, place, angle: room.angle };
      }
    }
  }
  return undefined;
}

/** kindOf is the longest kind of caption that a section has room for; -1 if it has room for none. */
export function kindOf(c, section, count, view) {
  const width = widthsOf(c, view.font, view.widths);
  for (const kind of [counted, whole, short]) if (fitting(width, section, count, kind, view) !== undefined) return kind;
  return -1;
}

/**
 * captionOf is a section's name and its number of free seats, as large as its outline allows, and of no longer a kind
 * than `most`. If no kind fits, the name is cut. It has `lines` (none if there is no room), about a point of the plan, at
 * an angle. `widths` keeps those of texts for other scales.
 */
export function captionOf(c, section, count, view, most = counted) {
  const { scale, ratio, font, widths } = view;
  const width = widthsOf(c, font, widths);
  for (let kind = most; kind >= short; kind--) {
    const found = fitting(width, section, count, kind, view);
    if (found === undefined) continue;
    const { lines, size, place, angle } = found;
    const top = -(lines.length - 1 + (kind === counted ? countSize : 0)) * leading * size / 2;
    const written = lines.map((text, n) => ({ text, font: fontOf(size, font, true), dy: top + n * leading * size }));
    if (kind === counted) written.push({ text: count, font: fontOf(countSize * size, font, false), dy: top + (lines.length - 0.08) * leading * size });
    return { count, lines: written, x: place.x, y: place.y, angle };
  }
  const size = sizes.at(-1) * ratio;
  for (const room of roomsOf(section)) {
    const place = room.at((leading * size) / scale);
    const text = place && cut(section.name, (shorter) => size * width(shorter) <= 0.94 * place.width * scale);
    if (text !== undefined) return { count, lines: [{ text, font: fontOf(size, font, true), dy: 0 }], x: place.x, y: place.y, angle: room.angle };
  }
  return { count, lines: [], x: section.middle.x, y: section.middle.y, angle: 0 };
}

/**
 * nameOf is the picture of a section's name, and where it is: next to a point of the plan, inside or outside of the outline,
 * where it covers the fewest seats and, if possible, no edge, no decoration's text and no label of a row. null: the section is too small for it. `pictures` keeps pictures for other scales.
 */
export function nameOf(painter, { scale, labels: others = [] }, section) {
  const { hall, ratio, colors, context: c, pictures } = painter;
  const { box, name, middle } = section;
  const labels = rowLabelSize(painter, { scale }) > 0 ? painter.rowLabels.grid : undefined;
  const width = (box.x1 - box.x0) * scale;
  if (width < 40 * ratio) return null;
  const font = `600 ${nameSize * ratio}px ${colors.font}`;
  c.font = font;
  const most = Math.max(1.3 * width, Math.min(2 * width, 100 * ratio));
  const text = cut(name, (t) => c.measureText(t).width <= most);
  if (text === undefined) return null;
  const [wide, high] = [Math.ceil(c.measureText(text).width + 8 * ratio), Math.ceil(1.5 * nameSize * ratio)];
  const away = high / 2;
  const places = [];
  const [px, py, r] = [wide / 2 / scale, away / scale, hall.spacing * 0.4];
  const edges = edgesOf(section, [middle.x, middle.x - px, middle.x + px]); // an edge may be at a slant
  const [tops, bottoms] = [edges.map(([top]) => top), edges.map(([, bottom]) => bottom)];
  for (const [y, dy] of [[Math.max(...tops), away], [Math.min(...tops), -away], [box.y0, -away], [box.y0 - 0.6 * hall.spacing, -away], [Math.max(...bottoms), away]]) {
    let covers = 0;
    hall.grid.each(middle.x - px - r, y + dy / scale - py - r, middle.x + px + r, y + dy / scale + py + r, () => { covers++; });
    labels?.each(middle.x - px, y + dy / scale - py, middle.x + px, y + dy / scale + py, () => { covers += 0.1; });
    const box = { x0: middle.x - px, x1: middle.x + px, y0: y + dy / scale - py, y1: y + dy / scale + py };
    if (others.some((o) => meets(o.box, box))) covers += 0.7;
    const corners = [-px, px].flatMap((by) => [-py, py].map((down) => hall.sectionAt(middle.x + by, y + dy / scale + down, (s) => painter.isShown(s))));
    if (new Set(corners).size > 1) covers += 0.5; // it lies across an edge
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
    Object.assign(pen, { font, direction: painter.direction, textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4 * ratio, strokeStyle: halo, fillStyle: colors.ink });
    for (const write of ["strokeText", "fillText"]) pen[write](text, wide / 2, away);
    pictures.set(text + halo, picture);
  }
  return { picture, ...place };
}
