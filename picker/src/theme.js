import { el } from "./dom.js";

/**
 * colorsOf are the colours that custom properties have in an element, as the painter needs them: #rrggbb by name, and
 * the font. A page may give any colour of CSS. The background comes first: others may let it through.
 */
export function colorsOf(root, properties) {
  const probe = el("span", { hidden: true });
  probe.style.forcedColorAdjust = "none"; // where the system forces its colors, the properties have them
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  root.append(probe);
  const colors = { font: getComputedStyle(root).fontFamily };
  for (const [name, property] of Object.entries(properties)) {
    probe.style.color = `var(${property})`;
    for (const color of [colors.background ?? "#ffffff", getComputedStyle(probe).color]) { // it may be translucent
      canvas.fillStyle = color;
      canvas.fillRect(0, 0, 1, 1);
    }
    const [r, g, b] = canvas.getImageData(0, 0, 1, 1).data;
    colors[name] = `#${[r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("")}`;
  }
  probe.remove();
  return colors;
}
