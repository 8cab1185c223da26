package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A plan for an event that is not known to be seated never matches a seated one, and one for a plan that the
// event no longer has does not either.
func TestSeated_GuardsOfUnseatedPlansNeverMatch(t *testing.T) {
	t.Parallel()
	f := newSeated(t, testenv.New(t))
	s := f.load(inventory.Needs{Event: true})
	unseated, moved := *s.Event, *s.Event
	unseated.Seating, moved.Seating.PlanID = holdfast.Seating{}, mongodb.NewID()
	for name, w := range map[string]inventory.EventWrite{
		"by the number of seats":        {AtLeast: 1, Available: -1},
		"of an unseated event":          {IfUnchanged: &unseated, Available: -1},
		"of an event with another plan": {IfUnchanged: &moved, Available: -1},
	} {
		if err := f.apply(inventory.Plan{Event: &w}); !errors.Is(err, store.ErrStale) {
			t.Errorf("%s: got %v, want ErrStale", name, err)
		}
		if err := f.applyBeside(inventory.Plan{Event: &w}); !errors.Is(err, store.ErrStale) {
			t.Errorf("%s, with another event: got %v, want ErrStale", name, err)
		}
	}
	f.mustApply(inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: s.Event, Available: -1}})
	plain := newFixture(t, f.env, nil)
	if _, err := plain.apply(inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: &moved}}); !errors.Is(err, store.ErrStale) {
		t.Errorf("an unseated event, with the plan of a seated one: %v", err)
	}
}

// A rule that was changed by hand, with no change of the revision, counts from the next transaction on.
func TestSeated_GuardsCompareTheRules(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for field, rule := range map[string]struct {
		set    string
		others []any
	}{
		"orphanRule":       {"REFUSE", []any{"ALLOW", ""}},
		"accessiblePolicy": {"OPEN", []any{"RESERVED", ""}},
	} {
		for _, other := range rule.others {
			wantStaleAfter(t, w, field, rule.set, other)
			wantStaleAfter(t, w, field, other, rule.set)
		}
	}
	for name, change := range map[string]holdfast.EventChange{
		"orphan rule":       {OrphanRule: new(holdfast.OrphansAllowed)},
		"accessible policy": {AccessiblePolicy: new(holdfast.AccessibleOpen)},
	} {
		f := newSeated(t, w)
		read := f.load(inventory.Needs{Event: true}).Event
		if err := f.applyBeside(inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: read, Fields: change}}); err != nil {
			t.Errorf("an event that gets another %s, together with another event: %v", name, err)
		}
	}
}

// wantStaleAfter checks that a plan is applied to an event as it was read, and is stale after one of its fields has
// changed. It does both for the event alone and together with another event.
func wantStaleAfter(t *testing.T, w *env, name string, before, after any) {
	t.Helper()
	for where, apply := range map[string]func(seated, inventory.Plan) error{
		"alone": seated.apply, "with another event": seated.applyBeside,
	} {
		f := newSeated(t, w)
		f.setEvent(name, before)
		read := f.load(inventory.Needs{Event: true}).Event
		if err := apply(f, inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: read, Available: -1}}); err != nil {
			t.Errorf("%s is %v, %s: %v", name, before, where, err)
		}
		read = f.load(inventory.Needs{Event: true}).Event
		f.setEvent(name, after)
		if err := apply(f, inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: read, Available: -1}}); !errors.Is(err, store.ErrStale) {
			t.Errorf("%s was %v, and is %v, %s: got %v, want ErrStale", name, before, after, where, err)
		}
	}
}

// applyBeside applies a plan together with one of an event without a seating plan.
func (f seated) applyBeside(plan inventory.Plan) error {
	other := newFixture(f.t, f.env, nil)
	_, err := f.store.Apply(f.Ctx(), mongodb.TxOptions{}, []store.EventPlan{
		{EventID: other.event, Plan: inventory.Plan{Event: &inventory.EventWrite{AtLeast: 1, Available: -1}}}, {EventID: f.event, Plan: plan},
	}, func() error { return nil })
	return err
}

// setEvent changes a field of the event by hand; nil removes it.
func (f seated) setEvent(name string, value any) {
	f.t.Helper()
	update := bson.M{"$set": bson.M{name: value}}
	if value == nil {
		update = bson.M{"$unset": bson.M{name: ""}}
	}
	if _, err := f.DB.Collection("events").UpdateByID(f.Ctx(), f.event, update); err != nil {
		f.t.Fatal(err)
	}
}

func TestSeated_ApplyWritesLocksBlocksAndMaps(t *testing.T) {
	t.Parallel()
	f := newSeated(t, testenv.New(t))
	block := f.blockOf("a-2-1", "a-2-2", "a-2-3")
	lock := f.lockOf("a-1-1", "a-1-2")
	f.mustApply(f.take(f.load(needsSeats), block, lock))
	f.wantTaken(0, "a-1-1", "a-1-2", "a-2-1", "a-2-2", "a-2-3")
	doc := f.document("seatlocks", block.ID)
	for _, name := range []string{"userId", "expiresAt", "requestHash", "idempotencyKey", "section"} {
		if v, has := doc[name]; has {
			t.Errorf("the block has %s %v", name, v)
		}
	}
	if doc["status"] != "BLOCKED" || wholeOf(doc["seats"]) != 3 || len(doc["seatIds"].(bson.A)) != 3 || wholeOf(doc["internal.rev"]) != 0 {
		t.Errorf("the block is %v", doc)
	}
	event := f.document("events", f.event)
	if wholeOf(event["blockedSeats"]) != 3 || wholeOf(event["availableSeats"]) != 27 {
		t.Errorf("the event is %v", event)
	}
	if l, err := f.store.Lock(f.Ctx(), lock.ID); err != nil || !slices.Equal(l.SeatIDs, lock.SeatIDs) || l.Section != "" {
		t.Errorf("got %+v, %v", l, err)
	}
	if states, err := f.store.Measure(f.Ctx(), list(f.event)); err != nil || *states[0].Taken != 5 {
		t.Errorf("blocked seats are not taken: %+v, %v", states, err)
	}
	if s := f.load(inventory.Needs{Taken: true}); *s.Taken != 5 {
		t.Errorf("%d seats are taken, want 5", *s.Taken)
	}
}

// free is a plan that writes locks and frees seats.
func (f seated) free(s inventory.State, writes []inventory.LockWrite, blocked int64, seatIDs ...string) inventory.Plan {
	f.t.Helper()
	mark := s.Seats.Mark()
	for _, id := range seatIDs {
		p, _ := f.hall.Find(id)
		if !s.Seats.Free(p) {
			f.t.Fatal("the seat is free: " + id)
		}
	}
	n := int64(len(seatIDs))
	return inventory.Plan{Locks: writes, Event: &inventory.EventWrite{
		IfUnchanged: s.Event, Available: n, Blocked: new(s.Event.Seating.BlockedSeats - blocked), Maps: f.maps(s.Seats, mark),
	}}
}

// A block is the venue's own: no list has it and no ID finds it, neither while it lasts nor when it was lifted.
func TestSeated_BlocksAreNoLocksOfCustomers(t *testing.T) {
	t.Parallel()
	f := newSeated(t, testenv.New(t))
	block := f.blockOf("a-1-1", "a-1-2")
	lock, released := f.lockOf("a-2-1"), f.lockOf("a-2-2")
	released.Status = holdfast.LockReleased
	f.mustApply(f.take(f.load(needsSeats), block, lock, released))
	check := func() {
		t.Helper()
		for name, c := range map[string]struct {
			filter holdfast.LockFilter
			want   []holdfast.ID
		}{
			"all":                    {holdfast.LockFilter{}, list(lock.ID, released.ID)},
			"of the event":           {holdfast.LockFilter{EventID: &f.event}, list(lock.ID, released.ID)},
			"released":               {holdfast.LockFilter{Status: holdfast.LockReleased}, list(released.ID)},
			"of the event, released": {holdfast.LockFilter{EventID: &f.event, Status: holdfast.LockReleased}, list(released.ID)},
			"of the user":            {holdfast.LockFilter{UserID: &lock.UserID}, list(lock.ID)},
		} {
			found, _, err := f.store.Locks(f.Ctx(), c.filter, holdfast.Page{})
			var got []holdfast.ID
			for _, l := range found {
				got = append(got, l.ID)
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s: got %v, %v; want %v", name, got, err, c.want)
			}
		}
		if _, err := f.store.Lock(f.Ctx(), block.ID); !holdfast.HasCode(err, holdfast.CodeLockNotFound) {
			t.Errorf("by its ID: %v", err)
		}
		_, err := f.store.LockOf(f.Ctx(), holdfast.Booking{EventID: f.event, LockID: block.ID})
		if !holdfast.HasCode(err, holdfast.CodeLockNotFound) {
			t.Errorf("as the lock of a booking: %v", err)
		}
	}
	check()
	lift := inventory.LockWrite{ID: block.ID, From: holdfast.LockBlocked, To: holdfast.LockBlocked, Guard: inventory.AnyRevision,
		Seats: &inventory.LockSeats{Seats: 1, SeatIDs: []string{"a-1-2"}}}
	f.mustApply(f.free(f.load(needsSeats), []inventory.LockWrite{lift}, 1, "a-1-1"))
	check()
	if doc := f.document("seatlocks", block.ID); wholeOf(doc["seats"]) != 1 || doc["expiresAt"] != nil || doc["internal.block"] != nil {
		t.Errorf("after a part was lifted: %v", doc)
	}
	lift.To, lift.Seats, lift.EndedBy = holdfast.LockReleased, nil, holdfast.EndedByAPI
	f.mustApply(f.free(f.load(needsSeats), []inventory.LockWrite{lift}, 1, "a-1-2"))
	check()
	f.wantTaken(0, "a-2-1", "a-2-2")
	if event := f.document("events", f.event); wholeOf(event["blockedSeats"]) != 0 {
		t.Errorf("the event is %v", event)
	}
	f.wantPurged(block.ID)
}

// wantPurged checks that retention removes a lock.
func (f seated) wantPurged(lockID holdfast.ID) {
	f.t.Helper()
	var old []holdfast.ID
	err := f.store.EachPurgeable(f.Ctx(), time.Now().Add(time.Minute), 10, func(_ context.Context, ids []holdfast.ID) error {
		old = append(old, ids...)
		return nil
	})
	if err != nil || !slices.Contains(old, lockID) {
		f.t.Errorf("a block that was lifted stays for ever: %v, %v", old, err)
	}
}

// Locks exchange seats with each other in one transaction, whatever the order of the plan's writes. The
// unique index of seats allows it.
func TestSeated_LocksExchangeSeats(t *testing.T) {
	t.Parallel()
	f := newSeated(t, testenv.New(t))
	a, b, c := f.lockOf("a-2-1"), f.lockOf("a-2-2"), f.lockOf("a-2-3")
	f.mustApply(f.take(f.load(needsSeats), a, b, c))
	to := func(l holdfast.Lock, section string, seatIDs ...string) inventory.LockWrite {
		return inventory.LockWrite{
			ID: l.ID, EventID: f.event, From: holdfast.LockActive, To: holdfast.LockActive, Guard: inventory.AtRevision,
			Seats: &inventory.LockSeats{Seats: max(1, int64(len(seatIDs))), SeatIDs: seatIDs, Section: section},
		}
	}
	released := inventory.LockWrite{
		ID: c.ID, EventID: f.event, From: holdfast.LockActive, To: holdfast.LockReleased, Guard: inventory.AnyRevision,
	}
	s := f.load(needsSeats)
	plan := f.free(s, []inventory.LockWrite{to(a, "", "a-2-2", "a-2-3"), to(b, "", "a-2-1"), released}, 0)
	f.mustApply(plan)
	f.wantSeats(a.ID, "", "a-2-2", "a-2-3")
	f.wantSeats(b.ID, "", "a-2-1")
	f.wantSeats(c.ID, "", "a-2-3")
	general := to(a, "p.it")
	general.Revision = 1
	s = f.load(needsSeats)
	f.mustApply(f.free(s, []inventory.LockWrite{general}, 0, "a-2-2"))
	f.wantSeats(a.ID, "p.it")
	stale := f.free(f.load(needsSeats), []inventory.LockWrite{to(a, "", "a-1-1"), to(b, "", "a-1-2")}, 0)
	if err := f.apply(stale); !errors.Is(err, store.ErrStale) {
		t.Errorf("with old revisions: %v", err)
	}
	f.wantSeats(b.ID, "", "a-2-1")
}

func (f seated) wantSeats(lockID holdfast.ID, section string, seatIDs ...string) {
	f.t.Helper()
	l, err := f.store.Lock(f.Ctx(), lockID)
	if err != nil || !slices.Equal(l.SeatIDs, seatIDs) || l.Section != section || l.Seats != max(1, int64(len(seatIDs))) {
		f.t.Errorf("got %+v, %v; want %v and %q", l, err, seatIDs, section)
	}
}

// Bookings say where their seats are, without their lock.
func TestSeated_BookingsKeepTheirSeats(t *testing.T) {
	t.Parallel()
	f := newSeated(t, testenv.New(t))
	named := holdfast.Booking{ID: mongodb.NewID(), EventID: f.event, Seats: 2, Status: holdfast.BookingInitiated}
	general := named
	general.ID, named.SeatIDs, general.Section = mongodb.NewID(), []string{"a-1-2", "a-1-1"}, "p.it"
	f.mustApply(inventory.Plan{NewBookings: []holdfast.Booking{named, general}})
	for _, want := range []holdfast.Booking{named, general} {
		got, err := f.store.Booking(f.Ctx(), want.ID)
		if err != nil || !slices.Equal(got.SeatIDs, want.SeatIDs) || got.Section != want.Section {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
	}
}
