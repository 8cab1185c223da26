package recovery_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/recovery"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func openList(t *testing.T, w *testenv.Env, eventID holdfast.ID) {
	t.Helper()
	open := holdfast.WaitlistOpen
	if _, err := w.Pipeline.Change(w.Ctx(), eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{Waitlist: &open}}); err != nil {
		t.Fatal(err)
	}
}

// join puts a new customer on the waiting list of an event, for one seat.
func join(t *testing.T, w *testenv.Env, eventID holdfast.ID) holdfast.ID {
	t.Helper()
	id := mongodb.NewID()
	_, err := w.Pipeline.Submit(w.Ctx(), eventID, inventory.Join{EntryID: id, JoinRequest: holdfast.JoinRequest{
		EventID: eventID, UserID: mongodb.NewID(), EntryWish: holdfast.EntryWish{Seats: 1},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func wantEntry(t *testing.T, w *testenv.Env, id holdfast.ID, want holdfast.EntryStatus) {
	t.Helper()
	var doc struct {
		Status holdfast.EntryStatus `bson:"status"`
	}
	if err := w.DB.Collection("waitlist").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}).Decode(&doc); err != nil || doc.Status != want {
		t.Errorf("entry %s is %s, %v; want %s", id, doc.Status, err, want)
	}
}

// waitingEvents returns an unseated and a seated event of two seats, which are locked, and for each of them an entry that waits.
func waitingEvents(t *testing.T, w *testenv.Env) (events, entries []holdfast.ID, locks []holdfast.Lock) {
	t.Helper()
	seated := w.SeatedEvent(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}},
		Sections: []holdfast.Section{{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 2}}}},
	})
	for _, id := range []holdfast.ID{w.Event(2), seated} {
		request := holdfast.LockRequest{EventID: id, UserID: mongodb.NewID(), Seats: 2, Until: testenv.Soon()}
		if id == seated {
			request.Wish = holdfast.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}}
		}
		lock, _, err := w.Seats.AcquireLock(w.Ctx(), request)
		if err != nil {
			t.Fatal(err)
		}
		openList(t, w, id)
		events, entries, locks = append(events, id), append(entries, join(t, w, id)), append(locks, lock)
	}
	return events, entries, locks
}

var bothPasses = map[string]func(*testenv.Env) (recovery.Report, error){
	"recovery": func(w *testenv.Env) (recovery.Report, error) { return w.Recovery.Run(w.Ctx(), "run", slog.New(w.Log)) },
	"reconcile": func(w *testenv.Env) (recovery.Report, error) {
		return w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
	},
}

// Other software ends locks, and changes no counter. The transaction that corrects the counter or the map offers the seats.
func TestRepair_OffersTheSeatsThatItFrees(t *testing.T) {
	t.Parallel()
	for name, pass := range bothPasses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			events, entries, locks := waitingEvents(t, w)
			for _, lock := range locks {
				w.Set("seatlocks", lock.ID, bson.D{{Key: "status", Value: "RELEASED"}})
			}
			plan, err := w.Recovery.Plan(w.Ctx())
			if err != nil || len(plan.Drifts) != 2 || len(plan.WrongMaps) != 1 || plan.Drifts[0].After != 2 {
				t.Errorf("the plan is %+v, %v", plan, err)
			}
			report, err := pass(w)
			if err != nil || report.Missed != 0 || report.Corrections < 2 {
				t.Errorf("the report is %+v, %v", report, err)
			}
			for i, id := range entries {
				wantEntry(t, w, id, holdfast.EntryOffered)
				if available, oversold := w.Available(events[i]); available != 1 || oversold != 0 {
					t.Errorf("%d seats are available, %d oversold", available, oversold)
				}
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// After a restore, seats may be free that an entry fits, and nothing is due.
func TestLists_MakeTheOffersThatWereMissed(t *testing.T) {
	t.Parallel()
	for name, pass := range bothPasses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event, sold, missed := w.Event(1), w.Event(1), 0
			w.Acquire(sold, 1, testenv.Soon())
			openList(t, w, sold)
			stillWaits := join(t, w, sold)
			lock := w.Acquire(event, 1, testenv.Soon())
			openList(t, w, event)
			first, second := join(t, w, event), join(t, w, event)
			w.Set("seatlocks", lock.ID, bson.D{{Key: "status", Value: "RELEASED"}})
			w.Set("events", event, bson.D{{Key: "availableSeats", Value: 1}})
			process := testenv.Core(w.DB, nil)
			w.Recovery = process.Recovery
			w.Recovery.MissedOffers = func(n int) { missed += n }
			if report, err := pass(w); err != nil || report.Missed != 1 || missed != 1 {
				t.Errorf("the report is %+v, %v; observed %d", report, err, missed)
			}
			wantEntry(t, w, first, holdfast.EntryOffered)
			wantEntry(t, w, second, holdfast.EntryWaiting)
			wantEntry(t, w, stillWaits, holdfast.EntryWaiting)
			if lines := w.Log.Lines("[RECOVERY] Made offers of a waiting list that were missing"); len(lines) != 1 {
				t.Errorf("%d lines", len(lines))
			}
			if report, err := pass(w); err != nil || report.Missed != 0 || missed != 1 {
				t.Errorf("the second report is %+v, %v", report, err)
			}
		})
	}
}

// Offers that the seats of a due lock make are no fault: no sweep has found it yet.
func TestLists_OffersOfDueLocksWereNotMissed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	lock := w.Acquire(event, 1, testenv.Soon())
	openList(t, w, event)
	entry := join(t, w, event)
	w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Minute)}})
	if report, err := bothPasses["reconcile"](w); err != nil || report.Missed != 0 {
		t.Errorf("the report is %+v, %v", report, err)
	}
	wantEntry(t, w, entry, holdfast.EntryOffered)
}

// A list that counts too few entries makes no offers, and one that counts too many makes the event slow.
func TestLists_TheNumberOfEntriesIsCorrected(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	lock := w.Acquire(event, 1, testenv.Soon())
	openList(t, w, event)
	entries := []holdfast.ID{join(t, w, event), join(t, w, event), join(t, w, event)}
	w.ChangeUnchecked("waitlist", entries[2], bson.D{{Key: "$set", Value: bson.D{{Key: "seats", Value: "x"}}}}) // a corrupt one does not count
	for _, wrong := range []int64{0, 1, 3, 700} {
		w.Set("events", event, bson.D{{Key: "internal.list.waiting", Value: wrong}, {Key: "internal.list.seq", Value: int64(1)}})
		plan, err := w.Recovery.Plan(w.Ctx())
		if err != nil || len(plan.WrongLists) != 1 || plan.WrongLists[0].Says != wrong || plan.WrongLists[0].Waiting != 2 {
			t.Errorf("the plan is %+v, %v", plan.WrongLists, err)
		}
		if report, err := bothPasses["reconcile"](w); err != nil || report.Applied != 1 || report.Missed != 0 {
			t.Errorf("%d: the report is %+v, %v", wrong, report, err)
		}
		if got, err := w.Seats.GetEvent(w.Ctx(), event); err != nil || got.Waitlist.Waiting != 2 {
			t.Errorf("%d entries wait, %v", got.Waitlist.Waiting, err)
		}
		if plan, err := w.Recovery.Plan(w.Ctx()); err != nil || len(plan.WrongLists) != 0 {
			t.Errorf("the plan is %+v, %v", plan.WrongLists, err)
		}
	}
	w.Set("events", event, bson.D{{Key: "internal.list.waiting", Value: int64(0)}, {Key: "availableSeats", Value: 1}})
	w.Set("seatlocks", lock.ID, bson.D{{Key: "status", Value: "RELEASED"}})
	if _, err := bothPasses["reconcile"](w); err != nil {
		t.Error(err)
	}
	wantEntry(t, w, entries[0], holdfast.EntryOffered)
	wantEntry(t, w, entries[1], holdfast.EntryWaiting)
}

// A crash of other software left the lock of a CONFIRMED booking ACTIVE. It was an offer.
func TestConsume_OfAnOfferAcceptsItsEntry(t *testing.T) {
	t.Parallel()
	for name, pass := range bothPasses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.Event(1)
			lock := w.Acquire(event, 1, testenv.Soon())
			openList(t, w, event)
			entry := join(t, w, event)
			if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
				t.Fatal(err)
			}
			offer := w.Lock(entry)
			w.Insert("bookings", bson.D{
				{Key: "userId", Value: offer.UserID}, {Key: "eventId", Value: event}, {Key: "status", Value: "CONFIRMED"},
				{Key: "seatLockId", Value: offer.ID}, {Key: "seats", Value: 1},
			})
			w.Set("seatlocks", offer.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Minute)}})
			if report, err := pass(w); err != nil || report.Consumed != 1 {
				t.Errorf("the report is %+v, %v", report, err)
			}
			wantEntry(t, w, entry, holdfast.EntryAccepted)
			if got := w.Lock(offer.ID).Status; got != holdfast.LockConsumed {
				t.Errorf("the lock is %s", got)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

func TestPlan_NamesEntriesThatDoNotAgreeWithTheirLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(4)
	lock := w.Acquire(event, 4, testenv.Soon())
	openList(t, w, event)
	ended, missing, closed, good := join(t, w, event), join(t, w, event), join(t, w, event), join(t, w, event)
	if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
		t.Fatal(err)
	}
	wantEntry(t, w, good, holdfast.EntryOffered)
	w.Set("seatlocks", ended, bson.D{{Key: "status", Value: "EXPIRED"}})
	if _, err := w.DB.Collection("seatlocks").DeleteOne(context.Background(), bson.D{{Key: "_id", Value: missing}}); err != nil {
		t.Fatal(err)
	}
	w.Set("waitlist", closed, bson.D{{Key: "status", Value: "CLOSED"}})
	plan, err := w.Recovery.Plan(w.Ctx())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range plan.Findings() {
		if f.What != "waiting-list entries that don't agree with their lock" {
			continue
		}
		if f.Kind != recovery.Manual || f.Count != 3 {
			t.Errorf("the finding is %+v", f)
		}
		for _, part := range []string{
			"entry " + ended.String() + " is OFFERED, lock " + ended.String() + " EXPIRED",
			"entry " + missing.String() + " is OFFERED, lock " + missing.String() + " missing",
			"entry " + closed.String() + " is CLOSED, lock " + closed.String() + " ACTIVE",
		} {
			if !strings.Contains(f.Detail, part) {
				t.Errorf("the detail %q lacks %q", f.Detail, part)
			}
		}
	}
	if len(plan.WrongOffers) != 3 {
		t.Errorf("the plan has %+v", plan.WrongOffers)
	}
}
