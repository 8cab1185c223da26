package recovery_test

import (
	"bytes"
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/recovery"
)

// sealed are n events of 10 seats that are over and sealed, with 2 seats sold, and these sales.
func sealed(w *testenv.Env, n int) (events []holdfast.ID, sales []holdfast.Booking) {
	w.T.Helper()
	for range n {
		id := w.Event(10)
		w.Set("events", id, bson.D{{Key: "eventDate", Value: time.Now().Add(-2 * time.Hour)}})
		w.Acquire(id, 1, testenv.Past())
		b := w.Book(w.Acquire(id, 2, testenv.Soon()), testenv.Soon())
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{}); err != nil {
			w.T.Fatal(err)
		}
		events, sales = append(events, id), append(sales, b)
	}
	w.SweepLocks()
	sealer := &expiry.Sealer{Store: w.Store}
	report, err := sealer.Run(w.Ctx(), time.Hour, slog.New(w.Log))
	if err != nil || report.Applied < n { // events that a pass has repaired are sealed again
		w.T.Fatal(report, err)
	}
	return events, sales
}

func isSealed(w *testenv.Env, id holdfast.ID) bool {
	w.T.Helper()
	n, err := w.DB.Collection("events").CountDocuments(w.Ctx(),
		bson.D{{Key: "_id", Value: id}, {Key: "internal.sealed", Value: bson.D{{Key: "$ne", Value: nil}}}})
	if err != nil {
		w.T.Fatal(err)
	}
	return n == 1
}

// passes are those that skip sealed events.
var passes = map[string]func(w *testenv.Env) (recovery.Report, error){
	"run": func(w *testenv.Env) (recovery.Report, error) { return w.Recovery.Run(w.Ctx(), "run", slog.New(w.Log)) },
	"reconcile": func(w *testenv.Env) (recovery.Report, error) {
		return w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
	},
}

// A pass reads nothing of sealed events, whether they lie before, between or after the living
// ones. What it would find in them, a pass over all events finds.
func TestSealed_AreSkippedButByAPassOverAll(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	first := w.Event(10)
	events, sales := sealed(w, 4)
	last := w.Event(10)
	for _, id := range []holdfast.ID{first, last} {
		w.Set("events", id, bson.D{{Key: "availableSeats", Value: 9}})
		w.Acquire(id, 1, testenv.Soon())
	}
	report, err := passes["reconcile"](w)
	if err != nil || report.Checked != 2 || report.Reported != 0 || report.Unsealed != 0 {
		t.Errorf("reconcile: %+v, %v; want 2 checked, nothing reported", report, err)
	}
	w.Set("events", last, bson.D{{Key: "availableSeats", Value: 8}})
	// Other software changes what the check of the seals does not read.
	w.Set("bookings", sales[0].ID, bson.D{{Key: "status", Value: "CANCELLED"}})
	w.Set("seatlocks", sales[1].LockID, bson.D{{Key: "seats", Value: 3}})
	w.Insert("bookings", bson.D{{Key: "event", Value: events[2]}, {Key: "seatLockId", Value: ids.New()}, {Key: "status", Value: "CONFIRMED"}})
	report, err = passes["run"](w)
	if err != nil || report.Checked != 2 || report.Corrections != 1 || report.Reported != 0 || report.Unsealed != 0 {
		t.Errorf("%+v, %v; want 2 checked, 1 corrected, nothing reported", report, err)
	}
	if available, _ := w.Available(first); available != 9 {
		t.Errorf("%d seats of the living event are available, want 9", available)
	}
	plan, err := w.Recovery.Plan(w.Ctx())
	if err != nil || plan.EventsMeasured != 2 || plan.Sealed != 4 || len(plan.Drifts)+len(plan.OrphanConsumed)+len(plan.EndedSales) != 0 {
		t.Errorf("plan: %+v, %v", plan, err)
	}
	plan, err = w.Recovery.PlanAll(w.Ctx())
	if err != nil || plan.EventsMeasured != 6 || len(plan.Drifts) != 1 || len(plan.OrphanConsumed) != 1 || len(plan.EndedSales) != 1 {
		t.Errorf("plan of all: %+v, %v", plan, err)
	}
	if !isSealed(w, events[0]) || !isSealed(w, events[1]) {
		t.Error("a plan removed a seal")
	}
	report, err = w.Recovery.RunAll(w.Ctx(), "run", slog.New(w.Log))
	if err != nil || report.Checked != 6 || report.Corrections != 1 || report.Reported != 2 {
		t.Errorf("all: %+v, %v; want 6 checked, 1 corrected, 2 reported", report, err)
	}
	for i, id := range events[:3] {
		if isSealed(w, id) {
			t.Errorf("event %d is still sealed", i)
		}
	}
	if report := w.Recover(); report.Reported != 2 || report.Corrections != 0 {
		t.Errorf("the next pass: %+v; want 2 reported again", report)
	}
}

// dropValidator lets a process of the former version write: it puts its own validator back at its
// start, until a process of this version restores ours.
func dropValidator(w *testenv.Env) {
	w.T.Helper()
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
		w.T.Fatal(err)
	}
}

// A booking of other software names a sealed event, and its lock is of a living one and due. The
// lock becomes CONSUMED before a sweep can end it.
func TestSealed_SaleThatNamesASealedEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	events, _ := sealed(w, 1)
	for name, pass := range passes {
		lock := w.Acquire(w.Event(10), 1, testenv.Past())
		w.Insert("bookings", bson.D{{Key: "eventId", Value: events[0]}, {Key: "seatLockId", Value: lock.ID}, {Key: "status", Value: "CONFIRMED"}})
		plan, err := w.Recovery.Plan(w.Ctx())
		if err != nil || !slices.Equal(plan.SoldLocks, []holdfast.ID{lock.ID}) {
			t.Errorf("before %s, the plan marks %v as sold, %v; want %s", name, plan.SoldLocks, err, lock.ID)
		}
		if report, err := pass(w); err != nil || report.Consumed != 1 || w.Lock(lock.ID).Status != holdfast.LockConsumed {
			t.Errorf("%s: %+v, %v; the lock is %s", name, report, err, w.Lock(lock.ID).Status)
		}
	}
}

// However sealed and living events lie in the order of IDs, each living one is checked once, and
// no sealed one.
func TestSealed_LieAnywhere(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(15, 3))
	w := testenv.New(t)
	for _, longest := range []int{1, 3, 130, 400} { // runs of living and of sealed events
		var events, locks []any
		var over []holdfast.ID
		living := 0
		for isLiving := false; len(events) < 1500; isLiving = !isLiving {
			for range 1 + random.IntN(longest) {
				id, internal := ids.New(), bson.D{}
				if isLiving {
					living++
				} else {
					over = append(over, id)
					internal = bson.D{{Key: "sealed", Value: bson.D{{Key: "is", Value: true}, {Key: "rev", Value: int64(0)},
						{Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: 9}}}}
				}
				events = append(events, bson.D{{Key: "_id", Value: id}, {Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: 9},
					{Key: "internal", Value: internal}})
				locks = append(locks, bson.D{{Key: "eventId", Value: id}, {Key: "seats", Value: 1}, {Key: "status", Value: "CONSUMED"},
					{Key: "expiresAt", Value: time.Now()}}) // without a booking: reported if it is read
			}
		}
		for name, docs := range map[string][]any{"events": events, "seatlocks": locks} {
			if _, err := w.DB.Collection(name).DeleteMany(w.Ctx(), bson.D{}); err != nil {
				t.Fatal(err)
			}
			if _, err := w.DB.Collection(name).InsertMany(w.Ctx(), docs); err != nil {
				t.Fatal(err)
			}
		}
		report := w.Recover()
		if report.Checked != living || report.Reported != living || report.Corrections != 0 || report.Unsealed != 0 {
			t.Errorf("runs of up to %d: %+v; want %d checked and reported", longest, report, living)
		}

		random.Shuffle(len(over), func(i, j int) { over[i], over[j] = over[j], over[i] })
		written := over[:20] // by other software
		for _, id := range written {
			w.Insert("seatlocks", bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: id}, {Key: "seats", Value: 1},
				{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
		}
		plan, err := w.Recovery.Plan(w.Ctx())
		byID := func(a, b holdfast.ID) int { return bytes.Compare(a[:], b[:]) }
		slices.SortFunc(written, byID)
		slices.SortFunc(plan.BrokenSeals, byID)
		if err != nil || !slices.Equal(plan.BrokenSeals, written) {
			t.Errorf("runs of up to %d: %d broken seals, %v; want the %d events with an ACTIVE lock",
				longest, len(plan.BrokenSeals), err, len(written))
		}
	}
}

// Other software, or a process of a version without seals, writes to a sealed event. The check
// of the seals finds it.
func TestSealed_WritesOfOtherSoftwareAreFound(t *testing.T) {
	t.Parallel()
	lock := func(w *testenv.Env, id holdfast.ID, status string) holdfast.ID {
		lockID := ids.New()
		w.Insert("seatlocks", bson.D{{Key: "_id", Value: lockID}, {Key: "eventId", Value: id}, {Key: "seats", Value: 1},
			{Key: "status", Value: status}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
		return lockID
	}
	for name, c := range map[string]struct {
		write     func(w *testenv.Env, id holdfast.ID)
		available int64
	}{
		"counter": {func(w *testenv.Env, id holdfast.ID) { w.Set("events", id, bson.D{{Key: "availableSeats", Value: 9}}) }, 8},
		"total":   {func(w *testenv.Env, id holdfast.ID) { w.Set("events", id, bson.D{{Key: "totalSeats", Value: 12}}) }, 10},
		"oversold": {func(w *testenv.Env, id holdfast.ID) {
			w.Set("events", id, bson.D{{Key: "oversold", Value: 2}})
		}, 8},
		"revision": {func(w *testenv.Env, id holdfast.ID) { w.Set("events", id, bson.D{{Key: "internal.rev", Value: 99}}) }, 8},
		"revision of a former version": {func(w *testenv.Env, id holdfast.ID) {
			dropValidator(w)
			w.Set("events", id, bson.D{{Key: "rev", Value: int64(1)}})
		}, 8},
		"a lock of a former version": {func(w *testenv.Env, id holdfast.ID) {
			dropValidator(w)
			w.Set("events", id, bson.D{{Key: "rev", Value: int64(1)}, {Key: "availableSeats", Value: 7}})
			lock(w, id, "ACTIVE")
		}, 7},
		"a lock alone": {func(w *testenv.Env, id holdfast.ID) { lock(w, id, "ACTIVE") }, 7},
		"a sold lock that is ACTIVE": {func(w *testenv.Env, id holdfast.ID) {
			w.Insert("bookings", bson.D{{Key: "event", Value: id}, {Key: "seatLockId", Value: lock(w, id, "ACTIVE")},
				{Key: "status", Value: "CONFIRMED"}})
		}, 7},
		"an open booking": {func(w *testenv.Env, id holdfast.ID) {
			w.Insert("bookings", bson.D{{Key: "event", Value: id}, {Key: "seatLockId", Value: ids.New()}, {Key: "status", Value: "INITIATED"}})
		}, 8},
		"an open booking that names its lock alone": {func(w *testenv.Env, id holdfast.ID) {
			w.Insert("bookings", bson.D{{Key: "seatLockId", Value: lock(w, id, "CONSUMED")}, {Key: "status", Value: "PAYMENT_PENDING"},
				{Key: "paymentExpiresAt", Value: time.Now().Add(time.Hour)}})
		}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			for passName, pass := range passes {
				events, _ := sealed(w, 2)
				c.write(w, events[0])
				plan, err := w.Recovery.Plan(w.Ctx())
				if err != nil || !slices.Equal(plan.BrokenSeals, events[:1]) || !isSealed(w, events[0]) {
					t.Errorf("plan: %v, %v; want event %s", plan.BrokenSeals, err, events[0])
				}
				report, err := pass(w)
				if err != nil || report.Unsealed != 1 || isSealed(w, events[0]) || !isSealed(w, events[1]) {
					t.Errorf("%s: %+v, %v; want the one event unsealed", passName, report, err)
				}
				if available, oversold := w.Available(events[0]); available != c.available || oversold != 0 {
					t.Errorf("%s: %d seats are available, %d oversold, want %d", passName, available, oversold, c.available)
				}
			}
		})
	}
}

// Other software left an open booking that names no event, and a lock that does not exist.
func TestSealed_OpenBookingThatNamesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	events, _ := sealed(w, 1)
	w.Insert("bookings", bson.D{{Key: "seatLockId", Value: ids.New()}, {Key: "status", Value: "PAYMENT_PENDING"}})
	if plan, err := w.Recovery.Plan(w.Ctx()); err != nil || len(plan.BrokenSeals) > 0 {
		t.Errorf("plan: %v, %v", plan.BrokenSeals, err)
	}
	for name, pass := range passes {
		if report, err := pass(w); err != nil || report.Unsealed != 0 || !isSealed(w, events[0]) {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
}

// Other software left a field internal of another type, so no index tells whether the event is
// sealed. Each pass checks it.
func TestSealed_EventsWithAForeignInternalAreChecked(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	sealed(w, 1)
	for range 120 { // a run
		w.Event(10)
	}
	is := func(flag any) bson.D { return bson.D{{Key: "sealed", Value: bson.D{{Key: "is", Value: flag}}}} }
	for _, internal := range []any{
		is(false), is("x"), is(bson.A{true, nil}), bson.A{is(true), bson.D{}},
		nil, "x", 5, bson.A{}, bson.A{1, 2}, bson.A{bson.D{{Key: "sealed", Value: 1}}}, bson.D{{Key: "sealed", Value: 5}},
		bson.D{{Key: "sealed", Value: bson.A{1}}}, bson.D{{Key: "sealed", Value: bson.D{}}},
	} {
		id, next := w.Event(10), w.Event(10)
		w.Set("events", id, bson.D{{Key: "internal", Value: internal}})
		w.Set("events", next, bson.D{{Key: "internal", Value: bson.D{{Key: "sealed", Value: bson.D{{Key: "is", Value: true},
			{Key: "rev", Value: int64(0)}, {Key: "totalSeats", Value: int64(10)}, {Key: "availableSeats", Value: int64(10)}}}}}})
		lock := w.Acquire(w.Event(10), 1, testenv.Soon())
		w.Set("seatlocks", lock.ID, bson.D{{Key: "eventId", Value: id}, {Key: "seats", Value: "many"}}) // reported if it is read
		events, err := w.DB.Collection("events").CountDocuments(w.Ctx(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		const sealedOnes = 2
		if plan, err := w.Recovery.Plan(w.Ctx()); err != nil || plan.EventsMeasured != events-sealedOnes {
			t.Errorf("internal is %v: %d of %d events were measured, %v", internal, plan.EventsMeasured, events-sealedOnes, err)
		}
		for name, pass := range passes {
			if report, err := pass(w); err != nil || report.Reported == 0 {
				t.Errorf("internal is %v: %s: %+v, %v; want a report", internal, name, report, err)
			}
		}
		if _, err := w.DB.Collection("seatlocks").DeleteOne(w.Ctx(), bson.D{{Key: "_id", Value: lock.ID}}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.DB.Collection("events").DeleteMany(w.Ctx(), mongodb.In("_id", []holdfast.ID{id, next})); err != nil {
			t.Fatal(err)
		}
	}
}

// Bookings of other software, which name their event in another way or not at all, are
// compared like any other, beside sealed events and without them.
func TestSealed_ForeignSalesOfLivingEventsAreCompared(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	for _, named := range []bson.D{
		{}, {{Key: "event", Value: event}}, {{Key: "eventId", Value: event}}, {{Key: "eventId", Value: nil}, {Key: "event", Value: event}},
		{{Key: "eventId", Value: event.String()}}, {{Key: "eventId", Value: event.String()}, {Key: "event", Value: event}},
		{{Key: "event", Value: event.String()}}, {{Key: "event", Value: nil}}, {{Key: "eventId", Value: holdfast.ID{}}},
		{{Key: "eventId", Value: event}, {Key: "event", Value: event}}, {{Key: "eventId", Value: 1}, {Key: "event", Value: "x"}},
	} {
		w.Insert("bookings", append(slices.Clone(named), bson.E{Key: "seatLockId", Value: ids.New()}, bson.E{Key: "status", Value: "CONFIRMED"}))
	}
	const all = 11
	if report := w.Recover(); report.Reported != all {
		t.Errorf("without sealed events: %d reported, want %d", report.Reported, all)
	}
	events, _ := sealed(w, 2)
	if report := w.Recover(); report.Reported != all {
		t.Errorf("beside sealed events: %d reported, want %d", report.Reported, all)
	}
	w.Insert("bookings", bson.D{{Key: "event", Value: events[0]}, {Key: "seatLockId", Value: ids.New()}, {Key: "status", Value: "CONFIRMED"}})
	if report := w.Recover(); report.Reported != all {
		t.Errorf("with one of a sealed event: %d reported, want %d", report.Reported, all)
	}
}
