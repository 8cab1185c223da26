// Package changes keeps the records of committed changes: what a customer or a shop can see of locks, bookings,
// events and seating plans.
//
// A transaction that changes some of them inserts one record per event. Records are the history, and what
// webhooks are made of. They are inserted only, so they conflict with nothing.
//
// A record gets its number after its commit, by the job changes (Number). Readers page by these numbers
// (List), so a transaction that commits late is never skipped. The order of numbers is causal: where one
// transaction saw what another one wrote, its record has the higher number. For that each record has MongoDB's
// cluster time as its transaction knew it after its first statement. That is at or after the commit of
// everything that the transaction saw, and before its own commit, whatever the clocks of members and processes
// say.
//
// What waits for the next record, or its number, is woken by a change stream (AwaitRecord, AwaitNumber).
package changes
