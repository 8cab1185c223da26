package store_test

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// insertEntry inserts an entry of an event, for two seats in the place seq of its list. Further fields replace those.
func insertEntry(w *env, event holdfast.ID, status holdfast.EntryStatus, seq int64, fields ...bson.E) holdfast.ID {
	w.T.Helper()
	id, wish := mongodb.NewID(), holdfast.EntryWish{Seats: 2}
	doc := bson.D{field("_id", id), field("eventId", event), field("userId", mongodb.NewID()), field("seats", wish.Seats),
		field("status", string(status)), field("internal", bson.D{
			field("rev", 0), field("seq", seq), field("epoch", 0), field("wish", wish.Text())})}
	for _, f := range fields {
		doc = with(doc, f.Key, f.Value)
	}
	w.Insert("waitlist", doc)
	return id
}

// inList are the fields of an entry in a place of the list with an epoch, which waits for a wish.
func inList(seq, epoch int64, wish holdfast.EntryWish) []bson.E {
	return []bson.E{field("seats", wish.Seats), field("internal", bson.D{
		field("rev", 0), field("seq", seq), field("epoch", epoch), field("wish", wish.Text())})}
}

// changesOf numbers and lists the changes of an event.
func changesOf(w *env, event holdfast.ID) []holdfast.Change {
	w.T.Helper()
	if _, err := w.Changes.Number(w.Ctx()); err != nil {
		w.T.Fatal(err)
	}
	found, _, err := w.Changes.List(w.Ctx(), nil, changes.Filter{EventID: event}, 10)
	if err != nil {
		w.T.Fatal(err)
	}
	return found
}

func (f fixture) newEntry(seq int64) inventory.NewEntry {
	wish := holdfast.EntryWish{Seats: 4, Categories: []string{"stalls", "balcony"}, Section: "north", Accessible: 1, Adjacent: "REQUIRED"}
	return inventory.NewEntry{Seq: seq, Epoch: 2, Wish: wish.Text(), WaitlistEntry: holdfast.WaitlistEntry{
		ID: mongodb.NewID(), EventID: f.event, UserID: mongodb.NewID(), EntryWish: wish, Status: holdfast.EntryWaiting, ShopData: shopData,
	}}
}

// loadEntry reads an entry by its ID.
func (f fixture) loadEntry(id holdfast.ID) *inventory.Entry {
	f.t.Helper()
	e, read := f.load(inventory.Needs{Entries: list(id)}).Entries[id]
	if !read {
		f.t.Fatal("the entry was not read")
	}
	return e
}

func TestApply_InsertsEntriesThatReadBackTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	rich, plain := f.newEntry(7), f.newEntry(8)
	plain.UserID, plain.Holder = holdfast.HolderID("guest"), "guest"
	plain.EntryWish, plain.ShopData = holdfast.EntryWish{Seats: 1}, holdfast.ShopData{}
	plain.Wish = plain.Text()
	applied, err := f.apply(inventory.Plan{
		Event:      &inventory.EventWrite{IfUnchanged: f.read.Event, List: &inventory.List{Seq: 8, Epoch: 2, Waiting: 2}},
		NewEntries: []inventory.NewEntry{rich, plain},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := (inventory.List{Seq: 8, Epoch: 2, Waiting: 2}); applied.Event.List != want || !applied.Event.Waitlist.HasBegun ||
		applied.Event.Waitlist.Waiting != 2 {
		t.Errorf("the event is %+v, want %+v", applied.Event, want)
	}
	for _, e := range []inventory.NewEntry{rich, plain} {
		e.CreatedAt, e.UpdatedAt = applied.Now, applied.Now
		want := &inventory.Entry{WaitlistEntry: e.WaitlistEntry, Seq: e.Seq, Epoch: e.Epoch, Wish: e.Wish}
		if got := f.loadEntry(e.ID); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v,\nwant %+v", got, want)
		}
	}
}

// A plan changes entries, also one that it makes, and one several times.
func TestApply_ChangesEntriesAsThePlanSays(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	offered, closed, fresh := insertEntry(f.env, f.event, holdfast.EntryWaiting, 1),
		insertEntry(f.env, f.event, holdfast.EntryWaiting, 2, field("internal", bson.D{field("rev", 1)})), f.newEntry(3)
	withdrawn := insertEntry(f.env, f.event, holdfast.EntryOffered, 4, field("internal", bson.D{field("rev", 1)}))
	decided := time.Now().UTC().Truncate(time.Millisecond).Add(-time.Second)
	write := func(id holdfast.ID, revision int64, from, to holdfast.EntryStatus, lock holdfast.ID) inventory.EntryWrite {
		return inventory.EntryWrite{
			ID: id, EventID: f.event, From: from, To: to, Revision: revision, LockID: lock, UpdatedAt: decided, RunID: "run",
		}
	}
	lock := mongodb.NewID()
	_, err := f.apply(inventory.Plan{
		NewEntries: []inventory.NewEntry{fresh},
		Entries: []inventory.EntryWrite{
			write(withdrawn, 1, "OFFERED", "CLOSED", holdfast.ID{}), write(closed, 1, "WAITING", "CLOSED", holdfast.ID{}),
			write(offered, 0, "WAITING", "OFFERED", lock),
			write(fresh.ID, 0, "WAITING", "LEFT", holdfast.ID{}), write(offered, 1, "OFFERED", "CLOSED", holdfast.ID{}),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[holdfast.ID]inventory.Entry{
		offered:   {WaitlistEntry: holdfast.WaitlistEntry{Status: "CLOSED", LockID: lock}, Revision: 2},
		closed:    {WaitlistEntry: holdfast.WaitlistEntry{Status: "CLOSED"}, Revision: 2},
		withdrawn: {WaitlistEntry: holdfast.WaitlistEntry{Status: "CLOSED"}, Revision: 2},
		fresh.ID:  {WaitlistEntry: holdfast.WaitlistEntry{Status: "LEFT"}, Revision: 1},
	} {
		e := f.loadEntry(id)
		if e.Status != want.Status || e.LockID != want.LockID || e.Revision != want.Revision || !e.UpdatedAt.Equal(decided) {
			t.Errorf("got %+v, want %+v", e, want)
		}
	}
}

func TestApply_EntryGuardsHold(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, change := range map[string]bson.E{
		"it has left": field("status", "LEFT"), "it has been changed": field("internal.rev", 1),
		"it is of another event": field("eventId", mongodb.NewID()),
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, w, nil)
			id := insertEntry(w, f.event, holdfast.EntryWaiting, 1)
			w.Set("waitlist", id, bson.D{change})
			before := f.documents()
			_, err := f.apply(inventory.Plan{
				Event:   &inventory.EventWrite{IfUnchanged: f.read.Event, List: &inventory.List{Seq: 1}},
				Entries: []inventory.EntryWrite{{ID: id, EventID: f.event, From: "WAITING", To: "OFFERED", UpdatedAt: time.Now()}},
			})
			if !errors.Is(err, store.ErrStale) || !maps.Equal(before, f.documents()) {
				t.Errorf("got %v; documents before %v, after %v", err, before, f.documents())
			}
		})
	}
}

// The changes of entries are recorded; an offer is by the waiting list.
func TestApply_RecordsChangesOfEntries(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testenv.New(t), nil)
	joined := f.newEntry(1)
	after := holdfast.WaitlistEntry{ID: mongodb.NewID(), EventID: f.event, UserID: mongodb.NewID(), EntryWish: holdfast.EntryWish{Seats: 1},
		Status: holdfast.EntryOffered, LockID: mongodb.NewID(), Position: 3}
	plan := store.EventPlan{EventID: f.event, Origins: []holdfast.Origin{{Actor: "shop"}}, Plan: inventory.Plan{
		Event:      &inventory.EventWrite{IfUnchanged: f.read.Event, List: &inventory.List{Seq: 1}},
		NewEntries: []inventory.NewEntry{joined},
		Changes: []inventory.Change{
			{Type: holdfast.ChangeEntryJoined, Joined: 1}, {Type: holdfast.ChangeEntryOffered, By: inventory.ByWaitlist, Revision: 5, Entry: &after},
		},
	}}
	applied, err := f.applyPlan(plan)
	if err != nil {
		t.Fatal(err)
	}
	found := changesOf(f.env, f.event)
	joined.CreatedAt, joined.UpdatedAt, after.Position = applied.Now, applied.Now, 0
	want := []holdfast.Change{
		{Type: holdfast.ChangeEntryJoined, Origin: holdfast.Origin{Actor: "shop"}, Entry: &joined.WaitlistEntry},
		{Type: holdfast.ChangeEntryOffered, Revision: 5, Origin: holdfast.Origin{Actor: "waitlist"}, Entry: &after},
	}
	for i := range want {
		want[i].At, want[i].EventID = applied.Now, f.event
	}
	if !reflect.DeepEqual(found, want) {
		t.Errorf("got  %+v,\nwant %+v", found, want)
	}
}

// An event keeps the settings of its waiting list that are not the default.
func TestCreateEvent_StoresTheSettingsOfItsWaitingList(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	normal := holdfast.DefaultWaitlist()
	begun := holdfast.Waitlist{Status: holdfast.WaitlistOpen, OfferSeconds: 90, Fit: holdfast.WaitlistStrict, HasBegun: true}
	paused := holdfast.Waitlist{Status: holdfast.WaitlistPaused, OfferSeconds: normal.OfferSeconds, Fit: normal.Fit, HasBegun: true}
	for _, c := range []struct {
		of, want holdfast.Waitlist
		fields   []string
	}{
		{holdfast.Waitlist{}, normal, nil}, {normal, normal, nil},
		{begun, begun, []string{"waitlist", "waitlistOfferSeconds", "waitlistFit", "internal.list"}},
		{paused, paused, []string{"waitlist", "internal.list"}},
	} {
		e := holdfast.Event{ID: mongodb.NewID(), Name: "E", TotalSeats: 5, AvailableSeats: 5, Status: holdfast.OnSale, CreatedAt: time.Now(),
			UpdatedAt: time.Now(), LatePayments: holdfast.DefaultLatePayments(), Waitlist: c.of}
		if _, _, err := w.Store.CreateEvent(w.Ctx(), e, holdfast.CreationKey{}, ""); err != nil {
			t.Fatal(err)
		}
		doc := fixture{env: w, t: t}.document("events", e.ID)
		for _, name := range []string{"waitlist", "waitlistOfferSeconds", "waitlistFit", "internal.list"} {
			if _, has := doc[name]; has != slices.Contains(c.fields, name) {
				t.Errorf("of %+v it has %s: %t", c.of, name, has)
			}
		}
		if got, err := w.Store.Event(w.Ctx(), e.ID); err != nil || got.Waitlist != c.want {
			t.Errorf("got %+v, %v; want %+v", got.Waitlist, err, c.want)
		}
		told := changesOf(w, e.ID)
		if len(told) != 1 || told[0].Event.Waitlist != c.want {
			t.Errorf("the change is %+v, want %+v", told, c.want)
		}
	}
}

// What other software has stored counts as the default, if it is not valid.
func TestEvent_ReadsSettingsOfAWaitingListThatAreNotValid(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.Event(5)
	w.Set("events", id, bson.D{field("waitlist", "ajar"), field("waitlistOfferSeconds", 59), field("waitlistFit", "loose")})
	if e, err := w.Store.Event(w.Ctx(), id); err != nil || e.Waitlist != holdfast.DefaultWaitlist() {
		t.Errorf("got %+v, %v", e.Waitlist, err)
	}
	w.Set("events", id, bson.D{field("waitlistOfferSeconds", holdfast.MaxOfferSeconds+1)})
	if e, err := w.Store.Event(w.Ctx(), id); err != nil || e.Waitlist != holdfast.DefaultWaitlist() {
		t.Errorf("got %+v, %v", e.Waitlist, err)
	}
}
