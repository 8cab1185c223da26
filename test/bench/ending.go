package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	neverHeldName = "never held"
	namedName     = ", named seats"
	workerName    = ", with a worker"
	// untilEnd is how long after they are made the first locks end: making them takes less.
	untilEnd = 4 * time.Second
	// endings is how many locks end, by spread: within a second, fewer than can be granted; at once, more.
	endingsInASecond, endingsAtOnce = 1000, 10_000
)

// locksEndTogether measures how soon seats are granted again whose locks end together, to clients who have asked for them
// without a pause since before, one seat each. A seat's delay counts from its lock's end.
func locksEndTogether(s settings) (rows []*result) {
	for _, clients := range []int{16, 64, mostClients} {
		for _, seated := range []string{"", namedName} {
			rows = append(rows, endTogether(s, neverHeldName+seated, clients, 0, seated != "", nil))
			for _, spread := range []time.Duration{0, time.Second} {
				rows = append(rows, endTogether(s, engineName+seated, clients, spread, seated != "", nil),
					endTogether(s, engineName+seated+workerName, clients, spread, seated != "", sweepEachSecond))
			}
		}
	}
	return rows
}

// sweepEachSecond sweeps as a worker does.
func sweepEachSecond(ctx context.Context, e *env) {
	for ctx.Err() == nil {
		_ = sweepByEngine(ctx, e) // what it left, the next one ends
		sleep(ctx, time.Second)
	}
}

func endTogether(s settings, variant string, clients int, spread time.Duration, named bool, worker func(context.Context, *env)) *result {
	count := endingsAtOnce
	load := fmt.Sprintf("%d clients, %d at once", clients, count)
	if spread > 0 {
		count = endingsInASecond
		load = fmt.Sprintf("%d clients, %d in %v", clients, count, spread)
	}
	measure := func(ctx context.Context, e *env) (m measurement, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var event holdfast.ID
		if named {
			event, err = e.createHall(ctx)
		} else {
			event, err = e.createEvent(ctx, int64(count))
		}
		if err != nil {
			return m, err
		}
		lock := func(ctx context.Context, i int, key string, until holdfast.Until) (bool, error) {
			r := holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1, Key: key, Until: until}
			if named {
				r.Wish.SeatIDs, r.Seats = seatIDs[i:i+1], 0
			}
			return e.lockSeats(ctx, r)
		}
		firstEnd := mongodb.SystemTime()
		if variant != neverHeldName && variant != neverHeldName+namedName {
			if firstEnd, err = endsTogether(ctx, count, spread, lock); err != nil {
				return m, err
			}
		}
		if worker != nil {
			go worker(ctx, e)
		}
		const before = 50 * time.Millisecond
		sleep(ctx, firstEnd.Add(-before).Sub(wallClock()))
		return askAgain(ctx, clients, count, firstEnd, spread, lock)
	}
	if named {
		return s.hallRow(variant, load, measure)
	}
	return s.row(variant, load, measure)
}

// endsTogether makes locks whose ends are spread evenly, and returns the first end.
func endsTogether(
	ctx context.Context, count int, spread time.Duration, lock func(context.Context, int, string, holdfast.Until) (bool, error),
) (first time.Time, err error) {
	first = mongodb.SystemTime().Add(untilEnd)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(mostClients)
	for i := range count {
		group.Go(func() error {
			granted, err := lock(ctx, i, "", holdfast.Until{At: first.Add(time.Duration(i) * spread / time.Duration(count))})
			if err == nil && !granted {
				err = errSoldOut
			}
			return err
		})
	}
	return first, group.Wait()
}

// askAgain grants all seats once more, and counts from the first end.
func askAgain(
	ctx context.Context, clients, count int, first time.Time, spread time.Duration,
	lock func(context.Context, int, string, holdfast.Until) (bool, error),
) (m measurement, err error) {
	var next atomic.Int64
	granted := make([]time.Time, count)
	group, ctx := errgroup.WithContext(ctx)
	for c := range clients {
		group.Go(func() error {
			for n := 0; ; {
				i := int(next.Add(1)) - 1
				if i >= count {
					return nil
				}
				for isGranted := false; !isGranted; n++ {
					var err error
					if isGranted, err = lock(ctx, i, requestKey(c, n), holdfast.Until{}); err != nil {
						return err
					}
				}
				granted[i] = wallClock()
			}
		})
	}
	err = group.Wait()
	m.Granted, m.Seconds = count, wallClock.Since(first).Seconds()
	slices.SortFunc(granted, time.Time.Compare) // without numbers, a seat is any seat
	for i, at := range granted {
		m.latencies = append(m.latencies, at.Sub(first.Add(time.Duration(i)*spread/time.Duration(count))))
	}
	m.addNote("last %.2f s after its end", slices.Max(m.latencies).Seconds())
	return m, err
}
