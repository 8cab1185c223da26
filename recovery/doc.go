// Package recovery finds and repairs contradictions in a database after a crash, a restore
// or a manual change. A pass checks all documents at every start; an audit checks
// counters and maps of seats between the starts.
//
// A pass makes a plan, page by page, and applies each page. ACTIVE locks of CONFIRMED
// bookings become CONSUMED. Stale locks and stale bookings expire by the sweeps. Every
// counter, and every map of seats, is compared with its locks and corrected. INITIATED bookings
// are counted. Plan makes the same plan and applies nothing. A pass may be interrupted and
// repeated at any time, also during a sale.
//
// Passes skip archived events, which are past and settled.
//
// A lock of a CONFIRMED booking can only be ACTIVE if one of the two was restored or changed by hand.
// A pass makes the lock CONSUMED, due or not, before it sweeps. Sweeps and reclaims don't look for
// such bookings: between two passes they end a lock that is due.
//
// # Failures
//
//	an API, in a transaction     MongoDB keeps the event locked, until a process that loses conflicts
//	                             on it ends the transaction (package mongodb)
//	an API, after the commit     the lock exists; its key finds it; without a key it expires
//	the leader                   another process leads within the leader's lease; the lease of a run
//	                             expires with its holder (package jobs)
//	a leader that was frozen     it compares its lease with its monotonic clock before each tick;
//	                             a late write finds the documents changed
//	Redis                        jobs wait, or run as a single instance; requests go on
//	the primary                  transactions are repeated on the next one; a commit without an
//	                             answer is repeated, and then settled (package pipeline)
//	everything                   the next start expires stale locks and bookings, and compares every counter
//
// A pass reports these contradictions and does not change them: a CONFIRMED booking whose lock has
// ended, a CONSUMED lock without a CONFIRMED booking, and a lock with several. In seated events: a
// seat that several locks have, a lock whose seats are not in the plan, a plan that is missing,
// damaged or removed from the event, a totalSeats that differs from the plan, and a section of
// general admission of which more is taken than it has.
//
// But for the reports that package engine returns, it is part of Holdfast's own programs and
// may change in any release: see package holdfast.
package recovery
