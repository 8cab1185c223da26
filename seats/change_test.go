package seats_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

func TestGiveBack_AnswersByTheLocksState(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for status, want := range map[string]holdfast.Code{
		"ACTIVE": "", "RELEASED": "", "EXPIRED": holdfast.CodeLockExpired, "CONSUMED": holdfast.CodeLockConsumed,
	} {
		lock := w.Take(event, 1, testenv.Soon())
		w.Set("seatlocks", lock.ID, bson.D{{Key: "status", Value: status}})
		_, err := w.Seats.Release(w.Ctx(), lock.ID)
		if holdfast.CodeOf(err) != want {
			t.Errorf("%s: got %v, want %q", status, err, want)
		}
	}
	due := w.Take(event, 1, testenv.Past())
	_, err := w.Seats.Release(w.Ctx(), due.ID)
	wantCode(t, err, holdfast.CodeLockExpired)
	_, err = w.Seats.Release(w.Ctx(), ids.New())
	wantCode(t, err, holdfast.CodeLockNotFound)
}

func TestGiveBack_ManyTimesAtOnceGivesSeatsBackOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Take(event, 5, testenv.Soon())
	lock := w.Take(event, 3, testenv.Soon())
	other := testenv.Open(t, w.URI, w.DB.Name())
	var all sync.WaitGroup
	for i := range 40 {
		service := []*seats.Service{w.Seats, other.Seats}[i%2]
		all.Go(func() {
			if released, err := service.Release(w.Ctx(), lock.ID); err != nil || released.Status != holdfast.LockReleased {
				t.Error(released, err)
			}
		})
	}
	all.Wait()
	if available, _ := w.Available(event); available != 5 {
		t.Errorf("available %d, want 5", available)
	}
}

func TestExtend_NeverShortensAndStopsAtTheCap(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	lock := w.Take(event, 1, holdfast.Until{For: time.Hour})
	extend := func(u holdfast.Until) (holdfast.Lock, error) { return w.Seats.Extend(w.Ctx(), lock.ID, u) }

	got, err := extend(holdfast.Until{For: time.Minute})
	if err != nil || !got.ExpiresAt.Equal(lock.ExpiresAt) {
		t.Errorf("shorter: %v, %v; want %v as before", got.ExpiresAt, err, lock.ExpiresAt)
	}
	got, err = extend(testenv.Past())
	if err != nil || !got.ExpiresAt.Equal(lock.ExpiresAt) {
		t.Errorf("past: %v, %v; want %v as before", got.ExpiresAt, err, lock.ExpiresAt)
	}
	got, err = extend(holdfast.Until{At: lock.CreatedAt.Add(testenv.MaxTTL)})
	if err != nil || !w.Lock(lock.ID).ExpiresAt.Equal(lock.CreatedAt.Add(testenv.MaxTTL)) {
		t.Errorf("to the cap: %v, %v", got.ExpiresAt, err)
	}
	_, err = extend(holdfast.Until{At: lock.CreatedAt.Add(testenv.MaxTTL + time.Millisecond)})
	wantCode(t, err, holdfast.CodeInvalid)
	_, err = extend(holdfast.Until{})
	wantCode(t, err, holdfast.CodeInvalid)

	w.Set("events", event, bson.D{{Key: "status", Value: "CLOSED"}})
	_, err = extend(holdfast.Until{For: time.Hour})
	wantCode(t, err, "")
	w.Set("events", event, bson.D{{Key: "status", Value: "CANCELLED"}})
	_, err = extend(holdfast.Until{For: time.Hour})
	wantCode(t, err, holdfast.CodeEventNotOnSale)
}

func TestUpdateEvent_CapacityMovesInMidSale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	ctx, stop := context.WithCancel(w.Ctx())
	var all sync.WaitGroup
	for range 8 { // live traffic of locks and releases
		all.Go(func() {
			for ctx.Err() == nil {
				lock, _, err := w.Seats.Acquire(ctx, holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1 + rand.Int64N(5)})
				if err == nil && rand.IntN(3) > 0 {
					_, err = w.Seats.Release(ctx, lock.ID)
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
	waitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 0 })
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestUpdateEvent_RefusesACapacityBelowTheSeatsTaken(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Take(event, 6, testenv.Soon())
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
	text := "$totalSeats" // a client's text is no expression
	e, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{Name: &text})
	if err != nil || e.Name != text {
		t.Errorf("got %q, %v", e.Name, err)
	}
}

// Seats taken beyond the total are paid down before any goes back on sale.
func TestGiveBack_PaysDownWhatIsOversold(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	first, second := w.Take(event, 4, testenv.Soon()), w.Take(event, 6, testenv.Soon())
	w.Set("events", event, bson.D{{Key: "totalSeats", Value: 5}, {Key: "oversold", Value: 5}})
	if _, err := w.Seats.Release(w.Ctx(), first.ID); err != nil {
		t.Fatal(err)
	}
	if available, oversold := w.Available(event); available != 0 || oversold != 1 {
		t.Errorf("available %d, oversold %d, want 0 and 1", available, oversold)
	}
	_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1})
	wantCode(t, err, holdfast.CodeSeatsUnavailable)
	if _, err := w.Seats.Release(w.Ctx(), second.ID); err != nil {
		t.Fatal(err)
	}
	if available, oversold := w.Available(event); available != 5 || oversold != 0 {
		t.Errorf("available %d, oversold %d, want 5 and 0", available, oversold)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
