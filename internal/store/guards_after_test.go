package store_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// After a conflict another process writes the event too: a write that is undone would hold it up.
func TestApply_IsGuardedAfterAConflict(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var guarded []bool
	process := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.CommandName == "findAndModify" {
			_, err := e.Command.LookupErr("query", "_id")
			guarded = append(guarded, err != nil)
		}
	}})
	f := newFixture(t, w, nil)
	plan := store.EventPlan{
		EventID: f.event, Plan: inventory.Plan{Event: &inventory.EventWrite{AtLeast: 1, Available: -1}}, IsExpected: true,
	}
	_, err := process.Store.Apply(w.Ctx(), mongodb.TxOptions{}, []store.EventPlan{plan}, func() error {
		if len(guarded) == 1 {
			return testenv.Conflict()
		}
		return nil
	})
	if want := []bool{false, true}; err != nil || !slices.Equal(guarded, want) {
		t.Errorf("%v; the guard was part of the writes: %v, want %v", err, guarded, want)
	}
}

// saleTimes are times of a sale, of which the first is none.
var saleTimes = []time.Time{{}, time.Time{}.Add(1), time.Date(2030, 1, 2, 3, 4, 5, 6_000_000, time.UTC)}

// eventFields are a random event's fields that a guard compares. Each may be absent, and a number of any type.
func eventFields(rt *rapid.T, name string, planID holdfast.ID) bson.D {
	number := rapid.SampledFrom([]any{int32(0), int64(1), int32(7), 8.0, int64(10), 11.0})
	doc := bson.D{field("totalSeats", number.Draw(rt, name+" total")), field("availableSeats", number.Draw(rt, name+" available"))}
	optional := func(field string, values ...any) {
		if v := rapid.SampledFrom(append(values, nil)).Draw(rt, name+" "+field); v != nil {
			doc = append(doc, bson.E{Key: field, Value: v})
		}
	}
	optional("oversold", int32(0), 1.0, int64(7))
	optional("maxSeatsPerUser", int32(0), int64(1), 8.0)
	optional("status", "ON_SALE", "ON_SALE", "CLOSED", "CANCELLED")
	optional("seatingPlanId", planID)
	optional("saleStartsAt", saleTimes[1], saleTimes[2])
	optional("saleEndsAt", saleTimes[1], saleTimes[2])
	optional("orphanRule", "REFUSE", "ALLOW")
	optional("accessiblePolicy", "OPEN", "RESERVED")
	optional("internal", bson.D{}, bson.D{field("rev", int32(0))}, bson.D{field("rev", 1.0)}, bson.D{field("rev", int64(7))},
		bson.D{field("list", bson.D{field("waiting", int64(0))})}, bson.D{field("list", bson.D{field("waiting", 1.0)})})
	return doc
}

// The guard of an event is stated twice: as a condition of its write, and as a check of the event after it. Of any event and any write
// the check accepts what the condition does, and nothing else.
func TestApply_GuardsBeforeAndAfterTheWriteAcceptTheSame(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	accepted, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		planID := mongodb.NewID()
		for n := range 5 {
			name, id := strconv.Itoa(n), mongodb.NewID()
			present := eventFields(rt, name, planID)
			write := inventory.EventWrite{
				AtLeast: rapid.SampledFrom([]int64{0, 1, 8}).Draw(rt, name+" at least"), Available: rapid.Int64Range(-8, 8).Draw(rt, name+" moves"),
				Oversold: rapid.Int64Range(-1, 1).Draw(rt, name+" oversold"), Touch: rapid.Bool().Draw(rt, name+" touch"),
				SaleStartsAt: rapid.SampledFrom(saleTimes).Draw(rt, name+" starts"), SaleEndsAt: rapid.SampledFrom(saleTimes).Draw(rt, name+" ends"),
			}
			if write.Touch {
				write.Available, write.Oversold = 0, 0
			}
			if rapid.Bool().Draw(rt, name+" was read") {
				read := present
				if rapid.Bool().Draw(rt, name+" has changed") {
					read = eventFields(rt, name+" read", planID)
				}
				e := store.ReadEvent(rt, append(bson.D{field("_id", id)}, read...))
				write.IfUnchanged = &e
			}
			w.Insert("events", append(bson.D{field("_id", id)}, present...))
			before, after := w.Store.GuardHolds(rt, id, write)
			if before != after {
				rt.Fatalf("%v, with %+v: before the write %t, after it %t", present, write, before, after)
			}
			if before {
				accepted++
			} else {
				refused++
			}
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d were accepted, %d refused", accepted, refused)
	}
}
