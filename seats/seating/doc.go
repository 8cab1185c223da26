// Package seating has the rules for the seats of a hall: which plans are valid, what a plan looks like
// written out, which seats are free, and which of them a request gets. It is pure: no database,
// no clock, no context, no I/O.
//
//   - Check returns the problems of a plan, and Expand writes a plan out.
//   - A Hall is a plan compiled for decisions. It never changes, and all goroutines share it.
//   - An Occupancy records which seats of a hall are free. Its owner changes it, and undoes the
//     changes of a decision that failed.
//
// A section's seats are numbered from 0 in the plan's order, without gaps. This is the order of
// the bits of a section's map: one bit a seat, 1 for a seat that is not available, the first
// seat in the highest bit of the first byte.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package seating
