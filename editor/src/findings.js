// What a drawing may want: mistakes that the server accepts, and its own problems, so that a click can go to each.

import { check } from "./check.js";

/**
 * @typedef {object} Finding
 * @property {string} code of the kind of finding, for a translation
 * @property {string} what a sentence
 * @property {"error" | "warning" | "hint"} severity error: the server refuses the plan
 * @property {string[]} [seats] IDs
 * @property {string} [section] key
 * @property {number} [decoration] index
 * @property {string} [where] the path in the plan
 */

/**
 * findings are all of them, errors first.
 * @param {import("./plan.js").Plan} plan
 * @returns {Finding[]}
 */
export function findings(plan) {
  return check(plan).map(({ where, what }) => ({ code: "server", what, severity: /** @type {const} */ ("error"), where, ...partAt(plan, where) }));
}

// partAt is the part of the plan at a path.
function partAt(plan, where) {
  const at = /^sections\[(\d+)\](?:\.rows\[(\d+)\](?:\.seats\[(\d+)\])?)?/.exec(where);
  if (!at) {
    const decoration = /^decorations\[(\d+)\]/.exec(where);
    return decoration ? { decoration: Number(decoration[1]) } : {};
  }
  const section = plan.sections[Number(at[1])];
  const row = at[2] === undefined ? undefined : section.rows[Number(at[2])];
  const seats = at[3] === undefined ? row?.seats.filter(Boolean) : [row.seats[Number(at[3])]];
  return { section: section.key, ...(seats ? { seats: seats.map((seat) => seat.id) } : {}) };
}
