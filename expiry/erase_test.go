package expiry_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	monitor "go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

const ada = "ada lovelace"

func eraser(w *testenv.Env, batch int) *expiry.Eraser {
	e := *w.Eraser
	e.Sweeper = &expiry.Sweeper{Pipeline: w.Pipeline, Batch: batch}
	return &e
}

// sellToAda sells a seat to Ada, and returns the booking.
func sellToAda(w *testenv.Env, event holdfast.ID, key string) holdfast.Booking {
	w.T.Helper()
	lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, Holder: ada, Seats: 1, Key: key})
	if err != nil {
		w.T.Fatal(err)
	}
	b := w.Book(lock, testenv.Soon())
	if b, err = w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: key}); err != nil {
		w.T.Fatal(err)
	}
	return b
}

// wantForgotten fails unless Ada is in no document, and each of her locks and bookings was told to be changed once.
func wantForgotten(w *testenv.Env, situation string, documents int) {
	w.T.Helper()
	for _, collection := range []string{"seatlocks", "bookings", "payments", "waitlist"} {
		is := bson.D{{Key: "holder", Value: ada}}
		if collection == "seatlocks" {
			is = bson.D{{Key: "$or", Value: bson.A{is, bson.D{{Key: "idempotencyKey", Value: bson.D{{Key: "$exists", Value: true}}}}}}}
		}
		if n, err := w.DB.Collection(collection).CountDocuments(w.Ctx(), is); n != 0 || err != nil {
			w.T.Errorf("%s: Ada is in %d %s, %v", situation, n, collection, err)
		}
	}
	told := map[string]int{}
	for at := (*changes.Position)(nil); ; {
		if _, err := w.Changes.Number(w.Ctx()); err != nil {
			w.T.Fatal(err)
		}
		list, next, err := w.Changes.List(w.Ctx(), at, changes.Filter{}, 500)
		if err != nil {
			w.T.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		at = &next
		for _, c := range list {
			if c.Type == holdfast.ChangeLockChanged && c.Lock.Holder != ada || c.Type == holdfast.ChangeBookingChanged {
				told[c.Subject()]++
			}
		}
	}
	for subject, n := range told {
		if n != 1 {
			w.T.Errorf("%s: %s was told %d times", situation, subject, n)
		}
	}
	if documents > 0 && len(told) != documents {
		w.T.Errorf("%s: %d documents were told, want %d", situation, len(told), documents)
	}
	testenv.CheckInvariants(w.T, w.DB.Database)
}

// An erasure that is interrupted at any of its requests to MongoDB is completed by the next one, and nothing is told twice.
func TestErase_InterruptedAtAnyRequest(t *testing.T) {
	t.Parallel()
	for n := int64(1); ; n += 5 {
		w := testenv.New(t)
		event := w.Event(100)
		for i := range 5 {
			sellToAda(w, event, fmt.Sprint("k", i))
		}
		w.Acquire(event, 1, testenv.Past()) // of another customer
		ctx, interrupt := context.WithCancel(w.Ctx())
		var requests atomic.Int64
		process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
			o.Monitor = &monitor.CommandMonitor{Started: func(context.Context, *monitor.CommandStartedEvent) {
				if requests.Add(1) == n {
					interrupt()
				}
			}}
		})
		first, err := eraser(process, 2).Erase(ctx, holdfast.ID{}, ada)
		isComplete := err == nil
		if !isComplete && !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
			t.Errorf("interrupted at request %d: %v", n, err)
		}
		second, err := eraser(w, 2).Erase(w.Ctx(), holdfast.ID{}, ada)
		if err != nil || first.Locks+second.Locks > 5 || isComplete && second != (expiry.Erased{}) {
			t.Errorf("interrupted at request %d: erased %+v, and then %+v, %v", n, first, second, err)
		}
		wantForgotten(w, fmt.Sprint("interrupted at request ", n), 10)
		interrupt()
		if isComplete {
			t.Logf("an erasure sends %d requests", n)
			return
		}
	}
}

// A payment that has read its booking before the customer was erased is decided again: what it makes is for the erased one.
func TestErase_APaymentInFlightIsDecidedAgain(t *testing.T) {
	t.Parallel()
	for policy, want := range map[holdfast.LatePaymentPolicy]holdfast.Code{
		holdfast.LatePaymentsAccepted: "", holdfast.LatePaymentsRefused: holdfast.CodeBookingExpired,
	} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.Event(10)
			if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{LatePayments: &policy}); err != nil {
				t.Fatal(err)
			}
			lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, Holder: ada, Seats: 1})
			if err != nil {
				t.Fatal(err)
			}
			b := w.Book(lock, testenv.Soon())
			w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Minute)}})
			w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Minute)}})
			w.SweepBookings()

			var once sync.Once
			process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
				o.Monitor = &monitor.CommandMonitor{Started: func(_ context.Context, e *monitor.CommandStartedEvent) {
					if e.CommandName != "findAndModify" && e.CommandName != "update" { // the first write of the decision
						return
					}
					once.Do(func() {
						erased, err := eraser(w, testenv.Batch).Erase(w.Ctx(), holdfast.ID{}, ada)
						if err != nil || erased != (expiry.Erased{Locks: 1, Bookings: 1}) {
							t.Errorf("erased %+v, %v", erased, err)
						}
					})
				}}
			})
			late, err := process.Bookings.ConfirmBooking(process.Ctx(), b.ID, holdfast.Charge{Reference: "late"})
			if holdfast.CodeOf(err) != want || err == nil && (!late.Late || late.Holder == ada) {
				t.Errorf("confirmed %+v, %v", late, err)
			}
			wantForgotten(w, "after a late payment", 0)
		})
	}
}

// A customer of many locks is erased within one call.
func TestErase_ManyLocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const locks = 3000
	event, docs := w.Event(10_000), make([]any, 0, locks)
	for i := range locks {
		docs = append(docs, bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event},
			{Key: "userId", Value: holdfast.HolderID(ada)},
			{Key: "holder", Value: ada}, {Key: "seats", Value: 1}, {Key: "status", Value: "RELEASED"}, {Key: "expiresAt", Value: time.Now()},
			{Key: "idempotencyKey", Value: fmt.Sprint("k", i)}})
	}
	if _, err := w.DB.Collection("seatlocks").InsertMany(w.Ctx(), docs); err != nil {
		t.Fatal(err)
	}
	if erased, err := eraser(w, testenv.Batch).Erase(w.Ctx(), holdfast.ID{}, ada); err != nil || erased != (expiry.Erased{Locks: locks}) {
		t.Errorf("erased %+v, %v", erased, err)
	}
	wantForgotten(w, "many locks", locks)
}

// A customer on a waiting list is erased once it has left.
func TestErase_EntriesOfWaitingLists(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	var entries []holdfast.ID
	for _, status := range []string{"LEFT", "EXPIRED", "WAITING"} {
		id := mongodb.NewID()
		entries = append(entries, id)
		w.Insert("waitlist", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "userId", Value: holdfast.HolderID(ada)},
			{Key: "holder", Value: ada}, {Key: "seats", Value: 1}, {Key: "status", Value: status}})
	}
	erased, err := eraser(w, 2).Erase(w.Ctx(), holdfast.ID{}, ada)
	if !holdfast.HasCode(err, holdfast.CodeHoldsSeats) || erased != (expiry.Erased{}) {
		t.Errorf("while an entry waits: erased %+v, %v", erased, err)
	}
	w.Set("waitlist", entries[2], bson.D{{Key: "status", Value: "LEFT"}})
	for _, want := range []expiry.Erased{{Entries: 3}, {}} {
		if erased, err := eraser(w, 2).Erase(w.Ctx(), holdfast.ID{}, ada); err != nil || erased != want {
			t.Errorf("erased %+v, %v; want %+v", erased, err, want)
		}
	}
	wantForgotten(w, "entries", 0)
}
