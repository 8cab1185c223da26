// The labels of rows, which are written next to their ends.

import { Grid } from "./grid.js";

const from = 11; // pixels between two seats, from which on they are written
const least = 9; // pixels of their letters

/** rowName is a row's label without the word for a row, which some plans have in it: each language has its own. */
export const rowName = (label) => label.replace(/^(row|reihe|rang|fila|fileira|rij|rząd)\s+/i, "");

/** rowLabelSize is the size of their letters at a scale; 0: they are not written. */
export function rowLabelSize({ hall, ratio }, { scale }) {
  const apart = hall.spacing * scale;
  return apart < from * ratio ? 0 : Math.max(0.42 * apart, least * ratio);
}

const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

/** rowLabels are at both ends of each row, outside, and in the middle of a table, where no seat is. */
export function rowLabels(hall) {
  const labels = [];
  for (const row of hall.rows) {
    const { first, end, label, section } = row;
    const put = (x, y, text) => { if (hall.grid.nearest(x, y, 0.95 * hall.spacing) < 0) labels.push({ x, y, text, section }); };
    if (row.adjacency === "ALL") {
      put(mean(hall.x.subarray(first, end)), mean(hall.y.subarray(first, end)), label.split(" ").at(-1));
      continue;
    }
    const nextTo = (i, j) => {
      const far = Math.hypot(hall.x[i] - hall.x[j], hall.y[i] - hall.y[j]);
      const f = far > 0 ? hall.spacing / far : 0;
      put(hall.x[i] + (f === 0 ? -hall.spacing : (hall.x[i] - hall.x[j]) * f), hall.y[i] + (hall.y[i] - hall.y[j]) * f, rowName(label));
    };
    if (end > first) nextTo(first, Math.min(first + 1, end - 1));
    if (end - first > 1) nextTo(end - 1, end - 2);
  }
  return { labels, grid: new Grid(Float64Array.from(labels, (l) => l.x), Float64Array.from(labels, (l) => l.y), hall.box, hall.spacing * 8) };
}
