package app

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// waitFor lets a new customer wait for a seat of an event whose sale begins in an hour.
func waitFor(t *testing.T, a *App, eventID holdfast.ID) (entry holdfast.ID) {
	t.Helper()
	open, starts := holdfast.WaitlistOpen, time.Now().Add(time.Hour)
	entry = mongodb.NewID()
	_, err := a.Pipeline.Change(t.Context(), eventID,
		inventory.ChangeEvent{EventChange: holdfast.EventChange{Waitlist: &open, SaleStartsAt: &starts}})
	if err == nil {
		_, err = a.Pipeline.Submit(t.Context(), eventID, inventory.Join{EntryID: entry, JoinRequest: holdfast.JoinRequest{
			EventID: eventID, Holder: "cart-1", UserID: holdfast.HolderID("cart-1"), EntryWish: holdfast.EntryWish{Seats: 1},
		}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

// beginSale moves the start of a sale into the past, as if the time had come.
func beginSale(w *testenv.Env, eventID holdfast.ID) {
	w.T.Helper()
	for _, field := range []string{"saleStartsAt", "internal.list.checkAt"} {
		w.Set("events", eventID, bson.D{{Key: field, Value: time.Now().Add(-time.Minute)}})
	}
}

// The process that leads makes the offers, under a lease, and counts them. No process of the API runs.
func TestWaitlist_TheProcessThatLeadsMakesOffers(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Boot(t.Context())
	eventID, other := w.Event(1), w.Event(1)
	entry := waitFor(t, a, eventID)
	waitFor(t, a, other)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- a.Jobs.Schedule(ctx) }()
	beginSale(w, eventID)
	testenv.WaitFor(t, func() bool {
		lock, err := w.Seats.GetLock(w.Ctx(), entry)
		return err == nil && lock.EntryID == entry && lock.Status == holdfast.LockActive
	})
	testenv.WaitFor(t, func() bool {
		return testutil.ToFloat64(a.Metrics.WaitlistChanges.WithLabelValues("offered")) == 1 &&
			testutil.CollectAndCount(a.Metrics.WaitlistEntries) == 2
	})
	states, _, err := a.Jobs.States(t.Context())
	isHeld := false
	for _, s := range states {
		isHeld = isHeld || s.Name == expiry.Waitlist && s.Lease.Name == "locks:holdfast:waitlist" && s.Lease.Held()
	}
	if err != nil || !isHeld {
		t.Errorf("the states are %+v, %v", states, err)
	}
	if joined := testutil.ToFloat64(a.Metrics.WaitlistChanges.WithLabelValues("joined")); joined != 2 {
		t.Errorf("%v entries were made", joined)
	}
	var delay dto.Metric
	if err := a.Metrics.WaitlistDelay.(prometheus.Metric).Write(&delay); err != nil || delay.Histogram.GetSampleCount() != 1 ||
		delay.Histogram.GetSampleSum() < 60 {
		t.Errorf("the delays are %v, %v", delay.Histogram, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(a.Metrics.WaitlistEntries); n != 0 {
		t.Errorf("a process that does not run the job has %d gauges", n)
	}
}

// A manual run ends when nothing is due.
func TestWaitlist_AManualRunCountsTheOpenEntries(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Boot(t.Context())
	eventID := w.Event(1)
	waitFor(t, a, eventID)
	w.Set("waitlist", waitFor(t, a, w.Event(1)), bson.D{{Key: "createdAt", Value: time.Now().Add(-time.Hour)}})
	beginSale(w, eventID)
	result, err := a.RunManually(t.Context(), expiry.Waitlist)
	if err != nil || result.Outcome != jobs.Completed || result.Found != 1 || result.Applied != 1 {
		t.Errorf("%+v, %v", result, err)
	}
	totals, err := a.Store.ListTotals(t.Context())
	if err != nil || totals.Waiting != 1 || totals.Offered != 1 || totals.OldestWaiting < time.Hour || totals.OldestWaiting > 2*time.Hour {
		t.Errorf("%+v, %v", totals, err)
	}
}

func TestCorrupt_EntriesAreReported(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	entry := waitFor(t, a, w.Event(1))
	w.ChangeUnchecked("waitlist", entry, bson.D{{Key: "$set", Value: bson.D{{Key: "status", Value: "LOST"}}}})
	if err := a.Corrupt.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if ready := a.Ready(t.Context()); !ready.Degraded || ready.Checks["corrupt"] != "1 in waitlist" {
		t.Errorf("%+v", ready)
	}
	if n := testutil.ToFloat64(a.Metrics.Corrupt.WithLabelValues("waitlist")); n != 1 {
		t.Errorf("the gauge says %v", n)
	}
}
