package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/devserver"
)

// routing is how requests reach the API processes.
type routing string

const (
	direct  routing = "no load balancer"
	byEvent routing = "by event" // HAProxy sends all requests of an event to one process
	inTurn  routing = "in turn"  // HAProxy sends the requests to the processes in turn
)

var balancedEvents = []int{1, 100}

// balanced measures one event and many events behind HAProxy as it is shipped, in front of one process or of three.
func balanced(s settings) (rows []*result) {
	for _, events := range balancedEvents {
		rows = append(rows, behindHAProxy(s, "engine, no load balancer", events, 1, direct))
		for _, processes := range []int{1, 3} {
			rows = append(rows, behindHAProxy(s, fmt.Sprintf("engine, %d behind HAProxy", processes), events, processes, byEvent))
		}
	}
	return rows
}

// manyProcesses lets processes sell one event, each to its share of the clients. Then it lets them sell one event,
// and many, behind HAProxy, which sends either all requests of an event to one process, or the requests to the
// processes in turn.
func manyProcesses(s settings) (rows []*result) {
	variant := func(processes int) string { return fmt.Sprintf("engine, %d of them", processes) }
	for _, clients := range []int{mostClients, 1024} {
		for _, processes := range []int{1, 3, 8, 20} {
			row := httpRow{variant: variant(processes), processes: processes, seats: ampleSeats}
			rows = append(rows, closedHTTP(s, row, clients))
		}
	}
	for _, events := range balancedEvents {
		for _, processes := range []int{1, 3, 20} {
			for _, r := range []routing{byEvent, inTurn} {
				if r == byEvent || processes > 1 {
					name := fmt.Sprintf("%s behind HAProxy, %s", variant(processes), r)
					rows = append(rows, behindHAProxy(s, name, events, processes, r))
				}
			}
		}
	}
	return rows
}

// behindHAProxy lets clients lock seats of random events through HAProxy in front of the servers.
func behindHAProxy(s settings, variant string, count, processes int, r routing) *result {
	load := fmt.Sprintf("%d events", count)
	if count == 1 {
		load = "one event"
	}
	run := func(ctx context.Context, t target) (m measurement, err error) {
		events, err := t.createEvents(ctx, count, ampleSeats)
		if err != nil {
			return m, err
		}
		address := t.servers[0].address
		if r != direct {
			proxy, at, err := startHAProxy(ctx, t.servers, r)
			if err != nil {
				return m, err
			}
			defer proxy.Stop()
			address = at
		}
		to := connectTo(address, mostClients)
		defer to.CloseIdleConnections()
		before, err := t.transactions(ctx)
		if err != nil {
			return m, err
		}
		m, err = measureProcessor(ctx, t.servers, func(ctx context.Context) (measurement, error) {
			return closedLoop(ctx, mostClients, s.duration, func(_ context.Context, client, n int) (bool, error) {
				event := events[rand.IntN(len(events))]
				return to.postLock("/api/events/"+event.String()+"/locks", event, t.user.ID, requestKey(client, n), `"seats":1`)
			})
		})
		if err != nil {
			return m, err
		}
		return m, t.noteTransactions(ctx, &m, before)
	}
	return overHTTP(s, httpRow{variant: variant, load: load, processes: processes, seats: ampleSeats, run: run})
}

var (
	shippedServers = regexp.MustCompile(`(?m)^ *server api-1 .*( maxconn \d+)\n(?: *server api-\d .*\n)+`)
	shippedRouting = regexp.MustCompile(`balance hash var\(txn\.event\)`)
)

// startHAProxy runs deploy/haproxy with a list of these servers and, unless requests are routed by event, without that
// rule. It waits until HAProxy passes requests on.
func startHAProxy(ctx context.Context, servers []*server, r routing) (p *devserver.Process, address string, err error) {
	binary, env, err := devserver.HAProxy(ctx, os.Stderr)
	if err != nil {
		return nil, "", err
	}
	file, err := os.ReadFile(filepath.Join("deploy", "haproxy", "haproxy.cfg"))
	if err != nil {
		return nil, "", err
	}
	file = shippedServers.ReplaceAllFunc(file, func(found []byte) (list []byte) {
		for i, server := range servers {
			list = fmt.Appendf(list, "    server api-%d %s%s\n", i+1, server.address, shippedServers.FindSubmatch(found)[1])
		}
		return list
	})
	if r == inTurn {
		file = shippedRouting.ReplaceAll(file, []byte("balance roundrobin"))
	}
	dir, err := os.MkdirTemp("", "haproxy-")
	if err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return nil, "", err
	}
	proxy, err := startProcess(ctx, func(address string) devserver.Command {
		return devserver.Command{Args: []string{binary, "-db", "-f", path}, Env: append(env, "LISTEN="+address), TempDir: dir}
	})
	if err != nil {
		return nil, "", err
	}
	return proxy.Process, proxy.address, nil
}

// transactions are counts of the database server since its start.
type transactions struct {
	committed int64
	failed    int64 // commands that a transaction of a lock has, such as one that meets a conflict
}

// noteTransactions notes the number of locks per transaction, the number of failed commands per committed
// transaction, and the number of committed transactions per second.
func (e *env) noteTransactions(ctx context.Context, m *measurement, before transactions) error {
	after, err := e.transactions(ctx)
	committed := float64(max(1, after.committed-before.committed))
	m.addNote("%.1f locks a transaction, %.2f failed commands; %.0f transactions a second",
		float64(m.Granted)/committed, float64(after.failed-before.failed)/committed, committed/m.Seconds)
	return err
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
