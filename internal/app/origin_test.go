package app

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// What a job changes is recorded with the job as the actor and with its run, and with no request.
func TestChanges_OfAJobNameItAndItsRun(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Boot(t.Context())
	event, listed := w.Event(4), 0
	due := bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Minute)}}
	run := func(job string) string {
		t.Helper()
		result, err := a.RunManually(t.Context(), job)
		if err != nil {
			t.Fatal(err)
		}
		return result.ID
	}
	// recorded are the changes since the last call, each with its actor and its run.
	recorded := func() (lines []string) {
		t.Helper()
		run("changes")
		list, _, err := a.Changes.List(t.Context(), nil, changes.Filter{}, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list[listed:] {
			lines = append(lines, fmt.Sprintf("%s by %q in %q%s", c.Type.Name(), c.Actor, c.RunID, c.RequestID))
		}
		listed = len(list)
		return lines
	}
	for _, step := range []struct {
		job  string
		make func()
		want []string
	}{
		{"lock-expiry", func() { w.Acquire(event, 2, testenv.Past()) }, []string{"lock.expired"}},
		{"booking-expiry", func() {
			w.Set("bookings", w.Book(w.Acquire(event, 2, testenv.Soon()), testenv.Soon()).ID, due)
		}, []string{"lock.expired", "booking.expired"}},
		{"recovery", func() { w.Acquire(event, 2, testenv.Past()) }, []string{"lock.expired"}},
		{"reconcile", func() { w.Set("events", event, bson.D{{Key: "availableSeats", Value: 0}}) }, []string{"event.available"}},
	} {
		step.make()
		recorded()
		id := run(step.job)
		var want []string
		for _, kind := range step.want {
			want = append(want, fmt.Sprintf("%s by %q in %q", kind, step.job, id))
		}
		if got := recorded(); id == "" || !slices.Equal(got, want) {
			t.Errorf("%s: recorded %q, want %q", step.job, got, want)
		}
	}
}
