package seats

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// maxReclaim bounds the due locks that one transaction reclaims; a request that
// still doesn't fit goes on in the next one.
const maxReclaim = 1000

// batchTx is one attempt of a transaction over the requests of one event. It
// reads everything first, decides in memory in order of arrival, then writes:
// the event, the locks, and what callers bring along (bookings).
type batchTx struct {
	s        *Service
	eventID  ID
	requests []*request
	users    *lookUp // of the requests' users; nil where they are known
	settling bool    // an earlier commit of the same requests may be there or come

	event eventDoc
	found bool
	now   time.Time // the database's
	tally tally
	// unsound: outside hands left a counter that can't be; it is proved anew.
	unsound bool

	byKey map[userKey]Lock // idempotency keys used, and those of this batch
	byID  map[ID]lockDoc   // the locks to be given back; when settling, those made too
	held  map[ID]holding   // by user, where there is a limit
	seen  map[ID]bool      // locks that a request of this batch names
	gone  map[ID]bool      // those of them that are released
	// full: a request goes on in the next transaction; who came after it waits too.
	full bool
	// madeDue: a lock of this batch is due at once, and so can be reclaimed, in the
	// next transaction.
	madeDue bool

	due      []lockDoc // due locks, oldest first; read when seats are short
	dueRead  bool
	inserts  []bson.D
	granted  []*request      // whose locks those are
	released map[Status][]ID // by the status they had
	expired  []ID
	refused  []ID // ACTIVE, and due
	refuses  bool // somebody
	also     []func(context.Context) error
}

type userKey struct {
	user ID
	key  string
}

// decide reads, decides every request and writes. A counter that turns out to be
// impossible on the way is proved against the locks, and all is decided anew.
func (b *batchTx) decide(ctx context.Context) ([]answer, error) {
	answers, err := b.attempt(ctx)
	if err == nil && !b.unsound && !b.tally.sound() {
		b.unsound = true
		answers, err = b.attempt(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := b.write(ctx); err != nil {
		return nil, err
	}
	return answers, b.users.wait()
}

func (b *batchTx) attempt(ctx context.Context) ([]answer, error) {
	*b = batchTx{
		s: b.s, eventID: b.eventID, requests: b.requests, users: b.users, settling: b.settling, unsound: b.unsound,
		byKey: map[userKey]Lock{}, byID: map[ID]lockDoc{}, held: map[ID]holding{}, seen: map[ID]bool{}, gone: map[ID]bool{}, released: map[Status][]ID{},
	}
	if err := b.read(ctx); err != nil {
		return nil, err
	}
	answers := make([]answer, len(b.requests))
	for i, r := range b.requests {
		var err error
		if r.take != nil {
			answers[i], err = b.take(ctx, r)
		} else {
			answers[i], err = b.give(ctx, r)
		}
		if err != nil {
			return nil, err
		}
		b.refuses = b.refuses || answers[i].err != nil
		if !b.unsound && !b.tally.sound() {
			return nil, nil // see decide
		}
	}
	return answers, nil
}

// read gets the event, the locks named and the keys used.
func (b *batchTx) read(ctx context.Context) (err error) {
	if b.event, b.found, err = b.s.readEvent(ctx, b.eventID); err != nil {
		return err
	}
	b.now, b.tally = b.event.Now.Time, b.event.tally()
	if b.found && (b.unsound || !b.event.sound()) {
		taken, err := b.s.taken(ctx, b.eventID)
		if err != nil {
			return err
		}
		b.tally, b.unsound = tallyOf(b.tally.total, taken), true
	}
	var named, users []ID
	var keys []string
	for _, r := range b.requests {
		if r.give != nil || b.settling {
			named = append(named, r.lockID)
		}
		if r.take != nil {
			users = append(users, r.take.UserID)
			if r.take.Key != "" {
				keys = append(keys, r.take.Key)
			}
		}
	}
	if len(named) > 0 {
		if b.byID, err = b.s.readLocks(ctx, mongodb.In("_id", named)); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		used, err := b.s.readLocks(ctx, usedKeys(b.eventID, users, keys)...)
		if err != nil {
			return err
		}
		for _, d := range used {
			b.byKey[userKey{d.UserID, string(d.Key)}] = d.lock()
		}
	}
	if (b.event.MaxSeatsPerUser.Or(0) > 0 || b.s.limits.MaxLocks > 0) && len(users) > 0 {
		return b.readHeld(ctx, users)
	}
	return nil
}

// usedKeys finds the locks of users that were made under keys, and more: each
// key has its own user.
func usedKeys(eventID ID, users []ID, keys []string) []bson.D {
	return []bson.D{mongodb.Is("eventId", eventID), mongodb.In("userId", users), mongodb.In("idempotencyKey", keys)}
}

// take decides a request for seats. Order of checks: existence, a repeat, the
// event, the time, the user's limit, the seats.
func (b *batchTx) take(ctx context.Context, r *request) (answer, error) {
	q := r.take
	if !b.found {
		return answer{err: eventNotFound()}, nil
	}
	if made, ok := b.byID[r.lockID]; ok { // only when settling: the earlier commit is there
		return answer{lock: made.lock()}, nil
	}
	if r.hasLeft() {
		return answer{err: outcomeUnknown(r.lockID)}, nil
	}
	if before, ok := b.byKey[userKey{q.UserID, q.Key}]; ok && q.Key != "" {
		if !q.sameAs(before) {
			return answer{err: fault.New(CodeIdempotencyReused, "The idempotency key was used for another request.")}, nil
		}
		return answer{lock: before, replayed: true}, nil
	}
	if b.event.event().Status != OnSale {
		return answer{err: notOnSale()}, nil
	}
	lock, refusal := b.newLock(r)
	if refusal != nil {
		return answer{err: refusal}, nil
	}
	if refusal := b.beyondLimits(q); refusal != nil {
		return answer{err: refusal}, nil
	}
	if b.full {
		return answer{again: true}, nil
	}
	if fits, again, err := b.fit(ctx, q.Seats); err != nil || again {
		b.full = again
		return answer{again: again}, err
	} else if !fits {
		return answer{err: b.tooFew(q.Seats)}, nil
	}
	if b.madeDue = b.madeDue || lock.Due(b.now); !lock.Due(b.now) {
		before := b.held[q.UserID]
		b.held[q.UserID] = holding{before.seats + q.Seats, before.locks + 1}
	}
	if q.Key != "" {
		b.byKey[userKey{q.UserID, q.Key}] = lock
	}
	b.inserts, b.granted = append(b.inserts, insertOf(lock, b.now)), append(b.granted, r)
	return answer{lock: lock}, nil
}

func (b *batchTx) tooFew(requested int64) error {
	return fault.New(CodeSeatsUnavailable, "Fewer seats are available than requested.").
		With("requested", requested).With("available", b.tally.available)
}

func notOnSale() error { return fault.New(CodeNotOnSale, "The event is not on sale.") }

// newLock reckons the expiry by the database's clock.
func (b *batchTx) newLock(r *request) (Lock, error) {
	q := r.take
	until := q.Until
	if until.IsZero() {
		until.For = b.s.limits.DefaultTTL
	}
	expires := until.From(b.now)
	if expires.After(b.now.Add(b.s.limits.MaxTTL)) {
		return Lock{}, beyondCap(until.field("expiresAt", "ttlSeconds"), b.s.limits.MaxTTL)
	}
	return Lock{
		ID: r.lockID, EventID: b.eventID, UserID: q.UserID, Seats: q.Seats, Status: Active,
		ExpiresAt: expires, Key: q.Key, CreatedAt: b.now, hash: q.hash(),
	}, nil
}

func (u Until) field(at, duration string) string {
	if u.At.IsZero() {
		return duration
	}
	return at
}

// fit takes n seats, reclaiming due locks, oldest first, until they fit or none
// is left. again: this transaction has reclaimed all that it may.
func (b *batchTx) fit(ctx context.Context, n int64) (fits, again bool, err error) {
	for !b.tally.take(n) {
		if !b.dueRead {
			b.dueRead = true
			if b.due, err = b.s.oldestDue(ctx, b.eventID, maxReclaim); err != nil {
				return false, false, err
			}
		}
		if len(b.due) == 0 {
			return false, len(b.expired) == maxReclaim || b.madeDue, nil
		}
		oldest := b.due[0]
		b.due = b.due[1:]
		if b.gone[oldest.ID] {
			continue
		}
		b.tally.give(oldest.Seats.N)
		b.expired = append(b.expired, oldest.ID)
		if !b.unsound && !b.tally.sound() {
			return false, false, nil // see decide: this answer does not count
		}
	}
	return true, false, nil
}

// give decides a request to give a lock back.
func (b *batchTx) give(ctx context.Context, r *request) (answer, error) {
	if b.seen[r.lockID] { // what an earlier request did to it is not to be read yet
		return answer{again: true}, nil
	}
	doc, ok := b.byID[r.lockID]
	if !ok {
		return answer{err: LockNotFound()}, nil
	}
	b.seen[r.lockID] = true
	lock := doc.lock()
	for _, id := range b.expired { // reclaimed for a request before: it was due
		if id == lock.ID {
			lock.Status = Expired
		}
	}
	proceed, err := r.give.permit(ctx, lock, doc.Now.Time)
	if code := fault.CodeOf(err); code != "" && code != mongodb.CodeUnavailable {
		if lock.Status == Active { // see RefuseDue
			b.refused = append(b.refused, lock.ID)
		}
		return answer{lock: lock, err: err}, nil
	}
	if err != nil || !proceed {
		return answer{lock: lock}, err
	}
	if _, allowed := lock.Status.Next(Release); allowed {
		b.released[lock.Status] = append(b.released[lock.Status], lock.ID)
		b.gone[lock.ID] = true
		b.letGo(lock, doc.Now.Time)
		b.tally.give(lock.Seats)
		lock.Status, lock.BookingID = Released, ID{}
	}
	if r.give.also != nil {
		b.also = append(b.also, func(ctx context.Context) error { return r.give.also(ctx, lock) })
	}
	return answer{lock: lock}, nil
}

// write moves the counter once, then the locks, then what callers brought along.
func (b *batchTx) write(ctx context.Context) error {
	changes := len(b.inserts) + len(b.expired)
	for _, released := range b.released {
		changes += len(released)
	}
	if changes == 0 && len(b.also) == 0 && !b.settling {
		if err := b.s.witness(ctx, b.refused); err != nil || !b.found || !b.refuses {
			return err
		}
		// What is refused for good must not come from an old snapshot, as a primary
		// that has just been elected may give, nor be granted elsewhere (see fence):
		// who writes the event has read it as it is.
		return b.moveCounter(ctx)
	}
	if b.found {
		if err := b.moveCounter(ctx); err != nil {
			return err
		}
		if slices.ContainsFunc(b.granted, (*request).hasLeft) { // see fence
			return mongodb.ErrAgain
		}
	}
	if err := b.s.witness(ctx, b.refused); err != nil {
		return err
	}
	if err := b.s.endLocks(ctx, b.expired, Active, Expire, ending{By: ByReclaim}, due); err != nil {
		return err
	}
	if err := b.s.endLocks(ctx, b.released[Active], Active, Release, ending{By: ByAPI}); err != nil {
		return err
	}
	if err := b.s.endLocks(ctx, b.released[Consumed], Consumed, Release, ending{By: ByAPI}); err != nil {
		return err
	}
	if len(b.inserts) > 0 {
		if err := b.s.db.Insert(ctx, locksName, b.inserts); err != nil {
			return err
		}
	}
	if b.found && b.unsound {
		if err := b.s.recount(ctx, b.eventID, ""); err != nil {
			return err
		}
	}
	for _, also := range b.also {
		if err := also(ctx); err != nil {
			return err
		}
	}
	return nil
}

// moveCounter writes the event, first of all: who comes second on it loses. Even
// where the counter stays, something is written, or nothing would conflict.
func (b *batchTx) moveCounter(ctx context.Context) error {
	if b.unsound {
		_, _, err := b.s.touch(ctx, b.eventID)
		return err
	}
	return b.s.moveCounter(ctx, b.event, b.tally)
}

func insertOf(l Lock, now time.Time) bson.D {
	doc := bson.D{
		{Key: "_id", Value: l.ID}, {Key: "eventId", Value: l.EventID}, {Key: "userId", Value: l.UserID},
		{Key: "seats", Value: l.Seats}, {Key: "status", Value: string(Active)}, {Key: "expiresAt", Value: l.ExpiresAt},
		{Key: "requestHash", Value: l.hash}, {Key: "rev", Value: int64(0)},
		{Key: "createdAt", Value: now}, {Key: "updatedAt", Value: now},
	}
	if l.Key != "" {
		doc = append(doc, bson.E{Key: "idempotencyKey", Value: l.Key})
	}
	return doc
}
