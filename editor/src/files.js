// Files and drafts: what is opened, saved, exported, and kept in the browser.

import { el } from "../../picker/src/dom.js";
import { Draft } from "./draft.js";
import { button } from "./fields.js";
import { isReadable } from "./readable.js";

const most = 20_000_000; // bytes, of the server

export class Files {
  state = undefined; // "stored" or "notStored", once one of them is so

  constructor(editor) {
    this.editor = editor;
    this.notice = el("div", { className: "notice", role: "alert", hidden: true });
    this.draft = new Draft(editor, {
      stored: (is) => {
        this.state = is ? "stored" : "notStored";
        editor.showState();
      },
      says: (text, ...choices) => this.says(text, ...choices),
    });
    this.input = el("input", { type: "file", accept: ".json,.csv,application/json,text/csv", onchange: () => this.#chosen() });
  }

  get board() { return this.editor.board; }

  get isStored() { return this.draft.isStored; }

  /** says shows a message above the drawing, with choices as pairs of a text and what it does. */
  says(text, ...choices) {
    const close = () => {
      this.notice.hidden = true;
      this.board.node.focus({ preventScroll: true });
    };
    this.notice.replaceChildren(el("p", { textContent: text }), ...choices.map(([name, work]) => button(name, () => {
      close();
      work();
    })), button("×", close, { "aria-label": this.editor.words.close }));
    this.notice.hidden = false;
  }

  changed() { this.draft.changed(); }

  choose() {
    this.input.value = "";
    this.input.click();
  }

  #chosen() {
    const [file] = this.input.files;
    if (file !== undefined) this.open(file);
  }

  #opening = undefined; // the last file

  /** open reads a file: JSON in the browser, other formats by the server. Seats that the server has keep their IDs in it, too. */
  async open(file) {
    const { words, drawing, server } = this.editor;
    const before = drawing.state;
    const { kept, keptKeys } = before;
    this.#opening = file;
    const { sections, decorations } = drawing.plan;
    const back = sections.length + decorations.length === 0 ? [] : [[words.openBack, () => drawing.restore(before)]];
    try {
      const text = file.size > most ? "" : await file.text();
      if (this.#opening !== file) return;
      const plan = planOf(text);
      if (plan !== undefined) {
        drawing.open(plan, { kept, keptKeys });
        this.says(words.opened(file.name), ...back);
      } else {
        const isCSV = /\.csv$/i.test(file.name);
        const found = await server.convert(file, isCSV ? { name: file.name.replace(/\.[^.]*$/, "").slice(0, 200) } : {});
        if (this.#opening !== file) return; // another one was chosen meanwhile
        drawing.open(found.plan, { kept, keptKeys });
        const list = found.differences.map((d) => `${d.what} (${d.count})`).join("; ");
        this.says(list === "" ? words.opened(file.name) : `${words.opened(file.name)} ${words.differs(list)}`, ...back);
      }
      this.board.whole();
    } catch (error) {
      if (this.#opening === file) this.says(words.openFails(reasonsOf(error)));
    }
  }

  get #name() { return this.editor.drawing.plan.name.replace(/[^\p{L}\p{N} ._-]+/gu, "").trim() || "plan"; }

  saveJSON() {
    const text = JSON.stringify(this.editor.plan, undefined, 1);
    download(new Blob([text], { type: "application/json" }), `${this.#name}.json`);
  }

  /** export lets the server write a file of another format. */
  async export(format) {
    const { words, server } = this.editor;
    try {
      const { file, differences } = await server.export(this.editor.plan, format);
      const [type, ending] = { csv: ["text/csv", "csv"], pretix: ["application/json", "pretix.json"], svg: ["image/svg+xml", "svg"] }[format];
      download(new Blob([file], { type }), `${this.#name}.${ending}`);
      if (differences.length > 0) this.says(words.exportLoses(differences.map((d) => `${d.what} (${d.count})`).join("; ")));
    } catch (error) {
      this.says(words.failed(error.message));
    }
  }
}

const mostReasons = 3;

// reasonsOf is what the server says is wrong with a file, with the first of its places.
const reasonsOf = (error) => [error.message, ...(error.problem?.errors ?? []).slice(0, mostReasons).map((e) => `${e.location}: ${e.message}`)].join(" ");

// planOf is the plan in a text of JSON; undefined if it is something else, such as CSV, a plan of pretix, or a plan with mistakes of form, which
// the server names.
function planOf(text) {
  try {
    const plan = JSON.parse(text);
    return isReadable(plan) ? plan : undefined;
  } catch {
    return undefined;
  }
}

function download(blob, name) {
  const url = URL.createObjectURL(blob);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
