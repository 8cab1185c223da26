// The forms of the tools: what the next thing that is drawn is like, and the numbers of what was drawn last.

import { Form, button } from "../fields.js";
import { sectionByKey } from "../plan.js";
import { blocksForm } from "./blocks.js";
import { rowsOf, withSeatsOfRows } from "../tools/rows.js";
import { numberingForm, usual } from "./numbering.js";

/** toolForms are those of the tool in use. */
export function toolForms(context) {
  const { drawing, toolbox } = context;
  const { tool } = drawing;
  const { rows } = toolbox;
  const forms = [];
  if (rows.canChange && drawing.selection.size > 0) forms.push(...drawnForms(context));
  else if (["block", "row", "curve", "table", "seat"].includes(tool?.name)) forms.push(newRowsForm(context, tool));
  if (tool?.name === "block" && !(rows.canChange && drawing.selection.size > 0)) forms.push(blocksForm(context));
  if (tool?.name === "area") forms.push(categoryForm(context));
  if (tool?.name === "icon") forms.push(iconForm(context));
  if (tool?.name === "focal") forms.push(focalForm(context));
  if (tool?.name === "picture") forms.push(pictureForm(context, tool));
  return forms;
}

const categories = (drawing) => () => drawing.plan.categories.map((c) => [c.key, c.name]);

function addCategory(form, { drawing, words }) {
  form.choice(words.category, categories(drawing), () => drawing.category, (category) => drawing.set({ category }));
}

function categoryForm(context) {
  const form = new Form().heading(context.words.toolNames[context.drawing.tool.name]);
  addCategory(form, context);
  return form;
}

// newRowsForm is for what is drawn next.
function newRowsForm(context, tool) {
  const { drawing, words, board } = context;
  const form = new Form().heading(words.toolNames[tool.name]);
  const sections = () => [["", words.newSection], ...drawing.plan.sections.filter((s) => s.rows).map((s) => [s.key, s.name])];
  form.choice(words.section, sections, () => drawing.section?.key ?? "", (section) => drawing.set({ section }));
  addCategory(form, context);
  if (tool.name === "block") {
    for (const [label, name] of [[words.rows, "rows"], [words.seatsPerRow, "seats"]]) {
      form.number(label, () => tool.typed[name], (n) => {
        if (n === undefined) delete tool.typed[name];
        else tool.typed[name] = Math.floor(n);
      }, { min: 1, max: 500, empty: String(tool.shape[name]) });
    }
  }
  if (tool.name === "table") addTable(form, words, () => tool.shape, (changes) => {
    Object.assign(tool.shape, changes);
    form.refresh();
  });
  if (tool.name !== "seat") form.number(words.spacing, () => drawing.options.spacing, (spacing) => drawing.set({ spacing }), { min: 0.1, max: 100, step: 0.05 });
  if (tool.name === "block") {
    form.number(words.rowSpacing, () => drawing.options.rowSpacing, (rowSpacing) => drawing.set({ rowSpacing }), { min: 0.1, max: 100, step: 0.05 });
    form.buttons(button(words.place, () => {
      const { camera } = board;
      tool.enter(board.cursor ?? drawing.snap({ x: camera.planX(camera.width / 2), y: camera.planY(camera.height / 3) }));
    }));
  }
  return form;
}

function addTable(form, words, read, write) {
  form.choice(words.tableKind, Object.entries(words.tableKinds), () => read().kind, (kind) => write({ kind }));
  const seats = form.number(words.tableSeats, () => read().seats, (n) => write({ seats: n }), { min: 1, max: 60 });
  const sides = Object.values(words.sides).map((label, i) => form.number(label, () => read().sides[i], (n) => write({ sides: read().sides.with(i, n) }), { min: 0, max: 60 }));
  form.follows(() => {
    seats.parentNode.hidden = read().kind !== "round";
    for (const side of sides) side.parentNode.hidden = read().kind === "round";
  });
}

// drawnForms are for what was drawn last: it takes on other numbers at once.
function drawnForms(context) {
  const { drawing, words, toolbox: { rows } } = context;
  const { last } = rows;
  const { shape } = last;
  const form = new Form().heading(words.toolNames[last.name]);
  const set = (changes) => rows.change({ shape: changes });
  const nameOf = () => sectionByKey(drawing.plan, rows.last.key).name;
  if (last.isNew) form.text(words.section, nameOf, (name) => rows.change({ section: { name: name.trim() || nameOf() } }), { maxLength: 200 });
  form.choice(words.category, categories(drawing), () => rows.last.category, (category) => rows.change({ category }));
  if (last.name === "block" || last.name === "row") {
    if (last.name === "block") form.number(words.rows, () => rows.last.shape.rows, (n) => set({ rows: n }), { min: 1, max: 500 });
    const inAll = () => (Array.isArray(rows.last.shape.seats) ? undefined : rows.last.shape.seats);
    form.number(words.seatsPerRow, inAll, (n) => set({ seats: n }), { min: 1, max: 500 });
    if (last.name === "block") {
      form.text(words.seatsOfRows, () => (inAll() === undefined ? rows.last.shape.seats.join(", ") : ""), (text) => set(withSeatsOfRows(rows.last.shape, text)));
    }
    form.number(words.spacing, () => rows.last.shape.spacing, (spacing) => set({ spacing }), { min: 0.1, max: 100, step: 0.05 });
    if (last.name === "block") form.number(words.rowSpacing, () => rows.last.shape.rowSpacing, (rowSpacing) => set({ rowSpacing }), { min: 0.1, max: 100, step: 0.05 });
    form.range(words.curvature, () => rows.last.shape.bend ?? 0, (bend) => set({ bend }), { min: -150, max: 150, step: 1 });
    if (last.name === "block") {
      form.text(words.aisles, () => rows.last.shape.aisles.join(", "), (text) => set({ aisles: listOf(text).map(Number) }), {
        inputMode: "decimal", help: words.aislesHelp, problem: (text) => {
          const wrong = listOf(text).find((one) => !isAisle(rows.last.shape, Number(one)));
          return wrong === undefined ? "" : words.noAisle(wrong);
        },
      });
      form.number(words.aisle, () => rows.last.shape.aisle ?? rows.last.shape.spacing, (aisle) => set({ aisle }), { min: 0, max: 100, step: 0.05 });
      form.number(words.fan, () => rows.last.shape.fan, (fan) => set({ fan }), { min: -120, max: 120 });
      form.number(words.skew, () => rows.last.shape.skew, (skew) => set({ skew }), { min: -50, max: 50, step: 0.1 });
    }
    form.number(words.rotation, () => rows.last.shape.rotation, (rotation) => set({ rotation }), { min: -360, max: 360 });
    if (last.name === "block") {
      const at = () => rows.last.shape.at;
      form.number(words.frontX, () => at()[0], (x) => set({ at: [x, at()[1]] }), { step: 0.5 });
      form.number(words.frontY, () => at()[1], (y) => set({ at: [at()[0], y] }), { step: 0.5 });
    }
  } else if (last.name === "table") {
    addTable(form, words, () => rows.last.shape, set);
    form.number(words.rotation, () => rows.last.shape.rotation, (rotation) => set({ rotation }), { min: -360, max: 360 });
  } else if (shape.spacing !== undefined) {
    form.number(words.spacing, () => rows.last.shape.spacing, (spacing) => set({ spacing }), { min: 0.1, max: 100, step: 0.05 });
  }
  return [form, numberingForm(context, { read: () => rows.last.numbering ?? (last.isNew ? usual : { seats: usual.seats }), write: (numbering) => {
    context.numbering = numbering; // of the next seats that are numbered, too
    rows.change({ numbering });
  } })];
}

const listOf = (text) => text.split(/[,;\s]+/).filter(Boolean);

// isAisle reports whether a number is after a seat of a row of a block, or a part of one, and so makes an aisle there.
const isAisle = (shape, n) => n > 0 && (n < 1 || Number.isInteger(n)) && rowsOf({ ...shape, aisles: [n] }).some((row) => row.includes(null));

function iconForm({ drawing, words }) {
  const form = new Form().heading(words.toolNames.icon);
  form.choice(words.kinds.icon, Object.entries(words.icons), () => drawing.options.icon ?? "entrance", (icon) => drawing.set({ icon }));
  return form;
}

function focalForm({ drawing, words, editor }) {
  const form = new Form().heading(words.focalPoint);
  form.says(() => (drawing.plan.focalPoint === undefined ? words.focalNone : ""));
  const at = (axis) => () => drawing.plan.focalPoint?.[axis];
  const set = (axis) => (value) => editor.setFocalPoint({ ...drawing.plan.focalPoint ?? { x: 0, y: 0 }, [axis]: value });
  form.number("x", at("x"), set("x"), { step: 0.5 });
  form.number("y", at("y"), set("y"), { step: 0.5 });
  form.buttons(button(words.focalRemove, () => editor.setFocalPoint(null)));
  return form;
}

// pictureForm chooses a picture, and gives it its scale.
function pictureForm(context, tool) {
  const { words, board } = context;
  const form = new Form().heading(words.picture);
  form.says(() => words.pictureHelp);
  const failure = form.says(() => "", "wrong");
  const file = document.createElement("input");
  Object.assign(file, { type: "file", accept: "image/*", hidden: true });
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    try {
      tool.show(await createImageBitmap(chosen), chosen);
      form.refresh();
    } catch {
      failure.textContent = words.pictureFails;
      failure.hidden = false;
    }
  });
  const remove = button(words.removePicture, () => tool.remove());
  const begin = button(words.setScale, () => {
    tool.beginScale();
    board.node.focus();
  });
  form.add(file).buttons(button(words.choosePicture, () => file.click(), { className: "primary" }), remove, begin);
  const visible = form.range(words.opacity, () => board.picture?.opacity ?? 0.5, (opacity) => tool.change({ opacity }), { min: 0.1, max: 1, step: 0.05 });
  const size = { length: 10, seat: 0.55 };
  const length = form.number(words.realLength, () => size.length, (n) => Object.assign(size, { length: n }), { min: 0.1, max: 2000, step: 0.1 });
  const seat = form.number(words.seatWidth, () => size.seat, (n) => Object.assign(size, { seat: n }), { min: 0.2, max: 5, step: 0.01 });
  const use = button(words.useLength, () => tool.useLength(size.length / size.seat), { className: "primary" });
  form.buttons(use);
  form.follows(() => {
    const has = board.picture !== undefined;
    remove.hidden = begin.hidden = visible.parentNode.hidden = !has;
    length.parentNode.hidden = seat.parentNode.hidden = use.hidden = tool.points?.length !== 2;
  });
  return form;
}
