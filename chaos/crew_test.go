package chaos_test

import (
	"context"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	prometheus "github.com/prometheus/common/model"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs/lease"
	"github.com/holdfast-dev/holdfast/seats"
)

const (
	leaseTTL = 2 * time.Second
	tick     = time.Second
	// slack is what a machine under the whole load of the tests may be late by.
	slack = 2 * time.Second
)

// crew is several workers on one database, with their leases in one store.
type crew struct {
	t       *testing.T
	w       *testenv.Env
	env     []string
	leases  lease.Store
	workers map[string]*process // by POD_NAME
	metrics map[string]string   // the addresses that they tell their state at
	taps    map[string]*wiretap // on their ways to MongoDB
}

// newCrew starts n workers with leases of a kind, and waits until they are ready.
func newCrew(t *testing.T, kind string, n int, env ...string) *crew {
	t.Helper()
	c := crewOn(t, testenv.New(t), kind, env...)
	for i := range n {
		c.start("pod-" + strconv.Itoa(i))
	}
	c.ready()
	return c
}

// crewOn is a crew of nobody yet on a database.
func crewOn(t *testing.T, w *testenv.Env, kind string, env ...string) *crew {
	t.Helper()
	c := &crew{t: t, w: w, workers: map[string]*process{}, metrics: map[string]string{}, taps: map[string]*wiretap{}}
	c.env = slices.Concat([]string{"MONGODB_DATABASE=" + c.w.DB.Name(), "LEASE_TTL=" + leaseTTL.String(),
		"LOCK_EXPIRY_INTERVAL=" + tick.String(), "BOOKING_EXPIRY_INTERVAL=" + tick.String()}, env)
	terms := lease.Terms{TTL: leaseTTL}
	if kind == lease.KindRedis {
		r := testenv.OwnRedis(t)
		c.env = append(c.env, "REDIS_URL="+r.URL)
		c.leases = lease.NewRedis(*testenv.RedisClient(t, r.URL).Options(), terms, clock.System)
		t.Cleanup(func() { c.leases.(*lease.Redis).Close() }) //nolint:errcheck // the test is over
	}
	if kind == lease.KindMongo {
		c.env = append(c.env, "JOB_LEASES=mongo")
		c.leases = lease.NewMongo(c.w.DB, terms)
	}
	t.Cleanup(func() {
		for _, p := range c.workers {
			p.cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // gone already is as good
			p.cmd.Process.Kill()                  //nolint:errcheck // gone already is as good
		}
	})
	return c
}

func (c *crew) start(pod string) {
	c.t.Helper()
	if c.metrics[pod] == "" {
		c.metrics[pod] = address(c.t)
		c.taps[pod] = tapped(c.t, c.w.URI, "seatlocks")
	}
	c.workers[pod] = start(c.t, "worker", append(slices.Clone(c.env), "POD_NAME="+pod, "METRICS_ADDR="+c.metrics[pod], "MONGODB_URI="+c.taps[pod].uri)...)
}

func (c *crew) ready() {
	c.t.Helper()
	for pod, p := range c.workers {
		await(c.t, c.client(pod), p)
	}
}

// leader waits until a pod leads, and is none of those.
func (c *crew) leader(besides ...string) string {
	c.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for time.Now().Before(deadline) {
		h, err := c.leases.Read(c.t.Context(), lease.Leader)
		pod, _, _ := strings.Cut(h.Holder, "/")
		if err == nil && h.Held() && !slices.Contains(besides, pod) {
			return pod
		}
		<-time.After(5 * time.Millisecond)
	}
	c.t.Fatal("nobody leads")
	return ""
}

// feed takes locks that are due after a second, evenly spread over a time.
func (c *crew) feed(ctx context.Context, n int, over time.Duration, events []ids.ID) {
	c.t.Helper()
	const often = 100 * time.Millisecond
	each := max(1, n*int(often)/int(over))
	clockwork := time.NewTicker(often)
	defer clockwork.Stop()
	user := ids.New()
	for fed := 0; fed < n && ctx.Err() == nil; {
		var batch sync.WaitGroup
		for range min(each, n-fed) {
			fed++
			batch.Go(func() {
				_, _, err := c.w.Seats.Take(context.WithoutCancel(ctx), seats.LockRequest{
					EventID: events[rand.IntN(len(events))], UserID: user, Seats: 1 + rand.Int64N(3), Until: seats.Until{For: time.Second}})
				if err != nil {
					c.t.Error(err)
				}
			})
		}
		batch.Wait()
		<-clockwork.C
	}
}

func (c *crew) events(n int) (found []ids.ID) {
	for range n {
		found = append(found, c.w.Event(100_000))
	}
	return found
}

func (c *crew) active() int64 {
	c.t.Helper()
	n, err := c.w.DB.Collection("seatlocks").CountDocuments(context.Background(), bson.D{{Key: "status", Value: "ACTIVE"}})
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// settle waits until every lock has been expired, and proves that each was so
// once and all seats are back.
func (c *crew) settle(events []ids.ID) {
	c.t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for c.active() > 0 && time.Now().Before(deadline) {
		<-time.After(50 * time.Millisecond)
	}
	if n := c.active(); n > 0 {
		c.t.Errorf("%d locks are still ACTIVE", n)
	}
	testenv.CheckInvariants(c.t, c.w.DB.Database)
	for _, e := range events {
		if available, oversold := c.w.Available(e); available != 100_000 || oversold != 0 {
			c.t.Errorf("event %s has %d seats available, %d oversold", e, available, oversold)
		}
	}
}

type ran struct {
	ID        string    `bson:"_id"`
	Pod       string    `bson:"pod"`
	StartedAt time.Time `bson:"startedAt"`
	Outcome   string    `bson:"outcome"`
	Applied   int       `bson:"applied"`
}

func (c *crew) runs(filter bson.D) (found []ran) {
	c.t.Helper()
	cursor, err := c.w.DB.Collection("jobruns").Find(context.Background(), append(bson.D{{Key: "job", Value: "lock-expiry"}}, filter...))
	if err == nil {
		err = cursor.All(context.Background(), &found)
	}
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

// ended waits until no run that has begun by now is under way, and returns those.
func (c *crew) ended() []ran {
	c.t.Helper()
	begun := bson.E{Key: "startedAt", Value: bson.D{{Key: "$lte", Value: time.Now()}}}
	testenv.WaitFor(c.t, func() bool { return len(c.runs(bson.D{begun, {Key: "outcome", Value: "running"}})) == 0 })
	return c.runs(bson.D{begun})
}

// eachTickOnce fails where two runs of the job belong to one tick.
func (c *crew) eachTickOnce() (ticks int) {
	c.t.Helper()
	by := map[time.Time][]string{}
	for _, r := range c.runs(nil) {
		at := r.StartedAt.Truncate(tick)
		by[at] = append(by[at], r.Pod+" "+r.StartedAt.Format("05.000"))
	}
	for at, pods := range by {
		if len(pods) > 1 {
			c.t.Errorf("the tick of %v was run by %v", at, pods)
		}
	}
	return len(by)
}

// nothingLeft fails if stopped processes left leases behind.
func (c *crew) nothingLeft() {
	c.t.Helper()
	for _, name := range []string{"leader", "lock-expiry", "booking-expiry", "reconcile", "retention", "recovery", "schema"} {
		if h, err := c.leases.Read(c.t.Context(), lease.Of(name)); err != nil || h.Held() {
			c.t.Errorf("%s is left with %s, %v", name, h.Holder, err)
		}
	}
}

// scrape is what a worker tells Prometheus.
func (c *crew) scrape(pod string) string {
	c.t.Helper()
	response, err := c.client(pod).http.Get("http://" + c.metrics[pod] + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read only
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

// acquisitions are the quantiles, in milliseconds, of how long a worker took to
// acquire its runs' leases, by the histogram that it tells Prometheus.
func (c *crew) acquisitions(pod string) (p50, p99 float64, n uint64) {
	c.t.Helper()
	parser := expfmt.NewTextParser(prometheus.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(c.scrape(pod)))
	if err != nil {
		c.t.Fatal(err)
	}
	bounds := map[float64]uint64{}
	for _, m := range families["holdfast_lease_acquire_duration_seconds"].GetMetric() {
		if m.GetLabel()[0].GetValue() == "leader" {
			continue
		}
		n += m.GetHistogram().GetSampleCount()
		for _, b := range m.GetHistogram().GetBucket() {
			bounds[b.GetUpperBound()] += b.GetCumulativeCount()
		}
	}
	quantile := func(q float64) float64 {
		lower, below := 0.0, uint64(0)
		for _, upper := range slices.Sorted(maps.Keys(bounds)) {
			if want := q * float64(n); float64(bounds[upper]) >= want {
				share := (want - float64(below)) / float64(bounds[upper]-below)
				return 1000 * (lower + share*(upper-lower))
			}
			lower, below = upper, bounds[upper]
		}
		return 1000 * lower
	}
	return quantile(0.5), quantile(0.99), n
}

// feedAtOnce puts locks of one seat that are due into the database, evenly over
// the events, as an import would.
func (c *crew) feedAtOnce(events []ids.ID, n int) {
	c.t.Helper()
	each := n / len(events)
	for _, event := range events {
		due := make([]any, 0, each)
		for range each {
			due = append(due, bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: event}, {Key: "userId", Value: ids.New()},
				{Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(-time.Hour)}})
		}
		_, err := c.w.DB.Collection("events").UpdateByID(context.Background(), event,
			bson.D{{Key: "$inc", Value: bson.D{{Key: "availableSeats", Value: -each}}}})
		if err == nil {
			_, err = c.w.DB.Collection("seatlocks").InsertMany(context.Background(), due)
		}
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

// awaitRun waits until a run is under way.
func (c *crew) awaitRun() {
	c.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for len(c.runs(bson.D{{Key: "outcome", Value: "running"}})) == 0 {
		if time.Now().After(deadline) {
			c.t.Fatal("no run began")
		}
		<-time.After(time.Millisecond)
	}
}
