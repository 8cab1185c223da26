package expiry_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// profiled is MongoDB's profile of one operation.
type profiled struct {
	NS           string   `bson:"ns"`
	Op           string   `bson:"op"`
	Docs         int      `bson:"docsExamined"`
	Keys         int      `bson:"keysExamined"`
	Returned     int      `bson:"nreturned"`
	Matched      int      `bson:"nMatched"`
	Plan         string   `bson:"planSummary"`
	HasSortStage bool     `bson:"hasSortStage"`
	Command      bson.Raw `bson:"command"`
}

// profile runs do and returns MongoDB's profiles of its operations.
func profile(t *testing.T, w *testenv.Env, do func()) (all []profiled) {
	t.Helper()
	level := func(n int) {
		if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "profile", Value: n}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	level(0)
	if err := w.DB.Collection("system.profile").Drop(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	level(2)
	do()
	level(0)
	cursor, err := w.DB.Collection("system.profile").Find(w.Ctx(),
		bson.D{{Key: "ns", Value: bson.D{{Key: "$ne", Value: w.DB.Name() + ".system.profile"}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := cursor.All(w.Ctx(), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// examined runs do and returns MongoDB's profiles of its reads of a collection.
func examined(t *testing.T, w *testenv.Env, collection string, do func()) (reads []profiled) {
	t.Helper()
	for _, p := range profile(t, w, do) {
		if p.NS == w.DB.Name()+"."+collection && (p.Op == "command" || p.Op == "query") {
			reads = append(reads, p)
		}
	}
	return reads
}

// fill adds documents of all kinds that are not due.
func fill(t *testing.T, w *testenv.Env) (event, user holdfast.ID) {
	t.Helper()
	event, user = w.Event(1_000_000), mongodb.NewID()
	others := []holdfast.ID{w.Event(1000), w.Event(1000), event}
	var locks, bookings []any
	add := func(event, user holdfast.ID, status, bookingStatus string, at time.Time) {
		id := mongodb.NewID()
		locks = append(locks, bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
			{Key: "seats", Value: 1}, {Key: "status", Value: status}, {Key: "expiresAt", Value: at}, {Key: "idempotencyKey", Value: id.String()}})
		bookings = append(bookings, bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
			{Key: "seatLockId", Value: id}, {Key: "seats", Value: 1}, {Key: "status", Value: bookingStatus}, {Key: "paymentExpiresAt", Value: at}})
	}
	for i := range 2000 {
		owner := mongodb.NewID()
		if i%100 == 0 {
			owner = user
		}
		add(others[i%3], owner, "ACTIVE", "PAYMENT_PENDING", time.Now().Add(time.Hour))
		add(others[i%3], owner, "EXPIRED", "EXPIRED", time.Now().Add(-time.Hour))
		if i%50 == 0 {
			add(others[i%3], owner, "ACTIVE", "PAYMENT_PENDING", time.Now().Add(-time.Hour))
		}
		if i%20 == 0 { // ended long ago; every second one has no date of its end
			old := time.Now().Add(-48 * time.Hour)
			add(others[i%3], owner, "EXPIRED", "EXPIRED", old)
			if i%40 == 0 {
				locks[len(locks)-1] = append(locks[len(locks)-1].(bson.D), bson.E{Key: "updatedAt", Value: old})
			}
		}
		if i%200 == 0 {
			add(others[i%3], owner, "RELEASED", "INITIATED", time.Now().Add(-time.Hour))
		}
	}
	for name, docs := range map[string][]any{"seatlocks": locks, "bookings": bookings} {
		if _, err := w.DB.Collection(name).InsertMany(w.Ctx(), docs); err != nil {
			t.Fatal(err)
		}
	}
	return event, user
}

// Sweeps and lists by event examine no more than they return; sums are covered by an
// index; other lists are bounded. For joins see joined_queries_test.go.
func TestQueries_ExamineNoMoreThanTheyReturn(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, user := fill(t, w)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	page := holdfast.Page{Size: 50}
	for _, c := range []struct {
		name, collection string
		do               func()
	}{
		{"list by event", "seatlocks", func() { _, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{EventID: &event}, page); must(err) }},
		{"list by event and status", "seatlocks", func() {
			_, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{EventID: &event, Status: holdfast.LockActive}, page)
			must(err)
		}},
		{"list by event and user", "seatlocks", func() {
			_, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{EventID: &event, UserID: &user}, page)
			must(err)
		}},
		{"list by user", "seatlocks", func() { _, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{UserID: &user}, page); must(err) }},
		{"bookings by event", "bookings", func() {
			_, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{EventID: &event}, page)
			must(err)
		}},
		{"bookings by event and status", "bookings", func() {
			_, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{EventID: &event, Status: holdfast.BookingPending}, page)
			must(err)
		}},
		{"booking sweep", "bookings", func() { w.SweepBookings() }},
		{"lock sweep", "seatlocks", func() { w.SweepLocks() }},
		{"retention", "seatlocks", func() {
			none := func(context.Context, []holdfast.ID) error { return nil }
			must(w.Store.EachPurgeable(w.Ctx(), time.Now().Add(-24*time.Hour), testenv.Batch, none))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := examined(t, w, c.collection, c.do)
			if len(reads) == 0 {
				t.Error("no read was profiled")
			}
			for _, p := range reads {
				if strings.Contains(p.Plan, "COLLSCAN") || p.Docs > p.Returned {
					t.Errorf("examined %d documents and %d keys for %d, by %s: %s", p.Docs, p.Keys, p.Returned, p.Plan, p.Command)
				}
			}
		})
	}
	for _, p := range examined(t, w, "seatlocks", func() {
		must(w.Store.EachEvent(w.Ctx(), store.AllEvents, 1000, func(page store.EventPage) error {
			_, err := w.Store.Audit(w.Ctx(), page)
			return err
		}))
		must(w.Store.EachLock(w.Ctx(), nil, holdfast.LockConsumed, 1000, func([]holdfast.ID) error { return nil }))
	}) {
		if p.Docs > 0 {
			t.Errorf("audit: it examined %d documents, by %s", p.Docs, p.Plan)
		}
	}
	for _, p := range examined(t, w, "seatlocks", func() {
		_, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{Status: holdfast.LockConsumed}, page)
		must(err)
	}) {
		if p.Docs > 10_000 {
			t.Errorf("list by status: examined %d documents", p.Docs)
		}
	}
}

// Lists by the shop's reference read its index, and no documents that they don't return.
func TestQueries_ByReferenceReadItsIndex(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	fill(t, w)
	for range 200 { // of a few events MongoDB reads all
		w.Insert("events", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "totalSeats", Value: 1}, {Key: "availableSeats", Value: 1}})
	}
	const reference = "order-17"
	for _, name := range []string{"events", "seatlocks", "bookings"} {
		collection := w.DB.Collection(name)
		first, err := mongodb.FirstIDs(w.Ctx(), collection, bson.D{}, 2)
		if err != nil {
			t.Fatal(err)
		}
		set := bson.D{{Key: "$set", Value: mongodb.Is("reference", reference)}}
		if _, err := collection.UpdateMany(w.Ctx(), mongodb.In("_id", first), set); err != nil {
			t.Fatal(err)
		}
	}
	page := holdfast.Page{Size: 50}
	for _, c := range []struct {
		name, collection string
		want             int
		list             func() (int, error)
	}{
		{"events", "events", 2, func() (int, error) {
			found, _, err := w.Seats.ListEvents(w.Ctx(), holdfast.EventFilter{Reference: reference}, page)
			return len(found), err
		}},
		{"locks", "seatlocks", 2, func() (int, error) {
			found, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{Reference: reference}, page)
			return len(found), err
		}},
		{"locks with a status", "seatlocks", 1, func() (int, error) {
			found, _, err := w.Seats.ListLocks(w.Ctx(), holdfast.LockFilter{Reference: reference, Status: holdfast.LockExpired}, page)
			return len(found), err
		}},
		{"bookings", "bookings", 2, func() (int, error) {
			found, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{Reference: reference}, page)
			return len(found), err
		}},
		{"bookings with a status", "bookings", 1, func() (int, error) {
			found, _, err := w.Bookings.ListBookings(w.Ctx(), holdfast.BookingFilter{Reference: reference, Status: holdfast.BookingExpired}, page)
			return len(found), err
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := examined(t, w, c.collection, func() {
				if n, err := c.list(); err != nil || n != c.want {
					t.Errorf("%d, %v; want %d", n, err, c.want)
				}
			})
			usesIndex := false
			for _, p := range reads {
				usesIndex = usesIndex || strings.Contains(p.Plan, "{ reference: 1, status: 1, _id: 1 }")
				if strings.Contains(p.Plan, "COLLSCAN") || p.Docs > p.Returned || p.Keys > 4*c.want {
					t.Errorf("examined %d documents and %d keys for %d, by %s: %s", p.Docs, p.Keys, p.Returned, p.Plan, p.Command)
				}
			}
			if !usesIndex {
				t.Errorf("none of %d reads used the index", len(reads))
			}
		})
	}
}
