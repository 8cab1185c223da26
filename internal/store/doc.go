// Package store reads and writes events, locks and bookings in MongoDB: it loads the state
// for a decision, and applies the plan. It is the only code that writes these collections.
//
//	Load(ctx, event, needs) → inventory.State   one snapshot of the database
//	Apply(ctx, plans, beforeCommit)             one transaction, guarded by the plans
//
// Load is in load.go, Apply in apply.go; statements.go has the guards and the updates. The
// order of writes is the same everywhere: event, locks, new locks, bookings. If a guard of a
// plan does not match, the transaction ends with ErrStale and writes nothing.
//
// Fields that only Holdfast uses are in the sub-document internal of each document (fields.go).
// internal.rev is raised by every change, internal.fence by a transaction that holds an event and
// changes nothing of it, internal.fixes by each repair of the counter.
//
// A wrong counter is repaired by its drift, which is measured at a snapshot outside of a transaction
// and subtracted from whatever the counter is by then. Sales change counter and locks together, so
// they don't change the drift. The guard is the number of earlier repairs.
//
// A document that breaks the schema of its collection (validators.go) is corrupt: lists, sums and decisions leave it out, and an event
// that is corrupt can't be changed (ErrUnusable).
//
// The other files are queries (lists, due locks and bookings, the audit, the stream of
// changes) and four writes without a decision: drifts.go corrects many counters at a time,
// purge.go deletes what ended long ago, archive.go marks past events, erase.go erases customers.
package store
