package expiry_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func canceller(w *testenv.Env, batch int) *expiry.Canceller {
	return &expiry.Canceller{Sweeper: &expiry.Sweeper{Pipeline: w.Pipeline, Batch: batch}}
}

// cancelAll carries out a request.
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

// paid returns a CONFIRMED booking.
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
	foreign, foreignLock := mongodb.NewID(), w.Acquire(eventID, 7, testenv.Soon())
	w.Insert("bookings", bson.D{
		{Key: "_id", Value: foreign}, {Key: "user", Value: foreignLock.UserID}, {Key: "event", Value: eventID},
		{Key: "status", Value: "CONFIRMED"}, {Key: "seatLockId", Value: foreignLock.ID}, {Key: "seats", Value: bson.A{"7"}},
	})
	lost := w.Book(w.Acquire(eventID, 1, testenv.Soon()), testenv.Soon()) // its lock was ended by hand
	w.Set("seatlocks", lost.LockID, bson.D{{Key: "status", Value: "EXPIRED"}})
	w.Set("events", eventID, bson.D{{Key: "availableSeats", Value: int64(100 - 2 - 1 - 3 - 4 - 5 - 6 - 7)}})

	report := cancelAll(t, w, eventID)
	if report.SeatsRestored != 28 || report.Applied != 8 || report.Errors != 0 {
		t.Errorf("the report is %+v", report)
	}
	if available, oversold := w.Available(eventID); available != 100 || oversold != 0 {
		t.Errorf("%d seats are available, %d oversold", available, oversold)
	}
	for _, id := range []holdfast.ID{
		initiated.ID, pending.ID, free.ID, confirmed.ID, foreign, lost.ID,
	} {
		if got := w.Booking(id).Status; got != holdfast.BookingCancelled {
			t.Errorf("booking %s is %s", id, got)
		}
	}
	want := map[[2]string]holdfast.ID{
		{"pay-1", ""}: confirmed.ID,
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
		wish.EventID, wish.UserID, wish.Until = eventID, mongodb.NewID(), testenv.Soon()
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
		paid(t, w, eventID, 1, mongodb.NewID().String())
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

// checkToldOnce checks that the end of each lock, booking and payment was reported once, and by the run.
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
				t.Errorf("%+v is of another run", c)
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
	if _, err := canceller(w, 3).Ask(w.Ctx(), mongodb.NewID()); !holdfast.HasCode(err, holdfast.CodeEventNotFound) {
		t.Errorf("got %v", err)
	}
	if next, err := canceller(w, 3).Next(w.Ctx()); err != nil || next != "" {
		t.Errorf("a wish was stored: %q, %v", next, err)
	}
}

// A request whose first pass has not ended comes before a request that waits for its last pass. A request that
// failed comes after the others.
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

// paidInPit returns a seated event with a lock that is sold and paid for.
func paidInPit(t *testing.T, w *testenv.Env) (eventID holdfast.ID, lock holdfast.Lock, b holdfast.Booking) {
	t.Helper()
	eventID = w.SeatedEvent(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}},
		Sections: []holdfast.Section{{Key: "pit", Name: "Pit", Category: "c", Capacity: 20}},
	})
	lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{
		EventID: eventID, UserID: mongodb.NewID(), Seats: 2, Until: testenv.Soon(), Wish: holdfast.Wish{Section: "pit"}})
	if err == nil {
		b, err = w.Bookings.ConfirmBooking(w.Ctx(), w.Book(lock, testenv.Soon()).ID, holdfast.Charge{Reference: "paid"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return eventID, lock, b
}

// A run that can't end something is not completed. Its request stays, says what is in the way, and is carried out once that
// is corrected.
func TestEventCancel_StaysUntilNothingIsLeft(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]struct {
		collection string
		change     bson.D
		why        string
	}{
		"an event without its plan": {"events", bson.D{{Key: "seatingPlanId", Value: mongodb.NewID()}}, "can't be changed"},
		"a corrupt event":           {"events", bson.D{{Key: "name", Value: int64(7)}}, "can't be changed"},
		"a corrupt lock":            {"seatlocks", bson.D{{Key: "seats", Value: "two"}}, "corrupt"},
		"a corrupt booking":         {"bookings", bson.D{{Key: "updatedAt", Value: "now"}}, "corrupt"},
		"a corrupt payment":         {"payments", bson.D{{Key: "reference", Value: int64(1)}}, "corrupt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID, lock, b := paidInPit(t, w)
			id := map[string]holdfast.ID{"events": eventID, "seatlocks": lock.ID, "bookings": b.ID, "payments": b.Payments[0].ID}[broken.collection]
			c := canceller(w, 3)
			runID, err := c.Ask(w.Ctx(), eventID)
			if err != nil {
				t.Fatal(err)
			}
			good, err := w.DB.Collection(broken.collection).FindOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}).Raw()
			if err != nil {
				t.Fatal(err)
			}
			w.ChangeUnchecked(broken.collection, id, bson.D{{Key: "$set", Value: broken.change}})
			run := w.Run(holdfast.EndedByEventCancel)
			run.ID = runID
			if report, err := c.Run(w.Ctx(), run); !errors.Is(err, expiry.ErrLeft) {
				t.Errorf("the run ended as %+v, %v", report, err)
			}
			if next, err := c.Next(w.Ctx()); err != nil || next != runID {
				t.Errorf("the next run is %q, %v", next, err)
			}
			stuck, err := w.Store.StuckCancellations(w.Ctx(), 10)
			if err != nil || len(stuck) != 1 || stuck[0].EventID != eventID || stuck[0].Left == 0 || !strings.Contains(stuck[0].Why, broken.why) {
				t.Errorf("stuck are %+v, %v", stuck, err)
			}
			c.TakesTurns = true // so that the run continues
			ended := make(chan error, 1)
			go func() {
				_, err := c.Run(w.Ctx(), run)
				ended <- err
			}()
			testenv.HoldsFor(t, time.Second, func() bool { return len(ended) == 0 })
			for _, e := range broken.change {
				w.Set(broken.collection, id, bson.D{{Key: e.Key, Value: good.Lookup(e.Key)}})
			}
			if err := <-ended; err != nil {
				t.Errorf("once it is corrected, the run ended as %v", err)
			}
			payment := paymentsOf(t, w, holdfast.PaymentFilter{BookingID: &b.ID})
			got := w.Booking(b.ID).Status
			if got != holdfast.BookingCancelled || len(payment) != 1 || payment[0].Status != holdfast.PaymentRefundDue {
				t.Errorf("the booking is %s, its payments %+v", got, payment)
			}
			if next, err := c.Next(w.Ctx()); err != nil || next != "" {
				t.Errorf("the request is left: %q, %v", next, err)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// A corrupt request does not stop the others.
func TestEventCancel_ACorruptRequestConcernsItselfAlone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	c := canceller(w, 3)
	broken, eventID := w.Event(10), w.Event(10)
	for _, id := range []holdfast.ID{broken, eventID} {
		if _, err := c.Ask(w.Ctx(), id); err != nil {
			t.Fatal(err)
		}
	}
	w.ChangeUnchecked("eventcancels", broken, bson.D{{Key: "$set", Value: bson.D{
		{Key: "requestedAt", Value: "yesterday"}, {Key: "runId", Value: int64(7)},
	}}})
	cancelAll(t, w, eventID)
	if got, err := c.Next(w.Ctx()); err != nil || got != "" {
		t.Errorf("the next run is %q, %v", got, err)
	}
}

// An event that was deleted has no request, and a request that was stored while it was deleted ends.
func TestEventCancel_OfADeletedEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	c, eventID := canceller(w, 3), w.Event(5)
	runID, err := c.Ask(w.Ctx(), eventID)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Seats.DeleteEvent(w.Ctx(), eventID); err != nil {
		t.Fatal(err)
	}
	wantNone := func(when string) {
		t.Helper()
		if next, err := c.Next(w.Ctx()); err != nil || next != "" {
			t.Errorf("%s: %q is next, %v", when, next, err)
		}
	}
	wantNone("deleted")
	run := w.Run(holdfast.EndedByEventCancel)
	for _, run.ID = range []string{runID, "event-cancel-late"} {
		if run.ID != runID {
			if _, err := w.Store.AskCancellation(w.Ctx(), eventID, run.ID); err != nil {
				t.Fatal(err)
			}
		}
		if report, err := c.Run(w.Ctx(), run); err != nil || report.Applied+report.Errors > 0 {
			t.Errorf("%s: %+v %v", run.ID, report, err)
		}
		wantNone(run.ID)
	}
}
