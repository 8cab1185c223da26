package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// streamChecker follows MongoDB's change stream and checks every state that was committed,
// transaction by transaction: the counters and the maps of seats agree with the locks, no seat is in
// two locks, no customer is given more seats than the event's limit, payments agree with bookings, locks, bookings
// and payments go through transitions of the state machines only, and seats go to waiting lists first.
type streamChecker struct {
	t        *testing.T
	events   map[holdfast.ID]availability
	locks    map[holdfast.ID]trackedDocument
	bookings map[holdfast.ID]trackedBooking
	payments map[holdfast.ID]trackedPayment
	paidBy   map[holdfast.ID][]holdfast.ID // payments by booking
	taken    map[holdfast.ID]int64         // seats of locks that take them, by event
	halls    *hallChecker
	limits   *limitChecker
	lists    *waitlistChecker
	changed  map[holdfast.ID]bool // events that the current transaction changed
	paid     map[holdfast.ID]bool // bookings that it changed, or whose payment it changed
	session  bson.Raw             // with number: the current transaction
	number   int64
	states   atomic.Int64 // that were checked
	marker   atomic.Value // the last one that was received
	done     chan struct{}

	mu         sync.Mutex
	violations []string
	committed  map[holdfast.ID]map[availability]bool // every state of an event
}

type availability struct {
	Total     int64 `bson:"totalSeats"`
	Available int64 `bson:"availableSeats"`
	Oversold  int64 `bson:"oversold"`
}

// trackedDocument is a lock or a booking.
type trackedDocument struct {
	Event   holdfast.ID `bson:"eventId"`
	Seats   int64       `bson:"seats"`
	Status  string      `bson:"status"`
	SeatIDs []string    `bson:"seatIds"`
	Section string      `bson:"section"`

	User      holdfast.ID `bson:"userId"`
	ExpiresAt time.Time   `bson:"expiresAt"`
}

type trackedBooking struct {
	Status   string `bson:"status"`
	Internal struct {
		Payments []trackedListed `bson:"payments"`
	} `bson:"internal"`
	Path []trackedListed `bson:"internal.payments"` // so an update may name it
}

// trackedListed is a payment in the list of a booking.
type trackedListed struct {
	ID     holdfast.ID `bson:"id"`
	Status string      `bson:"status"`
}

// payments are those that a booking lists. Updates replace the list.
func (b trackedBooking) payments() []trackedListed {
	if b.Path != nil {
		return b.Path
	}
	return b.Internal.Payments
}

type trackedPayment struct {
	Booking holdfast.ID     `bson:"bookingId"`
	Status  string          `bson:"status"`
	Amount  int64           `bson:"amount"`
	Refunds []trackedRefund `bson:"refunds"`
}

type trackedRefund struct {
	Amount int64  `bson:"amount"`
	Status string `bson:"status"`
}

// isByParts reports whether all of a payment was refunded part by part. Then nothing is due when its booking is cancelled.
func (p trackedPayment) isByParts() bool {
	returned := int64(0)
	for _, r := range p.Refunds {
		if r.Status == "REFUNDED" {
			returned += r.Amount
		}
	}
	return p.Amount > 0 && returned == p.Amount
}

// changeEvent is an entry of the change stream.
type changeEvent struct {
	Operation string `bson:"operationType"`
	Namespace struct {
		Collection string `bson:"coll"`
	} `bson:"ns"`
	Key struct {
		ID bson.RawValue `bson:"_id"`
	} `bson:"documentKey"`
	FullDocument bson.Raw `bson:"fullDocument"`
	Update       struct {
		Fields  bson.Raw `bson:"updatedFields"`
		Removed []string `bson:"removedFields"`
	} `bson:"updateDescription"`
	Session bson.Raw  `bson:"lsid"`
	Number  int64     `bson:"txnNumber"`
	At      time.Time `bson:"wallTime"` // of the commit
}

// startStreamChecker begins to follow the change stream. There must be no documents yet.
func startStreamChecker(ctx context.Context, t *testing.T, env *testenv.Env) *streamChecker {
	t.Helper()
	s := &streamChecker{
		t: t, events: map[holdfast.ID]availability{}, locks: map[holdfast.ID]trackedDocument{}, bookings: map[holdfast.ID]trackedBooking{},
		payments: map[holdfast.ID]trackedPayment{}, paid: map[holdfast.ID]bool{}, paidBy: map[holdfast.ID][]holdfast.ID{},
		taken:     map[holdfast.ID]int64{},
		halls:     newHallChecker(),
		limits:    newLimitChecker(),
		lists:     newWaitlistChecker(),
		changed:   map[holdfast.ID]bool{},
		committed: map[holdfast.ID]map[availability]bool{},
		done:      make(chan struct{}),
	}
	stream, err := s.watch(ctx, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.done)
		for err := s.follow(ctx, stream); ctx.Err() == nil; err = s.follow(ctx, stream) {
			if stream, err = s.resume(ctx, env, stream, err); err != nil {
				s.violation("committed states", "the change stream ended: %v", err)
				return
			}
		}
		closeStream(ctx, stream)
	}()
	return s
}

// watch opens the change stream, after a token if there is one.
func (s *streamChecker) watch(ctx context.Context, env *testenv.Env, after bson.Raw) (*mongo.ChangeStream, error) {
	o := options.ChangeStream().SetMaxAwaitTime(200 * time.Millisecond)
	if after != nil {
		o.SetResumeAfter(after)
	}
	return env.DB.Watch(ctx, mongo.Pipeline{}, o)
}

// follow handles changes until the stream ends.
func (s *streamChecker) follow(ctx context.Context, stream *mongo.ChangeStream) error {
	for stream.Next(ctx) {
		var change changeEvent
		if err := stream.Decode(&change); err != nil {
			s.violation("committed states", "%v", err)
			continue
		}
		s.handle(change)
	}
	return stream.Err()
}

// resume opens the change stream again after the last change. The driver does so itself, but it
// gives up if there is no primary for some seconds, as after the nemesis has killed one.
func (s *streamChecker) resume(ctx context.Context, env *testenv.Env, ended *mongo.ChangeStream, cause error) (*mongo.ChangeStream, error) {
	token := ended.ResumeToken()
	closeStream(ctx, ended)
	for deadline := time.Now().Add(resumeTimeout); ; {
		stream, err := s.watch(ctx, env, token)
		if err == nil {
			return stream, nil
		}
		if ctx.Err() != nil || time.Now().After(deadline) {
			return ended, errors.Join(cause, err)
		}
		delay(ctx, 200*time.Millisecond)
	}
}

// resumeTimeout bounds how long the change stream waits for a primary.
const resumeTimeout = time.Minute

func closeStream(ctx context.Context, stream *mongo.ChangeStream) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = stream.Close(ctx) // The cursor is gone if its server is.
}

func (s *streamChecker) violation(checker, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, checker+": "+fmt.Sprintf(format, args...))
}

// takeViolations returns the violations found so far, and forgets them.
func (s *streamChecker) takeViolations() (violations []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	violations, s.violations = s.violations, nil
	return violations
}

// wasCommitted reports whether an event ever had this state.
func (s *streamChecker) wasCommitted(event holdfast.ID, state availability) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.committed[event][state]
}

// catchUp waits until everything that was committed before has been checked: it inserts a
// marker and waits for it in the change stream.
func (s *streamChecker) catchUp(ctx context.Context, env *testenv.Env) {
	marker := mongodb.NewID()
	deadline := time.Now().Add(30 * time.Second)
	for {
		_, err := env.DB.Collection("marks").InsertOne(ctx, bson.D{{Key: "_id", Value: marker}})
		if err == nil || mongo.IsDuplicateKeyError(err) {
			break
		}
		if time.Now().After(deadline) {
			s.violation("committed states", "inserting a marker: %v", err)
			return
		}
		delay(ctx, 100*time.Millisecond)
	}
	if !poll(time.Until(deadline), 20*time.Millisecond, func() bool { return s.marker.Load() == marker }) {
		s.violation("committed states", "the marker did not arrive in the change stream")
	}
}

// handle applies a change. A transaction is checked when the first change of the next one
// arrives.
func (s *streamChecker) handle(change changeEvent) {
	if change.Number != s.number || !slices.Equal(change.Session, s.session) || change.Session == nil {
		s.checkTransaction()
		s.session, s.number = slices.Clone(change.Session), change.Number
	}
	var id holdfast.ID
	if change.Key.ID.Unmarshal(&id) != nil {
		return
	}
	if change.Operation == "delete" { // by cleanUp
		s.forget(id)
		return
	}
	if err := s.lists.apply(id, change); err != nil {
		s.violation("waiting lists", "%v", err)
	}
	switch change.Namespace.Collection {
	case "events":
		e := s.events[id]
		s.decode(change, &e)
		if slices.Contains(change.Update.Removed, "oversold") {
			e.Oversold = 0
		}
		s.events[id], s.changed[id] = e, true
		s.halls.changeEvent(id, change)
		s.limits.changeEvent(id, change)
	case "seatingsections":
		s.halls.addPart(change)
	case "seatlocks":
		before := s.locks[id]
		after := before.withoutFields(change.Update.Removed)
		s.decode(change, &after)
		s.locks[id], s.changed[after.Event] = after, true
		s.taken[after.Event] += takenSeats(after) - takenSeats(before)
		s.halls.changeLock(id, after, takenSeats(after) > 0)
		s.limits.changeLock(id, before, after, change.At)
		if !isAllowed(before.Status, after.Status, []string{"ACTIVE", "BLOCKED", "CONSUMED"}, lockTransitions) {
			s.violation("state machine", "lock %s went from %q to %s", id, before.Status, after.Status)
		}
	case "bookings":
		before := s.bookings[id]
		after := before
		after.Path = slices.Clone(before.Path)
		s.decode(change, &after)
		s.bookings[id], s.paid[id] = after, true
		if !isAllowed(before.Status, after.Status, []string{"INITIATED", "PAYMENT_PENDING", "CONFIRMED"}, bookingTransitions) {
			s.violation("state machine", "booking %s went from %q to %s", id, before.Status, after.Status)
		}
	case "payments":
		before := s.payments[id]
		after := before
		after.Refunds = slices.Clone(before.Refunds)
		s.decode(change, &after)
		s.payments[id], s.paid[after.Booking] = after, true
		if before.Status == "" {
			s.paidBy[after.Booking] = append(s.paidBy[after.Booking], id)
		}
		isOfParts := before.Status == "ACCEPTED" && after.Status == "REFUNDED" && after.isByParts()
		if !isOfParts && !isAllowed(before.Status, after.Status, []string{"ACCEPTED", "REFUND_DUE"}, paymentTransitions) {
			s.violation("state machine", "payment %s went from %q to %s", id, before.Status, after.Status)
		}
	case "marks":
		s.checkTransaction()
		s.marker.Store(id)
	}
}

func (s *streamChecker) forget(id holdfast.ID) {
	delete(s.events, id)
	s.halls.forget(id)
	s.lists.forget(id)
	delete(s.locks, id)
	delete(s.bookings, id)
	delete(s.payments, id)
	delete(s.paidBy, id)
}

// decode decodes the fields that a change has set.
func (s *streamChecker) decode(change changeEvent, to any) {
	raw := change.FullDocument
	switch change.Operation {
	case "update":
		raw = change.Update.Fields
	case "insert", "replace":
	default:
		s.violation("committed states", "unexpected %s in %s", change.Operation, change.Namespace.Collection)
		return
	}
	if len(raw) == 0 {
		return
	}
	if err := bson.Unmarshal(raw, to); err != nil {
		s.violation("committed states", "%v", err)
	}
}

func takenSeats(lock trackedDocument) int64 {
	if lock.Status == "ACTIVE" || lock.Status == "CONSUMED" || lock.Status == "BLOCKED" {
		return lock.Seats
	}
	return 0
}

// checkTransaction checks the state that the last transaction left.
func (s *streamChecker) checkTransaction() {
	for id := range s.changed {
		e, exists := s.events[id]
		if !exists {
			continue
		}
		s.states.Add(1)
		s.mu.Lock()
		if s.committed[id] == nil {
			s.committed[id] = map[availability]bool{}
		}
		s.committed[id][e] = true
		s.mu.Unlock()
		if e.Available < 0 || e.Available > e.Total || e.Oversold < 0 || e.Available-e.Oversold != e.Total-s.taken[id] {
			s.violation("committed states", "event %s was committed with %d available, %d oversold of %d, and locks of %d seats",
				id, e.Available, e.Oversold, e.Total, s.taken[id])
			s.taken[id] = e.Total - e.Available + e.Oversold // so that it is reported once
		}
		for _, v := range s.halls.check(id, e) {
			s.violation("seats", "event %s was committed, but %s", id, v)
		}
	}
	clear(s.changed)
	for _, of := range s.limits.exceeded() {
		s.violation("limits", "user %s was given seats of event %s beyond the limit of %d, and has %d",
			of.user, of.event, s.limits.limits[of.event], s.limits.seats[of])
	}
	for id := range s.paid {
		s.checkPayments(id)
	}
	clear(s.paid)
	for _, v := range s.lists.checkTransaction() {
		s.violation("waiting lists", "%s", v)
	}
}

// checkPayments: a booking lists its payments as they are, those of a CONFIRMED one alone are ACCEPTED, and the parts of a
// payment are never more than it has, in every committed state.
func (s *streamChecker) checkPayments(booking holdfast.ID) {
	b, exists := s.bookings[booking]
	if !exists {
		return
	}
	var listed, are []trackedListed
	listed = append(listed, b.payments()...)
	isWrong := false
	for _, id := range s.paidBy[booking] {
		p := s.payments[id]
		are = append(are, trackedListed{id, p.Status})
		isWrong = isWrong || p.Status == "ACCEPTED" && b.Status != "CONFIRMED"
		sum := int64(0)
		for _, r := range p.Refunds {
			sum += r.Amount
		}
		if sum > p.Amount {
			s.violation("payments", "payment %s of %d was committed with parts of %d", id, p.Amount, sum)
		}
	}
	byID := func(a, b trackedListed) int { return slices.Compare(a.ID[:], b.ID[:]) }
	slices.SortFunc(listed, byID)
	slices.SortFunc(are, byID)
	if isWrong || !slices.Equal(listed, are) {
		s.violation("payments", "booking %s was committed as %s with the payments %v, but they are %v", booking, b.Status, listed, are)
	}
}

// The transitions of the state machines, from and to.
var (
	lockTransitions = map[[2]string]bool{
		{"ACTIVE", "CONSUMED"}: true, {"ACTIVE", "RELEASED"}: true, {"ACTIVE", "EXPIRED"}: true, {"CONSUMED", "RELEASED"}: true,
		{"BLOCKED", "RELEASED"}: true,
	}
	bookingTransitions = map[[2]string]bool{
		{"INITIATED", "PAYMENT_PENDING"}: true, {"INITIATED", "CANCELLED"}: true, {"INITIATED", "EXPIRED"}: true,
		{"PAYMENT_PENDING", "CONFIRMED"}: true, {"PAYMENT_PENDING", "CANCELLED"}: true, {"PAYMENT_PENDING", "EXPIRED"}: true,
		{"CONFIRMED", "CANCELLED"}: true, {"EXPIRED", "CONFIRMED"}: true,
	}
	paymentTransitions = map[[2]string]bool{{"ACCEPTED", "REFUND_DUE"}: true, {"REFUND_DUE", "REFUNDED"}: true}
)

// isAllowed reports whether a document may go from a status ("" if it is new) to another.
func isAllowed(from, to string, initial []string, transitions map[[2]string]bool) bool {
	return from == to || (from == "" && slices.Contains(initial, to)) || transitions[[2]string{from, to}]
}
