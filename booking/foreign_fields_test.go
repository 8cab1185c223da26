package booking_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Other software keeps fields of its own in events, locks and bookings, such as the number of places
// sold. Some have the name under which a decision reads other documents. They change no answer.
func TestForeignFields_AreNotReadAsOtherDocuments(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"a number": 120, "a text": "sold", "a document": bson.D{{Key: "_id", Value: 1}}, "null": nil,
		"documents": bson.A{bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "seats", Value: int64(7)}, {Key: "status", Value: "ACTIVE"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.Event(10)
			f := foreignFields{w, event, value}
			ok := func(err error) {
				t.Helper()
				if err != nil {
					t.Error(err)
				}
			}
			f.mark("events", event)
			one := int64(8)
			_, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{MaxSeatsPerUser: &one})
			ok(err)

			_, err = w.Store.Load(w.Ctx(), event, inventory.Needs{Event: true}) // as a process that does not remember it
			ok(err)
			_, err = w.Seats.ReleaseLock(w.Ctx(), f.lock(testenv.Soon()).ID)
			ok(err)
			_, err = w.Seats.ExtendLock(w.Ctx(), f.lock(testenv.Soon()).ID, testenv.Soon())
			ok(err)
			confirmed := f.booked()
			_, err = w.Bookings.ConfirmBooking(w.Ctx(), confirmed.ID, holdfast.Charge{Reference: "paid"})
			ok(err)
			_, err = w.Bookings.CancelBooking(w.Ctx(), f.booked().ID)
			ok(err)
			request := holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1, Key: "key"}
			first, _, err := w.Seats.AcquireLock(w.Ctx(), request)
			ok(err)
			f.mark("seatlocks", first.ID)
			again, replayed, err := w.Seats.AcquireLock(w.Ctx(), request)
			if ok(err); !replayed || again.ID != first.ID {
				t.Errorf("the key's lock is %s, replayed %t; want %s", again.ID, replayed, first.ID)
			}
			pending := f.booked()
			w.Set("bookings", pending.ID, bson.D{{Key: "paymentExpiresAt", Value: testenv.Past().At}})
			due := f.lock(testenv.Past())
			if report := w.SweepBookings(); report.Applied != 1 || report.Errors > 0 {
				t.Errorf("sweep of bookings: %+v", report)
			}
			if report := w.SweepLocks(); report.Applied != 1 || report.Errors > 0 {
				t.Errorf("sweep of locks: %+v", report)
			}
			w.Set("events", event, bson.D{{Key: "availableSeats", Value: int64(0)}})
			if report := w.Recover(); report.Corrections != 1 || report.Errors > 0 {
				t.Errorf("recovery: %+v", report)
			}
			for id, want := range map[holdfast.ID]holdfast.LockStatus{
				due.ID: holdfast.LockExpired, pending.LockID: holdfast.LockExpired, confirmed.LockID: holdfast.LockConsumed,
			} {
				if status := w.Lock(id).Status; status != want {
					t.Errorf("lock %s is %s, want %s", id, status, want)
				}
			}
			if available, _ := w.Available(event); available != 7 { // one confirmed, one extended, one with a key
				t.Errorf("%d seats are available, want 7", available)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// foreignFields gives documents fields of other software.
type foreignFields struct {
	*testenv.Env

	event holdfast.ID
	value any
}

func (f foreignFields) mark(collection string, id holdfast.ID) {
	value := f.value
	if list, isList := value.(bson.A); isList { // documents that would change the answer if they were read
		value = append(list, bson.D{{Key: "_id", Value: id}, {Key: "seatLockId", Value: id}, {Key: "status", Value: "CONFIRMED"}})
	}
	for _, field := range []string{
		"events", "locks", "live", "bookings", "keys", "holdings", "due", "dueSold", "sold", "taken", "now", "databaseNow",
	} {
		f.Set(collection, id, bson.D{{Key: field, Value: value}})
	}
}

func (f foreignFields) lock(until holdfast.Until) holdfast.Lock {
	f.T.Helper()
	lock := f.Acquire(f.event, 1, until)
	f.mark("seatlocks", lock.ID)
	return lock
}

func (f foreignFields) booked() holdfast.Booking {
	f.T.Helper()
	b := f.Book(f.lock(testenv.Soon()), testenv.Soon())
	f.mark("bookings", b.ID)
	return b
}
