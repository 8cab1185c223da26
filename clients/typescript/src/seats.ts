// Seats of a section, as maps and streams send them.

import type { SeatingPlanSection } from "./openapi.js";

/**
 * takenSeats returns the IDs of the seats of a section that are not available. The section is of getSeatingPlan, the bitmap of
 * getSeats or of a message `seats`: one bit for each seat in plan order without gaps, the highest bit first.
 */
export function takenSeats(section: SeatingPlanSection, bitmap: string): Set<string> {
  const bytes = atob(bitmap);
  const taken = new Set<string>();
  let n = 0;
  for (const row of section.rows ?? []) {
    for (const seat of Array.isArray(row.seats) ? row.seats : []) {
      if (seat === null) continue;
      if (bytes.charCodeAt(n >> 3) & (0x80 >> (n & 7))) taken.add(seat.id);
      n++;
    }
  }
  return taken;
}
