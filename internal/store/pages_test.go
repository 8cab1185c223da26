package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A walk that ends early is never taken for one that has seen all events.
func TestEachEvent_AnErrorEndsTheWalk(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for range 5 {
		w.Event(1)
	}
	failure := errors.New("failure")
	for _, scope := range []store.Scope{store.NotArchived, store.AllEvents} {
		seen := 0
		err := w.Store.EachEvent(w.Ctx(), scope, 1, func(page store.EventPage) error {
			if seen += len(page.IDs); seen == 2 {
				return failure
			}
			return nil
		})
		if !errors.Is(err, failure) || seen != 2 {
			t.Errorf("handle fails: %v after %d events", err, seen)
		}

		ctx, cancel := context.WithCancel(w.Ctx())
		seen = 0
		err = w.Store.EachEvent(ctx, scope, 1, func(page store.EventPage) error {
			seen += len(page.IDs)
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

// A load in a transaction reads the event and the due locks by one command.
func TestLoad_InATransactionReadsOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Acquire(event, 1, testenv.Past())
	process, sent := reads(t, w)
	state, err := mongodb.InTx(w.Ctx(), process.DB, func(ctx context.Context) (inventory.State, error) {
		return process.Store.Load(ctx, event, inventory.Needs{Due: 1})
	})
	if n := sent(); err != nil || n != 1 || len(*state.Due) != 1 {
		t.Errorf("%d reads, %+v, %v", n, state.Due, err)
	}
}
