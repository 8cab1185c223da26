package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	prometheus "github.com/prometheus/common/model"
	"github.com/valyala/fasthttp"
)

const mib = 1 << 20

// metricsOf asks a process for its metrics.
func metricsOf(address string) (map[string]*dto.MetricFamily, error) {
	const timeout = 5 * time.Second
	status, body, err := fasthttp.GetTimeout(nil, "http://"+address+"/metrics", timeout)
	switch {
	case err != nil:
		return nil, fmt.Errorf("the metrics of %s: %w", address, err)
	case status != http.StatusOK:
		return nil, fmt.Errorf("the metrics of %s: status %d", address, status)
	}
	parser := expfmt.NewTextParser(prometheus.UTF8Validation)
	return parser.TextToMetricFamilies(bytes.NewReader(body))
}

// processFigures are of one process: MiB, and seconds of a core in user and kernel mode.
type processFigures struct{ memory, heap, goroutines, cpu float64 }

// readProcess reads the metrics that Go programs have of themselves.
func readProcess(address string) (p processFigures, err error) {
	metrics, err := metricsOf(address)
	if err != nil {
		return p, err
	}
	value := func(name string) float64 {
		for _, m := range metrics[name].GetMetric() {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue() // it is one of them
		}
		err = errors.Join(err, errors.New("the metrics have no "+name))
		return 0
	}
	p = processFigures{
		memory: value("process_resident_memory_bytes") / mib, heap: value("go_memstats_heap_inuse_bytes") / mib,
		goroutines: value("go_goroutines"), cpu: value("process_cpu_seconds_total"),
	}
	return p, err
}

// processorTime is how long servers have used a core.
func processorTime(servers []*server) (total time.Duration, err error) {
	for _, s := range servers {
		p, err := readProcess(s.address)
		if err != nil {
			return 0, err
		}
		total += time.Duration(p.cpu * float64(time.Second))
	}
	return total, nil
}
