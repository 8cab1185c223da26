// Colours: #rrggbb in, #rrggbb out. Contrast is that of WCAG 2.

/** Colours of categories that have none, in the plan's order. */
export const palette = ["#0b5d66", "#7a1f3d", "#2f6f3e", "#4a5a8c", "#8a6d1b", "#6a3d9a", "#a8431b", "#3f6c8f"];

const parse = (hex) => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
const format = (rgb) => `#${rgb.map((v) => Math.round(v).toString(16).padStart(2, "0")).join("")}`;

/** mix returns share of b in a; 0 is a, 1 is b. */
export function mix(a, b, share) {
  const to = parse(b);
  return format(parse(a).map((v, i) => v + (to[i] - v) * share));
}

function luminance(hex) {
  const [r, g, b] = parse(hex).map((v) => {
    const s = v / 255;
    return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** contrast is from 1 to 21. */
export function contrast(a, b) {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

const isDark = (hex) => luminance(hex) < 0.18;

/** readable moves a colour away from the background until it stands out enough. */
export function readable(color, background, least = 3) {
  const to = isDark(background) ? "#ffffff" : "#000000";
  for (let share = 0; share < 1; share += 0.1) {
    const found = mix(color, to, share);
    if (contrast(found, background) >= least) return found;
  }
  return to;
}

const inks = new Map(); // the labels of all seats ask for them
const maxInks = 1000;

/** inkOn is the colour of text on a colour. */
export function inkOn(color) {
  let ink = inks.get(color);
  if (ink === undefined) {
    if (inks.size === maxInks) inks.clear();
    inks.set(color, ink = contrast(color, "#ffffff") >= contrast(color, "#000000") ? "#ffffff" : "#000000");
  }
  return ink;
}

/** isColor reports whether a text is #rrggbb. */
export const isColor = (text) => /^#[0-9a-f]{6}$/i.test(text);
