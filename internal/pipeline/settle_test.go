package pipeline_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// observeInterval is how long the test watches a command wait.
const observeInterval = 200 * time.Millisecond

// settleCase is a command whose commit was sent but not answered.
type settleCase struct {
	name    string
	command func(w *env, eventID holdfast.ID, lock holdfast.Lock) inventory.Command
	// available seats of 10 after the command; the lock has 3.
	available int64
	isRight   func(r inventory.Result, c inventory.Command) bool
}

var settleCases = []settleCase{
	{
		name: "acquire",
		command: func(_ *env, eventID holdfast.ID, _ holdfast.Lock) inventory.Command {
			return acquire(eventID, 5, "")
		},
		available: 2,
		isRight:   hasItsLock,
	},
	{
		name: "acquire with a key",
		command: func(_ *env, eventID holdfast.ID, _ holdfast.Lock) inventory.Command {
			return acquire(eventID, 5, "key")
		},
		available: 2,
		isRight:   hasItsLock,
	},
	{
		name: "release",
		command: func(_ *env, _ holdfast.ID, lock holdfast.Lock) inventory.Command {
			return inventory.Release{LockID: lock.ID}
		},
		available: 10,
		isRight: func(r inventory.Result, _ inventory.Command) bool {
			return r.Lock.Status == holdfast.LockReleased
		},
	},
	{
		name: "cancel",
		command: func(w *env, _ holdfast.ID, lock holdfast.Lock) inventory.Command {
			return inventory.Cancel{BookingID: w.Book(lock, testenv.Soon()).ID, LockID: lock.ID}
		},
		available: 10,
		isRight: func(r inventory.Result, _ inventory.Command) bool {
			return r.Booking.Status == holdfast.BookingCancelled
		},
	},
	{
		name: "change the seats of a booking",
		command: func(w *env, _ holdfast.ID, lock holdfast.Lock) inventory.Command {
			return inventory.ChangeBooking{OfBooking: ofBooking(confirmed(w, lock)), BookingChange: holdfast.BookingChange{
				Seats: 5, Payment: holdfast.Charge{Reference: "more " + lock.ID.String()}}}
		},
		available: 5,
		isRight: func(r inventory.Result, _ inventory.Command) bool {
			return r.Booking.Seats == 5 && len(r.Booking.Payments) == 2 && len(r.Booking.Done) == 1 && !r.Replayed
		},
	},
	{
		name: "transfer",
		command: func(w *env, _ holdfast.ID, lock holdfast.Lock) inventory.Command {
			return inventory.Transfer{
				OfBooking: ofBooking(confirmed(w, lock)), Customer: inventory.Customer{UserID: mongodb.NewID()}, NewLockID: mongodb.NewID(),
			}
		},
		available: 7,
		isRight: func(r inventory.Result, c inventory.Command) bool {
			of := c.(inventory.Transfer)
			return r.Booking.UserID == of.UserID && r.Booking.LockID == of.NewLockID && !r.Replayed
		},
	},
	{
		name: "sell",
		command: func(_ *env, eventID holdfast.ID, lock holdfast.Lock) inventory.Command {
			return inventory.Sell{
				Acquire: acquire(eventID, 5, ""), BookingID: mongodb.NewID(), Charge: holdfast.Charge{Reference: "sale " + lock.ID.String()},
			}
		},
		available: 2,
		isRight: func(r inventory.Result, c inventory.Command) bool {
			of := c.(inventory.Sell)
			return r.Booking.ID == of.BookingID && r.Booking.LockID == of.LockID && len(r.Booking.Payments) == 1 && !r.Replayed
		},
	},
	{
		name: "change the event",
		command: func(*env, holdfast.ID, holdfast.Lock) inventory.Command {
			total := int64(20)
			return inventory.ChangeEvent{EventChange: holdfast.EventChange{TotalSeats: &total}}
		},
		available: 17,
		isRight: func(r inventory.Result, _ inventory.Command) bool {
			return r.Event.TotalSeats == 20 && r.Event.AvailableSeats == 17
		},
	},
}

func hasItsLock(r inventory.Result, c inventory.Command) bool {
	return r.Lock.ID == c.(inventory.Acquire).LockID && r.Lock.Status == holdfast.LockActive && r.Lock.Seats == 5 && !r.Replayed &&
		!r.Lock.ExpiresAt.IsZero()
}

// planOf is the plan that a process makes for a command.
func planOf(t *testing.T, w *env, eventID holdfast.ID, c inventory.Command) []store.EventPlan {
	t.Helper()
	var s inventory.State
	for range 4 {
		plan, _, needs := inventory.Decide(s, []inventory.Command{c}, rules)
		if needs.None() {
			return []store.EventPlan{{EventID: eventID, Plan: plan}}
		}
		needs = needs.And(inventory.Needs{Locks: keysOf(s.Locks), Bookings: keysOf(s.Bookings), Charged: keysOf(s.Charged)})
		var err error
		if s, err = w.Store.Load(t.Context(), eventID, needs); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the decision needs more and more")
	return nil
}

func keysOf[K comparable, T any](m map[K]T) (list []K) {
	for key := range m {
		list = append(list, key)
	}
	return list
}

// confirmed makes a CONFIRMED booking of a lock, with a payment.
func confirmed(w *env, lock holdfast.Lock) holdfast.Booking {
	w.T.Helper()
	b, err := w.Bookings.ConfirmBooking(w.Ctx(), w.Book(lock, testenv.Soon()).ID, holdfast.Charge{Reference: lock.ID.String()})
	if err != nil {
		w.T.Fatal(err)
	}
	return b
}

// ofBooking names a booking as the service does.
func ofBooking(b holdfast.Booking) inventory.OfBooking {
	return inventory.OfBooking{
		BookingID: b.ID, LockID: b.LockID, EventID: b.EventID, Request: holdfast.DoneRequest{ID: mongodb.NewID(), Hash: "hash"},
	}
}

// eachSettleCase runs a test for each command, with an event of 10 seats and the plan of
// the unanswered commit.
func eachSettleCase(t *testing.T, run func(t *testing.T, w *env, eventID holdfast.ID, c inventory.Command, sent []store.EventPlan,
	s settleCase)) {
	t.Helper()
	w := testenv.New(t)
	for _, s := range settleCases {
		t.Run(s.name, func(t *testing.T) {
			eventID := w.Event(10)
			c := s.command(w, eventID, w.Acquire(eventID, 3, testenv.Soon()))
			run(t, w, eventID, c, planOf(t, w, eventID, c), s)
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

func settle(t *testing.T, w *env, eventID holdfast.ID, c inventory.Command, s settleCase) {
	t.Helper()
	results, err := newProcess(t, w).Settle(w.Ctx(), eventID, c)
	if err != nil {
		t.Fatal(err)
	}
	if r := results[0]; r.Err != nil || !s.isRight(r, c) {
		t.Errorf("got %+v", r)
	}
	wantAvailable(t, w, eventID, s.available)
}

func always() error { return nil }

// The commit had happened: settling finds its documents, and writes nothing twice.
func TestSettle_ACommitThatHappened(t *testing.T) {
	t.Parallel()
	eachSettleCase(t, func(t *testing.T, w *env, eventID holdfast.ID, c inventory.Command, sent []store.EventPlan, s settleCase) {
		if _, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, sent, always); err != nil {
			t.Fatal(err)
		}
		settle(t, w, eventID, c, s)
	})
}

// The commit is still in flight: settling waits for it.
func TestSettle_ACommitThatIsStillInFlight(t *testing.T) {
	t.Parallel()
	no := mongodb.AbortError("no")
	for name, outcome := range map[string]error{"and happens": nil, "and does not happen": no} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachSettleCase(t, func(t *testing.T, w *env, eventID holdfast.ID, c inventory.Command, sent []store.EventPlan, s settleCase) {
				written, answer := make(chan struct{}), make(chan error, 1)
				proceed := make(chan struct{})
				go func() {
					_, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, sent, func() error { close(written); <-proceed; return outcome })
					answer <- err
				}()
				<-written
				before := w.Transactions(mongodb.Done)
				settled := make(chan struct{})
				go func() {
					defer close(settled)
					settle(t, w, eventID, c, s)
				}()
				testenv.HoldsFor(t, observeInterval, func() bool {
					select {
					case <-settled:
						return false
					default:
						return w.Transactions(mongodb.Done) == before
					}
				})
				close(proceed)
				if err := <-answer; !errors.Is(err, outcome) {
					t.Errorf("the commit in flight: %v", err)
				}
				<-settled
			})
		})
	}
}

// The caller of the commit in flight has given up: there is nothing to grant any more, and
// settling waits nevertheless, or the lock would appear after the answer.
func TestSettle_WaitsForACommitInFlightEvenIfItGrantsNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	c := acquire(eventID, 5, "")
	sent := planOf(t, w, eventID, c)
	written, proceed, answer := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, sent, func() error { close(written); <-proceed; return nil })
		answer <- err
	}()
	<-written
	c.Abandoned = true
	settled := make(chan []inventory.Result, 1)
	go func() {
		results, err := newProcess(t, w).Settle(w.Ctx(), eventID, c)
		if err != nil {
			t.Error(err)
		}
		settled <- results
	}()
	testenv.HoldsFor(t, observeInterval, func() bool { return len(settled) == 0 })
	close(proceed)
	if err := <-answer; err != nil {
		t.Error(err)
	}
	if r := (<-settled)[0]; r.Err != nil || r.Lock.ID != c.LockID {
		t.Errorf("got %+v", r)
	}
	wantAvailable(t, w, eventID, 5)
}

// The commit arrives after settling: it writes nothing.
func TestSettle_ACommitThatArrivesTooLate(t *testing.T) {
	t.Parallel()
	eachSettleCase(t, func(t *testing.T, w *env, eventID holdfast.ID, c inventory.Command, sent []store.EventPlan, s settleCase) {
		settle(t, w, eventID, c, s)
		_, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, sent, always)
		if !errors.Is(err, store.ErrStale) && !errors.Is(err, store.ErrKeyInUse) {
			t.Errorf("got %v, want ErrStale or ErrKeyInUse", err)
		}
		wantAvailable(t, w, eventID, s.available)
	})
}

// Other commands have taken the seats since the commit.
func TestSettle_RefusesIfTheSeatsAreGone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	c := acquire(eventID, 5, "key")
	w.Acquire(eventID, 6, testenv.Soon())
	results, err := newProcess(t, w).Settle(w.Ctx(), eventID, c)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, results[0].Err, holdfast.CodeSeatsUnavailable)
	wantAvailable(t, w, eventID, 4)
}

// A command that was abandoned meanwhile is settled too, so that its lock is found and
// released.
func TestSettle_FindsTheLockOfAnAbandonedCommand(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	c := acquire(eventID, 5, "")
	if _, err := w.Store.Apply(w.Ctx(), mongodb.TxOptions{}, planOf(t, w, eventID, c), always); err != nil {
		t.Fatal(err)
	}
	c.Abandoned = true
	other := acquire(eventID, 1, "")
	other.Abandoned = true // its commit had not happened
	results, err := newProcess(t, w).Settle(context.Background(), eventID, c, other)
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Err != nil || results[0].Lock.ID != c.LockID {
		t.Errorf("got %+v", results[0])
	}
	wantCode(t, results[1].Err, holdfast.CodeOutcomeUnknown)
	wantAvailable(t, w, eventID, 5)
}

// Another process has made the lock of the key meanwhile.
func TestSettle_ReplaysTheLockOfAKeyThatWasUsedElsewhere(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	c := acquire(eventID, 5, "key")
	elsewhere := c
	elsewhere.LockID = mongodb.NewID()
	first := submit(t, newProcess(t, w), eventID, elsewhere)
	results, err := newProcess(t, w).Settle(w.Ctx(), eventID, c)
	if err != nil || results[0].Err != nil || !results[0].Replayed || results[0].Lock.ID != first.Lock.ID {
		t.Errorf("got %+v, %v", results, err)
	}
	wantAvailable(t, w, eventID, 5)
}
