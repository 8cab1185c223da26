// What a plan draws besides its seats: the stage, areas, walls, texts and icons. It is loaded for plans that have such, so
// it imports nothing: what it shared with the rest of the map would be a file that all pages load.

// Icons are lines in a square of 24.
const icons = {
  bar: "M5 5h14l-7 8zM12 13v6M8 19h8",
  cloakroom: "M12 10V9a2.5 2.5 0 1 0-2.5-2.5M12 10l8 6.5a1 1 0 0 1-.7 1.5H4.7a1 1 0 0 1-.7-1.5z",
  entrance: "M14 4h5v16h-5M4 12h10M10 8l4 4-4 4",
  exit: "M10 4H5v16h5M10 12h10M16 8l4 4-4 4",
  "first-aid": "M9 3h6v6h6v6h-6v6H9v-6H3V9h6z",
  food: "M7 3v18M4 3v5a3 3 0 0 0 6 0V3M17 21V3c-3 2-3 7-3 10h3",
  information: "M12 3a9 9 0 1 0 .01 0zM12 11v6M12 7v.5",
  lift: "M5 3h14v18H5zM9 10l3-4 3 4zM9 14h6l-3 4z",
  stairs: "M3 19h4v-4h4v-4h4V7h5",
  toilet: "M7 3a1.5 1.5 0 1 0 .01 0zM7 8v7M4 12l3-4 3 4M5 21l2-6 2 6M12 3v18M17 3a1.5 1.5 0 1 0 .01 0zM17 8l-3 8h6zM17 16v5",
};

const [least, most] = [11, 16]; // pixels of the letters of a text
const iconSizes = [16, 30]; // … and of icons
const leading = 1.25;
const longest = 18; // of a line, in its letters' size

const meets = (a, b) => a.x1 >= b.x0 && a.x0 <= b.x1 && a.y1 >= b.y0 && a.y0 <= b.y1;
/** @param {number} v @param {number[]} range */
const within = (v, [from, to]) => Math.min(Math.max(v, from), to);

/** drawShape draws a stage, an area or a wall. view has `x(x)`, `y(y)`, `ratio` and `colors`. */
export function drawShape(c, { kind, outline }, { x, y, ratio, colors }) {
  if (kind === "text" || kind === "icon") return;
  c.save();
  c.beginPath();
  for (let i = 0; i < outline.length; i += 2) c.lineTo(x(outline[i]), y(outline[i + 1]));
  if (kind !== "wall") {
    c.closePath();
    c.fillStyle = colors.line;
    c.globalAlpha = kind === "stage" ? 1 : 0.35;
    c.fill();
    c.globalAlpha = 1;
  }
  Object.assign(c, { strokeStyle: colors.soft, lineWidth: (kind === "wall" ? 3 : 1.5) * ratio, lineJoin: "round", lineCap: "round" });
  c.stroke();
  c.restore();
}

/**
 * labelsOf places the texts and icons of decorations at a scale: each where no other one is, and nothing else by
 * `isFree(box, decoration)`. What has no place is left out. view has `scale` in pixels, `ratio`, `font`, `widths` (which keeps those of texts), `spacing`
 * of seats, `box`, in which they stay, `stage`, the text of a stage that has none, and `captionOf(decoration)`.
 */
export function labelsOf(c, decorations, view) {
  const placed = [];
  for (const d of decorations) {
    const isClear = ({ box }) => !placed.some((o) => meets(o.box, box)) && view.isFree(box, d);
    d.name = d.short = d.text || (d.kind === "stage" ? view.stage : "");
    const labels = d.kind === "text" ? textsOf(c, d, view) : d.kind === "icon" ? iconsOf(c, d, view) : captionsIn(c, d, view);
    const label = labels.find(isClear);
    if (label !== undefined) placed.push(label);
  }
  return placed;
}

/** drawLabel draws one of labelsOf at a place in pixels. A text that is not in a shape has a halo: a wall may be under it. */
export function drawLabel(c, { angle = 0, lines, icon, dy = 0, size = 0, halo }, x, y, { ratio, colors }) {
  c.save();
  c.translate(x, y);
  c.rotate(angle);
  Object.assign(c, { textAlign: "center", textBaseline: "middle", lineJoin: "round", lineWidth: 4 * ratio, fillStyle: colors.ink, strokeStyle: colors[halo] });
  for (const write of halo === undefined ? ["fillText"] : ["strokeText", "fillText"]) {
    for (const line of lines) {
      c.font = line.font;
      c[write](line.text, 0, line.dy);
    }
  }
  if (icon !== undefined) {
    Object.assign(c, { fillStyle: colors.background, strokeStyle: colors.line, lineWidth: ratio });
    c.beginPath();
    c.roundRect(-size / 2, dy - size / 2, size, size, size * 0.2);
    c.fill();
    c.stroke();
    c.translate(-size * 0.375, dy - size * 0.375);
    c.scale(size / 32, size / 32);
    Object.assign(c, { strokeStyle: colors.ink, lineWidth: 2, lineJoin: "round", lineCap: "round" });
    c.stroke(new Path2D(icons[icon]));
  }
  c.restore();
}

// captionsIn are a stage's or an area's: in it where it has the most room, or at its upper or lower edge.
function captionsIn(c, d, view) {
  if (d.name === "" || d.kind === "wall") return [];
  const { lines, x, y, angle } = view.captionOf(d);
  if (lines.length === 0) return [];
  const width = Math.max(...lines.map(({ text, font }) => Object.assign(c, { font }).measureText(text).width));
  const height = leading * Number.parseFloat(/[\d.]+px/.exec(lines[0].font)[0]) * lines.length;
  const turned = [[Math.cos(angle), Math.sin(angle)], [Math.sin(angle), Math.cos(angle)]].map(([a, b]) => Math.abs(a) * width + Math.abs(b) * height);
  const edge = (0.7 * height) / view.scale;
  return [y, ...(angle === 0 ? [d.box.y0 + edge, d.box.y1 - edge] : [])].map((at) => ({ lines, x, y: at, angle, box: around(x, at, turned, view) }));
}

// textsOf are a text as large as seats are apart, and a smaller one.
function textsOf(c, d, view) {
  const sizes = [within(0.8 * view.spacing * view.scale, [least * view.ratio, most * view.ratio]), least * view.ratio];
  return sizes.map((size) => {
    const { lines, ...extent } = written(c, d.text, size, view);
    return { lines, ...centred(d, [extent.width, extent.height], view) };
  });
}

// iconsOf are an icon with its text below it, and without.
function iconsOf(c, d, view) {
  if (!Object.hasOwn(icons, d.icon)) return []; // of a later version
  const size = within(1.4 * view.spacing * view.scale, iconSizes.map((v) => v * view.ratio));
  const alone = { icon: d.icon, size, lines: [], ...centred(d, [size, size], view) };
  if (d.text === "") return [alone];
  const { lines, width, height } = written(c, d.text, least * view.ratio, view);
  const below = { icon: d.icon, size, dy: -height / 2, lines: lines.map((l) => ({ ...l, dy: l.dy + size / 2 })) };
  return [{ ...below, ...centred(d, [Math.max(size, width), size + height], view) }, alone];
}

// written is a text in lines that are not too long.
function written(c, text, size, { font, widths }) {
  const width = (t) => {
    if (!widths.has(`d${t}`)) {
      c.font = `100px ${font}`;
      widths.set(`d${t}`, c.measureText(t).width / 100);
    }
    return widths.get(`d${t}`);
  };
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = [...lines.slice(-1), word].join(" ");
    if (lines.length > 0 && width(longer) <= longest) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return {
    width: size * Math.max(...lines.map(width)), height: leading * size * lines.length,
    lines: lines.map((line, n) => ({ text: line, font: `${size}px ${font}`, dy: leading * size * (n - (lines.length - 1) / 2) })),
  };
}

// centred is where something of a size in pixels is: at the decoration's point, but inside of the view's box.
function centred({ middle, isInside }, extent, view) {
  const reach = extent.map((v) => v / 2 / view.scale);
  const inside = (v, from, to, by) => (to - from < 2 * by ? (from + to) / 2 : within(v, [from + by, to - by]));
  const [x, y] = [inside(middle.x, view.box.x0, view.box.x1, reach[0]), inside(middle.y, view.box.y0, view.box.y1, reach[1])];
  return { x, y, box: around(x, y, extent, view), halo: isInside ? "floor" : "background" };
}

function around(x, y, extent, { scale }) {
  const [w, h] = extent.map((v) => v / 2 / scale);
  return { x0: x - w, y0: y - h, x1: x + w, y1: y + h };
}
