package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Metrics are all that a process counts, with the prefix holdfast_.
type Metrics struct {
	Registry *prometheus.Registry

	Requests         *prometheus.CounterVec   // method, route, status
	RequestSeconds   *prometheus.HistogramVec // method, route
	InFlight         prometheus.Gauge
	TurnedAway       prometheus.Counter
	Transactions     *prometheus.CounterVec // outcome
	Attempts         prometheus.Observer
	OrphansEnded     prometheus.Counter
	Corrections      prometheus.Counter
	OversoldEvents   prometheus.Gauge
	PaidAndRefused   prometheus.Counter
	RecoverySeconds  prometheus.Gauge
	RecoveryComplete prometheus.Gauge
}

// Listeners tells how many listen to streams of availability.
func (m *Metrics) Listeners(count func() int) {
	promauto.With(m.Registry).NewGaugeFunc(prometheus.GaugeOpts{Namespace: "holdfast", Name: "stream_listeners",
		Help: "Listeners to availability, each a connection."}, func() float64 { return float64(count()) })
}

// NewMetrics registers all metrics, and those of the Go runtime.
func NewMetrics() *Metrics {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	f := promauto.With(r)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return f.NewCounterVec(prometheus.CounterOpts{Namespace: "holdfast", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return f.NewHistogramVec(prometheus.HistogramOpts{Namespace: "holdfast", Name: name, Help: help, Buckets: buckets}, labels)
	}
	gauge := func(name, help string) prometheus.Gauge {
		return f.NewGauge(prometheus.GaugeOpts{Namespace: "holdfast", Name: name, Help: help})
	}
	requestTime := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	return &Metrics{
		Registry:         r,
		Requests:         counter("http_requests_total", "Requests answered.", "method", "route", "status"),
		RequestSeconds:   histogram("http_request_duration_seconds", "Time to the end of the answer.", requestTime, "method", "route"),
		InFlight:         gauge("http_requests_in_flight", "Requests being worked on."),
		TurnedAway:       counter("http_requests_turned_away_total", "Requests answered 503 because too many were in flight.").WithLabelValues(),
		Transactions:     counter("transactions_total", "MongoDB transactions by outcome: done, refused, conflict, unavailable, unknown.", "outcome"),
		Attempts:         histogram("transaction_attempts", "Attempts that a transaction took.", []float64{1, 2, 3, 5, 10, 30, 100, 300}).WithLabelValues(),
		OrphansEnded:     counter("orphaned_transactions_ended_total", "Transactions of dead processes that this one ended.").WithLabelValues(),
		Corrections:      counter("recovery_corrections_total", "Counters that were mended.").WithLabelValues(),
		OversoldEvents:   gauge("oversold_events", "Events with seats taken beyond their total, when last looked at."),
		PaidAndRefused:   counter("paid_and_refused_total", "Refused confirmations that carried a payment reference.").WithLabelValues(),
		RecoverySeconds:  gauge("recovery_duration_seconds", "Duration of the recovery pass at this process's start."),
		RecoveryComplete: gauge("recovery_completed", "1 once the recovery pass at this process's start has completed."),
	}
}
