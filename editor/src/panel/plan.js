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
  #categoryItems = [];
  #sectionItems = [];

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
    const { categories } = this.context.drawing.plan;
    const count = capacityOf(this.context.drawing.plan).categories;
    this.#categoryItems = showItems(this.categories, this.#categoryItems, categories, (i) => this.#categoryItem(i), (c) => count.get(c.key));
  }

  #categoryItem(i) {
    const { drawing, words } = this.context;
    const category = () => drawing.plan.categories[i];
    const change = (changes) => drawing.do(setCategory(drawing.plan, category().key, changes), words.did.category);
    const color = el("input", { type: "color", onchange: () => change({ color: color.value }) });
    const name = el("input", {
      type: "text", maxLength: 200, "aria-label": `${words.category} ${i + 1}`, onchange: () => this.#renameCategory(category(), i, name.value.trim()),
    });
    const number = el("span", { className: "number soft" });
    const up = button("↑", () => drawing.do(moveCategory(drawing.plan, category().key, i - 1), words.did.category), { disabled: i === 0 });
    const remove = button("×", () => {
      const [into] = drawing.plan.categories.filter((c) => c !== category());
      drawing.do(removeCategory(drawing.plan, category().key, into.key), words.did.category);
    });
    const show = (c, seats = 0) => {
      if (name.value !== c.name) name.value = c.name;
      color.value = c.color ?? palette[i % palette.length];
      number.textContent = seats.toLocaleString("en");
      remove.disabled = drawing.plan.categories.length === 1;
      for (const [node, label] of [[color, `${words.color}: ${c.name}`], [up, words.better(c.name)], [remove, words.remove(c.name)]]) node.setAttribute("aria-label", label);
    };
    return { node: el("li", {}, color, name, number, up, remove), show };
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
    const { sections } = this.context.drawing.plan;
    const count = capacityOf(this.context.drawing.plan).sections;
    if (!sections.some((s) => s.key === this.#open)) this.#showDetails(undefined);
    this.#sectionItems = showItems(this.sections, this.#sectionItems, sections, (i) => this.#sectionItem(i), (s) => count.get(s.key));
  }

  #sectionItem(i) {
    const { drawing, words } = this.context;
    const section = () => drawing.plan.sections[i];
    const name = button("", () => this.#choose(section()), { className: "name" });
    const number = el("span", { className: "number soft" });
    const up = button("↑", () => drawing.do(moveSection(drawing.plan, section().key, i - 1), words.did.section), { disabled: i === 0 });
    const show = (s, seats = 0) => {
      name.textContent = s.name;
      number.textContent = seats.toLocaleString("en");
      name.setAttribute("aria-label", words.selectAllOf(s.name));
      up.setAttribute("aria-label", words.earlier(s.name));
    };
    return { node: el("li", {}, name, number, up), show };
  }

  // #choose selects a section, and shows its properties.
  #choose({ key, rows }) {
    const { drawing, board, toolbox } = this.context;
    this.#showDetails(key);
    toolbox.chooseKeeping("select");
    drawing.select(rows ? partsOf(drawing.plan, new Set([sectionRef(key)])).seats : [sectionRef(key)]);
    const section = board.hall.sectionByKey.get(key);
    if (section !== undefined) board.show(section.box);
  }

  #showDetails(key) {
    if (this.#open === key) return;
    this.#open = key;
    this.#sectionForm = key === undefined ? undefined : sectionForm(this.context, key, (to) => { this.#open = to; });
    this.details.replaceChildren(...this.#sectionForm === undefined ? [] : [this.#sectionForm.node]);
  }
}

// showItems shows values in a list. As many items as before stay in place: what is pressed while a field is being left is still there,
// and gets the focus or the click.
function showItems(list, items, values, make, count) {
  const active = list.getRootNode().activeElement;
  const label = list.contains(active) ? active.getAttribute("aria-label") : undefined;
  const shown = values.map((_, i) => items[i] ?? make(i));
  shown.forEach(({ show }, i) => show(values[i], count(values[i])));
  if (shown.length !== items.length) list.replaceChildren(...shown.map(({ node }) => node));
  if (label === undefined) return shown;
  const same = [...list.querySelectorAll("[aria-label]")].find((node) => node.getAttribute("aria-label") === label);
  (same ?? list.querySelector("input, button"))?.focus();
  return shown;
}
