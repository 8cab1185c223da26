// The same seats as a list: sections, their rows, their seats. It is built as it is opened.

import { el, setText } from "./dom.js";

const rowsAtOnce = 30;

export class SeatList {
  #buttons = new Map(); // by seat
  #summaries = new Map(); // by section
  #open = new Set();

  /** @param look has `describe(seat)`, `describeSection(section)`; @param on has `seat(seat)`, `area(section)`, `moved(sections)` */
  constructor(hall, look, on, words) {
    Object.assign(this, { hall, look, on, words });
    this.node = el("div", { className: "list", part: "list", hidden: true, role: "group", "aria-label": words.list },
      ...hall.sections.map((s) => this.#section(s)));
  }

  /** sections are those that are open. */
  get sections() { return [...this.#open]; }

  changed(seats, sections) {
    for (const i of seats) this.#show(i);
    for (const s of sections) setText(this.#summaries.get(s), this.look.describeSection(s));
  }

  /** all shows each button anew. */
  all() {
    this.changed(this.#buttons.keys(), this.hall.sections);
  }

  #section(s) {
    const summary = el("span", { textContent: this.look.describeSection(s) });
    this.#summaries.set(s, summary);
    if (s.capacity > 0) {
      return el("div", { className: "area" }, el("button", { type: "button", onclick: () => this.on.area(s) }, summary));
    }
    const rows = el("ul", {});
    const details = el("details", { ontoggle: () => {
      if (details.open) this.#open.add(s);
      else this.#open.delete(s);
      if (details.open && rows.children.length === 0) this.#addRows(s, rows, 0);
      this.on.moved(this.sections);
    } }, el("summary", {}, summary), rows);
    return details;
  }

  #addRows(s, list, from) {
    const rows = s.rows.slice(from, from + rowsAtOnce);
    for (const row of rows) {
      const seats = el("div", { className: "row", role: "group", "aria-label": this.words.row(row.label) });
      for (let i = row.first; i < row.end; i++) seats.append(this.#seat(i));
      list.append(el("li", {}, el("span", { className: "label", textContent: this.words.row(row.label), "aria-hidden": "true" }), seats));
    }
    const next = from + rows.length;
    if (next === s.rows.length) return;
    const more = el("li", {}, el("button", { type: "button", textContent: this.words.moreRows, onclick: () => {
      more.remove();
      this.#addRows(s, list, next);
      list.children[next].querySelector("button")?.focus();
    } }));
    list.append(more);
  }

  #seat(i) {
    const button = el("button", { type: "button", textContent: this.hall.labels[i], onclick: () => this.on.seat(i) });
    this.#buttons.set(i, button);
    this.#show(i);
    return button;
  }

  #show(i) {
    const button = this.#buttons.get(i);
    if (button === undefined) return;
    const { text, isPressed, isTaken, color } = this.look.describe(i);
    if (button.getAttribute("aria-label") !== text) button.setAttribute("aria-label", text);
    button.setAttribute("aria-pressed", String(isPressed ?? false));
    if (isTaken) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
    button.style.setProperty("--_seat", color);
  }
}
