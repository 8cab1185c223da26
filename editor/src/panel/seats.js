// The forms of selected seats.

import {
  align, distribute, measureRows, mirror, moveToSection, partsOf, reshapeRows, rotate, rowsIn, sameRows, sectionRef, setRows, setSeats, wholeRows,
} from "../edit.js";
import { Form, button } from "../fields.js";
import { copiesForm } from "./copies.js";
import { numberingForm, renumbered } from "./numbering.js";
import { rowButtons } from "./rows.js";

// summary is what the selected seats have in common: a property that differs is undefined. It is made once for each selection.
function summaryOf(drawing) {
  let [plan, selection, found] = [undefined, undefined, undefined];
  return () => {
    if (plan === drawing.plan && selection === drawing.selection) return found;
    [plan, selection] = [drawing.plan, drawing.selection];
    found = summarise(plan, selection);
    return found;
  };
}

const flags = ["accessible", "companion", "restrictedView"];

function summarise(plan, selection) {
  const rows = rowsIn(plan, selection);
  const sets = { category: new Set(), note: new Set(), viewUrl: new Set(), label: new Set(), ...Object.fromEntries(flags.map((f) => [f, new Set()])) };
  let seats = 0;
  for (const { selected } of rows) {
    for (const seat of selected) {
      seats++;
      for (const [field, values] of Object.entries(sets)) if (values.size < 2) values.add(seat[field] ?? (flags.includes(field) ? false : ""));
    }
  }
  const only = (values) => (values.size === 1 ? [...values][0] : undefined);
  const common = Object.fromEntries(Object.entries(sets).map(([field, values]) => [field, only(values)]));
  return {
    ...common, seats, first: rows[0]?.selected[0]?.id, last: rows.at(-1)?.selected.at(-1)?.id, rows: rows.length, rowLabel: only(new Set(rows.map((r) => r.row.label))), adjacency: only(new Set(rows.map((r) => r.row.adjacency))),
    section: only(new Set(rows.map((r) => r.section.key))), isWhole: rows.every((r) => r.selected.length === r.row.seats.filter(Boolean).length),
  };
}

export function seatsForm(context) {
  const { drawing, words, toolbox: { rows } } = context;
  const summary = summaryOf(drawing);
  const set = (changes) => drawing.do(setSeats(drawing.plan, drawing.selection, changes), words.did.properties);
  const form = new Form();
  form.heading(words.seat);
  form.says(() => {
    const now = summary();
    return words.seatsInRows(now.seats, now.rows);
  });
  form.says(() => words.ids(summary().first, summary().last), "soft ids");
  const { plan } = drawing;
  if (!rows.canChange) form.choice(words.category, () => drawing.plan.categories.map((c) => [c.key, c.name]), () => summary().category,
    (category) => drawing.do(setSeats(drawing.plan, drawing.selection, { category }), words.did.category));
  if (summary().rows === 1) form.text(words.rowLabel, () => summary().rowLabel, (label) => drawing.do(setRows(drawing.plan, drawing.selection, { label }), words.did.properties), { wide: false, maxLength: 32 });
  if (summary().seats === 1) form.text(words.label, () => summary().label, (label) => set({ label }), { wide: false, maxLength: 32 });
  for (const flag of flags) form.check(words[flag], () => summary()[flag], (is) => set({ [flag]: is }));
  form.text(words.note, () => summary().note, (note) => set({ note }), { maxLength: 200 });
  form.text(words.viewUrl, () => summary().viewUrl, (viewUrl) => set({ viewUrl }), { maxLength: 500, type: "url" });
  form.choice(words.kindOfRow, Object.entries(words.adjacency), () => summary().adjacency, (adjacency) => {
    if (rows.canChange) rows.change({ adjacency });
    else drawing.do(setRows(drawing.plan, drawing.selection, { adjacency }), words.did.properties);
  });
  if (plan.sections.filter((s) => s.rows).length > 1) {
    form.choice(words.moveTo, () => drawing.plan.sections.filter((s) => s.rows).map((s) => [s.key, s.name]), () => summary().section,
      (key) => drawing.do(moveToSection(drawing.plan, drawing.selection, key), words.did.section));
  }
  form.buttons(
    button(words.wholeRows, () => drawing.select(wholeRows(drawing.plan, drawing.selection))),
    button(words.sameRows, () => drawing.select(sameRows(drawing.plan, drawing.selection, drawing.floor))),
    button(words.wholeSections, () => drawing.select(seatsOfSections(drawing.plan, drawing.selection))),
  );
  const forms = [form];
  if (!rows.canChange) {
    forms.push(numberingForm(context, {
      read: () => context.numbering, write: (numbering) => { context.numbering = numbering; },
      apply: (numbering) => drawing.do(renumbered(drawing, numbering), words.did.number),
    }));
    forms.push(shapeForm(context, summary));
  }
  forms.push(arrangeForm(context, summary), copiesForm(context));
  return forms;
}

function seatsOfSections(plan, selection) {
  const keys = new Set(rowsIn(plan, selection).map((r) => r.section.key));
  return partsOf(plan, new Set([...keys].map(sectionRef))).seats;
}

// shapeForm lays out the selected rows again.
function shapeForm({ drawing, words }, summary) {
  const form = new Form().heading(words.rowsOf);
  let [of, found] = [undefined, undefined];
  const shape = () => {
    if (of !== drawing.plan) [of, found] = [drawing.plan, measureRows(drawing.plan, drawing.selection)];
    return found;
  };
  const set = (changes) => drawing.do(reshapeRows(drawing.plan, drawing.selection, changes), words.did.shape, { merge: `shape ${Object.keys(changes)}` });
  const width = () => Math.max(1, summary().seats / Math.max(1, summary().rows) - 1) * shape().spacing;
  form.number(words.spacing, () => shape().spacing, (spacing) => set({ spacing }), { min: 0.1, max: 100, step: 0.05 });
  form.number(words.rowSpacing, () => shape().rowSpacing, (rowSpacing) => set({ rowSpacing }), { min: 0.1, max: 100, step: 0.05 });
  form.range(words.curvature, () => (shape().curvature * width() * 180) / Math.PI, (bend) => set({ curvature: (bend * Math.PI) / 180 / width() }), { min: -150, max: 150, step: 1 });
  form.number(words.rotation, () => shape().rotation, (rotation) => set({ rotation }), { min: -360, max: 360 });
  return form;
}

function arrangeForm(context, summary) {
  const { drawing, words } = context;
  const form = new Form().heading(words.arrange);
  const did = (fn, name) => () => drawing.do(fn(drawing.plan, drawing.selection), name);
  form.buttons(...Object.entries(words.align).map(([edge, text]) => button(text, did((p, s) => align(p, s, edge), words.did.align), { "aria-label": words.alignName(text) })));
  form.buttons(
    ...Object.entries(words.distribute).map(([axis, text]) => button(text, did((p, s) => distribute(p, s, axis), words.did.distribute))),
    ...Object.entries(words.mirror).map(([axis, text]) => button(text, did((p, s) => mirror(p, s, axis), words.did.mirror))),
  );
  const turn = { by: 15 };
  form.number(words.turnBy, () => turn.by, (by) => { turn.by = by; }, { min: -360, max: 360 });
  form.buttons(button(words.turn, () => did((p, s) => rotate(p, s, turn.by), words.did.turn)()), ...rowButtons(context, summary));
  return form;
}
