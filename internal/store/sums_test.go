package store_test

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Locks have an _id of every type. However few of them a command adds up, the sums are the same.
func TestMeasure_CountsEveryLockOnceInRanges(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	random := rand.New(rand.NewPCG(1, 2))
	events := []holdfast.ID{w.Event(100_000), w.Event(100_000), w.Event(100_000), w.Event(100_000)}
	want := map[holdfast.ID]int64{events[3]: 0} // the last one has no locks
	var docs []any
	for _, event := range events[:3] {
		for range 60 {
			seats, status := random.Int64N(1000)+1, []string{"ACTIVE", "CONSUMED", "EXPIRED"}[random.IntN(3)]
			var stored any = seats
			if random.IntN(10) == 0 {
				stored, seats = "poison", 0
			}
			docs = append(docs, bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "seats", Value: stored},
				{Key: "status", Value: status}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
			if status != "EXPIRED" {
				want[event] += seats
			}
		}
	}
	if _, err := w.DB.Collection("seatlocks").InsertMany(w.Ctx(), docs, options.InsertMany().SetBypassDocumentValidation(true)); err != nil {
		t.Fatal(err)
	}
	for _, atMost := range []int{1, 2, 3, 7, 50, 1000} {
		w.Store.SumAtMost(atMost)
		states, err := w.Store.Measure(w.Ctx(), events)
		if err != nil || len(states) != len(events) {
			t.Fatal(len(states), err)
		}
		for _, s := range states {
			if *s.Taken != want[s.Event.ID] {
				t.Errorf("%d at a time: %d seats are taken; want %d", atMost, *s.Taken, want[s.Event.ID])
			}
		}
	}
}

// MongoDB forgets the snapshot while the locks are added up.
func TestMeasure_BeginsAgainIfItsSnapshotIsTooOld(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "tooold")
	event := w.Event(10)
	w.Acquire(event, 3, testenv.Soon())
	const snapshotTooOld = 239
	off := w.FailCommands("aggregate", bson.D{{Key: "times", Value: 1}}, bson.D{{Key: "errorCode", Value: snapshotTooOld}})
	states, err := w.Store.Measure(w.Ctx(), list(event))
	if err != nil || len(states) != 1 || *states[0].Taken != 3 {
		t.Errorf("%+v, %v", states, err)
	}
	off()
	off = w.FailCommands("aggregate", "alwaysOn", bson.D{{Key: "errorCode", Value: snapshotTooOld}})
	defer off()
	_, err = w.Store.Measure(w.Ctx(), list(event))
	if !holdfast.HasCode(err, holdfast.CodeUnavailable) || !strings.Contains(err.Error(), "minSnapshotHistoryWindowInSeconds") {
		t.Errorf("got %v; want UNAVAILABLE, and the setting to raise", err)
	}
}

// An event has more locks than a transaction, or a single command, may have time for. Here the
// limits are smaller in proportion: 10,000,000 locks in 10 s are 200,000 locks in 0.2 s, and a
// command reads about 5,000 locks in a fifth of that time. Seats are sold and released meanwhile.
func TestReconcile_EventLargerThanATransaction(t *testing.T) {
	t.Parallel()
	const locks, atMost, drift = 200_000, 5000, 37
	w := testenv.Open(t, testenv.OwnServer(t), "large")
	if err := w.DB.Client().Database("admin").RunCommand(w.Ctx(), bson.D{
		{Key: "setParameter", Value: 1}, {Key: "transactionLifetimeLimitSeconds", Value: 1},
	}).Err(); err != nil {
		t.Fatal(err)
	}
	w.Store.SumAtMost(atMost)
	event := w.Event(10 * locks)
	insertLocks(t, w, event, locks)
	w.Insert("seatlocks", bson.D{{Key: "_id", Value: "poison"}, {Key: "eventId", Value: event}, {Key: "seats", Value: "x"},
		{Key: "status", Value: "CONSUMED"}})
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: int64(9*locks + drift)}})
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "profile", Value: 1}, {Key: "filter", Value: bson.D{
		{Key: "ns", Value: w.DB.Name() + ".seatlocks"}, {Key: "keysExamined", Value: bson.D{{Key: "$gt", Value: 2 * atMost}}},
	}}}).Err(); err != nil {
		t.Fatal(err)
	}
	selling, stop := context.WithCancel(w.Ctx())
	var sale sync.WaitGroup
	for range 2 {
		sale.Go(func() {
			for selling.Err() == nil {
				lock := w.Acquire(event, 2, testenv.Soon())
				if lock.ID[11]%2 == 0 {
					if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	for i := range 2 {
		report, err := w.Recovery.Reconcile(w.Ctx(), "run"+string(rune('1'+i)), slog.New(w.Log))
		if err != nil || report.Corrections != 1-i || report.Errors != 0 {
			t.Errorf("run %d: %+v, %v; want the drift corrected once", i+1, report, err)
		}
	}
	if _, err := w.Pipeline.Repair(w.Ctx(), event, "run3"); err != nil {
		t.Error(err)
	}
	stop()
	sale.Wait()
	long, err := w.DB.Collection("system.profile").CountDocuments(w.Ctx(), bson.D{})
	if err != nil || long > 0 {
		t.Errorf("%d commands read more than %d locks; %v", long, 2*atMost, err)
	}
	taken := count(t, w, event)
	if available, oversold := w.Available(event); available != 10*locks-taken || oversold != 0 {
		t.Errorf("%d seats are available, %d oversold; want %d", available, oversold, 10*locks-taken)
	}
}

// insertLocks makes n CONSUMED locks of one seat, whose _id are numbers, strings and ObjectIDs.
func insertLocks(t *testing.T, w *env, event holdfast.ID, n int) {
	t.Helper()
	op := func(name string, args ...any) bson.D { return bson.D{{Key: name, Value: bson.A(args)}} }
	number := op("$add", "$a", 1_000_000)
	digits := bson.D{{Key: "$toString", Value: number}}
	oid := bson.D{{Key: "$toObjectId", Value: op("$concat", "50000000000000000", digits)}}
	w.Insert("seed", bson.D{})
	cursor, err := w.DB.Collection("seed").Aggregate(w.Ctx(), bson.A{
		bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: bson.D{{Key: "$range", Value: bson.A{0, n}}}}}}},
		bson.D{{Key: "$unwind", Value: "$a"}},
		bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: oid}, {Key: "eventId", Value: event},
			{Key: "userId", Value: mongodb.NewID()}, {Key: "seats", Value: bson.D{{Key: "$literal", Value: 1}}},
			{Key: "status", Value: "CONSUMED"}, {Key: "expiresAt", Value: time.Now()}}}},
		bson.D{{Key: "$merge", Value: "seatlocks"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cursor.Close(w.Ctx()); err != nil {
		t.Fatal(err)
	}
}

// count adds up the event's locks by one command.
func count(t *testing.T, w *env, event holdfast.ID) int64 {
	t.Helper()
	cursor, err := w.DB.Collection("seatlocks").Aggregate(w.Ctx(), bson.A{
		bson.D{{Key: "$match", Value: bson.D{{Key: "eventId", Value: event}, {Key: "status", Value: bson.D{{Key: "$ne", Value: "RELEASED"}}},
			{Key: "_id", Value: bson.D{{Key: "$ne", Value: "poison"}}}}}},
		bson.D{{Key: "$group", Value: bson.D{{Key: "_id", Value: nil}, {Key: "seats", Value: bson.D{{Key: "$sum", Value: "$seats"}}}}}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "seats", Value: bson.D{{Key: "$toLong", Value: "$seats"}}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var sums []struct {
		Seats int64 `bson:"seats"`
	}
	if err := cursor.All(w.Ctx(), &sums); err != nil || len(sums) != 1 {
		t.Fatal(sums, err)
	}
	return sums[0].Seats
}
