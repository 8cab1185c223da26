package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	pollers       = 1000
	comebackPause = 100 * time.Millisecond
)

// seatComesBack measures how soon the only seat of an event is sold again, from the request to release its lock to the
// answer of the next one, while clients ask for it without a pause. It is an error if several of them get it.
func seatComesBack(s settings) []*result {
	return []*result{s.row(engineName, clientsLoad(pollers), func(ctx context.Context, e *env) (m measurement, err error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		event, err := e.createEvent(ctx, 1)
		if err != nil {
			return m, err
		}
		sold := make(chan holdfast.ID, pollers)
		user := mongodb.NewID()
		var clients sync.WaitGroup
		for c := range pollers {
			clients.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					lock, _, err := e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: event, UserID: user, Seats: 1, Key: requestKey(c, n)})
					switch {
					case err == nil:
						sold <- lock.ID
					case ctx.Err() == nil && !holdfast.HasCode(err, holdfast.CodeSeatsUnavailable):
						cancel(err)
					}
				}
			})
		}
		start := wallClock()
		err = m.sellAgain(ctx, e, sold, start.Add(s.duration))
		m.Seconds = wallClock.Since(start).Seconds()
		cancel(errLoadDone)
		clients.Wait()
		if n := len(sold); err == nil && n > 0 {
			err = fmt.Errorf("the seat was sold %d times more", n)
		}
		return m, err
	})}
}

// sellAgain repeatedly releases the lock that holds the seat, and waits until the seat is sold.
func (m *measurement) sellAgain(ctx context.Context, e *env, sold <-chan holdfast.ID, until time.Time) error {
	next := func() (holdfast.ID, error) {
		select {
		case id := <-sold:
			return id, nil
		case <-ctx.Done():
			return holdfast.ID{}, context.Cause(ctx)
		}
	}
	id, err := next()
	for err == nil && wallClock().Before(until) {
		sleep(ctx, comebackPause)
		if len(sold) > 0 {
			return errors.New("a seat that is taken was sold")
		}
		asked := wallClock()
		if _, err := e.Seats.ReleaseLock(ctx, id); err != nil {
			return err
		}
		if id, err = next(); err == nil {
			m.latencies = append(m.latencies, wallClock.Since(asked))
			m.Granted++
		}
	}
	return err
}
