package seats_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

func TestTake_LastSeatGoesToOne(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(1)
	var won, refused atomic.Int32
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 1})
			switch {
			case err == nil:
				won.Add(1)
			case holdfast.HasCode(err, holdfast.CodeSeatsUnavailable):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 || refused.Load() != 99 {
		t.Errorf("%d won and %d were refused, want 1 and 99", won.Load(), refused.Load())
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// 500 customers want one to four of 100 seats through three services, as three
// processes would: never more are sold, and none is left while one that fits
// is refused.
func TestTake_StampedeSellsExactlyWhatThereIs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	worlds := []*testenv.Env{w, testenv.Open(t, w.URI, w.DB.Name()), testenv.Open(t, w.URI, w.DB.Name())}
	var sold atomic.Int64
	smallestRefused := atomic.Int64{}
	smallestRefused.Store(1 << 30)
	var all sync.WaitGroup
	for i := range 500 {
		n := 1 + rand.Int64N(4)
		all.Go(func() {
			_, _, err := worlds[i%3].Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: n})
			if err == nil {
				sold.Add(n)
				return
			}
			if !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable) {
				t.Error(err)
			}
			for old := smallestRefused.Load(); n < old && !smallestRefused.CompareAndSwap(old, n); {
				old = smallestRefused.Load()
			}
		})
	}
	all.Wait()
	available, _ := w.Available(event)
	if sold.Load()+available != 100 || available >= smallestRefused.Load() {
		t.Errorf("sold %d, %d left, smallest refused %d", sold.Load(), available, smallestRefused.Load())
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestTake_SameKeyTakesSeatsOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, user := w.Event(100), ids.New()
	request := holdfast.LockRequest{EventID: event, UserID: user, Seats: 3, Key: "k"}
	other := testenv.Open(t, w.URI, w.DB.Name())
	var made, replayed atomic.Int32
	var first sync.Map
	var all sync.WaitGroup
	for i := range 60 {
		service := []*seats.Service{w.Seats, other.Seats}[i%2]
		all.Go(func() {
			lock, again, err := service.Acquire(w.Ctx(), request)
			if err != nil {
				t.Error(err)
			}
			first.Store(lock.ID, true)
			if again {
				replayed.Add(1)
			} else {
				made.Add(1)
			}
		})
	}
	all.Wait()
	locks := 0
	first.Range(func(any, any) bool { locks++; return true })
	if made.Load() != 1 || replayed.Load() != 59 || locks != 1 {
		t.Errorf("%d made, %d replayed, %d locks; want 1, 59, 1", made.Load(), replayed.Load(), locks)
	}
	if available, _ := w.Available(event); available != 97 {
		t.Errorf("available %d, want 97", available)
	}
}

func TestTake_KeyAnswersWhateverHasBecomeOfTheLock(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, user := w.Event(2), ids.New()
	request := holdfast.LockRequest{EventID: event, UserID: user, Seats: 2, Key: "k"}
	lock, _, err := w.Seats.Acquire(w.Ctx(), request)
	wantCode(t, err, "")
	replay := func(status holdfast.LockStatus) {
		t.Helper()
		again, replayed, err := w.Seats.Acquire(w.Ctx(), request)
		if err != nil || !replayed || again.ID != lock.ID || again.Status != status {
			t.Fatalf("got %+v, %v, %v; want %s", again, replayed, err, status)
		}
	}
	replay(holdfast.LockActive) // although no seat is left
	if _, err := w.Seats.Release(w.Ctx(), lock.ID); err != nil {
		t.Fatal(err)
	}
	replay(holdfast.LockReleased)
	cancelled := holdfast.Cancelled
	if _, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{Status: &cancelled}); err != nil {
		t.Fatal(err)
	}
	replay(holdfast.LockReleased)
	if available, _ := w.Available(event); available != 2 {
		t.Errorf("available %d, want 2", available)
	}
	request.Seats = 1
	_, _, err = w.Seats.Acquire(w.Ctx(), request)
	wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
	// A lock that another tool wrote has no hash: its seats decide.
	w.Insert("seatlocks", bson.D{
		{Key: "eventId", Value: event}, {Key: "userId", Value: user}, {Key: "seats", Value: 2.0},
		{Key: "status", Value: "EXPIRED"}, {Key: "expiresAt", Value: time.Now()}, {Key: "idempotencyKey", Value: "raw"},
	})
	request.Key = "raw"
	_, _, err = w.Seats.Acquire(w.Ctx(), request)
	wantCode(t, err, holdfast.CodeIdempotencyKeyReused)
	request.Seats = 2
	if again, replayed, err := w.Seats.Acquire(w.Ctx(), request); err != nil || !replayed || again.Status != holdfast.LockExpired {
		t.Fatal(again, replayed, err)
	}
}

func TestTake_LimitOfAUserHoldsAgainstConcurrentRequests(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	created, err := w.Seats.CreateEvent(w.Ctx(), holdfast.NewEvent{Name: "E", TotalSeats: 100, MaxSeatsPerUser: 4})
	wantCode(t, err, "")
	user := ids.New()
	other := testenv.Open(t, w.URI, w.DB.Name())
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		service := []*seats.Service{w.Seats, other.Seats}[i%2]
		all.Go(func() {
			_, _, err := service.Acquire(w.Ctx(), holdfast.LockRequest{EventID: created.ID, UserID: user, Seats: 2})
			if err == nil {
				won.Add(2)
			} else if !holdfast.HasCode(err, holdfast.CodeSeatLimitReached) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 4 {
		t.Errorf("the user holds %d seats, want 4", won.Load())
	}
}

func TestTake_DueSeatsDoNotCountAgainstTheLimitOfAUser(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	created, err := w.Seats.CreateEvent(w.Ctx(), holdfast.NewEvent{Name: "E", TotalSeats: 100, MaxSeatsPerUser: 2})
	wantCode(t, err, "")
	q := holdfast.LockRequest{EventID: created.ID, UserID: ids.New(), Seats: 2, Until: testenv.Past()}
	_, _, err = w.Seats.Acquire(w.Ctx(), q)
	wantCode(t, err, "")
	q.Until = holdfast.Until{}
	_, _, err = w.Seats.Acquire(w.Ctx(), q)
	wantCode(t, err, "")
	_, _, err = w.Seats.Acquire(w.Ctx(), q)
	wantCode(t, err, holdfast.CodeSeatLimitReached)
}

func TestTake_RefusesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, closed, odd := w.Event(10), w.Event(10), w.Event(10)
	w.Set("events", closed, bson.D{{Key: "status", Value: "CLOSED"}})
	w.Set("events", odd, bson.D{{Key: "status", Value: "DRAFT"}})
	for name, c := range map[string]struct {
		q    holdfast.LockRequest
		code holdfast.Code
	}{
		"no such event":   {holdfast.LockRequest{EventID: ids.New(), Seats: 1}, holdfast.CodeEventNotFound},
		"closed":          {holdfast.LockRequest{EventID: closed, Seats: 1}, holdfast.CodeEventNotOnSale},
		"unknown status":  {holdfast.LockRequest{EventID: odd, Seats: 1}, holdfast.CodeEventNotOnSale},
		"no seats":        {holdfast.LockRequest{EventID: event, Seats: 0}, holdfast.CodeInvalid},
		"negative seats":  {holdfast.LockRequest{EventID: event, Seats: -1}, holdfast.CodeInvalid},
		"too many":        {holdfast.LockRequest{EventID: event, Seats: 11}, holdfast.CodeSeatsUnavailable},
		"absurdly many":   {holdfast.LockRequest{EventID: event, Seats: 1 << 62}, holdfast.CodeInvalid},
		"beyond the cap":  {holdfast.LockRequest{EventID: event, Seats: 1, Until: holdfast.Until{For: testenv.MaxTTL + time.Second}}, holdfast.CodeInvalid},
		"in a far year":   {holdfast.LockRequest{EventID: event, Seats: 1, Until: holdfast.Until{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}, holdfast.CodeInvalid},
		"both times":      {holdfast.LockRequest{EventID: event, Seats: 1, Until: holdfast.Until{At: time.Now(), For: 1}}, holdfast.CodeInvalid},
		"negative time":   {holdfast.LockRequest{EventID: event, Seats: 1, Until: holdfast.Until{For: -1}}, holdfast.CodeInvalid},
		"key out of size": {holdfast.LockRequest{EventID: event, Seats: 1, Key: string(make([]byte, 201))}, holdfast.CodeInvalid},
	} {
		c.q.UserID = ids.New()
		_, _, err := w.Seats.Acquire(w.Ctx(), c.q)
		if holdfast.CodeOf(err) != c.code {
			t.Errorf("%s: got %v, want %s", name, err, c.code)
		}
	}
	if n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{}); err != nil || n != 0 {
		t.Errorf("%d locks are there, want none: %v", n, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestTake_TimeInThePastIsAcceptedAndDueAtOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	lock := w.Take(event, 2, holdfast.Until{At: time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC)})
	if got := w.Lock(lock.ID); got.Status != holdfast.LockActive || !got.Due(time.Now()) {
		t.Errorf("got %+v, want an ACTIVE lock that is due", got)
	}
	if available, _ := w.Available(event); available != 8 {
		t.Errorf("available %d, want 8", available)
	}
}

func TestTake_ReclaimsDueLocksOldestFirstUntilItFits(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	var locks []holdfast.Lock
	for i := range 5 { // all seats are in locks that are due, and no worker runs
		locks = append(locks, w.Take(event, 2, holdfast.Until{At: time.Now().Add(time.Duration(i-10) * time.Minute)}))
	}
	w.Take(event, 3, testenv.Soon())
	for i, want := range []holdfast.LockStatus{holdfast.LockExpired, holdfast.LockExpired, holdfast.LockActive, holdfast.LockActive, holdfast.LockActive} {
		if got := w.Lock(locks[i].ID).Status; got != want {
			t.Errorf("lock %d is %s, want %s", i, got, want)
		}
	}
	_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 8})
	wantCode(t, err, holdfast.CodeSeatsUnavailable)
	if available, _ := w.Available(event); available != 7 {
		t.Errorf("available %d, want 7: what was reclaimed in vain is on sale", available)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

// More due locks than one transaction may reclaim: the request goes on.
func TestTake_ReclaimsOverSeveralTransactions(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const n = 2500
	event := w.Event(n)
	docs := make([]any, n)
	for i := range docs {
		docs[i] = bson.D{
			{Key: "eventId", Value: event}, {Key: "seats", Value: 1.0}, {Key: "status", Value: "ACTIVE"},
			{Key: "expiresAt", Value: time.Now().Add(-time.Hour)},
		}
	}
	docs = append(docs, bson.D{ // a poison document in front of them all
		{Key: "eventId", Value: event}, {Key: "seats", Value: 1.5}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Unix(0, 0)},
	})
	if _, err := w.DB.Collection("seatlocks").InsertMany(w.Ctx(), docs); err != nil {
		t.Fatal(err)
	}
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 1}, {Key: "totalSeats", Value: n + 1}})
	other := w.Take(event, 1, testenv.Soon())
	release := holdEvent(t, w, event) // a request that waits for it holds the others up, so that they come together
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := w.Seats.Release(w.Ctx(), other.ID); err != nil {
			t.Error(err)
		}
	})
	waitFor(t, func() bool { return w.Pipeline.Queue().InFlight() == 1 && w.Pipeline.Queue().Waiting(event) == 0 })
	for i := range 4 { // the first one asks for all there is
		all.Go(func() {
			_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: []int64{n + 1, 1, 2, 3}[i]})
			if (err == nil) != (i == 0) {
				t.Errorf("request %d: %v; want the first to have all seats", i, err)
			}
		})
		waitFor(t, func() bool { return w.Pipeline.Queue().Waiting(event) == i+1 })
	}
	release()
	all.Wait()
	if available, oversold := w.Available(event); available != 0 || oversold != 0 {
		t.Errorf("available %d, oversold %d, want 0 and 0", available, oversold)
	}
}

func TestTake_DocumentsOfOtherToolsWork(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, total := range []any{int32(10), int64(10), 10.0} {
		event := ids.New()
		w.Insert("events", bson.D{
			{Key: "_id", Value: event}, {Key: "totalSeats", Value: total}, {Key: "availableSeats", Value: total},
			{Key: "name", Value: 7}, {Key: "venue", Value: bson.D{{Key: "hall", Value: 3}}},
		})
		lock := w.Take(event, 4, testenv.Soon())
		if available, _ := w.Available(event); available != 6 {
			t.Errorf("%T: available %d, want 6", total, available)
		}
		if _, err := w.Seats.Release(w.Ctx(), lock.ID); err != nil {
			t.Error(err)
		}
		if available, _ := w.Available(event); available != 10 {
			t.Errorf("%T: available %d, want 10", total, available)
		}
	}
}

// A counter that can't be (taken seats plus available ones beyond the total)
// sells no seat twice: it is proved against the locks first.
func TestTake_ImpossibleCounterSellsNoSeatTwice(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Take(event, 8, testenv.Soon())
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "update", Value: "events"}, {Key: "bypassDocumentValidation", Value: true},
		{Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: bson.D{{Key: "_id", Value: event}}},
			{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "availableSeats", Value: 50}}}}}}}}}).Err(); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.Seats.Acquire(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: ids.New(), Seats: 3})
	wantCode(t, err, holdfast.CodeSeatsUnavailable)
	w.Take(event, 2, testenv.Soon())
	testenv.CheckInvariants(t, w.DB.Database)
}
