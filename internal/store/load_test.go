package store_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
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

func TestLoad_ReadsEachNeed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	past, ahead := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, c := range []struct {
		name  string
		check func(t *testing.T, f fixture, user holdfast.ID)
	}{
		{"the event alone", func(t *testing.T, f fixture, _ holdfast.ID) {
			s := f.load(inventory.Needs{Event: true})
			if s.Event == nil || s.Event.ID != f.event || s.Event.AvailableSeats != 8 || s.Missing || s.Fenced || s.Held || s.Due != nil ||
				s.Taken != nil || s.Keys != nil {
				t.Errorf("got %+v", s)
			}
			if off := time.Since(s.Now); off < -time.Minute || off > time.Minute {
				t.Errorf("the database's clock is %v", s.Now)
			}
		}},
		{"locks", func(t *testing.T, f fixture, _ holdfast.ID) {
			none := ids.New()
			s := f.load(inventory.Needs{Locks: list(f.lock, none)})
			lock, absent := s.Locks[f.lock], s.Locks[none]
			if _, read := s.Locks[none]; !read || absent != nil || lock == nil || lock.Seats != 2 || *lock.Revision != 3 ||
				lock.BookingID != f.booking {
				t.Errorf("got %+v and %+v", lock, absent)
			}
		}},
		{"bookings", func(t *testing.T, f fixture, _ holdfast.ID) {
			none := ids.New()
			s := f.load(inventory.Needs{Bookings: list(f.booking, none)})
			b, absent := s.Bookings[f.booking], s.Bookings[none]
			if _, read := s.Bookings[none]; !read || absent != nil || b == nil || b.LockID != f.lock || b.Status != holdfast.BookingPending {
				t.Errorf("got %+v and %+v", b, absent)
			}
		}},
		{"live bookings of locks", func(t *testing.T, f fixture, _ holdfast.ID) {
			ended, none := ids.New(), ids.New()
			w.Insert("bookings", bson.D{field("_id", ended), field("seatLockId", f.lock), field("status", "CANCELLED")})
			s := f.load(inventory.Needs{LiveOf: list(f.lock, none)})
			if live := s.LiveOf[f.lock]; len(live) != 1 || live[0] != f.booking || s.Bookings[f.booking] == nil || s.Bookings[ended] != nil {
				t.Errorf("got %v of %+v", live, s.Bookings)
			}
			if live, read := s.LiveOf[none]; !read || len(live) != 0 {
				t.Errorf("a lock without bookings: %v, %v", live, read)
			}
		}},
		{"keys", func(t *testing.T, f fixture, user holdfast.ID) {
			stranger := ids.New()
			used, unused, foreign := inventory.UserKey{User: user, Key: "used"}, inventory.UserKey{User: user, Key: "unused"},
				inventory.UserKey{User: stranger, Key: "used"}
			s := f.load(inventory.Needs{Keys: []inventory.UserKey{used, unused, foreign}})
			if len(s.Keys) != 3 || s.Keys[used] == nil || s.Keys[used].ID != f.lock || s.Keys[unused] != nil || s.Keys[foreign] != nil {
				t.Errorf("got %+v", s.Keys)
			}
			if s := f.load(inventory.Needs{Keys: []inventory.UserKey{unused}}); len(s.Keys) != 1 || s.Keys[unused] != nil {
				t.Errorf("an unused key: %+v", s.Keys)
			}
		}},
		{"what users hold", func(t *testing.T, f fixture, user holdfast.ID) {
			none := ids.New()
			for _, l := range []struct {
				status string
				seats  any
				at     time.Time
			}{
				{"CONSUMED", 3, past}, {"ACTIVE", 100, past}, {"RELEASED", 100, ahead}, {"ACTIVE", 5.0, ahead}, {"ACTIVE", "many", ahead},
				{"CONSUMED", -7, ahead},
			} {
				w.Insert("seatlocks", bson.D{field("eventId", f.event), field("userId", user), field("seats", l.seats),
					field("status", l.status), field("expiresAt", l.at)})
			}
			s := f.load(inventory.Needs{Holdings: list(user, none)})
			want := map[holdfast.ID]inventory.Holding{user: {Seats: 10, Locks: 3}, none: {}}
			if !reflect.DeepEqual(s.Holdings, want) {
				t.Errorf("got %+v, want %+v", s.Holdings, want)
			}
		}},
		{"due locks", func(t *testing.T, f fixture, _ holdfast.ID) {
			first, second, poison := ids.New(), ids.New(), ids.New()
			for i, l := range []struct {
				id    holdfast.ID
				seats any
			}{{second, 4.0}, {first, 3}, {poison, 1.5}} {
				w.Insert("seatlocks", bson.D{field("_id", l.id), field("eventId", f.event), field("seats", l.seats), field("status", "ACTIVE"),
					field("expiresAt", past.Add(-time.Duration(i)*time.Hour))})
			}
			all := []inventory.DueLock{{ID: first, Seats: 3}, {ID: second, Seats: 4}}
			for name, n := range map[string]struct {
				needs inventory.Needs
				want  []inventory.DueLock
			}{
				"all, soonest expiry first": {inventory.Needs{Due: 10}, all},
				"the first":                 {inventory.Needs{Due: 1}, all[:1]},
				"among some":                {inventory.Needs{DueAmong: list(f.lock, second, poison)}, all[1:]},
				"among some that are not":   {inventory.Needs{DueAmong: list(f.lock)}, []inventory.DueLock{}},
			} {
				if s := f.load(n.needs); s.Due == nil || !reflect.DeepEqual(*s.Due, n.want) {
					t.Errorf("%s: got %+v, want %+v", name, s.Due, n.want)
				}
			}
		}},
		{"seats taken", func(t *testing.T, f fixture, _ holdfast.ID) {
			for status, seats := range map[string]any{"ACTIVE": 4.0, "CONSUMED": int64(5), "EXPIRED": 100, "RELEASED": 100} {
				w.Insert("seatlocks", bson.D{field("eventId", f.event), field("seats", seats), field("status", status), field("expiresAt", past)})
			}
			w.Insert("seatlocks", bson.D{field("eventId", f.event), field("seats", 2.5), field("status", "ACTIVE"), field("expiresAt", past)})
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
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFixture(t, w, nil)
			c.check(t, f, f.read.Locks[f.lock].UserID)
		})
	}
}

func TestLoad_ReadsDocumentsOfOtherSoftware(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	type known struct {
		Status                   holdfast.EventStatus
		HasTotal, Countable, Odd bool
	}
	usual := known{Status: holdfast.OnSale, HasTotal: true, Countable: true}
	with := func(change func(k *known)) known {
		k := usual
		change(&k)
		return k
	}
	for name, c := range map[string]struct {
		set  bson.E
		want known
	}{
		"no status":                 {field("status", nil), usual},
		"a status of its own":       {field("status", "DRAFT"), with(func(k *known) { k.Status = "DRAFT" })},
		"a status that is no text":  {field("status", 7), with(func(k *known) { k.Status = "?" })},
		"a double total":            {field("totalSeats", 10.0), usual},
		"a total that is no number": {field("totalSeats", "ten"), with(func(k *known) { k.HasTotal, k.Odd = false, true })},
		"a negative total":          {field("totalSeats", -1), with(func(k *known) { k.HasTotal = false })},
		"a fraction available":      {field("availableSeats", 7.5), with(func(k *known) { k.Countable = false })},
		"oversold is no number":     {field("oversold", "x"), with(func(k *known) { k.Countable = false })},
		"oversold is null":          {field("oversold", nil), with(func(k *known) { k.Countable = false })},
		"a limit that is no number": {field("maxSeatsPerUser", "four"), with(func(k *known) { k.Odd = true })},
		"a negative limit":          {field("maxSeatsPerUser", -4), with(func(k *known) { k.Odd = true })},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, w, func(f fixture) { f.setEvent(c.set) })
			e := f.read.Event
			if got := (known{e.Status, e.HasTotal, e.Countable, e.Odd}); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestLoad_OfAnEventThatDoesNotExist(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	f.remove("events", f.event)
	s := f.load(inventory.Needs{Fence: true, Locks: list(f.lock), Due: 5, Taken: true, Keys: []inventory.UserKey{{User: ids.New(), Key: "k"}}})
	if !s.Missing || s.Event != nil || s.Fenced || s.Locks[f.lock] == nil || s.Due == nil || *s.Taken != 2 || s.Keys == nil ||
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
	for name, n := range map[string]inventory.Needs{"lock": {Locks: list(ids.New())}, "booking": {Bookings: list(ids.New())}} {
		if s := load(n); !s.Missing || s.Event != nil || s.Now.IsZero() {
			t.Errorf("no such %s: %+v", name, s)
		}
	}
}

func TestLoad_WithinATransactionSeesItsWrites(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	err := mongodb.Do(f.Ctx(), f.DB, func(ctx context.Context) error {
		if err := f.Store.Hold(ctx, f.event); err != nil {
			return err
		}
		s, err := f.Store.Load(ctx, f.event, inventory.Needs{Fence: true, Locks: list(f.lock), LiveOf: list(f.lock), Due: 1, Taken: true})
		if err != nil {
			return err
		}
		if s.Event.Revision != 1 || s.Fenced || s.Locks[f.lock] == nil || len(s.LiveOf[f.lock]) != 1 || s.Due == nil || *s.Taken != 2 ||
			s.Now.IsZero() {
			t.Errorf("got %+v", s)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if doc := f.document("events", f.event); doc["fence"] != nil || wholeOf(doc["rev"]) != 1 {
		t.Errorf("the event is %v; a transaction needs no fence", doc)
	}
}

func TestLoad_FenceWritesTheEventFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	for i := range int64(3) {
		if s := f.load(inventory.Needs{Fence: true}); !s.Fenced || s.Event.Revision != 0 {
			t.Errorf("got %+v", s)
		}
		if doc := f.document("events", f.event); wholeOf(doc["fence"]) != i+1 {
			t.Errorf("the fence is %v, want %d", doc["fence"], i+1)
		}
	}
}

// A transaction may grant what is about to be refused: the refusal waits for it.
func TestLoad_FenceWaitsForATransactionThatHoldsTheEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	written, finish, committed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		plans := []store.EventPlan{{EventID: f.event, Plan: inventory.Plan{
			Event: &inventory.EventWrite{AtLeast: 8, Available: -8}, Acquired: []holdfast.Lock{f.newLock(8, "")}, TTL: []time.Duration{time.Hour},
		}}}
		_, err := f.Store.Apply(f.Ctx(), plans, func() error { close(written); <-finish; return nil })
		committed <- err
	}()
	<-written
	ctx, cancel := context.WithTimeout(f.Ctx(), 200*time.Millisecond)
	defer cancel()
	if s, err := f.Store.Load(ctx, f.event, inventory.Needs{Fence: true}); err == nil {
		t.Errorf("it did not wait: %+v", s)
	}
	loaded := make(chan inventory.State, 1)
	go func() {
		s, err := f.Store.Load(f.Ctx(), f.event, inventory.Needs{Fence: true, Taken: true})
		if err != nil {
			t.Error(err)
		}
		loaded <- s
	}()
	close(finish)
	if err := <-committed; err != nil {
		t.Fatal(err)
	}
	if s := <-loaded; s.Event == nil || s.Event.AvailableSeats != 0 || *s.Taken != 10 {
		t.Errorf("it missed what was committed: %+v", s)
	}
}

// watched opens the database with a monitor of its commands.
func watched(t *testing.T, w *env, m *event.CommandMonitor) *env {
	t.Helper()
	return testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) { o.Monitor = m })
}

// A primary that was elected a moment ago may answer a read with data from before the
// fence that it has just acknowledged. So the read names the fence's time, and what
// comes after it is not seen either.
func TestLoad_ReadsAtTheTimeOfItsFence(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	process := watched(t, w, &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
		if e.CommandName == "update" {
			f.setEvent(field("name", "changed after the fence"))
		}
	}})
	s, err := process.Store.Load(w.Ctx(), f.event, inventory.Needs{Fence: true})
	if err != nil || !s.Fenced || s.Event.Name == "changed after the fence" {
		t.Errorf("got %+v, %v", s.Event, err)
	}
	if s, err := f.Store.Load(w.Ctx(), f.event, inventory.Needs{Fence: true}); err != nil || s.Event.Name != "changed after the fence" {
		t.Errorf("got %+v, %v; want the change", s.Event, err)
	}
}

func TestLoad_IsOneReadAtOneSnapshot(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	var mu sync.Mutex
	var reads []string
	process := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.DatabaseName != w.DB.Name() || e.CommandName == "endSessions" {
			return
		}
		level, _ := e.Command.Lookup("readConcern", "level").StringValueOK()
		mu.Lock()
		defer mu.Unlock()
		reads = append(reads, e.CommandName+" "+level)
	}})
	all := inventory.Needs{
		Locks: list(f.lock), LiveOf: list(f.lock), Bookings: list(f.booking), Holdings: list(ids.New()),
		Keys: []inventory.UserKey{{User: ids.New(), Key: "k"}}, Due: 10, Taken: true,
	}
	for name, c := range map[string]struct {
		event holdfast.ID
		needs inventory.Needs
	}{
		"by event": {f.event, all}, "by lock": {needs: inventory.Needs{Locks: list(f.lock), LiveOf: list(f.lock)}},
		"by booking": {needs: inventory.Needs{Bookings: list(f.booking)}},
	} {
		reads = nil
		if _, err := process.Store.Load(w.Ctx(), c.event, c.needs); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(reads, []string{"aggregate snapshot"}) {
			t.Errorf("%s: MongoDB was asked for %q", name, reads)
		}
	}
}

// While seats move between counter and locks, both are read as they were together.
func TestLoad_ReadsCounterAndLocksOfOneMoment(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const total = 200
	id := w.Event(total)
	ctx, stop := context.WithCancel(w.Ctx())
	defer stop()
	var traffic sync.WaitGroup
	for range 4 {
		traffic.Go(func() {
			for ctx.Err() == nil {
				lock, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: id, UserID: ids.New(), Seats: 1 + rand.Int64N(9)})
				if err == nil {
					_, err = w.Seats.ReleaseLock(ctx, lock.ID)
				}
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	moved := map[int64]bool{}
	for range 200 {
		s, err := w.Store.Load(w.Ctx(), id, inventory.Needs{Taken: true})
		if err != nil {
			t.Fatal(err)
		}
		if s.Event.AvailableSeats+*s.Taken != total {
			t.Fatalf("%d available and %d taken of %d", s.Event.AvailableSeats, *s.Taken, total)
		}
		moved[*s.Taken] = true
	}
	stop()
	traffic.Wait()
	if len(moved) < 3 {
		t.Errorf("only %v were ever taken: nothing moved", moved)
	}
}
