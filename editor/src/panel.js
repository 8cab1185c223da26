// The panel: what is drawn or selected, the plan as a whole, and what to correct.

import { el } from "../../picker/src/dom.js";
import { CheckTab } from "./panel/check.js";
import { DrawTab } from "./panel/draw.js";
import { PlanTab } from "./panel/plan.js";

export class Panel {
  #shown = "selection";

  constructor(editor, board, commands, toolbox) {
    const { words, drawing } = editor;
    this.drawing = drawing;
    const context = { editor, board, commands, toolbox, drawing, words, go: (tab) => this.show(tab) };
    this.tabs = { selection: new DrawTab(context), plan: new PlanTab(context), check: new CheckTab(context) };
    this.buttons = {};
    const list = el("div", { className: "tabs", role: "tablist", "aria-label": words.panel });
    const names = Object.keys(this.tabs);
    for (const name of names) {
      const node = el("button", {
        type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, textContent: words.tabs[name], onclick: () => this.show(name),
        onkeydown: (event) => {
          const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
          if (by === undefined) return;
          const to = names[(names.indexOf(name) + by + names.length) % names.length];
          this.show(to);
          this.buttons[to].focus();
          event.preventDefault();
        },
      });
      this.buttons[name] = node;
      list.append(node);
    }
    this.node = el("div", { className: "panel", part: "panel" }, list);
    for (const name of names) {
      const { node } = this.tabs[name];
      Object.assign(node, { className: "tab", id: `panel-${name}`, tabIndex: 0 });
      node.setAttribute("role", "tabpanel");
      node.setAttribute("aria-labelledby", `tab-${name}`);
      this.node.append(node);
    }
    this.show("selection");
  }

  show(name) {
    this.#shown = name;
    for (const [other, tab] of Object.entries(this.tabs)) {
      tab.node.hidden = other !== name;
      this.buttons[other].setAttribute("aria-selected", String(other === name));
      this.buttons[other].tabIndex = other === name ? 0 : -1;
    }
    this.tabs[name].changed();
  }

  changed() {
    const what = `${this.drawing.tool?.name}|${[...this.drawing.selection][0]}`;
    const isOther = what !== this.#what;
    this.#what = what;
    const hasThing = this.drawing.selection.size > 0 || !["select", "pan", undefined].includes(this.drawing.tool?.name);
    if (isOther && hasThing && this.#shown === "plan" && !this.node.contains(this.node.getRootNode().activeElement)) return this.show("selection");
    return this.tabs[this.#shown].changed();
  }

  #what = "";
}
