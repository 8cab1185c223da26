// Package recovery makes a database trustworthy again after a crash, a restore or
// writes of other software: by a pass over everything at every boot, and by an audit of
// the counters in between.
//
// A pass makes a plan, page by page, and applies each page: ACTIVE locks of CONFIRMED
// bookings become CONSUMED, stale locks and stale bookings expire by the sweeps, every
// counter is proved against its locks and corrected, and INITIATED bookings are
// counted. Plan makes the same plan and applies nothing. A pass can be repeated and cut
// short anywhere, alone or beside live traffic.
//
// It reports and never changes: a CONFIRMED booking whose lock has ended, a CONSUMED
// lock without a CONFIRMED booking, locks whose seats are no number, events whose
// totalSeats is none.
package recovery
