// The report of an event: its seats by their state, also by section and category, as a table and as a file.

import { call } from "../api.js";
import { el, whileOff } from "../dom.js";
import { eventLink } from "./format.js";
import { card, load, table } from "./parts.js";
import { setTitle } from "./router.js";

export async function reportPage(page) {
  setTitle("Report");
  const again = el("button", { type: "button", textContent: "Count again", onclick: () => whileOff(again, count) });
  const download = el("a", { className: "button", hidden: true, download: `report-${page.id}.csv`, textContent: "Download as CSV" });
  const forgetFile = () => URL.revokeObjectURL(download.href);
  page.signal.addEventListener("abort", forgetFile);
  const body = el("div");
  page.root.append(card("Report", [again, download], body));
  const count = () => load(page, body, () => call("GET", `/api/events/${page.id}/report?format=csv`), (csv) => {
    const [header, ...rows] = csv.trim().split("\n").map((line) => line.split(",")); // no value has quotes
    forgetFile();
    download.href = URL.createObjectURL(new Blob([csv], { type: "text/csv" }));
    download.hidden = false;
    const columns = header.map((name, n) => ({
      name: name[0].toUpperCase() + name.slice(1), right: n > 2, cell: (row) => (n === 1 && row[0] === "event" ? eventLink(row[n]) : row[n]),
    }));
    body.replaceChildren(table("Seats by their state", columns, rows));
  });
  await count();
}
