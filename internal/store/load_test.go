package store_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func (f fixture) load(n inventory.Needs) inventory.State {
	f.t.Helper()
	state, err := f.Store.Load(f.Ctx(), f.event, n)
	if err != nil {
		f.t.Fatal(err)
	}
	return state
}

func list(of ...holdfast.ID) []holdfast.ID { return of }

// loadCase checks the state that a need loads.
type loadCase struct {
	name  string
	check func(t *testing.T, f fixture, user holdfast.ID)
}

func checkLoads(t *testing.T, w *env, cases []loadCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, w, nil)
			c.check(t, f, f.read.Locks[f.lock].UserID)
		})
	}
}

func TestLoad_ReadsTheEventItsLocksAndBookings(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	checkLoads(t, w, []loadCase{
		{"the event alone", func(t *testing.T, f fixture, _ holdfast.ID) {
			s := f.load(inventory.Needs{Event: true})
			if s.Event == nil || s.Event.ID != f.event || s.Event.AvailableSeats != 8 || s.Missing || s.Held || s.Due != nil ||
				s.Taken != nil || s.Keys != nil {
				t.Errorf("got %+v", s)
			}
			if off := time.Since(s.Now); off < -time.Minute || off > time.Minute {
				t.Errorf("the database's clock is %v", s.Now)
			}
		}},
		{"locks", func(t *testing.T, f fixture, _ holdfast.ID) {
			none := mongodb.NewID()
			s := f.load(inventory.Needs{Locks: list(f.lock, none)})
			lock, absent := s.Locks[f.lock], s.Locks[none]
			if _, read := s.Locks[none]; !read || absent != nil || lock == nil || lock.Seats != 2 || lock.Revision != 3 ||
				lock.BookingID != f.booking {
				t.Errorf("got %+v and %+v", lock, absent)
			}
		}},
		{"bookings", func(t *testing.T, f fixture, _ holdfast.ID) {
			none := mongodb.NewID()
			s := f.load(inventory.Needs{Bookings: list(f.booking, none)})
			b, absent := s.Bookings[f.booking], s.Bookings[none]
			if _, read := s.Bookings[none]; !read || absent != nil || b == nil || b.LockID != f.lock || b.Status != holdfast.BookingPending {
				t.Errorf("got %+v and %+v", b, absent)
			}
		}},
		{"live bookings of locks", func(t *testing.T, f fixture, _ holdfast.ID) {
			ended, none := mongodb.NewID(), mongodb.NewID()
			w.Insert("bookings", bson.D{field("_id", ended), field("seatLockId", f.lock), field("status", "CANCELLED")})
			s := f.load(inventory.Needs{LiveOf: list(f.lock, none)})
			if live := s.LiveOf[f.lock]; len(live) != 1 || live[0] != f.booking || s.Bookings[f.booking] == nil || s.Bookings[ended] != nil {
				t.Errorf("got %v of %+v", live, s.Bookings)
			}
			if live, read := s.LiveOf[none]; !read || len(live) != 0 {
				t.Errorf("a lock without bookings: %v, %v", live, read)
			}
		}},
	})
}

func TestLoad_ReadsKeysAndWhatUsersHold(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	past, ahead := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	checkLoads(t, w, []loadCase{
		{"keys", func(t *testing.T, f fixture, user holdfast.ID) {
			unknownUser := mongodb.NewID()
			used, unused, foreign := inventory.UserKey{User: user, Key: "used"}, inventory.UserKey{User: user, Key: "unused"},
				inventory.UserKey{User: unknownUser, Key: "used"}
			s := f.load(inventory.Needs{Keys: []inventory.UserKey{used, unused, foreign}})
			if len(s.Keys) != 3 || s.Keys[used] == nil || s.Keys[used].ID != f.lock || s.Keys[unused] != nil || s.Keys[foreign] != nil {
				t.Errorf("got %+v", s.Keys)
			}
			if s := f.load(inventory.Needs{Keys: []inventory.UserKey{unused}}); len(s.Keys) != 1 || s.Keys[unused] != nil {
				t.Errorf("an unused key: %+v", s.Keys)
			}
		}},
		{"what users hold", func(t *testing.T, f fixture, user holdfast.ID) {
			none := mongodb.NewID()
			for _, l := range []struct {
				status string
				seats  any
				at     time.Time
			}{
				{"CONSUMED", 3, past}, {"ACTIVE", 100, past}, {"RELEASED", 100, ahead}, {"ACTIVE", 5.0, ahead},
			} {
				w.Insert("seatlocks", bson.D{field("eventId", f.event), field("userId", user), field("seats", l.seats),
					field("status", l.status), field("expiresAt", l.at)})
			}
			s := f.load(inventory.Needs{Holdings: list(user, none)})
			want := map[holdfast.ID]inventory.Holding{user: {Seats: 10, Locks: 2, Due: 1}, none: {}}
			if !reflect.DeepEqual(s.Holdings, want) {
				t.Errorf("got %+v, want %+v", s.Holdings, want)
			}
		}},
	})
}

func TestLoad_ReadsDueLocksAndSeatsTaken(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	past := time.Now().UTC().Truncate(time.Millisecond).Add(-time.Hour)
	checkLoads(t, w, []loadCase{
		{"due locks", func(t *testing.T, f fixture, _ holdfast.ID) {
			first, second, released := mongodb.NewID(), mongodb.NewID(), mongodb.NewID()
			for i, l := range []struct {
				id    holdfast.ID
				seats any
			}{{second, 4.0}, {first, 3}} {
				w.Insert("seatlocks", bson.D{field("_id", l.id), field("eventId", f.event), field("seats", l.seats), field("status", "ACTIVE"),
					field("expiresAt", past.Add(-time.Duration(i)*time.Hour))})
			}
			w.Insert("seatlocks", bson.D{field("_id", released), field("eventId", f.event), field("seats", 5), field("status", "RELEASED"),
				field("expiresAt", past.Add(-24*time.Hour))})
			due := func(id holdfast.ID, seats, hours int) inventory.Lock {
				return inventory.Lock{Lock: holdfast.Lock{
					ID: id, EventID: f.event, Seats: int64(seats), Status: holdfast.LockActive,
					ExpiresAt: past.Add(-time.Duration(hours) * time.Hour), CreatedAt: id.CreatedAt(),
				}}
			}
			all := []inventory.Lock{due(first, 3, 1), due(second, 4, 0)}
			for name, n := range map[string]struct {
				needs inventory.Needs
				want  []inventory.Lock
			}{
				"all, soonest expiry first": {inventory.Needs{Due: 10}, all},
				"the first":                 {inventory.Needs{Due: 1}, all[:1]},
				"among some":                {inventory.Needs{DueAmong: list(f.lock, second, released)}, all[1:]},
				"among some that are not":   {inventory.Needs{DueAmong: list(f.lock)}, []inventory.Lock{}},
			} {
				t.Run(name, func(t *testing.T) {
					if s := f.load(n.needs); s.Due == nil || !reflect.DeepEqual(*s.Due, n.want) {
						t.Errorf("got %+v, want %+v", s.Due, n.want)
					}
				})
			}
		}},
		{"seats taken", func(t *testing.T, f fixture, _ holdfast.ID) {
			for status, seats := range map[string]any{"ACTIVE": 4.0, "CONSUMED": int64(5), "EXPIRED": 100, "RELEASED": 100} {
				w.Insert("seatlocks", bson.D{field("eventId", f.event), field("seats", seats), field("status", status), field("expiresAt", past)})
			}
			if s := f.load(inventory.Needs{Taken: true}); s.Taken == nil || *s.Taken != 11 {
				t.Errorf("got %v, want 11", s.Taken)
			}
		}},
		{"seats taken of an event without locks", func(t *testing.T, f fixture, _ holdfast.ID) {
			f.remove("seatlocks", f.lock)
			if s := f.load(inventory.Needs{Taken: true}); s.Taken == nil || *s.Taken != 0 {
				t.Errorf("got %v, want 0", s.Taken)
			}
		}},
	})
}

func TestLoad_OfAnEventThatDoesNotExist(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	f.remove("events", f.event)
	s := f.load(inventory.Needs{Locks: list(f.lock), Due: 5, Taken: true, Keys: []inventory.UserKey{{User: mongodb.NewID(), Key: "k"}}})
	if !s.Missing || s.Event != nil || s.Locks[f.lock] == nil || s.Due == nil || *s.Taken != 2 || s.Keys == nil ||
		time.Since(s.Now) > time.Minute {
		t.Errorf("with its locks: %+v", s)
	}
	f.remove("seatlocks", f.lock)
	if s := f.load(inventory.Needs{Locks: list(f.lock)}); !s.Missing || s.Locks[f.lock] != nil || s.Now.IsZero() {
		t.Errorf("without locks: %+v", s)
	}
}

func TestLoad_FindsTheEventByItsLockOrBooking(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	load := func(n inventory.Needs) inventory.State {
		t.Helper()
		s, err := w.Store.Load(w.Ctx(), holdfast.ID{}, n)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f, other := newFixture(t, w, nil), newFixture(t, w, nil)
	s := load(inventory.Needs{Locks: list(f.lock), LiveOf: list(f.lock)})
	if s.Event == nil || s.Event.ID != f.event || s.Locks[f.lock] == nil || len(s.LiveOf[f.lock]) != 1 || s.Now.IsZero() {
		t.Errorf("by a lock: %+v", s)
	}
	s = load(inventory.Needs{Bookings: list(f.booking), Locks: list(f.lock)})
	if s.Event == nil || s.Event.ID != f.event || s.Locks[f.lock] == nil || s.Bookings[f.booking] == nil || s.Now.IsZero() {
		t.Errorf("by a booking: %+v", s)
	}
	s = load(inventory.Needs{Bookings: list(f.booking, other.booking), Locks: list(f.lock, other.lock)})
	if s.Event != nil || !s.Missing || s.Locks[f.lock] == nil || s.Bookings[other.booking] == nil ||
		s.Now.Before(time.Now().Add(-time.Minute)) {
		t.Errorf("by several bookings: %+v", s)
	}
	f.remove("events", f.event)
	s = load(inventory.Needs{Bookings: list(f.booking)})
	if !s.Missing || s.Event != nil || s.Locks[f.lock] == nil || s.Now.Before(time.Now().Add(-time.Minute)) {
		t.Errorf("without the event: %+v", s)
	}
	f.remove("seatlocks", f.lock)
	s = load(inventory.Needs{Bookings: list(f.booking)})
	if lock, read := s.Locks[f.lock]; !read || lock != nil || s.Bookings[f.booking] == nil {
		t.Errorf("without the lock: %+v", s)
	}
	for name, n := range map[string]inventory.Needs{
		"no such lock": {Locks: list(mongodb.NewID())}, "no such booking": {Bookings: list(mongodb.NewID())},
	} {
		t.Run(name, func(t *testing.T) {
			if s := load(n); !s.Missing || s.Event != nil || s.Now.IsZero() {
				t.Errorf("got %+v", s)
			}
		})
	}
}

func TestLoad_WithinATransactionSeesItsWrites(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	err := mongodb.Do(f.Ctx(), f.DB, func(ctx context.Context) error {
		if err := f.Store.Hold(ctx, f.event); err != nil {
			return err
		}
		s, err := f.Store.Load(ctx, f.event, inventory.Needs{Locks: list(f.lock), LiveOf: list(f.lock), Due: 1, Taken: true})
		if err != nil {
			return err
		}
		if s.Event.Revision != 0 || s.Held || s.Locks[f.lock] == nil || len(s.LiveOf[f.lock]) != 1 || s.Due == nil || *s.Taken != 2 ||
			s.Now.IsZero() {
			t.Errorf("got %+v", s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if doc := f.document("events", f.event); wholeOf(doc["internal.fence"]) != 1 || wholeOf(doc["internal.rev"]) != 0 {
		t.Errorf("the event is %v; holding it raises the fence alone", doc)
	}
}
