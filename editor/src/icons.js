// Pictures of the tools: lines in a square of 20.

const paths = {
  select: "M5 3 L15 11 L10.5 11.7 L13 16.5 L11 17.5 L8.6 12.7 L5 15.5 Z",
  pan: "M10 2 V18 M2 10 H18 M7.5 4.5 L10 2 L12.5 4.5 M7.5 15.5 L10 18 L12.5 15.5 M4.5 7.5 L2 10 L4.5 12.5 M15.5 7.5 L18 10 L15.5 12.5",
  block: "M4 4 h.01 M8 4 h.01 M12 4 h.01 M16 4 h.01 M4 8 h.01 M8 8 h.01 M12 8 h.01 M16 8 h.01 M4 12 h.01 M8 12 h.01 M12 12 h.01 M16 12 h.01 M4 16 h.01 M8 16 h.01 M12 16 h.01 M16 16 h.01",
  row: "M3 10 h.01 M6.5 10 h.01 M10 10 h.01 M13.5 10 h.01 M17 10 h.01",
  curve: "M2.5 7 h.01 M5.5 10.5 h.01 M10 12 h.01 M14.5 10.5 h.01 M17.5 7 h.01",
  table: "M6.5 10 a3.5 3.5 0 1 0 7 0 a3.5 3.5 0 1 0 -7 0 M10 3 h.01 M10 17 h.01 M3 10 h.01 M17 10 h.01 M5 5 h.01 M15 5 h.01 M5 15 h.01 M15 15 h.01",
  seat: "M10 10 h.01 M15 4 v4 M13 6 h4",
  area: "M3 6 L10 3 L17 7 L15 16 L5 17 Z",
  stage: "M3 5 H17 V11 H3 Z M5 15 H15",
  room: "M3 4 H17 V9 H11 V16 H3 Z",
  wall: "M3 16 L8 5 L17 9",
  text: "M4 5 V4 H16 V5 M10 4 V16 M8 16 H12",
  icon: "M10 2.5 a6 6 0 0 1 6 6 c0 4 -6 9 -6 9 s-6 -5 -6 -9 a6 6 0 0 1 6 -6 M10 6.5 v4 M8 8.5 h4",
  focal: "M10 4 a6 6 0 1 0 .01 0 M10 1.5 V6 M10 14 V18.5 M1.5 10 H6 M14 10 H18.5",
  picture: "M3 4 H17 V16 H3 Z M3 14 L8 9 L12 13 L14 11 L17 14 M13.5 7.5 h.01",
};

const thick = new Set(["block", "row", "curve"]); // dots

/** icon draws a tool's picture. */
export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 20 20");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", paths[name]);
  path.setAttribute("class", thick.has(name) ? "dots" : name === "table" || name === "seat" ? "mixed" : "");
  svg.append(path);
  return svg;
}
