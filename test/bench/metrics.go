package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// processFigures describes one process: memory in MiB, and seconds of a core in user and kernel mode.
type processFigures struct{ memory, cpu float64 }

// readProcess reads the metrics that Go programs have about themselves.
func readProcess(ctx context.Context, address string) (p processFigures, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return p, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return p, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		return p, err
	}
	for line := range strings.Lines(string(metrics)) {
		_, _ = fmt.Sscanf(line, "process_resident_memory_bytes %g", &p.memory) // other lines do not match
		_, _ = fmt.Sscanf(line, "process_cpu_seconds_total %g", &p.cpu)
	}
	if p.memory == 0 || p.cpu == 0 {
		return p, fmt.Errorf("the metrics of %s lack memory or processor time: status %d", address, response.StatusCode)
	}
	const mib = 1 << 20
	p.memory /= mib
	return p, nil
}

// measureProcessor runs a load, and notes how long the servers used a core for it.
func measureProcessor(ctx context.Context, servers []*server, load func(context.Context) (measurement, error)) (m measurement, err error) {
	before, err := processorTime(ctx, servers)
	if err != nil {
		return m, err
	}
	if m, err = load(ctx); err != nil {
		return m, err
	}
	after, err := processorTime(ctx, servers)
	m.processorTime = after - before
	return m, err
}

// processorTime returns how long servers have used a core.
func processorTime(ctx context.Context, servers []*server) (total time.Duration, err error) {
	for _, s := range servers {
		p, err := readProcess(ctx, s.address)
		if err != nil {
			return 0, err
		}
		total += time.Duration(p.cpu * float64(time.Second))
	}
	return total, nil
}
