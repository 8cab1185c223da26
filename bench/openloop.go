package main

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-dev/holdfast"
)

// openLoop sends requests at fixed rates, whether or not earlier ones are
// answered: a variant that is too slow for a rate builds up a backlog. The
// baselines skip the rate that is far above their throughput.
func openLoop(s settings) (rows []*result) {
	const maxBaselineRate = 1000
	for _, rate := range []int{200, 1000, 4000} {
		for _, name := range []string{engineName, transactionName, mutexName} {
			if rate > maxBaselineRate && name != engineName {
				continue
			}
			load := func(ctx context.Context, servers []*server, event holdfast.ID, user holdfast.User) (measurement, error) {
				return lockAtRate(ctx, s, servers[0], rate, event, user)
			}
			rows = append(rows, overHTTP(s, httpRow{
				variant: name, load: fmt.Sprintf("%d a second", rate), processes: 1, seats: ampleSeats, run: load,
			}))
		}
	}
	return rows
}

// responseTimeout is how long a client of an open loop waits for an answer.
const responseTimeout = 5 * time.Second

// lockAtRate locks seats at a fixed rate.
func lockAtRate(ctx context.Context, s settings, to *server, rate int, event holdfast.ID, user holdfast.User) (measurement, error) {
	var n atomic.Int64
	target := func(t *vegeta.Target) error {
		t.Method, t.URL = http.MethodPost, "http://"+to.address+"/api/locks"
		t.Header = http.Header{"Content-Type": {"application/json"}}
		t.Body = lockBody(event, user.ID, fmt.Sprint(n.Add(1)))
		return nil
	}
	attacker := vegeta.NewAttacker(vegeta.Timeout(responseTimeout), vegeta.Connections(rate), vegeta.MaxConnections(rate))
	var m measurement
	start := wallClock()
	for response := range attacker.Attack(target, vegeta.Rate{Freq: rate, Per: time.Second}, s.duration, "") {
		m.latencies = append(m.latencies, response.Latency)
		switch response.Code {
		case http.StatusCreated:
			m.Granted++
		case http.StatusConflict:
			m.Refused++
		default:
			m.unknown++
		}
	}
	m.Seconds = wallClock.Since(start).Seconds()
	m.noteUnknown()
	return m, ctx.Err()
}

// noteUnknown notes the share of operations without an answer, if there are any.
func (m *measurement) noteUnknown() {
	if m.unknown > 0 {
		m.note = fmt.Sprintf("%.0f %% not answered in %v", 100*float64(m.unknown)/float64(len(m.latencies)), responseTimeout)
	}
}
