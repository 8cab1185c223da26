package recovery_test

import (
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// MongoDB rejects the change of a sold lock, and of a counter. The pass reports them, and
// repairs the rest.
func TestRun_GoesOnDespiteRejectedDocuments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, broken := w.Event(100), w.Event(100)
	sales := make([]holdfast.Booking, 3)
	for i := range sales {
		sales[i] = w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), sales[i].ID, holdfast.Charge{}); err != nil {
			t.Fatal(err)
		}
		w.Set("seatlocks", sales[i].LockID, bson.D{{Key: "status", Value: "ACTIVE"}})
	}
	w.Set("seatlocks", sales[1].LockID, bson.D{{Key: "internal", Value: "x"}})
	w.Set("events", broken, bson.D{{Key: "internal", Value: "x"}, {Key: "availableSeats", Value: 50}})
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 50}})
	stale := w.Acquire(event, 1, testenv.Past())
	report := w.Recover()
	if report.Consumed != 2 || report.Errors != 0 || report.Reported < 2 {
		t.Errorf("got %+v; want 2 consumed, no errors, 2 reported", report)
	}
	for i, sale := range sales {
		if consumed := w.Lock(sale.LockID).Status == holdfast.LockConsumed; consumed == (i == 1) {
			t.Errorf("sold lock %d is %s", i, w.Lock(sale.LockID).Status)
		}
	}
	if available, _ := w.Available(event); available != 97 || w.Lock(stale.ID).Status != holdfast.LockExpired {
		t.Errorf("available %d, the stale lock is %s; want 97, EXPIRED", available, w.Lock(stale.ID).Status)
	}
}

// MongoDB rejects one counter of a page at every run. That is reported once, as this event's, and
// not as a failure of the page.
func TestReconcile_ReportsARejectedCounterOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	good, broken := w.Event(10), w.Event(10)
	w.Set("events", broken, bson.D{{Key: "internal", Value: "3-abc"}, {Key: "availableSeats", Value: 3}})
	for range 3 {
		w.Set("events", good, bson.D{{Key: "availableSeats", Value: 4}})
		report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
		if err != nil || report.Corrections != 1 || report.Reported != 1 {
			t.Errorf("%+v, %v; want the good event corrected, the other reported", report, err)
		}
	}
	if lines := w.Log.Lines("WARN [RECOVERY] Could not repair an event's counter; repair it manually"); len(lines) != 1 {
		t.Errorf("reported %d times: %v", len(lines), lines)
	}
	if lines := w.Log.Lines("WARN Correcting counters together failed"); len(lines) != 0 {
		t.Errorf("%d warnings of the page", len(lines))
	}
}

// The seats of an event's locks can't be added up. Its counter stays as it is, which is
// reported once; where it is impossible, nothing is sold.
func TestReconcile_CorrectsNothingByASumThatIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		locks   int
		seats   any
		counter any
	}{
		{"beyond exact numbers", 2, mongodb.MaxWhole, 3}, {"beyond the largest number", 1100, mongodb.MaxWhole, 3},
		{"one lock", 1, int64(1<<63 - 1), 3}, {"a double", 1, 1e300, 3}, {"no counter", 2, mongodb.MaxWhole, 2.5},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event, other := w.Event(10), w.Event(10)
			var locks []any
			for range row.locks {
				locks = append(locks, bson.D{{Key: "eventId", Value: event}, {Key: "seats", Value: row.seats},
					{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
			}
			if _, err := w.DB.Collection("seatlocks").InsertMany(w.Ctx(), locks); err != nil {
				t.Fatal(err)
			}
			w.Set("events", event, bson.D{{Key: "availableSeats", Value: row.counter}, {Key: "totalSeats", Value: 10}})
			w.Set("events", other, bson.D{{Key: "availableSeats", Value: 7}})
			for i := range 2 {
				report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
				if err != nil || report.Reported == 0 || report.Corrections != 1-i {
					t.Errorf("%+v, %v; want a report, and the other event's counter corrected", report, err)
				}
			}
			if available, _ := w.Available(other); available != 10 {
				t.Errorf("the other event's counter is %d", available)
			}
			if available, _ := w.Available(event); available > 3 {
				t.Errorf("%d seats are available", available)
			}
			if lines := w.Log.Lines("WARN [RECOVERY] An event's locks have too many seats"); len(lines) != 1 {
				t.Errorf("reported %d times", len(lines))
			}
			if plan, err := w.Recovery.Plan(w.Ctx()); err != nil || len(plan.Uncountable) != 1 || len(plan.Drifts) != 0 {
				t.Errorf("plan: %+v, %v", plan, err)
			}
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 4})
			if code := holdfast.CodeOf(err); code != holdfast.CodeSeatsUnavailable && code != holdfast.CodeUnavailable {
				t.Errorf("acquire: %v", err)
			}
			due := w.Acquire(other, 1, testenv.Past())
			if report := w.SweepLocks(); report.Errors > 0 || w.Lock(due.ID).Status != holdfast.LockExpired {
				t.Errorf("sweep: %+v", report)
			}
		})
	}
}

// Two CONFIRMED bookings name one lock, on whichever page they are.
func TestRun_ReportsLocksThatWereSoldTwice(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lock := w.Acquire(w.Event(10), 1, testenv.Soon())
	for _, id := range []any{ids.New(), "text"} {
		w.Insert("bookings", bson.D{{Key: "_id", Value: id}, {Key: "seatLockId", Value: lock.ID}, {Key: "status", Value: "CONFIRMED"}})
	}
	for range 2 {
		if report := w.Recover(); report.Reported != 1 {
			t.Errorf("%+v; want 1 reported", report)
		}
	}
	if lines := w.Log.Lines("WARN [RECOVERY] Lock with several CONFIRMED bookings"); len(lines) != 1 {
		t.Errorf("reported %d times", len(lines))
	}
	if plan, err := w.Recovery.Plan(w.Ctx()); err != nil || len(plan.DoubleSales) != 1 {
		t.Errorf("plan: %+v, %v", plan, err)
	}
	if status := w.Lock(lock.ID).Status; status != holdfast.LockConsumed {
		t.Errorf("the lock is %s", status)
	}
}

// Only a booking that names its lock by an ObjectID keeps the lock's seats: other shapes are told once.
func TestRecovery_ReportsSalesThatNameNoLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	named := w.Acquire(event, 1, testenv.Past())
	shapes := []any{named.ID, bson.A{}, "", nil, 1, holdfast.ID{}}
	for _, inList := range []bool{true, false} {
		lock := w.Acquire(event, 1, testenv.Past())
		if shapes = append(shapes, lock.ID.String()); inList {
			shapes[len(shapes)-1] = bson.A{lock.ID}
		}
	}
	for _, shape := range shapes {
		w.Insert("bookings", bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "seatLockId", Value: shape},
			{Key: "status", Value: "CONFIRMED"}})
	}
	for range 2 {
		if report := w.Recover(); report.Reported != len(shapes)-1 || report.Errors > 0 {
			t.Errorf("%+v; want %d reported", report, len(shapes)-1)
		}
	}
	if lines := w.Log.Lines("WARN [RECOVERY] CONFIRMED booking whose seatLockId is no ObjectID"); len(lines) != len(shapes)-1 {
		t.Errorf("%v", lines)
	}
	if plan, err := w.Recovery.Plan(t.Context()); err != nil || len(plan.EndedSales) != len(shapes)-1 {
		t.Errorf("%+v, %v", plan, err)
	}
	if available, _ := w.Available(event); w.Lock(named.ID).Status != holdfast.LockConsumed || available != 9 {
		t.Errorf("the lock is %s, %d of 10 seats are available", w.Lock(named.ID).Status, available)
	}
}

// Events and users whose _id is no ObjectID can't be named by any request. A pass says so, once.
func TestRecovery_ReportsForeignIDsOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	foreign := []any{"a", 1, true, time.Unix(1, 0), holdfast.ID{}}
	for _, id := range foreign {
		w.Insert("events", bson.D{{Key: "_id", Value: id}, {Key: "totalSeats", Value: 1}, {Key: "availableSeats", Value: 1}})
		w.Insert("users", bson.D{{Key: "_id", Value: id}, {Key: "name", Value: "A"}})
	}
	for range 2 {
		if report := w.Recover(); report.Reported != 2*len(foreign) || report.Errors > 0 {
			t.Errorf("%+v", report)
		}
	}
	if lines := w.Log.Lines("WARN [RECOVERY]"); len(lines) != 2*len(foreign) {
		t.Errorf("%v", lines)
	}
	if plan, err := w.Recovery.Plan(t.Context()); err != nil || plan.Foreign != int64(2*len(foreign)) {
		t.Errorf("%+v, %v", plan, err)
	}
}
