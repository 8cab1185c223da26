// Package webhooks tells endpoints of other systems of committed changes, by the Standard Webhooks specification.
//
// The data flow:
//
//	job changes   numbers the committed records                     internal/changes
//	     │
//	feed          reads them once for all endpoints, in pages, and keeps the latest in memory
//	     │        (an endpoint that is further behind reads its own pages)
//	runner        one for each endpoint: takes the changes that it subscribes to, in the order of their numbers
//	     │
//	track         starts one change of a subject at a time, and up to maxInFlight of different subjects
//	     │
//	sender        signs the CloudEvent and posts it: 15 s, public addresses only, no redirect, no proxy
//	     │
//	     ├── 2xx: settled; its subject's next change is sent
//	     └── else: it becomes a document (PENDING), and so do later changes of its subject, behind it
//	     │
//	flush         at least once a second, in one transaction, guarded by the runner's epoch:
//	              the position behind the last change of which all before are settled, failed changes as
//	              documents, one document with what was delivered, the results of repeated documents
//
// What it guarantees: every change that is committed while an endpoint is enabled and subscribes to it is sent at least
// once, until a receiver accepts it, it is DEAD, or it is older than CHANGES_RETENTION. The position never passes a change
// that is neither delivered nor a document, because both are written in one transaction. A process that is killed
// anywhere leaves the last position; the next one sends what follows, some of it for the second time, with the same ID.
// A runner that another one has replaced fails at its next flush, whose epoch does not match, and writes nothing.
//
// Order: a change is sent after the earlier changes of its subject were accepted or are DEAD. A replay tells old changes
// again; they are in order among themselves, but may come after newer ones that were delivered before. The member
// sequence of the CloudEvent tells which is newer.
//
// Failures. After a failed try the endpoint is probed: one try at a time, of a document that is due or else of the next
// change. Between probes by new changes passes as long as the endpoint has been failing, at most maxProbeDelay. So an endpoint that
// refuses some changes only goes on with the next one at once, and one that is down gets few tries and few documents: a failed
// probe is one (some thousand in five days at most), the rest of its backlog stays in the changes, and the position
// stays in front of it. With the first success it is healthy: the backlog and all documents are sent at once. A
// try of a document before its time that fails does not use up a step of its schedule. The schedule of a change
// begins with its first try, so what waits behind a failing endpoint is not given up before it was tried. An endpoint
// that refuses more than maxPending changes gets no new ones until some are settled or DEAD.
//
// An endpoint that answers 410, or only fails for five days, is disabled. From the time when it is enabled again it gets new
// changes, and its documents; the changes between are for a replay.
package webhooks
