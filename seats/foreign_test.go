package seats_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// unendable are due locks of other software that no reclaim can end, each of one seat.
func unendable(event holdfast.ID) []bson.D {
	due := func(id any, more ...bson.E) bson.D {
		return append(bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "status", Value: "ACTIVE"},
			{Key: "seats", Value: 1}, {Key: "expiresAt", Value: time.Now().Add(-time.Hour)}}, more...)
	}
	locks := []bson.D{due(ids.New(), bson.E{Key: "internal", Value: bson.D{{Key: "rev", Value: "x"}}}),
		due(ids.New(), bson.E{Key: "internal", Value: nil}),
		due(ids.New(), bson.E{Key: "internal", Value: bson.A{}}),
		due(ids.New(), bson.E{Key: "internal", Value: bson.D{{Key: "rev", Value: int64(1<<63 - 1)}}})}
	for _, id := range []any{"text", 7, 2.5, bson.D{{Key: "a", Value: 1}}, bson.Binary{Data: []byte("x")}, true,
		time.Unix(1, 0), nil, holdfast.ID{}} {
		locks = append(locks, due(id))
	}
	return locks
}

// Due locks that can't be ended stand before one that can. It is reclaimed, in one
// transaction, and then the event is sold out.
func TestReclaim_PassesLocksThatCannotBeEnded(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(20)
	for _, lock := range unendable(event) {
		w.Insert("seatlocks", lock)
	}
	taken := int64(len(unendable(event)))
	w.Acquire(event, 20-taken-1, testenv.Soon())
	due := w.Acquire(event, 1, holdfast.Until{At: time.Now().Add(-time.Minute)})
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 0}})
	before := w.Transactions(mongodb.Done)
	w.Acquire(event, 1, testenv.Soon())
	if n := w.Transactions(mongodb.Done) - before; n > 2 {
		t.Errorf("%d transactions", n)
	}
	if status := w.Lock(due.ID).Status; status != holdfast.LockExpired {
		t.Errorf("the due lock is %s", status)
	}
	for _, key := range []string{"", "key"} {
		_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1, Key: key})
		if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
			t.Errorf("key %q: %v", key, err)
		}
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// A lock whose _id is no ObjectID has an idempotency key. It can't be answered, so the key
// is in use.
func TestAcquire_KeyOfALockThatCannotBeNamed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, user := w.Event(10), ids.New()
	w.Insert("seatlocks", bson.D{{Key: "_id", Value: "text"}, {Key: "eventId", Value: event}, {Key: "userId", Value: user},
		{Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"},
		{Key: "expiresAt", Value: time.Now().Add(time.Hour)}, {Key: "idempotencyKey", Value: "key"}})
	lock, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: user, Seats: 1, Key: "key"})
	if !holdfast.HasCode(err, holdfast.CodeIdempotencyKeyReused) {
		t.Errorf("got %+v, %v", lock, err)
	}
}

// A lock's booking has an _id that is no ObjectID. If it is CONFIRMED, the lock is sold;
// otherwise it hinders nothing.
func TestLock_WithABookingThatCannotBeNamed(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	for _, row := range []struct {
		status  holdfast.BookingStatus
		release holdfast.Code // "": done
	}{
		{holdfast.BookingInitiated, ""}, {holdfast.BookingPending, ""}, {holdfast.BookingConfirmed, holdfast.CodeLockConsumed},
	} {
		t.Run(string(row.status), func(t *testing.T) {
			lock := w.Acquire(event, 1, testenv.Soon())
			w.Insert("bookings", bson.D{{Key: "_id", Value: string(row.status)}, {Key: "seatLockId", Value: lock.ID},
				{Key: "status", Value: string(row.status)}, {Key: "paymentExpiresAt", Value: time.Now().Add(time.Hour)}})
			request := holdfast.BookingRequest{UserID: lock.UserID, EventID: event, LockID: lock.ID, Window: testenv.Soon()}
			b, _, err := w.Bookings.CreateBooking(w.Ctx(), request)
			if code := holdfast.CodeOf(err); code != row.release || err == nil && b.ID.IsZero() {
				t.Errorf("book: %+v, %v", b, err)
			}
			_, err = w.Seats.ReleaseLock(w.Ctx(), lock.ID)
			if code := holdfast.CodeOf(err); code != row.release {
				t.Errorf("release: %v", err)
			}
		})
	}
}

// MongoDB rejects the end of some due locks, in ways that no query can know. A reclaim passes them, and
// ends the others. The next one knows them.
func TestReclaim_PassesLocksWhoseEndIsRejected(t *testing.T) {
	t.Parallel()
	const good, bad = true, false
	for name, rejectEnds := range map[string]func(*testenv.Env, []holdfast.Lock){"too large": fillUp, "a unique index": refuseToExpire} {
		for order, locks := range map[string][]bool{
			"a good one last":  {bad, good},
			"a good one first": {good, bad},
			"among others":     {good, bad, good, good, bad, bad, good},
			"no good one":      {bad},
		} {
			t.Run(name+"/"+order, func(t *testing.T) {
				t.Parallel()
				w := testenv.New(t)
				event := w.Event(int64(len(locks)))
				var rejected []holdfast.Lock
				for i, isGood := range locks {
					lock := w.Acquire(event, 1, holdfast.Until{At: time.Now().Add(time.Duration(i-100) * time.Minute)})
					if !isGood {
						rejected = append(rejected, lock)
					}
				}
				rejectEnds(w, rejected)
				if endable := int64(len(locks) - len(rejected)); endable > 0 {
					w.Acquire(event, endable, testenv.Soon())
				}
				checkSoldOut(w, event)
				before := w.Transactions(mongodb.Rejected)
				checkSoldOut(w, event)
				if n := w.Transactions(mongodb.Rejected) - before; n != 0 {
					t.Errorf("locks that are known were tried again, in %d transactions", n)
				}
				testenv.CheckInvariants(t, w.DB.Database)
			})
		}
	}
}

// There are many such locks, in an event whose transactions have to hold it. A reclaim passes the first ones,
// and tries no more.
func TestReclaim_ManyLocksWhoseEndIsRejected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bad, good int64
		granted   bool
	}{{6, 100, true}, {30, 40, false}} {
		t.Run(fmt.Sprintf("%d of %d", c.bad, c.bad+c.good), func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.Event(c.bad + c.good)
			var locks []holdfast.Lock
			for i := range c.bad + c.good {
				locks = append(locks, w.Acquire(event, 1, holdfast.Until{At: time.Now().Add(time.Duration(i-200) * time.Second)}))
			}
			refuseToExpire(w, locks[:c.bad])
			w.Set("events", event, bson.D{{Key: "internal.fixes", Value: "x"}})
			before := w.Transactions(mongodb.Rejected)
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: c.good})
			if n := w.Transactions(mongodb.Rejected) - before; n > 25 || c.granted != (err == nil) {
				t.Errorf("%v, after %d transactions", err, n)
			}
			if !c.granted {
				w.SweepLocks()
				w.Acquire(event, c.good, testenv.Soon())
			}
			checkSoldOut(w, event)
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}

// What MongoDB rejected is repaired, and after a while a reclaim tries the locks again.
func TestReclaim_TriesRejectedLocksAgain(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	refuseToExpire(w, []holdfast.Lock{w.Acquire(event, 1, testenv.Past())})
	var ahead atomic.Int64
	p := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Clock = func() time.Time { return clock.System().Add(time.Duration(ahead.Load())) }
	})
	checkSoldOut(p, event)
	w.Command(bson.D{{Key: "dropIndexes", Value: "seatlocks"}, {Key: "index", Value: "theirs"}})
	checkSoldOut(p, event)
	ahead.Store(int64(10 * time.Minute))
	p.Acquire(event, 1, testenv.Soon())
}

func checkSoldOut(w *testenv.Env, event holdfast.ID) {
	w.T.Helper()
	_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1})
	if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
		w.T.Errorf("sold out: %v", err)
	}
}

// fillUp makes locks so large that MongoDB can't write another field into them.
func fillUp(w *testenv.Env, locks []holdfast.Lock) {
	const largest, ofField = 16 << 20, 12 // bytes
	for _, lock := range locks {
		raw, err := w.DB.Collection("seatlocks").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: lock.ID}}).Raw()
		if err != nil {
			w.T.Fatal(err)
		}
		w.Set("seatlocks", lock.ID, bson.D{{Key: "blob", Value: strings.Repeat("x", largest-ofField-len(raw))}})
	}
}

// refuseToExpire gives each lock's user an EXPIRED one, which an index of other software allows once.
func refuseToExpire(w *testenv.Env, locks []holdfast.Lock) {
	for _, lock := range locks {
		w.Insert("seatlocks", bson.D{{Key: "_id", Value: ids.New()}, {Key: "userId", Value: lock.UserID}, {Key: "status", Value: "EXPIRED"}})
	}
	w.ForeignIndex("seatlocks", "userId", "status")
}
