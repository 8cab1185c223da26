// Package webhooks tells endpoints of other systems of committed changes, by the Standard Webhooks specification.
//
// The data flow, and the files with the rules:
//
//	job changes     numbers the committed records                     internal/changes
//	     │
//	dispatcher.go   one runner for each endpoint that is enabled; claims it with a new epoch
//	     │
//	feed.go         reads the changes once for all endpoints, in pages, and keeps the latest in memory;
//	     │          a change stream wakes it after a silence. After each page the endpoints are read, before anything
//	     │          of it is taken: so what is committed after a change of an endpoint finds the endpoint changed
//	     │
//	take.go         takes those that the endpoint subscribed to when they were committed (subscription.go), in the order of
//	     │          their numbers; an endpoint that is further behind than the feed reads its own pages; how many are taken
//	track.go        one change of a subject at a time; the position that nothing before is open
//	     │
//	try.go          what is tried next, and what becomes of a result; up to maxInFlight of different subjects
//	     │          schedule.go: when a try is repeated, when an endpoint is probed or disabled
//	     │          fault.go: what becomes of a change whose event can't be made
//	sender.go       signs the CloudEvent (secret.go) and posts it: 15 s, public addresses only (address.go), no redirect, no proxy
//	     │
//	     ├── 2xx: settled; its subject's next change is sent
//	     └── else: it becomes a document (PENDING), and so do later changes of its subject, behind it (pending.go)
//	     │
//	flush.go        at least once a second, in one transaction, guarded by the runner's epoch:
//	                the position behind the last change of which all before are settled, failed changes as
//	                documents, one document with what was delivered, the results of repeated documents
//
// Beside it: service.go creates endpoints, update.go changes them, gap.go leaves out the time while one was disabled, replay.go
// plans documents of past changes, deliveries.go lists and purges.
//
// What it guarantees: every change that is committed while an endpoint is enabled and subscribes to it is sent at least
// once, until a receiver accepts it, it is DEAD, or it is older than CHANGES_RETENTION. The position never passes a change
// that is neither delivered nor a document, because both are written in one transaction. A process that is killed
// anywhere leaves the last position; the next one sends what follows, some of it for the second time, with the same ID.
// A runner that another one has replaced fails at its next flush, whose epoch does not match, and writes nothing: a runner
// writes by flushes alone, but for documents that wait for nothing, which it makes due (wakeSubjects): that harms no other
// runner. A flush whose outcome is unknown is repeated, and writes the same documents.
//
// Order: a change is sent after the earlier changes of its subject were accepted or are DEAD. A replay tells old changes
// again; they are in order among themselves, but may come after newer ones that were delivered before. The member
// sequence of the CloudEvent tells which is newer. Of a subject the earliest document has a time; the others get one when
// they are the earliest.
//
// Failures. After a failed try the endpoint is probed: one try at a time, of the next change or a document. Between
// probes passes as long as the endpoint has been failing, at most maxProbeDelay; documents whose time has come are tried
// all the same. So an endpoint that refuses some changes only goes on with the next one at once, and one that is down gets
// few tries and few documents: a failed probe is one (some thousand in five days at most), the rest of its backlog stays in
// the changes, and the position stays in front of it. With the first success it is healthy: the backlog and all documents
// are sent at once. A try of a document before its time that fails does not use up a step of its schedule; the time to the
// next one doubles, because an endpoint that refuses one change and accepts the others recovers all the time. The schedule
// of a change begins with its first try, so what waits behind a failing endpoint is not given up before it was tried.
//
// A change whose event can't be made, because its seating plan can't be read, is made again after faultDelay, and fails as a try does
// after maxFaults times (fault.go). So it is settled as a document, and holds up its subject alone. It says nothing of the endpoint's
// health.
//
// Limits. An endpoint with documents of maxSubjects subjects, or with maxDocuments documents, gets no new changes until some
// are settled or DEAD. The changes in memory, the tries at a time, and the bytes that are read of an answer are bounded too.
//
// An endpoint that answers 410, or only fails for five days, is disabled, behind the last change that is committed then: so all of them
// must have their numbers first. When it is enabled again it gets what was
// committed before it was disabled and it had not got, its documents, and new changes; the changes between are for a
// replay. A runner notices within reloadInterval that its endpoint was changed or disabled.
package webhooks
