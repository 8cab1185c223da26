package chaos_test

import (
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	prometheus "github.com/prometheus/common/model"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// jobRun is a run of the job lock-expiry.
type jobRun struct {
	ID        string    `bson:"_id"`
	Pod       string    `bson:"pod"`
	StartedAt time.Time `bson:"startedAt"`
	Outcome   string    `bson:"outcome"`
	Applied   int       `bson:"applied"`
}

func (ws *workers) findRuns(filter bson.D) []jobRun {
	ws.t.Helper()
	found, err := findAll[jobRun](ws.env, "jobruns", slices.Concat(bson.D{{Key: "job", Value: "lock-expiry"}}, filter))
	if err != nil {
		ws.t.Fatal(err)
	}
	return found
}

func (ws *workers) findRunsAfter(start time.Time) []jobRun {
	ws.t.Helper()
	return ws.findRuns(bson.D{{Key: "startedAt", Value: bson.D{{Key: "$gt", Value: start}}}})
}

// awaitRunsEnded waits until all runs that have started by now, and are recorded, have ended, and returns them. It
// returns what it waited for: a run is recorded after its start, so a second read could find one more, in progress.
func (ws *workers) awaitRunsEnded() []jobRun {
	ws.t.Helper()
	started := bson.D{{Key: "startedAt", Value: bson.D{{Key: "$lte", Value: time.Now()}}}}
	var runs []jobRun
	testenv.WaitFor(ws.t, func() bool {
		runs = ws.findRuns(started)
		return !slices.ContainsFunc(runs, func(r jobRun) bool { return r.Outcome == "running" })
	})
	return runs
}

// awaitRunning waits until a run is in progress.
func (ws *workers) awaitRunning() {
	ws.t.Helper()
	running := poll(30*time.Second, time.Millisecond, func() bool {
		return len(ws.findRuns(bson.D{{Key: "outcome", Value: "running"}})) > 0
	})
	if !running {
		ws.t.Fatal("no run started")
	}
}

// awaitNextRun waits for the first run that starts after a time, and returns how long after.
func (ws *workers) awaitNextRun(after time.Time) time.Duration {
	ws.t.Helper()
	var first time.Time
	started := poll(60*time.Second, 5*time.Millisecond, func() bool {
		for _, r := range ws.findRunsAfter(after) {
			if first.IsZero() || r.StartedAt.Before(first) {
				first = r.StartedAt
			}
		}
		return !first.IsZero()
	})
	if !started {
		ws.t.Fatal("no run started")
	}
	return first.Sub(after)
}

// awaitCompletedRuns waits until two runs have started from now on and completed.
func (ws *workers) awaitCompletedRuns(situation string) {
	ws.t.Helper()
	now := ws.databaseTime()
	since := bson.D{{Key: "startedAt", Value: bson.D{{Key: "$gt", Value: now}}}, {Key: "outcome", Value: "completed"}}
	if !poll(20*time.Second, 10*time.Millisecond, func() bool { return len(ws.findRuns(since)) >= 2 }) {
		ws.t.Fatalf("%s: no completed runs: %s", situation, ws.processes["pod-0"].log)
	}
}

func (ws *workers) databaseTime() time.Time {
	ws.t.Helper()
	now, err := ws.env.DB.Now(ws.t.Context())
	if err != nil {
		ws.t.Fatal(err)
	}
	return now
}

// checkTicks fails the test if two runs belong to the same tick, and returns the number of
// ticks.
func (ws *workers) checkTicks() int {
	ws.t.Helper()
	runs := map[time.Time][]string{}
	for _, r := range ws.findRuns(nil) {
		tick := r.StartedAt.Truncate(workerTickInterval)
		runs[tick] = append(runs[tick], r.Pod+" "+r.StartedAt.Format("05.000"))
	}
	for tick, pods := range runs {
		if len(pods) > 1 {
			ws.t.Errorf("the tick of %v was run by %v", tick, pods)
		}
	}
	return len(runs)
}

// scrape returns a worker's metrics as text.
func (ws *workers) scrape(pod string) string {
	ws.t.Helper()
	response, err := ws.caller(pod).http.Get("http://" + ws.metrics[pod] + "/metrics")
	if err != nil {
		ws.t.Fatal(err)
	}
	defer closeQuietly(response.Body)
	text, err := io.ReadAll(response.Body)
	if err != nil {
		ws.t.Fatal(err)
	}
	return string(text)
}

// acquisitionMillis returns quantiles, in milliseconds, of how long a worker took to acquire
// leases of runs, by the histogram among its metrics, and how many it acquired.
func (ws *workers) acquisitionMillis(pod string) (p50, p99 float64, n uint64) {
	ws.t.Helper()
	parser := expfmt.NewTextParser(prometheus.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(ws.scrape(pod)))
	if err != nil {
		ws.t.Fatal(err)
	}
	counts := map[float64]uint64{} // cumulative, by the bucket's upper bound
	for _, m := range families["holdfast_lease_acquire_duration_seconds"].GetMetric() {
		if m.GetLabel()[0].GetValue() == "leader" {
			continue
		}
		n += m.GetHistogram().GetSampleCount()
		for _, b := range m.GetHistogram().GetBucket() {
			counts[b.GetUpperBound()] += b.GetCumulativeCount()
		}
	}
	return 1000 * quantile(0.5, n, counts), 1000 * quantile(0.99, n, counts), n
}

// quantile interpolates linearly within a histogram's bucket.
func quantile(q float64, n uint64, counts map[float64]uint64) float64 {
	lower, below := 0.0, uint64(0)
	for _, upper := range slices.Sorted(maps.Keys(counts)) {
		if want := q * float64(n); float64(counts[upper]) >= want {
			share := (want - float64(below)) / float64(counts[upper]-below)
			return lower + share*(upper-lower)
		}
		lower, below = upper, counts[upper]
	}
	return lower
}
