package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

const (
	manyCount   = 1000 // events
	manyClients = 256

	smallRows      = 25
	smallRowSeats  = 20
	smallHallSeats = smallRows * smallRowSeats
)

func manyEvents(s settings) (rows []*result) {
	unseated := func(v variant) *result {
		return inProcess(s, inProcessRow{variant: v, clients: manyClients, events: manyCount, seats: ampleSeats})
	}
	for _, v := range completeVariants {
		rows = append(rows, unseated(v))
	}
	if s.postgresURL != "" {
		rows = append(rows, unseated(variant{name: postgresName}))
	}
	rows = append(rows, manySeated(s))
	for _, way := range []routing{byEvent, atRandom} {
		rows = append(rows, manyByProcesses(s, way))
	}
	for _, others := range []int{0, 8} {
		rows = append(rows, hotAmongMany(s, others))
	}
	return rows
}

// onEngine measures an operation on a new database.
func onEngine(
	s settings, name, load string, clients int, prepare func(context.Context, *env) (operation, error),
	verify func(context.Context, *env, measurement) error,
) *result {
	return &result{Variant: name, Load: load, measure: func(ctx context.Context) (measurement, error) {
		e, err := newEnv(ctx, s.mongoURI)
		if err != nil {
			return measurement{}, err
		}
		do, err := prepare(ctx, e)
		if err != nil {
			return measurement{}, err
		}
		m, err := closedLoop(ctx, clients, s.duration, do)
		if err == nil {
			err = verify(ctx, e, m)
		}
		if err != nil {
			return m, err
		}
		return m, e.drop(ctx)
	}}
}

// checkGranted checks that each granted operation has a lock of one seat.
func checkGranted(ctx context.Context, e *env, m measurement) error {
	return e.check(ctx, expectation{seats: int64(m.Granted), counters: true, locks: true})
}

// createEvents creates unseated events.
func (e *env) createEvents(ctx context.Context, n int) (events []holdfast.ID, err error) {
	for range n {
		event, err := e.createEvent(ctx, ampleSeats)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// manySeated sells the seats of small halls, each hall's one after the other.
func manySeated(s settings) *result {
	prepare := func(ctx context.Context, e *env) (operation, error) {
		plan, _, err := e.Plans.Create(ctx, smallHall(), holdfast.CreationKey{})
		if err != nil {
			return nil, err
		}
		halls, sold := make([]holdfast.ID, manyCount), make([]atomic.Int64, manyCount)
		for i := range halls {
			if halls[i], err = e.createHall(ctx, plan.ID); err != nil {
				return nil, err
			}
		}
		user := ids.New()
		return func(ctx context.Context, client, n int) (bool, error) {
			hall := rand.IntN(manyCount)
			seat := int(sold[hall].Add(1) - 1)
			if seat >= smallHallSeats {
				return false, fmt.Errorf("a hall of %d seats is sold out", smallHallSeats)
			}
			r := holdfast.LockRequest{EventID: halls[hall], UserID: user, Key: requestKey(client, n)}
			r.Wish.SeatIDs = []string{seatID(seat/smallRowSeats, seat%smallRowSeats)}
			return e.lockSeats(ctx, r)
		}, nil
	}
	return onEngine(s, engineName+", numbered seats", clientsLoad(manyClients), manyClients, prepare, checkGranted)
}

func smallHall() holdfast.SeatingPlan {
	section := holdfast.Section{Key: "s", Name: "Stalls", Category: "seats"}
	for r := range smallRows {
		row := holdfast.Row{Key: fmt.Sprint(r)}
		for i := range smallRowSeats {
			row.Seats = append(row.Seats, &holdfast.Seat{ID: seatID(r, i)})
		}
		section.Rows = append(section.Rows, row)
	}
	return holdfast.SeatingPlan{
		Name: "Small hall", Categories: []holdfast.Category{{Key: "seats", Name: "Seats"}}, Sections: []holdfast.Section{section},
	}
}

// routing is how requests get to one of several engines.
type routing string

const (
	byEvent  routing = "three engines, by event"
	atRandom routing = "three engines, at random"
)

// manyByProcesses lets three engines, each with its own queue, memory and connections, sell the events.
func manyByProcesses(s settings, way routing) *result {
	const engines = 3
	var all []*env
	prepare := func(ctx context.Context, e *env) (operation, error) {
		all = []*env{e}
		for len(all) < engines {
			another, err := openEnv(ctx, e.uri, e.DB.Name())
			if err != nil {
				return nil, err
			}
			all = append(all, another)
		}
		events, err := e.createEvents(ctx, manyCount)
		user := ids.New()
		return func(ctx context.Context, client, n int) (bool, error) {
			i := rand.IntN(len(events))
			at := i % engines
			if way == atRandom {
				at = rand.IntN(engines)
			}
			return all[at].lockSeats(ctx, holdfast.LockRequest{EventID: events[i], UserID: user, Seats: 1, Key: requestKey(client, n)})
		}, err
	}
	verify := func(ctx context.Context, e *env, m measurement) error {
		for _, another := range all[1:] {
			if err := another.Pipeline.Close(ctx); err != nil {
				return err
			}
			if err := another.DB.Close(ctx); err != nil {
				return err
			}
		}
		return checkGranted(ctx, e, m)
	}
	return onEngine(s, engineName+", "+string(way), clientsLoad(manyClients), manyClients, prepare, verify)
}

// hotAmongMany measures one event while other clients lock seats of the other ones, which are checked but not counted.
func hotAmongMany(s settings, others int) *result {
	var beside atomic.Int64
	var running sync.WaitGroup
	prepare := func(ctx context.Context, e *env) (operation, error) {
		beside.Store(0)
		events, err := e.createEvents(ctx, manyCount)
		if err != nil {
			return nil, err
		}
		user, until := ids.New(), clock.System().Add(s.duration)
		for c := range others {
			running.Go(func() {
				for n := 0; clock.System().Before(until); n++ {
					event := events[1+rand.IntN(manyCount-1)]
					ok, err := e.lockSeats(ctx, holdfast.LockRequest{EventID: event, UserID: user, Seats: 1, Key: fmt.Sprint("o", requestKey(c, n))})
					if ok && err == nil {
						beside.Add(1)
					}
				}
			})
		}
		return func(ctx context.Context, client, n int) (bool, error) {
			return e.lockSeats(ctx, holdfast.LockRequest{EventID: events[0], UserID: user, Seats: 1, Key: requestKey(client, n)})
		}, nil
	}
	verify := func(ctx context.Context, e *env, m measurement) error {
		running.Wait()
		m.Granted += int(beside.Load())
		return checkGranted(ctx, e, m)
	}
	name := engineName + ", one event"
	if others > 0 {
		name = fmt.Sprintf("%s beside %d clients of 999", name, others)
	}
	return onEngine(s, name, clientsLoad(manyClients), manyClients, prepare, verify)
}
