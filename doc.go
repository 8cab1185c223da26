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
// Package engine opens the engine on a MongoDB replica set, and engine/enginetest gives the tests
// of a shop one. The rules are in package seats/inventory, as pure functions.
//
// # Compatibility
//
// The Go API is what these packages export: holdfast, engine and engine/enginetest; booking, seats
// and users, by the values that an Engine has; and the module client. The HTTP API under
// /api is one too, with its codes of errors, and so are the types and data of changes. From 1.0 on they change only compatibly: fields,
// codes, types of changes and optional parameters may be added, so ignore those that you do not know, and give structs their
// fields by name. Before 1.0 a minor release (0.2) may break them, and says so in CHANGELOG.md with what to do; a patch
// release (0.1.1) does not. Everything else may change in any release: the other packages, the
// documents in MongoDB, log lines, and the texts of errors. docs/operations.md says how a database is upgraded.
package holdfast
