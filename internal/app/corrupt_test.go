package app

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A sweep finds the corrupt documents among the good ones. Every process counts them, and logs each once, until they are mended.
func TestCorrupt_IsReportedUntilItIsMended(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	hall := holdfast.SeatingPlan{Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
		{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}}},
	}}
	plan, _, err := w.Plans.Create(t.Context(), hall, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	event, other := w.Event(100), w.Event(10)
	for range 5 {
		w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
	}
	lock := w.Acquire(event, 3, testenv.Soon())
	booking := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())

	sweeper, observer := connect(t, w), connect(t, w, "--pod-name", "observer")
	for _, a := range []*App{sweeper, observer} {
		a.Boot(t.Context())
	}
	sweepUntil := func(state string) {
		t.Helper()
		testenv.WaitFor(t, func() bool { // a search so soon after the one before may be left out
			_, err := sweeper.RunManually(t.Context(), "lock-expiry")
			return err == nil && sweeper.Ready(t.Context()).Checks["corrupt"] == state
		})
		testenv.WaitFor(t, func() bool { return observer.Ready(t.Context()).Checks["corrupt"] == state })
	}
	sweepUntil("none")

	w.Set("seatlocks", lock.ID, bson.D{{Key: "userId", Value: "x"}})
	w.Set("bookings", booking.ID, bson.D{{Key: "status", Value: "LOST"}})
	w.ChangeUnchecked("events", other, bson.D{{Key: "$unset", Value: bson.D{{Key: "totalSeats", Value: ""}}}})
	w.Set("seatingplans", plan.ID, bson.D{{Key: "name", Value: 5}})
	sweepUntil("1 in seatingplans, 1 in events, 1 in seatlocks, 1 in bookings")
	reasons := map[string]string{
		"seatlocks": "userId is of type string", "bookings": "status has a value that is not allowed",
		"events": "totalSeats is missing", "seatingplans": "name is of type int",
	}
	sweepUntil("1 in seatingplans, 1 in events, 1 in seatlocks, 1 in bookings")
	for _, a := range []*App{sweeper, observer} {
		if ready := a.Ready(t.Context()); !ready.Ready || !ready.Degraded {
			t.Errorf("%+v", ready)
		}
		for collection := range reasons {
			if n := testutil.ToFloat64(a.Metrics.Corrupt.WithLabelValues(collection)); n != 1 {
				t.Errorf("the gauge of %s says %v", collection, n)
			}
		}
	}
	for collection, why := range reasons {
		if lines := w.Log.Lines("Corrupt document in " + collection + ": " + why); len(lines) != 2 {
			t.Errorf("%s, in %d lines, want one of each process", collection, len(lines))
		}
	}
	testenv.WaitFor(t, func() bool { available, _ := w.Available(event); return available == 94 }) // without the lock's 3 seats
	reconciled, err := observer.RunManually(t.Context(), "reconcile")
	if available, _ := w.Available(event); err != nil || available != 94 {
		t.Errorf("reconcile: %+v, %v; %d seats are available", reconciled, err, available)
	}

	w.Set("seatlocks", lock.ID, bson.D{{Key: "userId", Value: lock.UserID}})
	w.Set("bookings", booking.ID, bson.D{{Key: "status", Value: string(booking.Status)}})
	w.Set("events", other, bson.D{{Key: "totalSeats", Value: 10}})
	w.Set("seatingplans", plan.ID, bson.D{{Key: "name", Value: "Hall"}})
	sweepUntil("none")
	testenv.WaitFor(t, func() bool { available, _ := w.Available(event); return available == 91 })
	for collection := range reasons {
		if n := testutil.ToFloat64(observer.Metrics.Corrupt.WithLabelValues(collection)); n != 0 {
			t.Errorf("the gauge of %s says %v", collection, n)
		}
	}
}

// The collections of the jobs are searched too.
func TestCorrupt_RunsAndLeasesAreReported(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	for collection, field := range map[string]string{"jobruns": "pod", "jobleases": "lockedBy"} {
		w.Insert(collection, bson.D{{Key: "_id", Value: "x"}, {Key: "job", Value: "lock-expiry"}, {Key: "outcome", Value: "failed"},
			{Key: "expiresAt", Value: time.Now().Add(time.Hour)}, {Key: field, Value: 7}})
	}
	if err := a.Corrupt.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if state := a.Ready(t.Context()).Checks["corrupt"]; state != "1 in jobruns, 1 in jobleases" {
		t.Error(state)
	}
	for collection, why := range map[string]string{"jobruns": "pod is of type int", "jobleases": "lockedBy is of type int"} {
		if n := testutil.ToFloat64(a.Metrics.Corrupt.WithLabelValues(collection)); n != 1 {
			t.Errorf("the gauge of %s says %v", collection, n)
		}
		if lines := w.Log.Lines("Corrupt document in " + collection + ": " + why); len(lines) != 1 {
			t.Errorf("%s, in %d lines", collection, len(lines))
		}
	}
}

// Of many corrupt documents, each result logs 100, and a collection is not searched further than 1,000.
func TestCorrupt_ManyAreCountedUpToALimit(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	var locks []any
	for range 1010 {
		locks = append(locks, bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1},
			{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().String()}})
	}
	unchecked := options.InsertMany().SetBypassDocumentValidation(true)
	if _, err := w.DB.Collection("seatlocks").InsertMany(t.Context(), locks, unchecked); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 2; i++ {
		if err := w.Corrupt.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, _ := w.Corrupt.Known()
		if state := found.String(); state != "at least 1000 in seatlocks" {
			t.Error(state)
		}
		if lines := w.Log.Lines("Corrupt document in seatlocks: expiresAt is of type string"); len(lines) != 100*i {
			t.Errorf("%d lines after %d searches", len(lines), i)
		}
	}
	if strings.Contains(strings.Join(w.Log.Lines("Could not repair"), ""), "event") {
		t.Error("the event was not repaired")
	}
}

// Searches take at most a twentieth of the time, over all processes.
func TestCorrupt_SearchesRest(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Core(w.DB, nil)
	for _, c := range []struct {
		took   time.Duration
		ago    time.Duration
		search bool
	}{{time.Second, 10 * time.Second, false}, {time.Second, 30 * time.Second, true},
		{time.Minute, 10 * time.Minute, false}, {0, time.Second, true}} {
		if err := w.Corrupt.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		began := time.Now().Add(-c.ago).UTC().Truncate(time.Millisecond)
		_, err := w.DB.Collection("meta").UpdateOne(t.Context(), bson.D{{Key: "_id", Value: "corrupt"}},
			bson.D{{Key: "$set", Value: bson.D{{Key: "took", Value: c.took}, {Key: "began", Value: began}}}})
		if err != nil {
			t.Fatal(err)
		}
		err = other.Corrupt.RefreshIfDue(t.Context())
		if last, _ := other.Corrupt.Known(); err != nil || last.Began.After(began) != c.search {
			t.Errorf("%+v: the last search began at %v, %v", c, last.Began, err)
		}
	}
}
