package store_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A walk that ends early is never taken for one that has seen all events.
func TestEachEventPage_AnErrorEndsTheWalk(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for range 5 {
		w.Event(1)
	}
	failure := errors.New("failure")
	for _, scope := range []store.Scope{store.Unsealed, store.AllEvents} {
		seen := 0
		err := w.Store.EachEventPage(w.Ctx(), scope, 1, func(page store.EventPage) error {
			if seen += page.Len(); seen == 2 {
				return failure
			}
			return nil
		})
		if !errors.Is(err, failure) || seen != 2 {
			t.Errorf("handle fails: %v after %d events", err, seen)
		}

		ctx, cancel := context.WithCancel(w.Ctx())
		seen = 0
		err = w.Store.EachEventPage(ctx, scope, 1, func(page store.EventPage) error {
			seen += page.Len()
			cancel()
			return nil
		})
		if err == nil || seen > 3 {
			t.Errorf("the context ends: %v after %d events", err, seen)
		}
	}
}

// reads opens the database again; sent counts its reads since it was asked before.
func reads(t *testing.T, w *env) (process *env, sent func() int64) {
	t.Helper()
	var n atomic.Int64
	process = watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.CommandName == "find" || e.CommandName == "aggregate" || e.CommandName == "getMore" {
			n.Add(1)
		}
	}})
	n.Store(0)
	return process, func() int64 { return n.Swap(0) }
}

// Events before a run of sealed ones are one page, which ends behind the sealed ones.
func TestEachEventPage_ReadsNoSealedEvents(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const limit, sealed = 100, 250
	var docs []any
	for n := range limit + sealed + 1 {
		id := holdfast.ID{0: 1, 10: byte(n >> 8), 11: byte(n)}
		doc := bson.D{{Key: "_id", Value: id}, {Key: "totalSeats", Value: 1}, {Key: "availableSeats", Value: 1}}
		if n >= limit && n < limit+sealed {
			doc = append(doc, bson.E{Key: "internal", Value: bson.D{{Key: "sealed", Value: bson.D{{Key: "is", Value: true}}}}})
		}
		docs = append(docs, doc)
	}
	if _, err := w.DB.Collection("events").InsertMany(w.Ctx(), docs); err != nil {
		t.Fatal(err)
	}
	process, sent := reads(t, w)
	var pages []int
	err := process.Store.EachEventPage(w.Ctx(), store.Unsealed, limit, func(page store.EventPage) error {
		pages = append(pages, page.Len())
		return nil
	})
	const first, last = 3, 2 // the page, the next sealed event, and the end of its run
	if n := sent(); err != nil || !slices.Equal(pages, []int{limit, 1}) || n != first+last {
		t.Errorf("pages of %v events by %d reads, %v", pages, n, err)
	}
}

// A load in a transaction reads the event, the due locks and their sales by one command. It reads the due
// locks once more only if some can't be ended.
func TestLoad_InATransactionReadsDueLocksOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for unendable := range 2 {
		event := w.Event(10)
		dueLocks(w, event, unendable)
		process, sent := reads(t, w)
		_, err := mongodb.InTx(w.Ctx(), process.DB, func(ctx context.Context) (inventory.State, error) {
			return process.Store.Load(ctx, event, inventory.Needs{Due: 1})
		})
		if n, want := sent(), int64(1+2*unendable); err != nil || n != want { // again: locks, and sales
			t.Errorf("%d locks that can't be ended: %d reads, want %d; %v", unendable, n, want, err)
		}
	}
}

// dueLocks inserts due locks that no sweep can end, and one that is sold behind them.
func dueLocks(w *env, event holdfast.ID, unendable int) (sold holdfast.ID) {
	for range unendable {
		w.Insert("seatlocks", bson.D{{Key: "_id", Value: "text " + ids.New().String()}, {Key: "eventId", Value: event},
			{Key: "seats", Value: int64(1)}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: testenv.Past().At.AddDate(0, 0, -1)}})
	}
	sold = w.Acquire(event, 1, testenv.Past()).ID
	w.Insert("bookings", bson.D{{Key: "eventId", Value: event}, {Key: "seatLockId", Value: sold}, {Key: "status", Value: "CONFIRMED"}})
	return sold
}

// A load in a transaction reads the due locks that can be ended once more, and their sales too.
func TestLoad_InATransactionKnowsTheSalesOfTheLocksThatCanBeEnded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	const limit = 2
	sold := dueLocks(w, event, limit)
	state, err := mongodb.InTx(w.Ctx(), w.DB, func(ctx context.Context) (inventory.State, error) {
		return w.Store.Load(ctx, event, inventory.Needs{Due: limit})
	})
	if err != nil || state.Due == nil || len(*state.Due) != 1 || (*state.Due)[0].ID != sold || !(*state.Due)[0].Sold {
		t.Errorf("got %+v, %v; want the sold lock %s", state.Due, err, sold)
	}
}

// Other software keeps CONFIRMED bookings that name no lock. They are not joined where no lock is due, or
// to a booking that names none either: they would be too large for an answer.
func TestLoad_JoinsNoBookingsThatNameNoLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	const tooMany, size = 20, 900_000 // bytes: together they exceed the largest document
	for range tooMany {
		w.Insert("bookings", bson.D{{Key: "seatLockId", Value: bson.A{nil, strings.Repeat("x", size)}}, {Key: "status", Value: "CONFIRMED"}})
	}
	booking := ids.New()
	w.Insert("bookings", bson.D{{Key: "_id", Value: booking}, {Key: "eventId", Value: event}, {Key: "status", Value: "INITIATED"}})
	_, err := mongodb.InTx(w.Ctx(), w.DB, func(ctx context.Context) (inventory.State, error) {
		return w.Store.Load(ctx, event, inventory.Needs{Due: 1})
	})
	if err != nil {
		t.Errorf("nothing is due: %v", err)
	}
	if _, err := w.Store.Load(w.Ctx(), holdfast.ID{}, inventory.Needs{Bookings: list(booking)}); err != nil {
		t.Errorf("a booking without a lock: %v", err)
	}
}
