// The second tab: the plan as a whole, with its categories, sections and floors.

import { el } from "../../../picker/src/dom.js";
import { palette } from "../../../picker/src/color.js";
import { addCategory, moveCategory, moveSection, partsOf, removeCategory, sectionRef, setCategory, setName } from "../edit.js";
import { Form, button } from "../fields.js";
import { capacityOf } from "../plan.js";
import { sectionForm } from "./things.js";

export class PlanTab {
  #open = undefined; // key of the section whose properties are shown
  #sectionForm = undefined;

  constructor(context) {
    this.context = context;
    const { drawing, words } = context;
    this.top = new Form();
    this.name = this.top.text(words.planName, () => drawing.plan.name, (name) => drawing.do(setName(drawing.plan, name.trim()), words.did.name), { maxLength: 200 });
    this.top.says(() => words.total(capacityOf(drawing.plan).total));
    this.categories = el("ul", { className: "list", "aria-label": words.categories });
    this.sections = el("ul", { className: "list", "aria-label": words.sections });
    const bottom = new Form();
    bottom.heading(words.categories).add(this.categories).buttons(button(words.addCategory, () => this.#addCategory()));
    bottom.heading(words.sections).add(this.sections);
    this.none = bottom.says(() => (drawing.plan.sections.length === 0 ? words.noSections : ""));
    this.bottom = bottom;
    this.details = el("div");
    this.node = el("div", {}, this.top.node, bottom.node, this.details);
  }

  focusName() { this.name.focus(); }

  #addCategory() {
    const { drawing, words } = this.context;
    const n = drawing.plan.categories.length;
    drawing.do(addCategory(drawing.plan, { name: words.newCategory(n + 1), color: palette[n % palette.length] }), words.did.category);
    const field = this.categories.lastElementChild.querySelector("input[type=text]");
    field.focus();
    field.select();
  }

  changed() {
    const { drawing } = this.context;
    this.top.refresh();
    this.bottom.refresh();
    if (this.shown !== drawing.plan) {
      this.shown = drawing.plan;
      this.#showCategories();
      this.#showSections();
    }
    this.#sectionForm?.refresh();
  }

  #showCategories() {
    const { drawing, words } = this.context;
    const { plan } = drawing;
    const count = capacityOf(plan).categories;
    keepFocus(this.categories, () => this.categories.replaceChildren(...plan.categories.map((c, i) => {
      const change = (changes) => drawing.do(setCategory(drawing.plan, c.key, changes), words.did.category);
      const others = plan.categories.filter((o) => o !== c);
      return el("li", {},
        el("input", { type: "color", value: c.color ?? palette[i % palette.length], "aria-label": `${words.color}: ${c.name}`, onchange: (e) => change({ color: e.target.value }) }),
        el("input", { type: "text", value: c.name, maxLength: 200, "aria-label": `${words.category} ${i + 1}`, onchange: (e) => this.#renameCategory(c, i, e.target.value.trim()) }),
        el("span", { className: "number soft", textContent: (count.get(c.key) ?? 0).toLocaleString("en") }),
        button("↑", () => drawing.do(moveCategory(drawing.plan, c.key, i - 1), words.did.category), { "aria-label": words.better(c.name), disabled: i === 0 }),
        button("×", () => drawing.do(removeCategory(drawing.plan, c.key, others[0].key), words.did.category), { "aria-label": words.remove(c.name), disabled: others.length === 0 }));
    })));
  }

  // #renameCategory gives a category that is new a key of its name, too.
  #renameCategory(category, index, name) {
    const { drawing, words } = this.context;
    const { plan } = drawing;
    if (name === "" || name === category.name) return this.#showCategories();
    if (drawing.keptKeys.has(`category:${category.key}`)) return drawing.do(setCategory(plan, category.key, { name }), words.did.category);
    const added = addCategory(plan, { name, color: category.color });
    const { key } = added.categories.at(-1);
    return drawing.do(moveCategory(removeCategory(added, category.key, key), key, index), words.did.category);
  }

  #showSections() {
    const { drawing, words, board, toolbox } = this.context;
    const { plan } = drawing;
    const count = capacityOf(plan).sections;
    if (!plan.sections.some((s) => s.key === this.#open)) this.#showDetails(undefined);
    keepFocus(this.sections, () => this.sections.replaceChildren(...plan.sections.map((s, i) => el("li", {},
      el("button", {
        type: "button", className: "name", "aria-label": words.selectAllOf(s.name), textContent: s.name, onclick: () => {
          this.#showDetails(s.key);
          toolbox.chooseKeeping("select");
          drawing.select(s.rows ? partsOf(plan, new Set([sectionRef(s.key)])).seats : [sectionRef(s.key)]);
          const section = board.hall.sectionByKey.get(s.key);
          if (section !== undefined) board.show(section.box);
        },
      }),
      el("span", { className: "number soft", textContent: (count.get(s.key) ?? 0).toLocaleString("en") }),
      button("↑", () => drawing.do(moveSection(drawing.plan, s.key, i - 1), words.did.section), { "aria-label": words.earlier(s.name), disabled: i === 0 })))));
  }

  #showDetails(key) {
    if (this.#open === key) return;
    this.#open = key;
    this.#sectionForm = key === undefined ? undefined : sectionForm(this.context, key, (to) => { this.#open = to; });
    this.details.replaceChildren(...this.#sectionForm === undefined ? [] : [this.#sectionForm.node]);
  }
}

// keepFocus gives the focus back to the control with the same name in a list that is replaced.
function keepFocus(list, work) {
  const active = list.getRootNode().activeElement;
  const label = list.contains(active) ? active.getAttribute("aria-label") : undefined;
  work();
  if (label === undefined) return;
  const same = [...list.querySelectorAll("[aria-label]")].find((node) => node.getAttribute("aria-label") === label);
  (same ?? list.querySelector("input, button"))?.focus();
}

