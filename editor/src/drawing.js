// What is being drawn: the plan with its history, what is selected, and the tool in use. It knows nothing of the screen.

import { History } from "./history.js";
import { emptyPlan, fromServer, idsOf, sectionByKey } from "./plan.js";
import { everything, follow, sectionRef } from "./select.js";

const standards = {
  grid: 0.5, // units of the plan
  snaps: true, showsGrid: true,
  spacing: 1, rowSpacing: 1, // between new seats
  category: undefined, // of new seats; undefined: the first
  section: "", // of new rows; "": a new one
};

/** Drawing calls its listeners after each change of the plan, the selection, the tool or an option. */
export class Drawing {
  #listeners = [];
  #selection = new Set();
  #isTelling = false;
  tool = undefined;
  floor = undefined; // that is shown; undefined: all
  options = { ...standards };
  clipboard = undefined;

  constructor() {
    this.open(emptyPlan());
  }

  get plan() { return this.history.plan; }
  get selection() { return this.#selection; }

  /**
   * open begins with a plan. IDs of seats of a plan that the server has are kept for ever, and so are the keys of its categories and
   * sections, by which shops and events know them. kept and keptKeys are those of a plan that is continued.
   */
  open(plan, { isStored = false, isNew = false, kept, keptKeys } = {}) {
    const written = isNew ? plan : fromServer(plan);
    this.history = new History(written);
    this.kept = new Set(kept ?? (isStored ? idsOf(written) : []));
    this.keptKeys = new Set(keptKeys ?? (isStored ? [...written.categories.map((c) => `category:${c.key}`), ...written.sections.map((s) => sectionRef(s.key))] : []));
    this.#selection = new Set();
    this.floor = undefined;
    this.options = { ...standards };
    this.tell();
  }

  /** state is what open replaces, and restore brings back. */
  get state() { return { history: this.history, kept: this.kept, keptKeys: this.keptKeys }; }

  restore(state) {
    this.tool?.cancel?.();
    Object.assign(this, state);
    this.#selection = new Set();
    this.floor = undefined;
    this.tell();
  }

  onChange(listener) { this.#listeners.push(listener); }

  tell() {
    if (this.#isTelling) return;
    if (this.floor !== undefined && !this.floors.includes(this.floor)) this.floor = undefined; // as after undo
    this.#isTelling = true;
    try {
      for (const listener of this.#listeners) listener(this);
    } finally {
      this.#isTelling = false;
    }
  }

  /** do makes another plan the current one; select is what is selected then. Steps with the same merge become one. */
  do(plan, name, { select, merge } = {}) {
    const before = this.plan;
    this.history.do(plan, name, merge);
    this.#selection = new Set(select ?? follow(before, plan, this.#selection));
    this.tell();
  }

  undo() { this.#goTo(() => this.history.undo()); }
  redo() { this.#goTo(() => this.history.redo()); }

  #goTo(step) {
    const before = this.plan;
    step();
    this.tool?.cancel?.();
    this.#selection = follow(before, this.plan, this.#selection);
    this.tell();
  }

  select(refs) {
    this.history.settle();
    this.#selection = new Set(refs);
    this.tell();
  }

  setTool(tool) {
    this.tool?.leave?.();
    this.history.settle();
    this.tool = tool;
    this.tell();
  }

  set(options) {
    Object.assign(this.options, options);
    this.tell();
  }

  /** showFloor shows one floor, or all. What is hidden is not selected. */
  showFloor(floor) {
    this.floor = floor;
    const shown = everything(this.plan, floor);
    this.select([...this.#selection].filter((ref) => shown.has(ref)));
  }

  get floors() { return [...new Set(this.plan.sections.map((s) => s.floor ?? ""))]; }

  /** category is that of new seats. */
  get category() {
    const { category } = this.options;
    return this.plan.categories.some((c) => c.key === category) ? category : this.plan.categories[0]?.key;
  }

  /** section is that of new rows; undefined: a new one. */
  get section() {
    const section = sectionByKey(this.plan, this.options.section);
    return section?.rows === undefined ? undefined : section;
  }

  /** snap is the point of the grid that is nearest, if the grid is on. With Alt a point stays where it is. */
  snap({ x, y, alt = false }) {
    const { snaps, grid } = this.options;
    if (!snaps || alt) return { x, y };
    return { x: Math.round(x / grid) * grid, y: Math.round(y / grid) * grid };
  }
}
