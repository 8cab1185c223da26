// The form that copies what is selected several times: in a line, around a point, and as in a mirror.

import { added, copiesTables, mirrorCopy, pointsOf, repeat, repeatAround } from "../edit.js";
import { Form, button } from "../fields.js";
import { boxOf } from "../points.js";

/** copiesForm begins with copies next to what is selected, around the best view. */
export function copiesForm({ drawing, words }) {
  const box = boxOf(pointsOf(drawing.plan, drawing.selection)) ?? { x0: 0, y0: 0, x1: 0, y1: 0 };
  const { x = 0, y = 0 } = drawing.plan.focalPoint ?? {};
  const now = { n: 1, dx: Math.ceil(box.x1 - box.x0) + 2, dy: 0, degrees: 30, x, y, upright: false, as: undefined };
  const form = new Form().heading(words.copies);
  const number = (label, name, options) => form.number(label, () => now[name], (value) => { now[name] = value; }, options);
  const copy = (fn) => () => {
    const { plan, selection } = drawing;
    const next = fn(plan, selection, { as: now.as });
    drawing.do(next, words.did.duplicate, { select: [...selection, ...added(plan, next)] });
  };
  number(words.copiesNumber, "n", { min: 1, max: 200 });
  const asSections = form.check(words.copiesAsSections, () => now.as === "sections", (is) => { now.as = is ? "sections" : undefined; });
  form.follows(() => {
    asSections.parentNode.hidden = !copiesTables(drawing.plan, drawing.selection);
    if (asSections.parentNode.hidden) now.as = undefined;
  });
  number(words.copiesRight, "dx", { step: 0.5 });
  number(words.copiesDown, "dy", { step: 0.5 });
  form.buttons(button(words.copiesLine, copy((plan, selection, options) => repeat(plan, selection, now.n, now.dx, now.dy, options))));
  number(words.copiesTurn, "degrees", { min: -360, max: 360 });
  number(words.copiesX, "x", { step: 0.5 });
  number(words.copiesY, "y", { step: 0.5 });
  form.check(words.copiesUpright, () => now.upright, (upright) => { now.upright = upright; });
  form.buttons(
    button(words.copiesAround, copy((plan, selection, options) => (
      repeatAround(plan, selection, now.n, now.degrees, [now.x, now.y], { ...options, upright: now.upright })))),
    ...Object.entries(words.copiesMirror).map(([axis, text]) => button(text, copy((plan, selection, options) => mirrorCopy(plan, selection, axis, now[axis], options)))),
  );
  return form;
}
