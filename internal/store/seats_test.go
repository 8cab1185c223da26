package store_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// theatre has rows of 2 and 10 seats in section 0 (a-1-1 to a-2-10), and general admission of 20 in section 1.
func theatre(t *testing.T) *seating.Hall {
	t.Helper()
	hall, err := seating.NewHall(holdfast.SeatingPlan{
		Name: "Theatre", Categories: []holdfast.Category{{Key: "c", Name: "Category"}},
		Sections: []holdfast.Section{
			{Key: "a", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 2}, {Key: "2", Count: 10}}},
			{Key: "p.it", Name: "Pit", Category: "c", Capacity: 20},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return hall
}

// seated is a seated event in a store that knows its plan.
type seated struct {
	*env
	t     *testing.T
	store *store.Store
	hall  *seating.Hall
	plan  holdfast.ID
	event holdfast.ID
}

func newSeated(t *testing.T, w *env) seated {
	t.Helper()
	f := seated{env: w, t: t, hall: theatre(t), plan: mongodb.NewID(), event: mongodb.NewID()}
	f.store = store.New(w.DB, func(_ context.Context, planID holdfast.ID) (*seating.Hall, error) {
		if planID != f.plan {
			return nil, holdfast.NotFound(holdfast.CodeSeatingPlanNotFound)
		}
		return f.hall, nil
	})
	e := holdfast.Event{ID: f.event, Name: "Event", Status: holdfast.OnSale, Seating: holdfast.Seating{
		PlanID: f.plan, OrphanRule: holdfast.OrphansRefused,
	}}
	if _, _, err := f.store.CreateEvent(w.Ctx(), e, holdfast.CreationKey{}, ""); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f seated) load(n inventory.Needs) inventory.State {
	f.t.Helper()
	state, err := f.store.Load(f.Ctx(), f.event, n)
	if err != nil {
		f.t.Fatal(err)
	}
	return state
}

func (f seated) apply(plan inventory.Plan) error {
	_, err := f.store.Apply(f.Ctx(), mongodb.TxOptions{}, []store.EventPlan{{EventID: f.event, Plan: plan}}, func() error { return nil })
	return err
}

func (f seated) mustApply(plan inventory.Plan) {
	f.t.Helper()
	if err := f.apply(plan); err != nil {
		f.t.Fatal(err)
	}
}

// lockOf is a new lock of named seats.
func (f seated) lockOf(seatIDs ...string) holdfast.Lock {
	return holdfast.Lock{
		ID: mongodb.NewID(), EventID: f.event, UserID: mongodb.NewID(), Seats: int64(len(seatIDs)), Status: holdfast.LockActive, SeatIDs: seatIDs,
	}
}

// blockOf is a new lock of the venue.
func (f seated) blockOf(seatIDs ...string) holdfast.Lock {
	return holdfast.Lock{ID: mongodb.NewID(), EventID: f.event, Seats: int64(len(seatIDs)), Status: holdfast.LockBlocked, SeatIDs: seatIDs}
}

// take is a plan that takes seats of an event as it was read, in the map too.
func (f seated) take(s inventory.State, locks ...holdfast.Lock) inventory.Plan {
	f.t.Helper()
	plan := inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: s.Event}}
	mark := s.Seats.Mark()
	for _, l := range locks {
		for _, id := range l.SeatIDs {
			if p, found := f.hall.Find(id); !found || !s.Seats.Take(p) {
				f.t.Fatal("the seat is taken or does not exist: " + id)
			}
		}
		if l.Section != "" {
			n, _ := f.hall.FindSection(l.Section)
			s.Seats.AddGeneral(n, l.Seats)
		}
		if l.Status == holdfast.LockBlocked {
			plan.Event.Blocked = new(s.Event.Seating.BlockedSeats + l.Seats)
		}
		plan.Event.Available -= l.Seats
		plan.Acquired, plan.TTL = append(plan.Acquired, l), append(plan.TTL, time.Hour)
	}
	plan.Event.Maps = f.maps(s.Seats, mark)
	return plan
}

func (f seated) maps(o *seating.Occupancy, mark int) (maps []inventory.SectionMap) {
	for _, n := range o.Changed(mark) {
		m := inventory.SectionMap{Section: n}
		if f.hall.Sections()[n].GeneralAdmission() {
			m.Taken = o.TakenGeneral(n)
		} else {
			m.Bits = o.Bytes(nil, n)
		}
		maps = append(maps, m)
	}
	return maps
}

// taken are the seats that an occupancy has as taken; the last entry is of general admission.
func (f seated) taken(o *seating.Occupancy) (seatIDs []string, general int64) {
	seatIDs = []string{}
	for seat := range o.TakenSeats(0) {
		seatIDs = append(seatIDs, f.hall.Seat(seating.Place{Section: 0, Seat: seat}).ID)
	}
	return seatIDs, o.TakenGeneral(1)
}

func (f seated) wantTaken(general int64, seatIDs ...string) {
	f.t.Helper()
	got, gotGeneral := f.taken(f.load(inventory.Needs{Seats: true}).Seats)
	if !slices.Equal(got, append([]string{}, seatIDs...)) || gotGeneral != general {
		f.t.Errorf("taken are %v and %d, want %v and %d", got, gotGeneral, seatIDs, general)
	}
}

func (f seated) document(collection string, id holdfast.ID) bson.M {
	f.t.Helper()
	return fixture{env: f.env, t: f.t}.document(collection, id)
}

var needsSeats = inventory.Needs{Seats: true}

func TestSeated_EventIsWrittenAndRead(t *testing.T) {
	t.Parallel()
	f := newSeated(t, testenv.New(t))
	s := f.load(needsSeats)
	want := holdfast.Seating{PlanID: f.plan, OrphanRule: holdfast.OrphansRefused, AccessiblePolicy: holdfast.AccessibleReserved}
	if e := s.Event; e.Seating != want || e.TotalSeats != 32 || e.AvailableSeats != 32 {
		t.Errorf("got %+v", s.Event)
	}
	f.wantTaken(0)
	if e, err := f.store.Event(f.Ctx(), f.event); err != nil || e.Seating != want {
		t.Errorf("got %+v, %v", e, err)
	}
	f.mustApply(f.take(s, f.lockOf("a-1-1", "a-2-10"), holdfast.Lock{
		ID: mongodb.NewID(), EventID: f.event, UserID: mongodb.NewID(), Seats: 7, Status: holdfast.LockActive, Section: "p.it",
	}))
	f.wantTaken(7, "a-1-1", "a-2-10")
	testenv.CheckInvariants(t, f.DB.Database)
}

func TestSeated_AnUnknownPlanIsRefused(t *testing.T) {
	t.Parallel()
	f := newSeated(t, testenv.New(t))
	seated := holdfast.Seating{PlanID: mongodb.NewID()}
	_, _, err := f.store.CreateEvent(f.Ctx(), holdfast.Event{ID: mongodb.NewID(), Name: "Event", Seating: seated},
		holdfast.CreationKey{}, "")
	if !holdfast.HasCode(err, holdfast.CodeSeatingPlanNotFound) {
		t.Errorf("got %v", err)
	}
	f.Set("events", f.event, bson.D{field("seatingPlanId", mongodb.NewID())})
	if _, err := f.store.Load(f.Ctx(), f.event, needsSeats); !errors.Is(err, store.ErrUnusable) {
		t.Errorf("an event whose plan is gone: %v", err)
	}
	if s := f.load(inventory.Needs{Event: true}); s.Event == nil {
		t.Error("it can't be read")
	}
}

// The map is read only where it is needed, and never sent along with an event.
func TestSeated_OnlyDecisionsReadTheMap(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newSeated(t, w)
	var maps []string
	process := watched(t, w, &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
		if strings.Contains(e.Reply.String(), `"map":`) {
			maps = append(maps, e.CommandName)
		}
	}})
	f.store = store.New(process.DB, func(context.Context, holdfast.ID) (*seating.Hall, error) { return f.hall, nil })
	s := f.load(needsSeats)
	if !slices.Equal(maps, []string{"aggregate"}) {
		t.Errorf("the map was read by %v", maps)
	}
	maps = nil
	lock := f.lockOf("a-1-1")
	f.mustApply(f.take(s, lock))
	for name, read := range map[string]func() error{
		"Load": func() error {
			_, err := f.store.Load(f.Ctx(), f.event, inventory.Needs{Event: true, Taken: true, Due: 1})
			return err
		},
		"Load by lock": func() error {
			_, err := f.store.Load(f.Ctx(), holdfast.ID{}, inventory.Needs{Locks: list(lock.ID), LiveOf: list(lock.ID)})
			return err
		},
		"Load in a transaction": func() error {
			return mongodb.Do(f.Ctx(), process.DB, func(ctx context.Context) error {
				_, err := f.store.Load(ctx, f.event, inventory.Needs{Event: true, Due: 1})
				return err
			})
		},
		"Event":   func() error { _, err := f.store.Event(f.Ctx(), f.event); return err },
		"EventAt": func() error { _, _, err := f.store.EventAt(f.Ctx(), f.event); return err },
		"Events": func() error {
			_, _, err := f.store.Events(f.Ctx(), holdfast.EventFilter{}, holdfast.Page{})
			return err
		},
		"EventSummaries": func() error {
			_, _, err := f.store.EventSummaries(f.Ctx(), store.EventFilter{Name: "x", Status: holdfast.OnSale}, holdfast.ID{}, 10)
			return err
		},
		"Measure":      func() error { _, err := f.store.Measure(f.Ctx(), list(f.event)); return err },
		"MeasureEvent": func() error { _, err := f.store.MeasureEvent(f.Ctx(), f.event, inventory.Needs{}); return err },
		"Audit":        func() error { _, err := f.store.Audit(f.Ctx(), store.PageOf(f.event)); return err },
		"OverEvents": func() error {
			_, err := f.store.OverEvents(f.Ctx(), time.Second, holdfast.ID{}, 10)
			return err
		},
		"a drift": func() error {
			write := inventory.EventWrite{Drift: &inventory.Drift{Amount: 0}, RunID: "run"}
			if err := f.apply(inventory.Plan{Event: &write}); err != nil {
				return err
			}
			_, err := f.store.AppliedDrifts(f.Ctx(), map[holdfast.ID]inventory.EventWrite{f.event: write}, "run")
			return err
		},
	} {
		f.Set("events", f.event, bson.D{field("eventDate", time.Now().Add(-time.Hour))})
		if err := read(); err != nil || len(maps) > 0 {
			t.Errorf("%s: %v; the map was read by %v", name, err, maps)
		}
		maps = nil
	}
}

// A caller that remembers the event gets its own occupancy back, and no map is sent, unless the event has changed.
func TestSeated_TheRememberedMapServesWhileTheEventIsTheSame(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newSeated(t, w)
	sent := 0
	process := watched(t, w, &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
		if strings.Contains(e.Reply.String(), `"map":`) {
			sent++
		}
	}})
	f.store = store.New(process.DB, func(context.Context, holdfast.ID) (*seating.Hall, error) { return f.hall, nil })
	s := f.load(needsSeats)
	known := store.Known{Event: s.Event, Seats: s.Seats}
	load := func(ctx context.Context) error {
		sent = 0
		again, err := f.store.LoadKnowing(ctx, f.event, needsSeats, known)
		if err != nil || again.Seats != known.Seats || sent > 0 {
			t.Errorf("%v; the same occupancy: %t; the map was sent %d times", err, again.Seats == known.Seats, sent)
		}
		return nil
	}
	_ = load(f.Ctx())
	held := mongodb.Do(f.Ctx(), process.DB, func(ctx context.Context) error {
		if err := f.store.Hold(ctx, f.event); err != nil {
			return err
		}
		return load(ctx)
	})
	if held != nil {
		t.Error(held)
	}
	f.mustApply(f.take(f.load(needsSeats), f.lockOf("a-1-2")))
	sent = 0
	again, err := f.store.LoadKnowing(f.Ctx(), f.event, needsSeats, known)
	if err != nil || again.Seats == known.Seats || sent != 1 {
		t.Fatalf("after a change: %v; the same occupancy: %t; the map was sent %d times", err, again.Seats == known.Seats, sent)
	}
	if got, _ := f.taken(again.Seats); !slices.Equal(got, []string{"a-1-2"}) {
		t.Errorf("taken are %v", got)
	}
}

func TestSeated_ADamagedMapIsNotUsed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, damage := range map[string]bson.E{
		"no internal":          field("internal", bson.D{}),
		"no map":               field("internal.map", nil),
		"a list":               field("internal.map", bson.A{1, 2}),
		"a section is a text":  field("internal.map.0", "x"),
		"a section is missing": field("internal.map", bson.D{field("1", 0)}),
		"too short":            field("internal.map.0", bson.Binary{Data: []byte{0}}),
		"a bit too many":       field("internal.map.0", bson.Binary{Data: []byte{0, 1}}),
		"a fraction":           field("internal.map.1", 1.5),
		"a negative number":    field("internal.map.1", -1),
		"the zero value":       field("internal.map.1", nil),
	} {
		f := newSeated(t, w)
		f.Set("events", f.event, bson.D{damage})
		if s, err := f.store.Load(f.Ctx(), f.event, needsSeats); !errors.Is(err, store.ErrUnusable) {
			t.Errorf("%s: got %+v, %v", name, s.Seats, err)
		}
		if s := f.load(inventory.Needs{Event: true}); s.Event == nil {
			t.Errorf("%s: the event can't be read", name)
		}
	}
}

// heldSeats are raw locks: due ones, and others that hold no seat which may be ended.
type heldSeats struct {
	due, block holdfast.ID
	past       time.Time
}

func (f seated) insertHeld() (held heldSeats) {
	past, ahead := time.Now().UTC().Truncate(time.Millisecond).Add(-time.Hour), time.Now().Add(time.Hour)
	held.past = past
	lock := func(status string, expiresAt any, seatIDs any, more ...bson.E) holdfast.ID {
		id := mongodb.NewID()
		f.Insert("seatlocks", append(bson.D{
			field("_id", id), field("eventId", f.event), field("seats", len(seatIDs.(bson.A))), field("status", status),
			field("expiresAt", expiresAt),
			field("seatIds", seatIDs), field("internal", bson.D{field("rev", 5)}),
		}, more...))
		return id
	}
	held.due = lock("ACTIVE", past, bson.A{"a-1-1", "a-1-2"})
	lock("ACTIVE", ahead, bson.A{"a-2-2"})
	lock("EXPIRED", past, bson.A{"a-2-3"})
	lock("ACTIVE", past, bson.A{"a-2-9", "a-2-9"})
	f.DropSeatIndex()
	lock("ACTIVE", past, bson.A{"a-2-5"})
	lock("ACTIVE", past, bson.A{"a-2-5"})
	held.block = lock("BLOCKED", past, bson.A{"a-2-7", "a-2-8"})
	lock("RELEASED", past, bson.A{"a-2-10"})
	return held
}

// inTransaction loads in a transaction.
func (f seated) inTransaction(n inventory.Needs) (s inventory.State) {
	f.t.Helper()
	err := mongodb.Do(f.Ctx(), f.DB, func(ctx context.Context) (err error) {
		s, err = f.store.Load(ctx, f.event, n)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func TestSeated_LoadFindsHoldersAndBlocks(t *testing.T) {
	t.Parallel()
	f := newSeated(t, testenv.New(t))
	held := f.insertHeld()
	needs := inventory.Needs{
		Holders: []string{"a-1-1", "a-1-2", "a-2-2", "a-2-3", "a-2-5", "a-2-9", "a-2-10"},
		Blocks:  []string{"a-1-1", "a-2-7", "a-2-10"},
	}
	want := inventory.Lock{Revision: 5, Lock: holdfast.Lock{
		ID: held.due, EventID: f.event, Seats: 2, Status: holdfast.LockActive, ExpiresAt: held.past, CreatedAt: held.due.CreatedAt(),
		SeatIDs: []string{"a-1-1", "a-1-2"},
	}}
	for name, load := range map[string]func(n inventory.Needs) inventory.State{
		"outside of a transaction": f.load, "in a transaction": f.inTransaction,
	} {
		t.Run(name, func(t *testing.T) {
			s := load(needs)
			if len(s.Holders) != len(needs.Holders) || len(s.Blocks) != len(needs.Blocks) {
				t.Errorf("got %+v and %+v", s.Holders, s.Blocks)
			}
			if h := s.Holders["a-1-1"]; h == nil || !reflect.DeepEqual(*h, want) || s.Holders["a-1-2"] != h {
				t.Errorf("the due lock is %+v", h)
			}
			if s.Holders["a-2-9"] == nil {
				t.Error("a lock that names a seat twice is not a holder")
			}
			for _, id := range []string{"a-2-2", "a-2-3", "a-2-5", "a-2-10"} {
				if h := s.Holders[id]; h != nil {
					t.Errorf("%s has the holder %+v", id, h)
				}
			}
			if b := s.Blocks["a-2-7"]; b == nil || b.ID != held.block || b.Revision != 5 || b.Status != holdfast.LockBlocked {
				t.Errorf("the block is %+v", b)
			}
			if s.Blocks["a-1-1"] != nil || s.Blocks["a-2-10"] != nil {
				t.Errorf("got %+v", s.Blocks)
			}
			s = load(inventory.Needs{Due: 10, Holders: []string{"a-1-1"}})
			if s.Due == nil || len(*s.Due) != 4 || s.Holders["a-1-1"] == nil {
				t.Errorf("with all due locks: %+v, %+v", s.Due, s.Holders)
			}
			for _, d := range *s.Due {
				if d.ID == held.due && !reflect.DeepEqual(d, want) {
					t.Errorf("a due lock is %+v", d)
				}
			}
		})
	}
}
