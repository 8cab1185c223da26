// The part of a page that shows the waiting list of an event: the form to join it, and the customer's entry.

import { remaining } from "./clock.js";
import { el, setText } from "./dom.js";

export class WaitingBox {
  /**
   * @param kinds what a customer can wait for, as [key, name, wish]; keys are those of keyOf. The first is the default; a single one has no field
   * @param label is a function of a text: a name that no other part of the page has
   * @param on has `join(seats, wish)`, `leave()` and `instead()`, to have the offered seats in place of others
   */
  constructor(kinds, label, on, words) {
    this.kinds = kinds;
    this.on = on;
    this.words = words;
    const button = (text, onclick) => el("button", { type: "button", textContent: text, onclick: () => this.#act(onclick) });
    this.text = el("p");
    this.number = el("input", { type: "number", min: "1", value: "1", required: true });
    this.kind = el("select", {}, ...kinds.map(([key, name]) => el("option", { value: key, textContent: name })));
    this.hint = el("p", { className: "soft", textContent: words.waitHint });
    this.form = el("form", { className: "best fields", "aria-label": label(words.join), onsubmit: (event) => {
      event.preventDefault();
      this.#act(() => on.join(Number(this.number.value), this.#wish()));
    } }, el("label", {}, el("span", { textContent: words.waitNumber }), this.number),
    kinds.length > 1 ? el("label", {}, el("span", { textContent: words.waitFor }), this.kind) : undefined,
    el("button", { className: "primary", textContent: words.join }));
    this.instead = button(words.instead, on.instead);
    this.leave = button("", on.leave);
    this.title = el("h2", { textContent: words.waitlist, tabIndex: -1 });
    this.time = el("span", { className: "time", role: "timer", "aria-live": "off" });
    this.node = el("section", { className: "wait", part: "waitlist", "aria-label": label(words.waitlist), hidden: true },
      el("div", { className: "head" }, this.title, this.time), this.text, this.hint, this.form, el("div", { className: "buttons" }, this.instead, this.leave));
  }

  /** fill sets the form to what was asked for in vain: a number of seats, and the options of a best available wish. */
  fill(seats, wish) {
    this.number.value = String(seats);
    const key = keyOf(wish);
    if (this.kinds.some(([k]) => k === key)) this.kind.value = key;
    this.#asked = { key: this.kind.value, wish };
  }

  #asked = undefined;

  // #wish is what the customer waits for: what was asked for before, with its other options, or what is chosen now.
  #wish() {
    if (this.#asked?.key === this.kind.value) return this.#asked.wish;
    return this.kinds.find(([key]) => key === this.kind.value)?.[2] ?? {};
  }

  #isBusy = false;

  // #act runs one action at a time. The focus stays in the box: what had it may be hidden afterwards.
  async #act(work) {
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      await work();
    } finally {
      this.#isBusy = false;
    }
  }

  /**
   * show shows a Waitlist. mayJoin: it takes entries, and seats are gone. most: seats of an entry. isPaying: the customer's seats are being paid, and an offer
   * can't be declined. isHeld: the offered seats are held, not others.
   */
  show({ entry, isWaiting, isOffered, left }, { mayJoin, most, isPaying, isHeld }) {
    const { words } = this;
    const isOpen = isOffered && left !== 0;
    this.number.max = String(most);
    setText(this.text, this.textOf(entry, left));
    setText(this.time, isOpen && left !== undefined ? words.offerEnds(remaining(left)) : "");
    const root = this.node.getRootNode();
    const focused = this.node.contains(root.activeElement) ? root.activeElement : undefined;
    this.text.hidden = this.text.textContent === "";
    this.form.hidden = this.hint.hidden = !mayJoin || isWaiting || isOffered;
    this.instead.hidden = !isOpen || left === undefined || isHeld || isPaying;
    this.leave.hidden = !isWaiting && (!isOpen || isPaying);
    setText(this.leave, isOffered ? words.decline : words.leave);
    this.node.hidden = this.text.hidden && this.form.hidden;
    if (focused?.checkVisibility() === false && !this.node.hidden) this.title.focus({ preventScroll: true });
  }

  /** textOf says how an entry stands; "" if there is nothing to say. left is the time of its offer. */
  textOf(entry, left) {
    const { words, kinds } = this;
    switch (entry?.status) {
      case "WAITING": {
        const key = keyOf(entry);
        return words.waits({ ...entry, kind: key === "" ? "" : kinds.find(([k]) => k === key)?.[1] ?? entry.section ?? "" });
      }
      case "OFFERED": return left === 0 ? words.offerOver : words.offered(entry.seats);
      case "EXPIRED": return words.offerOver;
      case "CLOSED": return words.listClosed;
      case "DECLINED": return words.declined;
      case "LEFT": return words.left;
      default: return "";
    }
  }
}

/** keyOf is the kind of a wish: its section or, in the order of preference, its first category. */
export const keyOf = ({ categories, section }) => (section ? `section ${section}` : categories?.length > 0 ? `category ${categories[0]}` : "");
