package recovery_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// The contract has log lines for a stale lock, a stale booking, a wrong counter and an INITIATED booking.
func TestRun_RepairsAfterAPartialFailure(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, user, lockID, bookingID := w.Event(100), mongodb.NewID(), mongodb.NewID(), mongodb.NewID()
	past := time.Date(2026, 1, 29, 6, 30, 0, 0, time.UTC)
	w.Insert("seatlocks", bson.D{{Key: "_id", Value: lockID}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
		{Key: "seats", Value: 2},
		{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: past}, {Key: "idempotencyKey", Value: "test-lock"}})
	w.Insert("bookings", bson.D{{Key: "_id", Value: bookingID}, {Key: "user", Value: user}, {Key: "event", Value: event},
		{Key: "seats", Value: bson.A{"2"}},
		{Key: "status", Value: "PAYMENT_PENDING"}, {Key: "seatLockId", Value: lockID}, {Key: "paymentExpiresAt", Value: past}})
	initiated := w.Book(w.Acquire(event, 1, testenv.Soon()), holdfast.Until{})
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 95}})
	w.Recover()
	if available, _ := w.Available(event); available != 99 {
		t.Errorf("available %d, want 99", available)
	}
	if w.Lock(lockID).Status != holdfast.LockExpired || w.Booking(bookingID).Status != holdfast.BookingExpired ||
		w.Booking(initiated.ID).Status != holdfast.BookingInitiated {
		t.Error("lock and booking are not EXPIRED, or the INITIATED one was touched")
	}
	for _, line := range []string{
		"[RECOVERY] Starting system recovery from partial failures...",
		"[RECOVERY] Found 1 stale ACTIVE locks that should be EXPIRED",
		fmt.Sprintf("[RECOVERY] Expired stale lock %s, restored 2 seats", lockID),
		"[RECOVERY] Found 1 stale PAYMENT_PENDING bookings",
		fmt.Sprintf("[RECOVERY] Expired stale booking %s, released lock %s", bookingID, lockID),
		fmt.Sprintf("[RECOVERY] Corrected available seats for event %s: 97 -> 99", event),
		"[RECOVERY] Found 1 bookings in INITIATED state",
		"[RECOVERY] System recovery completed successfully",
	} {
		if !w.Log.Has(line) {
			t.Errorf("not logged: %s", line)
		}
	}
	again := w.Recover()
	if again.Applied != 0 || again.Corrections != 0 {
		t.Errorf("again: %+v, want no change", again)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestRun_ConsumesSoldLocksAndReportsContradictions(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	confirmed := func() holdfast.Booking {
		b := w.Book(w.Acquire(event, 2, testenv.Soon()), testenv.Soon())
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, holdfast.Charge{}); err != nil {
			t.Fatal(err)
		}
		return b
	}
	crashed, ended, orphan := confirmed(), confirmed(), confirmed()
	w.Set("seatlocks", crashed.LockID, bson.D{{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(-time.Hour)}})
	w.Set("seatlocks", ended.LockID, bson.D{{Key: "status", Value: "EXPIRED"}})
	w.Set("bookings", orphan.ID, bson.D{{Key: "status", Value: "CANCELLED"}})
	report := w.Recover()
	if report.Consumed != 1 || report.Reported != 2 {
		t.Errorf("got %+v, want 1 consumed and 2 reported", report)
	}
	if w.Lock(crashed.LockID).Status != holdfast.LockConsumed {
		t.Errorf("the sold lock is %s", w.Lock(crashed.LockID).Status)
	}
	if w.Lock(ended.LockID).Status != holdfast.LockExpired || w.Booking(ended.ID).Status != holdfast.BookingConfirmed ||
		w.Lock(orphan.LockID).Status != holdfast.LockConsumed {
		t.Error("a contradiction that an operator must resolve was changed")
	}
	if available, _ := w.Available(event); available != 96 {
		t.Errorf("available %d, want 96", available)
	}
}

func TestRun_CountsLocksBeyondTheTotalAsOversold(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Acquire(event, 6, testenv.Soon())
	w.Insert("seatlocks", bson.D{{Key: "eventId", Value: event}, {Key: "seats", Value: 7}, {Key: "status", Value: "CONSUMED"},
		{Key: "expiresAt", Value: time.Now()}})
	w.Insert("seatlocks", bson.D{{Key: "eventId", Value: event}, {Key: "seats", Value: "many"}, {Key: "status", Value: "ACTIVE"},
		{Key: "expiresAt", Value: time.Now()}})
	report := w.Recover()
	if available, oversold := w.Available(event); available != 0 || oversold != 3 || report.Oversold != 1 {
		t.Errorf("available %d, oversold %d, report %+v; want 0 and 3", available, oversold, report)
	}
}

func TestReconcile_CorrectsEveryKindOfWrongCounter(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, wrong := range map[string]bson.D{
		"too low": {{Key: "availableSeats", Value: 1}}, "too high": {{Key: "availableSeats", Value: 10}},
		"negative": {{Key: "availableSeats", Value: -5}}, "beyond": {{Key: "availableSeats", Value: 99.0}},
		"oversold": {{Key: "oversold", Value: 3}}, "both": {{Key: "availableSeats", Value: 8}, {Key: "oversold", Value: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			event := w.Event(10)
			w.Acquire(event, 4, testenv.Soon())
			result := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "update", Value: "events"}, {Key: "bypassDocumentValidation", Value: true},
				{Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: event}}},
					{Key: "u", Value: bson.D{{Key: "$set", Value: wrong}}}}}}})
			if err := result.Err(); err != nil {
				t.Fatal(err)
			}
			report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
			if available, oversold := w.Available(event); err != nil || report.Corrections != 1 || available != 6 || oversold != 0 {
				t.Errorf("%+v, %v: available %d, oversold %d; want 6 and 0", report, err, available, oversold)
			}
		})
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// If several repairs have measured the same drift, one of them subtracts it.
func TestRepair_SeveralAtOnceCorrectOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	event := w.Event(1000)
	for round := range 30 {
		w.Set("events", event, bson.D{{Key: "availableSeats", Value: 500}})
		var all sync.WaitGroup
		for i := range 8 {
			process := []*testenv.Env{w, other}[i%2]
			all.Go(func() {
				if _, err := process.Pipeline.Repair(w.Ctx(), event, "run"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if available, oversold := w.Available(event); available != 1000 || oversold != 0 {
			t.Fatalf("round %d: available %d, oversold %d", round, available, oversold)
		}
	}
}

// Two processes run recovery in a loop. Meanwhile customers acquire, book, confirm and cancel, and the counter is
// changed by hand.
func TestRun_RepeatsDuringASale(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	event := w.Event(500)
	// Some seconds; on a slow machine, until enough has happened.
	ctx, stop := context.WithTimeout(w.Ctx(), time.Minute)
	defer stop()
	var all sync.WaitGroup
	var sold atomic.Int64
	corrected := func() int { return len(w.Log.Lines("Corrected available seats")) }
	isEnough := func(start time.Time) bool {
		return time.Since(start) > 6*time.Second && sold.Load() >= 10 && corrected() >= 10
	}
	for range 16 {
		all.Go(func() {
			for ctx.Err() == nil {
				customer(ctx, t, w, event, &sold)
			}
		})
	}
	for _, process := range []*testenv.Env{w, other} {
		all.Go(func() {
			for ctx.Err() == nil {
				_, err := process.Recovery.Run(ctx, "run", slog.New(w.Log))
				if err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	start := time.Now()
	testenv.Poll(time.Minute, func() bool { // a drift of one seat, up or down
		drift := bson.A{"$availableSeats", 1 - 2*rand.IntN(2)}
		_, err := w.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: event},
			{Key: "availableSeats", Value: bson.D{{Key: "$gt", Value: 1}, {Key: "$lt", Value: 499}}}},
			bson.A{bson.D{{Key: "$set", Value: bson.D{{Key: "availableSeats", Value: bson.D{{Key: "$add", Value: drift}}}}}}})
		if err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		return isEnough(start) || ctx.Err() != nil
	})
	stop()
	all.Wait()
	if err := w.Pipeline.Close(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	w.Recover()
	if corrected() < 10 || sold.Load() < 10 {
		t.Errorf("%d corrections, %d sales: too little happened for a test", corrected(), sold.Load())
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func customer(ctx context.Context, t *testing.T, w *testenv.Env, event holdfast.ID, sold *atomic.Int64) {
	until := holdfast.Until{For: time.Duration(1+rand.IntN(300)) * time.Millisecond}
	if rand.IntN(2) == 0 {
		until = testenv.Soon()
	}
	lock, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{
		EventID: event, UserID: mongodb.NewID(), Seats: 1 + rand.Int64N(4), Until: until,
	})
	if err == nil && rand.IntN(3) == 0 {
		_, err = w.Seats.ReleaseLock(ctx, lock.ID)
	} else if err == nil {
		var b holdfast.Booking
		b, _, err = w.Bookings.CreateBooking(ctx, holdfast.BookingRequest{UserID: lock.UserID, EventID: event, LockID: lock.ID, Window: until})
		if err == nil && rand.IntN(2) == 0 {
			if _, err = w.Bookings.ConfirmBooking(ctx, b.ID, holdfast.Charge{}); err == nil {
				sold.Add(1)
			}
		}
		if err == nil && rand.IntN(4) > 0 {
			_, err = w.Bookings.CancelBooking(ctx, b.ID)
		}
	}
	switch holdfast.CodeOf(err) {
	case "", holdfast.CodeSeatsUnavailable, holdfast.CodeLockExpired, holdfast.CodeBookingExpired:
		if err == nil || holdfast.CodeOf(err) != "" {
			return
		}
	}
	if ctx.Err() == nil {
		t.Error(err)
	}
}

// 64 customers acquire seats of an event with 50,000 locks, during a sweep and an audit of
// it: both end, and the sale goes on.
func TestSweepAndReconcile_GetThroughOnASellingEvent(t *testing.T) {
	t.Parallel()
	w, worker := testenv.New(t), (*testenv.Env)(nil)
	worker = testenv.Open(t, w.URI, w.DB.Name())
	const due, live = 20_000, 30_000
	event := w.Event(10_000_000)
	var docs []any
	for i := range due + live {
		at := time.Now().Add(time.Hour)
		if i < due {
			at = time.Now().Add(-time.Hour)
		}
		docs = append(docs, bson.D{{Key: "eventId", Value: event}, {Key: "userId", Value: mongodb.NewID()}, {Key: "seats", Value: 1},
			{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: at}})
	}
	if _, err := w.DB.Collection("seatlocks").InsertMany(w.Ctx(), docs); err != nil {
		t.Fatal(err)
	}
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 10_000_000 - due - live - 7}}) // 7 too few
	ctx, stop := context.WithCancel(w.Ctx())
	defer stop()
	var all sync.WaitGroup
	var locked atomic.Int64
	for range 64 {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _, err := w.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1})
				if err == nil {
					locked.Add(1)
				} else if ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
	}
	start := time.Now()
	report, err := worker.Sweeper.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
	swept := time.Since(start)
	if err != nil || report.Applied != due || report.Errors != 0 {
		t.Errorf("sweep: %+v, %v; want %d applied", report, err, due)
	}
	before := locked.Load()
	start = time.Now()
	reconciled, err := worker.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
	if err != nil || reconciled.Corrections != 1 {
		t.Errorf("reconcile: %+v, %v; want 1 correction", reconciled, err)
	}
	took := time.Since(start)
	stop()
	all.Wait()
	t.Logf("swept %d in %v, reconciled in %v; %d and %d locks were acquired meanwhile", due, swept, took, before, locked.Load()-before)
	if before == 0 || locked.Load() == before {
		t.Error("the sale stood still")
	}
	if err := w.Pipeline.Close(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Every document that a run changes names the run.
func TestRun_IsNamedInTheDocumentsThatItChanges(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	named := func(collection string, id holdfast.ID) {
		t.Helper()
		var doc struct {
			RunID    string `bson:"runId"`
			Internal struct {
				RunID string `bson:"runId"`
			} `bson:"internal"`
		}
		err := w.DB.Collection(collection).FindOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}).Decode(&doc)
		if err != nil || cmp.Or(doc.RunID, doc.Internal.RunID) != "run" {
			t.Errorf("%s %s names the run %q, %v", collection, id, doc.RunID, err)
		}
	}
	swept, booked, drifted := w.Event(10), w.Event(10), w.Event(10)
	lock := w.Acquire(swept, 1, testenv.Past())
	pending := w.Acquire(booked, 1, testenv.Soon())
	b := w.Book(pending, testenv.Past())
	sold := w.Acquire(drifted, 1, testenv.Soon())
	confirmed := w.Book(sold, testenv.Soon())
	w.Set("bookings", confirmed.ID, bson.D{{Key: "status", Value: "CONFIRMED"}}) // the lock stays ACTIVE
	w.Set("events", drifted, bson.D{{Key: "availableSeats", Value: 3}})
	w.Recover()
	named("seatlocks", lock.ID)
	named("events", swept)
	named("bookings", b.ID)
	named("seatlocks", pending.ID)
	named("events", booked)
	named("seatlocks", sold.ID)
	named("events", drifted)
	testenv.CheckInvariants(t, w.DB.Database)
}

// A booking is CONFIRMED, and its lock is still ACTIVE. The audit marks the lock, due or not.
func TestReconcile_ConsumesSoldLocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	live, due, open := w.Acquire(event, 1, testenv.Soon()), w.Acquire(event, 2, testenv.Past()), w.Acquire(event, 3, testenv.Soon())
	for _, lock := range []holdfast.Lock{live, due} {
		w.Insert("bookings", bson.D{{Key: "event", Value: event}, {Key: "seatLockId", Value: lock.ID}, {Key: "status", Value: "CONFIRMED"}})
	}
	for _, want := range []int{2, 0} {
		report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
		if err != nil || report.Consumed != want || report.Corrections != 0 {
			t.Errorf("got %+v, %v; want %d consumed", report, err, want)
		}
	}
	for lock, want := range map[holdfast.ID]holdfast.LockStatus{
		live.ID: holdfast.LockConsumed, due.ID: holdfast.LockConsumed, open.ID: holdfast.LockActive,
	} {
		if got := w.Lock(lock).Status; got != want {
			t.Errorf("the lock is %s, want %s", got, want)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
