// The report of an event: its seats by their state, also by section and category, as a table and as a file.

import { call } from "../api.js";
import { el } from "../dom.js";
import { eventLink } from "./format.js";
import { card, load, table } from "./parts.js";
import { setTitle } from "./router.js";

export async function reportPage(page) {
  setTitle("Report");
  await load(page, page.root, () => call("GET", `/api/events/${page.id}/report?format=csv`), (csv) => {
    const [header, ...rows] = csv.trim().split("\n").map((line) => line.split(",")); // no value has quotes
    const file = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
    page.signal.addEventListener("abort", () => URL.revokeObjectURL(file));
    const again = el("button", { type: "button", textContent: "Count again", onclick: () => {
      page.root.replaceChildren();
      reportPage(page);
    } });
    const download = el("a", { className: "button", href: file, download: `report-${page.id}.csv`, textContent: "Download as CSV" });
    const columns = header.map((name, n) => ({
      name: name[0].toUpperCase() + name.slice(1), right: n > 2, cell: (row) => (n === 1 && row[0] === "event" ? eventLink(row[n]) : row[n]),
    }));
    page.root.append(card("Report", [again, download], table("Seats by their state", columns, rows)));
  });
}
