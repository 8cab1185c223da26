// Package changes keeps the records of committed changes of locks, bookings, payments, events and seating plans, as far as
// a customer or a shop can see them.
//
// A transaction that makes such changes inserts one record per event. The records are the history, and the source of
// webhooks. They are only inserted, so they conflict with nothing.
//
// A record gets its number after its commit, by the job changes (Number). Readers page by these numbers
// (List), so a transaction that commits late is never skipped. The order of numbers is causal: where one
// transaction saw what another one wrote, its record has the higher number. For that each record has MongoDB's
// cluster time as its transaction knew it after its first statement. That is at or after the commit of
// everything that the transaction saw, and before its own commit, whatever the clocks of members and processes
// say.
//
// A change stream wakes the goroutines that wait for the next record, or for its number (RecordWaker, NumberWaker).
//
// # Audit
//
// AuditLog has the requests of the console that may change something, and those of any program that may change a
// webhook, with their keys and their answers, including refusals. Requests that are refused before a process accepts
// them, such as those beyond a rate, change nothing and leave no entry: otherwise each would cost a write.
//
// An entry is written after its request was answered, outside of the request's transaction. A process that is killed
// in between leaves none. The records of changes are in the transactions; they have the same request ID. MongoDB
// removes entries after a year.
package changes
