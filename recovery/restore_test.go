package recovery_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// While customers buy, the collections are copied one after the other, like a dump without
// the oplog, and restored into another database. After a recovery pass there, counters,
// locks and bookings agree again, and the sale goes on.
func TestRestore_ToAnEarlierTime(t *testing.T) {
	t.Parallel()
	w, restored := testenv.New(t), testenv.New(t)
	events := []holdfast.ID{w.Event(5000), w.Event(300), w.Event(50)}
	between := w.Event(100) // sold between two copies, so its counter is wrong
	ctx, stop := context.WithCancel(w.Ctx())
	defer stop()
	var all sync.WaitGroup
	var sold atomic.Int64
	for i := range 16 {
		all.Go(func() {
			for ctx.Err() == nil {
				customer(ctx, t, w, events[i%len(events)], &sold)
			}
		})
	}
	for _, collection := range []string{"events", "bookings", "seatlocks"} {
		const meanwhile = 20 // sales; the seats of the largest event don't run out
		before := sold.Load()
		if !testenv.Poll(time.Minute, func() bool { return sold.Load() >= before+meanwhile }) {
			t.Fatal("nothing is sold")
		}
		_, err := w.DB.Collection(collection).Aggregate(w.Ctx(), mongo.Pipeline{
			{{Key: "$merge", Value: bson.D{{Key: "into", Value: bson.D{{Key: "db", Value: restored.DB.Name()}, {Key: "coll", Value: collection}}}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if collection == "events" {
			w.Acquire(between, 3, testenv.Soon())
		}
	}
	stop()
	all.Wait()
	if available, _ := restored.Available(between); available != 100 {
		t.Errorf("the copies are of one moment (%d): too little happened for a test", available)
	}
	restored.Recover()
	if available, _ := restored.Available(between); available != 97 {
		t.Errorf("3 of 100 seats are taken, and %d available", available)
	}
	for _, event := range append(events, between) {
		if available, oversold := restored.Available(event); available > 0 {
			restored.Acquire(event, available, testenv.Soon())
		} else if oversold < 0 {
			t.Errorf("event %s is oversold by %d", event, oversold)
		}
	}
	for _, broken := range testenv.Violations(t, restored.DB.Database) {
		// The pass reported contradictions that an operator has to resolve.
		if !strings.Contains(broken, "CONFIRMED") && !strings.Contains(broken, "CONSUMED") || len(restored.Log.Lines("left as it is")) == 0 {
			t.Error(broken)
		}
	}
	if err := w.Pipeline.Close(w.Ctx()); err != nil {
		t.Fatal(err)
	}
}
