package expiry_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestMain(m *testing.M) { testenv.Main(m) }

func TestSweepLocks_RestoresSeatsOnceAndLogsIt(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	a, b, live := w.Acquire(event, 2, testenv.Past()), w.Acquire(event, 3, testenv.Past()), w.Acquire(event, 4, testenv.Soon())
	if got, want := w.SweepLocks(), (expiry.Report{Found: 2, Applied: 2, SeatsRestored: 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := w.SweepLocks(); got != (expiry.Report{}) {
		t.Errorf("again: got %+v, want nothing", got)
	}
	if available, _ := w.Available(event); available != 96 {
		t.Errorf("available %d, want 96", available)
	}
	if w.Lock(a.ID).Status != holdfast.LockExpired || w.Lock(b.ID).Status != holdfast.LockExpired ||
		w.Lock(live.ID).Status != holdfast.LockActive {
		t.Error("not the due ones, and only these, are EXPIRED")
	}
	for _, line := range []string{
		"[LOCK EXPIRY JOB] Found 2 expired locks",
		fmt.Sprintf("[LOCK EXPIRY JOB] Expired lock %s, restored 2 seats to event %s", a.ID, event),
		fmt.Sprintf("[LOCK EXPIRY JOB] Expired lock %s, restored 3 seats to event %s", b.ID, event),
		"[LOCK EXPIRY JOB] Successfully expired 2 locks",
	} {
		if !w.Log.Has(line) {
			t.Errorf("not logged: %s", line)
		}
	}
	var doc struct {
		EndedBy string `bson:"endedBy"`
		RunID   string `bson:"runId"`
	}
	err := w.DB.Collection("seatlocks").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: a.ID}}).Decode(&doc)
	if err != nil || doc.EndedBy != "lock-expiry" || doc.RunID != "run" {
		t.Errorf("the lock says %+v, %v", doc, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Due locks are spread over many events: a transaction also ends its event's locks of later
// pages, and each lock is counted once.
func TestSweepLocks_EndsTheOtherDueLocksOfAnEvent(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	events := []holdfast.ID{w.Event(100), w.Event(100), w.Event(100)}
	for i := range 12 {
		w.Acquire(events[i%3], 1, holdfast.Until{At: time.Now().Add(time.Duration(i-100) * time.Minute)})
	}
	w.Acquire(events[0], 1, testenv.Soon())
	small := &expiry.Sweeper{Pipeline: w.Pipeline, Batch: 3}
	report, err := small.SweepLocks(w.Ctx(), w.Run(holdfast.EndedByLockExpiry))
	if want := (expiry.Report{Found: 12, Applied: 12, SeatsRestored: 12}); err != nil || report != want {
		t.Errorf("got %+v, %v; want %+v", report, err, want)
	}
	for i, want := range []int64{99, 100, 100} {
		if available, _ := w.Available(events[i]); available != want {
			t.Errorf("event %d: available %d, want %d", i, available, want)
		}
	}
	if n := w.Transactions(mongodb.Done); n > 3+13+6 {
		t.Errorf("%d transactions for 3 events made, 13 locks acquired and 12 swept", n)
	}
}

func TestSweepBookings_EndsBookingAndLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	lock := w.Acquire(event, 2, testenv.Soon())
	b := w.Book(lock, testenv.Past())
	if got, want := w.SweepBookings(), (expiry.Report{Found: 1, Applied: 1, SeatsRestored: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := w.SweepBookings(); got != (expiry.Report{}) {
		t.Errorf("again: got %+v, want nothing", got)
	}
	if w.Booking(b.ID).Status != holdfast.BookingExpired || w.Lock(lock.ID).Status != holdfast.LockExpired ||
		w.Lock(lock.ID).BookingID != b.ID {
		t.Errorf("booking %+v, lock %+v", w.Booking(b.ID), w.Lock(lock.ID))
	}
	for _, line := range []string{
		"[BOOKING EXPIRY JOB] Found 1 expired bookings",
		fmt.Sprintf("[BOOKING EXPIRY JOB] Expired booking %s, expired lock %s, restored 2 seats", b.ID, lock.ID),
		"[BOOKING EXPIRY JOB] Successfully expired 1 bookings",
	} {
		if !w.Log.Has(line) {
			t.Errorf("not logged: %s", line)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestSweepBookings_EndsInitiatedOnesWhoseLockHasEndedOrIsDue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	ended, due, live := w.Acquire(event, 1, testenv.Soon()), w.Acquire(event, 1, testenv.Soon()), w.Acquire(event, 1, testenv.Soon())
	a, b, c := w.Book(ended, holdfast.Until{}), w.Book(due, holdfast.Until{}), w.Book(live, holdfast.Until{})
	past := bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Second)}}
	w.Set("seatlocks", ended.ID, past)
	w.SweepLocks()
	w.Set("seatlocks", due.ID, past)
	if got, want := w.SweepBookings(), (expiry.Report{Found: 2, Applied: 2, SeatsRestored: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if w.Booking(a.ID).Status != holdfast.BookingExpired || w.Booking(b.ID).Status != holdfast.BookingExpired ||
		w.Booking(c.ID).Status != holdfast.BookingInitiated {
		t.Errorf("%s, %s, %s; want EXPIRED, EXPIRED, INITIATED", w.Booking(a.ID).Status, w.Booking(b.ID).Status, w.Booking(c.ID).Status)
	}
	if w.Lock(due.ID).Status != holdfast.LockExpired {
		t.Errorf("the due lock is %s", w.Lock(due.ID).Status)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// These are documents as an import may write them: they have only the fields that the schema requires.
func TestSweepBookings_WorksOnRawDocuments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, lockID, gone := w.Event(100), mongodb.NewID(), mongodb.NewID()
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 98.0}})
	w.Insert("seatlocks", bson.D{{Key: "_id", Value: lockID}, {Key: "eventId", Value: event}, {Key: "seats", Value: 2.0},
		{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
	for i, lock := range []holdfast.ID{lockID, gone} {
		w.Insert("bookings", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "user", Value: mongodb.NewID()}, {Key: "event", Value: event},
			{Key: "seats", Value: bson.A{"2"}}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "seatLockId", Value: lock},
			{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Duration(i+1) * time.Hour)}})
	}
	if got, want := w.SweepBookings(), (expiry.Report{Found: 2, Applied: 2, SeatsRestored: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if w.Lock(lockID).Status != holdfast.LockExpired {
		t.Errorf("the lock is %s", w.Lock(lockID).Status)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// The counter would pass the total: it is wrong, but the lock is not. The lock ends, and the
// counter becomes the sum of the locks.
func TestSweepLocks_RecountsACounterThatWouldExceedTheTotal(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	due := w.Acquire(event, 4, testenv.Past())
	w.Acquire(event, 3, testenv.Soon())
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 8}})
	w.SweepLocks()
	if w.Lock(due.ID).Status != holdfast.LockExpired {
		t.Error("the lock did not end")
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// Four sweeps at the same time, in two processes, while customers acquire seats.
func TestSweeps_SeveralAtOnceRestoreEverySeatOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	other := testenv.Open(t, w.URI, w.DB.Name())
	events := []holdfast.ID{w.Event(1000), w.Event(1000), w.Event(1000)}
	for i := range 300 {
		lock := w.Acquire(events[i%3], 1+rand.Int64N(3), testenv.Past())
		if i%2 == 0 {
			w.Set("seatlocks", lock.ID, bson.D{{Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
			lock = w.Lock(lock.ID)
			w.Book(lock, testenv.Past())
		}
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	var sum expiry.Report
	for i := range 4 {
		process := []*testenv.Env{w, other}[i%2]
		all.Go(func() {
			report := process.SweepLocks().Add(process.SweepBookings())
			mu.Lock()
			defer mu.Unlock()
			sum = sum.Add(report)
		})
	}
	all.Go(func() {
		for i := range 100 {
			w.Acquire(events[i%3], 1, testenv.Soon())
		}
	})
	all.Wait()
	if sum.Applied != 300 || sum.Errors != 0 {
		t.Errorf("got %+v, want 300 applied", sum)
	}
	for _, event := range events {
		if available, _ := w.Available(event); available < 966 || available > 967 {
			t.Errorf("available %d of 1000 with a third of 100 locked", available)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// onLine calls do before each line that begins with text is logged.
type onLine struct {
	slog.Handler

	text string
	do   func()
}

func (l onLine) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, l.text) {
		l.do()
	}
	return l.Handler.Handle(ctx, r)
}

// During a sale, locks become due all the time. A run ends nevertheless, and the next one
// ends the locks that became due meanwhile.
func TestSweep_EndsWhileLocksComeDue(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1000)
	w.Acquire(event, 1, testenv.Past())
	run, pages := w.Run(holdfast.EndedByLockExpiry), 0
	run.Log = slog.New(onLine{Handler: run.Log.Handler(), text: "[LOCK EXPIRY JOB] Found", do: func() {
		const endless = 20
		if pages++; pages < endless {
			w.Acquire(event, 1, testenv.Past())
		}
	}})
	report, err := w.Sweeper.SweepLocks(w.Ctx(), run)
	if err != nil || report.Applied != 1 || pages != 1 {
		t.Errorf("it went through %d pages: %+v, %v", pages, report, err)
	}
	if report := w.SweepLocks(); report.Applied != 1 {
		t.Errorf("the next run: %+v", report)
	}
	if available, _ := w.Available(event); available != 1000 {
		t.Errorf("%d seats are available", available)
	}
}

// A process whose clock is ten minutes fast or slow expires nothing early or late.
func TestSweep_GoesByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for _, off := range []time.Duration{-10 * time.Minute, 10 * time.Minute} {
		t.Run(off.String(), func(t *testing.T) {
			wrong := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
				o.Clock = func() time.Time { return time.Now().Add(off) }
			})
			ahead := w.Acquire(event, 1, holdfast.Until{For: 5 * time.Minute})
			due := w.Acquire(event, 1, holdfast.Until{At: time.Now().Add(-time.Minute)})
			wrong.Recover()
			report := wrong.SweepLocks()
			if got := w.Lock(ahead.ID).Status; got != holdfast.LockActive {
				t.Errorf("a lock that is not due is %s", got)
			}
			if got := w.Lock(due.ID).Status; got != holdfast.LockExpired {
				t.Errorf("a due lock is %s after %+v", got, report)
			}
		})
	}
}

// Between a sweep's read and its transaction, another transaction that began in time may
// release, sell or extend a lock. The sweep then leaves the lock as it is.
func TestSweepLocks_LeavesALockThatHasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	for name, moved := range map[string]bson.E{
		"released": {Key: "status", Value: "RELEASED"},
		"sold":     {Key: "status", Value: "CONSUMED"},
		"expired":  {Key: "status", Value: "EXPIRED"},
		"extended": {Key: "expiresAt", Value: time.Now().Add(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			lock := w.Acquire(event, 1, testenv.Past())
			due, err := w.Store.DueLocks(w.Ctx(), store.After{}, 10)
			if err != nil || len(due) != 1 || due[0].ID != lock.ID {
				t.Fatal(due, err)
			}
			w.Set("seatlocks", lock.ID, bson.D{moved})
			before := w.Lock(lock.ID)
			available, _ := w.Available(event)
			for _, upTo := range []int{0, 10} { // only the named locks, and all due ones
				command := inventory.ExpireLocks{
					Run: inventory.Run{By: holdfast.EndedByLockExpiry, ID: "run"}, LockIDs: []holdfast.ID{lock.ID}, UpTo: upTo,
				}
				result, err := w.Pipeline.Sweep(w.Ctx(), event, command)
				if err != nil || len(result.Ended) > 0 || !reflect.DeepEqual(w.Lock(lock.ID), before) {
					t.Errorf("up to %d: %+v, %v; the lock is %+v", upTo, result, err, w.Lock(lock.ID))
				}
			}
			if after, _ := w.Available(event); after != available {
				t.Errorf("%d seats were available, now %d", available, after)
			}
		})
	}
}
