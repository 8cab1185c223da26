// Package webhooks sends committed changes to endpoints of other systems, by the Standard Webhooks specification.
//
// The process that holds the lease of the job webhooks runs two loops (dispatcher.go):
//
//	fan out   fanout.go   reads numbered changes behind a cursor, inserts one PENDING delivery for each endpoint that subscribes,
//	                      and moves the cursor, in one transaction for each page
//	send      sender.go   one sender for each enabled endpoint: reads deliveries that are due (due.go), posts them (post.go,
//	                      address.go, secret.go), and writes their states (schedule.go): DELIVERED, DEAD, or PENDING until the next try
//
// All state is in MongoDB: a process may lose its memory at any time.
//
// # Guarantees
//
// Every change that is committed while an endpoint is enabled and subscribes to it is sent at least once, until the receiver accepts
// it, the delivery is DEAD, or the change is older than CHANGES_RETENTION. In a subject a delivery is sent after the earlier ones were
// accepted or are DEAD. A replay sends old changes again: they are in order among themselves, but may come after newer ones. The member
// sequence of the CloudEvent shows which change is newer.
//
// # Lines
//
// Which changes an endpoint receives depends on its document alone. A caller that creates or changes an endpoint first numbers and fans
// out all changes that are committed by then (catchUp). Then it writes the endpoint in a transaction that also writes the document of
// the cursor (drawLine). The transaction of a page that is fanned out at the same time may have read the endpoints before: it finds
// that a line was drawn, and is retried. So each change is fanned out by the endpoint as it was when the change was committed. A change
// that is committed while the line is drawn is fanned out by the endpoint as it was either before or after. If the line disables the
// endpoint, the change may have a time before the line, so a replay since then looks at the position, too (isSince).
//
// # Failures
//
//   - The process dies while it fans out: the page is committed as a whole or not at all.
//   - The process dies while it sends: deliveries are PENDING until their results are written, so the next process sends them, some for
//     the second time. Deliveries have no claims that would have to expire: the lease of the job is the claim.
//   - The process is paused, and another process has the lease when it continues: it may send again what the other process has sent,
//     with the same ID. It writes no result of a delivery that was tried or planned again meanwhile, and moves no cursor that was moved.
//   - A reply of MongoDB is lost: the write is retried, and changes nothing. The ID of a delivery is derived from its endpoint and its
//     change.
//   - A document can't be decoded: an endpoint is left out, a record is skipped, a delivery becomes DEAD. It is logged once.
//   - The event of a change can't be made, because its seating plan can't be read: this counts as a failed try of the delivery, and not
//     as a failure of the endpoint. If a change no longer exists, its delivery becomes DEAD.
//
// # Backoff
//
// After a failed try the endpoint receives one delivery at a time: those that are due by the schedule and, at intervals, one that was
// never tried (a probe). The interval between probes is the time for which the endpoint has been failing, at most maxProbeDelay. With
// the first success all waiting deliveries are sent at once: those that were never tried, and those that have failed as soon as their
// DueAt has passed. A try before the time of the schedule does not use up a step of it. An endpoint that answers 410, or that only
// fails for five days, is disabled behind a line.
//
// It is part of Holdfast's own programs and may change in any release: see package holdfast.
package webhooks
