// Controls of the panel. Each has a label, reads what it shows from the drawing, and keeps what is being typed when the drawing changes.

import { el, setText } from "../../picker/src/dom.js";

let number = 0;

/**
 * Form builds a part of the panel and brings it up to date: `refresh` asks each control for its value again, but not the one
 * in which the user types.
 */
export class Form {
  #updates = [];

  constructor(className = "form") {
    this.node = el("div", { className });
  }

  add(...nodes) {
    this.node.append(...nodes.filter(Boolean));
    return this;
  }

  refresh() { for (const update of this.#updates) update(); }

  /** follows calls update now, and whenever the drawing has changed. */
  follows(update) {
    this.#updates.push(update);
    update();
  }

  #field(label, control, wide) {
    const id = `field-${number += 1}`;
    control.id = id;
    this.node.append(el("div", { className: wide ? "field wide" : "field" }, el("label", { htmlFor: id, textContent: label }), control));
    return control;
  }

  #shows(control, read, property = "value", empty = "…") {
    this.follows(() => {
      if (control.ariaInvalid === "true") return; // what the user typed stays, with the reason
      if (control.matches(":focus") && property === "value" && control.tagName !== "SELECT") return;
      const value = read();
      const isMixed = value === undefined;
      if (property === "checked") {
        control.indeterminate = isMixed;
        control.checked = value === true;
      } else if (control.value !== String(value ?? "")) control.value = value ?? "";
      if (property === "value" && control.tagName === "INPUT" && control.type !== "color" && control.type !== "range") control.placeholder = isMixed ? empty : "";
    });
  }

  /**
   * text calls write when the user has entered another text. A read that returns undefined stands for several values. help says what is
   * accepted; problem(text) is why a text is not, or "".
   */
  text(label, read, write, { wide = true, help = "", problem, ...properties } = {}) {
    const control = this.#field(label, el("input", { type: "text", autocomplete: "off", ...properties }), wide);
    const check = problem === undefined ? () => true : this.#checks(control, help, problem);
    let last;
    this.#shows(control, () => last = read());
    const commit = () => {
      if (!check()) return;
      if (control.value !== String(last ?? "")) write(control.value);
      last = read();
    };
    control.addEventListener("change", commit);
    control.addEventListener("keydown", (event) => { if (event.key === "Enter") commit(); });
    return control;
  }

  // #checks says under a field what it accepts, or why it does not accept what is in it. The function that it returns reports whether it does.
  #checks(control, help, problem) {
    const note = el("p", { id: `${control.id}-note`, className: "soft", textContent: help, role: "status" });
    control.parentNode.append(note);
    control.setAttribute("aria-describedby", note.id);
    return () => {
      const reason = problem(control.value);
      control.ariaInvalid = String(reason !== "");
      setText(note, reason || help);
      note.className = reason === "" ? "soft" : "wrong";
      return reason === "";
    };
  }

  /**
   * number calls write while the user changes a number, if it is not below its bounds; above them it writes the most. A field that may have none shows the text empty then, and
   * writes undefined.
   */
  number(label, read, write, { min, max, step = 1, wide = false, empty } = {}) {
    const control = this.#field(label, el("input", { type: "number", inputMode: "decimal", min, max, step }), wide);
    this.#shows(control, () => {
      const value = read();
      return typeof value === "number" ? Math.round(value * 1000) / 1000 : value;
    }, "value", empty);
    control.addEventListener("input", () => {
      const value = control.valueAsNumber;
      if (Number.isFinite(value) && value >= (min ?? -Infinity)) write(Math.min(value, max ?? Infinity));
      else if (empty !== undefined && control.value === "" && !control.validity.badInput) write(undefined);
    });
    control.addEventListener("blur", () => queueMicrotask(() => { if (control.isConnected) this.refresh(); })); // the form may just be replaced
    return control;
  }

  /** range is a slider: write(value, isLast) is called while it moves, and when it stays. */
  range(label, read, write, { min, max, step }) {
    const control = this.#field(label, el("input", { type: "range", min, max, step }), true);
    this.follows(() => { if (!control.matches(":active")) control.value = read(); });
    control.addEventListener("input", () => write(control.valueAsNumber, false));
    control.addEventListener("change", () => write(control.valueAsNumber, true));
    return control;
  }

  color(label, read, write) {
    const control = this.#field(label, el("input", { type: "color" }), false);
    this.#shows(control, read);
    control.addEventListener("change", () => write(control.value));
    return control;
  }

  /** choice has options as pairs of a value and a text; read returns them if they change. */
  choice(label, options, read, write, { wide = true } = {}) {
    const control = this.#field(label, el("select"), wide);
    let shown = "";
    const fill = () => {
      const now = typeof options === "function" ? options() : options;
      const key = JSON.stringify(now);
      if (key === shown) return;
      shown = key;
      control.replaceChildren(el("option", { value: "\u0000", textContent: "…", hidden: true }), ...now.map(([value, textContent]) => el("option", { value, textContent })));
    };
    this.follows(() => {
      fill();
      const value = read();
      control.value = value ?? "\u0000";
    });
    control.addEventListener("change", () => write(control.value));
    return control;
  }

  check(label, read, write) {
    const id = `field-${number += 1}`;
    const control = el("input", { type: "checkbox", id });
    this.node.append(el("div", { className: "check" }, control, el("label", { htmlFor: id, textContent: label })));
    this.#shows(control, read, "checked");
    control.addEventListener("change", () => write(control.checked));
    return control;
  }

  heading(textContent) {
    this.node.append(el("h3", { textContent }));
    return this;
  }

  /** says is a line of text that follows the drawing. */
  says(read, className = "soft") {
    const node = el("p", { className });
    this.node.append(node);
    this.follows(() => {
      const text = read();
      setText(node, text);
      node.hidden = text === "";
    });
    return node;
  }

  buttons(...buttons) {
    const node = el("div", { className: "buttons" }, ...buttons.filter(Boolean));
    this.node.append(node);
    return node;
  }
}

export const button = (textContent, onclick, properties = {}) => el("button", { type: "button", textContent, onclick, ...properties });
