package seats_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestUpdateEvent_CapacityChangesDuringTheSale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	ctx, stop := context.WithCancel(w.Ctx())
	var all sync.WaitGroup
	for range 8 { // customers acquire and release
		all.Go(func() {
			for ctx.Err() == nil {
				lock, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1 + rand.Int64N(5)})
				if err == nil && rand.IntN(3) > 0 {
					_, err = w.Seats.ReleaseLock(ctx, lock.ID)
				}
				if err != nil && !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	changed := 0
	for range 60 {
		total := 20 + rand.Int64N(150)
		e, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{TotalSeats: &total})
		switch {
		case err == nil && e.TotalSeats == total:
			changed++
		case !holdfast.HasCode(err, holdfast.CodeCapacityBelowTaken):
			t.Error(e, err)
		}
	}
	stop()
	all.Wait()
	if changed == 0 {
		t.Error("no change got through")
	}
	testenv.WaitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 0 })
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestUpdateEvent_RefusesACapacityBelowTheSeatsTaken(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Acquire(event, 6, testenv.Soon())
	to := func(total int64) error {
		_, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{TotalSeats: &total})
		return err
	}
	wantCode(t, to(5), holdfast.CodeCapacityBelowTaken)
	wantCode(t, to(6), "")
	if available, _ := w.Available(event); available != 0 {
		t.Errorf("available %d, want 0", available)
	}
	wantCode(t, to(12), "")
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestUpdateEvent_CancelledIsFinal(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	set := func(s holdfast.EventStatus) error {
		_, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{Status: &s})
		return err
	}
	for _, s := range []holdfast.EventStatus{holdfast.Closed, holdfast.OnSale, holdfast.Cancelled, holdfast.Cancelled} {
		wantCode(t, set(s), "")
	}
	wantCode(t, set(holdfast.OnSale), holdfast.CodeEventNotOnSale)
	wantCode(t, set(holdfast.Closed), holdfast.CodeEventNotOnSale)
	text := "$totalSeats" // MongoDB must not read a client's text as an expression
	e, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{Name: &text})
	if err != nil || e.Name != text {
		t.Errorf("got %q, %v", e.Name, err)
	}
}

// onFirstUse calls do when the context is used for the first time.
type onFirstUse struct {
	context.Context //nolint:containedctx // it is a context

	once sync.Once
	do   func()
}

func (c *onFirstUse) Value(key any) any {
	c.once.Do(c.do)
	return c.Context.Value(key)
}

// The call uses its context after it began and before it writes: by then the values of
// the caller don't matter any more.
func TestUpdateEvent_WritesWhatItChecked(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	total, isChanged := int64(50), false
	ctx := &onFirstUse{Context: w.Ctx(), do: func() { total, isChanged = -5, true }}
	e, err := w.Seats.UpdateEvent(ctx, event, holdfast.EventChange{TotalSeats: &total})
	if err != nil || e.TotalSeats != 50 || !isChanged {
		t.Errorf("got %d seats, %v, want 50; the caller changed its value: %v", e.TotalSeats, err, isChanged)
	}
	if stored, err := w.Seats.GetEvent(w.Ctx(), event); err != nil || stored.TotalSeats != 50 {
		t.Errorf("%d seats are stored, %v, want 50", stored.TotalSeats, err)
	}
}
