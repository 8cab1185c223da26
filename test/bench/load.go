package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// operation is what a client does repeatedly. n is the number of its earlier operations. An error ends the
// measurement.
type operation func(ctx context.Context, client, n int) (granted bool, err error)

// measurement is the outcome of one run of a variant.
type measurement struct {
	Granted, Refused int
	Seconds          float64
	seats            int           // granted; 0: one by each operation that was granted
	unknown          int           // operations of an open loop without an answer, each of which may have been granted
	processorTime    time.Duration // of the servers, if there are any
	note             string
	latencies        []time.Duration
}

// perSecond returns the rate of operations, granted or refused.
func (m measurement) perSecond() float64 { return float64(m.Granted+m.Refused) / m.Seconds }

// addNote adds a text to the note.
func (m *measurement) addNote(format string, args ...any) {
	if m.note != "" {
		m.note += "; "
	}
	m.note += fmt.Sprintf(format, args...)
}

// quantile returns a quantile of the latencies, or 0 if there are none.
func (m measurement) quantile(q float64) time.Duration {
	if len(m.latencies) == 0 {
		return 0
	}
	slices.Sort(m.latencies)
	return m.latencies[min(len(m.latencies)-1, int(q*float64(len(m.latencies))))]
}

// closedLoop runs clients for a duration. A client starts its next operation when the previous one is answered.
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
				if err != nil {
					cancel(err) // it does nothing if the load has ended meanwhile
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

// responseTimeout is how long a client of an open loop waits for an answer.
const responseTimeout = 5 * time.Second

// onSchedule sends requests at a fixed rate, whether or not earlier requests are answered. A latency counts from the
// time at which the request was scheduled. prepare returns a request, and a function that receives the time of its answer
// if it succeeds. Only one of the calls of prepare runs at a time, and one of these functions.
func onSchedule(
	ctx context.Context, duration time.Duration, rate int, prepare func(n int) (send func() error, granted func(at time.Time)),
) (m measurement, err error) {
	var mu sync.Mutex
	var inFlight sync.WaitGroup
	start := wallClock()
	for n := range int(duration.Seconds() * float64(rate)) {
		scheduled := start.Add(time.Duration(n) * time.Second / time.Duration(rate))
		send, granted := prepare(n)
		sleep(ctx, scheduled.Sub(wallClock()))
		inFlight.Go(func() {
			err := send()
			at := wallClock()
			mu.Lock()
			defer mu.Unlock()
			m.latencies = append(m.latencies, at.Sub(scheduled))
			if err != nil {
				m.unknown++
				return
			}
			m.Granted++
			granted(at)
		})
	}
	inFlight.Wait()
	m.Seconds = wallClock.Since(start).Seconds()
	if m.unknown > 0 {
		m.addNote("%.0f %% not answered in %v", 100*float64(m.unknown)/float64(len(m.latencies)), responseTimeout)
	}
	return m, ctx.Err()
}

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
