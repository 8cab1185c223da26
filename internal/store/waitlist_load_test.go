package store_test

import (
	"context"
	"fmt"
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
)

// seqs are the places of entries in their list.
func seqs(entries []inventory.Entry) (all []int64) {
	for _, e := range entries {
		all = append(all, e.Seq)
	}
	return all
}

func TestLoad_ReadsEntriesByIDAndByCustomer(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f, user := newFixture(t, w, nil), mongodb.NewID()
	waits := insertEntry(w, f.event, "WAITING", 1, field("userId", user))
	offered := insertEntry(w, f.event, "OFFERED", 2, field("userId", user), field("lockId", f.lock))
	left := insertEntry(w, f.event, "LEFT", 3, field("userId", user))
	elsewhere := insertEntry(w, mongodb.NewID(), "WAITING", 4, field("userId", user))
	corrupt, none := insertEntry(w, f.event, "WAITING", 5, field("userId", user)), mongodb.NewID()
	w.ChangeUnchecked("waitlist", corrupt, bson.D{{Key: "$set", Value: bson.D{field("seats", "2")}}})
	// Its ID is not among the corrupt ones: it may be that of a lock, which is good.
	for name, event := range map[string]holdfast.ID{"with the event": f.event, "by the IDs alone": {}} {
		s, err := w.Store.Load(w.Ctx(), event, inventory.Needs{
			Entries: list(waits, offered, left, corrupt, none), OpenOf: list(user, none), Events: list(f.event)})
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Entries) != 5 || s.Entries[waits].Seq != 1 || s.Entries[offered].LockID != f.lock || s.Entries[left].Status != "LEFT" ||
			s.Entries[corrupt] != nil || s.Entries[none] != nil || s.Corrupt[corrupt] || s.Now.Before(time.Now().Add(-time.Minute)) {
			t.Errorf("%s: got %+v, corrupt %v", name, s.Entries, s.Corrupt)
		}
		open := slices.Sorted(slices.Values(seqs(s.OpenOf[user])))
		if _, read := s.OpenOf[none]; !read || event == f.event && !slices.Equal(open, []int64{1, 2}) {
			t.Errorf("%s: open are %v", name, s.OpenOf)
		}
	}
	if s := f.load(inventory.Needs{Entries: list(elsewhere)}); s.Entries[elsewhere] != nil {
		t.Errorf("an entry of another event: %+v", s.Entries[elsewhere])
	}
	s := f.load(inventory.Needs{Event: true})
	if s.Entries != nil || s.OpenOf != nil || s.Heads != nil || s.HeadsUpTo != 0 || s.Waiting != nil || s.ToClose != nil {
		t.Errorf("without a need: %+v", s)
	}
}

// A command without an event reads entries together with its lock or its booking.
func TestLoad_ReadsEntriesWithALockOrABooking(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	f := newFixture(t, w, nil)
	entry := insertEntry(w, f.event, "OFFERED", 1, field("lockId", f.lock))
	for name, n := range map[string]inventory.Needs{
		"by a lock": {Locks: list(f.lock), LiveOf: list(f.lock)}, "by a booking": {Bookings: list(f.booking), Locks: list(f.lock)},
		"by several": {Bookings: list(f.booking, mongodb.NewID()), Locks: list(f.lock)},
	} {
		n.Entries = list(entry)
		s, err := w.Store.Load(w.Ctx(), holdfast.ID{}, n)
		if err != nil || s.Entries[entry] == nil || s.Entries[entry].LockID != f.lock || s.Locks[f.lock] == nil {
			t.Errorf("%s: got %+v, %v", name, s.Entries, err)
		}
	}
}

var (
	four, two, one = holdfast.EntryWish{Seats: 4}, holdfast.EntryWish{Seats: 2}, holdfast.EntryWish{Seats: 1}
	stalls         = holdfast.EntryWish{Seats: 2, Categories: []string{"stalls"}}
)

// withList inserts a list of the epoch 3, with entries of other states, epochs and events.
func withList(w *env, event holdfast.ID) {
	w.T.Helper()
	for _, e := range []struct {
		status holdfast.EntryStatus
		seq    int64
		epoch  int64
		wish   holdfast.EntryWish
	}{
		{"WAITING", 12, 3, two}, {"WAITING", 10, 3, four}, {"WAITING", 11, 3, stalls}, {"WAITING", 13, 3, two}, {"WAITING", 14, 3, one},
		{"WAITING", 15, 3, stalls}, {"OFFERED", 9, 3, two}, {"LEFT", 8, 3, one},
		{"WAITING", 3, 2, one}, {"WAITING", 2, 1, two}, {"WAITING", 4, 2, two}, {"CLOSED", 1, 1, one},
	} {
		insertEntry(w, event, e.status, e.seq, inList(e.seq, e.epoch, e.wish)...)
	}
	insertEntry(w, mongodb.NewID(), "WAITING", 1, inList(1, 3, one)...)
	w.Set("events", event, bson.D{field("internal.list", bson.D{field("seq", 15), field("epoch", 3), field("waiting", 6)})})
}

func TestLoad_ReadsTheWaitingListOfTheEventsEpoch(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	withList(w, event)
	known := func(epoch int64) store.Known {
		return store.Known{Event: &inventory.Event{Event: holdfast.Event{ID: event}, List: inventory.List{Epoch: epoch}}}
	}
	for name, load := range map[string]func(inventory.Needs) (inventory.State, error){
		"not known": func(n inventory.Needs) (inventory.State, error) { return w.Store.Load(w.Ctx(), event, n) },
		"known": func(n inventory.Needs) (inventory.State, error) {
			return w.Store.LoadKnowing(w.Ctx(), event, n, known(3))
		},
		"known of before the list closed": func(n inventory.Needs) (inventory.State, error) {
			return w.Store.LoadKnowing(w.Ctx(), event, n, known(2))
		},
		"apart": func(n inventory.Needs) (inventory.State, error) {
			n.Apart = true
			return w.Store.Load(w.Ctx(), event, n)
		},
		"with a union": func(n inventory.Needs) (inventory.State, error) {
			n.Union = true
			return w.Store.Load(w.Ctx(), event, n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := load(inventory.Needs{Heads: 2, Waiting: 4, ToClose: 2})
			if err != nil {
				t.Fatal(err)
			}
			if heads := slices.Sorted(slices.Values(seqs(s.Heads))); !slices.Equal(heads, []int64{11, 12, 14}) || s.HeadsUpTo != 2 {
				t.Errorf("the heads are %v, up to %d", heads, s.HeadsUpTo)
			}
			if got := seqs(s.Waiting); !slices.Equal(got, []int64{10, 11, 12, 13}) || s.WaitingIsAll || s.WaitingOf != nil {
				t.Errorf("waiting are %v, all: %t, of %v", got, s.WaitingIsAll, s.WaitingOf)
			}
			if s.ToClose == nil || !slices.Equal(seqs(*s.ToClose), []int64{2, 3}) {
				t.Errorf("to close are %v", s.ToClose)
			}
			of := []string{stalls.Text(), one.Text()}
			if s, err = load(inventory.Needs{Heads: 1000, Waiting: 4, WaitingOf: of, ToClose: 4}); err != nil {
				t.Fatal(err)
			}
			if heads := slices.Sorted(slices.Values(seqs(s.Heads))); !slices.Equal(heads, []int64{10, 11, 12, 14}) || s.HeadsUpTo != 1000 {
				t.Errorf("all heads are %v, up to %d", heads, s.HeadsUpTo)
			}
			if got := seqs(s.Waiting); !slices.Equal(got, []int64{11, 14, 15}) || !s.WaitingIsAll || !slices.Equal(s.WaitingOf, of) {
				t.Errorf("waiting of some wishes are %v, all: %t, of %v", got, s.WaitingIsAll, s.WaitingOf)
			}
			if got := seqs(*s.ToClose); !slices.Equal(got, []int64{2, 3, 4}) {
				t.Errorf("all to close are %v", got)
			}
		})
	}
}

// A corrupt entry hides no other: neither the next one of its wish, nor one beyond the limit.
func TestLoad_ReadsTheWaitingListWithoutCorruptEntries(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	withList(w, event)
	for _, seq := range []int64{2, 11, 12} {
		if _, err := w.DB.Collection("waitlist").DeleteOne(w.Ctx(), bson.D{field("eventId", event), field("internal.seq", seq)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		seq, epoch int64
		wish       holdfast.EntryWish
	}{{2, 1, two}, {11, 3, stalls}, {12, 3, two}} {
		id := insertEntry(w, event, "WAITING", c.seq, inList(c.seq, c.epoch, c.wish)...)
		w.ChangeUnchecked("waitlist", id, bson.D{{Key: "$set", Value: bson.D{field("seats", 0)}}})
	}
	for _, apart := range []bool{false, true} {
		s, err := w.Store.Load(w.Ctx(), event, inventory.Needs{Heads: 2, Waiting: 3, ToClose: 2, Apart: apart})
		if err != nil {
			t.Fatal(err)
		}
		if heads := slices.Sorted(slices.Values(seqs(s.Heads))); !slices.Equal(heads, []int64{13, 14, 15}) {
			t.Errorf("the heads are %v", heads)
		}
		if got := seqs(s.Waiting); !slices.Equal(got, []int64{10, 13, 14}) || s.WaitingIsAll {
			t.Errorf("waiting are %v, all: %t", got, s.WaitingIsAll)
		}
		if got := seqs(*s.ToClose); !slices.Equal(got, []int64{3, 4}) {
			t.Errorf("to close are %v", got)
		}
	}
}

// Due locks by their IDs are not all; if all are needed too, they are read.
func TestLoad_SaysHowManyDueLocksWereAskedFor(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), func(f fixture) { f.setLock(field("expiresAt", time.Now().Add(-time.Hour))) })
	other := lockOf(f.event, "ACTIVE", 1, time.Now().Add(-2*time.Hour))
	f.Insert("seatlocks", other)
	for name, c := range map[string]struct {
		needs inventory.Needs
		want  []holdfast.ID
		upTo  int
	}{
		"some": {inventory.Needs{DueAmong: list(f.lock)}, list(f.lock), 0},
		"all":  {inventory.Needs{Due: 5}, list(idOf(other), f.lock), 5},
		"both": {inventory.Needs{Due: 5, DueAmong: list(f.lock)}, list(idOf(other), f.lock), 5},
	} {
		s := f.load(c.needs)
		var got []holdfast.ID
		for _, l := range *s.Due {
			got = append(got, l.ID)
		}
		if !slices.Equal(got, c.want) || s.DueUpTo != c.upTo {
			t.Errorf("%s: got %v, up to %d; want %+v", name, got, s.DueUpTo, c)
		}
	}
}

// longList inserts a list of 20,000 entries for 30 wishes, behind which 3 of each of 60 other wishes wait. It returns those.
func longList(w *env, event holdfast.ID) (rare []string) {
	w.T.Helper()
	const common, others = 30, 60
	var docs []any
	wish := func(seats, category int) string {
		return holdfast.EntryWish{Seats: int64(seats), Categories: []string{fmt.Sprint(category)}}.Text()
	}
	add := func(epoch, seats int, wish string) {
		seq := len(docs) + 1
		docs = append(docs, bson.D{field("eventId", event), field("userId", mongodb.NewID()), field("seats", seats), field("status", "WAITING"),
			field("internal", bson.D{field("rev", 0), field("seq", seq), field("epoch", epoch), field("wish", wish)})})
	}
	for i := range 20_000 {
		add(i/10_000, 1+i%3, wish(1+i%3, i%common))
	}
	for i := range others {
		rare = append(rare, wish(4, i))
	}
	for range 3 {
		for _, text := range rare {
			add(1, 4, text)
		}
	}
	if _, err := w.DB.Collection("waitlist").InsertMany(w.Ctx(), docs); err != nil {
		w.T.Fatal(err)
	}
	w.Set("events", event, bson.D{field("internal.list", bson.D{field("seq", len(docs)), field("epoch", 1), field("waiting", 10_180)})})
	return rare
}

// What is read of a waiting list does not grow with its length: one key for each wish, by a distinct scan, or one for each entry.
func TestLoad_OfALongWaitingListReadsFewKeys(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.Event(10)
	rare := longList(w, id)
	var sent bson.Raw
	watching := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.CommandName == "aggregate" {
			sent = append(bson.Raw{}, e.Command...)
		}
	}})
	for name, c := range map[string]struct {
		needs       inventory.Needs
		found, keys int64
	}{
		"heads of few seats":      {inventory.Needs{Heads: 3}, 30, 31},
		"all heads":               {inventory.Needs{Heads: 10_000}, 90, 91},
		"the first":               {inventory.Needs{Waiting: 100}, 100, 101},
		"the first of two wishes": {inventory.Needs{Waiting: 5, WaitingOf: rare[30:32]}, 5, 5 + 2},
		"the first of 60 wishes":  {inventory.Needs{Waiting: 100, WaitingOf: rare}, 100, 100 + 60},
		"to close":                {inventory.Needs{ToClose: 100}, 100, 101},
	} {
		s, err := watching.Store.Load(w.Ctx(), id, c.needs)
		if err != nil {
			t.Fatal(err)
		}
		found := int64(len(s.Heads) + len(s.Waiting))
		if s.ToClose != nil {
			found += int64(len(*s.ToClose))
		}
		keys, plan := joined(t, w, sent)
		if found != c.found || keys > c.keys {
			t.Errorf("%s: %d entries by %d keys, want %d by %d", name, found, keys, c.found, c.keys)
		}
		if c.needs.Heads > 0 && !strings.Contains(plan, "DISTINCT_SCAN") {
			t.Errorf("%s: the plan is %s", name, plan)
		}
	}
}

// joined runs the read of an event and of one list again. It returns how many keys of the list were read, and the plan of the list.
func joined(t *testing.T, w *env, command bson.Raw) (keys int64, plan string) {
	t.Helper()
	explained := func(again bson.D) bson.Raw {
		again = append(again, field("cursor", bson.D{}))
		answer, err := w.DB.RunCommand(w.Ctx(), bson.D{field("explain", again), field("verbosity", "executionStats")}).Raw()
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	read := explained(bson.D{field("aggregate", "events"), field("pipeline", command.Lookup("pipeline"))})
	stages, err := read.Lookup("stages").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	for _, stage := range stages {
		if list, err := stage.Document().LookupErr("$lookup", "pipeline"); err == nil {
			keys, _ = stage.Document().Lookup("totalKeysExamined").AsInt64OK()
			return keys, explained(bson.D{field("aggregate", "waitlist"), field("pipeline", list)}).String()
		}
	}
	t.Fatal("no list was joined")
	return 0, ""
}
