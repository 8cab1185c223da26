// Package store reads and writes events, locks and bookings in MongoDB: it loads the state
// for a decision, and applies the plan. It is the only code that writes these collections.
//
//	Load(ctx, event, needs) → inventory.State   one snapshot of the database
//	Apply(ctx, plans, beforeCommit)             one transaction, guarded by the plans
//
// Both begin in store.go. load.go has the reads of Load; apply.go and statements.go write
// a plan. The order of writes is the same everywhere: event, locks, new locks, bookings. If
// a guard of a plan does not match, the transaction ends with ErrStale and writes nothing.
//
// Documents may come from other software: a field may be missing or of another type. A
// field that can't be read counts as absent; see package mongodb.
//
// The other files are queries: lists, due locks and bookings, the audit, the purge, and
// the stream of changes.
package store
