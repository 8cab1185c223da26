package chaos_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

const (
	workerLeaseTTL     = 2 * time.Second
	workerTickInterval = time.Second
	// slackTimeout is how late a machine may be under the load of all tests together.
	slackTimeout = 2 * time.Second
	// eventSeats is the capacity of the workers' events.
	eventSeats = 100_000
)

// workers are several workers on one database, with their leases in one store.
type workers struct {
	t         *testing.T
	env       *testenv.Env
	hall      holdfast.ID // a seated event; zero: there is none
	settings  []string
	leases    jobs.LeaseStore
	redisURL  string                    // "" if the leases are not in Redis
	processes map[string]*process       // by POD_NAME
	metrics   map[string]string         // addresses of /readyz and /metrics
	proxies   map[string]*countingProxy // to MongoDB; they count "seatlocks"
}

// startWorkers starts n workers with leases of a kind, and waits until they are ready.
func startWorkers(t *testing.T, kind string, n int, settings ...string) *workers {
	t.Helper()
	ws := newWorkers(t, testenv.New(t), kind, settings...)
	for i := range n {
		ws.start("pod-" + strconv.Itoa(i))
	}
	ws.awaitReady()
	return ws
}

// newWorkers prepares workers on a database; none is started.
func newWorkers(t *testing.T, env *testenv.Env, kind string, settings ...string) *workers {
	t.Helper()
	ws := &workers{t: t, env: env, processes: map[string]*process{}, metrics: map[string]string{}, proxies: map[string]*countingProxy{}}
	ws.settings = slices.Concat([]string{"MONGODB_DATABASE=" + env.DB.Name(), "LEASE_TTL=" + workerLeaseTTL.String(),
		"LOCK_EXPIRY_INTERVAL=" + workerTickInterval.String(), "BOOKING_EXPIRY_INTERVAL=" + workerTickInterval.String()}, settings)
	terms := jobs.LeaseTerms{TTL: workerLeaseTTL}
	switch kind {
	case jobs.StoreRedis:
		r := testenv.OwnRedis(t)
		store := jobs.NewRedisLeases(*testenv.RedisClient(t, r.URL).Options(), terms, mongodb.SystemTime)
		t.Cleanup(func() { _ = store.Close() })
		ws.leases = store
		ws.redisURL = r.URL
		ws.settings = append(ws.settings, "REDIS_URL="+r.URL)
	case jobs.StoreMongo:
		ws.leases = jobs.NewMongoLeases(env.DB, terms)
		ws.settings = append(ws.settings, "JOB_LEASES=mongo")
	}
	t.Cleanup(func() {
		for _, p := range ws.processes {
			_ = p.cmd.Process.Signal(syscall.SIGCONT)
			_ = p.cmd.Process.Kill()
		}
	})
	return ws
}

func (ws *workers) start(pod string) {
	ws.t.Helper()
	ws.startProgram("worker", pod)
}

// startProgram starts a worker, or an API in addition to the workers.
func (ws *workers) startProgram(program, pod string) {
	ws.t.Helper()
	if ws.metrics[pod] == "" {
		ws.metrics[pod] = address(ws.t)
		ws.proxies[pod] = newCountingProxy(ws.t, ws.env.URI, "seatlocks")
	}
	serves := map[string]string{"api": "HTTP_ADDR=", "worker": "METRICS_ADDR="}[program] + ws.metrics[pod]
	ws.processes[pod] = start(ws.t, program, slices.Concat(ws.settings,
		[]string{"POD_NAME=" + pod, serves, "MONGODB_URI=" + ws.proxies[pod].uri})...)
}

func (ws *workers) awaitReady() {
	ws.t.Helper()
	for pod, p := range ws.processes {
		awaitReady(ws.t, ws.caller(pod), p)
	}
}

// stop ends all processes by SIGTERM, and fails the test if one does not end as it should.
func (ws *workers) stop() {
	ws.t.Helper()
	for pod, p := range ws.processes {
		if err := p.stop(ws.t); err != nil {
			ws.t.Errorf("%s after SIGTERM: %v", pod, err)
		}
	}
}

func (ws *workers) caller(pod string) *apiCaller {
	return &apiCaller{base: "http://" + ws.metrics[pod],
		http: &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}}
}

// awaitLeader waits until a pod leads that is not excluded, and returns it.
func (ws *workers) awaitLeader(excluded ...string) (leader string) {
	ws.t.Helper()
	found := poll(60*time.Second, 5*time.Millisecond, func() bool {
		h, err := ws.leases.Read(ws.t.Context(), jobs.LeaderLease)
		leader, _, _ = strings.Cut(h.Holder, "/")
		return err == nil && h.Held() && !slices.Contains(excluded, leader)
	})
	if !found {
		ws.t.Fatal("no worker leads")
	}
	return leader
}

// lockSeats makes n locks, evenly spread over a duration, each of which is due after a second.
func (ws *workers) lockSeats(ctx context.Context, n int, over time.Duration, events []holdfast.ID) {
	ws.t.Helper()
	const interval = 100 * time.Millisecond
	each := max(1, n*int(interval)/int(over))
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	user := mongodb.NewID()
	for made := 0; made < n && ctx.Err() == nil; {
		var batch sync.WaitGroup
		for range min(each, n-made) {
			made++
			batch.Go(func() {
				r := holdfast.LockRequest{
					EventID: events[rand.IntN(len(events))], UserID: user, Seats: 1 + rand.Int64N(3), Until: holdfast.Until{For: time.Second},
				}
				if r.EventID == ws.hall {
					r.Wish.Best = &holdfast.BestAvailable{}
				}
				if _, _, err := ws.env.Seats.AcquireLock(context.WithoutCancel(ctx), r); err != nil {
					ws.t.Error(err)
				}
			})
		}
		batch.Wait()
		<-ticker.C
	}
}

// insertDueLocks inserts n locks of one seat that are due, evenly over the events, as an
// import would.
func (ws *workers) insertDueLocks(events []holdfast.ID, n int) {
	ws.t.Helper()
	each := n / len(events)
	for _, event := range events {
		due := make([]any, 0, each)
		for range each {
			due = append(due, bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "userId", Value: mongodb.NewID()},
				{Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(-time.Hour)}})
		}
		// In one transaction: the job reconcile may look in between.
		err := mongodb.Do(context.Background(), ws.env.DB, func(ctx context.Context) error {
			_, err := ws.env.DB.Collection("events").UpdateByID(ctx, event,
				bson.D{{Key: "$inc", Value: bson.D{{Key: "availableSeats", Value: -each}}}})
			if err == nil {
				_, err = ws.env.DB.Collection("seatlocks").InsertMany(ctx, due)
			}
			return err
		})
		if err != nil {
			ws.t.Fatal(err)
		}
	}
}

func (ws *workers) createEvents(n int) (events []holdfast.ID) {
	for range n {
		events = append(events, ws.env.Event(eventSeats))
	}
	return events
}

// createHall creates a seated event, whose locks are of the best available seats.
func (ws *workers) createHall() holdfast.ID {
	ws.t.Helper()
	const rows = 4
	section := holdfast.Section{Key: "stalls", Name: "Stalls", Category: "stalls"}
	for n := range rows {
		section.Rows = append(section.Rows, holdfast.Row{Key: strconv.Itoa(n), Count: holdfast.MaxRowSeats})
	}
	plan := holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "stalls", Name: "Stalls"}}, Sections: []holdfast.Section{section},
	}
	ws.hall = ws.env.SeatedEvent(plan)
	return ws.hall
}

func (ws *workers) countLocks(filter bson.D) (int64, error) {
	return ws.env.DB.Collection("seatlocks").CountDocuments(context.Background(), filter)
}

// awaitAllExpired waits until every lock has been expired, and checks that all seats are
// available again.
func (ws *workers) awaitAllExpired(events []holdfast.ID) {
	ws.t.Helper()
	var n int64
	expired := poll(60*time.Second, 50*time.Millisecond, func() bool {
		var err error
		if n, err = ws.countLocks(bson.D{{Key: "status", Value: "ACTIVE"}}); err != nil {
			ws.t.Fatal(err)
		}
		return n == 0
	})
	if !expired {
		ws.t.Errorf("%d locks are still ACTIVE", n)
	}
	testenv.CheckInvariants(ws.t, ws.env.DB.Database)
	for _, e := range events {
		found, err := ws.env.Seats.GetEvent(ws.t.Context(), e)
		if err != nil || found.AvailableSeats != found.TotalSeats || found.Oversold != 0 {
			ws.t.Errorf("event %s has %d of %d seats available, %d oversold, %v", e, found.AvailableSeats, found.TotalSeats, found.Oversold, err)
		}
	}
}

// checkNoLeases fails the test if stopped processes have left leases.
func (ws *workers) checkNoLeases() {
	ws.t.Helper()
	for _, name := range []string{
		"leader", "lock-expiry", "booking-expiry", "reconcile", "retention", "recovery", "changes", "waitlist", "schema",
	} {
		if h, err := ws.leases.Read(ws.t.Context(), jobs.LeaseOf(name)); err != nil || h.Held() {
			ws.t.Errorf("the lease %s is still held by %s, %v", name, h.Holder, err)
		}
	}
}
