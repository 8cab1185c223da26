package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// scenario is one question. Names of scenarios, variants and loads must not
// change: a comparison selects the rows of other revisions by them.
type scenario struct {
	name, description string
	rows              func(settings) []*result
}

var scenarios = []scenario{
	{"hot-event", "all clients lock seats of the same event, in one process", hotEvent},
	{"hot-event-http", "the same through HTTP, servers and clients on the same cores", hotEventHTTP},
	{"open-loop", "requests at fixed rates through HTTP, whether or not earlier ones are answered", openLoop},
	{"listeners", "2,000 locks a second through HTTP while clients listen to the event's availability", withListeners},
	{"connections", "memory of the API while up to 8,000 connections are idle, and while 5,000 clients listen", openConnections},
	{"replica-set", "64 and 256 clients on one event, the database a replica set of three on the same cores", onReplicaSet},
	{"processes", "one, two and three API processes on one event, 256 clients in all", severalProcesses},
	{"many-processes", "one event sold by 1 to 20 API processes, each with its share of the clients", manyProcesses},
	{"balanced", "one event and 100 through HTTP, behind HAProxy and nginx as they are shipped, 256 clients", balanced},
	{"fleet", "an on-sale: HAProxy, API processes, two workers and a replica set of three on the same cores", fleet},
	{"many-events", "256 clients lock seats of 1,000 events at random", manyEvents},
	{"sold-out", "256 clients request seats of an event that has none left", soldOut},
	{"sold-out-http", "the same through HTTP, beside a handler that does nothing", soldOutHTTP},
	{"comeback", "the only seat of an event is released again and again while 1,000 clients ask for it", seatComesBack},
	{"recovery", "100,000 events with 1,000,000 locks, one counter in 100 wrong", recoverAll},
	{"recovery-sealed", "live locks beside the locks of events that are over and sealed", recoverSealed},
	{"sweep", "100,000 due locks are expired", sweep},
	{"sweep-on-sale", "50,000 due locks of an event are expired while 256 clients lock seats of it", sweepOnSale},
	{"event-cancel", "an event with 100,000 locks and 50,000 paid bookings is cancelled while 256 clients lock seats of another", eventCancel},
	{"webhooks", "locks of an event through HTTP while a worker tells an endpoint of all changes", withWebhooks},
	{"seated-named", "1 to 4 adjacent seats of a hall of 60,000, named by the clients, in one process", seatedNamed},
	{"seated-http", "the same through HTTP", seatedHTTP},
	{"seated-best", "1 to 4 best available seats of halls that are sold to 95 %", seatedBest},
	{"seated-decision", "one choice of 1 to 4 best available seats among 60,000, in memory", seatedDecision},
	{"seated-front-row", "256 clients request the same eight seats, which are taken", frontRow},
	{"seated-processes", "three API processes sell seats of one hall, 256 clients in all", seatedProcesses},
	{"seat-listeners", "2,000 locks a second of a hall of 60,000 seats while clients listen to its map", withSeatListeners},
	{"seated-recovery", "20 halls with 500,000 locks of two numbered seats", recoverSeated},
}

// ampleSeats is more than any measurement takes.
const ampleSeats = 10_000_000

func hotEvent(s settings) (rows []*result) {
	for _, clients := range []int{1, 8, 64, 256} {
		for _, v := range allVariants {
			rows = append(rows, inProcess(s, inProcessRow{variant: v, clients: clients, events: 1, seats: ampleSeats}))
		}
		if s.postgresURL != "" {
			rows = append(rows, inProcess(s, inProcessRow{variant: variant{name: postgresName}, clients: clients, events: 1, seats: ampleSeats}))
		}
	}
	return rows
}

// onReplicaSet starts one replica set for all of its measurements.
func onReplicaSet(s settings) (rows []*result) {
	const members = 3
	var set *devserver.ReplicaSet
	s.afterScenario(func(context.Context) error {
		if set != nil {
			set.Stop()
		}
		return nil
	})
	for _, clients := range []int{64, 256} {
		for _, v := range allVariants {
			row := inProcessRow{variant: v, clients: clients, events: 1, seats: ampleSeats}
			r := inProcess(s, row)
			r.measure = func(ctx context.Context) (m measurement, err error) {
				if set == nil {
					if set, err = devserver.StartReplicaSet(ctx, devserver.MongodOptions{CacheGB: cacheGB}, members); err != nil {
						return measurement{}, err
					}
				}
				onSet := s
				onSet.mongoURI = set.URI
				return inProcess(onSet, row).measure(ctx)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func soldOut(s settings) (rows []*result) {
	for _, v := range append(completeVariants[:len(completeVariants):len(completeVariants)], keylessVariant) {
		rows = append(rows, inProcess(s, inProcessRow{variant: v, clients: 256, events: 1, seats: 1}))
	}
	selling := inProcess(s, inProcessRow{variant: engineVariant, clients: 256, events: 1, seats: ampleSeats})
	selling.Variant = "engine, with seats"
	return append(rows, selling)
}

// inProcessRow is a row without HTTP.
type inProcessRow struct {
	variant         variant
	clients, events int
	seats           int64 // of each event
}

// inProcess measures a variant without HTTP.
func inProcess(s settings, row inProcessRow) *result {
	return &result{Variant: row.variant.name, Load: clientsLoad(row.clients), measure: func(ctx context.Context) (measurement, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		e, err := newEnv(ctx, s.mongoURI)
		if err != nil {
			return measurement{}, err
		}
		events := make([]holdfast.ID, row.events)
		for i := range events {
			if events[i], err = e.createEvent(ctx, row.seats); err != nil {
				return measurement{}, err
			}
		}
		check := func(granted int64) error {
			return e.check(ctx, expectation{seats: granted, counters: row.variant.counters, locks: row.variant.locks})
		}
		var via locker
		if row.variant.name == postgresName {
			postgres, err := openRowLock(ctx, s.postgresURL, events, row.seats)
			if err != nil {
				return measurement{}, err
			}
			via, check = postgres, func(granted int64) error { return postgres.check(ctx, granted) }
		} else {
			via = row.variant.open(ctx, e)
		}
		m, err := lockInProcess(ctx, s, row.clients, via, events)
		if err == nil {
			err = check(int64(m.Granted))
		}
		if err != nil {
			return m, err
		}
		return m, e.drop(ctx)
	}}
}

// lockInProcess lets clients lock single seats of random events.
func lockInProcess(ctx context.Context, s settings, clients int, via locker, events []holdfast.ID) (measurement, error) {
	user := ids.New()
	return closedLoop(ctx, clients, s.duration, func(ctx context.Context, client, n int) (bool, error) {
		event := events[0]
		if len(events) > 1 {
			event = events[rand.IntN(len(events))]
		}
		return via.lock(ctx, event, user, 1, requestKey(client, n))
	})
}

func clientsLoad(clients int) string { return fmt.Sprintf("%d clients", clients) }

// requestKey is the idempotency key of a client's n-th request.
func requestKey(client, n int) string { return fmt.Sprintf("%d-%d", client, n) }
