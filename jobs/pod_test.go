package jobs_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/jobs"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// pod is one process's runner, with its own view of the database and its leases.
type pod struct {
	*jobs.Runner
	w        *testenv.World
	registry *prometheus.Registry
}

// open returns a pod on the world's database, with MongoDB's leases unless
// change says otherwise.
func open(t *testing.T, w *testenv.World, jobList []jobs.Job, change ...func(*jobs.Options)) pod {
	t.Helper()
	registry := prometheus.NewRegistry()
	o := jobs.Options{
		Log: slog.New(w.Log), Clock: clock.System, Holder: lease.NewHolder("pod"), Leases: lease.NewMongo(w.DB, terms), Terms: terms,
		History: &jobs.History{DB: w.DB}, Metrics: jobs.NewMetrics(registry),
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
	return pod{r, w, registry}
}

func withRedis(t *testing.T, url string, alone bool) func(*jobs.Options) {
	return func(o *jobs.Options) {
		parsed, err := redis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		store := lease.NewRedis(*parsed, terms, o.Clock)
		t.Cleanup(func() { store.Close() }) //nolint:errcheck // the test is over
		o.Leases, o.AloneWhenDown = store, alone
	}
}

func job(name string, do func(ctx context.Context) error) jobs.Job {
	return jobs.Job{Name: name, MaxDuration: time.Minute, Do: func(ctx context.Context, _ jobs.Run) (jobs.Counts, error) {
		return jobs.Counts{Found: 2, Applied: 1, Skipped: 1, SeatsRestored: 5}, do(ctx)
	}}
}

func nothing(context.Context) error { return nil }

// count sums a metric over all its labels but those given.
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
	n, err := p.w.DB.Collection(lease.Collection).CountDocuments(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (p pod) runs(t *testing.T, job string) []jobs.Record {
	t.Helper()
	records, _, err := p.Runs(t.Context(), job, mongodb.Page{Size: 500})
	if err != nil {
		t.Fatal(err)
	}
	return records
}
