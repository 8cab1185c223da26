// Package store is events, locks and bookings in MongoDB: it loads what a decision
// needs, and applies what it plans. It is the only code that writes these collections.
//
//	Load(ctx, event, needs) → inventory.State   one snapshot of the database
//	Apply(ctx, plans, beforeCommit)             one transaction, guarded by the plans
//
// The order of writes is the same everywhere: event, locks, new locks, bookings. A
// condition of a plan that does not hold ends the transaction with ErrStale, and
// nothing is written.
//
// Documents may come from other software: a field may be missing or of another type.
// What can't be read counts as absent; see package mongodb.
//
// Both begin in store.go. load.go says what can be read, and how; apply.go and
// statements.go say how a plan is written.
//
// The other files are queries: lists, what is due, what the audit compares, what can
// be purged, and the stream of changes.
package store
