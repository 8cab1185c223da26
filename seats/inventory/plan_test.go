package inventory_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestPlan_IsEmptyWhereItWritesNothing(t *testing.T) {
	locks, acquired := []inventory.LockWrite{{}}, []holdfast.Lock{{}}
	bookings, made := []inventory.BookingWrite{{}}, []holdfast.Booking{{}}
	for _, row := range []struct {
		name string
		plan inventory.Plan
		want bool
	}{
		{"nothing", inventory.Plan{}, true},
		{"a bound on the clock", inventory.Plan{NotBefore: begin}, true},
		{"the event", inventory.Plan{Event: &inventory.EventWrite{}}, false},
		{"a lock", inventory.Plan{Locks: locks}, false},
		{"a new lock", inventory.Plan{Acquired: acquired}, false},
		{"a booking", inventory.Plan{Bookings: bookings}, false},
		{"a new booking", inventory.Plan{NewBookings: made}, false},
		{"a lock and a new lock", inventory.Plan{Locks: locks, Acquired: acquired}, false},
		{"a lock and a booking", inventory.Plan{Locks: locks, Bookings: bookings}, false},
		{"a lock and a new booking", inventory.Plan{Locks: locks, NewBookings: made}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.plan.IsEmpty(); got != row.want {
				t.Errorf("empty: %v, want %v", got, row.want)
			}
		})
	}
}

// The event's guard is as weak as the decision allows: enough seats if the batch only
// acquires locks, otherwise an unchanged event.
func TestPlan_GuardsTheEvent(t *testing.T) {
	soon, past := in(time.Minute), in(-time.Minute)
	two := []inventory.Command{acquire(7, 2)} // two seats
	for _, row := range []struct {
		name        string
		change      func(*pipeline)
		batch       []inventory.Command
		ifUnchanged bool
		atLeast     int64
	}{
		{name: "seats", batch: []inventory.Command{acquire(7, 2), keyed(8, 1, "k")}, atLeast: 3},
		{
			name: "a repeat and seats", change: func(p *pipeline) { p.store.withLock(9, 1, "ACTIVE", soon, keyedBy(keyed(9, 1, "k"))) },
			batch: []inventory.Command{keyed(7, 1, "k"), acquire(8, 2)}, atLeast: 2,
		},
		{name: "a refusal and seats", batch: []inventory.Command{acquire(7, 99), acquire(8, 2)}, ifUnchanged: true},
		{
			name: "a release", change: func(p *pipeline) { p.store.withLock(1, 1, "ACTIVE", soon) },
			batch: []inventory.Command{release}, ifUnchanged: true,
		},
		{
			name: "a release without whole seats", change: func(p *pipeline) { p.store.withLock(1, 0, "ACTIVE", soon) },
			batch: []inventory.Command{release}, ifUnchanged: true,
		},
		{
			name: "a reclaim", change: func(p *pipeline) { p.store.withLock(1, 9, "ACTIVE", past) },
			batch: []inventory.Command{acquire(7, 9)}, ifUnchanged: true,
		},
		{name: "a limit", change: func(p *pipeline) { p.store.event.MaxSeatsPerUser = 5 }, batch: two, ifUnchanged: true},
		{name: "a limit of locks", change: func(p *pipeline) { p.rules.MaxLocksPerUser = 5 }, batch: two, ifUnchanged: true},
		{name: "a limit of one lock's seats", change: func(p *pipeline) { p.rules.MaxSeatsPerLock = 5 }, batch: two, atLeast: 2},
		{name: "an incomparable event", change: func(p *pipeline) { p.store.event.Incomparable = true }, batch: two, ifUnchanged: true},
		{name: "a wrong counter", change: func(p *pipeline) { p.store.event.Oversold = 1 }, batch: two, ifUnchanged: true},
		{name: "a change", batch: []inventory.Command{change(holdfast.EventChange{Name: pointer("B")}), acquire(7, 2)}, ifUnchanged: true},
		{name: "an event that is held", change: func(p *pipeline) { p.hold = true }, batch: two, ifUnchanged: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &pipeline{store: newStore(10), rules: theRules, remember: true}
			if row.change != nil {
				row.change(p)
			}
			p.remembered = copyOf(p.store.event)
			read := *p.store.event
			p.batch(t, row.batch...)
			w := p.plan.Event
			if w == nil || (w.IfUnchanged != nil) != row.ifUnchanged || w.AtLeast != row.atLeast {
				t.Fatalf("the event's write is %+v", w)
			}
			if p.hold {
				read.Revision++
			}
			if row.ifUnchanged && !reflect.DeepEqual(*w.IfUnchanged, read) {
				t.Errorf("it is guarded by %+v, want %+v", *w.IfUnchanged, read)
			}
		})
	}
}

// A batch that moves no seats does not write the event.
func TestPlan_DoesNotWriteTheEventIfNothingMoves(t *testing.T) {
	for name, c := range map[string]inventory.Command{
		"extend": extend, "book": book, "consume": inventory.ConsumeSold{LockID: lockID(1)},
		"refusal": keyed(7, 99, "k"), "release of a released lock": inventory.Release{LockID: lockID(2)}, "repair": inventory.Repair{},
		"sweep of nothing": inventory.ExpireLocks{LockIDs: locksOf(2)},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(10).withLock(1, 1, "ACTIVE", in(time.Minute)).withLock(2, 1, "RELEASED", in(time.Minute))
			p := &pipeline{store: s, rules: theRules}
			p.batch(t, c)
			if p.plan.Event != nil {
				t.Errorf("the event's write is %+v", p.plan.Event)
			}
		})
	}
}

func TestComplete_FillsInTheClockAndTheEvent(t *testing.T) {
	at := in(time.Second)
	plan := inventory.Plan{
		Event:    &inventory.EventWrite{},
		Acquired: []holdfast.Lock{{ID: lockID(1)}, {ID: lockID(2), ExpiresAt: in(time.Hour)}},
		TTL:      []time.Duration{time.Minute, 0},
	}
	results := []inventory.Result{{Event: &holdfast.Event{ID: eventID}}, {}}
	after := holdfast.Event{ID: eventID, AvailableSeats: 4}
	inventory.Complete(plan, results, at, after)
	want := []holdfast.Lock{
		{ID: lockID(1), ExpiresAt: at.Add(time.Minute), CreatedAt: at},
		{ID: lockID(2), ExpiresAt: in(time.Hour), CreatedAt: at},
	}
	if !reflect.DeepEqual(plan.Acquired, want) {
		t.Errorf("got %+v, want %+v", plan.Acquired, want)
	}
	if !reflect.DeepEqual(*results[0].Event, after) || results[1].Event != nil {
		t.Errorf("got %+v", results)
	}
}

// needs has one entry for each kind of need.
var needs = []inventory.Needs{
	{Event: true}, {Fence: true}, {Taken: true}, {Due: 3}, {Locks: locksOf(1)}, {LiveOf: locksOf(2)}, {Bookings: []ID{bookingID(1)}},
	{Holdings: []ID{alice}}, {Keys: []inventory.UserKey{{User: alice, Key: "k"}}}, {DueAmong: locksOf(3)}, {Sold: locksOf(5)},
	{Payments: locksOf(6)}, {Charged: []inventory.PaymentKey{{Reference: "r"}}}, {Unrecorded: []string{"r"}}, {Recorded: []string{"s"}},
}

func TestNeeds_NoneWhereNothingIsNeeded(t *testing.T) {
	if !(inventory.Needs{}).None() {
		t.Error("the zero value needs something")
	}
	for _, a := range needs {
		for _, b := range needs {
			if both := a.And(b); both.None() || a.None() {
				t.Errorf("%+v and %+v: none is needed", a, b)
			}
		}
	}
}

func TestNeeds_AndJoinsWithoutRepeating(t *testing.T) {
	all := inventory.Needs{}
	for range 2 {
		for _, n := range needs {
			all = all.And(n)
		}
	}
	all = all.And(inventory.Needs{Due: 2, Locks: locksOf(4, 1, 4), Events: []ID{eventID, eventID}, Everywhere: true})
	want := inventory.Needs{
		Event: true, Fence: true, Taken: true, Due: 3, Locks: locksOf(1, 4), LiveOf: locksOf(2), Bookings: []ID{bookingID(1)},
		Holdings: []ID{alice}, Keys: []inventory.UserKey{{User: alice, Key: "k"}}, DueAmong: locksOf(3), Sold: locksOf(5),
		Events: []ID{eventID}, Everywhere: true,
		Payments: locksOf(6), Charged: []inventory.PaymentKey{{Reference: "r"}}, Unrecorded: []string{"r"}, Recorded: []string{"s"},
	}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("got %+v, want %+v", all, want)
	}
}

// What proves a refusal is what it asked for: a read of keys finds other pairs of their users and keys too.
func TestPlan_IsProvenByWhatItAsksFor(t *testing.T) {
	asked, other := inventory.UserKey{User: alice, Key: "1"}, inventory.UserKey{User: alice, Key: "2"}
	lock, event := &inventory.Lock{}, &inventory.Event{Revision: 7}
	for _, row := range []struct {
		name  string
		state inventory.State
		want  bool
	}{
		{"nothing is found", inventory.State{Event: event}, true},
		{"another key is in use", inventory.State{Event: event, Keys: map[inventory.UserKey]*inventory.Lock{other: lock}}, true},
		{"the key is in use", inventory.State{Event: event, Keys: map[inventory.UserKey]*inventory.Lock{asked: lock}}, false},
		{"the seat has a due lock", inventory.State{Event: event, Holders: map[string]*inventory.DueLock{"A1": {}}}, false},
		{"the event has changed", inventory.State{Event: &inventory.Event{Revision: 8}}, false},
		{"the event has another orphan rule", inventory.State{Event: &inventory.Event{
			Event: holdfast.Event{Seating: holdfast.Seating{OrphanRule: holdfast.OrphansRefused}}, Revision: 7,
		}}, false},
		{"the event is gone", inventory.State{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := inventory.Plan{
				Event:      &inventory.EventWrite{IfUnchanged: &inventory.Event{Revision: 7}},
				Unproven:   inventory.Needs{Keys: []inventory.UserKey{asked}, Holders: []string{"A1"}},
				UnprovenAt: 7,
			}
			if got := p.IsProven(row.state); got != row.want {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}
