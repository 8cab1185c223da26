package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// newPlan makes a plan like that of newSeated, whose rows are turned around in another section. It has the first
// rows alone, and an extra seat in each.
func newPlan(t *testing.T, w *env, rows int, pit int64) holdfast.ID {
	t.Helper()
	section := holdfast.Section{Key: "turned", Name: "Turned", Category: "c"}
	for r := rows; r > 0; r-- {
		row := holdfast.Row{Key: fmt.Sprint(r), Seats: []*holdfast.Seat{{ID: fmt.Sprintf("extra-%d", r)}}}
		for n := 10; n > 0; n-- {
			row.Seats = append(row.Seats, &holdfast.Seat{ID: fmt.Sprintf("a-%d-%d", r, n)})
		}
		section.Rows = append(section.Rows, row)
	}
	plan, _, err := w.Plans.Create(w.Ctx(), holdfast.SeatingPlan{
		Name: "Turned", Categories: []holdfast.Category{{Key: "c", Name: "Category"}},
		Sections: []holdfast.Section{section, {Key: "pit", Name: "Pit", Category: "c", Capacity: pit}},
	}, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	return plan.ID
}

// changePlan gives an event another plan.
func changePlan(w *env, p *pipeline.Pipeline, eventID, planID holdfast.ID) (inventory.Result, error) {
	return p.Change(w.Ctx(), eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{SeatingPlanID: &planID}})
}

// What the locks take is read before the transaction that changes the plan, so that it holds the event for a
// short time. While other processes change the event all the time, the transaction reads it.
func TestSeated_AChangeOfThePlanReadsFirst(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var r recorder
	eventID, planID := newSeated(t, w), newPlan(t, w, 4, 20)
	own := watched(t, w, r.monitor())
	p := newProcess(t, own)
	submit(t, p, eventID, named(eventID, "a-1-1", "a-1-2"))
	if _, err := own.Plans.Hall(w.Ctx(), planID); err != nil {
		t.Fatal(err)
	}
	got := r.of(func() {
		if _, err := changePlan(w, p, eventID, planID); err != nil {
			t.Error(err)
		}
	})
	if want := []string{read, "find", guarded, insert, commit}; !slices.Equal(got, want) {
		t.Errorf("a change sends %v, want %v", got, want)
	}
	wantTaken(t, w, eventID, "a-1-2", "a-1-1")

	fewer := newPlan(t, w, 3, 1)
	if _, err := own.Plans.Hall(w.Ctx(), fewer); err != nil {
		t.Fatal(err)
	}
	submit(t, p, eventID, named(eventID, "a-4-1"))
	var err error
	refused := r.of(func() { _, err = changePlan(w, p, eventID, fewer) })
	wantCode(t, err, holdfast.CodeCapacityBelowTaken)
	if want := []string{read, "find", guarded, commit}; !slices.Equal(refused, want) {
		t.Errorf("a refusal sends %v, want %v: it is guarded like a change", refused, want)
	}
	wantTaken(t, w, eventID, "a-4-1", "a-1-2", "a-1-1")
}

func revisionOf(t *testing.T, w *env, eventID holdfast.ID) int64 {
	t.Helper()
	var doc struct {
		Internal struct {
			Rev int64 `bson:"rev"`
		} `bson:"internal"`
	}
	if err := w.DB.Collection("events").FindOne(w.Ctx(), mongodb.Is("_id", eventID)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc.Internal.Rev
}

// A plan repairs the map, and can replace one that does not exist any more.
func TestSeated_AChangeOfThePlanNeedsNoMap(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]bson.D{
		"the map is gone":           {{Key: "internal.map", Value: nil}},
		"a section is not a binary": {{Key: "internal.map.0", Value: "x"}},
		"the plan is gone":          {{Key: "seatingPlanId", Value: holdfast.ID{1}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID, planID := newSeated(t, w), newPlan(t, w, 4, 30)
			submit(t, newProcess(t, w), eventID, named(eventID, "a-1-1"))
			w.Set("events", eventID, damage)
			if _, err := changePlan(w, newProcess(t, w), eventID, planID); err != nil {
				t.Fatal(err)
			}
			wantTaken(t, w, eventID, "a-1-1")
			submit(t, newProcess(t, w), eventID, named(eventID, "extra-4"))
			wantTaken(t, w, eventID, "extra-4", "a-1-1")
		})
	}
}

// A change with capacities and the present plan needs the counter: a wrong counter is replaced by the sum of the
// locks, and the change is not refused.
func TestSeated_TheSamePlanWithCapacitiesNeedsACounter(t *testing.T) {
	t.Parallel()
	for name, counter := range map[string]any{"negative": -5, "above the total": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			eventID := newSeated(t, w)
			submit(t, newProcess(t, w), eventID, named(eventID, "a-1-1"))
			before, err := w.Store.Event(w.Ctx(), eventID)
			if err != nil {
				t.Fatal(err)
			}
			w.Command(bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}})
			w.Set("events", eventID, bson.D{{Key: "availableSeats", Value: counter}})
			result, err := newProcess(t, w).Change(w.Ctx(), eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{
				SeatingPlanID: &before.Seating.PlanID, Sections: []holdfast.SectionCapacity{{Key: "pit", Capacity: 7}},
			}})
			if err != nil {
				t.Fatal(err)
			}
			if e := result.Event; e.AvailableSeats != e.TotalSeats-1 || e.TotalSeats == before.TotalSeats {
				t.Errorf("%d of %d seats are available, of %d before", e.AvailableSeats, e.TotalSeats, before.TotalSeats)
			}
			wantTaken(t, w, eventID, "a-1-1")
		})
	}
}

// 50 callers lock, change and release at two processes, while the plan and its capacities change.
func TestSeated_ThePlanChangesBesideASale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	w.DropSeatIndex()
	eventID := newSeated(t, w)
	first, err := w.Store.Event(w.Ctx(), eventID)
	if err != nil {
		t.Fatal(err)
	}
	plans := []holdfast.ID{newPlan(t, w, 4, 30), newPlan(t, w, 3, 25), first.Seating.PlanID}
	processes := []*pipeline.Pipeline{newProcess(t, w), newProcess(t, testenv.Open(t, w.URI, w.DB.Name()))}
	var callers, changer sync.WaitGroup
	var changed, refused int
	done := make(chan struct{})
	changer.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			default:
			}
			c := holdfast.EventChange{SeatingPlanID: &plans[n%len(plans)]}
			if n%4 == 3 {
				c = holdfast.EventChange{Sections: []holdfast.SectionCapacity{{Key: "pit", Capacity: int64(5 + n%20)}}}
			}
			_, err := processes[n%2].Change(w.Ctx(), eventID, inventory.ChangeEvent{EventChange: c})
			switch {
			case err == nil:
				changed++
			case holdfast.HasCode(err, holdfast.CodeCapacityBelowTaken):
				refused++
			default:
				t.Error(err)
			}
		}
	})
	var mu sync.Mutex
	acknowledged := map[holdfast.ID]holdfast.Lock{}
	var granted atomic.Int64
	for n := range 50 {
		callers.Go(func() {
			random, p := rand.New(rand.NewPCG(9, uint64(n))), processes[n%2]
			for range 20 {
				lock, ok := oneSale(t, w, p, eventID, random)
				if ok {
					granted.Add(1)
					mu.Lock()
					acknowledged[lock.ID] = lock
					mu.Unlock()
				}
			}
		})
	}
	callers.Wait()
	close(done)
	changer.Wait()
	checkMap(t, w, eventID)
	for id, want := range acknowledged {
		got, err := w.Store.Lock(w.Ctx(), id)
		if err != nil || got.Status != want.Status || got.Section != want.Section || got.Seats != want.Seats ||
			!slices.Equal(got.SeatIDs, want.SeatIDs) {
			t.Errorf("acknowledged %+v, stored %+v, %v", want, got, err)
		}
	}
	if granted.Load() == 0 || changed == 0 {
		t.Errorf("%d locks were granted; the plan changed %d times and was refused %d times", granted.Load(), changed, refused)
	}
	t.Logf("%d locks, %d changes, %d refused", granted.Load(), changed, refused)
}

// oneSale locks seats, and at times changes or releases them. It returns the lock as it was acknowledged last.
func oneSale(t *testing.T, w *env, p *pipeline.Pipeline, eventID holdfast.ID, random *rand.Rand) (lock holdfast.Lock, ok bool) {
	t.Helper()
	seat := func() string { return fmt.Sprintf("a-%d-%d", random.IntN(4)+1, random.IntN(10)+1) }
	do := func(c inventory.Command) bool {
		result, err := p.Submit(w.Ctx(), eventID, c)
		if err != nil && !mongodb.IsRefusal(err) && !holdfast.HasCode(err, holdfast.CodeInvalid) { // the plan may lack the seat now
			t.Errorf("%T: %v", c, err)
		}
		if err == nil {
			lock = *result.Lock
		}
		return err == nil
	}
	if !do([]inventory.Command{named(eventID, seat()), best(eventID, int64(random.IntN(2)+1)), general(eventID, 2)}[random.IntN(3)]) {
		return lock, false
	}
	if random.IntN(2) == 0 {
		do(inventory.ChangeSeats{LockID: lock.ID, Seats: 1, Wish: holdfast.Wish{SeatIDs: []string{seat()}}})
	}
	if random.IntN(4) > 0 {
		do(inventory.Release{LockID: lock.ID})
	}
	return lock, true
}
