// The panel next to the map: categories with their prices, best available, standing places, and the chosen seats.

import { remaining } from "./clock.js";
import { el, setText } from "./dom.js";
import { accessible, companion, restricted } from "./hall.js";
import { viewOf } from "./view.js";

export class Panel {
  /**
   * @param shop has `price(category)`, `total(seats, areas)`, `describe(seat)`, `color(category)`, `timeLeft()` in ms,
   * `most()`, `label(text)`, which no other part of the page has as its name, and `choice`: what can be chosen
   * @param on has `best(n, category key or "")`, `places(section, n)`, `remove(seat)` and `picked(category)`, of the legend
   */
  constructor(hall, seats, cart, shop, on, words) {
    this.hall = hall;
    this.seats = seats;
    this.cart = cart;
    this.shop = shop;
    this.on = on;
    this.words = words;
    this.node = el("div", { className: "panel", part: "panel" }, this.#legend(), this.#best(), this.#areas(), this.#cart());
    this.showChoice();
    this.show();
  }

  #isTyping = false; // a number of places

  #legend() {
    this.counts = this.hall.categories.map(() => el("span", { className: "soft" }));
    this.prices = this.hall.categories.map(() => el("span", { className: "price" }));
    this.swatches = this.hall.categories.map(() => el("span", { className: "swatch", "aria-hidden": "true" }));
    const has = (kind) => this.hall.kind.some((k) => k & kind);
    const shapes = this.words.shapes({ accessible: has(accessible), companion: has(companion), restricted: has(restricted) });
    const isSingle = this.hall.categories.length === 1;
    this.entries = this.hall.categories.map((c, i) => {
      const parts = [this.swatches[i], el("span", { className: "name", textContent: c.name }), this.prices[i], this.counts[i]];
      return isSingle ? el("span", {}, ...parts) : el("button", { type: "button", onclick: () => this.on.picked(i) }, ...parts);
    });
    return el("div", { part: "legend" }, el("ul", { className: "legend", "aria-label": this.words.legend }, ...this.entries.map((entry) => el("li", {}, entry))),
      this.hall.seats === 0 ? undefined : el("p", { className: "soft", "aria-hidden": "true", textContent: `${shapes}.` }),
      isSingle ? undefined : el("p", { className: "soft", textContent: this.words.legendHint }));
  }

  #best() {
    if (this.hall.seats === 0) return undefined;
    const { words } = this;
    const number = el("input", { type: "number", min: "1", value: String(Math.min(2, this.shop.most())), required: true });
    this.bestInput = number;
    const category = el("select", {});
    this.bestCategory = category;
    return el("form", { className: "best", part: "best", "aria-label": this.shop.label(words.best), onsubmit: (event) => {
      event.preventDefault();
      this.on.best(Number(number.value), category.value);
    } }, el("label", {}, el("span", { textContent: words.bestNumber }), number), el("label", {}, el("span", { textContent: words.bestCategory }), category),
    el("button", { className: "primary", textContent: words.bestButton }));
  }

  #areas() {
    this.areaInputs = new Map();
    const areas = this.hall.sections.filter((s) => s.capacity > 0);
    if (areas.length === 0) return undefined;
    return el("ul", { className: "areas", part: "areas" }, ...areas.map((s) => {
      const name = this.words.quantity(s.name);
      const n = el("input", { type: "number", min: "0", value: "0", "aria-label": name,
        oninput: () => { this.#isTyping = true; },
        onchange: () => {
          this.#isTyping = false;
          this.on.places(s, Math.max(0, Math.floor(Number(n.value)) || 0));
        } });
      const change = (by) => () => this.on.places(s, Math.max(0, (this.cart.areas.get(s.number) ?? 0) + by));
      const free = el("span", { className: "soft" });
      this.areaInputs.set(s.number, { n, free });
      return el("li", {}, el("span", { className: "name", textContent: s.name }), free, el("span", { className: "number" },
        el("button", { type: "button", textContent: "−", "aria-label": `${this.words.fewer}: ${s.name}`, onclick: change(-1) }), n,
        el("button", { type: "button", textContent: "+", "aria-label": `${this.words.more}: ${s.name}`, onclick: change(1) })), s.view && viewOf(s.view, this.words.viewFrom, s.name));
    }));
  }

  #cart() {
    this.title = el("h2", { textContent: this.words.yours, tabIndex: -1 });
    this.time = el("span", { className: "time", part: "time", role: "timer", "aria-live": "off" });
    this.list = el("ul", {});
    this.places = el("ul", {});
    this.none = el("p", { className: "soft", textContent: this.words.none });
    this.sum = el("p", { className: "total", part: "total", "aria-live": "polite" });
    return el("section", { className: "cart", part: "cart", "aria-label": this.shop.label(this.words.yours) }, el("div", { className: "head" }, this.title, this.time),
      this.none, this.list, this.places, this.sum);
  }

  /** focusArea brings the keyboard to the number of places in a section. */
  focusArea(section) {
    const { n } = this.areaInputs.get(section.number);
    n.focus();
    n.scrollIntoView({ block: "nearest" });
  }

  /** showChoice updates what can be chosen. */
  showChoice() {
    const { hall, words, shop: { choice } } = this;
    this.entries.forEach((entry, i) => {
      if (entry.tagName !== "BUTTON") return;
      entry.disabled = !choice.isSelectable(i);
      entry.setAttribute("aria-pressed", String(choice.isPicked(i)));
    });
    if (this.bestCategory !== undefined) {
      const { value } = this.bestCategory;
      const options = choice.seated.filter((i) => choice.allows(i)).map((i) => hall.categories[i]);
      this.bestCategory.form.hidden = options.length === 0;
      this.bestCategory.replaceChildren(...[{ key: "", name: words.anyCategory }, ...options].map((c) => el("option", { value: c.key, textContent: c.name })));
      this.bestCategory.value = options.some((c) => c.key === value) ? value : "";
    }
    for (const [number, { n }] of this.areaInputs) {
      const { category } = hall.sections[number];
      const li = n.closest("li");
      li.hidden = choice.isFaint(category) && !this.cart.areas.has(number);
      for (const control of li.querySelectorAll("button, input")) control.disabled = !choice.isSelectable(category) && !this.cart.areas.has(number);
    }
    this.showCounts();
  }

  /** show updates the whole panel. */
  show() {
    this.showCounts();
    const { cart, words } = this;
    const most = String(this.shop.most());
    for (const n of [this.bestInput, ...[...this.areaInputs.values()].map((area) => area.n)]) if (n !== undefined) n.max = most;
    this.hall.categories.forEach((c, i) => {
      setText(this.prices[i], this.shop.price(i));
      this.swatches[i].style.background = this.shop.color(i);
    });
    const focused = this.node.getRootNode().activeElement;
    for (const [number, { n }] of this.areaInputs) if (n !== focused || !this.#isTyping) n.value = String(cart.areas.get(number) ?? 0);
    const seats = [...cart.chosen].sort((a, b) => a - b);
    this.#showItems(this.list, seats, (seat) => ({ name: this.shop.describe(seat).name, isHeld: cart.held.has(seat), view: this.hall.viewOf(seat) }), (seat) => this.on.remove(seat));
    const areas = [...cart.areas.keys()].sort((a, b) => a - b);
    this.#showItems(this.places, areas, (n) => this.#place(n), (n) => this.on.places(this.hall.sections[n], 0));
    this.none.hidden = cart.size > 0;
    const total = this.shop.total(seats, cart.areas);
    setText(this.sum, cart.size === 0 ? "" : [words.seats(cart.size), total && words.total(total), cart.unheld > 0 && words.unheld(cart.unheld)].filter(Boolean).join(" · "));
    this.showTime();
  }

  // #showItems makes the items of a list those of some numbers, in their order. An item that stays keeps its node, and with it
  // the keyboard's focus; from one that goes, the focus moves to the first.
  #showItems(list, numbers, describe, remove) {
    const root = this.node.getRootNode();
    const hadFocus = list.contains(root.activeElement);
    const shown = new Map([...list.children].map((li) => [Number(li.dataset.number), li]));
    for (const [number, li] of shown) if (!numbers.includes(number)) li.remove();
    numbers.forEach((number, at) => {
      const { name, isHeld, view } = describe(number);
      const li = shown.get(number) ?? this.#item(number, remove, view && viewOf(view, this.words.viewFrom, name));
      if (list.children[at] !== li) list.insertBefore(li, list.children[at] ?? null);
      li.classList.toggle("held", isHeld);
      setText(li.firstChild, name);
      li.children[1].setAttribute("aria-label", this.words.remove(name));
    });
    if (hadFocus && !list.contains(root.activeElement)) (list.querySelector("button") ?? this.title).focus();
  }

  #item(number, remove, view) {
    const li = el("li", {}, el("span"), el("button", { type: "button", textContent: "×", onclick: () => remove(number) }), view);
    li.dataset.number = String(number);
    return li;
  }

  #place(n) {
    const places = this.cart.areas.get(n);
    return { name: this.words.area(this.hall.sections[n].name, places, this.shop.total([], [[n, places]])), isHeld: this.cart.areaIsHeld(n) };
  }

  /** isSoldOut reports whether a category, or a section with places to stand, was sold out when the counts were shown. */
  isSoldOut = false;

  showCounts() {
    const counts = this.seats.byCategory();
    const areas = [...this.areaInputs.keys()].map((number) => this.seats.available[number]);
    this.isSoldOut = [...counts, ...areas].includes(0);
    const { choice } = this.shop;
    const textOf = (n, category) => (!choice.isSelectable(category) ? this.words.notSelectable : n === 0 ? this.words.soldOut : this.words.free(n));
    counts.forEach((n, i) => setText(this.counts[i], textOf(n, i)));
    for (const [number, { free }] of this.areaInputs) setText(free, textOf(this.seats.available[number], this.hall.sections[number].category));
  }

  showTime() {
    const left = this.shop.timeLeft();
    setText(this.time, left === undefined ? "" : this.words.timeLeft(remaining(left)));
    this.time.classList.toggle("short", left !== undefined && left < 60_000);
  }
}
