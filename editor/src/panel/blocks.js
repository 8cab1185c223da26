// The form that draws many blocks at once, with aisles between them: a fan around what the hall looks at, or a ring, as in a stadium. Until
// something else is done, the blocks take on other numbers at once.

import { addBlocks, added } from "../edit.js";
import { Form, button } from "../fields.js";
import { successor } from "../plan.js";
import { fan, ring } from "../shapes.js";
import { boxOfSelection } from "../things.js";

let drawn = 0;

/** standard is what the form begins with. */
const standard = { shape: "fan", blocks: 3, rows: 10, radius: 10, radiusY: 8, angle: 90, rotation: 0, aisle: 2, name: undefined };

export function blocksForm(context) {
  const { drawing, words, board } = context;
  const now = context.blocks ??= { ...standard, name: words.blockName(1) };
  const canChange = () => now.last !== undefined && now.last.plan === drawing.plan;
  const build = () => {
    const { base, merge } = now.last;
    const next = addBlocks(base, layOut(now, drawing), { name: now.name, category: drawing.category, floor: drawing.floor || undefined });
    now.last = { base, merge, plan: next };
    drawing.do(next, words.did.blocks, { select: added(base, next), merge });
    board.show(boxOfSelection(board));
  };
  const set = (changes) => {
    Object.assign(now, changes);
    if (canChange()) build();
  };
  const form = new Form().heading(words.blocks);
  form.says(() => words.blocksHelp);
  form.choice(words.blocksShape, Object.entries(words.blocksShapes), () => now.shape, (shape) => {
    set({ shape });
    form.refresh();
  });
  const number = (label, name, options) => form.number(label, () => now[name], (value) => set({ [name]: value }), options);
  form.text(words.blocksFirst, () => now.name, (name) => set({ name: name.trim() || words.blockName(1) }), { maxLength: 200 });
  number(words.blocksNumber, "blocks", { min: 1, max: 200 });
  number(words.blocksRows, "rows", { min: 1, max: 200 });
  number(words.blocksRadius, "radius", { min: 1, max: 5000, step: 0.5 });
  const ofRing = number(words.blocksRadiusY, "radiusY", { min: 1, max: 5000, step: 0.5 });
  const ofFan = [number(words.blocksAngle, "angle", { min: 1, max: 360 }), number(words.blocksRotation, "rotation", { min: -360, max: 360 })];
  number(words.blocksAisle, "aisle", { min: 0, max: 100, step: 0.5 });
  form.follows(() => {
    ofRing.parentNode.hidden = now.shape !== "ring";
    for (const field of ofFan) field.parentNode.hidden = now.shape !== "fan";
  });
  form.buttons(button(words.blocksDraw, () => {
    if (canChange()) Object.assign(now, behind(now, drawing)); // in the same place they would be on each other
    now.last = { base: drawing.plan, merge: `blocks ${drawn += 1}` };
    build();
    form.refresh();
  }));
  return form;
}

// behind are the numbers of more blocks behind those that have just been drawn, as the upper tier of a stadium; their names go on.
function behind({ rows, radius, radiusY, aisle }, { plan, options }) {
  const deep = rows * options.rowSpacing + aisle;
  return { radius: radius + deep, radiusY: radiusY + deep, name: successor(plan.sections.at(-1).name) };
}

// layOut puts the blocks around the best view; a fan is below it, if it is not turned.
function layOut({ shape, blocks, rows, radius, radiusY, angle, rotation, aisle }, drawing) {
  const { x, y } = drawing.plan.focalPoint ?? { x: 0, y: 0 };
  const { spacing, rowSpacing } = drawing.options;
  const common = { at: /** @type {[number, number]} */ ([x, y]), blocks, rows, spacing, rowSpacing, aisle };
  if (shape === "ring") return ring({ ...common, radii: [radius, radiusY] });
  return fan({ ...common, radius, from: 90 + rotation + angle / 2, to: 90 + rotation - angle / 2 });
}
