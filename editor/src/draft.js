// The draft: what is being drawn is kept in the browser, so that a reload loses nothing but the drag in hand. A draft belongs to a
// document that the page names, such as "new"; one tab at a time may store it.

const database = "holdfast-plan-editor";
const delay = 400; // ms after a change, until it is stored

/** Draft stores the drawing of an editor. on has stored(is) and says(text, ...choices). */
export class Draft {
  isStored = false;
  #document = undefined;
  #timer = 0;
  #waits = false; // a change is not stored yet
  #time = undefined; // of the draft that the drawing shows
  #isMine = false;
  #release = undefined;
  #released = Promise.resolve();
  #turn = Promise.resolve(); // of the last call of resume
  #isOpening = false;

  constructor(editor, on) {
    Object.assign(this, { editor, on });
  }

  get board() { return this.editor.board; }

  /**
   * begin continues the draft of a document, if there is one. original opens what the document begins with.
   * @param {string} document
   * @param {() => void} original
   */
  begin(document, original) {
    if (document !== this.#document) {
      this.#free();
      this.#time = undefined;
    }
    this.#document = document;
    this.original = original;
    return this.resume();
  }

  /** opens says that the drawing is about to begin with a plan that is not the draft's. */
  opens() {
    if (this.#waits) void this.#store();
    clearTimeout(this.#timer);
    this.#time = undefined;
  }

  /** resume goes on with the draft when the element is in a page again. */
  resume() {
    const go = () => this.#resume();
    return this.#turn = this.#turn.then(go, go);
  }

  async #resume() {
    const document = this.#document;
    if (document === undefined) return;
    if (this.#isMine) { // or another plan was opened meanwhile
      if (this.#time === undefined) await this.#continue();
      return;
    }
    await this.#released;
    if (!this.#isFor(document)) return;
    if (await this.#lock({ ifAvailable: true })) await this.#continue();
    else if (this.#isFor(document)) this.#isElsewhere();
  }

  // #isFor reports whether what was begun for a document is still wanted: the page may have removed the element, or named another document.
  #isFor(document) { return this.editor.isConnected && document === this.#document; }

  async #continue() {
    const { words, drawing } = this.editor;
    const document = this.#document;
    const draft = await read(document).catch(() => undefined);
    if (!this.#isFor(document)) return;
    if (draft === undefined || draft.time === this.#time) return this.changed();
    this.#time = draft.time;
    const before = drawing.state;
    const back = drawing.history.isChanged ? [[words.openBack, () => drawing.restore(before)]] : [];
    this.#isOpening = true;
    drawing.open(draft.plan, { ...draft, isNew: true });
    this.#isOpening = false;
    if (draft.picture !== undefined) await this.#showPicture(draft.picture);
    this.board.whole();
    this.isStored = true;
    this.on.stored(true);
    const time = new Date(draft.time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
    this.on.says(words.draftFound(draft.plan.name || words.unnamed, time), [words.draftDrop, () => this.discard()], ...back);
  }

  async #showPicture({ file, ...place }) {
    try {
      this.board.picture = { ...place, file, image: await createImageBitmap(file) };
    } catch {
      // The browser has lost the file: the drawing goes on without it.
    }
  }

  /** discard removes the draft and begins again. */
  async discard() {
    clearTimeout(this.#timer);
    this.#waits = false;
    this.board.picture = undefined;
    this.#isOpening = true;
    this.original();
    this.#isOpening = false;
    this.isStored = false;
    await remove(this.#document).catch(() => {});
  }

  // #lock holds the document's lock until another tab takes it, or this one is closed. Without locks (a page that is not secure) each tab stores.
  #lock(options) {
    if (navigator.locks === undefined) return Promise.resolve(this.#isMine = true);
    const document = this.#document;
    return new Promise((resolve) => {
      this.#released = navigator.locks.request(`${database} ${document}`, options, (lock) => {
        this.#isMine = lock !== null && this.#isFor(document);
        resolve(this.#isMine);
        return this.#isMine ? new Promise((release) => { this.#release = release; }) : undefined;
      }).catch(() => { // another tab has taken it
        this.#isMine = false;
        this.on.says(this.editor.words.taken, [this.editor.words.takeOver, () => this.#takeOver()]);
      });
    });
  }

  #isElsewhere() {
    const { words } = this.editor;
    this.on.says(words.elsewhere, [words.takeOver, () => this.#takeOver()], [words.openCopy, () => this.#openCopy()]);
  }

  async #takeOver() {
    await this.#lock({ steal: true });
    await new Promise((resolve) => setTimeout(resolve, delay)); // the other tab may still be storing
    await this.#continue();
  }

  // #openCopy opens what the other tab has stored. The copy has no draft of its own: no page would ask for it after a reload.
  async #openCopy() {
    const from = this.#document;
    this.#document = undefined;
    const draft = await read(from).catch(() => undefined);
    if (draft !== undefined) this.editor.drawing.open(draft.plan, { ...draft, isNew: true });
  }

  /** end removes the draft: the plan has been stored on the server. */
  async end() {
    clearTimeout(this.#timer);
    this.#waits = false;
    const document = this.#document;
    await remove(document).catch(() => {});
    if (document !== this.#document) return;
    this.#free();
    this.#document = undefined;
  }

  /** leave stores what is left to store, and lets other tabs have the draft. */
  leave() {
    if (this.#waits) void this.#store(); // what reads the draft next reads it after this
    this.#free();
  }

  #free() {
    clearTimeout(this.#timer);
    this.#waits = false;
    this.#release?.();
    this.#release = undefined;
    this.#isMine = false;
  }

  changed() {
    if (this.#isOpening) return;
    if (!this.editor.drawing.history.isChanged && !this.isStored && this.board.picture === undefined) return;
    this.isStored = false; // also where it is stored no more: closing the tab would lose the change
    if (this.#document === undefined || !this.#isMine) return;
    this.#waits = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#store(), delay);
  }

  async #store() {
    this.#waits = false;
    if (!this.#isMine) return;
    const { drawing } = this.editor;
    const { plan } = drawing;
    const picture = this.board.picture && { ...this.board.picture, image: undefined };
    const time = this.#time = Date.now();
    try {
      await write({ document: this.#document, plan, kept: [...drawing.kept], keptKeys: [...drawing.keptKeys], time, picture });
      this.isStored = drawing.plan === plan;
      this.on.stored(true);
    } catch {
      this.on.stored(false);
    }
  }
}

const open = () => new Promise((resolve, reject) => {
  const request = indexedDB.open(database, 1);
  request.onupgradeneeded = () => request.result.createObjectStore("drafts", { keyPath: "document" });
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

async function within(mode, work) {
  const db = await open();
  try {
    return await new Promise((resolve, reject) => {
      const transaction = db.transaction("drafts", mode);
      const request = work(transaction.objectStore("drafts"));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    db.close();
  }
}

const read = (document) => within("readonly", (drafts) => drafts.get(document));
const write = (draft) => within("readwrite", (drafts) => drafts.put(draft));
const remove = (document) => within("readwrite", (drafts) => drafts.delete(document));
