// Package seats is the inventory: events with their counters, and customers' timed locks
// on seats.
//
// # Guarantees
//
//   - The invariants of holdfast.Event hold in every committed state: a lock and its
//     event's counter change in one transaction.
//   - A lock leaves ACTIVE once, and its seats become available once.
//   - The database's clock decides whether a lock is due, before and after a sweep.
//
// The rules are in package seats/inventory; package internal/pipeline executes them.
//
// # Seating plans
//
// Plans stores seating plans. A plan is created once and never changes: no function updates or removes one,
// so that an event can rely on its plan. Two collections hold a plan, and one transaction writes both:
//
//   - seatingplans has one document for each plan: its summary. Lists and checks read nothing else.
//   - seatingsections has the rows and seats, written out, in parts of about 1 MiB, because a plan
//     may exceed the 16 MiB of one document. A part belongs to one section, so that a section is
//     read without the others.
//
// A document of other software in seatingplans is not a plan: lists leave it out, and by ID it is
// SEATING_PLAN_NOT_FOUND. A plan whose documents were damaged is listed; reading its seats fails
// with UNAVAILABLE. Plans.Hall returns a plan compiled for decisions, from a cache of limited size.
//
// # Failures
//
// A refusal has a code, and changes nothing. UNAVAILABLE means that nothing was changed.
// After OUTCOME_UNKNOWN the change may have been made; the caller should retry with the same idempotency
// key. A process that dies may leave locks that no caller knows; they expire like
// any other lock.
package seats
