// The third tab: what to correct, and what would be sold first.

import { el } from "../../../picker/src/dom.js";
import { Form, button } from "../fields.js";
import { findings } from "../findings.js";
import { decorationRef, partsOf, sectionRef } from "../edit.js";
import { sectionByKey, toServer } from "../plan.js";
import { boxOfSelection } from "../things.js";

const mostShown = 100;

export class CheckTab {
  #plan = undefined;

  constructor(context) {
    this.context = context;
    const { words } = context;
    this.list = el("ul", { className: "list", "aria-label": words.check });
    this.picks = el("ul", { className: "list", "aria-label": words.sellsFirst });
    this.failure = el("p", { className: "wrong", role: "alert", hidden: true });
    const form = new Form().heading(words.check);
    this.summary = form.says(() => this.#summary ?? "");
    form.add(this.list);
    this.form = form;
    const first = new Form().heading(words.sellsFirst);
    first.says(() => words.sellsFirstHelp);
    first.buttons(button(words.checkServer, () => this.#ask())).after(this.failure, this.picks);
    this.node = el("div", {}, form.node, first.node);
  }

  #summary = "";

  changed() {
    const { drawing, words } = this.context;
    if (this.#plan === drawing.plan) return;
    this.#plan = drawing.plan;
    const found = findings(drawing.plan, { kept: drawing.kept });
    this.#summary = found.length === 0 ? words.noFindings : words.findings(found.length);
    this.list.replaceChildren(...found.slice(0, mostShown).map((f) => this.#item(f)));
    this.picks.replaceChildren();
    this.failure.hidden = true;
    this.form.refresh();
  }

  #item({ what, severity, seats, section, decoration, where }) {
    const { words, drawing } = this.context;
    if (where === "name" && drawing.plan.name.trim() === "") return el("li", { className: `finding ${severity}` }, el("span", { className: "name", textContent: words.needsName }));
    const canGo = seats !== undefined || section !== undefined || decoration !== undefined;
    const text = [what, canGo ? "" : where].filter(Boolean).join(" – ");
    return el("li", { className: `finding ${severity}` }, canGo
      ? button(text, () => this.#go({ seats, section, decoration }), { className: "name", title: words.severity[severity] })
      : el("span", { className: "name", textContent: text }));
  }

  #go({ seats, section, decoration }) {
    const { drawing, board, toolbox } = this.context;
    toolbox.chooseKeeping("select");
    const refsOf = () => {
      if (seats !== undefined) return seats;
      if (decoration !== undefined) return [decorationRef(decoration)];
      return sectionByKey(drawing.plan, section)?.rows ? partsOf(drawing.plan, new Set([sectionRef(section)])).seats : [sectionRef(section)];
    };
    drawing.select(refsOf());
    const box = boxOfSelection(board);
    if (box !== undefined) board.show({ x0: box.x0 - 2, y0: box.y0 - 2, x1: box.x1 + 2, y1: box.y1 + 2 });
  }

  async #ask() {
    const { editor, drawing, words } = this.context;
    const { plan } = drawing;
    try {
      const asked = toServer(plan.name.trim() === "" ? { ...plan, name: words.unnamed } : plan); // the name has nothing to do with what sells
      const { problems, picks = [] } = await editor.server.preview(asked, [1, 2, 3, 4, 5, 6, 7, 8]);
      if (drawing.plan !== plan) return;
      this.failure.textContent = problems.map((p) => `${p.where}: ${p.what}`).join(" ");
      this.failure.hidden = problems.length === 0;
      this.picks.replaceChildren(...picks.map((pick) => el("li", {},
        el("span", { className: "name", textContent: `${words.pick(pick.seats)}${pick.seatIds.length === 0 ? `: ${words.noPick}` : pick.adjacent ? "" : `, ${words.apart}`}` }),
        ...pick.seatIds.length === 0 ? [] : [button(words.show, () => this.#go({ seats: pick.seatIds }), { "aria-label": words.showPick(pick.seats) })])));
    } catch (error) {
      if (drawing.plan !== plan) return;
      this.failure.textContent = words.failed(error.message);
      this.failure.hidden = false;
    }
  }
}
