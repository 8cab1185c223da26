package main

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

// operation is what one client does again and again; it returns whether it was
// granted. An error ends the measurement.
type operation func(ctx context.Context, client, n int) (granted bool, err error)

// measure is one side's turn.
type measure struct {
	Granted, Refused int
	Seconds          float64
	failed           int // of an open loop: who was not answered may have been granted
	note             string
	took             []time.Duration
}

// perSecond is the rate of operations, granted or refused.
func (m measure) perSecond() float64 { return float64(m.Granted+m.Refused) / m.Seconds }

// quantile of the time that an operation took.
func (m measure) quantile(q float64) time.Duration {
	if len(m.took) == 0 {
		return 0
	}
	slices.Sort(m.took)
	return m.took[min(len(m.took)-1, int(q*float64(len(m.took))))]
}

// closedLoop lets clients work for a time, each beginning its next operation
// when the last one has been answered. most bounds the operations of all; 0
// means none but the time.
func closedLoop(ctx context.Context, now clock.Clock, clients int, lasting time.Duration, most int, do operation) (measure, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	type share struct {
		granted, refused int
		took             []time.Duration
	}
	shares := make([]share, clients)
	begin := make(chan struct{})
	var end time.Time
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			<-begin
			s := &shares[c]
			for n := 0; ; n++ {
				start := now()
				if !start.Before(end) || (most > 0 && n >= most/clients) || ctx.Err() != nil {
					return
				}
				granted, err := do(ctx, c, n)
				if err != nil && ctx.Err() != nil {
					return // its time was over
				}
				if err != nil {
					cancel(err)
					return
				}
				s.took = append(s.took, now.Since(start))
				if granted {
					s.granted++
				} else {
					s.refused++
				}
			}
		})
	}
	start := now()
	end = start.Add(lasting)
	close(begin)
	all.Wait()
	m := measure{Seconds: now.Since(start).Seconds()}
	for _, s := range shares {
		m.Granted, m.Refused, m.took = m.Granted+s.granted, m.Refused+s.refused, append(m.took, s.took...)
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errEnough) {
		return m, cause
	}
	return m, nil
}

// errEnough ends a load before its time.
var errEnough = errors.New("the load has lasted long enough")
