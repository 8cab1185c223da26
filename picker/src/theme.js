import { isColor } from "./color.js";
import { el } from "./dom.js";

/**
 * colorsOf are the colours that custom properties have in an element, as the painter needs them: #rrggbb by name, and
 * the font. A page may give any colour of CSS.
 */
export function colorsOf(root, properties) {
  const probe = el("span", { hidden: true });
  const canvas = document.createElement("canvas").getContext("2d");
  root.append(probe);
  const colors = { font: getComputedStyle(root).fontFamily };
  for (const [name, property] of Object.entries(properties)) {
    probe.style.color = `var(${property})`;
    canvas.fillStyle = "#808080";
    canvas.fillStyle = getComputedStyle(probe).color;
    colors[name] = isColor(canvas.fillStyle) ? canvas.fillStyle : "#808080";
  }
  probe.remove();
  return colors;
}
