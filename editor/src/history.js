// What was done, as the plans after each step. Plans share what did not change, so a step costs little memory and there is no limit.

/** History has the current plan, the plans before it, and those that were undone. */
export class History {
  #steps; // { plan, name, merge }; the name says what made the plan
  #at = 0;
  #saved;

  /** @param {import("./plan.js").Plan} plan */
  constructor(plan) {
    this.#steps = [{ plan, name: "", merge: undefined }];
    this.#saved = plan;
  }

  get plan() { return this.#steps[this.#at].plan; }

  /**
   * do makes another plan the current one. It forgets what was undone. The same plan again makes no step.
   * @param {import("./plan.js").Plan} plan
   * @param {string} name what was done, for the user
   * @param {string} [merge] steps in a row with the same value become one, as the moves of an arrow key that is held down
   */
  do(plan, name, merge) {
    if (plan === this.plan) return;
    const last = this.#steps[this.#at];
    this.#steps.length = this.#at + 1;
    if (merge !== undefined && last.merge === merge && this.#at > 0) {
      this.#steps[this.#at] = { plan, name, merge };
      return;
    }
    this.#steps.push({ plan, name, merge });
    this.#at++;
  }

  /** settle ends the steps that become one. */
  settle() { this.#steps[this.#at].merge = undefined; }

  /** undo and redo return the current plan. */
  undo() {
    if (this.#at > 0) this.#at--;
    this.settle();
    return this.plan;
  }

  redo() {
    if (this.#at < this.#steps.length - 1) this.#at++;
    this.settle();
    return this.plan;
  }

  /** undoName and redoName say what would be undone or done again; undefined if there is nothing. */
  get undoName() { return this.#at > 0 ? this.#steps[this.#at].name : undefined; }
  get redoName() { return this.#steps[this.#at + 1]?.name; }

  /** saved notes that a plan, without one the current one, is stored; isChanged compares with it. */
  saved(plan = this.plan) {
    this.#saved = plan;
    this.settle();
  }

  get isChanged() { return this.plan !== this.#saved; }
}
