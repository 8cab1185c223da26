package jobs

import (
	"sync"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// GocronMonitor exports the metrics of one or more gocron schedulers to Prometheus. It implements gocron's
// Monitor, MonitorStatus and SchedulerMonitor, and does not depend on other packages of this module:
//
//	monitor := NewGocronMonitor(prometheus.DefaultRegisterer, "shop")
//	scheduler, err := gocron.NewScheduler(monitor.Options()...)
//
// The label job is the job's name, so name each job (gocron.WithName).
type GocronMonitor struct {
	ticks      *prometheus.CounterVec   // job, status
	seconds    *prometheus.HistogramVec // job, status
	running    *prometheus.GaugeVec     // job
	delay      *prometheus.HistogramVec // job
	limits     *prometheus.CounterVec   // job, limit
	registered prometheus.Gauge
	started    prometheus.Gauge

	mu sync.Mutex
	up int // running schedulers
}

var (
	_ gocron.MonitorStatus    = (*GocronMonitor)(nil)
	_ gocron.SchedulerMonitor = (*GocronMonitor)(nil)
)

// NewGocronMonitor registers the metrics with the prefix <namespace>_gocron_. Like
// prometheus.MustRegister, it panics if they are registered already.
func NewGocronMonitor(registry prometheus.Registerer, namespace string) *GocronMonitor {
	f := promauto.With(registry)
	opts := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: namespace, Subsystem: "gocron", Name: name, Help: help}
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts(opts(name, help)), labels)
	}
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return f.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Subsystem: "gocron", Name: name, Help: help,
			Buckets: []float64{.001, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300}}, labels)
	}
	return &GocronMonitor{
		ticks: counter("ticks_total",
			"Ticks by status: success, fail, skip (not the leader, or no lock), singleton_rescheduled (the previous run goes on).", "job", "status"),
		seconds:    histogram("job_duration_seconds", "Duration of executions.", "job", "status"),
		running:    f.NewGaugeVec(prometheus.GaugeOpts(opts("jobs_running", "Executions in progress.")), []string{"job"}),
		delay:      histogram("scheduling_delay_seconds", "Time from a tick to the start of its execution.", "job"),
		limits:     counter("limits_reached_total", "Ticks that reached a limit: singleton, limit.", "job", "limit"),
		registered: f.NewGauge(prometheus.GaugeOpts(opts("jobs_registered", "Scheduled jobs."))),
		started:    f.NewGauge(prometheus.GaugeOpts(opts("schedulers_running", "Running schedulers."))),
	}
}

// Options connects a scheduler to the monitor. gocron calls each of the three
// interfaces only if it was set by its own option.
func (m *GocronMonitor) Options() []gocron.SchedulerOption {
	return []gocron.SchedulerOption{gocron.WithMonitor(m), gocron.WithMonitorStatus(m), gocron.WithSchedulerMonitor(m)}
}

// IncrementJob counts a tick.
func (m *GocronMonitor) IncrementJob(_ uuid.UUID, name string, _ []string, status gocron.JobStatus) {
	m.ticks.WithLabelValues(name, string(status)).Inc()
}

// RecordJobTiming does nothing; see RecordJobTimingWithStatus.
func (m *GocronMonitor) RecordJobTiming(time.Time, time.Time, uuid.UUID, string, []string) {}

// RecordJobTimingWithStatus observes an execution's duration.
func (m *GocronMonitor) RecordJobTimingWithStatus(
	start, end time.Time, _ uuid.UUID, name string, _ []string, status gocron.JobStatus, _ error,
) {
	m.seconds.WithLabelValues(name, string(status)).Observe(end.Sub(start).Seconds())
}

// SchedulerStarted counts a running scheduler.
func (m *GocronMonitor) SchedulerStarted() { m.add(1) }

// SchedulerStopped does nothing: SchedulerShutdown follows.
func (m *GocronMonitor) SchedulerStopped() {}

// SchedulerShutdown uncounts a running scheduler.
func (m *GocronMonitor) SchedulerShutdown() { m.add(-1) }

func (m *GocronMonitor) add(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.up = max(0, m.up+n) // gocron also shuts down schedulers that never started
	m.started.Set(float64(m.up))
}

// JobRegistered counts a scheduled job.
func (m *GocronMonitor) JobRegistered(gocron.Job) { m.registered.Inc() }

// JobUnregistered uncounts a scheduled job.
func (m *GocronMonitor) JobUnregistered(gocron.Job) { m.registered.Dec() }

// JobStarted counts an execution in progress. gocron completes or fails each
// execution that it starts, even one that fails before the job's function runs.
func (m *GocronMonitor) JobStarted(job gocron.Job) { m.running.WithLabelValues(job.Name()).Inc() }

// JobRunning does nothing; see JobStarted.
func (m *GocronMonitor) JobRunning(gocron.Job) {}

// JobFailed uncounts an execution in progress.
func (m *GocronMonitor) JobFailed(job gocron.Job, _ error) {
	m.running.WithLabelValues(job.Name()).Dec()
}

// JobCompleted uncounts an execution in progress.
func (m *GocronMonitor) JobCompleted(job gocron.Job) { m.running.WithLabelValues(job.Name()).Dec() }

// JobExecutionTime does nothing; see RecordJobTimingWithStatus.
func (m *GocronMonitor) JobExecutionTime(gocron.Job, time.Duration) {}

// JobSchedulingDelay observes the time from a tick to its execution.
func (m *GocronMonitor) JobSchedulingDelay(job gocron.Job, scheduled, actual time.Time) {
	m.delay.WithLabelValues(job.Name()).Observe(max(0, actual.Sub(scheduled).Seconds()))
}

// ConcurrencyLimitReached counts a tick that reached its limit.
func (m *GocronMonitor) ConcurrencyLimitReached(limit string, job gocron.Job) {
	m.limits.WithLabelValues(job.Name(), limit).Inc()
}
