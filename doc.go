// Package holdfast is the domain of a seat reservation engine: what an event, a
// seat lock and a booking is, how each of them lives and ends, and the codes of
// what is refused. It knows no database and no HTTP.
//
// An event has seats. A customer acquires a lock on some of them for some minutes,
// makes a booking on the lock, and pays. A confirmed booking consumes its lock; a
// lock or a booking that is not paid for in time expires, and its seats come back.
//
// Package engine opens the engine on a MongoDB replica set. The rules are in
// package seats/inventory, as pure functions.
package holdfast
