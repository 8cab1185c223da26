// The tools: a named button each.

import { el } from "../../picker/src/dom.js";
import { addDecoration, decorationRef, sectionRef, setFocalPoint } from "./edit.js";
import { icon } from "./icons.js";
import { addSection } from "./plan.js";
import { alongCurve } from "./shapes.js";
import { PictureTool } from "./tools/picture.js";
import { PanTool, PlaceTool } from "./tools/place.js";
import { PointsTool } from "./tools/points.js";
import { BlockTool, RowTool, Rows, TableTool } from "./tools/rows.js";
import { SeatTool } from "./tools/seat.js";
import { SelectTool } from "./tools/select.js";

/** shortcuts are the keys of the tools. */
export const shortcuts = {
  v: "select", h: "pan", b: "block", r: "row", c: "curve", t: "table", s: "seat", a: "area", g: "stage", o: "room", w: "wall", x: "text", i: "icon", f: "focal", p: "picture",
};
const groups = [["select", "pan"], ["block", "row", "curve", "table", "seat", "area"], ["stage", "room", "wall", "text", "icon"], ["focal", "picture"]];

export class Toolbox {
  constructor(board, drawing, words) {
    Object.assign(this, { board, drawing, words });
    this.rows = new Rows(drawing, words);
    this.tools = this.#make();
    this.buttons = new Map();
    this.node = el("div", { className: "tools", role: "toolbar", "aria-label": words.tools, "aria-orientation": "vertical" });
    const keyOf = new Map(Object.entries(shortcuts).map(([key, name]) => [name, key]));
    groups.forEach((group, n) => {
      if (n > 0) this.node.append(el("hr"));
      for (const name of group) {
        const text = words.toolNames[name];
        const node = el("button", {
          type: "button", "aria-label": text, title: `${text} (${keyOf.get(name).toUpperCase()})`, "aria-keyshortcuts": keyOf.get(name), onclick: () => this.choose(name),
        }, icon(name), el("span", { textContent: text }));
        this.buttons.set(name, node);
        this.node.append(node);
      }
    });
  }

  choose(name) {
    const tool = this.tools[name];
    this.board.cancel(); // a drag belongs to the tool that began it
    this.board.cursor = undefined;
    if (this.drawing.tool !== tool) {
      this.drawing.options.section = "";
      this.tools.block.typed = {};
    }
    if (name !== "select" && name !== "pan" && name !== "picture") this.drawing.select([]); // the form is that of the next thing
    this.drawing.setTool(tool);
    this.board.setCursor();
  }

  changed() {
    for (const [name, node] of this.buttons) node.setAttribute("aria-pressed", String(this.drawing.tool?.name === name));
  }

  #make() {
    const { board, drawing, words, rows } = this;
    const common = [board, drawing, words];
    const points = (options) => new PointsTool(...common, options);
    const curve = (given) => (given.length < 2 ? [] : alongCurve(given, { spacing: drawing.options.spacing }));
    const decorate = (name, decoration, then = "select") => {
      const added = { ...decoration, ...(drawing.floor && { floor: drawing.floor }) };
      drawing.do(addDecoration(drawing.plan, added), words.did[name], { select: [decorationRef(drawing.plan.decorations.length)] });
      if (then !== undefined) this.chooseKeeping(then);
    };
    const select = new SelectTool(...common);
    const withMover = (tool) => Object.assign(tool, { mover: select }); // no block is drawn on the last one: a drag there moves it
    return {
      select, pan: new PanTool(words),
      block: withMover(new BlockTool(...common, rows)), row: withMover(new RowTool(...common, rows)), table: withMover(new TableTool(...common, rows)),
      curve: points({
        name: "curve", least: 2, isClosed: false, preview: curve,
        finish: (given) => rows.draw("curve", ({ points: line, spacing }) => [alongCurve(line, { spacing })], { points: given, spacing: drawing.options.spacing }),
      }),
      seat: new SeatTool(...common, rows),
      area: points({ name: "area", least: 3, isClosed: true, finish: (outline) => this.#addArea(outline) }),
      stage: points({ name: "stage", least: 3, isClosed: true, finish: (list) => decorate("stage", { kind: "stage", points: list, text: words.stage }) }),
      room: points({ name: "room", least: 3, isClosed: true, finish: (list) => decorate("room", { kind: "area", points: list }) }),
      wall: points({ name: "wall", least: 2, isClosed: false, finish: (list) => decorate("wall", { kind: "wall", points: list }) }),
      text: new PlaceTool(...common, { name: "text", place: ({ x, y }) => decorate("text", { kind: "text", at: [x, y], text: words.kinds.text }) }),
      icon: new PlaceTool(...common, { name: "icon", place: ({ x, y }) => decorate("icon", { kind: "icon", at: [x, y], icon: drawing.options.icon ?? "entrance" }, undefined) }),
      focal: new PlaceTool(...common, {
        name: "focal", place: ({ x, y }) => drawing.do(setFocalPoint(drawing.plan, [x, y]), words.did.focal), show: (pen, at) => pen.handle(at.x, at.y, { isRound: true }),
      }),
      picture: new PictureTool(...common),
    };
  }

  /** chooseKeeping takes another tool and keeps the selection. */
  chooseKeeping(name) {
    this.drawing.setTool(this.tools[name]);
    this.board.setCursor();
  }

  #addArea(outline) {
    const { drawing, words } = this;
    const { plan } = drawing;
    const names = new Set(plan.sections.map((s) => s.name));
    let n = plan.sections.length + 1;
    while (names.has(words.sectionName(n))) n++;
    const next = addSection(plan, { name: words.sectionName(n), category: drawing.category, capacity: 100, outline, ...(drawing.floor && { floor: drawing.floor }) });
    drawing.do(next, words.did.area, { select: [sectionRef(next.sections.at(-1).key)] });
    this.chooseKeeping("select");
  }
}
