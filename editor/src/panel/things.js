// The forms of areas, decorations and the focal point.

import { partsOf, sectionRef, setDecoration, setSection } from "../edit.js";
import { Form } from "../fields.js";
import { renumber } from "../numbering.js";
import { thing } from "../things.js";

export function thingForm(context, only) {
  if (only.section !== undefined) return sectionForm(context, only.section.key);
  if (only.decoration !== undefined) return decorationForm(context, only.index);
  return new Form().heading(context.words.focalPoint);
}

/** sectionForm has the properties of a section, of rows or an area. renamed gets its new key. */
export function sectionForm(context, first, renamed) {
  const { drawing, words } = context;
  let key = first;
  const section = () => drawing.plan.sections.find((s) => s.key === key) ?? {};
  const set = (changes) => drawing.do(setSection(drawing.plan, key, changes), words.did.section);
  const isArea = section().capacity > 0;
  // rename gives a section that is new a key of its name, too, and its seats IDs to match.
  const rename = (name) => {
    const { plan, kept, keptKeys } = drawing;
    if (name === "" || keptKeys.has(sectionRef(key))) return name === "" ? form.refresh() : set({ name });
    const index = plan.sections.findIndex((s) => s.key === key);
    const named = setSection(plan, key, { name, key: name });
    key = named.sections[index].key;
    renamed?.(key);
    const next = renumber(named, partsOf(named, new Set([sectionRef(key)])).seats, {}, kept);
    return drawing.do(next, words.did.section, isArea ? { select: [sectionRef(key)] } : {});
  };
  const form = new Form().heading(isArea ? words.toolNames.area : words.section);
  form.text(words.name, () => section().name, (name) => rename(name.trim()), { maxLength: 200 });
  if (isArea) {
    form.number(words.capacity, () => section().capacity, (capacity) => set({ capacity }), { min: 1, max: 10_000_000 });
    form.choice(words.category, () => drawing.plan.categories.map((c) => [c.key, c.name]), () => section().category, (category) => set({ category }));
  }
  form.text(words.floor, () => section().floor ?? "", (floor) => set({ floor: floor.trim() }), { wide: false, maxLength: 200 });
  form.text(words.entrance, () => section().entrance ?? "", (entrance) => set({ entrance: entrance.trim() }), { wide: false, maxLength: 200 });
  form.text(words.viewUrl, () => section().viewUrl ?? "", (viewUrl) => set({ viewUrl: viewUrl.trim() }), { maxLength: 500, type: "url" });
  return form;
}

function decorationForm({ drawing, words }, index) {
  const { decoration } = thing(drawing.plan, `decoration:${index}`);
  const now = () => drawing.plan.decorations[index] ?? {};
  const set = (changes) => drawing.do(setDecoration(drawing.plan, index, changes), words.did.decoration);
  const form = new Form().heading(words.kinds[decoration.kind]);
  if (decoration.kind === "icon") form.choice(words.kinds.icon, Object.entries(words.icons), () => now().icon, (icon) => set({ icon }));
  if (decoration.kind !== "wall") {
    form.text(words.textOf, () => now().text ?? "", (text) => {
      if (decoration.kind !== "text" || text.trim() !== "") set({ text: text.trim() });
    }, { maxLength: 200 });
  }
  form.text(words.floor, () => now().floor ?? "", (floor) => set({ floor: floor.trim() }), { maxLength: 200 });
  return form;
}
