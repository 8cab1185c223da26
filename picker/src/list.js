// The same seats as a list: sections, their rows, their seats. It is built as it is opened. The seats of a section are a
// grid with one stop of the Tab key, in which the arrow keys move.
//
// This file is loaded when the list is opened. It imports nothing: what it shared with the rest of the map would be one more file for all pages.

const rowsAtOnce = 30;

export class SeatList {
  #buttons = new Map(); // by seat
  #summaries = new Map(); // by section
  #open = new Set();
  #focused; // the seat that has the focus, or had it last: its name has its warning

  /** @param look has `describe(seat)`, `warning(seat)`, `describeSection(section)`, `isFaintSection(section)`; @param on has `seat(seat)`, `area(section)`, `moved(sections)`, `left()`; @param {any} shared has `el`, `setText` and `rowName` */
  constructor(hall, look, on, words, shared) {
    this.el = shared.el;
    this.setText = shared.setText;
    this.rowName = shared.rowName;
    this.hall = hall;
    this.look = look;
    this.on = on;
    this.words = words;
    this.node = this.el("div", { className: "list", part: "list", hidden: true, role: "group", "aria-label": words.list, "aria-describedby": "help",
      onkeydown: (event) => this.#leave(event) },
      ...hall.sections.map((s) => this.#section(s)));
    this.changed([], hall.sections);
  }

  /** sections are the open sections. */
  get sections() { return [...this.#open]; }

  changed(seats, sections) {
    for (const i of seats) this.#show(i);
    if (this.#focused !== undefined) this.#show(this.#focused); // its neighbours decide on its warning
    for (const s of sections) {
      const summary = this.#summaries.get(s);
      this.setText(summary, this.look.describeSection(s));
      summary.closest("details, .area").hidden = this.look.isFaintSection(s);
    }
  }

  /** all updates every button. */
  all() {
    this.changed(this.#buttons.keys(), this.hall.sections);
  }

  #section(s) {
    const summary = this.el("span", { textContent: this.look.describeSection(s) });
    this.#summaries.set(s, summary);
    if (s.capacity > 0) {
      return this.el("div", { className: "area" }, this.el("button", { type: "button", onclick: () => this.on.area(s) }, summary));
    }
    const rows = this.el("div", { role: "grid", "aria-label": s.name, onkeydown: (event) => this.#key(event, rows),
      onfocusin: ({ target }) => this.#stopAt(rows, target) });
    const details = this.el("details", { ontoggle: () => {
      if (details.open) this.#open.add(s);
      else this.#open.delete(s);
      if (details.open && rows.children.length === 0) this.#addRows(s, rows, 0);
      this.on.moved(this.sections);
    } }, this.el("summary", {}, summary), rows);
    return details;
  }

  // #leave moves among the sections, from a seat to its section, and out of the list: there may be more than the Tab key is
  // quick enough for.
  #leave(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const heads = [...this.node.querySelectorAll("summary, .area > button")].filter((head) => head.checkVisibility());
    const at = heads.indexOf(event.target);
    if (event.key === "Escape") at < 0 ? event.target.closest("details")?.querySelector("summary").focus() : this.on.left();
    else {
      const to = at < 0 ? undefined : { ArrowUp: heads[at - 1], ArrowDown: heads[at + 1], Home: heads[0], End: heads.at(-1) }[event.key];
      if (to === undefined) return;
      to.focus();
    }
    event.preventDefault();
    event.stopPropagation();
  }

  #addRows(s, grid, from) {
    const rows = s.rows.slice(from, from + rowsAtOnce);
    for (const row of rows) {
      const seats = this.el("span", { className: "seats", role: "presentation" });
      for (let i = row.first; i < row.end; i++) seats.append(this.el("span", { role: "gridcell" }, this.#seat(i)));
      grid.append(this.el("div", { className: "row", role: "row" }, this.el("span", { className: "label", role: "rowheader", textContent: this.words.row(this.rowName(row.label)) }), seats));
    }
    if (from === 0) this.#stopAt(grid, grid.querySelector("button"));
    const next = from + rows.length;
    if (next === s.rows.length) return;
    const more = this.el("button", { type: "button", textContent: this.words.moreRows, onclick: () => {
      more.remove();
      this.#addRows(s, grid, next);
      grid.children[next].querySelector("button")?.focus();
    } });
    grid.after(more);
  }

  // #stopAt makes a seat the one that the Tab key stops at.
  #stopAt(grid, button) {
    for (const other of grid.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    if (button !== null) button.tabIndex = 0;
  }

  // #key moves in a row by its ends and the arrows, and to the seat of the next row that is nearest on the screen.
  #key(event, grid) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.target.tagName !== "BUTTON") return;
    const row = event.target.closest(".row");
    const seats = [...row.querySelectorAll("button")];
    const at = seats.indexOf(event.target);
    const forward = getComputedStyle(row).direction === "rtl" ? -1 : 1;
    const nearest = (rowAt) => {
      const left = (b) => b.getBoundingClientRect().left;
      const far = (b) => Math.abs(left(b) - left(event.target));
      return [...(rowAt?.querySelectorAll("button") ?? [])].reduce((a, b) => (a === undefined || far(b) < far(a) ? b : a), undefined);
    };
    const to = {
      ArrowLeft: () => seats[at - forward], ArrowRight: () => seats[at + forward], Home: () => seats[0], End: () => seats.at(-1),
      ArrowUp: () => nearest(row.previousElementSibling), ArrowDown: () => nearest(row.nextElementSibling),
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    to()?.focus();
  }

  #seat(i) {
    const button = this.el("button", { type: "button", textContent: this.hall.labels[i], tabIndex: -1, onclick: () => this.on.seat(i), onfocus: () => this.#focus(i) });
    this.#buttons.set(i, button);
    this.#show(i);
    return button;
  }

  // #focus puts the warning into the name of the seat, as on the map: it is said before the seat is chosen.
  #focus(seat) {
    const last = this.#focused;
    this.#focused = seat;
    for (const i of [last, seat]) if (i !== undefined) this.#show(i);
  }

  #show(i) {
    const button = this.#buttons.get(i);
    if (button === undefined) return;
    const { text, isPressed, isBarred, color } = this.look.describe(i);
    const name = [text, i === this.#focused && this.look.warning(i)].filter(Boolean).join(". ");
    if (button.getAttribute("aria-label") !== name) button.setAttribute("aria-label", name);
    button.setAttribute("aria-pressed", String(isPressed ?? false));
    if (isBarred) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
    button.style.setProperty("--_seat", color);
  }
}
