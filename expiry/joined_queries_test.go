package expiry_test

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// aggregates are the profiles of the aggregations of all collections. The reads of a join
// count in the profile of its aggregation.
func aggregates(t *testing.T, w *testenv.Env, do func()) (list []profiled) {
	t.Helper()
	for _, p := range profile(t, w, do) {
		if _, err := p.Command.LookupErr("aggregate"); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// A request reads its event and its other needs by one aggregation per snapshot. It
// examines only the documents that it returns, however many locks and bookings the event
// and its users have.
func TestQueries_JoinedReadsExamineWhatTheyReturn(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	sale, user := fill(t, w)
	soldOut, limited, reclaimed := newSoldOutEvent(t, w, user, 0), newSoldOutEvent(t, w, user, 0), newSoldOutEvent(t, w, user, 7)
	w.Set("events", limited, bson.D{{Key: "maxSeatsPerUser", Value: 1_000_000}, {Key: "availableSeats", Value: 5}})
	held := count(t, w, "seatlocks", bson.D{{Key: "eventId", Value: limited}, {Key: "userId", Value: user}, {Key: "status", Value: "ACTIVE"}})
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	acquire := func(event holdfast.ID, seats int64, key string) (holdfast.Lock, error) {
		lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: user, Seats: seats, Key: key})
		return lock, err
	}
	refused := func(event holdfast.ID, key string) {
		t.Helper()
		if _, err := acquire(event, 1000, key); !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
			t.Fatal(err)
		}
	}
	lock := func() holdfast.Lock { return w.Acquire(sale, 1, testenv.Soon()) }
	booked := func() holdfast.Booking { return w.Book(lock(), testenv.Soon()) }
	initiated := w.Book(lock(), holdfast.Until{})
	first, second, third, fourth, fifth := lock(), booked(), booked(), booked(), lock()
	must(acquire(sale, 1, "used"))
	var sold holdfast.Booking
	for _, c := range []struct {
		name string
		do   func()
		most int // documents that a read may examine
	}{
		{"sold out", func() { refused(soldOut, "") }, 1},
		{"sold out, with a new key", func() { refused(soldOut, "new") }, 1},
		{"a key that was used", func() { must(acquire(sale, 1, "used")) }, 2}, // event, lock
		{"limits", func() { must(acquire(limited, 1, "")) }, 1 + held},
		{"reclaim", func() { must(acquire(reclaimed, 7, "")) }, 1 + 7},
		{"release", func() { must(w.Seats.ReleaseLock(w.Ctx(), first.ID)) }, 2},                       // event, lock
		{"release of a booked lock", func() { must(w.Seats.ReleaseLock(w.Ctx(), second.LockID)) }, 3}, // and its booking
		{"cancel", func() { must(w.Bookings.CancelBooking(w.Ctx(), third.ID)) }, 3},
		{"extend", func() { must(w.Seats.ExtendLock(w.Ctx(), fifth.ID, testenv.Soon())) }, 2},
		{"book", func() { w.Book(fifth, testenv.Soon()) }, 2},
		{"book again", func() { w.Book(fifth, testenv.Soon()) }, 3},
		{"pay", func() { must(w.Bookings.PayBooking(w.Ctx(), initiated.ID, testenv.Soon())) }, 3},
		{"confirm", func() { must(w.Bookings.ConfirmBooking(w.Ctx(), fourth.ID, holdfast.Charge{Reference: "ref"})) }, 3},
		{"sell", func() { sold = sellAtOnce(w, sale, 1, 100, "guest", "paid at once") }, 1},
		{"sell again", func() { sellAtOnce(w, sale, 1, 100, "guest", "paid at once") }, 4}, // event, lock, booking, payment
		{"change a booking", func() {
			change(w, sold.ID, holdfast.BookingChange{
				Seats: 2, Payment: holdfast.Charge{Reference: "more"}, Refund: &holdfast.PartRequest{Amount: 1}, Key: "key",
			})
		}, 4}, // event, lock, booking, the payment of the part
		{"change it again", func() { change(w, sold.ID, holdfast.BookingChange{Seats: 2}) }, 3},
		{"transfer", func() { transfer(w, sold.ID, "other guest") }, 3},
		{"a part", func() {
			_, _, err := w.Bookings.RefundPart(w.Ctx(), sold.Payments[0].ID, 1, "")
			must(nil, err)
		}, 1},
		{"cancel what is sold", func() { must(w.Bookings.CancelBooking(w.Ctx(), sold.ID)) }, 5},        // with two payments
		{"refund", func() { must(w.Bookings.RefundPayment(w.Ctx(), sold.Payments[0].ID, "back")) }, 4}, // with booking, lock and event
	} {
		t.Run(c.name, func(t *testing.T) {
			reads := aggregates(t, w, c.do)
			if len(reads) == 0 {
				t.Error("no read was profiled")
			}
			for _, p := range reads {
				if strings.Contains(p.Plan, "COLLSCAN") || p.Docs > c.most {
					t.Errorf("a read examined %d documents, want at most %d, by %s: %s", p.Docs, c.most, p.Plan, p.Command)
				}
			}
		})
	}
}

// newSoldOutEvent makes an event that is sold out, to the user and to other users, with bookings,
// ended locks and due locks.
func newSoldOutEvent(t *testing.T, w *testenv.Env, user holdfast.ID, due int) holdfast.ID {
	t.Helper()
	const each = 500
	event := w.Event(2*each + int64(due))
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 0}})
	var locks, bookings []any
	add := func(user holdfast.ID, status string, at time.Time) {
		id := mongodb.NewID()
		locks = append(locks, bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
			{Key: "seats", Value: 1},
			{Key: "status", Value: status}, {Key: "expiresAt", Value: at}, {Key: "idempotencyKey", Value: id.String()}})
		bookings = append(bookings, bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
			{Key: "seatLockId", Value: id}, {Key: "seats", Value: 1}, {Key: "status", Value: "INITIATED"}})
	}
	for i := range each {
		owner := mongodb.NewID()
		if i%50 == 0 {
			owner = user
		}
		add(owner, "ACTIVE", time.Now().Add(time.Hour))
		add(mongodb.NewID(), "CONSUMED", time.Now().Add(-time.Hour))
		add(owner, "EXPIRED", time.Now().Add(-time.Hour))
	}
	for range due {
		add(mongodb.NewID(), "ACTIVE", time.Now().Add(-time.Minute))
	}
	for name, docs := range map[string][]any{"seatlocks": locks, "bookings": bookings} {
		if _, err := w.DB.Collection(name).InsertMany(w.Ctx(), docs); err != nil {
			t.Fatal(err)
		}
	}
	return event
}

func count(t *testing.T, w *testenv.Env, collection string, filter bson.D) int {
	t.Helper()
	n, err := w.DB.Collection(collection).CountDocuments(w.Ctx(), filter)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
