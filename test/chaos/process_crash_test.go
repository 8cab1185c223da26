package chaos_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The API and the worker are killed at random times and started again, while 50 clients use
// them. Afterwards the invariants hold, nothing acknowledged is missing, and a key that was
// retried has one effect.
func TestProcesses_KilledAtRandomLoseNothing(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	addr := address(t)
	settings := []string{
		"MONGODB_URI=" + env.URI, "MONGODB_DATABASE=" + env.DB.Name(), "HTTP_ADDR=" + addr, "LOCK_EXPIRY_INTERVAL=100ms",
		"BOOKING_EXPIRY_INTERVAL=100ms", "RECONCILE_INTERVAL=300ms", "LEASE_TTL=1s", "LOG_LEVEL=warn",
	}
	c := newAPICaller(t, addr, 64, 15*time.Second)
	api, worker := start(t, "api", settings...), start(t, "worker", settings...)
	awaitReady(t, c, api)
	user := createUser(t, c)
	hall := createSeatedEvent(t, c, createPlan(t, c, theHall), client.OrphansAllowed)
	events := []string{createEvent(t, c, 400), createEvent(t, c, 400), createEvent(t, c, 50), hall}

	ctx, stop := context.WithCancel(t.Context())
	acks := &acknowledged{locks: map[string]bool{}, sales: map[string]bool{}}
	shop := &shopClient{t: t, client: client.New(c.base, client.WithHTTPClient(c.http)), user: user, hall: hall, acks: acks}
	var clients sync.WaitGroup
	for range 50 {
		clients.Go(func() {
			for ctx.Err() == nil {
				shop.buy(ctx, events[rand.IntN(len(events))])
			}
		})
	}
	const kills = 8
	for range kills {
		delay(context.Background(), time.Duration(300+rand.IntN(900))*time.Millisecond)
		if rand.IntN(3) == 0 {
			worker.kill()
			worker = start(t, "worker", settings...)
		} else {
			api.kill()
			api = start(t, "api", settings...)
			awaitReady(t, c, api)
		}
	}
	stop()
	clients.Wait()
	api.kill()
	worker.kill()
	api, worker = start(t, "api", settings...), start(t, "worker", settings...) // They run recovery.
	awaitReady(t, c, api)
	for name, p := range map[string]*process{"api": api, "worker": worker} {
		if err := p.stop(t); err != nil {
			t.Errorf("%s after SIGTERM: %v", name, err)
		}
	}
	t.Logf("%d kills; %d locks and %d sales were acknowledged", kills, len(acks.locks), len(acks.sales))
	testenv.CheckInvariants(t, env.DB.Database)
	acks.check(t, env)
}

// acknowledged is what clients have received: locks that were made, and bookings that were
// confirmed and not cancelled.
type acknowledged struct {
	mu           sync.Mutex
	locks, sales map[string]bool
}

func (a *acknowledged) add(to map[string]bool, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	to[id] = true
}

func (a *acknowledged) check(t *testing.T, env *testenv.Env) {
	t.Helper()
	if len(a.locks) < 50 || len(a.sales) == 0 {
		t.Errorf("%d locks and %d sales: too few to prove anything", len(a.locks), len(a.sales))
	}
	for id := range a.locks {
		n, err := env.DB.Collection("seatlocks").CountDocuments(env.Ctx(), bson.D{{Key: "_id", Value: parseID(t, id)}})
		if err != nil || n != 1 {
			t.Errorf("the acknowledged lock %s is missing: %v", id, err)
		}
	}
	for id := range a.sales {
		if b := env.Booking(parseID(t, id)); b.Status != "CONFIRMED" {
			t.Errorf("the acknowledged sale %s is %s", id, b.Status)
		}
	}
}

// shopClient uses the package client as the back end of a shop does. The package retries with
// the same key if there is no answer.
type shopClient struct {
	t      *testing.T
	client *client.Client
	user   string
	hall   string // the event in theHall
	acks   *acknowledged
}

// buy locks seats, changes them at times, and then releases, abandons, sells, or sells and cancels them.
func (s *shopClient) buy(ctx context.Context, event string) {
	key := mongodb.NewID().String()
	ttl := time.Duration(1+rand.IntN(3)) * time.Second
	request := client.LockRequest{EventID: event, UserID: s.user, Seats: 1 + rand.Int64N(4), TTL: ttl, IdempotencyKey: key}
	other := client.Wish{Seats: 1 + rand.Int64N(4)}
	if event == s.hall {
		rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
		w, _ := theHall.wish(rng)
		request = w.addTo(request, theHall)
		w, _ = theHall.wish(rng)
		other = w.ofClient(theHall)
	}
	lock, err := s.client.AcquireLock(ctx, request)
	if !s.succeeded(ctx, err) {
		return
	}
	s.acks.add(s.acks.locks, lock.ID)
	if rand.IntN(3) == 0 {
		_, err := s.client.ChangeSeats(ctx, lock.ID, other)
		s.succeeded(ctx, err)
	}
	if rand.IntN(4) == 0 {
		_, err := s.client.ReleaseLock(ctx, lock.ID)
		s.succeeded(ctx, err)
		return
	}
	b, err := s.client.CreateBooking(ctx, client.BookingRequest{UserID: s.user, EventID: event, LockID: lock.ID, PaymentTTL: ttl})
	if !s.succeeded(ctx, err) || rand.IntN(3) == 0 {
		return
	}
	if _, err = s.client.ConfirmBooking(ctx, b.ID, key); !s.succeeded(ctx, err) {
		return
	}
	if rand.IntN(5) > 0 { // Most are cancelled, so that their seats are sold again.
		_, err := s.client.CancelBooking(ctx, b.ID)
		s.succeeded(ctx, err)
		return
	}
	s.acks.add(s.acks.sales, b.ID)
}

// succeeded reports whether there is no error. Errors other than refusals by a rule fail the
// test, unless ctx has ended.
func (s *shopClient) succeeded(ctx context.Context, err error) bool {
	var answer *client.Error
	byRule := errors.As(err, &answer) && (answer.Status == http.StatusConflict || answer.Status == http.StatusGone)
	if err != nil && ctx.Err() == nil && !byRule {
		s.t.Error(err)
	}
	return err == nil
}
