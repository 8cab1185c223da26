package expiry_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func canceller(w *testenv.Env, batch int) *expiry.Canceller {
	return &expiry.Canceller{Sweeper: &expiry.Sweeper{Pipeline: w.Pipeline, Batch: batch}}
}

// cancelAll carries out a wish.
func cancelAll(t *testing.T, w *testenv.Env, eventID holdfast.ID) expiry.Report {
	t.Helper()
	c := canceller(w, 3)
	var told expiry.Report
	c.OnProgress = func(_ context.Context, r expiry.Report) { told = r }
	runID, err := c.Ask(w.Ctx(), eventID)
	if err != nil {
		t.Fatal(err)
	}
	run := w.Run(holdfast.EndedByEventCancel)
	run.ID = runID
	report, err := c.Run(w.Ctx(), run)
	if err != nil {
		t.Fatal(err)
	}
	if told.Applied != report.Applied {
		t.Errorf("%d were ended, and %d reported on the way", report.Applied, told.Applied)
	}
	return report
}

// paid is a CONFIRMED booking.
func paid(t *testing.T, w *testenv.Env, eventID holdfast.ID, seats int64, reference string) holdfast.Booking {
	t.Helper()
	var charge holdfast.Charge
	if reference != "" {
		charge.Reference = reference
	}
	b, err := w.Bookings.ConfirmBooking(w.Ctx(), w.Book(w.Acquire(eventID, seats, testenv.Soon()), testenv.Soon()).ID, charge)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func paymentsOf(t *testing.T, w *testenv.Env, f holdfast.PaymentFilter) []holdfast.Payment {
	t.Helper()
	found, _, err := w.Bookings.ListPayments(w.Ctx(), f, holdfast.Page{Size: 500})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEventCancel_EndsAllThatTheEventHas(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, other := w.Event(100), w.Event(10)
	untouched := paid(t, w, other, 1, "other")
	w.Acquire(eventID, 2, testenv.Soon())
	w.Acquire(eventID, 1, testenv.Past())
	initiated := w.Book(w.Acquire(eventID, 3, testenv.Soon()), holdfast.Until{})
	pending := w.Book(w.Acquire(eventID, 4, testenv.Soon()), testenv.Soon())
	free, confirmed := paid(t, w, eventID, 5, ""), paid(t, w, eventID, 6, "pay-1")
	former := []holdfast.Booking{paid(t, w, eventID, 1, "pay-2"), paid(t, w, eventID, 1, "pay-3"), paid(t, w, eventID, 1, "pay-4")}
	for i, b := range former { // an earlier version has confirmed them, two of them with one reference
		reference := []string{"former", "twice", "twice"}[i]
		w.Set("bookings", b.ID, bson.D{{Key: "internal", Value: bson.D{}}, {Key: "paymentReference", Value: reference}})
		if _, err := w.DB.Collection("payments").DeleteOne(w.Ctx(), bson.D{{Key: "bookingId", Value: b.ID}}); err != nil {
			t.Fatal(err)
		}
	}
	foreign, foreignLock := ids.New(), w.Acquire(eventID, 7, testenv.Soon())
	w.Insert("bookings", bson.D{
		{Key: "_id", Value: foreign}, {Key: "user", Value: foreignLock.UserID}, {Key: "event", Value: eventID},
		{Key: "status", Value: "CONFIRMED"}, {Key: "seatLockId", Value: foreignLock.ID}, {Key: "seats", Value: bson.A{"7"}},
	})
	lost := w.Book(w.Acquire(eventID, 1, testenv.Soon()), testenv.Soon()) // other software has ended its lock
	w.Set("seatlocks", lost.LockID, bson.D{{Key: "status", Value: "EXPIRED"}})
	w.Set("events", eventID, bson.D{{Key: "availableSeats", Value: int64(100 - 2 - 1 - 3 - 4 - 5 - 6 - 3 - 7)}})

	report := cancelAll(t, w, eventID)
	if report.SeatsRestored != 31 || report.Applied != 11 || report.Errors != 0 {
		t.Errorf("the report is %+v", report)
	}
	if available, oversold := w.Available(eventID); available != 100 || oversold != 0 {
		t.Errorf("%d seats are available, %d oversold", available, oversold)
	}
	for _, id := range []holdfast.ID{
		initiated.ID, pending.ID, free.ID, confirmed.ID, former[0].ID, former[1].ID, former[2].ID, foreign, lost.ID,
	} {
		if got := w.Booking(id).Status; got != holdfast.BookingCancelled {
			t.Errorf("booking %s is %s", id, got)
		}
	}
	want := map[[2]string]holdfast.ID{
		{"pay-1", ""}: confirmed.ID, {"former", ""}: former[0].ID,
		{"twice", former[1].ID.String()}: former[1].ID, {"twice", former[2].ID.String()}: former[2].ID,
	}
	for _, p := range paymentsOf(t, w, holdfast.PaymentFilter{EventID: &eventID}) {
		key := [2]string{p.Reference, p.Part}
		if want[key] != p.BookingID || p.Status != holdfast.PaymentRefundDue || p.Reason != holdfast.ReasonEventCancelled {
			t.Errorf("the payment %v is %+v", key, p)
		}
		delete(want, key)
	}
	if len(want) > 0 {
		t.Errorf("there is no payment of %v", want)
	}
	if got := w.Booking(untouched.ID).Status; got != holdfast.BookingConfirmed {
		t.Errorf("the booking of another event is %s", got)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestEventCancel_OfASeatedEventLeavesBlocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.SeatedEvent(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}},
		Sections: []holdfast.Section{
			{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 10}}},
			{Key: "pit", Name: "Pit", Category: "c", Capacity: 20},
		},
	})
	if _, err := w.Seats.BlockSeats(w.Ctx(), eventID, []string{"A-1-10"}); err != nil {
		t.Fatal(err)
	}
	for _, wish := range []holdfast.LockRequest{
		{Seats: 2, Wish: holdfast.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}}}, {Seats: 3, Wish: holdfast.Wish{Section: "pit"}},
	} {
		wish.EventID, wish.UserID, wish.Until = eventID, ids.New(), testenv.Soon()
		lock, _, err := w.Seats.AcquireLock(w.Ctx(), wish)
		if err != nil {
			t.Fatal(err)
		}
		b, charge := w.Book(lock, testenv.Soon()), holdfast.Charge{Reference: lock.ID.String()}
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, charge); err != nil {
			t.Fatal(err)
		}
	}
	if report := cancelAll(t, w, eventID); report.SeatsRestored != 5 || report.Applied != 2 {
		t.Errorf("the report is %+v", report)
	}
	if available, _ := w.Available(eventID); available != 29 {
		t.Errorf("%d seats are available", available)
	}
	if holder, err := w.Seats.Seat(w.Ctx(), eventID, "A-1-10"); err != nil || holder.State != holdfast.SeatBlocked {
		t.Errorf("the blocked seat is %+v, %v", holder, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Each lock and booking ends once, and is told once, although the run is ended after each of its transactions.
func TestEventCancel_GoesOnWhereItWasEnded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(100)
	for range 10 {
		paid(t, w, eventID, 1, ids.New().String())
		w.Acquire(eventID, 1, testenv.Soon())
	}
	first := canceller(w, 2)
	runID, err := first.Ask(w.Ctx(), eventID)
	if err != nil {
		t.Fatal(err)
	}
	var total expiry.Report
	for runs := 1; ; runs++ {
		if again, err := canceller(w, 2).Ask(w.Ctx(), eventID); err != nil || again != runID {
			t.Fatalf("asked again: %q, %v, want %q", again, err, runID)
		}
		ctx, stop := context.WithCancel(w.Ctx())
		var commits atomic.Int32
		process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
			o.Monitor = &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
				if e.CommandName == "commitTransaction" && commits.Add(1) == 3 && runs < 6 {
					stop() // after the status, and two transactions
				}
			}}
		})
		run := w.Run(holdfast.EndedByEventCancel)
		run.ID = runID
		c := &expiry.Canceller{Sweeper: &expiry.Sweeper{Pipeline: process.Pipeline, Batch: 2}}
		report, err := c.Run(ctx, run)
		total = total.Add(report)
		stop()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) && ctx.Err() == nil {
			t.Fatal(err)
		}
	}
	if available, _ := w.Available(eventID); available != 100 {
		t.Errorf("%d seats are available", available)
	}
	checkToldOnce(t, w, eventID, runID, 20+10+10)
	if next, err := canceller(w, 2).Next(w.Ctx()); err != nil || next != "" {
		t.Errorf("the wish is left: %q, %v", next, err)
	}
	if again, err := canceller(w, 2).Ask(w.Ctx(), eventID); err != nil || again == runID {
		t.Errorf("asked after the end: %q, %v, want another run", again, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// checkToldOnce: each of a number of ends of locks, bookings and payments was told once, and by the run.
func checkToldOnce(t *testing.T, w *testenv.Env, eventID holdfast.ID, runID string, want int) {
	t.Helper()
	told := map[string]int{}
	if _, err := w.Changes.Number(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	list, _, err := w.Changes.List(w.Ctx(), nil, changes.Filter{EventID: eventID}, 500)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Type == holdfast.ChangeLockReleased || c.Type == holdfast.ChangeBookingCancelled || c.Type == holdfast.ChangePaymentRefundDue {
			told[c.Subject()+string(c.Type)]++
			if c.RunID != "" && c.RunID != runID {
				t.Errorf("%+v is told of another run", c)
			}
		}
	}
	for what, n := range told {
		if n != 1 {
			t.Errorf("%s was told %d times", what, n)
		}
	}
	if len(told) != want {
		t.Errorf("%d changes were told, want %d", len(told), want)
	}
}

// A confirmation that read the event before it was cancelled commits during the run. The last pass undoes it.
func TestEventCancel_UndoesAConfirmationUnderWay(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	b := w.Book(w.Acquire(eventID, 2, testenv.Soon()), testenv.Soon())
	asked := make(chan error, 1)
	var once sync.Once
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
			if name, ok := e.Command.Lookup("update").StringValueOK(); ok && name == "seatlocks" { // its transaction's first write
				once.Do(func() {
					_, err := canceller(w, 3).Ask(w.Ctx(), eventID)
					asked <- err
				})
			}
		}}
	})
	if _, err := process.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "pay-1"}); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{Reference: "pay-2"}); err == nil {
		t.Error("another payment was accepted after the answer")
	}
	cancelAll(t, w, eventID)
	found := paymentsOf(t, w, holdfast.PaymentFilter{BookingID: &b.ID})
	for _, p := range found {
		if p.Status != holdfast.PaymentRefundDue {
			t.Errorf("the payment is %+v", p)
		}
	}
	if got := w.Booking(b.ID).Status; got != holdfast.BookingCancelled || len(found) != 2 {
		t.Errorf("the booking is %s, its payments %+v", got, found)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestEventCancel_OfNoEventIsRefused(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	if _, err := canceller(w, 3).Ask(w.Ctx(), ids.New()); !holdfast.HasCode(err, holdfast.CodeEventNotFound) {
		t.Errorf("got %v", err)
	}
	if next, err := canceller(w, 3).Next(w.Ctx()); err != nil || next != "" {
		t.Errorf("a wish was stored: %q, %v", next, err)
	}
}

// The wish is stored before the event's status. If that can't be set, the answer does not say that nothing was changed.
func TestEventCancel_IsUnknownOnceItsWishIsStored(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := w.Event(10)
	b := paid(t, w, eventID, 2, "pay-1")
	w.Set("events", eventID, bson.D{{Key: "internal", Value: "3-abc"}}) // the event can't be changed
	c := canceller(w, 3)
	for range 2 {
		if _, err := c.Ask(w.Ctx(), eventID); !holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) {
			t.Fatalf("got %v", err)
		}
	}
	stored, err := c.Next(w.Ctx())
	if err != nil || stored == "" {
		t.Fatalf("the wish is %q, %v", stored, err)
	}
	w.Set("events", eventID, bson.D{{Key: "internal", Value: bson.D{}}})
	if again, err := c.Ask(w.Ctx(), eventID); err != nil || again != stored {
		t.Errorf("asked again: %q, %v, want %q", again, err, stored)
	}
	if e, err := w.Seats.GetEvent(w.Ctx(), eventID); err != nil || e.Status != holdfast.Cancelled {
		t.Errorf("the event is %s, %v", e.Status, err)
	}
	cancelAll(t, w, eventID)
	if got := w.Booking(b.ID).Status; got != holdfast.BookingCancelled {
		t.Errorf("the booking is %s", got)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A wish whose first pass has not ended comes before one that waits for its last pass, and one that failed behind the others.
func TestEventCancel_TakesTurns(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	c := canceller(w, 3)
	c.TakesTurns = true
	var runs []string
	for range 2 {
		runID, err := c.Ask(w.Ctx(), w.Event(10))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, runID)
	}
	next := func(want string) {
		t.Helper()
		if got, err := c.Next(w.Ctx()); err != nil || got != want {
			t.Errorf("the next run is %q, %v, want %q", got, err, want)
		}
	}
	tried := func(runID string, passed bool) {
		t.Helper()
		wish, found, err := w.Store.CancellationOf(w.Ctx(), runID)
		if err == nil && found {
			wish, err = w.Store.CloseCancellation(w.Ctx(), wish)
		}
		if err == nil {
			err = w.Store.TriedCancellation(w.Ctx(), wish, passed)
		}
		if err != nil || !found {
			t.Fatal(found, err)
		}
	}
	next(runs[0])
	tried(runs[0], false)
	next(runs[1])
	tried(runs[1], true)
	next(runs[0])
	run := w.Run(holdfast.EndedByEventCancel)
	run.ID = runs[1]
	if report, err := c.Run(w.Ctx(), run); !errors.Is(err, expiry.ErrOthersFirst) {
		t.Errorf("a run that waits goes on before one that is due: %+v, %v", report, err)
	}
	tried(runs[0], true)
	next(runs[1])
}
