// The buttons above the drawing.

import { el, setText } from "../../picker/src/dom.js";
import { button } from "./fields.js";

export class Bar {
  constructor(editor, board, commands, files) {
    const { drawing, words } = editor;
    Object.assign(this, { drawing, words, commands, files });
    const text = (name, onclick, keys) => button(words[name], onclick, { title: keys === undefined ? words[name] : `${words[name]} (${keys})` });
    const symbol = (sign, name, onclick) => button(sign, onclick, { "aria-label": words[name], title: words[name] });
    this.undo = text("undo", () => drawing.undo(), "Ctrl+Z");
    this.redo = text("redo", () => drawing.redo(), "Ctrl+Shift+Z");
    this.copy = text("copy", () => commands.copy(), "Ctrl+C");
    this.paste = text("paste", () => commands.paste(), "Ctrl+V");
    this.duplicate = text("duplicate", () => commands.duplicate(), "Ctrl+D");
    this.remove = text("delete", () => commands.remove(), words.deleteKey);
    this.grid = button(words.grid, () => drawing.set({ showsGrid: !drawing.options.showsGrid }), { "aria-pressed": "true" });
    this.snap = button(words.snap, () => drawing.set({ snaps: !drawing.options.snaps }), { "aria-pressed": "true", title: words.snapHelp });
    this.floors = el("select", { "aria-label": words.floor, onchange: () => drawing.showFloor(this.floors.value === "\u0000" ? undefined : this.floors.value) });
    this.state = el("span", { className: "state", role: "status" });
    this.save = button(words.save, () => editor.save(), { className: "primary", title: `${words.save} (Ctrl+S)` });
    this.node = el("div", { className: "bar", role: "toolbar", "aria-label": words.bar },
      this.undo, this.redo, this.copy, this.paste, this.duplicate, this.remove, this.grid, this.snap, this.floors,
      symbol("−", "zoomOut", () => board.zoomOut()), symbol("+", "zoomIn", () => board.zoomIn()), symbol("⤢", "whole", () => board.whole()),
      el("span", { className: "spring" }), this.state, this.#menu(editor, files), this.save);
    this.node.addEventListener("click", ({ detail, target }) => { // by the mouse: the keys of the drawing go on
      if (detail > 0 && target.matches(".bar > button:not(.primary)")) board.node.focus({ preventScroll: true });
    });
  }

  #menu({ words }, files) {
    const list = el("div", { id: "files", hidden: true });
    const toggle = button(`${words.file} ▾`, () => show(list.hidden), { "aria-expanded": "false", "aria-controls": "files" });
    const show = (is) => {
      list.hidden = !is;
      toggle.setAttribute("aria-expanded", String(is));
      if (is) list.querySelector("button").focus();
    };
    for (const [name, work] of [
      ["open", () => files.choose()], ["saveFile", () => files.saveJSON()], ["exportCSV", () => files.export("csv")], ["exportPretix", () => files.export("pretix")],
      ["exportSVG", () => files.export("svg")],
    ]) {
      list.append(button(words[name], () => {
        show(false);
        toggle.focus();
        work();
      }));
    }
    const node = el("div", { className: "menu" }, toggle, list);
    node.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || list.hidden) return;
      show(false);
      toggle.focus();
      event.stopPropagation();
    });
    node.addEventListener("focusout", (event) => { if (event.relatedTarget !== null && !node.contains(event.relatedTarget)) show(false); });
    return node;
  }

  changed() {
    const { drawing, words } = this;
    const { history, selection, options } = drawing;
    this.undo.disabled = history.undoName === undefined;
    this.redo.disabled = history.redoName === undefined;
    this.undo.title = history.undoName === undefined ? words.undo : `${words.undoOf(history.undoName)} (Ctrl+Z)`;
    this.redo.title = history.redoName === undefined ? words.redo : `${words.redoOf(history.redoName)} (Ctrl+Shift+Z)`;
    for (const node of [this.copy, this.duplicate, this.remove]) node.disabled = selection.size === 0;
    this.paste.disabled = drawing.clipboard === undefined;
    this.grid.setAttribute("aria-pressed", String(options.showsGrid));
    this.snap.setAttribute("aria-pressed", String(options.snaps));
    setText(this.state, words[this.files.state] ?? "");
    this.#showFloors();
  }

  #showFloors() {
    const { drawing, words } = this;
    const floors = drawing.floors;
    const key = JSON.stringify(floors);
    if (key !== this.shown) {
      this.shown = key;
      this.floors.replaceChildren(el("option", { value: "\u0000", textContent: words.allFloors }),
        ...floors.map((f) => el("option", { value: f, textContent: f === "" ? words.noFloor : `${words.floor} ${f}` })));
    }
    this.floors.hidden = floors.length < 2;
    this.floors.value = drawing.floor ?? "\u0000";
  }
}
