package recovery_test

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/recovery"
)

// Changes of sold locks fail, and no document is the cause. The pass goes on if the database answers,
// and ends with the error if it does not.
func TestRun_FailuresEndAPassOnlyIfTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	control := testenv.Open(t, testenv.OwnServer(t), "holdfast_test_control")
	const sales, failures = 20, 12
	recoverWith := func(t *testing.T, database, commands string, mode any) (*testenv.Env, recovery.Report, error) {
		t.Helper()
		w := testenv.Open(t, control.URI, database)
		event := w.Event(100)
		for range sales {
			b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
			if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{}); err != nil {
				t.Fatal(err)
			}
			w.Set("seatlocks", b.LockID, bson.D{{Key: "status", Value: "ACTIVE"}})
		}
		const outOfDiskSpace = 14031
		off := control.FailCommands(commands, mode,
			bson.D{{Key: "errorCode", Value: outOfDiskSpace}, {Key: "appName", Value: "holdfast:" + database}})
		defer off()
		report, err := w.Recovery.Run(w.Ctx(), "run", slog.New(w.Log))
		return w, report, err
	}
	t.Run("it answers", func(t *testing.T) {
		w, report, err := recoverWith(t, "holdfast_test_answers", "update", bson.D{{Key: "times", Value: failures}})
		// MongoDB counts the failures only after it began them: commands at the same time can fail, too.
		if !errors.Is(err, recovery.ErrLeftOver) || report.Errors < failures ||
			report.Consumed == 0 || report.Consumed != sales-report.Errors || report.Checked != 1 {
			t.Errorf("%+v, %v; want at least %d errors, and the rest of the pass", report, err, failures)
		}
		if next := w.Recover(); next.Consumed != report.Errors {
			t.Errorf("the next pass: %+v", next)
		}
	})
	t.Run("it is away", func(t *testing.T) {
		_, report, err := recoverWith(t, "holdfast_test_away", "update hello", "alwaysOn")
		if err == nil || errors.Is(err, recovery.ErrLeftOver) || report.Checked != 0 {
			t.Errorf("%+v, %v; want the pass to end with the error", report, err)
		}
	})
}

// A pass over all events finds contradictions in sealed events. MongoDB refuses to remove the seal of
// one of them: the pass reports that, removes the other seals and goes on.
func TestRunAll_GoesOnIfASealCannotBeRemoved(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	events, sales := sealed(w, 3)
	living := w.Event(10)
	w.Set("events", living, bson.D{{Key: "availableSeats", Value: 3}})
	for _, sale := range sales {
		w.Set("bookings", sale.ID, bson.D{{Key: "status", Value: "CANCELLED"}}) // its CONSUMED lock is reported
	}
	keepSeal := bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{{Key: "$nor", Value: bson.A{
		bson.D{{Key: "_id", Value: events[1]}, {Key: "internal.sealed", Value: bson.D{{Key: "$exists", Value: false}}}},
	}}}}}
	if err := w.DB.RunCommand(w.Ctx(), keepSeal).Err(); err != nil {
		t.Fatal(err)
	}
	for round := range 2 {
		report, err := w.Recovery.RunAll(w.Ctx(), "run", slog.New(w.Log))
		if err != nil || report.Checked != 4 || report.Corrections != 1-round || report.Reported != 3+1 {
			t.Errorf("round %d: %+v, %v; want all 4 checked, 3 locks and the seal reported", round, report, err)
		}
	}
	if lines := w.Log.Lines("WARN [RECOVERY] Could not remove the seals of events; repair it manually"); len(lines) != 1 {
		t.Errorf("reported %d times", len(lines))
	}
	if isSealed(w, events[0]) || !isSealed(w, events[1]) || isSealed(w, events[2]) {
		t.Error("the seals of the other events are not removed")
	}
	if available, _ := w.Available(living); available != 10 {
		t.Errorf("the living event's counter is %d", available)
	}
}

// All events and users that no request can name are reported, however many there are.
func TestRecovery_ReportsAllForeignIDs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const each, atOnce = 250, 100
	for name := range map[string]bool{"events": true, "users": true} {
		var docs []any
		for i := range each {
			docs = append(docs, bson.D{{Key: "_id", Value: i}, {Key: "totalSeats", Value: 1}, {Key: "availableSeats", Value: 1},
				{Key: "email", Value: i}})
		}
		if _, err := w.DB.Collection(name).InsertMany(w.Ctx(), docs); err != nil {
			t.Fatal(err)
		}
	}
	for round, want := range []int{atOnce, atOnce, each - 2*atOnce, atOnce} {
		if plan, err := w.Recovery.Plan(w.Ctx()); err != nil || plan.Foreign != 2*atOnce {
			t.Errorf("round %d: a plan has %d, %v", round, plan.Foreign, err)
		}
		if report := w.Recover(); report.Reported != 2*want {
			t.Errorf("round %d: %+v, want %d reported", round, report, 2*want)
		}
	}
	if lines := w.Log.Lines("WARN [RECOVERY]"); len(lines) != 2*each {
		t.Errorf("%d are reported, want %d", len(lines), 2*each)
	}
}

// Other software changes what belongs to a sealed event and leaves the event as it is. The next run
// of reconcile proves the seal, and finds it.
func TestReconcile_ProvesSealsInTurn(t *testing.T) {
	t.Parallel()
	lockOf := func(w *testenv.Env, sale holdfast.Booking, fields bson.D) { w.Set("seatlocks", sale.LockID, fields) }
	for name, c := range map[string]struct {
		write       func(w *testenv.Env, sale holdfast.Booking)
		corrections int
		available   int64
	}{
		"a lock is larger": {func(w *testenv.Env, sale holdfast.Booking) {
			lockOf(w, sale, bson.D{{Key: "seats", Value: 3}})
		}, 1, 7},
		"a lock can't be counted": {func(w *testenv.Env, sale holdfast.Booking) {
			lockOf(w, sale, bson.D{{Key: "seats", Value: "two"}})
		}, 1, 10},
		"a lock has ended": {func(w *testenv.Env, sale holdfast.Booking) {
			lockOf(w, sale, bson.D{{Key: "status", Value: "RELEASED"}})
		}, 1, 10},
		"a lock is removed": {func(w *testenv.Env, sale holdfast.Booking) {
			if _, err := w.DB.Collection("seatlocks").DeleteOne(w.Ctx(), bson.D{{Key: "_id", Value: sale.LockID}}); err != nil {
				w.T.Fatal(err)
			}
		}, 1, 10},
		"a lock is added": {func(w *testenv.Env, sale holdfast.Booking) {
			w.Insert("seatlocks", bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: sale.EventID}, {Key: "seats", Value: 1},
				{Key: "status", Value: "CONSUMED"}, {Key: "expiresAt", Value: time.Now()}})
		}, 1, 7},
		"a booking is cancelled": {func(w *testenv.Env, sale holdfast.Booking) {
			w.Set("bookings", sale.ID, bson.D{{Key: "status", Value: "CANCELLED"}})
		}, 0, 8},
		"a booking is added": {func(w *testenv.Env, sale holdfast.Booking) {
			w.Insert("bookings", bson.D{{Key: "event", Value: sale.EventID}, {Key: "seatLockId", Value: ids.New()},
				{Key: "status", Value: "CONFIRMED"}})
		}, 0, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			events, sales := sealed(w, 3)
			report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
			if err != nil || report.Reported+report.Unsealed+report.Checked != 0 {
				t.Errorf("before: %+v, %v", report, err)
			}
			c.write(w, sales[1])
			report, err = w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
			if err != nil || report.Unsealed != 1 || report.Checked != 1 || report.Reported == 0 || report.Corrections != c.corrections {
				t.Errorf("%+v, %v", report, err)
			}
			if !isSealed(w, events[0]) || isSealed(w, events[1]) || !isSealed(w, events[2]) {
				t.Error("not the one changed event is unsealed")
			}
			if available, _ := w.Available(events[1]); available != c.available {
				t.Errorf("%d seats are available, want %d", available, c.available)
			}
			if lines := w.Log.Lines("WARN [RECOVERY] Other software changed a sealed event"); len(lines) != 1 {
				t.Errorf("%v", lines)
			}
		})
	}
}

// One run of reconcile proves a bounded number of seals, the oldest first, and the next run goes on
// behind them.
func TestReconcile_ProvesABoundedNumberOfSeals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		total   int64 // seats of an event, all of them sold
		changed []int // events, by their number
	}{
		"of events": {1, []int{0, 199, 200, 449}}, "of locks": {60_000, []int{0, 2, 3, 449}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			events := make([]holdfast.ID, 450)
			var docs, locks, bookings []any
			for i := range events {
				events[i] = ids.New()
				lock := ids.New()
				docs = append(docs, bson.D{{Key: "_id", Value: events[i]}, {Key: "totalSeats", Value: c.total}, {Key: "availableSeats", Value: 0},
					{Key: "internal", Value: bson.D{{Key: "sealed", Value: bson.D{{Key: "is", Value: true}, {Key: "rev", Value: int64(0)},
						{Key: "totalSeats", Value: c.total}, {Key: "availableSeats", Value: 0}}}}}})
				locks = append(locks, bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: events[i]}, {Key: "seats", Value: c.total},
					{Key: "status", Value: "CONSUMED"}, {Key: "expiresAt", Value: time.Now()}})
				bookings = append(bookings, bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: events[i]}, {Key: "seatLockId", Value: lock},
					{Key: "status", Value: "CONFIRMED"}})
			}
			for name, docs := range map[string][]any{"events": docs, "seatlocks": locks, "bookings": bookings} {
				if _, err := w.DB.Collection(name).InsertMany(w.Ctx(), docs); err != nil {
					t.Fatal(err)
				}
			}
			for _, i := range c.changed {
				w.Set("bookings", bookings[i].(bson.D)[0].Value.(holdfast.ID), bson.D{{Key: "status", Value: "CANCELLED"}})
			}
			unsealed := []int{}
			for range 3 {
				report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
				if err != nil {
					t.Fatal(err)
				}
				unsealed = append(unsealed, report.Unsealed)
			}
			want := map[string][3]int{"of events": {2, 1, 1}, "of locks": {2, 1, 0}}[name]
			if [3]int(unsealed) != want {
				t.Errorf("unsealed %v, want %v", unsealed, want)
			}
		})
	}
}
