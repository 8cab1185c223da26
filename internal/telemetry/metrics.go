package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Engine are the metrics of an engine, with the prefix holdfast_. Those of jobs are in package jobs.
type Engine struct {
	Transactions    *prometheus.CounterVec // outcome
	Attempts        prometheus.Observer
	OrphansEnded    prometheus.Counter
	Corrections     prometheus.Counter
	OversoldEvents  prometheus.Gauge
	Corrupt         *prometheus.GaugeVec // collection
	EventsArchived  prometheus.Counter
	LatePayments    *prometheus.CounterVec // outcome
	Duplicates      prometheus.Counter
	WaitlistChanges *prometheus.CounterVec // change
	MissedOffers    prometheus.Counter

	// These metrics of waiting lists are set in the process that runs the job.
	WaitlistDelay   prometheus.Observer
	WaitlistEntries *prometheus.GaugeVec // status
	WaitlistOldest  prometheus.Gauge
}

// Metrics are the metrics of a process of the API or of the worker.
type Metrics struct {
	Engine

	Registry *prometheus.Registry

	Requests         *prometheus.CounterVec   // method, route, status
	RequestSeconds   *prometheus.HistogramVec // method, route
	InFlight         prometheus.Gauge
	Rejected         prometheus.Counter // because too many requests were in flight
	RefundsDue       prometheus.Gauge
	RefundsDueAge    prometheus.Gauge
	RecoverySeconds  prometheus.Gauge
	RecoveryComplete prometheus.Gauge

	// The metrics of webhooks are set in the process that runs the job.
	WebhookLag        prometheus.Observer
	WebhookTries      *prometheus.CounterVec // outcome
	WebhookEndpoints  *prometheus.GaugeVec   // state, reason
	WebhookDeliveries *prometheus.GaugeVec   // state
	WebhookBacklog    prometheus.Gauge
}

// ForgetWebhooks removes the gauges of webhooks when the process no longer runs the job.
func (m *Metrics) ForgetWebhooks() {
	m.WebhookEndpoints.Reset()
	m.WebhookDeliveries.Reset()
	m.WebhookBacklog.Set(0)
}

// ForgetWaitlist removes the gauges of waiting lists when the process no longer runs the job.
func (m *Engine) ForgetWaitlist() {
	m.WaitlistEntries.Reset()
	m.WaitlistOldest.Set(0)
}

// RegisterListeners registers the number of listeners to availability streams.
func (m *Metrics) RegisterListeners(count func() int) {
	promauto.With(m.Registry).NewGaugeFunc(prometheus.GaugeOpts{Namespace: "holdfast", Name: "stream_listeners",
		Help: "Open availability streams."}, func() float64 { return float64(count()) })
}

// RegisterBodies registers the number of request bodies that are being received.
func (m *Metrics) RegisterBodies(count func() int) {
	promauto.With(m.Registry).NewGaugeFunc(prometheus.GaugeOpts{Namespace: "holdfast", Name: "http_bodies_arriving",
		Help: "Requests whose body is being received."}, func() float64 { return float64(count()) })
}

// RegisterMongoDB registers whether MongoDB accepts writes; isUp is called at each scrape.
func (m *Metrics) RegisterMongoDB(isUp func() bool) {
	promauto.With(m.Registry).NewGaugeFunc(prometheus.GaugeOpts{Namespace: "holdfast", Name: "mongodb_up",
		Help: "1 if a primary of MongoDB accepts writes."}, func() float64 {
		if isUp() {
			return 1
		}
		return 0
	})
}

// factory makes metrics with the prefix holdfast_, and registers them.
type factory struct{ promauto.Factory }

func (f factory) counter(name, help string, labels ...string) *prometheus.CounterVec {
	return f.NewCounterVec(prometheus.CounterOpts{Namespace: "holdfast", Name: name, Help: help}, labels)
}

func (f factory) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return f.NewHistogramVec(prometheus.HistogramOpts{Namespace: "holdfast", Name: name, Help: help, Buckets: buckets}, labels)
}

func (f factory) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return f.NewGaugeVec(prometheus.GaugeOpts{Namespace: "holdfast", Name: name, Help: help}, labels)
}

func (f factory) gauge(name, help string) prometheus.Gauge {
	return f.NewGauge(prometheus.GaugeOpts{Namespace: "holdfast", Name: name, Help: help})
}

var lagBuckets = []float64{.05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 3600, 86400}

// NewEngine registers the metrics of an engine.
func NewEngine(r prometheus.Registerer) Engine {
	f := factory{promauto.With(r)}
	attemptBuckets := []float64{1, 2, 3, 5, 10, 30, 100, 300}
	return Engine{
		Transactions: f.counter("transactions_total",
			"MongoDB transactions by outcome: done, refused, conflict, unavailable, unknown.", "outcome"),
		Attempts: f.histogram("transaction_attempts", "Attempts per transaction.", attemptBuckets).WithLabelValues(),
		OrphansEnded: f.counter("orphaned_transactions_ended_total",
			"Abandoned transactions of dead processes that this process aborted.").WithLabelValues(),
		Corrections:    f.counter("recovery_corrections_total", "Counters that were corrected.").WithLabelValues(),
		OversoldEvents: f.gauge("oversold_events", "Events with more seats taken than they, or a section, have, at the last check."),
		Corrupt: f.gauges("corrupt_documents",
			"Documents that break the schema of their collection, at the last search; 1000 at most are counted.", "collection"),
		EventsArchived: f.counter("events_archived_total", "Events that are over and were archived.").WithLabelValues(),
		LatePayments: f.counter("late_payments_total",
			"Payments of expired bookings, of events that accept them, by outcome: accepted, refused.", "outcome"),
		Duplicates: f.counter("duplicate_payments_total", "Payments of bookings that were confirmed without them.").WithLabelValues(),
		WaitlistChanges: f.counter("waitlist_changes_total",
			"Changes of entries of waiting lists: joined, offered, accepted, declined, expired, left, closed. "+
				"The share of accepted offers is accepted / (accepted + declined + expired).", "change"),
		MissedOffers: f.counter("waitlist_missed_offers_total",
			"Offers that recovery or reconcile made for seats that were free, although nothing was due. There should be none.").WithLabelValues(),
		WaitlistDelay: f.histogram("waitlist_offer_delay_seconds",
			"Of offers that the job waitlist made, how long after they were due. Offers of the transaction that freed the seats have no delay, "+
				"and are not counted.", lagBuckets).WithLabelValues(),
		WaitlistEntries: f.gauges("waitlist_entries", "Open entries of waiting lists by status: waiting, offered.", "status"),
		WaitlistOldest:  f.gauge("waitlist_oldest_waiting_seconds", "How long ago the oldest entry that waits was made."),
	}
}

// NewMetrics registers all metrics, and the metrics of the Go runtime.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := factory{promauto.With(r)}
	requestBuckets := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	return &Metrics{
		Engine:         NewEngine(r),
		Registry:       r,
		Requests:       f.counter("http_requests_total", "Answered requests.", "method", "route", "status"),
		RequestSeconds: f.histogram("http_request_duration_seconds", "Time until the response was complete.", requestBuckets, "method", "route"),
		InFlight:       f.gauge("http_requests_in_flight", "Requests in progress."),
		Rejected: f.counter("http_requests_turned_away_total",
			"Requests answered with 503 because too many were in flight.").WithLabelValues(),
		RefundsDue:       f.gauge("refunds_due", "Payments that have to go back, at the last check."),
		RefundsDueAge:    f.gauge("refunds_due_oldest_seconds", "How long the oldest of them has been due, at the last check."),
		RecoverySeconds:  f.gauge("recovery_duration_seconds", "Duration of the recovery pass when this process started."),
		RecoveryComplete: f.gauge("recovery_completed", "1 once the recovery pass of this process's start has completed."),

		WebhookLag: f.histogram("webhook_lag_seconds",
			"Time from the commit of a change to its first try at an endpoint.", lagBuckets).WithLabelValues(),
		WebhookTries: f.counter("webhook_tries_total",
			"Tries of deliveries by outcome: delivered, refused, redirect, timeout, private, unreached, not_made.", "outcome"),
		WebhookEndpoints: f.gauges("webhook_endpoints",
			"Endpoints by state: enabled, disabled; and by the reason of the latter: operator, gone, failures.", "state", "reason"),
		WebhookDeliveries: f.gauges("webhook_deliveries", "Deliveries by state: pending (they have failed and are tried again), dead.", "state"),
		WebhookBacklog: f.gauge("webhook_backlog",
			"Deliveries that wait at the enabled endpoint with most of them, and records of changes that are not fanned out."),
	}
}
