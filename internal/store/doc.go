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
// Documents may come from other software: a field may be missing or of another type. A
// field that can't be read counts as absent; see package mongodb.
//
// The other files are queries (lists, due locks and bookings, the audit, the stream of
// changes) and three writes that decide nothing: drifts.go corrects many counters at a time,
// purge.go deletes what ended long ago, seal.go seals events that are over.
package store
