package store_test

import (
	"context"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// The event and its locks are read at one snapshot.
func TestEachSeatLock_ReadsAtOneSnapshot(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.Event(100)
	for range 3 {
		w.Acquire(id, 1, testenv.Soon())
	}
	var mu sync.Mutex
	var levels []string
	process := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.DatabaseName != w.DB.Name() || e.CommandName != "aggregate" && e.CommandName != "find" {
			return
		}
		level, _ := e.Command.Lookup("readConcern", "level").StringValueOK()
		if _, _, isSame := e.Command.Lookup("readConcern", "atClusterTime").TimestampOK(); isSame {
			level += " at the same time"
		}
		mu.Lock()
		defer mu.Unlock()
		levels = append(levels, e.CommandName+" "+level)
	}})
	levels = nil
	seats := int64(0)
	err := process.Store.EachSeatLock(w.Ctx(), id, func(holdfast.Event, *seating.Occupancy) error { return nil },
		func(l holdfast.Lock, _ holdfast.SeatState) { seats += l.Seats })
	if err != nil || seats != 3 {
		t.Fatalf("%d seats, %v", seats, err)
	}
	if len(levels) != 2 || levels[0] != "aggregate snapshot" || levels[1] != "find snapshot at the same time" {
		t.Errorf("MongoDB received %q", levels)
	}
}
