// Package recovery makes a database trustworthy again after a crash, a restore
// or outside hands: at every boot a pass over everything, and in between an
// audit of the counters.
//
// The pass goes in five steps: locks whose booking is confirmed are marked
// sold, stale locks and stale bookings expire by the sweeps, every counter is
// proved against its locks and mended, and INITIATED bookings are told of. Each
// step can be repeated and cut short anywhere, alone or beside live traffic.
//
// It reports and never changes: a CONFIRMED booking whose lock has ended, a
// CONSUMED lock without a CONFIRMED booking, locks whose seats are no number,
// events whose totalSeats is none.
package recovery
