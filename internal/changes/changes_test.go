package changes_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	monitor "go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// fill sets every field of a struct to a value that is not zero.
func fill(v reflect.Value, n *int) {
	for i := range v.NumField() {
		f := v.Field(i)
		*n++
		switch value := f.Addr().Interface().(type) {
		case *holdfast.ID:
			*value = mongodb.NewID()
		case *time.Time:
			*value = time.Date(2030, 1, 2, 3, 4, *n, 6_000_000, time.UTC)
		case *[]string:
			*value = []string{"A-1", "A-2"}
		case *map[string]string:
			*value = map[string]string{"a.b": "1", "_-": "two\n"}
		case **int64:
			*value = new(int64(*n))
		case *[]holdfast.SectionCapacity:
			*value = []holdfast.SectionCapacity{{Key: "pit", Capacity: 5}, {Key: "lawn", Capacity: 6}}
		default:
			switch f.Kind() { //nolint:exhaustive // the domain has no others
			case reflect.String:
				f.SetString("text " + strings.Repeat("x", *n))
			case reflect.Int64:
				f.SetInt(int64(*n))
			case reflect.Bool:
				f.SetBool(true)
			case reflect.Struct:
				fill(f, n)
			case reflect.Slice:
				f.Set(reflect.MakeSlice(f.Type(), 2, 2))
				fill(f.Index(0), n)
				fill(f.Index(1), n)
			default:
				panic("a field of another kind: " + f.Type().String())
			}
		}
	}
}

// record inserts the records of changes, each in a transaction of its own.
func record(w *testenv.Env, list ...holdfast.Change) {
	w.T.Helper()
	for _, c := range list {
		r := changes.Record{EventID: c.EventID, PlanID: c.PlanID, At: c.At}
		r.Add(&c)
		insert(w, &r)
	}
}

func insert(w *testenv.Env, records ...*changes.Record) {
	w.T.Helper()
	err := mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
		if _, err := w.DB.Collection("other").InsertOne(ctx, bson.D{}); err != nil {
			return err
		}
		return changes.Insert(ctx, w.DB, records...)
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

func number(w *testenv.Env) (n int) {
	w.T.Helper()
	for {
		numbered, err := w.Changes.Number(w.Ctx())
		if err != nil {
			w.T.Fatal(err)
		}
		if n += numbered; numbered == 0 {
			return n
		}
	}
}

func list(w *testenv.Env, from *changes.Position, f changes.Filter, limit int) ([]holdfast.Change, changes.Position) {
	w.T.Helper()
	found, next, err := w.Changes.List(w.Ctx(), from, f, limit)
	if err != nil {
		w.T.Fatal(err)
	}
	return found, next
}

// A change is read as it was written, in each of its fields, but for what a client must not see.
func TestRecord_KeepsEveryField(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var lock holdfast.Lock
	var booking holdfast.Booking
	var event holdfast.Event
	var payment holdfast.Payment
	var previous holdfast.PreviousBooking
	var entry holdfast.WaitlistEntry
	n := 0
	for _, v := range []any{&lock, &booking, &event, &payment, &previous, &entry} {
		fill(reflect.ValueOf(v).Elem(), &n)
	}
	event.Seating.OrphanRule, event.Seating.AccessiblePolicy = holdfast.OrphansRefused, holdfast.AccessibleOpen
	event.LatePayments.Policy = holdfast.LatePaymentsAccepted
	event.Waitlist.Status, event.Waitlist.Fit, event.Waitlist.OfferSeconds = holdfast.WaitlistPaused, holdfast.WaitlistStrict, 90
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	want := []holdfast.Change{
		{Type: holdfast.ChangeLockExtended, Revision: 7, At: at, EventID: lock.EventID, PlanID: mongodb.NewID(), Lock: &lock,
			Origin: holdfast.Origin{Actor: "shop", RequestID: "r", RunID: "run"}},
		{Type: holdfast.ChangeBookingConfirmed, Revision: booking.Revision, At: at, EventID: booking.EventID, Booking: &booking},
		{Type: holdfast.ChangeBookingTransferred, Revision: booking.Revision, At: at, EventID: booking.EventID, PlanID: mongodb.NewID(),
			Booking: &booking, Previous: &previous},
		{Type: holdfast.ChangePaymentAccepted, Revision: payment.Revision, At: at, EventID: payment.EventID, Payment: &payment},
		{Type: holdfast.ChangeEventSoldOut, Revision: 9, Repairs: 2, At: at, EventID: event.ID, Event: &event},
		{Type: holdfast.ChangeEntryOffered, Revision: 3, At: at, EventID: entry.EventID, Entry: &entry},
		{Type: holdfast.ChangePlanCreated, At: at, PlanID: mongodb.NewID()},
	}
	record(w, want...)
	if got := number(w); got != len(want) {
		t.Fatalf("%d records were numbered", got)
	}
	got, _ := list(w, nil, changes.Filter{}, 10)
	lock.Key, lock.RequestHash = "", ""
	event.Waitlist.Holds, entry.Position = false, 0
	booking.Done, payment.Code = nil, "" // no route answers them, nor the keys of parts
	for i := range payment.Refunds {
		payment.Refunds[i].Key = ""
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	seen := map[string]bool{}
	for _, c := range got {
		if seen[c.ID()] || strings.ContainsAny(c.ID(), "/ ") {
			t.Errorf("the ID %q", c.ID())
		}
		seen[c.ID()] = true
	}
}

// made is a change of a lock of an event.
func made(event holdfast.ID, what holdfast.ChangeType, revision int64) holdfast.Change {
	return holdfast.Change{Type: what, Revision: revision, EventID: event, At: time.Now().UTC().Truncate(time.Millisecond),
		Lock: &holdfast.Lock{ID: event, EventID: event, Seats: 1}}
}

func revisions(list []holdfast.Change) (all []int64) {
	for _, c := range list {
		all = append(all, c.Revision)
	}
	return all
}

// A transaction that commits after later ones were numbered and read is not skipped.
func TestList_SkipsNoLateCommit(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := mongodb.NewID()
	begun, finish, done := make(chan struct{}), make(chan struct{}), make(chan error)
	begin := sync.OnceFunc(func() { close(begun) })
	go func() {
		done <- mongodb.Do(w.Ctx(), w.DB, func(ctx context.Context) error {
			if _, err := w.DB.Collection("other").InsertOne(ctx, bson.D{}); err != nil {
				return err
			}
			c := made(event, holdfast.ChangeLockCreated, 1)
			r := changes.Record{EventID: event, At: c.At}
			r.Add(&c)
			err := changes.Insert(ctx, w.DB, &r)
			begin()
			<-finish
			return err
		})
	}()
	<-begun
	record(w, made(event, holdfast.ChangeLockCreated, 2))
	number(w)
	first, next := list(w, nil, changes.Filter{}, 10)
	close(finish)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	before, same := list(w, &next, changes.Filter{}, 10)
	number(w)
	late, _ := list(w, &next, changes.Filter{}, 10)
	if !slices.Equal(revisions(first), []int64{2}) || len(before) > 0 || same != next || !slices.Equal(revisions(late), []int64{1}) {
		t.Errorf("got %v, %v, %v", revisions(first), revisions(before), revisions(late))
	}
}

// Records are numbered in the order in which their transactions depend on each other, whatever their IDs and
// times say.
func TestNumber_KeepsTheOrderOfDependentTransactions(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const lines, length = 8, 20
	var writers sync.WaitGroup
	for range lines {
		writers.Go(func() {
			event := mongodb.NewID()
			for n := range int64(length) {
				c := made(event, holdfast.ChangeLockChanged, n)
				c.At = c.At.Add(-time.Duration(n) * time.Hour) // a clock that goes back
				record(w, c)
			}
		})
	}
	writers.Go(func() {
		for range 10 {
			if _, err := w.Changes.Number(w.Ctx()); err != nil {
				t.Error(err)
			}
		}
	})
	writers.Wait()
	number(w)
	got, _ := list(w, nil, changes.Filter{}, 500)
	next := map[holdfast.ID]int64{}
	for _, c := range got {
		if c.Revision != next[c.EventID] {
			t.Fatalf("%v comes after revision %d", c, next[c.EventID])
		}
		next[c.EventID]++
	}
	if len(got) != lines*length {
		t.Errorf("%d changes, want %d", len(got), lines*length)
	}
}

// A record is numbered at once if it is older than the last numbered one by the longest transaction, and after a minute
// if it is older than that, such as one of other software. A process that begins finds all of them.
func TestNumber_FindsOldRecords(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var later atomic.Int64
	own := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Clock = func() time.Time { return mongodb.SystemTime().Add(time.Duration(later.Load())) }
	})
	record(own, made(mongodb.NewID(), holdfast.ChangeLockCreated, 0))
	wantNumbered := func(w *testenv.Env, want int, when string) {
		t.Helper()
		if n := number(w); n != want {
			t.Errorf("%s: numbered %d records, want %d", when, n, want)
		}
	}
	wantNumbered(own, 1, "at first")
	old := func(at any) {
		t.Helper()
		doc := bson.D{{Key: "seq", Value: int64(0)}, {Key: "t", Value: at}, {Key: "items", Value: bson.A{}}}
		if _, err := w.DB.Collection("changes").InsertOne(w.Ctx(), doc); err != nil {
			t.Fatal(err)
		}
	}
	seconds := uint32(time.Now().Unix())
	old(bson.Timestamp{T: seconds - 15, I: 1}) // a transaction lives for 10 s here
	wantNumbered(own, 1, "a late commit")
	old(bson.Timestamp{T: seconds - 3600, I: 1})
	old("a text")
	wantNumbered(own, 0, "too old")
	later.Store(int64(2 * time.Minute))
	wantNumbered(own, 2, "after two minutes")
	record(own, made(mongodb.NewID(), holdfast.ChangeLockCreated, 1))
	wantNumbered(own, 1, "a new one")
	old(bson.Timestamp{T: seconds - 3600, I: 2})
	wantNumbered(own, 0, "too old again")
	wantNumbered(testenv.Open(t, w.URI, w.DB.Name()), 1, "another process")
}

// Several processes number at the same time: each record gets one number, and no number is given twice.
func TestNumber_BySeveralProcesses(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := mongodb.NewID()
	const n = 60
	for i := range int64(n) {
		record(w, made(event, holdfast.ChangeLockChanged, i))
	}
	var processes sync.WaitGroup
	total := make(chan int, 4)
	for range cap(total) {
		processes.Go(func() {
			numbered, err := w.Changes.Number(w.Ctx())
			for errors.As(err, new(mongodb.AbortError)) || holdfast.HasCode(err, holdfast.CodeUnavailable) {
				numbered, err = w.Changes.Number(w.Ctx())
			}
			if err != nil {
				t.Error(err)
			}
			total <- numbered
		})
	}
	processes.Wait()
	close(total)
	sum := 0
	for numbered := range total {
		sum += numbered
	}
	got, next := list(w, nil, changes.Filter{}, 500)
	if sum != n || len(got) != n || next.Seq != n+1 {
		t.Errorf("%d numbered, %d listed, then %+v", sum, len(got), next)
	}
}

// A list pages through the items of records, by event and by type.
func TestList_Pages(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	a, b := mongodb.NewID(), mongodb.NewID()
	var want []int64
	for n := range int64(6) {
		large := changes.Record{EventID: a, At: time.Now()}
		for i := range int64(5) {
			c := made(a, holdfast.ChangeLockCreated, 10*n+i)
			if i == 3 {
				c.Type = holdfast.ChangeLockExpired
			} else {
				want = append(want, 10*n+i)
			}
			large.Add(&c)
		}
		insert(w, &large)
		record(w, made(b, holdfast.ChangeLockCreated, 1000+n))
	}
	number(w)
	types, err := changes.TypesOf("holdfast.lock.c*")
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	var at *changes.Position
	for pages := 0; ; pages++ {
		found, next := list(w, at, changes.Filter{EventID: a, Types: types}, 3)
		got = append(got, revisions(found)...)
		token, err := changes.ParseToken(next.Token())
		if err != nil || token != next {
			t.Fatal(token, err)
		}
		if at != nil && next == *at {
			break
		}
		at = &next
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// A token whose changes were removed is refused; without one the list begins with the oldest that is left.
func TestPurge_RefusesTokensOfWhatIsGone(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, now := mongodb.NewID(), time.Now().UTC()
	for n, age := range []time.Duration{3 * time.Hour, 2 * time.Hour, 0} {
		c := made(event, holdfast.ChangeLockChanged, int64(n))
		c.At = now.Add(time.Hour) // the clock of the process that made it does not count
		record(w, c)
		at := bson.Timestamp{T: uint32(now.Add(-age).Unix())}
		change := bson.D{{Key: "$set", Value: bson.D{{Key: "t", Value: at}}}}
		if _, err := w.DB.Collection("changes").UpdateOne(w.Ctx(), bson.D{{Key: "items.rev", Value: int64(n)}}, change); err != nil {
			t.Fatal(err)
		}
	}
	old := made(event, holdfast.ChangeLockChanged, 99)
	number(w)
	old.At = now.Add(-24 * time.Hour)
	record(w, old)
	removed, err := w.Changes.Purge(w.Ctx(), now.Add(-time.Hour))
	if err != nil || removed != 2 {
		t.Fatalf("removed %d: %v", removed, err)
	}
	number(w)
	for seq, want := range map[int64]bool{1: false, 2: false, 3: true, 4: true, 5: true, 6: false} {
		_, _, err := w.Changes.List(w.Ctx(), &changes.Position{Seq: seq}, changes.Filter{}, 10)
		if holdfast.HasCode(err, holdfast.CodeChangesGone) == want || want && err != nil {
			t.Errorf("from %d: %v", seq, err)
		}
	}
	if got, _ := list(w, nil, changes.Filter{}, 10); !slices.Equal(revisions(got), []int64{2, 99}) {
		t.Errorf("left are %v", revisions(got))
	}
}

// Numbering says since when changes wait.
func TestWaitingSince(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	if since, err := w.Changes.WaitingSince(w.Ctx()); err != nil || !since.IsZero() {
		t.Fatal(since, err)
	}
	record(w, made(mongodb.NewID(), holdfast.ChangeLockCreated, 0))
	since, err := w.Changes.WaitingSince(w.Ctx())
	if err != nil || time.Since(since) > time.Minute || time.Since(since) < -time.Minute {
		t.Errorf("waiting since %v: %v", since, err)
	}
	number(w)
	if since, err := w.Changes.WaitingSince(w.Ctx()); err != nil || !since.IsZero() {
		t.Error(since, err)
	}
}

// A transaction of thousands of locks with dozens of seats each has more to tell than one document can hold.
func TestInsert_SplitsWhatIsTooLargeForADocument(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := mongodb.NewID()
	seats := make([]string, holdfast.MaxNamedSeats)
	for i := range seats {
		seats[i] = strings.Repeat("s", holdfast.MaxSeatIDLength)
	}
	large := changes.Record{EventID: event, At: time.Now()}
	const n = 5000
	for i := range int64(n) {
		c := made(event, holdfast.ChangeLockExpired, i)
		c.Lock.SeatIDs = seats
		large.Add(&c)
	}
	insert(w, &large)
	number(w)
	var next *changes.Position
	for want := int64(0); want < n; {
		found, at := list(w, next, changes.Filter{}, 500)
		for _, c := range found {
			if c.Revision != want {
				t.Fatalf("revision %d, want %d", c.Revision, want)
			}
			want++
		}
		if next = &at; len(found) == 0 {
			t.Fatalf("%d changes are missing", n-want)
		}
	}
}

// A page has fewer changes if they are large, but always one: metadata may make a change a hundred times as large as usual.
func TestList_BoundsTheBytesOfAPage(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := mongodb.NewID()
	const n, size, most = 120, 40_000, 2 << 20
	for revision := int64(0); revision < n; {
		several := changes.Record{EventID: event, At: time.Now()}
		for range 40 {
			c := made(event, holdfast.ChangeLockChanged, revision)
			c.Lock.Metadata = map[string]string{"note": strings.Repeat("x", size)}
			several.Add(&c)
			revision++
		}
		insert(w, &several)
	}
	larger := made(event, holdfast.ChangeLockChanged, n)
	larger.Lock.Metadata = map[string]string{"note": strings.Repeat("x", most+1)}
	record(w, larger)
	number(w)
	var got []int64
	var pages []int
	for at := (changes.Position{Seq: 1}); len(got) <= n; {
		found, next := list(w, &at, changes.Filter{}, 500)
		if len(found) == 0 || len(found)*size > most && len(found) > 1 {
			t.Fatalf("a page of %d changes after pages of %v", len(found), pages)
		}
		got, pages, at = append(got, revisions(found)...), append(pages, len(found)), next
	}
	if !slices.IsSorted(got) || len(slices.Compact(got)) != n+1 || len(pages) != 4 {
		t.Errorf("pages of %v with the revisions %v", pages, got)
	}
}

// addHistory numbers what waits, and adds 20,000 records behind it, of locks that were created.
func addHistory(w *testenv.Env, event func() holdfast.ID) {
	w.T.Helper()
	before := int64(number(w))
	docs := make([]bson.D, 20_000)
	for i := range docs {
		docs[i] = bson.D{
			{Key: "seq", Value: before + int64(i) + 1}, {Key: "eventId", Value: event()}, {Key: "types", Value: bson.A{"lock.created"}},
		}
	}
	if _, err := w.DB.Collection("changes").InsertMany(w.Ctx(), docs); err != nil {
		w.T.Fatal(err)
	}
	set := bson.D{{Key: "$set", Value: bson.D{{Key: "last", Value: before + int64(len(docs))}}}}
	if _, err := w.DB.Collection("meta").UpdateOne(w.Ctx(), bson.D{{Key: "_id", Value: "changes"}}, set); err != nil {
		w.T.Fatal(err)
	}
}

// wantRare looks for the one change of a filter behind that history: each page is bounded.
func wantRare(w *testenv.Env, f changes.Filter) {
	w.T.Helper()
	pages, at, found := 0, (*changes.Position)(nil), []holdfast.Change(nil)
	for ; len(found) == 0 && pages < 20; pages++ {
		got, next := list(w, at, f, 10)
		found, at = got, &next
	}
	if len(found) != 1 || pages < 2 || pages > 6 {
		w.T.Errorf("a rare type was found in %d pages: %v", pages, found)
	}
}

// A page of one event's history does not depend on how much others have changed.
func TestList_FindsTheHistoryOfAnEventAmongMany(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	quiet := mongodb.NewID()
	record(w, made(quiet, holdfast.ChangeLockCreated, 1))
	addHistory(w, mongodb.NewID)
	record(w, made(quiet, holdfast.ChangeLockReleased, 2))
	number(w)
	if got, _ := list(w, nil, changes.Filter{EventID: quiet}, 10); !slices.Equal(revisions(got), []int64{1, 2}) {
		t.Errorf("the history is %v", revisions(got))
	}
	types, err := changes.TypesOf("holdfast.lock.released")
	if err != nil {
		t.Fatal(err)
	}
	wantRare(w, changes.Filter{Types: types})
}

// A rare type of an event that sells all the time is found in several pages, of which each is bounded.
func TestList_FindsARareTypeOfAHotEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	hot := mongodb.NewID()
	record(w, made(hot, holdfast.ChangeLockCreated, 1))
	addHistory(w, func() holdfast.ID { return hot })
	record(w, made(hot, holdfast.ChangeLockReleased, 2))
	number(w)
	wantRare(w, changes.Filter{EventID: hot, Types: []holdfast.ChangeType{holdfast.ChangeLockReleased}})
}

// All of a page is read at one snapshot: a token never passes over a change that an older one did not have.
func TestList_ReadsAPageAtOneSnapshot(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := mongodb.NewID()
	for n := range int64(3) {
		record(w, made(event, holdfast.ChangeLockChanged, n))
	}
	number(w)
	var mu sync.Mutex
	var times []string
	own := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &monitor.CommandMonitor{Started: func(_ context.Context, e *monitor.CommandStartedEvent) {
			mu.Lock()
			defer mu.Unlock()
			if name := e.CommandName; name == "find" || name == "aggregate" {
				times = append(times, e.Command.Lookup("readConcern", "level").StringValue()+e.Command.Lookup("readConcern", "atClusterTime").String())
			}
		}}
	})
	for _, f := range []changes.Filter{{}, {EventID: event}} {
		mu.Lock()
		times = nil
		mu.Unlock()
		if got, _ := list(own, nil, f, 10); len(got) != 3 {
			t.Errorf("listed %d changes", len(got))
		}
		mu.Lock()
		// The first read takes the snapshot, and the others name it.
		if len(times) < 2 || times[0] != "snapshot" || len(slices.Compact(times[1:])) != 1 || len(times[1]) <= len("snapshot") {
			t.Errorf("the reads have %q", times)
		}
		mu.Unlock()
	}
}
