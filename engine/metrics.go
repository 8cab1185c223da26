package engine

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// metrics are the metrics of an engine. They are in a registry of their own, which is registered at the program's as one
// collector: so it is registered as a whole or not at all, and can be removed.
type metrics struct {
	program prometheus.Registerer // nil if the program has none
	own     *prometheus.Registry
	engine  telemetry.Engine
}

func newMetrics(program prometheus.Registerer) (metrics, error) {
	own := prometheus.NewRegistry()
	m := metrics{program: program, own: own, engine: telemetry.NewEngine(own)}
	return m, m.register(own)
}

// register registers a collector at the program's registerer, if there is one.
func (m metrics) register(c prometheus.Collector) error {
	if m.program == nil {
		return nil
	}
	if err := m.program.Register(c); err != nil {
		return fmt.Errorf("Options.Metrics has these metrics already: "+
			"give each engine, and each Run of it, a registerer of its own by prometheus.WrapRegistererWith: %w", err)
	}
	return nil
}

func (m metrics) unregister(c prometheus.Collector) {
	if m.program != nil {
		m.program.Unregister(c)
	}
}
