package jobs_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// pod is the runner of one process.
type pod struct {
	*jobs.Runner
	env      *testenv.Env
	registry *prometheus.Registry
}

// open returns a pod on env's database. Its leases are in MongoDB unless change sets
// another store.
func open(t *testing.T, env *testenv.Env, jobList []jobs.Job, change ...func(*jobs.Options)) pod {
	t.Helper()
	registry := prometheus.NewRegistry()
	o := jobs.Options{
		Log: slog.New(env.Log), Clock: mongodb.SystemTime, Holder: jobs.NewHolder("pod"),
		Leases: jobs.NewMongoLeases(env.DB, terms), Terms: terms,
		History: &jobs.History{DB: env.DB}, Metrics: jobs.NewMetrics(registry),
	}
	for _, c := range change {
		c(&o)
	}
	r := jobs.New(o, jobList...)
	t.Cleanup(func() {
		r.Stop()
		if err := r.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return pod{Runner: r, env: env, registry: registry}
}

// waitForRedis keeps leases in Redis; while it is down, no job runs.
func waitForRedis(t *testing.T, url string) func(*jobs.Options) {
	return func(o *jobs.Options) {
		parsed, err := redis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		store := jobs.NewRedisLeases(*parsed, terms, o.Clock)
		testenv.CloseAfter(t, store)
		o.Leases, o.RunWithoutStore = store, false
	}
}

// runWithoutRedis keeps leases in Redis; while it is down, this process runs the jobs.
func runWithoutRedis(t *testing.T, url string) func(*jobs.Options) {
	inRedis := waitForRedis(t, url)
	return func(o *jobs.Options) {
		inRedis(o)
		o.RunWithoutStore = true
	}
}

func job(name string, do func(ctx context.Context) error) jobs.Job {
	return jobs.Job{Name: name, MaxDuration: time.Minute, Do: func(ctx context.Context, _ jobs.Run) (jobs.Counts, error) {
		return jobs.Counts{Found: 2, Applied: 1, Skipped: 1, SeatsRestored: 5}, do(ctx)
	}}
}

func succeed(context.Context) error { return nil }

// count sums a metric over all series with the given labels.
func (p pod) count(t *testing.T, metric string, labels ...string) float64 {
	t.Helper()
	families, err := p.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, m := range f.GetMetric() {
			have := map[string]bool{}
			for _, l := range m.GetLabel() {
				have[l.GetName()+"="+l.GetValue()] = true
			}
			all := true
			for _, l := range labels {
				all = all && have[l]
			}
			if all {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

func (p pod) leases(t *testing.T) int64 {
	t.Helper()
	n, err := p.env.DB.Collection(jobs.LeaseCollection).CountDocuments(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (p pod) runs(t *testing.T, job string) []jobs.Record {
	t.Helper()
	records, _, err := p.Runs(t.Context(), job, holdfast.Page{Size: 500})
	if err != nil {
		t.Fatal(err)
	}
	return records
}
