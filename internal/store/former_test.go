package store_test

import (
	"errors"
	"maps"
	"reflect"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// formerCases are plans that rely on a document that a process changes by one field: the one of
// the former version, or ours.
func formerCases(change func(collection, field string, to any) func(fixture)) []guardCase {
	restore := func(f fixture) inventory.Plan {
		return inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event, Available: 1}}
	}
	recount := func(f fixture) inventory.Plan {
		return inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event, Counter: &inventory.Counter{AvailableSeats: 8}}}
	}
	repair := func(f fixture) inventory.Plan {
		e := f.read.Event
		return inventory.Plan{Event: &inventory.EventWrite{Drift: &inventory.Drift{Amount: 1, Repairs: e.Repairs, Former: e.Former}}}
	}
	lock := func(guard inventory.LockGuard, to holdfast.LockStatus) func(f fixture) inventory.Plan {
		return func(f fixture) inventory.Plan {
			read := f.read.Locks[f.lock]
			return inventory.Plan{Locks: []inventory.LockWrite{{
				ID: f.lock, From: holdfast.LockActive, To: to, Guard: guard, Revision: read.Revision, Former: read.Former,
			}}}
		}
	}
	uncountable := func(f fixture) { f.setEvent(field("availableSeats", "eight")) }
	var cases []guardCase
	for _, kind := range []string{"", "internal."} {
		cases = append(cases,
			guardCase{name: kind + "rev of an event", plan: restore, change: change("events", kind+"rev", int64(7))},
			guardCase{name: kind + "rev of an event without a counter", arrange: uncountable, plan: recount,
				change: change("events", kind+"rev", int64(7))},
			guardCase{name: kind + "fixes of an event without a counter", arrange: uncountable, plan: recount,
				change: change("events", kind+"fixes", int64(7))},
			guardCase{name: kind + "fixes of an event that is repaired", plan: repair, change: change("events", kind+"fixes", int64(7))},
			guardCase{name: kind + "rev of a lock that is released", plan: lock(inventory.AtRevision, holdfast.LockReleased),
				change: change("seatlocks", kind+"rev", int64(7))},
			guardCase{name: kind + "rev of a lock that is confirmed", plan: lock(inventory.LiveAtRevision, holdfast.LockConsumed),
				change: change("seatlocks", kind+"rev", int64(7))},
		)
	}
	return cases
}

func setField(collection, name string, to any) func(fixture) {
	return func(f fixture) {
		id := f.event
		if collection == "seatlocks" {
			id = f.lock
		}
		f.Set(collection, id, bson.D{field(name, to)})
	}
}

// withFormerFields gives the fixture the fields of the former version.
func withFormerFields(arrange func(f fixture)) func(f fixture) {
	return func(f fixture) {
		f.setEvent(field("rev", int64(5)), field("fixes", int64(2)))
		f.setLock(field("rev", int64(5)))
		if arrange != nil {
			arrange(f)
		}
	}
}

// While the former version may serve the database too, a plan is stale if a process of either
// version has changed what it relies on. Afterwards too: a process of the former version may
// have been started by mistake, or knows nothing of the end.
func TestApply_GuardsCompareTheFieldsOfBothVersions(t *testing.T) {
	t.Parallel()
	for name, newEnv := range map[string]func(testing.TB) *env{"shared": testenv.NewShared, "finished": testenv.New} {
		for fields, arrange := range map[string]func(func(fixture)) func(fixture){
			"with fields of the former version":    withFormerFields,
			"without fields of the former version": func(arrange func(fixture)) func(fixture) { return arrange },
		} {
			t.Run(name+", "+fields, func(t *testing.T) {
				t.Parallel()
				w := newEnv(t)
				allowAnyCounter(t, w)
				allowFormer(t, w)
				cases := formerCases(setField)
				for i := range cases {
					cases[i].arrange = arrange(cases[i].arrange)
				}
				checkGuardsIn(t, w, cases)
			})
		}
	}
}

// allowFormer removes the validator of locks.
func allowFormer(t *testing.T, w *env) {
	t.Helper()
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
		t.Fatal(err)
	}
}

// What other software keeps in a field of that name does not matter, once the former version is
// gone.
func TestApply_IgnoresForeignFieldsOfTheSameName(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, values := range [][2]any{{"3-abc", "4-abc"}, {7, 8}, {1.5, 2.5}, {nil, "x"}, {bson.D{}, bson.A{int64(1)}}} {
		change := func(collection, name string, _ any) func(fixture) { return setField(collection, name, values[1]) }
		for _, c := range formerCases(change)[:6] {
			f := newFixture(t, w, func(f fixture) {
				for _, name := range []string{"rev", "fixes", "fence", "sweptRev", "runId"} {
					f.setEvent(field(name, values[0]))
				}
				f.setLock(field("rev", values[0]))
				if c.arrange != nil {
					allowAnyCounter(t, w)
					c.arrange(f)
				}
			})
			c.change(f)
			if _, err := f.apply(c.plan(f)); err != nil {
				t.Errorf("%s from %v to %v: %v", c.name, values[0], values[1], err)
			}
			doc := f.document("events", f.event)
			for _, name := range []string{"rev", "fixes", "fence", "sweptRev", "runId"} {
				if _, kept := doc[name]; !kept {
					t.Errorf("%s of other software is gone: %v", name, doc)
				}
			}
		}
	}
}

// Both revisions are raised while the former version may compare its own.
func TestApply_RaisesTheRevisionsOfBothVersions(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	both := bson.M{"rev": int64(1), "internal.rev": int64(1)}
	for name, c := range map[string]struct {
		write inventory.EventWrite
		want  bson.M
	}{
		"a change": {want: both},
		"a counter": {
			write: inventory.EventWrite{Counter: &inventory.Counter{AvailableSeats: 8}},
			want:  bson.M{"rev": int64(1), "internal.rev": int64(1), "fixes": int64(1), "internal.fixes": int64(1)},
		},
		"a drift": {
			write: inventory.EventWrite{Drift: &inventory.Drift{}}, want: bson.M{"fixes": int64(1), "internal.fixes": int64(1)},
		},
		"new locks": {write: inventory.EventWrite{AtLeast: 1, Available: -1}, want: both},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, w, nil)
			before := f.document("events", f.event)
			if c.write.Drift == nil && c.write.AtLeast == 0 {
				c.write.IfUnchanged = f.read.Event
			}
			if c.write.Drift != nil {
				c.write.Drift.Former = f.read.Event.Former
			}
			if _, err := f.apply(inventory.Plan{Event: &c.write}); err != nil {
				t.Fatal(err)
			}
			got := changed(before, f.document("events", f.event))
			maps.DeleteFunc(got, func(name string, _ any) bool { return name == "availableSeats" })
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("changed %v, want %v", got, c.want)
			}
		})
	}
	f := newFixture(t, w, nil)
	_, err := f.apply(inventory.Plan{
		Event: &inventory.EventWrite{AtLeast: 1, Available: -1}, Acquired: []holdfast.Lock{f.newLock(1, "")}, TTL: []time.Duration{time.Hour},
		Locks: []inventory.LockWrite{{ID: f.lock, From: holdfast.LockActive, To: holdfast.LockActive}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if doc := f.document("seatlocks", f.lock); doc["rev"] != int64(1) || wholeOf(doc["internal.rev"]) != 4 {
		t.Errorf("the lock is %v", doc)
	}
	n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{{Key: "rev", Value: 0}, {Key: "internal.rev", Value: 0}})
	if err != nil || n != 1 {
		t.Errorf("%d new locks have both revisions, %v", n, err)
	}
}

// A document of the former version is migrated as it is written.
func TestApply_RemovesTheFieldsOfTheFormerVersion(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	allowAnyCounter(t, w)
	allowFormer(t, w)
	f := newFixture(t, w, withFormerFields(nil))
	read := f.read.Locks[f.lock]
	_, err := f.apply(inventory.Plan{
		Event: &inventory.EventWrite{IfUnchanged: f.read.Event},
		Locks: []inventory.LockWrite{{ID: f.lock, From: holdfast.LockActive, To: holdfast.LockActive, Guard: inventory.AtRevision,
			Revision: read.Revision, Former: read.Former}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if doc := f.document("events", f.event); doc["rev"] != nil || doc["fixes"] != nil || doc["internal.rev"] != int64(1) {
		t.Errorf("the event is %v", doc)
	}
	if doc := f.document("seatlocks", f.lock); doc["rev"] != nil || wholeOf(doc["internal.rev"]) != 4 {
		t.Errorf("the lock is %v", doc)
	}
}

// A process reads before the end of the upgrade and writes after it, or the other way round.
func TestApply_AcrossTheEndOfTheUpgrade(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	late := testenv.Open(t, w.URI, w.DB.Name()) // learns of it later
	f := newFixture(t, w, withFormerFields(nil))
	plan := inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.read.Event}}
	if _, err := w.DB.SetUpgrade(w.Ctx(), "finishing"); err != nil {
		t.Fatal(err)
	}
	if w.DB.Shared() || !late.DB.Shared() {
		t.Fatal("one process knows of the end, the other does not")
	}
	behind := f
	behind.env = late
	state, err := late.Store.Load(w.Ctx(), f.event, inventory.Needs{Locks: []holdfast.ID{f.lock}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.apply(plan); err != nil {
		t.Fatal(err)
	}
	stale := inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: state.Event}}
	if _, err := behind.apply(stale); !errors.Is(err, store.ErrStale) {
		t.Errorf("a process that knows nothing of the end: %v", err)
	}
	state, err = f.Store.Load(w.Ctx(), f.event, inventory.Needs{Event: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := behind.apply(inventory.Plan{Event: &inventory.EventWrite{AtLeast: 1, Available: -1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.apply(inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: state.Event}}); !errors.Is(err, store.ErrStale) {
		t.Errorf("a process that knows of the end: %v", err)
	}
}
