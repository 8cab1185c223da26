// The first tab: the tool in use, and what is selected.

import { el } from "../../../picker/src/dom.js";
import { Form } from "../fields.js";
import { thing } from "../things.js";
import { seatsForm } from "./seats.js";
import { thingForm } from "./things.js";
import { toolForms } from "./tools.js";

export class DrawTab {
  #forms = [];
  #shown = "";

  constructor(context) {
    this.context = context;
    this.node = el("div");
  }

  // #kind says which forms are shown. While it stays the same, they only get other values.
  get #kind() {
    const { drawing, toolbox } = this.context;
    const refs = [...drawing.selection];
    const others = refs.filter((ref) => ref.includes(":"));
    const what = refs.length === 0 ? "" : others.length === refs.length && refs.length === 1 ? refs[0] : others.length === refs.length ? "things" : refs.length - others.length === 1 ? "seat" : "seats";
    const tool = drawing.tool?.name ?? "";
    return `${tool}|${toolbox.rows.canChange && refs.length > 0 ? toolbox.rows.last.merge : ""}|${what}`;
  }

  changed() {
    const kind = this.#kind;
    if (kind === this.#shown) {
      for (const form of this.#forms) form.refresh();
      return;
    }
    const root = this.node.getRootNode();
    const focused = this.node.contains(root.activeElement) ? labelOf(root.activeElement) : undefined;
    this.#shown = kind;
    this.#forms = this.#make();
    this.node.replaceChildren(...this.#forms.map((form) => form.node));
    if (focused !== undefined) this.#focus(focused);
  }

  // #focus goes on from the control with the same label: what the user typed may have replaced the forms.
  #focus(label) {
    const same = [...this.node.querySelectorAll("input, select, button")].find((control) => labelOf(control) === label);
    (same ?? this.node).focus();
  }

  #make() {
    const { context } = this;
    const { drawing, words } = context;
    const forms = toolForms(context);
    const refs = [...drawing.selection];
    const seats = refs.some((ref) => !ref.includes(":"));
    if (seats) forms.push(...seatsForm(context));
    else if (refs.length === 1) {
      const only = thing(drawing.plan, refs[0]);
      if (only !== undefined) forms.push(thingForm(context, only));
    }
    if (forms.length === 0) {
      const help = new Form();
      help.says(() => (drawing.plan.sections.length === 0 ? words.noSections : drawing.tool?.hint ?? ""));
      forms.push(help);
    }
    return forms;
  }
}

const labelOf = (control) => control?.labels?.[0]?.textContent ?? control?.textContent ?? "";
