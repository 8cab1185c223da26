//go:build unix

package engine_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// samples returns the number of samples of each metric, and the value of its first counter.
func samples(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			found[f.GetName()] += m.GetCounter().GetValue()
		}
	}
	return found
}

// A program's registry has the metrics of an engine from Open to Close, and those of its jobs while Run runs.
func TestOpen_Metrics(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	registry := prometheus.NewRegistry()
	o := engine.Options{URI: w.URI, Database: w.DB.Name(), Log: w.DB.Log(), Metrics: registry}
	e, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "prometheus.WrapRegistererWith") {
		t.Error("a second engine on the registerer:", err)
	}
	sellAll(t, e)
	if found := samples(t, registry); found["holdfast_transactions_total"] < 2 {
		t.Error(found)
	}
	t.Run("jobs", func(t *testing.T) {
		run(t, e, engine.RunOptions{Intervals: soon})
		testenv.WaitFor(t, func() bool { return samples(t, registry)["holdfast_job_runs_total"] > 0 })
	})
	if found := samples(t, registry); found["holdfast_job_runs_total"] > 0 {
		t.Error("the metrics of jobs are left after Run:", found)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := samples(t, registry); len(found) > 0 {
		t.Error("metrics are left after Close:", found)
	}
	again, err := engine.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
