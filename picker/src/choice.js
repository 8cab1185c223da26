// Which categories can be chosen: those that the page allows, and of these the ones that the customer looks at.

export class Choice {
  #picked = new Set(); // numbers of categories that were picked in the legend; none means all
  #selectable; // keys; null means all

  constructor(hall, selectable) {
    this.hall = hall;
    this.#selectable = selectable;
    /** seated are the categories that have numbered seats. */
    this.seated = [...new Set(hall.sections.filter((s) => s.first < s.end).flatMap((s) => s.categories))].sort((a, b) => a - b);
  }

  /** setSelectable limits what can be chosen to categories by their keys; null: there is none. */
  setSelectable(keys) {
    this.#selectable = keys;
    for (const c of this.#picked) if (!this.isSelectable(c)) this.#picked.delete(c);
  }

  isSelectable(category) { return this.#selectable?.includes(this.hall.categories[category].key) ?? true; }
  isPicked(category) { return this.#picked.has(category); }

  /** isFaint reports whether the customer looks at other categories. */
  isFaint(category) { return this.#picked.size > 0 && !this.#picked.has(category); }

  /** isFaintSection reports whether all of a section are such. */
  isFaintSection({ categories }) { return categories.length > 0 && categories.every((c) => this.isFaint(c)); }

  /** allows reports whether seats of a category can be chosen now. */
  allows(category) { return this.isSelectable(category) && !this.isFaint(category); }

  toggle(category) {
    if (!this.#picked.delete(category)) this.#picked.add(category);
  }

  /**
   * wish is what of a wish for best available seats can be chosen, with `isPicked` of what the customer looks at. Without categories that are
   * left, its list is empty.
   */
  wish(options, isPicked = false) {
    const allows = (c) => (isPicked ? this.allows(c) : this.isSelectable(c));
    if (this.seated.every(allows)) return options;
    const keys = this.seated.filter(allows).map((c) => this.hall.categories[c].key);
    return { ...options, categories: (options.categories?.length > 0 ? options.categories : keys).filter((key) => keys.includes(key)) };
  }
}
