package recovery_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// TestForeignDocuments writes documents with values of every type in every field, beside an
// event with ordinary ones. That event is still sold, swept, recovered and audited. The jobs end,
// nothing panics, no seat is lost or sold twice, no event sells more than its locks leave, and
// each finding is reported once. For other documents set HOLDFAST_TEST_SEED.
func TestForeignDocuments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	random := testenv.Random(t)
	event := w.Event(1000)
	due, paid := w.Acquire(event, 1, testenv.Past()), w.Book(w.Acquire(event, 2, testenv.Soon()), testenv.Past())
	live := w.Acquire(event, 3, testenv.Soon())
	pool := make([]holdfast.ID, 30)
	for i := range pool {
		pool[i] = w.Event(100_000)
	}
	foreign := w.InsertForeign(random, pool, ids.New(), 150)
	findings := func() []string {
		found := slices.Concat(w.Log.Lines("WARN Set aside"), w.Log.Lines("WARN [RECOVERY]"), w.Log.Lines("ERROR"))
		// Oversold events are told by every pass, until they are paid down.
		return slices.DeleteFunc(found, func(line string) bool {
			return line == "WARN [RECOVERY] Events with seats taken beyond their total; they sell no seat until that is paid down"
		})
	}
	rounds, before, isQuiet := 0, -1, false
	for ; !isQuiet && rounds < 10; rounds++ {
		runAll(t, w)
		b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{}); err != nil {
			t.Error(err)
		}
		isQuiet = len(findings()) == before // the next round reports nothing again
		before = len(findings())
	}
	if !isQuiet {
		t.Errorf("each of %d rounds reports something anew, the last: %v", rounds, findings()[before-1])
	}
	if w.Lock(due.ID).Status != holdfast.LockExpired || w.Booking(paid.ID).Status != holdfast.BookingExpired ||
		w.Lock(live.ID).Status != holdfast.LockActive {
		t.Errorf("due %s, paid %s, live %s", w.Lock(due.ID).Status, w.Booking(paid.ID).Status, w.Lock(live.ID).Status)
	}
	if available, oversold := w.Available(event); available != int64(1000-3-rounds) || oversold != 0 {
		t.Errorf("%d seats are available, %d oversold; %d of 1000 are taken", available, oversold, 3+rounds)
	}
	checkTruth(t, w, append(pool, foreign.IDs("events")...))
	if n := w.Transactions(mongodb.Conflict); n > 0 {
		t.Errorf("%d transactions were repeated until their time was over", n)
	}
}

// runAll runs each job once.
func runAll(t *testing.T, w *testenv.Env) {
	t.Helper()
	log := slog.New(w.Log)
	w.SweepLocks()
	w.SweepBookings()
	w.Recover()
	if _, err := w.Recovery.Reconcile(w.Ctx(), "run", log); err != nil {
		t.Error(err)
	}
	if _, err := w.Retention.Run(w.Ctx(), time.Minute, log); err != nil {
		t.Error(err)
	}
	if _, err := w.Sealer.Run(w.Ctx(), time.Minute, log); err != nil {
		t.Error(err)
	}
	if _, err := w.Recovery.RunAll(w.Ctx(), "run", log); err != nil {
		t.Error(err)
	}
	if _, err := w.Recovery.Plan(w.Ctx()); err != nil {
		t.Error(err)
	}
	if _, err := w.Recovery.PlanAll(w.Ctx()); err != nil {
		t.Error(err)
	}
}

// checkTruth compares what events answer and sell with what their locks leave.
func checkTruth(t *testing.T, w *testenv.Env, eventIDs []holdfast.ID) {
	t.Helper()
	taken, isSum := seatsTaken(t, w)
	var all errgroup.Group
	all.SetLimit(8)
	checked := 0
	for _, id := range eventIDs {
		if taken[id] > 0 && !isSum[id] {
			continue
		}
		checked++
		all.Go(func() error {
			event, err := w.Seats.GetEvent(w.Ctx(), id)
			if err != nil {
				if !holdfast.HasCode(err, holdfast.CodeEventNotFound) { // MongoDB has refused its document
					t.Errorf("event %s: %v", id, err)
				}
				return nil
			}
			left := max(0, event.TotalSeats-taken[id])
			if event.AvailableSeats > left {
				t.Errorf("%d seats of an event are available, but %d of %d are taken: %s",
					event.AvailableSeats, taken[id], event.TotalSeats, rawEvent(t, w, id))
			}
			request := holdfast.LockRequest{EventID: id, UserID: ids.New(), Seats: min(left, holdfast.MaxSeats-1) + 1, Until: testenv.Soon()}
			if lock, _, err := w.Seats.AcquireLock(w.Ctx(), request); err == nil && lock.Seats > left {
				t.Errorf("sold %d seats of %d that are left: %s", lock.Seats, left, rawEvent(t, w, id))
			} else if err != nil && holdfast.CodeOf(err) == "" {
				t.Errorf("an error without a code: %v: %s", err, rawEvent(t, w, id))
			}
			return nil
		})
	}
	_ = all.Wait()
	if checked < len(eventIDs)*9/10 {
		t.Errorf("only %d of %d events have locks that can be added up", checked, len(eventIDs))
	}
}

func rawEvent(t *testing.T, w *testenv.Env, id holdfast.ID) string {
	t.Helper()
	raw, err := w.DB.Collection("events").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}).Raw()
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprint(raw.Lookup("totalSeats"), raw.Lookup("availableSeats"), raw.Lookup("oversold"), raw.Lookup("internal"))
}

// seatsTaken adds up the locks of each event, and says whether that is a number of seats.
func seatsTaken(t *testing.T, w *testenv.Env) (taken map[holdfast.ID]int64, isSum map[holdfast.ID]bool) {
	t.Helper()
	cursor, err := w.DB.Collection("seatlocks").Find(w.Ctx(), mongodb.In("status", holdfast.TakingStatuses()))
	if err != nil {
		t.Fatal(err)
	}
	taken, isSum = map[holdfast.ID]int64{}, map[holdfast.ID]bool{}
	for cursor.Next(w.Ctx()) {
		var lock struct {
			Seats mongodb.Whole `bson:"seats"`
		}
		if err := mongodb.Unmarshal(cursor.Current, &lock); err != nil {
			t.Fatal(err)
		}
		event, seats := mongodb.IDOf(cursor.Current, "eventId"), cursor.Current.Lookup("seats")
		if _, known := isSum[event]; !known {
			isSum[event] = true
		}
		switch {
		case lock.Seats.Valid && lock.Seats.N >= 1:
			taken[event] += lock.Seats.N
		case !lock.Seats.Valid && seats.IsNumber() && seats.Type != bson.TypeDouble || isHuge(seats):
			taken[event]++
			isSum[event] = false // a number beyond those that are exact
		}
	}
	if err := cursor.Err(); err != nil {
		t.Fatal(err)
	}
	return taken, isSum
}

func isHuge(v bson.RawValue) bool {
	f, isDouble := v.DoubleOK()
	return isDouble && f > float64(mongodb.MaxWhole)
}
