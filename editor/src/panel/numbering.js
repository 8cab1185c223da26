// The form of numbering, with what it gives for the first rows.

import { Form, button } from "../fields.js";
import { preview, renumber } from "../numbering.js";

/** usual is how halls are numbered most often. */
export const usual = { rows: { kind: "letters", order: "front" }, seats: { kind: "numbers", direction: "right" } };

const rowKinds = {
  letters: { kind: "letters" }, lettersNoIO: { kind: "letters", skip: "IO" }, doubled: { kind: "letters", doubled: true },
  doubledNoIO: { kind: "letters", doubled: true, skip: "IO" }, numbers: { kind: "numbers" },
};
const previewed = 3; // rows
const shown = 14; // labels of each

/**
 * numberingForm reads and writes options of renumber. With apply there is a button; without, write has applied them.
 */
export function numberingForm({ drawing, words }, { read, write, apply }) {
  const form = new Form().heading(words.numbering);
  const now = () => read() ?? usual;
  const set = (part, changes) => {
    write({ ...now(), [part]: now()[part] === undefined ? { ...usual[part], ...changes } : { ...now()[part], ...changes } });
    form.refresh();
  };
  const rowKind = () => {
    const { rows } = now();
    if (rows === undefined) return "keep";
    return Object.keys(rowKinds).find((name) => ["kind", "skip", "doubled"].every((field) => rowKinds[name][field] === rows[field]));
  };
  form.choice(words.rowNames, Object.entries(words.rowKinds), rowKind, (kind) => {
    if (kind === "keep") write({ ...now(), rows: undefined });
    else set("rows", { skip: undefined, doubled: undefined, from: undefined, ...rowKinds[kind] });
    form.refresh();
  });
  const rowFields = [
    form.text(words.firstRow, () => now().rows?.from ?? (now().rows?.kind === "numbers" ? "1" : "A"), (from) => set("rows", { from: from.trim() || undefined }), { wide: false, maxLength: 8 }),
    form.text(words.prefix, () => now().rows?.prefix ?? "", (prefix) => set("rows", { prefix: prefix === "" ? undefined : prefix.endsWith(" ") ? prefix : `${prefix} ` }), { wide: false, maxLength: 16 }),
    form.choice(words.startsAt, Object.entries(words.rowStarts), () => now().rows?.order ?? "front", (order) => set("rows", { order })),
  ];
  const seatKind = () => (now().seats === undefined ? "keep" : now().seats.kind ?? "numbers");
  form.choice(words.seatNames, Object.entries(words.seatKinds), seatKind, (kind) => {
    if (kind === "keep") write({ ...now(), seats: undefined });
    else set("seats", { kind, from: undefined });
    form.refresh();
  });
  const way = () => {
    const { scheme, odd = "left", direction = "right" } = now().seats ?? {};
    return scheme === "sides" ? `sides-${odd}` : direction;
  };
  const seatFields = [
    form.text(words.firstSeat, () => now().seats?.from ?? (now().seats?.kind === "letters" ? "A" : "1"), (from) => set("seats", { from: from.trim() || undefined }), { wide: false, maxLength: 8 }),
    form.number(words.step, () => now().seats?.step ?? 1, (by) => { if (by !== 0) set("seats", { step: by }); }, { min: -10, max: 10 }),
    form.choice(words.startsAt, Object.entries(words.seatStarts), way, (value) => {
      const [scheme, odd] = value.split("-");
      set("seats", odd === undefined ? { scheme: undefined, odd: undefined, direction: scheme } : { scheme, odd, direction: "right" });
    }),
    form.choice(words.middle, Object.entries(words.middles), () => now().seats?.middle ?? "gap", (middle) => set("seats", { middle })),
    form.choice(words.continues, Object.entries(words.over), () => now().seats?.over ?? "row", (over) => set("seats", { over })),
    form.check(words.countGaps, () => now().seats?.gaps === true, (gaps) => set("seats", { gaps })),
  ];
  const [, step, , middle] = seatFields;
  form.follows(() => {
    for (const field of rowFields) field.parentNode.hidden = now().rows === undefined;
    const { seats } = now();
    for (const field of seatFields) field.parentNode.hidden = seats === undefined || field === (seats.scheme === "sides" ? step : middle);
  });
  form.says(() => words.numberPreview(previewOf(drawing, now())), "soft preview");
  if (apply !== undefined) form.buttons(button(words.number, () => apply(now()), { className: "primary" }));
  return form;
}

function previewOf(drawing, options) {
  return preview(drawing.plan, drawing.selection, options, previewed).map(({ row, seats }) => {
    const labels = seats.map((label) => label ?? "–");
    return `${row}: ${labels.slice(0, shown).join(" ")}${labels.length > shown ? " …" : ""}`;
  }).join("\n");
}

/** renumbered is the plan with the selection numbered. */
export const renumbered = (drawing, numbering) => renumber(drawing.plan, drawing.selection, numbering, drawing.kept);
