package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
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
	{"listeners", "2,000 locks a second through HTTP while clients listen to the event's availability", withListeners},
	{"connections", "memory of the API while up to 8,000 connections are idle, and while 5,000 clients listen", openConnections},
	{"replica-set", "64 and 256 clients on one event, the database a replica set of three on the same cores", onReplicaSet},
	{"processes", "one, two and three API processes on one event, 256 clients in all", severalProcesses},
	{"many-processes", "one event and 100, sold by 1 to 20 API processes, with requests routed by event and not", manyProcesses},
	{"balanced", "one event and 100 through HTTP, with HAProxy as it is shipped and without, 256 clients", balanced},
	{"many-events", "256 clients lock seats of 1,000 events at random", manyEvents},
	{"sold-out", "256 clients request seats of an event that has none left", soldOut},
	{"sold-out-http", "the same through HTTP, compared with a handler that does nothing", soldOutHTTP},
	{"comeback", "the only seat of an event is released again and again while 1,000 clients ask for it", seatComesBack},
	{"opening", "1,000 clients wait for the opening of a sale, through two processes", saleOpens},
	{"sales", "all clients buy seats of one event at once, in one process", salesAtOnce},
	{"changes", "clients change the seats of their paid bookings in a hall of 60,000, in one process", changedBookings},
	{"waitlist", "seats are released while 10,000 customers wait and 64 others ask; customers join", waitingLists},
	{"ending", "locks of one event end together while clients ask for their seats", locksEndTogether},
	{"recovery", "100,000 events with 1,000,000 locks, one counter in 100 wrong", recoverAll},
	{"sweep", "100,000 due locks are expired", sweep},
	{"event-cancel", "an event with 100,000 locks and 50,000 paid bookings is cancelled while 256 clients lock seats of another", eventCancel},
	{"webhooks", "locks of an event through HTTP while a worker sends all changes to an endpoint", withWebhooks},
	{"seated-named", "1 to 4 adjacent seats of a hall of 60,000, named by the clients, in one process", seatedNamed},
	{"seated-http", "the same through HTTP", seatedHTTP},
	{"seated-best", "1 to 4 best available seats of halls that are sold to 95 %", seatedBest},
	{"seated-front-row", "256 clients request the same eight seats, which are taken", frontRow},
	{"seated-processes", "three API processes sell seats of one hall, 256 clients in all", seatedProcesses},
	{"pretix", "customers put tickets of one event into carts of pretix; clients lock as many seats", withPretix},
	{"seat-listeners", "2,000 locks a second of a hall of 60,000 seats while clients listen to its map", withSeatListeners},
}

const (
	// mostClients is the load of the scenarios that have only one.
	mostClients = 256
	// ampleSeats is more than any measurement sells.
	ampleSeats = 10_000_000
)

// addPostgres adds the baseline of PostgreSQL, if it runs.
func (s settings) addPostgres(variants []variant) []variant {
	if s.postgresURL == "" {
		return variants
	}
	return append(slices.Clip(variants), variant{name: postgresName})
}

func hotEvent(s settings) (rows []*result) {
	for _, clients := range []int{1, 8, 64, 256} {
		for _, v := range s.addPostgres(allVariants) {
			rows = append(rows, inProcess(s, v, clients, 1, ampleSeats))
		}
	}
	return append(rows, inProcess(s, holdersVariant, mostClients, 1, ampleSeats))
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
			r := inProcess(s, v, clients, 1, ampleSeats)
			r.measure = func(ctx context.Context) (m measurement, err error) {
				if set == nil {
					if set, err = devserver.StartReplicaSet(ctx, devserver.MongodOptions{CacheGB: cacheGB}, members); err != nil {
						return m, err
					}
				}
				onSet := s
				onSet.mongoURI = set.URI
				return inProcess(onSet, v, clients, 1, ampleSeats).measure(ctx)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func soldOut(s settings) (rows []*result) {
	for _, v := range append(slices.Clip(completeVariants), keylessVariant) {
		rows = append(rows, inProcess(s, v, mostClients, 1, 1))
	}
	selling := inProcess(s, engineVariant, mostClients, 1, ampleSeats)
	selling.Variant = sellingName
	return append(rows, selling)
}

// inProcess measures a variant without HTTP: clients lock single seats of random events, which have seats each.
func inProcess(s settings, v variant, clients, count int, seats int64) *result {
	return inLoop(s, v.name, clients, func(ctx context.Context, e *env) (do operation, check func(granted int) error, err error) {
		events, err := e.createEvents(ctx, count, seats)
		if err != nil {
			return nil, nil, err
		}
		var via locker
		if v.name == postgresName {
			p, err := openPostgres(ctx, s.postgresURL)
			if err == nil {
				err = p.createEvents(ctx, events, seats)
			}
			if err != nil {
				return nil, nil, err
			}
			via, check = p.lock, func(granted int) error { return p.check(ctx, int64(granted)) }
		} else {
			via, check = v.open(ctx, e), func(granted int) error {
				return e.check(ctx, expectation{seats: int64(granted), counters: v.counters, locks: v.locks})
			}
		}
		user := mongodb.NewID()
		return func(ctx context.Context, client, n int) (bool, error) {
			return via(ctx, events[rand.IntN(len(events))], user, 1, requestKey(client, n))
		}, check, nil
	})
}

// inLoop measures clients that repeat an operation, on a new database. prepare returns the operation, and the check of
// what it granted.
func inLoop(
	s settings, variant string, clients int,
	prepare func(context.Context, *env) (do operation, check func(granted int) error, err error),
) *result {
	return s.row(variant, clientsLoad(clients), func(ctx context.Context, e *env) (m measurement, err error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		do, check, err := prepare(ctx, e)
		if err != nil {
			return m, err
		}
		if m, err = closedLoop(ctx, clients, s.duration, do); err == nil {
			err = check(m.Granted)
		}
		return m, err
	})
}

func clientsLoad(clients int) string { return fmt.Sprintf("%d clients", clients) }

// requestKey returns the idempotency key of a client's n-th request.
func requestKey(client, n int) string { return fmt.Sprintf("%d-%d", client, n) }
