package chaos_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// acknowledged is what customers were told.
type acknowledged struct {
	mu                sync.Mutex
	locks, sold, kept map[string]bool
}

func (a *acknowledged) note(set map[string]bool, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	set[id] = true
}

// The API and the worker are killed at random and started again, under 50
// customers: the invariants hold afterwards, nothing acknowledged is missing,
// and a key asked again has one effect.
func TestProcesses_KilledAtRandomLoseNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	api := address(t)
	env := []string{
		"MONGODB_URI=" + w.URI, "MONGODB_DATABASE=" + w.DB.Name(), "HTTP_ADDR=" + api, "LOCK_EXPIRY_INTERVAL=100ms",
		"BOOKING_EXPIRY_INTERVAL=100ms", "RECONCILE_INTERVAL=300ms", "LEASE_TTL=1s", "LOG_LEVEL=warn",
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	defer transport.CloseIdleConnections()
	c := &caller{"http://" + api, &http.Client{Timeout: 15 * time.Second, Transport: transport}}
	apiProcess, worker := start(t, "api", env...), start(t, "worker", env...)
	await(t, c, apiProcess)
	user := must(t, c, "/api/users", map[string]any{"name": "A", "email": "a@example.com"})
	events := []string{event(t, c, 400), event(t, c, 400), event(t, c, 50)}

	shop := client.New(c.base, client.WithHTTPClient(c.http))
	ctx, stop := context.WithCancel(t.Context())
	acks := &acknowledged{locks: map[string]bool{}, sold: map[string]bool{}, kept: map[string]bool{}}
	var customers sync.WaitGroup
	for range 50 {
		customers.Go(func() {
			for ctx.Err() == nil {
				visit(ctx, t, shop, events[rand.IntN(len(events))], user, acks)
			}
		})
	}
	const kills = 8
	for range kills {
		<-time.After(time.Duration(300+rand.IntN(900)) * time.Millisecond) // the moment of a crash is nobody's signal
		if rand.IntN(3) == 0 {
			worker.kill()
			worker = start(t, "worker", env...)
		} else {
			apiProcess.kill()
			apiProcess = start(t, "api", env...)
			await(t, c, apiProcess)
		}
	}
	stop()
	customers.Wait()
	apiProcess.kill()
	worker.kill()
	apiProcess, worker = start(t, "api", env...), start(t, "worker", env...) // recovery
	await(t, c, apiProcess)
	for name, p := range map[string]*process{"api": apiProcess, "worker": worker} {
		if err := p.stop(t); err != nil {
			t.Errorf("%s after SIGTERM: %v", name, err)
		}
	}
	t.Logf("%d kills; %d locks and %d sales were acknowledged", kills, len(acks.locks), len(acks.sold))
	testenv.CheckInvariants(t, w.DB.Database)
	check(t, w, acks)
}

// visit is one customer's way, as a shop's back end goes it with the client, which
// asks again with the same key where there is no answer.
func visit(ctx context.Context, t *testing.T, c *client.Client, event, user string, acks *acknowledged) {
	key := ids.New().String()
	ttl := time.Duration(1+rand.IntN(3)) * time.Second
	lock, err := c.AcquireLock(ctx, client.LockRequest{EventID: event, UserID: user, Seats: 1 + rand.Int64N(4), TTL: ttl, IdempotencyKey: key})
	if !done(ctx, t, err) {
		return
	}
	acks.note(acks.locks, lock.ID)
	if rand.IntN(4) == 0 {
		_, err := c.ReleaseLock(ctx, lock.ID)
		done(ctx, t, err)
		return
	}
	b, err := c.CreateBooking(ctx, client.BookingRequest{UserID: user, EventID: event, LockID: lock.ID, PaymentTTL: ttl})
	if !done(ctx, t, err) || rand.IntN(3) == 0 {
		return
	}
	if _, err = c.ConfirmBooking(ctx, b.ID, key); !done(ctx, t, err) {
		return
	}
	if rand.IntN(5) > 0 { // seats come back, so that the sale goes on
		_, err := c.CancelBooking(ctx, b.ID)
		done(ctx, t, err)
		return
	}
	acks.note(acks.sold, b.ID)
}

// done is false for what a rule refused, and after ctx; anything else but success is
// an error.
func done(ctx context.Context, t *testing.T, err error) bool {
	var refused *client.Error
	byRule := errors.As(err, &refused) && (refused.Status == http.StatusConflict || refused.Status == http.StatusGone)
	if err != nil && ctx.Err() == nil && !byRule {
		t.Error(err)
	}
	return err == nil
}

func must(t *testing.T, c *caller, path string, body map[string]any) string {
	t.Helper()
	status, fields, err := c.call(t.Context(), "POST", path, body)
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, fields, err)
	}
	return fields["id"].(string)
}

func event(t *testing.T, c *caller, total int) string {
	t.Helper()
	return must(t, c, "/api/events", map[string]any{"name": "E", "totalSeats": total, "eventDate": "2026-06-15T10:00:00Z"})
}

func check(t *testing.T, w *testenv.Env, acks *acknowledged) {
	t.Helper()
	if len(acks.locks) < 50 || len(acks.sold) == 0 {
		t.Errorf("%d locks and %d sales: the test did not do its work", len(acks.locks), len(acks.sold))
	}
	for id := range acks.locks {
		if n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{{Key: "_id", Value: parse(t, id)}}); err != nil || n != 1 {
			t.Errorf("the acknowledged lock %s is missing: %v", id, err)
		}
	}
	for id := range acks.sold {
		if b := w.Booking(parse(t, id)); b.Status != "CONFIRMED" {
			t.Errorf("the acknowledged sale %s is %s", id, b.Status)
		}
	}
}

func parse(t *testing.T, id string) ids.ID {
	t.Helper()
	parsed, err := ids.Parse(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// Wrong settings are refused at the start, with what to do about them.
func TestProcesses_RefuseWrongSettings(t *testing.T) {
	t.Parallel()
	for setting, says := range map[string]string{
		"MONGODB_URI=": "MONGODB_URI is not set", "MONGODB_URI=nonsense": "MONGODB_URI", "HTTP_ADDR=0.0.0.0:80": "API_KEYS", "HTTP_ADDR=8080": "host:port",
		"SWEEP_BATCH=0": "SWEEP_BATCH", "LOCK_DEFAULT_TTL=3h": "LOCK_MAX_TTL", "LOCK_EXPIRY_INTERVAL=often": "lock-expiry-interval",
		"API_KEYS=shop:root:x": "booking", "API_KEYS=a:admin:x,b:booking:x": "secret", "JWT_SECRET=x": "JWT_SECRET", "LOG_FORMAT=xml": "log-format",
		"MONGODB_DATABASE=a/b": "MONGODB_DATABASE", "PAYMENT_MAX_TTL=-5m": "PAYMENT_MAX_TTL",
		"LEASE_TTL=10ms": "LEASE_TTL", "POD_NAME=a/b": "POD_NAME", "REDIS_URL=http://user:hush@x": "REDIS_URL is not a valid address", "REDIS_PORT=0": "REDIS_PORT",
		"REDIS_ENABLED=perhaps": "redis-enabled", "JOB_LEASES=etcd": "job-leases", "JOB_LEASES=redis REDIS_ENABLED=false": "change one of them", "ENDED_RETENTION=-1s": "ENDED_RETENTION",
	} {
		p := start(t, "api", append([]string{"MONGODB_URI=mongodb://127.0.0.1:1/?replicaSet=x"}, strings.Fields(setting)...)...)
		select {
		case err := <-p.done:
			if err == nil || !strings.Contains(p.log.String(), says) || strings.Contains(p.log.String(), "hush") {
				t.Errorf("%s: %v, %q does not name %s", setting, err, p.log, says)
			}
		case <-time.After(20 * time.Second):
			p.kill()
			t.Errorf("%s: it started", setting)
		}
	}
}
