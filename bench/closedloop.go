package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// operation is what a client does repeatedly: n is its count of earlier
// operations. An error ends the measurement.
type operation func(ctx context.Context, client, n int) (granted bool, err error)

// measurement is the outcome of one run of a variant.
type measurement struct {
	Granted, Refused int
	Seconds          float64
	unknown          int           // operations of an open loop without an answer: each may have been granted
	processorTime    time.Duration // of the servers, if there are any
	note             string
	fleet            *fleetReport // of the scenario fleet
	latencies        []time.Duration
}

// perSecond is the rate of operations, granted or refused.
func (m measurement) perSecond() float64 { return float64(m.Granted+m.Refused) / m.Seconds }

// quantile of the latencies; 0 if there are none.
func (m measurement) quantile(q float64) time.Duration {
	if len(m.latencies) == 0 {
		return 0
	}
	slices.Sort(m.latencies)
	return m.latencies[min(len(m.latencies)-1, int(q*float64(len(m.latencies))))]
}

// closedLoop runs clients for a duration. A client starts its next operation when
// the previous one is answered.
func closedLoop(ctx context.Context, clients int, duration time.Duration, do operation) (measurement, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]measurement, clients)
	started := make(chan struct{})
	var deadline time.Time
	var running sync.WaitGroup
	for c := range clients {
		running.Go(func() {
			<-started
			m := &results[c]
			for n := 0; ; n++ {
				start := wallClock()
				if !start.Before(deadline) || ctx.Err() != nil {
					return
				}
				granted, err := do(ctx, c, n)
				if err != nil && ctx.Err() != nil {
					return // the load has ended meanwhile
				}
				if err != nil {
					cancel(err)
					return
				}
				m.latencies = append(m.latencies, wallClock.Since(start))
				if granted {
					m.Granted++
				} else {
					m.Refused++
				}
			}
		})
	}
	start := wallClock()
	deadline = start.Add(duration)
	close(started)
	running.Wait()
	total := measurement{Seconds: wallClock.Since(start).Seconds()}
	for _, m := range results {
		total.Granted, total.Refused, total.latencies = total.Granted+m.Granted, total.Refused+m.Refused, append(total.latencies, m.latencies...)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errLoadDone) {
		return total, cause
	}
	return total, nil
}

// errLoadDone as a context's cause ends a load early, without an error.
var errLoadDone = errors.New("the load is done")

// sleep returns early if ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
