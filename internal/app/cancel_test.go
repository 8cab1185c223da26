package app

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

// Of several events that are cancelled at once, none waits for the last pass of another one, and each has its own run.
func TestCancelEvent_SeveralEventsDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a := connect(t, w)
	a.Boot(t.Context())
	const events = 3
	var bookings []holdfast.ID
	var runs []string
	for n := range events {
		eventID := w.Event(10)
		for range n + 1 {
			bookings = append(bookings, w.Book(w.Acquire(eventID, 2, testenv.Soon()), testenv.Soon()).ID)
		}
		run, err := a.CancelEvent(t.Context(), eventID)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run.ID)
	}
	record := func(run string) jobs.Record { return a.Jobs.Await(t.Context(), expiry.EventCancel, run) }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- a.Jobs.Schedule(ctx) }()
	testenv.WaitFor(t, func() bool {
		for _, id := range bookings {
			if w.Booking(id).Status != holdfast.BookingCancelled {
				return false
			}
		}
		return true
	})
	for _, run := range runs {
		if got := record(run).Outcome; got != jobs.Running {
			t.Errorf("the bookings of all events have ended, and run %s is %s before its last pass", run, got)
		}
	}
	for n, run := range runs {
		testenv.WaitFor(t, func() bool { return record(run).Outcome == jobs.Completed })
		want := jobs.Counts{Found: n + 1, Applied: n + 1, SeatsRestored: int64(2 * (n + 1))}
		if got := record(run).Counts; got != want {
			t.Errorf("the run of event %d has %+v, want %+v", n, got, want)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
