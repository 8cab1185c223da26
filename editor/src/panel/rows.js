// The buttons that change rows: their gaps, their ends and the order of their seats.

import { guessGaps, insertGap, insertGaps, joinRows, orderSeats, removeGap, removeGaps, reverseRows, splitRow } from "../edit.js";
import { button } from "../fields.js";

/** rowButtons are those for one seat, or for the rows of several. */
export function rowButtons({ drawing, words }, summary) {
  const { seats, rows } = summary();
  const did = (fn, name) => () => drawing.do(fn(drawing.plan, drawing.selection), name);
  if (seats === 1) {
    const [id] = drawing.selection;
    const { spacing } = drawing.options;
    return [
      button(words.gapInsert, did((plan) => insertGap(plan, id, "after", spacing), words.did.gap)),
      button(words.gapRemove, did((plan) => removeGap(plan, id, "after", spacing), words.did.gap)),
      button(words.split, did((plan) => splitRow(plan, id), words.did.split)),
    ];
  }
  const { spacing } = drawing.options;
  return [
    ...rows === seats ? [ // one in each row, as along an aisle
      button(words.gapInsert, did((plan, selection) => insertGaps(plan, selection, "after", spacing), words.did.gap)),
      button(words.gapRemove, did((plan, selection) => removeGaps(plan, selection, "after", spacing), words.did.gap)),
    ] : [],
    ...rows > 1 ? [button(words.join, did(joinRows, words.did.join))] : [],
    button(words.sortRow, did(orderSeats, words.did.order)),
    button(words.reverseRow, did(reverseRows, words.did.order)),
    button(words.findGaps, did(guessGaps, words.did.gap)),
  ];
}
