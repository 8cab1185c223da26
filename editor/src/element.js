// <holdfast-plan-editor>: a drawing board for seating plans.

import { el, setAgain, setText } from "../../picker/src/dom.js";
import { colorsOf } from "../../picker/src/theme.js";
import { Bar } from "./bar.js";
import { Board } from "./canvas.js";
import { check } from "./check.js";
import { Commands } from "./commands.js";
import { Drawing } from "./drawing.js";
import { Files } from "./files.js";
import { listenToKeys } from "./keys.js";
import { Panel } from "./panel.js";
import { setFocalPoint } from "./edit.js";
import { capacityOf, emptyPlan, toServer } from "./plan.js";
import { Server } from "./server.js";
import { css, properties } from "./style.js";
import { Toolbox } from "./toolbox.js";
import { words as english } from "./words.js";

let sheet;

/**
 * A drawing board for seating plans.
 *
 * @attr {string} src - address of the Holdfast server; without it, the page's origin
 * @attr {"light" | "dark"} theme - without it, the browser's
 *
 * @fires {Event} changed - the plan has changed: `plan` has it
 * @fires {CustomEvent<{ plan: object }>} save - the user wants the plan to be stored; it is as POST /api/seating-plans takes it
 */
export class HoldfastPlanEditor extends HTMLElement {
  static observedAttributes = ["theme"];

  #parts = undefined;
  #plan = undefined; // of the last event
  #offered = undefined; // of the last event save
  #connected = new AbortController();
  #words = english;
  drawing = new Drawing();
  server = new Server(this);
  files = new Files(this);

  constructor() {
    super();
    if (sheet === undefined) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(css);
    }
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [sheet];
    this.drawing.onChange(() => this.#changed());
    setAgain(this, ["plan", "token", "call", "words"]);
  }

  /** words are the texts. Words that are set replace the English ones; see words.js for all of them. */
  get words() { return this.#words; }
  set words(words) {
    this.#words = { ...english, ...words };
    if (this.#parts !== undefined) this.#build();
  }

  /** token is the secret of a key or a function that returns one; call(method, path, body) takes the place of the editor's own requests. */
  get token() { return this.server.token; }
  set token(token) { this.server.token = token; }
  get call() { return this.server.call; }
  set call(call) { this.server.call = call; }

  /** plan is the plan as POST /api/seating-plans takes it. To set one opens a copy of a stored plan, whose seats keep their IDs. */
  get plan() { return toServer(this.drawing.plan); }
  set plan(plan) { this.open(plan); }
  get value() { return this.plan; }

  get totalSeats() { return capacityOf(this.drawing.plan).total; }

  /** open begins with a plan: one that is stored, or a new one that was only read from a file. Without a plan it is empty. */
  open(plan, { isStored = true } = {}) {
    this.files.draft.opens();
    if (plan === undefined) this.drawing.open(emptyPlan(), { isNew: true });
    else this.drawing.open(plan, { isStored });
    this.#parts?.board.whole();
  }

  /** keep names the document whose draft is kept in the browser, and continues the draft if there is one. It is called after open. */
  keep(document) {
    const { plan, kept, keptKeys } = this.drawing;
    return this.files.draft.begin(document, () => {
      this.drawing.open(plan, { isNew: true, kept, keptKeys });
      this.#parts?.board.whole();
    });
  }

  get isChanged() { return this.drawing.history.isChanged; }

  /** saved is called when the plan of the last event save has been stored. What was changed since then stays in the draft. */
  async saved() {
    this.drawing.history.saved(this.#offered);
    this.#offered = undefined;
    this.drawing.tell();
    if (!this.isChanged) await this.files.draft.end();
  }

  /** focus brings the keyboard to the drawing. */
  focus() { this.#parts?.board.node.focus({ preventScroll: true }); }

  undo() { this.drawing.undo(); }
  redo() { this.drawing.redo(); }

  connectedCallback() {
    this.#connected = new AbortController();
    if (this.#parts === undefined) this.#build();
    else this.#setColors();
    this.files.draft.resume();
    const { signal } = this.#connected;
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#setColors(), { signal });
    addEventListener("beforeunload", (event) => { if (this.isChanged && !this.files.isStored) event.preventDefault(); }, { signal });
  }

  disconnectedCallback() {
    this.#connected.abort();
    this.#parts.board.leave();
    this.files.draft.leave();
  }

  attributeChangedCallback() { if (this.#parts !== undefined) this.#setColors(); }

  #build() {
    this.board?.stop();
    const { drawing, words, files } = this;
    const board = new Board(drawing, words);
    board.picture = this.board?.picture;
    board.pictureChanged = () => files.draft.changed();
    const toolbox = new Toolbox(board, drawing, words);
    const commands = new Commands(board, drawing, words);
    const bar = new Bar(this, board, commands, files);
    const panel = new Panel(this, board, commands, toolbox);
    const hint = el("p", { id: "hint", role: "status" });
    const count = el("span", { className: "count" });
    this.#parts = { board, toolbox, bar, panel, hint, count };
    this.root = el("div", { className: "root", part: "root" }, bar.node, toolbox.node,
      el("div", { className: "view" }, files.notice, board.node), panel.node, el("div", { className: "hint" }, hint, count));
    this.shadowRoot.replaceChildren(this.root);
    listenToKeys(this.root, { board, drawing, commands, toolbox, save: () => this.save() });
    toolbox.choose("select");
    this.#setColors();
  }

  /** board is the drawing on the screen, for tests and measurements. @private */
  get board() { return this.#parts?.board; }

  #setColors() { if (this.isConnected) this.board.setColors(colorsOf(this.root, properties)); }

  #changed() {
    const parts = this.#parts;
    if (parts === undefined) return;
    parts.board.changed();
    parts.toolbox.changed();
    parts.bar.changed();
    parts.panel.changed();
    setText(parts.hint, this.drawing.tool?.hint ?? "");
    const { plan } = this.drawing;
    setText(parts.count, parts.board.selected.length > 0 ? this.words.selected(parts.board.selected.length) : this.words.total(capacityOf(plan).total));
    if (this.#plan === plan) return;
    this.#plan = plan;
    this.files.changed();
    this.dispatchEvent(new Event("changed"));
  }

  /** showState says above the drawing whether it is kept. @private */
  showState() { this.#parts.bar.changed(); }

  /** setFocalPoint sets what the audience looks at; null: nothing. @private */
  setFocalPoint(at) { this.drawing.do(setFocalPoint(this.drawing.plan, at && [at.x, at.y]), this.#words.did.focal); }

  /** save asks the page to store the plan, once it has a name and nothing that the server would refuse. */
  save() {
    const { panel } = this.#parts;
    const { plan } = this.drawing;
    if (plan.name.trim() === "") {
      panel.show("plan");
      panel.tabs.plan.focusName();
      return this.files.says(this.#words.needsName);
    }
    if (check(plan).length > 0) {
      panel.show("check");
      return this.files.says(this.#words.needsCorrection);
    }
    this.#offered = plan;
    return this.dispatchEvent(new CustomEvent("save", { detail: { plan: this.plan } }));
  }
}
