package store_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Every query of a sale names the event of its locks and bookings, so that in a sharded cluster it goes to one shard. Two
// don't: the live bookings of a lock count whatever event they name, and the lock of a new booking is read by its ID alone.
func TestSale_EveryQueryNamesTheEvent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var unnamed []string
	queries := 0
	w := testenv.New(t)
	process := watched(t, w, &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		mu.Lock()
		defer mu.Unlock()
		for _, q := range queriesOf(e.CommandName, e.Command) {
			if queries++; !hasField(q, "eventId") && !strings.Contains(q.String(), "seatLockId") && !isByID(q) {
				unnamed = append(unnamed, q.String())
			}
		}
	}})
	eventID, user := process.Event(10), mongodb.NewID()
	submit := func(c inventory.Command) inventory.Result {
		result, _ := process.Pipeline.Submit(t.Context(), eventID, c)
		return result
	}
	acquire := func(seats int64, key string, until holdfast.Until) holdfast.ID {
		request := holdfast.LockRequest{EventID: eventID, UserID: user, Seats: seats, Key: key, Until: until}
		if result := submit(inventory.Acquire{LockRequest: request, LockID: mongodb.NewID()}); result.Lock != nil {
			return result.Lock.ID
		}
		return holdfast.ID{}
	}
	book := func(lock holdfast.ID) holdfast.ID {
		b := mongodb.NewID()
		_, err := process.Pipeline.Do(t.Context(), inventory.Book{BookingID: b, BookingRequest: holdfast.BookingRequest{
			EventID: eventID, UserID: user, LockID: lock, Window: testenv.Soon()}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	limit := int64(9)
	if _, err := process.Seats.UpdateEvent(t.Context(), eventID, holdfast.EventChange{MaxSeatsPerUser: &limit}); err != nil {
		t.Fatal(err)
	}
	first := acquire(2, "k", testenv.Soon())
	if again := acquire(2, "k", testenv.Soon()); again != first || first.IsZero() {
		t.Errorf("the repeat got %s, want %s", again, first)
	}
	acquire(9, "above the limit", testenv.Soon())
	acquire(3, "", testenv.Past())
	user = mongodb.NewID()
	acquire(8, "takes what is due", testenv.Soon())
	user = mongodb.NewID()
	if !acquire(1, "sold out", testenv.Soon()).IsZero() {
		t.Error("a seat was sold twice")
	}
	submit(inventory.Release{LockID: first})
	second := acquire(2, "", testenv.Soon())
	b := book(second)
	submit(inventory.Confirm{BookingID: b, LockID: mongodb.NewID(), EventID: eventID})
	r := submit(inventory.Cancel{BookingID: b, LockID: second, EventID: eventID})
	if r.Booking == nil || r.Booking.Status != holdfast.BookingCancelled {
		t.Errorf("cancelled: %+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	slices.Sort(unnamed)
	if unnamed = slices.Compact(unnamed); len(unnamed) > 0 || queries < 30 {
		t.Errorf("of %d queries these name no event: %q", queries, unnamed)
	}
}

// queriesOf are the filters by which a command finds locks and bookings, and the ones that it inserts.
func queriesOf(name string, command bson.Raw) (queries []bson.Raw) {
	collection, _ := command.Index(0).Value().StringValueOK()
	ofLocks := func(collection string) bool { return collection == "seatlocks" || collection == "bookings" }
	lists := map[string]string{"insert": "documents", "update": "updates", "delete": "deletes", "aggregate": "pipeline"}
	switch {
	case name == "find" && ofLocks(collection):
		return []bson.Raw{command.Lookup("filter").Document()}
	case name == "aggregate" && ofLocks(collection):
		queries = append(queries, command.Lookup("pipeline", "0").Document())
	case name == "insert" && ofLocks(collection), name == "update" && ofLocks(collection), name == "delete" && ofLocks(collection):
		for _, v := range valuesOf(command.Lookup(lists[name])) {
			queries = append(queries, v.Document())
		}
	}
	if name == "aggregate" {
		for _, stage := range valuesOf(command.Lookup("pipeline")) {
			if from, _ := stage.Document().Lookup("$lookup", "from").StringValueOK(); ofLocks(from) {
				queries = append(queries, stage.Document())
			}
		}
	}
	return queries
}

func valuesOf(list bson.RawValue) []bson.RawValue {
	array, _ := list.ArrayOK()
	values, _ := array.Values()
	return values
}

// isByID reports whether a stage matches one document by its ID alone.
func isByID(stage bson.Raw) bool {
	conditions := valuesOf(stage.Lookup("$match", "$and"))
	if len(conditions) != 1 {
		return false
	}
	_, isOne := conditions[0].Document().Lookup("_id").ObjectIDOK()
	return isOne
}

// hasField reports whether a document has a field, at any depth.
func hasField(doc bson.Raw, name string) bool {
	elements, _ := doc.Elements()
	return slices.ContainsFunc(elements, func(e bson.RawElement) bool {
		if e.Key() == name {
			return true
		}
		if list, ok := e.Value().ArrayOK(); ok {
			return hasField(bson.Raw(list), name)
		}
		inner, ok := e.Value().DocumentOK()
		return ok && hasField(inner, name)
	})
}
