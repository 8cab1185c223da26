package jobs

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are the metrics of a Runner, with the prefix holdfast_.
type Metrics struct {
	registry prometheus.Registerer
	gocron   *GocronMonitor

	runs           *prometheus.CounterVec   // job, outcome
	seconds        *prometheus.HistogramVec // job
	overruns       *prometheus.CounterVec   // job
	documents      *prometheus.CounterVec   // job, result
	seats          *prometheus.CounterVec   // job
	acquisitions   *prometheus.CounterVec   // lease, outcome
	acquireSeconds *prometheus.HistogramVec // lease

	mu        sync.Mutex
	completed map[string]time.Time // by job, in this process
}

// NewMetrics registers the metrics of jobs.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	f := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Namespace: "holdfast", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return f.NewHistogramVec(prometheus.HistogramOpts{Namespace: "holdfast", Name: name, Help: help, Buckets: buckets}, labels)
	}
	runBuckets := []float64{.01, .1, .5, 1, 5, 10, 30, 60, 300, 1800}
	acquireBuckets := []float64{.0002, .0005, .001, .002, .005, .01, .025, .05, .1, .25, .5, 1, 5}
	return &Metrics{
		registry:  registry,
		gocron:    NewGocronMonitor(registry, "holdfast"),
		completed: map[string]time.Time{},
		runs: counter("job_runs_total",
			"Runs by outcome: completed, failed, skipped (the lease was held or unavailable).", "job", "outcome"),
		seconds:   histogram("job_run_duration_seconds", "Duration of runs.", runBuckets, "job"),
		overruns:  counter("job_overruns_total", "Runs that were cancelled because they exceeded their time limit.", "job"),
		documents: counter("job_documents_total", "Documents of runs by result: found, applied, skipped, errors.", "job", "result"),
		seats:     counter("seats_restored_total", "Seats that sweeps returned to events.", "job"),
		acquisitions: counter("lease_acquisitions_total",
			"Attempts to acquire a lease by outcome: acquired, contention, unavailable.", "lease", "outcome"),
		acquireSeconds: histogram("lease_acquire_duration_seconds", "Duration of attempts to acquire a lease.", acquireBuckets, "lease"),
	}
}

// registerGauges registers the metrics that are computed at each scrape.
func (m *Metrics) registerGauges(r *Runner) {
	start := r.Clock()
	gauge := func(name, help string, labels prometheus.Labels, value func() float64) {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: "holdfast", Name: name, Help: help, ConstLabels: labels}, value))
	}
	gauge("leader", "1 if this process schedules the jobs.", nil, func() float64 {
		return boolValue(r.elector.IsLeader(context.Background()) == nil)
	})
	for _, job := range r.jobs {
		gauge("job_seconds_since_completed",
			"Seconds since this process last completed a run of the job, or since it started. Use the minimum over all processes.",
			prometheus.Labels{"job": job.Name}, func() float64 {
				m.mu.Lock()
				defer m.mu.Unlock()
				if last, ok := m.completed[job.Name]; ok {
					return r.Clock.Since(last).Seconds()
				}
				return r.Clock.Since(start).Seconds()
			})
		for _, o := range []Outcome{Completed, Failed, Skipped} {
			m.runs.WithLabelValues(job.Name, string(o))
		}
		m.overruns.WithLabelValues(job.Name)
	}
	m.registry.MustRegister(&modeCollector{r})
}

// modeCollector pings the lease store once per scrape.
type modeCollector struct{ runner *Runner }

var (
	modeMetric = prometheus.NewDesc("holdfast_lease_mode",
		"1 for the current mode: redis, mongo, none, waiting, single-instance.", []string{"mode"}, nil)
	redisMetric = prometheus.NewDesc("holdfast_redis_up", "1 if Redis answers and keeps leases; absent if leases are not in Redis.", nil, nil)
)

// Describe implements prometheus.Collector.
func (c *modeCollector) Describe(out chan<- *prometheus.Desc) {
	out <- modeMetric
	out <- redisMetric
}

// Collect implements prometheus.Collector.
func (c *modeCollector) Collect(out chan<- prometheus.Metric) {
	mode, err := c.runner.Mode(context.Background())
	for _, m := range modes {
		out <- prometheus.MustNewConstMetric(modeMetric, prometheus.GaugeValue, boolValue(m == mode), string(m))
	}
	if c.runner.Leases.Kind() == StoreRedis {
		out <- prometheus.MustNewConstMetric(redisMetric, prometheus.GaugeValue, boolValue(err == nil))
	}
}

func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (m *Metrics) acquired(key string, err error, took time.Duration) {
	name, outcome := strings.TrimPrefix(key, leasePrefix), "acquired"
	if _, held := IsHeld(err); held {
		outcome = "contention"
	} else if err != nil {
		outcome = "unavailable"
	}
	m.acquisitions.WithLabelValues(name, outcome).Inc()
	m.acquireSeconds.WithLabelValues(name).Observe(took.Seconds())
}

func (m *Metrics) skipped(job string) { m.runs.WithLabelValues(job, string(Skipped)).Inc() }

func (m *Metrics) overran(job string) { m.overruns.WithLabelValues(job).Inc() }

// finished counts a run that ended.
func (m *Metrics) finished(r Record, took time.Duration, now time.Time) {
	m.runs.WithLabelValues(r.Job, string(r.Outcome)).Inc()
	m.seconds.WithLabelValues(r.Job).Observe(took.Seconds())
	for result, n := range map[string]int{"found": r.Found, "applied": r.Applied, "skipped": r.Skipped, "errors": r.Errors} {
		m.documents.WithLabelValues(r.Job, result).Add(float64(n))
	}
	m.seats.WithLabelValues(r.Job).Add(float64(r.SeatsRestored))
	if r.Outcome == Completed {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.completed[r.Job] = now
	}
}
