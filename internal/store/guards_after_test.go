package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"

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
	_, err := process.Store.Apply(w.Ctx(), []store.EventPlan{plan}, func() error {
		if len(guarded) == 1 {
			return testenv.Conflict()
		}
		return nil
	})
	if want := []bool{false, true}; err != nil || !slices.Equal(guarded, want) {
		t.Errorf("%v; the guard was part of the writes: %v, want %v", err, guarded, want)
	}
}

// Whatever other software leaves in an event: what is accepted after the event's write, the guard before it accepts.
func TestApply_GuardsCheckedAfterwardsAcceptNoMore(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	allowFormer(t, w)
	other := newFixture(t, w, nil)
	nothing := store.EventPlan{EventID: other.event, Plan: inventory.Plan{Event: &inventory.EventWrite{}}}
	accepted, refused := 0, 0
	for name, write := range map[string]func(f fixture) *inventory.EventWrite{
		"at least": func(fixture) *inventory.EventWrite { return &inventory.EventWrite{AtLeast: 8, Available: -8} },
		"if unchanged": func(f fixture) *inventory.EventWrite {
			return &inventory.EventWrite{IfUnchanged: f.read.Event, Available: -1}
		},
	} {
		for _, changed := range []string{
			"totalSeats", "availableSeats", "oversold", "status", "maxSeatsPerUser", "seatingPlanId", "internal", "internal.rev", "rev", "fixes",
		} {
			for _, value := range testenv.Extremes() {
				apply := func(isExpected bool, beside ...store.EventPlan) error {
					f := newFixture(t, w, nil)
					plan := store.EventPlan{EventID: f.event, Plan: inventory.Plan{Event: write(f)}, IsExpected: isExpected}
					if value == testenv.Missing {
						f.unset("events", f.event, changed)
					} else {
						f.setEvent(field(changed, value))
					}
					_, err := w.Store.Apply(w.Ctx(), append(beside, plan), func() error { return nil })
					return err
				}
				alone, expected, together := apply(false), apply(true), apply(false, nothing)
				switch {
				case expected != nil && together != nil:
					refused++
				case alone == nil:
					accepted++
				default:
					t.Errorf("%s, with %v in %s: %v before the write, %v after it, %v beside another event", name, value, changed,
						alone, expected, together)
				}
				if expected != nil && !errors.Is(expected, store.ErrStale) {
					t.Errorf("%s, with %v in %s: %v", name, value, changed, expected)
				}
			}
		}
	}
	if accepted == 0 || refused == 0 {
		t.Errorf("%d were accepted, %d refused", accepted, refused)
	}
	t.Logf("%d were accepted, %d refused", accepted, refused)
}
