package recovery_test

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/recovery"
)

// archived are n events of 10 seats that are over and archived, with 2 seats sold, and these sales.
func archived(w *testenv.Env, n int) (events []holdfast.ID, sales []holdfast.Booking) {
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
	report, err := w.Archiver.Run(w.Ctx(), time.Hour, slog.New(w.Log))
	if err != nil || report.Applied < n { // events that a pass has repaired are archived again
		w.T.Fatal(report, err)
	}
	return events, sales
}

func isArchived(w *testenv.Env, id holdfast.ID) bool {
	w.T.Helper()
	n, err := w.DB.Collection("events").CountDocuments(w.Ctx(),
		bson.D{{Key: "_id", Value: id}, {Key: "internal.archivedAt", Value: bson.D{{Key: "$ne", Value: nil}}}})
	if err != nil {
		w.T.Fatal(err)
	}
	return n == 1
}

// passes are those that pass over archived events.
var passes = map[string]func(w *testenv.Env) (recovery.Report, error){
	"run": func(w *testenv.Env) (recovery.Report, error) { return w.Recovery.Run(w.Ctx(), "run", slog.New(w.Log)) },
	"reconcile": func(w *testenv.Env) (recovery.Report, error) {
		return w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
	},
}

// A pass reads nothing of archived events, whether they come before, between or after the other events. A pass over
// all events finds their contradictions.
func TestArchived_AreSkippedButByAPassOverAll(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	first := w.Event(10)
	events, sales := archived(w, 4)
	last := w.Event(10)
	for _, id := range []holdfast.ID{first, last} {
		w.Set("events", id, bson.D{{Key: "availableSeats", Value: 9}})
		w.Acquire(id, 1, testenv.Soon())
	}
	report, err := passes["reconcile"](w)
	if err != nil || report.Checked != 2 || report.Reported != 0 {
		t.Errorf("reconcile: %+v, %v; want 2 checked, nothing reported", report, err)
	}
	w.Set("events", last, bson.D{{Key: "availableSeats", Value: 8}})
	w.Set("bookings", sales[0].ID, bson.D{{Key: "status", Value: "CANCELLED"}})
	w.Set("seatlocks", sales[1].LockID, bson.D{{Key: "seats", Value: 3}})
	w.Insert("bookings", bson.D{{Key: "event", Value: events[2]}, {Key: "seatLockId", Value: mongodb.NewID()},
		{Key: "status", Value: "CONFIRMED"}})
	report, err = passes["run"](w)
	if err != nil || report.Checked != 2 || report.Corrections != 1 || report.Reported != 0 {
		t.Errorf("%+v, %v; want 2 checked, 1 corrected, nothing reported", report, err)
	}
	if available, _ := w.Available(first); available != 9 {
		t.Errorf("%d seats of the living event are available, want 9", available)
	}
	plan, err := w.Recovery.Plan(w.Ctx())
	if err != nil || plan.EventsMeasured != 2 || plan.Archived != 4 || len(plan.Drifts)+len(plan.OrphanConsumed)+len(plan.EndedSales) != 0 {
		t.Errorf("plan: %+v, %v", plan, err)
	}
	plan, err = w.Recovery.PlanAll(w.Ctx())
	if err != nil || plan.EventsMeasured != 6 || len(plan.Drifts) != 1 || len(plan.OrphanConsumed) != 1 || len(plan.EndedSales) != 1 {
		t.Errorf("plan of all: %+v, %v", plan, err)
	}
	for i, id := range events {
		if !isArchived(w, id) {
			t.Errorf("a plan took the mark of event %d away", i)
		}
	}
	report, err = w.Recovery.RunAll(w.Ctx(), "run", slog.New(w.Log))
	if err != nil || report.Checked != 6 || report.Corrections != 1 || report.Reported != 2 {
		t.Errorf("all: %+v, %v; want 6 checked, 1 corrected, 2 reported", report, err)
	}
	if available, _ := w.Available(events[1]); available != 7 || isArchived(w, events[1]) {
		t.Errorf("the repaired event has %d seats available, want 7; archived: %t", available, isArchived(w, events[1]))
	}
	if !isArchived(w, events[0]) || !isArchived(w, events[3]) {
		t.Error("the mark of an event that was not written is gone")
	}
}

// An archived map of seats that is wrong is found by a pass over all events only.
func TestArchived_SeatedEventsAreSkippedButByAPassOverAll(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.SeatedEvent(holdfast.SeatingPlan{Name: "Hall",
		Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
			{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}}},
		}})
	w.Set("events", id, bson.D{{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0x80}}},
		{Key: "internal.archivedAt", Value: time.Now()}})
	for name, pass := range passes {
		if report, err := pass(w); err != nil || report.Corrections != 0 || !isArchived(w, id) {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
	if plan, err := w.Recovery.PlanAll(w.Ctx()); err != nil || !slices.Equal(plan.WrongMaps, []holdfast.ID{id}) {
		t.Errorf("plan of all: %v, %v", plan.WrongMaps, err)
	}
	if report, err := w.Recovery.RunAll(w.Ctx(), "run", slog.New(w.Log)); err != nil || report.Corrections != 1 || isArchived(w, id) {
		t.Errorf("all: %+v, %v; archived: %t", report, err, isArchived(w, id))
	}
}

// A restored backup has a due lock in an archived event, and its booking is CONFIRMED. The lock becomes CONSUMED
// before a sweep can end it.
func TestArchived_SoldDueLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	events, _ := archived(w, 1)
	for name, pass := range passes {
		lock := mongodb.NewID()
		w.Insert("seatlocks", bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: events[0]}, {Key: "seats", Value: 1},
			{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: testenv.Past().At}})
		w.Insert("bookings", bson.D{{Key: "eventId", Value: events[0]}, {Key: "seatLockId", Value: lock}, {Key: "status", Value: "CONFIRMED"}})
		plan, err := w.Recovery.Plan(w.Ctx())
		if err != nil || !slices.Equal(plan.SoldLocks, []holdfast.ID{lock}) {
			t.Errorf("before %s, the plan marks %v as sold, %v; want %s", name, plan.SoldLocks, err, lock)
		}
		if report, err := pass(w); err != nil || report.Consumed != 1 || w.Lock(lock).Status != holdfast.LockConsumed {
			t.Errorf("%s: %+v, %v; the lock is %s", name, report, err, w.Lock(lock).Status)
		}
	}
}

// However archived and living events lie in the order of IDs, each living one is checked once, and no
// archived one.
func TestArchived_LieAnywhere(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(15, 3))
	w := testenv.New(t)
	for _, longest := range []int{1, 3, 400} { // runs of living and of archived events
		var events, locks []any
		living := 0
		for isLiving := false; len(events) < 1500; isLiving = !isLiving {
			for range 1 + random.IntN(longest) {
				id, internal := mongodb.NewID(), bson.D{}
				if isLiving {
					living++
				} else {
					internal = bson.D{{Key: "archivedAt", Value: time.Now()}}
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
		if report.Checked != living || report.Reported != living || report.Corrections != 0 {
			t.Errorf("runs of up to %d: %+v; want %d checked and reported", longest, report, living)
		}
	}
}

// Bookings that name their event in the other field, or not at all, are compared like any other, next to
// archived events and without them.
func TestArchived_SalesOfLivingEventsAreCompared(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	for _, named := range []bson.D{
		{}, {{Key: "event", Value: event}}, {{Key: "eventId", Value: event}}, {{Key: "eventId", Value: event}, {Key: "event", Value: event}},
	} {
		w.Insert("bookings", append(slices.Clone(named),
			bson.E{Key: "seatLockId", Value: mongodb.NewID()}, bson.E{Key: "status", Value: "CONFIRMED"}))
	}
	const all = 4
	if report := w.Recover(); report.Reported != all {
		t.Errorf("without archived events: %d reported, want %d", report.Reported, all)
	}
	events, _ := archived(w, 2)
	w.Insert("bookings", bson.D{{Key: "event", Value: events[0]}, {Key: "seatLockId", Value: mongodb.NewID()},
		{Key: "status", Value: "CONFIRMED"}})
	if report := w.Recover(); report.Reported != all {
		t.Errorf("next to archived events: %d reported, want %d", report.Reported, all)
	}
	report, err := w.Recovery.RunAll(w.Ctx(), "run", slog.New(w.Log))
	if err != nil || report.Reported != all+1 {
		t.Errorf("of all events: %d reported, %v; want %d", report.Reported, err, all+1)
	}
}

// A pass over all events also compares documents that name an event which does not exist.
func TestRunAll_ComparesWhatNamesAMissingEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	w.Insert("bookings", bson.D{{Key: "eventId", Value: mongodb.NewID()}, {Key: "seatLockId", Value: mongodb.NewID()},
		{Key: "status", Value: "CONFIRMED"}})
	w.Insert("seatlocks", bson.D{{Key: "eventId", Value: mongodb.NewID()}, {Key: "seats", Value: 1}, {Key: "status", Value: "CONSUMED"},
		{Key: "expiresAt", Value: time.Now()}})
	if report, err := w.Recovery.RunAll(w.Ctx(), "run", slog.New(w.Log)); err != nil || report.Reported != 2 {
		t.Errorf("%+v, %v; want 2 reported", report, err)
	}
}
