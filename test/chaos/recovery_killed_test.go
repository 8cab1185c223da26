package chaos_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// corruptDB is a database as a crash of all processes may leave it, with work for each step of
// recovery.
type corruptDB struct {
	*testenv.Env
	events []holdfast.ID // the last one is in theHall
	due    []holdfast.ID // locks that recovery must expire
	sold   holdfast.ID   // a lock that recovery must mark CONSUMED
}

func newCorruptDB(t *testing.T) *corruptDB {
	t.Helper()
	db := &corruptDB{Env: testenv.New(t)}
	for range 3 {
		db.events = append(db.events, db.Event(100))
	}
	for i := range 6 {
		db.due = append(db.due, db.Acquire(db.events[i%3], 2, testenv.Past()).ID)
		pending := db.Acquire(db.events[i%3], 1, testenv.Soon())
		b := db.Book(pending, testenv.Soon())
		db.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)}})
		db.due = append(db.due, pending.ID)
	}
	db.Book(db.Acquire(db.events[0], 1, testenv.Soon()), holdfast.Until{}) // It stays INITIATED.
	b := db.Book(db.Acquire(db.events[1], 5, testenv.Soon()), testenv.Soon())
	if _, err := db.Bookings.ConfirmBooking(db.Ctx(), b.ID, holdfast.Charge{}); err != nil {
		t.Fatal(err)
	}
	// Other software crashed between its two writes: to the booking and to its lock.
	db.sold = b.LockID
	db.Set("seatlocks", b.LockID, bson.D{{Key: "status", Value: "ACTIVE"}})
	db.Set("events", db.events[2], bson.D{{Key: "availableSeats", Value: 50}})
	db.addHall()
	return db
}

// addHall adds an event in theHall: with a lock, a due lock, a due booking, and a map whose first section
// is empty.
func (db *corruptDB) addHall() {
	db.T.Helper()
	event := db.SeatedEvent(theHall.plan)
	acquire := func(until holdfast.Until, seats ...string) holdfast.Lock {
		lock, _, err := db.Seats.AcquireLock(db.Ctx(), holdfast.LockRequest{
			EventID: event, UserID: mongodb.NewID(), Until: until, Wish: holdfast.Wish{SeatIDs: seats},
		})
		if err != nil {
			db.T.Fatal(err)
		}
		return lock
	}
	acquire(testenv.Soon(), "A1", "A2")
	pending := acquire(testenv.Soon(), "A3", "C1")
	b := db.Book(pending, testenv.Soon())
	db.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)}})
	db.due = append(db.due, pending.ID, acquire(testenv.Past(), "B1", "D1", "D2").ID)
	db.Set("events", event, bson.D{{Key: "internal.map.0", Value: bson.Binary{Data: []byte{0, 0}}}})
	db.events = append(db.events, event)
}

// checkRepaired fails the test unless everything is as recovery must leave it.
func (db *corruptDB) checkRepaired(t *testing.T, situation string) {
	t.Helper()
	for _, v := range testenv.Violations(t, db.DB.Database) {
		t.Errorf("%s: %s", situation, v)
	}
	for _, id := range db.due {
		if status := db.Lock(id).Status; status != holdfast.LockExpired {
			t.Errorf("%s: lock %s is %s", situation, id, status)
		}
	}
	if status := db.Lock(db.sold).Status; status != holdfast.LockConsumed {
		t.Errorf("%s: the sold lock is %s", situation, status)
	}
	for i, want := range []int64{99, 95, 100, theHall.totalSeats() - 2} {
		if available, _ := db.Available(db.events[i]); available != want {
			t.Errorf("%s: event %d has %d seats available, want %d", situation, i, available, want)
		}
	}
	n, err := db.DB.Collection("bookings").CountDocuments(db.Ctx(), bson.D{{Key: "status", Value: "PAYMENT_PENDING"}})
	if err != nil || n > 0 {
		t.Errorf("%s: %d bookings are still PAYMENT_PENDING, %v", situation, n, err)
	}
}

// killPoint says at which of recovery's requests to MongoDB the worker is killed, the first one
// being 1; 0 does not kill it.
type killPoint struct {
	request int64
	// executed kills the worker before it receives the answer. Otherwise it is killed before the
	// server receives the request.
	executed bool
}

// recover starts a worker, lets it run recovery up to the kill point, and returns how many
// requests recovery has sent to MongoDB.
func (db *corruptDB) recover(t *testing.T, at killPoint) int64 {
	t.Helper()
	server, err := url.Parse(db.URI)
	if err != nil {
		t.Fatal(err)
	}
	killer := &requestKiller{at: at, reached: make(chan struct{})}
	mongo := newProxy(t, server.Host, "")
	mongo.inspectWith(killer.inspect)
	addr := address(t)
	p := start(t, "worker", "MONGODB_URI=mongodb://"+mongo.addr+"/?directConnection=true", "MONGODB_DATABASE="+db.DB.Name(),
		"JOB_LEASES=none", "METRICS_ADDR="+addr, "LOCK_EXPIRY_INTERVAL=1h", "BOOKING_EXPIRY_INTERVAL=1h", "LOG_LEVEL=warn")
	worker := newAPICaller(t, addr, 1, 5*time.Second)
	ended := poll(60*time.Second, 20*time.Millisecond, func() bool {
		if killer.isReached() {
			return true
		}
		status, _, err := worker.call(t.Context(), http.MethodGet, "/readyz", nil)
		return err == nil && status == http.StatusOK
	})
	if !ended {
		t.Errorf("request %d was not sent, and recovery does not end: %s", at.request, p.log)
	}
	p.kill()
	return killer.requests.Load()
}

// requestKiller counts recovery's requests and loses all packets from the kill point on.
type requestKiller struct {
	at        killPoint
	requests  atomic.Int64
	recovery  atomic.Bool // has begun
	losing    atomic.Bool
	closeOnce sync.Once
	reached   chan struct{} // closed when the worker is to be killed
}

func (k *requestKiller) inspect(packet []byte, d direction) bool {
	if d == toServer && bytes.Contains(packet, []byte("idleSessions")) { // recovery's first request
		k.recovery.Store(true)
	}
	if k.losing.Load() {
		k.reach()
		return false
	}
	isHeartbeat := bytes.Contains(packet, []byte("topologyVersion"))
	if d == toClient || !k.recovery.Load() || isHeartbeat {
		return true
	}
	if k.requests.Add(1) != k.at.request {
		return true
	}
	k.losing.Store(true)
	if !k.at.executed {
		k.reach()
	}
	return k.at.executed
}

func (k *requestKiller) reach() { k.closeOnce.Do(func() { close(k.reached) }) }

func (k *requestKiller) isReached() bool {
	select {
	case <-k.reached:
		return true
	default:
		return false
	}
}

// Recovery is killed at each of its requests to MongoDB, before or after the request is
// executed: the next recovery does the rest, and nothing twice. By default it is killed at one
// request out of ten; with CHAOS_ROUNDS, at every one.
func TestRecovery_KilledAtAnyRequestIsCompletedByTheNext(t *testing.T) {
	t.Parallel()
	undisturbed := newCorruptDB(t)
	requests := undisturbed.recover(t, killPoint{})
	undisturbed.checkRepaired(t, "not killed")
	step := int64(10)
	if os.Getenv("CHAOS_ROUNDS") != "" {
		step = 1
	}
	rng := rand.New(rand.NewPCG(seedFromEnv(), 0))
	var recoveries errgroup.Group
	recoveries.SetLimit(8)
	for n := 1 + rng.Int64N(step); n <= requests; n += step {
		at := killPoint{request: n, executed: rng.IntN(2) == 0}
		db := newCorruptDB(t)
		recoveries.Go(func() error {
			db.recover(t, at)
			db.recover(t, killPoint{})
			db.checkRepaired(t, fmt.Sprintf("killed at request %d of %d, executed %t", n, requests, at.executed))
			return nil
		})
	}
	if err := recoveries.Wait(); err != nil {
		t.Error(err)
	}
	// scripts/chaos parses this line.
	t.Logf("recovery sends %d requests to MongoDB; it was killed at %d of these", requests, (requests+step-1)/step)
}
