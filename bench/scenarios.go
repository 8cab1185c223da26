package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// scenario is one question.
type scenario struct {
	name, what string
	rows       func(settings) []*result
}

const engineName = "engine"

var scenarios = []scenario{
	{"hot-event", "everybody locks a seat of the same event, in one process", hotEvent},
	{"hot-event-http", "the same through HTTP, servers and clients on the same cores", hotEventHTTP},
	{"open-loop", "requests at fixed rates through HTTP, answered or not", openLoop},
	{"listeners", "2,000 locks a second through HTTP while people listen to the event's availability", whileListening},
	{"replica-set", "64 and 256 callers on one event, the database a replica set of three on the same cores", onReplicaSet},
	{"processes", "one, two and three API processes on one event, 256 clients in all", severalProcesses},
	{"many-events", "256 callers lock seats of 1,000 events at random", manyEvents},
	{"sold-out", "256 callers ask for an event that has no seat left", soldOut},
	{"sold-out-http", "the same through HTTP, beside a handler that does nothing", soldOutHTTP},
	{"recovery", "100,000 events with 1,000,000 locks, one counter in 100 wrong", recoverAll},
	{"sweep", "100,000 due locks are expired", sweep},
	{"sweep-on-sale", "50,000 due locks of an event are expired while 256 callers lock seats of it", sweepOnSale},
}

// contender is a side, and what it keeps that can be proved.
type contender struct {
	name    string
	open    func(context.Context, *world) side
	counter bool
	locks   bool
}

// byPostgres names the side that is opened on another database.
const byPostgres = "PostgreSQL, row lock"

var contenders = []contender{
	{engineName, func(_ context.Context, w *world) side { return engine{w.seats} }, true, true},
	{"insertMany alone", func(ctx context.Context, w *world) side { return newInsertMany(ctx, w.db.Database) }, false, true},
	{"guarded $inc alone", func(_ context.Context, w *world) side { return increment{w.db.Database} }, true, false},
	{"a transaction each", func(_ context.Context, w *world) side { return transaction{w.db.Database} }, true, true},
	{"… behind a mutex", func(_ context.Context, w *world) side { return &mutex{transaction: transaction{w.db.Database}} }, true, true},
}

const plenty = 10_000_000 // seats

func hotEvent(s settings) (rows []*result) {
	for _, clients := range []int{1, 8, 64, 256} {
		for _, c := range contenders {
			rows = append(rows, inProcess(s, c, clients, 1, plenty))
		}
		if s.postgres != "" {
			rows = append(rows, inProcess(s, contender{name: byPostgres}, clients, 1, plenty))
		}
	}
	return rows
}

// onReplicaSet has a set of its own, for all of its turns.
func onReplicaSet(s settings) (rows []*result) {
	var set *devserver.ReplicaSet
	s.later(func(context.Context) error {
		if set != nil {
			set.Stop()
		}
		return nil
	})
	for _, clients := range []int{64, 256} {
		for _, c := range contenders {
			r := inProcess(s, c, clients, 1, plenty)
			r.turn = func(ctx context.Context) (m measure, err error) {
				if set == nil {
					const members = 3
					if set, err = devserver.StartReplicaSet(ctx, devserver.MongodOptions{}, members); err != nil {
						return measure{}, err
					}
				}
				there := s
				there.uri = set.URI
				return inProcess(there, c, clients, 1, plenty).turn(ctx)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func manyEvents(s settings) (rows []*result) {
	for _, c := range contenders {
		if c.counter && c.locks {
			rows = append(rows, inProcess(s, c, 256, 1000, plenty))
		}
	}
	return rows
}

func soldOut(s settings) (rows []*result) {
	for _, c := range contenders {
		if c.counter && c.locks {
			rows = append(rows, inProcess(s, c, 256, 1, 1))
		}
	}
	busy := inProcess(s, contenders[0], 256, 1, plenty)
	busy.Side = "engine, with seats"
	return append(rows, busy)
}

// inProcess measures a side without HTTP, on events of so many seats.
func inProcess(s settings, c contender, clients, events int, seats int64) *result {
	return &result{Side: c.name, Load: fmt.Sprintf("%d clients", clients), turn: func(ctx context.Context) (measure, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		w, err := newWorld(ctx, s.uri)
		if err != nil {
			return measure{}, err
		}
		all := make([]ids.ID, events)
		for i := range all {
			if all[i], err = w.event(ctx, seats); err != nil {
				return measure{}, err
			}
		}
		prove := func(granted int64) error { return w.prove(ctx, granted, 0, c.counter, c.locks) }
		var side side
		if c.name == byPostgres {
			other, err := openRowLock(ctx, s.postgres, all, seats)
			if err != nil {
				return measure{}, err
			}
			side, prove = other, func(granted int64) error { return other.prove(ctx, granted) }
		} else {
			side = c.open(ctx, w)
		}
		user := ids.New()
		var granted atomic.Int64
		m, err := closedLoop(ctx, clock.System, clients, s.lasting, 0, func(ctx context.Context, client, n int) (bool, error) {
			event := all[0]
			if events > 1 {
				event = all[rand.IntN(events)] //nolint:gosec // load, not a secret
			}
			ok, err := side.lock(ctx, event, user, 1, fmt.Sprintf("%d-%d", client, n))
			if ok {
				granted.Add(1)
			}
			return ok, err
		})
		if err == nil {
			err = prove(granted.Load())
		}
		if err != nil {
			return m, err
		}
		return m, w.close(ctx)
	}}
}
