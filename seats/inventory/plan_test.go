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
	{Event: true}, {Hold: true}, {Taken: true}, {Due: 3}, {Locks: locksOf(1)}, {LiveOf: locksOf(2)}, {Bookings: []ID{bookingID(1)}},
	{Holdings: []ID{alice}}, {Keys: []inventory.UserKey{{User: alice, Key: "k"}}}, {DueAmong: locksOf(3)}, {DueOf: []ID{alice}},
	{Payments: locksOf(6)}, {Charged: []inventory.PaymentKey{{Reference: "r"}}},
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
	all = all.And(inventory.Needs{Due: 2, Locks: locksOf(4, 1, 4), Events: []ID{eventID, eventID}})
	want := inventory.Needs{
		Event: true, Hold: true, Taken: true, Due: 3, Locks: locksOf(1, 4), LiveOf: locksOf(2), Bookings: []ID{bookingID(1)},
		Holdings: []ID{alice}, Keys: []inventory.UserKey{{User: alice, Key: "k"}}, DueAmong: locksOf(3), DueOf: []ID{alice},
		Events:   []ID{eventID},
		Payments: locksOf(6), Charged: []inventory.PaymentKey{{Reference: "r"}},
	}
	if !reflect.DeepEqual(all, want) {
		t.Errorf("got %+v, want %+v", all, want)
	}
}
