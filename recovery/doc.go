// Package recovery finds and repairs contradictions in a database after a crash, a restore
// or writes of other software. A pass checks all documents at every start; an audit checks
// counters and maps of seats between the starts.
//
// A pass makes a plan, page by page, and applies each page. ACTIVE locks of CONFIRMED
// bookings become CONSUMED. Stale locks and stale bookings expire by the sweeps. Every
// counter, and every map of seats, is compared with its locks and corrected. INITIATED bookings
// are counted. Plan makes the same plan and applies nothing. A pass may be interrupted and
// repeated at any time, also during a sale.
//
// Events that are over and sealed are skipped, unless they were changed although they are sealed.
//
// A pass only reports: a CONFIRMED booking whose lock has ended, a CONSUMED lock without a
// CONFIRMED booking, a lock with several, and seats or a totalSeats that are no number. Of
// seated events: a seat that several locks have, a lock whose seats are in no place of the plan,
// a plan that is missing, damaged or was taken away, a totalSeats that is not the plan's, and
// more taken of general admission than a section has.
package recovery
