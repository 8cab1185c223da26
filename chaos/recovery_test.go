package chaos_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
)

// wreck is a database as a crash of everything left it, with something for each
// step of recovery.
type wreck struct {
	*testenv.Env
	events []ids.ID
	ended  []ids.ID // locks that have to be expired
	sold   ids.ID   // a lock that has to be marked sold
}

func wrecked(t *testing.T) *wreck {
	t.Helper()
	w := &wreck{Env: testenv.New(t)}
	for range 3 {
		w.events = append(w.events, w.Event(100))
	}
	for i := range 6 {
		w.ended = append(w.ended, w.Take(w.events[i%3], 2, testenv.Past()).ID)
		pending := w.Take(w.events[i%3], 1, testenv.Soon())
		b := w.Book(pending, testenv.Soon())
		w.Set("bookings", b.ID, bson.D{{Key: "paymentExpiresAt", Value: time.Now().Add(-time.Hour)}})
		w.ended = append(w.ended, pending.ID)
	}
	w.Book(w.Take(w.events[0], 1, testenv.Soon()), seats.Until{}) // INITIATED, and so it stays
	b := w.Book(w.Take(w.events[1], 5, testenv.Soon()), testenv.Soon())
	if _, err := w.Bookings.Confirm(w.Ctx(), b.ID, ""); err != nil {
		t.Fatal(err)
	}
	w.sold = b.LockID // hand-written code died between its two writes
	w.Set("seatlocks", b.LockID, bson.D{{Key: "status", Value: "ACTIVE"}})
	w.Set("events", w.events[2], bson.D{{Key: "availableSeats", Value: 50}})
	return w
}

// mended fails unless everything is as recovery has to leave it.
func (w *wreck) mended(t *testing.T, when string) {
	t.Helper()
	for _, broken := range testenv.Violations(t, w.DB.Database) {
		t.Errorf("%s: %s", when, broken)
	}
	for _, id := range w.ended {
		if status := w.Lock(id).Status; status != seats.Expired {
			t.Errorf("%s: lock %s is %s", when, id, status)
		}
	}
	if status := w.Lock(w.sold).Status; status != seats.Consumed {
		t.Errorf("%s: the sold lock is %s", when, status)
	}
	for i, want := range []int64{99, 95, 100} {
		if available, _ := w.Available(w.events[i]); available != want {
			t.Errorf("%s: event %d has %d seats available, want %d", when, i, available, want)
		}
	}
	n, err := w.DB.Collection("bookings").CountDocuments(w.Ctx(), bson.D{{Key: "status", Value: "PAYMENT_PENDING"}})
	if err != nil || n > 0 {
		t.Errorf("%s: %d bookings are still PAYMENT_PENDING, %v", when, n, err)
	}
}

// recover starts a worker that recovers, through a front that kills it at its nth
// request to MongoDB: before the server hears that, or before the worker hears the
// answer. n 0 lets it live. It returns how many requests there were.
func (w *wreck) recover(t *testing.T, n int64, heard bool) int64 {
	t.Helper()
	server, err := url.Parse(w.URI)
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(t, server.Host, "")
	var asked atomic.Int64
	var begun, dying atomic.Bool
	dead := make(chan struct{})
	var once sync.Once
	f.listen(func(said []byte, asking bool) bool {
		if asking && bytes.Contains(said, []byte("idleSessions")) { // recovery's first look
			begun.Store(true)
		}
		if dying.Load() {
			once.Do(func() { close(dead) })
			return false
		}
		if !asking || !begun.Load() || bytes.Contains(said, []byte("topologyVersion")) { // the driver's heartbeat
			return true
		}
		if asked.Add(1) == n {
			dying.Store(true)
			if !heard {
				once.Do(func() { close(dead) })
			}
			return heard
		}
		return true
	})
	at := address(t)
	p := start(t, "worker", "MONGODB_URI=mongodb://"+f.addr+"/?directConnection=true", "MONGODB_DATABASE="+w.DB.Name(), "JOB_LEASES=none",
		"METRICS_ADDR="+at, "LOCK_EXPIRY_INTERVAL=1h", "BOOKING_EXPIRY_INTERVAL=1h", "LOG_LEVEL=warn")
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	worker := &caller{"http://" + at, &http.Client{Timeout: 5 * time.Second, Transport: transport}}
	deadline := time.After(60 * time.Second)
	for waiting := true; waiting; { // until it dies, or has done all before that
		select {
		case <-dead:
			waiting = false
		case <-deadline:
			t.Errorf("request %d never came, and recovery has no end: %s", n, p.log)
			waiting = false
		case <-time.After(20 * time.Millisecond):
			status, _, err := worker.call(t.Context(), http.MethodGet, "/readyz", nil)
			waiting = err != nil || status != http.StatusOK
		}
	}
	p.kill()
	return asked.Load()
}

// Recovery is killed at each of its requests to MongoDB, before or after it is
// done: the next one does the rest, and nothing twice. In its short form it is
// killed at one request of each ten; CHAOS_ROUNDS kills it at every one.
func TestRecovery_KilledAtEachStep(t *testing.T) {
	t.Parallel()
	all := wrecked(t)
	requests := all.recover(t, 0, false)
	all.mended(t, "undisturbed")
	step, seed := int64(10), uint64(20261121)
	if os.Getenv("CHAOS_ROUNDS") != "" {
		step = 1
	}
	if s, err := strconv.ParseUint(os.Getenv("CHAOS_SEED"), 10, 64); err == nil {
		seed = s
	}
	dice := rand.New(rand.NewPCG(seed, 0))
	var killed errgroup.Group
	killed.SetLimit(8)
	for n := 1 + dice.Int64N(step); n <= requests; n += step {
		heard := dice.IntN(2) == 0
		w := wrecked(t)
		killed.Go(func() error {
			w.recover(t, n, heard)
			w.recover(t, 0, false)
			w.mended(t, fmt.Sprintf("killed at request %d of %d, done %t", n, requests, heard))
			return nil
		})
	}
	if err := killed.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("recovery asks MongoDB %d times; it was killed at %d of these", requests, (requests+step-1)/step)
}
