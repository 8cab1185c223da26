// The keyboard. Keys with Ctrl, Delete, Backspace and Escape are those of the whole editor, unless the user types into a field; letters and signs
// are those of the drawing and its tools.

import { shortcuts } from "./toolbox.js";

const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const leap = 10; // steps of the grid with Shift

// enterText ends typing in a field, so that its text is part of what is stored.
function enterText(field) {
  if (field?.tagName !== "INPUT") return;
  field.blur();
  if (field.isConnected) field.focus();
}

/** listenToKeys passes keys on to the tools and commands. */
export function listenToKeys(root, { board, drawing, commands, toolbox, save }) {
  const withControl = {
    z: (shift) => (shift ? drawing.redo() : drawing.undo()), y: () => drawing.redo(), c: () => commands.copy(), x: () => commands.cut(), v: () => commands.paste(),
    d: () => commands.duplicate(), a: () => commands.selectAll(), s: () => {
      enterText(root.getRootNode().activeElement);
      save();
    },
  };
  root.addEventListener("keydown", (event) => {
    const types = event.target.closest("input:not([type=checkbox], [type=color], [type=range]), select, textarea") !== null;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const isControl = event.ctrlKey || event.metaKey;
    if (isControl && !event.altKey) {
      if (arrows[key] !== undefined && event.target === board.node) {
        event.preventDefault();
        return moveCross(arrows[key], event.shiftKey ? leap : 1);
      }
      const isOfText = types && event.target.tagName !== "SELECT" && key !== "s" && key !== "d";
      if (withControl[key] === undefined || isOfText) return;
      event.preventDefault();
      withControl[key](event.shiftKey);
      return;
    }
    if (types || isControl || event.altKey) {
      if (event.key === "Escape") board.node.focus();
      return;
    }
    if (keyOfBoard(event, key)) event.preventDefault();
  });

  const anywhere = {
    Delete: () => commands.remove(), Escape: escape, Backspace: () => { if (!drawing.tool?.back?.()) commands.remove(); },
  };
  const zoom = { "+": () => board.zoomIn(), "=": () => board.zoomIn(), "-": () => board.zoomOut(), 0: () => board.whole() };

  // keyOfBoard reports whether it has used the key. Letters and signs are keys only while the drawing or a tool's button has the focus (WCAG
  // 2.1.4). Arrows and Enter are the board's only when it has the focus: elsewhere they belong to buttons and sliders.
  function keyOfBoard(event, key) {
    if (anywhere[key] !== undefined && (key === "Escape" || event.target.tagName !== "INPUT")) { // Delete on a slider is not meant for seats
      anywhere[key]();
      return true;
    }
    if (event.target !== board.node && !toolbox.node.contains(event.target)) return false;
    if (zoom[key] !== undefined) {
      zoom[key]();
      return true;
    }
    if (shortcuts[key] !== undefined && !event.shiftKey) {
      toolbox.choose(shortcuts[key]);
      board.node.focus();
      return true;
    }
    if (event.target !== board.node) return false;
    if (arrows[key] !== undefined) arrow(arrows[key], event.shiftKey ? leap : 1);
    else if (key === "Enter") enter(event.shiftKey);
    else return key === " ";
    return true;
  }

  function escape() {
    if (board.isDragging) board.cancel();
    else if (drawing.tool?.escape?.() !== true && drawing.tool?.name !== "select") toolbox.chooseKeeping("select");
    board.cursor = undefined;
    board.node.focus({ preventScroll: true });
    board.draw();
  }

  function arrow([dx, dy], steps) {
    if (drawing.tool?.name === "select" && drawing.selection.size > 0) return commands.nudge(dx * steps, dy * steps);
    return moveCross([dx, dy], steps);
  }

  function moveCross([dx, dy], steps) {
    const { grid } = drawing.options;
    const { camera } = board;
    const middle = drawing.snap({ x: camera.planX(camera.width / 2), y: camera.planY(camera.height / 2) });
    const from = board.cursor ?? middle;
    board.cursor = board.cursor === undefined ? middle : { x: from.x + dx * steps * grid, y: from.y + dy * steps * grid };
    drawing.tool?.hover?.({ ...board.cursor, alt: true });
    return board.show({ x0: board.cursor.x, y0: board.cursor.y, x1: board.cursor.x, y1: board.cursor.y });
  }

  function enter(shift) {
    const { tool } = drawing;
    if (tool?.enter !== undefined) return tool.enter(board.cursor);
    if (board.cursor !== undefined) return tool?.click?.({ ...board.cursor, shift, alt: false });
    return undefined;
  }
}
