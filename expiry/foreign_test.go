package expiry_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// foreignIDs are values of _id that are no ObjectID.
func foreignIDs(t *testing.T) []any {
	t.Helper()
	decimal, err := bson.ParseDecimal128("1.5")
	if err != nil {
		t.Fatal(err)
	}
	return []any{
		"text", 7, int64(1) << 40, 2.5, decimal, bson.D{{Key: "a", Value: 1}}, bson.Binary{Data: []byte("x")},
		true, time.Unix(1, 0), bson.Timestamp{T: 1}, bson.MinKey{}, bson.MaxKey{}, nil, holdfast.ID{},
	}
}

// pastLock is an ACTIVE lock of other software that became due an hour ago.
func pastLock(id any, event holdfast.ID, seats any, more ...bson.E) bson.D {
	return append(bson.D{
		{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "seats", Value: seats}, {Key: "status", Value: "ACTIVE"},
		{Key: "expiresAt", Value: time.Now().Add(-time.Hour).Truncate(time.Hour)},
	}, more...)
}

// Other software has written revisions that MongoDB can't raise. Each event is set aside
// after one rejection, and reported once; the locks of the others end.
func TestSweeps_RejectedEventsStarveNoOthers(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	broken := make([]holdfast.ID, 12)
	for i := range broken {
		broken[i] = w.Event(100)
		for range 3 {
			lock := w.Acquire(broken[i], 1, testenv.Soon())
			w.Book(lock, testenv.Past())
			w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-2 * time.Hour)}})
		}
		w.Set("events", broken[i], bson.D{{Key: "internal", Value: "3-abc"}})
	}
	event := w.Event(100)
	var good []holdfast.Lock
	for range 5 {
		good = append(good, w.Acquire(event, 1, testenv.Past()))
	}
	paid := w.Acquire(event, 1, testenv.Soon())
	b := w.Book(paid, testenv.Past())
	w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Minute)}}) // the last in order
	for range 2 {
		if report := w.SweepLocks(); report.Errors > 0 {
			t.Errorf("locks: %+v", report)
		}
		if report := w.SweepBookings(); report.Errors > 0 {
			t.Errorf("bookings: %+v", report)
		}
	}
	for _, lock := range append(good, paid) {
		if status := w.Lock(lock.ID).Status; status != holdfast.LockExpired {
			t.Errorf("a good lock is %s", status)
		}
	}
	if lines := w.Log.Lines("WARN Set aside"); len(lines) != len(broken) {
		t.Errorf("%d lines for %d events: %v", len(lines), len(broken), lines)
	}
	if report := w.Recover(); report.Errors > 0 {
		t.Errorf("recovery: %+v", report)
	}
	if available, _ := w.Available(event); available != 100 {
		t.Errorf("%d seats are available", available)
	}
}

// Other software keeps fields of its own that have the names of fields of the former version. The
// event sells, refuses, is swept and repaired, and its locks end.
func TestSweeps_ForeignRevisionsDoNotMatter(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"a text": "3-abc", "a fraction": 1.5, "a document": bson.D{}, "null": nil, "a list": bson.A{int64(1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.Event(10)
			for _, field := range []string{"rev", "fixes", "fence", "sweptRev"} {
				w.Set("events", event, bson.D{{Key: field, Value: value}})
			}
			due, sold := w.Acquire(event, 1, testenv.Past()), w.Acquire(event, 2, testenv.Soon())
			b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Past())
			for _, id := range []holdfast.ID{due.ID, sold.ID, b.LockID} {
				w.Set("seatlocks", id, bson.D{{Key: "rev", Value: value}})
			}
			if _, err := w.Bookings.ConfirmBooking(w.Ctx(), w.Book(sold, testenv.Soon()).ID, holdfast.Charge{}); err != nil {
				t.Error(err)
			}
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 9, Key: "key"})
			if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
				t.Error(err)
			}
			locks, bookings := w.SweepLocks(), w.SweepBookings()
			if locks.Errors+locks.Skipped+bookings.Errors+bookings.Skipped > 0 || w.Lock(due.ID).Status == holdfast.LockActive ||
				w.Booking(b.ID).Status != holdfast.BookingExpired {
				t.Errorf("locks %+v, bookings %+v", locks, bookings)
			}
			w.Set("events", event, bson.D{{Key: "availableSeats", Value: 3}})
			if report := w.Recover(); report.Corrections != 1 || report.Errors+report.Reported > 0 {
				t.Errorf("recovery: %+v", report)
			}
			if available, _ := w.Available(event); available != 8 {
				t.Errorf("%d seats are available", available)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// MongoDB rejects one lock of a full page. The others of the page, and of the pages behind
// it, end nevertheless.
func TestSweepLocks_FullPageWithARejectedLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	var locks []holdfast.Lock
	for i := range 9 {
		locks = append(locks, w.Acquire(event, 1, holdfast.Until{At: time.Now().Add(time.Duration(i-100) * time.Minute)}))
	}
	rejected := locks[1].ID
	reject := bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: bson.D{{Key: "$nor", Value: bson.A{
		bson.D{{Key: "_id", Value: rejected}, {Key: "status", Value: "EXPIRED"}},
	}}}}}
	if err := w.DB.RunCommand(w.Ctx(), reject).Err(); err != nil {
		t.Fatal(err)
	}
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 4}
	report, err := small.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
	if err != nil || report.Applied != 8 || report.Skipped != 1 || report.Errors != 0 {
		t.Errorf("got %+v, %v; want 8 applied, 1 skipped", report, err)
	}
	for _, lock := range locks {
		if ended := w.Lock(lock.ID).Status == holdfast.LockExpired; ended == (lock.ID == rejected) {
			t.Errorf("lock %s is %s", lock.ID, w.Lock(lock.ID).Status)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Locks and bookings whose _id is no ObjectID are set aside. They hide no others behind
// them, and delay no other lock of their event.
func TestSweeps_SetForeignIDsAside(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	for _, id := range foreignIDs(t) {
		w.Insert("seatlocks", pastLock(id, event, 1))
		w.Insert("bookings", bson.D{{Key: "_id", Value: id}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "seatLockId", Value: id},
			{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)}})
		w.Insert("bookings", bson.D{{Key: "_id", Value: ids.New()}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "seatLockId", Value: id},
			{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)}})
	}
	for range 3 {
		w.Insert("seatlocks", pastLock(ids.New(), event, 1, bson.E{Key: "internal", Value: bson.D{{Key: "rev", Value: "x"}}}))
		w.Insert("seatlocks", pastLock(ids.New(), event, bson.A{1}))
	}
	var good []holdfast.ID
	for range 5 {
		good = append(good, ids.New())
		w.Insert("seatlocks", pastLock(good[len(good)-1], event, 1))
	}
	b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Past())
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 2}
	foreign := len(foreignIDs(t))
	for round := range 2 {
		report, err := small.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
		if err != nil || report.Errors != 0 || report.Skipped != foreign+6 {
			t.Errorf("locks, round %d: %+v, %v", round, report, err)
		}
		report, err = small.SweepBookings(w.Ctx(), w.Run(holdfast.EndedByBookingExpiry))
		if err != nil || report.Errors != 0 || report.Skipped != foreign {
			t.Errorf("bookings, round %d: %+v, %v %v", round, report, err, w.Log.Lines("aside: M"))
		}
	}
	for _, id := range good {
		if status := w.Lock(id).Status; status != holdfast.LockExpired {
			t.Errorf("a good lock is %s", status)
		}
	}
	if status := w.Booking(b.ID).Status; status != holdfast.BookingExpired {
		t.Errorf("the good booking is %s", status)
	}
	if lines := w.Log.Lines("WARN Set aside"); len(lines) != 2*foreign+6 {
		t.Errorf("%d lines: %v", len(lines), lines)
	}
	open, err := w.DB.Collection("bookings").CountDocuments(w.Ctx(), bson.D{{Key: "status", Value: "PAYMENT_PENDING"}})
	if err != nil || open != int64(foreign) {
		t.Errorf("%d bookings are open, want the %d with a foreign _id: %v", open, foreign, err)
	}
}

// Times that MongoDB calls passed, but that are no date or the zero time of Go.
func TestSweeps_TimesAtTheEdge(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	zero := bson.DateTime(time.Time{}.UnixMilli())
	past := bson.NewDateTimeFromTime(time.Now().Add(-time.Hour))
	type row struct {
		time  any
		ended bool
	}
	rows := []row{{zero, true}, {zero - 1, true}, {bson.DateTime(-1 << 63), true}, {past, true},
		{bson.DateTime(1<<63 - 1), false}, {bson.A{past, past}, false}, {bson.A{zero}, false}, {"2020-01-01", false}, {nil, false}}
	locks, bookings := make([]holdfast.ID, len(rows)), make([]holdfast.ID, len(rows))
	for i, r := range rows {
		locks[i], bookings[i] = ids.New(), ids.New()
		w.Insert("seatlocks", bson.D{{Key: "_id", Value: locks[i]}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1},
			{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: r.time}})
		w.Insert("bookings", bson.D{{Key: "_id", Value: bookings[i]}, {Key: "status", Value: "PAYMENT_PENDING"},
			{Key: "seatLockId", Value: ids.New()}, {Key: "paymentExpiresAt", Value: r.time}})
	}
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 1}
	if report, err := small.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry)); err != nil || report.Applied != 4 || report.Errors > 0 {
		t.Errorf("locks: %+v, %v", report, err)
	}
	report, err := small.SweepBookings(w.Ctx(), w.Run(holdfast.EndedByBookingExpiry))
	if err != nil || report.Applied != 4 || report.Errors > 0 || report.Skipped != 3 { // those that are no date, but not the one without
		t.Errorf("bookings: %+v, %v", report, err)
	}
	for i, r := range rows {
		if ended := w.Lock(locks[i]).Status == holdfast.LockExpired; ended != r.ended {
			t.Errorf("a lock that expires at %v is %s", r.time, w.Lock(locks[i]).Status)
		}
		if ended := w.Booking(bookings[i]).Status == holdfast.BookingExpired; ended != r.ended {
			t.Errorf("a booking whose window ends at %v is %s", r.time, w.Booking(bookings[i]).Status)
		}
	}
}

// Two bookings name one lock that has ended, or that does not exist. Both end.
func TestSweepBookings_TwoOfOneEndedLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	ended := w.Acquire(w.Event(10), 1, testenv.Past()).ID
	w.SweepLocks()
	for _, lock := range []holdfast.ID{ended, ended, {}, {}} {
		w.Insert("bookings", bson.D{{Key: "_id", Value: ids.New()}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "seatLockId", Value: lock},
			{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)}})
		w.Insert("bookings", bson.D{{Key: "_id", Value: ids.New()}, {Key: "status", Value: "INITIATED"}, {Key: "seatLockId", Value: lock}})
	}
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 2}
	report, err := small.SweepBookings(w.Ctx(), w.Run(holdfast.EndedByBookingExpiry))
	if want := (expiry.Report{Found: 8, Applied: 8}); err != nil || report != want {
		t.Errorf("got %+v, %v; want %+v", report, err, want)
	}
}
