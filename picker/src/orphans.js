// The rule of single seats, as the server applies it to events with orphanRule REFUSE: see its API's contract. A seat
// is single if it is free and has no free neighbour. In each row of which k free seats are chosen, no more new single
// seats may be left than the fewest that any k free seats of the row would leave.

/**
 * orphans are the seats that a choice would leave single, and that another choice of as many seats would not.
 * @param isFree whether a seat can be had or is the customer's own; false for a reserved accessible seat
 */
export function orphans(hall, chosen, isFree) {
  const found = [];
  for (const number of new Set(chosen.map((i) => hall.rowOf[i]))) {
    const row = hall.rows[number];
    const seats = new Set(chosen.filter((i) => hall.rowOf[i] === number));
    if (row.adjacency === "LINE") found.push(...inRow(hall, row, seats, isFree));
  }
  return found.sort((a, b) => a - b);
}

function inRow(hall, row, chosen, isFree) {
  const singles = [];
  let named = 0;
  let sums = new Set([0]); // the numbers of seats that can be taken without leaving a new single one
  for (const [first, end] of runs(hall, row, isFree)) {
    const length = end - first;
    let taken = 0;
    for (let i = first; i < end; i++) if (chosen.has(i)) taken++;
    if (taken > 0) {
      for (let i = first; i < end; i++) {
        if (!chosen.has(i) && (i === first || chosen.has(i - 1)) && (i === end - 1 || chosen.has(i + 1))) singles.push(i);
      }
    }
    named += taken;
    const next = new Set(sums);
    for (const total of sums) {
      for (let n = 1; n <= length && total + n <= chosen.size; n++) if (n !== length - 1) next.add(total + n);
    }
    sums = next;
  }
  return singles.length > (sums.has(named) ? 0 : 1) ? singles : [];
}

// runs are the free seats of a row that are next to each other.
function* runs(hall, row, isFree) {
  for (let first = row.first; first < row.end;) {
    let end = first;
    while (end < row.end && isFree(end) && (end === first || hall.place[end] === hall.place[end - 1] + 1)) end++;
    if (end > first) yield [first, end];
    first = Math.max(end, first + 1);
  }
}
