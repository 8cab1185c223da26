// Package holdfast has the domain types of a seat reservation engine: events, seat
// locks and bookings, with their statuses, and the codes of refusals. It accesses no
// database and no HTTP. It has two of their details, so that each is defined once: an ID
// encodes itself as an ObjectID of BSON, and refusals name the JSON fields of requests.
//
// An event has seats. A customer acquires a lock on some of them for some minutes,
// makes a booking on the lock, and pays. A confirmed booking consumes its lock. A
// lock or a booking that is not paid for in time expires, and its seats become
// available again.
//
// Package engine opens the engine on a MongoDB replica set. The rules are in
// package seats/inventory, as pure functions.
package holdfast
