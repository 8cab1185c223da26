package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// manyProcesses lets processes sell one event without routing: the clients are spread over them. Then it lets them sell many
// events, each client at random. PEER_ADDR=off in the environment of the bench shows what forwarding is worth.
func manyProcesses(s settings) (rows []*result) {
	for _, clients := range []int{256, 1024} {
		for _, processes := range []int{1, 3, 8, 20} {
			row := httpRow{
				variant: engines(processes), load: clientsLoad(clients), processes: processes, seats: ampleSeats, beside: countTransactions,
			}
			rows = append(rows, closedHTTP(s, row, clients))
		}
	}
	for _, events := range []int{balancedEvents, manyCount} {
		for _, processes := range []int{1, 3, 20} {
			rows = append(rows, manyEventsAtRandom(s, events, processes))
		}
	}
	return rows
}

func engines(processes int) string { return fmt.Sprintf("engine, %d of them", processes) }

// manyEventsAtRandom lets clients, spread over processes, sell events at random.
func manyEventsAtRandom(s settings, count, processes int) *result {
	var events []holdfast.ID
	row := httpRow{variant: engines(processes), load: fmt.Sprintf("%d events", count), processes: processes, seats: ampleSeats}
	row.beside = func(ctx context.Context, e *env) (end func(*measurement) error, err error) {
		if events, err = e.createEvents(ctx, count-1); err != nil {
			return nil, err
		}
		return countTransactions(ctx, e)
	}
	row.run = func(ctx context.Context, servers []*server, event holdfast.ID, user holdfast.User) (measurement, error) {
		events = append(events, event)
		return throughServers(ctx, s, servers, balancedClients, func(_ context.Context, to serverConn, client, n int) (bool, error) {
			event := events[rand.IntN(len(events))]
			return to.postLock(lockBody(event, user.ID, requestKey(client, n)))
		})
	}
	return overHTTP(s, row)
}

// countTransactions notes how many locks a transaction has, how many commands fail for each transaction that is
// committed, and how many transactions are committed in a second.
func countTransactions(ctx context.Context, e *env) (end func(*measurement) error, err error) {
	before, err := e.transactions(ctx)
	return func(m *measurement) error {
		after, err := e.transactions(ctx)
		committed := float64(max(1, after.committed-before.committed))
		if m.note != "" {
			m.note += "; "
		}
		m.note += fmt.Sprintf("%.1f locks a transaction, %.2f failed commands; %.0f transactions a second",
			float64(m.Granted)/committed, float64(after.failed-before.failed)/committed, committed/m.Seconds)
		return err
	}, err
}

// transactions are counts of the database server since its start.
type transactions struct {
	committed int64
	failed    int64 // commands that a transaction of a lock has, such as one that meets a conflict
}

func (e *env) transactions(ctx context.Context) (t transactions, err error) {
	var status struct {
		Transactions struct {
			Committed int64 `bson:"totalCommitted"`
		} `bson:"transactions"`
		Metrics struct {
			Commands bson.Raw `bson:"commands"`
		} `bson:"metrics"`
	}
	err = e.DB.RunCommand(ctx, bson.D{
		{Key: "serverStatus", Value: 1}, {Key: "transactions", Value: 1}, {Key: "metrics", Value: 1},
	}).Decode(&status)
	t.committed = status.Transactions.Committed
	for _, name := range []string{"findAndModify", "update", "insert", "aggregate", "commitTransaction", "abortTransaction"} {
		failed, _ := status.Metrics.Commands.Lookup(name, "failed").AsInt64OK()
		t.failed += failed
	}
	return t, err
}
