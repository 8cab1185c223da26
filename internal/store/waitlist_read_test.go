package store_test

import (
	"context"
	"fmt"
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
)

// setList sets the state of an event's waiting list.
func setList(w *env, event holdfast.ID, epoch, waiting int64) {
	w.T.Helper()
	w.Set("events", event, bson.D{field("internal.list", bson.D{field("seq", 100), field("epoch", epoch), field("waiting", waiting)})})
}

// shown says what is answered of an entry.
func shown(e holdfast.WaitlistEntry) string { return fmt.Sprintf("%s %d", e.Status, e.Position) }

// Entries that wait have a position in the present list. Others count as CLOSED, before their documents are.
func TestEntry_IsReadAsItsListIs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	past, ahead := time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	for name, c := range map[string]struct {
		event bson.D
		want  string // of the second entry that waits
	}{
		"the list is open":           {bson.D{field("waitlist", "OPEN")}, "WAITING 2"},
		"before the end of the sale": {bson.D{field("saleEndsAt", ahead)}, "WAITING 2"},
		"before the sale":            {bson.D{field("saleStartsAt", ahead)}, "WAITING 2"},
		"the event is closed":        {bson.D{field("status", "CLOSED")}, "WAITING 2"},
		"after the sale":             {bson.D{field("saleEndsAt", past)}, "CLOSED 0"},
		"the event is cancelled":     {bson.D{field("status", "CANCELLED")}, "CLOSED 0"},
		"the list was closed":        {bson.D{field("internal.list.epoch", 2)}, "CLOSED 0"},
		"the event does not exist":   {nil, "CLOSED 0"},
		"the event is corrupt":       {bson.D{field("saleEndsAt", "soon")}, "WAITING 2"},
	} {
		t.Run(name, func(t *testing.T) {
			id := w.Event(10)
			setList(w, id, 1, 2)
			for _, e := range []struct {
				status     holdfast.EntryStatus
				seq, epoch int64
			}{{"WAITING", 1, 0}, {"OFFERED", 2, 1}, {"WAITING", 3, 1}, {"WAITING", 5, 1}} {
				insertEntry(w, id, e.status, e.seq, inList(e.seq, e.epoch, two)...)
			}
			second := insertEntry(w, id, "WAITING", 4, append(inList(4, 1, four), field("reference", "R"))...)
			offered := insertEntry(w, id, "OFFERED", 6, append(inList(6, 1, two), field("lockId", second))...)
			switch {
			case c.event == nil:
				fixture{env: w, t: t}.remove("events", id)
			case name == "the event is corrupt":
				w.ChangeUnchecked("events", id, bson.D{{Key: "$set", Value: c.event}})
			default:
				w.Set("events", id, c.event)
			}
			if e, err := w.Store.Entry(w.Ctx(), second); err != nil || shown(e) != c.want || e.Reference != "R" || e.Seats != 4 || e.EventID != id {
				t.Errorf("got %+v, %v; want %s", e, err, c.want)
			}
			if e, err := w.Store.Entry(w.Ctx(), offered); err != nil || shown(e) != "OFFERED 0" || e.LockID != second {
				t.Errorf("an offer: %+v, %v", e, err)
			}
		})
	}
	corrupt := insertEntry(w, w.Event(10), "WAITING", 1)
	w.ChangeUnchecked("waitlist", corrupt, bson.D{{Key: "$set", Value: bson.D{field("seats", 0)}}})
	for _, id := range list(corrupt, mongodb.NewID()) {
		if _, err := w.Store.Entry(w.Ctx(), id); !holdfast.HasCode(err, holdfast.CodeEntryNotFound) {
			t.Errorf("got %v", err)
		}
	}
}

// pagesOf lists the entries of an event in pages of a size, each as its place and what is shown of it.
func pagesOf(w *env, event holdfast.ID, f holdfast.EntryFilter, size int) (all []string, pages int) {
	w.T.Helper()
	for token := ""; ; {
		found, next, err := w.Store.Entries(w.Ctx(), event, f, holdfast.Page{Size: size, Token: token})
		if err != nil || len(found) > size {
			w.T.Fatal(len(found), err)
		}
		for _, e := range found {
			all = append(all, e.Reference+" "+shown(e))
		}
		if pages++; next == "" {
			return all, pages
		}
		token = next
	}
}

func TestEntries_AreListedInOrder(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id, user := w.Event(10), mongodb.NewID()
	setList(w, id, 2, 3)
	guest := []bson.E{field("userId", holdfast.HolderID("guest")), field("holder", "guest")}
	for _, e := range []struct {
		status     holdfast.EntryStatus
		seq, epoch int64
		fields     []bson.E
	}{
		{"WAITING", 7, 2, guest}, {"CLOSED", 1, 0, nil}, {"WAITING", 2, 0, []bson.E{field("userId", user)}}, {"OFFERED", 3, 1, guest},
		{"ACCEPTED", 4, 1, nil}, {"WAITING", 5, 2, []bson.E{field("userId", user)}}, {"OFFERED", 6, 2, nil}, {"CLOSED", 8, 2, nil},
		{"WAITING", 9, 2, []bson.E{field("userId", holdfast.HolderID("guest"))}}, {"WAITING", 10, 1, nil},
	} {
		insertEntry(w, id, e.status, e.seq, append(append(inList(e.seq, e.epoch, two), field("reference", fmt.Sprint(e.seq))), e.fields...)...)
	}
	corrupt := insertEntry(w, id, "LEFT", 4, inList(4, 2, two)...)
	w.ChangeUnchecked("waitlist", corrupt, bson.D{{Key: "$set", Value: bson.D{field("seats", 0)}}})
	insertEntry(w, w.Event(10), "WAITING", 1, inList(1, 2, two)...)
	of := func(n int) *holdfast.ID {
		return []*holdfast.ID{&user, pointer(holdfast.HolderID("guest"))}[n]
	}
	check := func(name string, f holdfast.EntryFilter, want string) {
		t.Helper()
		for _, size := range []int{1, 2, 3, 100} {
			if got, _ := pagesOf(w, id, f, size); strings.Join(got, ", ") != want {
				t.Errorf("%s, %d at a time: got %v, want %s", name, size, got, want)
			}
		}
	}
	check("all", holdfast.EntryFilter{}, "1 CLOSED 0, 2 CLOSED 0, 3 OFFERED 0, 4 ACCEPTED 0, 5 WAITING 1, 6 OFFERED 0, 7 WAITING 2, "+
		"8 CLOSED 0, 9 WAITING 3, 10 CLOSED 0")
	check("waiting", holdfast.EntryFilter{Status: "WAITING"}, "5 WAITING 1, 7 WAITING 2, 9 WAITING 3")
	check("closed", holdfast.EntryFilter{Status: "CLOSED"}, "1 CLOSED 0, 2 CLOSED 0, 8 CLOSED 0, 10 CLOSED 0")
	check("offered", holdfast.EntryFilter{Status: "OFFERED"}, "3 OFFERED 0, 6 OFFERED 0")
	check("left", holdfast.EntryFilter{Status: "LEFT"}, "")
	check("a user's", holdfast.EntryFilter{UserID: of(0)}, "2 CLOSED 0, 5 WAITING 1")
	check("a user's that are closed", holdfast.EntryFilter{UserID: of(0), Status: "CLOSED"}, "2 CLOSED 0")
	check("a holder's", holdfast.EntryFilter{Holder: "guest"}, "3 OFFERED 0, 7 WAITING 2")
	check("of a user with the ID of a holder", holdfast.EntryFilter{UserID: of(1)}, "9 WAITING 3")
	w.Set("events", id, bson.D{field("saleEndsAt", time.Now().Add(-time.Second))})
	check("waiting after the sale", holdfast.EntryFilter{Status: "WAITING"}, "")
	check("closed after the sale", holdfast.EntryFilter{Status: "CLOSED"},
		"1 CLOSED 0, 2 CLOSED 0, 5 CLOSED 0, 7 CLOSED 0, 8 CLOSED 0, 9 CLOSED 0, 10 CLOSED 0")
	w.Set("events", id, bson.D{field("saleEndsAt", time.Now().Add(time.Hour)), field("internal.list.epoch", 70)})
	check("closed after many lists", holdfast.EntryFilter{Status: "CLOSED"},
		"1 CLOSED 0, 2 CLOSED 0, 5 CLOSED 0, 7 CLOSED 0, 8 CLOSED 0, 9 CLOSED 0, 10 CLOSED 0")
}

func TestEntries_RefusesWhatItCantList(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.Event(10)
	for name, c := range map[string]struct {
		event holdfast.ID
		page  holdfast.Page
		want  holdfast.Code
	}{
		"no event":         {mongodb.NewID(), holdfast.Page{}, holdfast.CodeEventNotFound},
		"no token":         {id, holdfast.Page{Token: "x"}, holdfast.CodeInvalid},
		"a negative place": {id, holdfast.Page{Token: "__________8"}, holdfast.CodeInvalid},
		"too many":         {id, holdfast.Page{Size: holdfast.MaxPageSize + 1}, holdfast.CodeInvalid},
	} {
		if _, _, err := w.Store.Entries(w.Ctx(), c.event, holdfast.EntryFilter{}, c.page); !holdfast.HasCode(err, c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	found, next, err := w.Store.Entries(w.Ctx(), id, holdfast.EntryFilter{}, holdfast.Page{})
	if found == nil || len(found) > 0 || next != "" || err != nil {
		t.Errorf("of no entries: %v, %q, %v", found, next, err)
	}
}

// A page of large entries has fewer of them, and the next one goes on behind them.
func TestEntries_PagesAreBounded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.Event(10)
	for seq := range int64(6) {
		insertEntry(w, id, "LEFT", seq+1, append(inList(seq+1, 0, two), field("reference", fmt.Sprint(seq+1)),
			field("metadata", bson.D{field("k", strings.Repeat("x", 300_000))}))...)
	}
	all, pages := pagesOf(w, id, holdfast.EntryFilter{}, 100)
	if want := []string{"1 LEFT 0", "2 LEFT 0", "3 LEFT 0", "4 LEFT 0", "5 LEFT 0", "6 LEFT 0"}; !slices.Equal(all, want) || pages != 2 {
		t.Errorf("got %v in %d pages", all, pages)
	}
}

// A page reads as many keys as it has entries, whatever the list's length; a position reads the index alone.
func TestEntries_OfALongListReadFewKeys(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.Event(10)
	longList(w, id)
	var sent []bson.Raw
	watching := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.CommandName == "aggregate" && e.Command.Lookup("aggregate").StringValue() == "waitlist" {
			sent = append(sent, append(bson.Raw{}, e.Command...))
		}
	}})
	last := ""
	for _, status := range []holdfast.EntryStatus{"", holdfast.EntryWaiting, holdfast.EntryClosed} {
		token, sizes := "", []int{500, 500, 50}
		for _, size := range sizes {
			sent = nil
			found, next, err := watching.Store.Entries(w.Ctx(), id, holdfast.EntryFilter{Status: status}, holdfast.Page{Size: size, Token: token})
			if err != nil || len(found) != size {
				t.Fatal(len(found), err)
			}
			token = next
			if status == holdfast.EntryWaiting {
				last = shown(found[size-1])
			}
		}
		keys, docs := examined(t, w, sent[0])
		if keys > 50+5 || docs > 50+1 {
			t.Errorf("a page with the status %q reads %d keys and %d documents", status, keys, docs)
		}
		if status != holdfast.EntryWaiting {
			continue
		}
		if len(sent) != 2 {
			t.Fatalf("%d reads", len(sent))
		}
		if keys, docs := examined(t, w, sent[1]); keys > 1001 || docs != 0 || last != "WAITING 1050" {
			t.Errorf("the position reads %d keys and %d documents; the last is %s", keys, docs, last)
		}
	}
}

// examined runs an aggregation again, and returns how many keys and documents it reads.
func examined(t *testing.T, w *env, command bson.Raw) (keys, docs int64) {
	t.Helper()
	again := bson.D{field("aggregate", command.Lookup("aggregate")), field("pipeline", command.Lookup("pipeline")), field("cursor", bson.D{})}
	answer, err := w.DB.RunCommand(w.Ctx(), bson.D{field("explain", again), field("verbosity", "executionStats")}).Raw()
	if err != nil {
		t.Fatal(err)
	}
	stats, err := answer.LookupErr("executionStats")
	if err != nil {
		stats = answer.Lookup("stages", "0", "$cursor", "executionStats")
	}
	keys, _ = stats.Document().Lookup("totalKeysExamined").AsInt64OK()
	docs, _ = stats.Document().Lookup("totalDocsExamined").AsInt64OK()
	return keys, docs
}

// The answers of an event say that none waits once its sale has ended, before the job closes its list.
func TestEvent_NoneWaitsAfterTheSale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.Event(10)
	setList(w, id, 0, 7)
	check := func(want int64) {
		t.Helper()
		e, err := w.Store.Event(w.Ctx(), id)
		all, _, listErr := w.Store.Events(w.Ctx(), holdfast.EventFilter{}, holdfast.Page{})
		if err != nil || listErr != nil || len(all) != 1 || e.Waitlist.Waiting != want || all[0].Waitlist.Waiting != want ||
			!e.Waitlist.HasBegun {
			t.Errorf("got %+v, %v and %+v, %v; want %d", e.Waitlist, err, all, listErr, want)
		}
		f := fixture{env: w, t: t, event: id}
		if _, err := f.apply(inventory.Plan{Event: &inventory.EventWrite{IfUnchanged: f.load(inventory.Needs{Event: true}).Event},
			Told: []holdfast.ChangeType{holdfast.ChangeEventChanged}}); err != nil {
			t.Fatal(err)
		}
		told := changesOf(w, id)
		if last := told[len(told)-1]; last.Event.Waitlist.Waiting != want {
			t.Errorf("the change says %d, want %d", last.Event.Waitlist.Waiting, want)
		}
	}
	check(7)
	w.Set("events", id, bson.D{field("saleEndsAt", time.Now().Add(time.Hour))})
	check(7)
	w.Set("events", id, bson.D{field("saleEndsAt", time.Now().Add(-time.Second))})
	check(0)
}

func TestListsToCheck_AreThoseThatAreDue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var ids []holdfast.ID
	in := func(d time.Duration) time.Time { return time.Now().Add(d) }
	for _, at := range []any{in(-time.Second), in(-time.Hour), in(time.Hour), nil, in(-time.Minute)} {
		id := w.Event(10)
		ids = append(ids, id)
		if setList(w, id, 0, 1); at != nil {
			w.Set("events", id, bson.D{field("internal.list.checkAt", at)})
		}
	}
	w.ChangeUnchecked("events", ids[4], bson.D{{Key: "$set", Value: bson.D{field("totalSeats", "10")}}})
	w.Event(10)
	var sent bson.Raw
	watching := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		if e.CommandName == "aggregate" {
			sent = append(bson.Raw{}, e.Command...)
		}
	}})
	if got, err := watching.Store.ListsToCheck(w.Ctx(), 10); err != nil || !reflect.DeepEqual(got, list(ids[1], ids[0])) {
		t.Errorf("got %v, %v; want %v", got, err, list(ids[1], ids[0]))
	}
	if plan, _ := explain(t, w, sent); !strings.Contains(plan, "hf_internal.list.checkAt_if_internal.list.checkAt") {
		t.Errorf("it reads no index: %s", plan)
	}
	if got, err := w.Store.ListsToCheck(w.Ctx(), 1); err != nil || !reflect.DeepEqual(got, list(ids[1])) {
		t.Errorf("the first is %v, %v", got, err)
	}
}

func TestArchive_WaitsForTheWaitingList(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id := w.Event(10)
	w.Set("events", id, bson.D{field("eventDate", time.Now().Add(-48*time.Hour))})
	over := func() store.OverEvent {
		t.Helper()
		found, err := w.Store.OverEvents(w.Ctx(), time.Hour, holdfast.ID{}, 10)
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		return found[0]
	}
	free := over()
	setList(w, id, 0, 1)
	waits := over()
	if free.Waits || !waits.Waits {
		t.Errorf("it waits: %t, then %t", free.Waits, waits.Waits)
	}
	for _, e := range []store.OverEvent{free, waits} {
		if archived, err := w.Store.Archive(w.Ctx(), e, time.Hour); archived || err != nil {
			t.Errorf("archived %t, %v", archived, err)
		}
	}
	setList(w, id, 1, 0)
	if archived, err := w.Store.Archive(w.Ctx(), over(), time.Hour); !archived || err != nil {
		t.Errorf("archived %t, %v after the list was closed", archived, err)
	}
}

func TestDeleteEvent_RefusesWhileItHasEntries(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, status := range holdfast.EntryStatuses() {
		id := w.Event(10)
		entry := insertEntry(w, id, status, 1)
		if err := w.Store.DeleteEvent(w.Ctx(), id); !holdfast.HasCode(err, holdfast.CodeEventHasLocks) {
			t.Errorf("with an entry that is %s: %v", status, err)
		}
		fixture{env: w, t: t}.remove("waitlist", entry)
		if err := w.Store.DeleteEvent(w.Ctx(), id); err != nil {
			t.Errorf("without its entry: %v", err)
		}
	}
}

// stored returns the IDs of the entries that are stored, of some.
func stored(t *testing.T, w *env, ids ...holdfast.ID) (found []holdfast.ID) {
	t.Helper()
	for _, id := range ids {
		if (fixture{env: w, t: t}).document("waitlist", id) != nil {
			found = append(found, id)
		}
	}
	return found
}

func TestPurge_RemovesTheEntriesOfOffers(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id, longAgo := w.Event(10), time.Now().Add(-48*time.Hour)
	offer := func(status string, entryStatus holdfast.EntryStatus) (lock, entry holdfast.ID) {
		lock = mongodb.NewID()
		entry = insertEntry(w, id, entryStatus, 1, field("lockId", lock), field("updatedAt", longAgo))
		w.Insert("seatlocks", bson.D{field("_id", lock), field("eventId", id), field("seats", 1), field("status", status),
			field("expiresAt", longAgo), field("updatedAt", longAgo), field("waitlistEntryId", entry)})
		return lock, entry
	}
	expired, expiredEntry := offer("EXPIRED", "EXPIRED")
	released, releasedEntry := offer("RELEASED", "DECLINED")
	sold, soldEntry := offer("CONSUMED", "ACCEPTED")
	pending, pendingEntry := offer("EXPIRED", "EXPIRED")
	w.Insert("bookings", bson.D{field("seatLockId", pending), field("eventId", id), field("status", "PAYMENT_PENDING"),
		field("paymentExpiresAt", longAgo)})
	other, otherEntry := offer("RELEASED", "ACCEPTED") // a later lock of the same customer, which its entry does not name
	w.Set("waitlist", otherEntry, bson.D{field("lockId", sold)})
	gone, err := w.Store.Purge(w.Ctx(), list(expired, released, sold, pending, other), time.Now(), time.Now())
	if err != nil || gone.Locks != 3 {
		t.Fatalf("%+v, %v", gone, err)
	}
	left := stored(t, w, expiredEntry, releasedEntry, soldEntry, pendingEntry, otherEntry)
	if !slices.Equal(left, list(soldEntry, pendingEntry, otherEntry)) {
		t.Errorf("left are %v", left)
	}
}

func TestPurgeEntries_RemovesThoseThatEndedWithoutAnOffer(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	id, longAgo := w.Event(10), time.Now().Add(-48*time.Hour)
	add := func(status holdfast.EntryStatus, updated time.Time, fields ...bson.E) holdfast.ID {
		return insertEntry(w, id, status, 1, append(fields, field("updatedAt", updated))...)
	}
	kept := list(add("WAITING", longAgo), add("OFFERED", longAgo), add("LEFT", time.Now()), add("CLOSED", time.Now()),
		add("LEFT", longAgo, field("lockId", mongodb.NewID())), add("CLOSED", longAgo))
	w.ChangeUnchecked("waitlist", kept[5], bson.D{{Key: "$set", Value: bson.D{field("seats", 0)}}})
	var old []holdfast.ID
	for range 5 {
		old = append(old, add("LEFT", longAgo), add("CLOSED", longAgo.Add(-time.Hour)))
	}
	removed, err := w.Store.PurgeEntries(w.Ctx(), time.Now().Add(-24*time.Hour), 2)
	if err != nil || removed != len(old) || len(stored(t, w, old...)) > 0 || !slices.Equal(stored(t, w, kept...), kept) {
		t.Errorf("removed %d, %v; left %v", removed, err, stored(t, w, append(old, kept...)...))
	}
}

func TestEraseEntries_LeavesThoseThatAreOpen(t *testing.T) {
	t.Parallel()
	for name, holder := range map[string]string{"a user": "", "a holder": "guest"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			of, metadata := store.Customer{ID: mongodb.NewID()}, field("metadata", bson.D{field("k", "secret")})
			own := []bson.E{metadata}
			if holder != "" {
				of = store.Customer{ID: holdfast.HolderID(holder), Holder: holder}
				own = append(own, field("holder", holder))
			}
			own = append(own, field("userId", of.ID))
			sells, over := w.Event(10), w.Event(10)
			setList(w, sells, 1, 1)
			w.Set("events", over, bson.D{field("saleEndsAt", time.Now().Add(-time.Second))})
			add := func(event holdfast.ID, status holdfast.EntryStatus, epoch int64) holdfast.ID {
				return insertEntry(w, event, status, 1, append(inList(1, epoch, two), own...)...)
			}
			ended := list(add(sells, "WAITING", 0), add(over, "WAITING", 0), add(sells, "LEFT", 1), add(sells, "ACCEPTED", 1))
			stranger := insertEntry(w, sells, "WAITING", 2, append(inList(2, 1, two), field("userId", of.ID), field("holder", "stranger"),
				metadata)...)
			if holds, err := w.Store.HoldsEntry(w.Ctx(), of); holds || err != nil {
				t.Errorf("without an open entry: %t, %v", holds, err)
			}
			open := list(add(sells, "WAITING", 1), add(over, "OFFERED", 0))
			for range 2 {
				if holds, err := w.Store.HoldsEntry(w.Ctx(), of); !holds || err != nil {
					t.Errorf("with an open entry: %t, %v", holds, err)
				}
				fixture{env: w, t: t}.remove("waitlist", open[0])
				open = open[1:]
			}
			open = list(add(sells, "WAITING", 1), stranger)
			for _, want := range []int{len(ended), 0} {
				if n, err := w.Store.EraseEntries(w.Ctx(), of, 3); err != nil || n != want {
					t.Errorf("erased %d, %v; want %d", n, err, want)
				}
			}
			for _, id := range ended {
				doc := fixture{env: w, t: t}.document("waitlist", id)
				if doc["metadata"] != nil || wholeOf(doc["internal.rev"]) != 1 || holder != "" && doc["holder"] != holdfast.ErasedHolder(of.ID) {
					t.Errorf("it says %v", doc)
				}
			}
			for _, id := range open {
				if doc := (fixture{env: w, t: t}).document("waitlist", id); doc["metadata"] == nil || wholeOf(doc["internal.rev"]) != 0 {
					t.Errorf("an entry that is open, or of another customer: %v", doc)
				}
			}
		})
	}
}
