package main

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// metric asks a server for the value of a metric without labels.
func (s *server) metric(name string) (float64, error) {
	status, body, err := fasthttp.GetTimeout(nil, "http://"+s.address+"/metrics", readyTimeout)
	switch {
	case err != nil:
		return 0, fmt.Errorf("the metrics of the server: %w", err)
	case status != http.StatusOK:
		return 0, fmt.Errorf("the metrics of the server: status %d", status)
	}
	for line := range strings.Lines(string(body)) {
		if text, found := strings.CutPrefix(line, name+" "); found {
			return strconv.ParseFloat(strings.TrimSpace(text), 64)
		}
	}
	return 0, errors.New("the metrics have no " + name)
}

// residentMemory is the memory of a server, in MiB.
func (s *server) residentMemory() (mib int64, err error) {
	const mebibyte = 1 << 20
	bytes, err := s.metric("process_resident_memory_bytes")
	return int64(bytes) / mebibyte, err
}

// processorTime is how long servers have used a core, in user and kernel mode.
func processorTime(servers []*server) (total time.Duration, err error) {
	for _, s := range servers {
		seconds, err := s.metric("process_cpu_seconds_total")
		if err != nil {
			return 0, err
		}
		total += time.Duration(seconds * float64(time.Second))
	}
	return total, nil
}
