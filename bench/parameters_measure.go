package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// parameterTime is how long each cost is measured, but for a first part that is not counted.
	parameterTime = time.Second
	// slowdownTime is that of a part of a round.
	slowdownTime   = 200 * time.Millisecond
	slowdownRounds = 9
	// conflictHold is shorter than the time after which a committer backs off.
	conflictHold   = 400 * time.Millisecond
	conflictRounds = 2
)

// The sizes of transactions that are measured.
var (
	oneEventSizes      = []int{1, 8, 64, 500}
	severalEventsSizes = []int{2, 16, 64, 400}
	// Numbers of clients through HTTP. None of them is predicted.
	httpParameterClients = []int{2, 32, 128}
)

// commandTimes sums up how long commands to MongoDB took.
type commandTimes struct{ count, nanos, commits atomic.Int64 }

func (t *commandTimes) monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
		t.count.Add(1)
		t.nanos.Add(int64(e.Duration))
		if e.CommandName == "commitTransaction" {
			t.commits.Add(1)
		}
	}}
}

// measureParameters measures what the simulation needs.
func measureParameters(ctx context.Context, s settings) (p parameters, err error) {
	p = parameters{
		MeasuredAt: wallClock().UTC().Format(time.RFC3339), CPU: cpuName(), Cores: runtime.NumCPU(), Go: runtime.Version(),
		Slowdown: measureSlowdown(),
	}
	for _, several := range []bool{false, true} {
		sizes, costs := oneEventSizes, &p.OneEvent
		if several {
			sizes, costs = severalEventsSizes, &p.SeveralEvents
		}
		for _, size := range sizes {
			fmt.Fprintf(os.Stderr, "\r\033[K  transactions of %d locks, several events: %v", size, several)
			cost, err := measureCommit(ctx, s, size, several)
			if err != nil {
				return p, fmt.Errorf("transactions of %d locks: %w", size, err)
			}
			*costs = append(*costs, cost)
		}
	}
	for _, clients := range httpParameterClients {
		fmt.Fprintf(os.Stderr, "\r\033[K  requests through HTTP, %d clients", clients)
		cost, err := measureHTTP(ctx, s, clients, p.OneEvent)
		if err != nil {
			return p, fmt.Errorf("requests through HTTP: %w", err)
		}
		p.HTTP = append(p.HTTP, cost)
	}
	fmt.Fprint(os.Stderr, "\r\033[K  conflicts")
	if p.Conflict, err = measureConflict(ctx, s); err != nil {
		return p, fmt.Errorf("conflicts: %w", err)
	}
	fmt.Fprint(os.Stderr, "\r\033[K")
	return p, nil
}

// newMonitoredEnv is newEnv with a monitor of the commands, and an observer of the transactions.
func newMonitoredEnv(ctx context.Context, s settings, monitor *event.CommandMonitor, attempts *atomic.Int64) (*env, error) {
	e, err := newEnv(ctx, s.mongoURI)
	if err != nil {
		return nil, err
	}
	if err := e.DB.Close(ctx); err != nil {
		return nil, err
	}
	c, err := core.Connect(ctx, core.Options{
		URI: s.mongoURI, Settings: core.Settings{Database: e.DB.Name()}, Users: core.AllUsersExist,
		Log: slog.New(slog.DiscardHandler), Monitor: monitor,
		Observe: core.Observer{Database: mongodb.Observer{Transaction: func(_ mongodb.Outcome, n int) { attempts.Add(int64(n)) }}},
	})
	if err != nil {
		return nil, err
	}
	return &env{Core: c, uri: s.mongoURI}, nil
}

// measureSlowdown measures how much longer work takes while all cores do the same: the median of several rounds, in
// which one thread and one for each core take turns. The work is what servers do: to read and write JSON.
func measureSlowdown() float64 {
	type request struct {
		EventID, UserID, IdempotencyKey string
		Seats, TTLSeconds               int
	}
	body, err := json.Marshal(request{ids.New().String(), ids.New().String(), requestKey(1, 1), 2, 600}) //nolint:mnd // an example
	if err != nil {
		panic(err) // a programming error
	}
	done := func(threads int) (perThread float64) {
		var all sync.WaitGroup
		var count atomic.Int64
		until := wallClock().Add(slowdownTime)
		for range threads {
			all.Go(func() {
				for wallClock().Before(until) {
					var r request
					if err := json.Unmarshal(body, &r); err != nil {
						panic(err) // a programming error
					}
					if _, err := json.Marshal(r); err != nil {
						panic(err)
					}
					count.Add(1)
				}
			})
		}
		all.Wait()
		return float64(count.Load()) / float64(threads)
	}
	ratios := make([]float64, slowdownRounds)
	for i := range ratios {
		ratios[i] = done(1) / done(runtime.NumCPU())
	}
	return quantileOf(ratios, .5) //nolint:mnd // the median
}

// measureCommit lets so many callers ask at once, waits until all are answered, and begins again. Callers of several
// events share one thread, so that all have asked when the transaction begins: two lanes would commit at the same time
// otherwise.
func measureCommit(ctx context.Context, s settings, locks int, several bool) (cost commitCost, err error) {
	if several {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	}
	var commands commandTimes
	var attempts atomic.Int64
	e, err := newMonitoredEnv(ctx, s, commands.monitor(), &attempts)
	if err != nil {
		return cost, err
	}
	events := make([]holdfast.ID, locks)
	for i := range events {
		if i > 0 && !several {
			events[i] = events[0]
		} else if events[i], err = e.createEvent(ctx, ampleSeats); err != nil {
			return cost, err
		}
	}
	user, n := ids.New(), 0
	round := func() error {
		n++
		errs := make([]error, locks)
		var callers sync.WaitGroup
		for i := range locks {
			callers.Go(func() {
				_, _, errs[i] = e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: events[i], UserID: user, Seats: 1, Key: requestKey(i, n)})
			})
		}
		callers.Wait()
		return errors.Join(errs...)
	}
	for start := wallClock(); wallClock.Since(start) < parameterTime/4; {
		if err := round(); err != nil {
			return cost, err
		}
	}
	commands = commandTimes{}
	before, err := usedCPU(ctx, e)
	if err != nil {
		return cost, err
	}
	start, rounds := wallClock(), 0.0
	for wallClock.Since(start) < parameterTime {
		if err := round(); err != nil {
			return cost, err
		}
		rounds++
	}
	total := wallClock.Since(start)
	after, err := usedCPU(ctx, e)
	if err != nil {
		return cost, err
	}
	commits := float64(commands.commits.Load())
	cost = commitCost{
		Locks: float64(locks) * rounds / commits, // some rounds take two transactions
		Total: total.Seconds() / ms / commits, Database: time.Duration(commands.nanos.Load()).Seconds() / ms / commits,
		ProcessCPU: (after.process - before.process) / ms / commits, MongodCPU: (after.mongod - before.mongod) / ms / commits,
		Commands: float64(commands.count.Load()) / commits,
	}
	return cost, e.drop(ctx)
}

// cpuUse is CPU seconds of this process and of mongod.
type cpuUse struct{ process, mongod float64 }

func usedCPU(ctx context.Context, e *env) (u cpuUse, err error) {
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return u, err
	}
	seconds := func(t syscall.Timeval) float64 { return time.Duration(t.Nano()).Seconds() }
	status, err := mongodStatusOf(ctx, e)
	return cpuUse{process: seconds(own.Utime) + seconds(own.Stime), mongod: status.cpuSeconds()}, err
}

// httpUse is what a closed loop through HTTP used, while some more processes had nothing to do.
type httpUse struct {
	requests, commits    float64
	api, process, mongod float64 // milliseconds of CPU time
}

// locksPerCommit is how many locks a transaction had.
func (u httpUse) locksPerCommit() float64 { return u.requests / u.commits }

// measureHTTP measures the CPU time of requests through HTTP, without that of their transactions.
func measureHTTP(ctx context.Context, s settings, clients int, commits []commitCost) (httpCost, error) {
	u, err := useHTTP(ctx, s, clients)
	perCommit := costOf(commits, u.locksPerCommit())
	return httpCost{
		Clients: clients, API: (u.api - perCommit.ProcessCPU*u.commits) / u.requests, Generator: u.process / u.requests,
		Mongod: max(0, u.mongod/u.commits-perCommit.MongodCPU),
	}, err
}

// useHTTP lets clients lock seats of one event through one process.
func useHTTP(ctx context.Context, s settings, clients int) (u httpUse, err error) {
	s.duration = parameterTime
	row := httpRow{variant: engineName, processes: 1, seats: ampleSeats}
	var e *env
	row.beside = func(_ context.Context, opened *env) (func(*measurement) error, error) {
		e = opened
		return func(*measurement) error { return nil }, nil
	}
	row.run = func(ctx context.Context, servers []*server, event holdfast.ID, user holdfast.User) (m measurement, err error) {
		to := serverConn{&fasthttp.HostClient{Addr: servers[0].address, MaxConns: clients, DisableHeaderNamesNormalizing: true}}
		defer to.CloseIdleConnections()
		load := func(run string, duration time.Duration) (measurement, error) {
			return closedLoop(ctx, clients, duration, func(_ context.Context, client, n int) (bool, error) {
				return to.postLock(lockBody(event, user.ID, run+requestKey(client, n)))
			})
		}
		warm, err := load("w", parameterTime/4)
		if err != nil {
			return m, err
		}
		before, err := e.httpUse(ctx, servers[0])
		if err != nil {
			return m, err
		}
		if m, err = load("m", parameterTime); err != nil {
			return m, err
		}
		after, err := e.httpUse(ctx, servers[0])
		u = httpUse{
			requests: float64(m.Granted), commits: after.commits - before.commits, api: after.api - before.api,
			process: after.process - before.process, mongod: after.mongod - before.mongod,
		}
		m.Granted += warm.Granted
		return m, err
	}
	_, err = overHTTP(s, row).measure(ctx)
	return u, err
}

// httpUse is what was used so far. Each transaction of an event has a record of its changes.
func (e *env) httpUse(ctx context.Context, server *server) (u httpUse, err error) {
	api, err := readProcess(server.address)
	if err != nil {
		return u, err
	}
	used, err := usedCPU(ctx, e)
	if err != nil {
		return u, err
	}
	u.api, u.process, u.mongod = api.cpu/ms, used.process/ms, used.mongod/ms
	records, err := e.DB.Collection("changes").CountDocuments(ctx, bson.D{})
	u.commits = float64(records)
	return u, err
}

// measureConflict lets a process ask for seats of an event while another transaction has it.
func measureConflict(ctx context.Context, s settings) (cost conflictCost, err error) {
	var attempts atomic.Int64
	e, err := newMonitoredEnv(ctx, s, nil, &attempts)
	if err != nil {
		return cost, err
	}
	eventID, err := e.createEvent(ctx, ampleSeats)
	if err != nil {
		return cost, err
	}
	for n := range conflictRounds {
		measured, failed, err := e.conflict(ctx, eventID, n, &attempts)
		if err != nil {
			return cost, err
		}
		// The pauses between attempts are 2 ms in the mean, the first is shorter.
		const pause = 2
		cost.Total += max(0, conflictHold.Seconds()/ms/failed-pause) / conflictRounds
		cost.ProcessCPU += measured.process / ms / failed / conflictRounds
		cost.MongodCPU += measured.mongod / ms / failed / conflictRounds
	}
	return cost, e.drop(ctx)
}

// conflict holds the event in a transaction meanwhile, and returns what was used and how many attempts failed.
func (e *env) conflict(ctx context.Context, eventID holdfast.ID, n int, attempts *atomic.Int64) (used cpuUse, failed float64, err error) {
	session, err := e.DB.Client().StartSession()
	if err != nil {
		return used, 0, err
	}
	defer session.EndSession(ctx)
	if err := session.StartTransaction(); err != nil {
		return used, 0, err
	}
	_, err = e.DB.Collection("events").UpdateOne(mongo.NewSessionContext(ctx, session), bson.D{{Key: "_id", Value: eventID}},
		bson.D{{Key: "$set", Value: bson.D{{Key: "name", Value: fmt.Sprint("Event ", n)}}}})
	if err != nil {
		return used, 0, err
	}
	attempts.Store(0)
	before, err := usedCPU(ctx, e)
	if err != nil {
		return used, 0, err
	}
	done := make(chan error, 1)
	go func() {
		_, _, err := e.Seats.AcquireLock(ctx, holdfast.LockRequest{EventID: eventID, UserID: ids.New(), Seats: 1, Key: fmt.Sprint(n)})
		done <- err
	}()
	sleep(ctx, conflictHold)
	after, err := usedCPU(ctx, e)
	err = errors.Join(err, session.AbortTransaction(ctx), <-done)
	// The last attempt succeeds, after the event is free.
	return cpuUse{after.process - before.process, after.mongod - before.mongod}, max(1, float64(attempts.Load()-1)), err
}

// quantileOf values, which it sorts; 0 if there are none.
func quantileOf(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[min(len(values)-1, int(q*float64(len(values))))]
}
