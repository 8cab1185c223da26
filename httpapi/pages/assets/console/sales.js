// Sales over time, as a chart and as a table.

import { call } from "../api.js";
import { el } from "../dom.js";
import { count, number } from "./format.js";
import { card, field, load, select, table } from "./parts.js";

const hour = 3_600_000; // ms
const units = {
  hour: { length: hour, shown: 7 * 24, text: (at) => `${at.slice(0, 10)} ${at.slice(11, 13)}:00` },
  day: { length: 24 * hour, shown: 366, text: (at) => at.slice(0, 10) },
};

export function salesCard(page, event) {
  const by = select("by", "day", [["day", "by day, of a year"], ["hour", "by hour, of a week"]]);
  const body = el("div", { className: "stack" });
  const read = (unit) => call("GET", `/api/admin/events/${event.id}/sales?by=${unit}`);
  const show = () => load(page, body, read.bind(null, by.value), (sales) => body.replaceChildren(...report(sales)));
  by.addEventListener("change", show);
  show();
  return card("Sales over time", [field("Show", by)], body);
}

function report(sales) {
  const sold = sales.buckets.reduce((n, b) => n + b.seats, 0);
  const { text } = units[sales.by];
  const note = sales.isCut ? " Older sales are left out: only the newest 500,000 are read." : "";
  const says = el("p", { className: "soft small", textContent: `${count(sold, "seat")} sold, by the UTC time at which the customer locked them.${note}` });
  if (sales.buckets.length === 0) return [says];
  return [says, ...chart(sales), el("details", {}, el("summary", { className: "small", textContent: "As a table" }), table("Sales", [
    { name: sales.by === "day" ? "Day" : "Hour", cell: (b) => text(b.start) },
    { name: "Sales", right: true, cell: (b) => number(b.locks) },
    { name: "Seats", right: true, cell: (b) => number(b.seats) },
  ], [...sales.buckets].reverse()))];
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const fewest = 12; // bars, so that one is not as wide as the page

// chart draws a bar for each hour or day from the first sale to now, and says when these were.
function chart(sales) {
  const { length, shown, text } = units[sales.by];
  const start = Date.parse(sales.buckets[0].start);
  const n = Math.max(fewest, Math.min(shown + 1, Math.floor((Date.parse(sales.until) - start) / length) + 1));
  const most = Math.max(1, ...sales.buckets.map((b) => b.seats));
  const bars = sales.buckets.map((b) => {
    const title = svg("title", {}, `${text(b.start)}: ${count(b.seats, "seat")}`);
    const at = n - 1 - Math.floor((Date.parse(sales.until) - Date.parse(b.start)) / length); // the last bar is at the right
    return svg("rect", { x: at + 0.05, y: 100 - (100 * b.seats) / most, width: 0.9, height: (100 * b.seats) / most }, title);
  });
  const first = new Date(Date.parse(sales.until) - (n - 1) * length).toISOString();
  const label = `From ${text(first)} to ${text(sales.until)}, at most ${count(most, "seat")} in ${sales.by === "day" ? "a day" : "an hour"}`;
  return [svg("svg", { class: "chart", viewBox: `0 0 ${n} 100`, preserveAspectRatio: "none", role: "img", "aria-label": label }, ...bars),
    el("p", { className: "axis soft small" }, el("span", { textContent: text(first) }), el("span", { textContent: `highest bar: ${count(most, "seat")}` }), el("span", { textContent: text(sales.until) }))];
}
