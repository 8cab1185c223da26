package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/webhooks"
)

// The scenario steady is no row of a table, since an hour is too long for the others: -steady runs it alone.
const (
	steadyAPIs = 2
	// steadyClients find the best rate, without a pause between two requests.
	steadyClients = 128
	// steadyShare of the best rate is the load.
	steadyShare = 0.5
	// steadyListeners listen to the availability of each hot event.
	steadyListeners = 10
	steadyUsers     = 500
	// maxCustomers bounds those that are there at one time. More are turned away, and counted.
	maxCustomers = 50_000
	// sweepInterval is shorter than the default, so that a short measurement has several sweeps.
	sweepInterval = 15 * time.Second
	// settleTimeout bounds the time in which the last locks expire and the last webhooks are sent.
	settleTimeout = 5 * time.Minute
)

// bestRateTime is how long the best rate is measured.
const bestRateTime = 10 * time.Second

// steady is the scenario while it runs.
type steady struct {
	settings
	env      *env
	world    *steadyWorld
	apis     []*server
	worker   *server // for its metrics
	receiver *webhookReceiver
	streams  []*listener
	// lostStreams are those that the API ended.
	lostStreams int

	best, customersPerSecond float64
	rows                     []steadyRow
}

// measureSteady loads a deployment with a steady mix of customers, at half the best rate, and shows whether memory,
// goroutines, connections and latency stay flat. It writes a table, a chart and the figures.
func measureSteady(ctx context.Context, s settings) (err error) {
	if s.mongoURI == "" {
		mongod, err := devserver.StartMongod(ctx, devserver.MongodOptions{Progress: os.Stderr, CacheGB: cacheGB})
		if err != nil {
			return err
		}
		defer mongod.Stop()
		s.mongoURI = mongod.URI
	}
	if err := os.MkdirAll(s.outDir, 0o750); err != nil {
		return err
	}
	st := &steady{settings: s}
	defer func() { err = errors.Join(err, st.stop(context.WithoutCancel(ctx))) }()
	if err := st.start(ctx); err != nil {
		return err
	}
	if err := st.findBestRate(ctx); err != nil {
		return err
	}
	started := wallClock()
	if err := st.load(ctx); err != nil {
		return err
	}
	if err := st.write(started); err != nil {
		return err
	}
	if err := st.settle(ctx); err != nil {
		return err
	}
	size, err := st.check(ctx)
	if err != nil {
		return err
	}
	return st.conclude(size)
}

// start starts the processes, creates the events, and connects the listeners.
func (st *steady) start(ctx context.Context) (err error) {
	if st.env, err = newEnv(ctx, st.mongoURI); err != nil {
		return err
	}
	for range steadyAPIs {
		api, err := startServer(ctx, engineName, serverConfig{binDir: st.binDir, mongoURI: st.mongoURI, database: st.env.DB.Name()})
		if err != nil {
			return err
		}
		st.apis = append(st.apis, api)
	}
	if st.world, err = st.newWorld(ctx); err != nil {
		return err
	}
	if st.receiver, err = newWebhookReceiver(false); err != nil {
		return err
	}
	_, _, _, err = webhooks.New(st.env.DB, st.env.Changes, true).Create(ctx,
		webhooks.NewEndpoint{URL: st.receiver.url(), Types: []string{"holdfast.booking.*"}}, holdfast.CreationKey{})
	if err != nil {
		return err
	}
	interval := sweepInterval.String()
	st.worker, err = startWorker(ctx, st.settings, st.env.DB.Name(),
		"LOCK_EXPIRY_INTERVAL="+interval, "BOOKING_EXPIRY_INTERVAL="+interval)
	if err != nil {
		return err
	}
	for i, event := range st.world.events[:steadyHotEvents+steadyHotHalls] {
		for range steadyListeners {
			l := &listener{}
			if err := l.listen(ctx, st.apis[i%len(st.apis)].address, event.id); err != nil {
				return err
			}
			st.streams = append(st.streams, l)
		}
	}
	return nil
}

// newWorld creates events and users.
func (st *steady) newWorld(ctx context.Context) (*steadyWorld, error) {
	w := &steadyWorld{}
	plan, err := st.env.createPlan(ctx)
	if err != nil {
		return nil, err
	}
	var servers []serverConn
	for _, api := range st.apis {
		servers = append(servers, serverConn{&fasthttp.HostClient{
			Addr: api.address, MaxConns: maxCustomers, ReadTimeout: responseTimeout, DisableHeaderNamesNormalizing: true,
			MaxIdleConnDuration: time.Minute,
		}})
	}
	for _, crowd := range crowds {
		for range crowd.events {
			event := steadyEvent{to: servers[len(w.events)%len(servers)]}
			if crowd.seated {
				event.seats = &picture{}
				event.id, err = st.env.createHall(ctx, plan)
			} else {
				event.id, err = st.env.createEvent(ctx, ampleSeats)
			}
			if err != nil {
				return nil, err
			}
			w.events = append(w.events, event)
		}
	}
	for n := range steadyUsers {
		user, err := st.env.Users.CreateUser(ctx, "Ada", fmt.Sprintf("ada%d@example.com", n))
		if err != nil {
			return nil, err
		}
		w.users = append(w.users, user.ID)
	}
	return w, nil
}

// findBestRate lets clients send the requests of customer after customer, without pauses.
func (st *steady) findBestRate(ctx context.Context) error {
	noPause := func() time.Duration { return 0 }
	before := st.world.customers.Load()
	m, err := closedLoop(ctx, steadyClients, bestRateTime, func(context.Context, int, int) (bool, error) {
		return true, st.world.newCustomer().goesThrough(ctx, wallClock(), noPause)
	})
	if err != nil {
		return fmt.Errorf("measure the best rate: %w", err)
	}
	customers := st.world.customers.Load() - before
	st.best = float64(len(st.world.recorder.take())) / m.Seconds
	st.customersPerSecond = steadyShare * float64(customers) / m.Seconds
	fmt.Fprintf(os.Stderr, "Best rate: %.0f requests a second by %d clients, of %.0f customers. Load: %.0f customers a second for %v.\n",
		st.best, steadyClients, float64(customers)/m.Seconds, st.customersPerSecond, st.steadyTime)
	return nil
}

// load lets customers arrive at random times, at a constant rate on average, whether or not earlier ones are answered.
// Meanwhile it takes the figures of each interval.
func (st *steady) load(ctx context.Context) error {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	sampler := newSampler(st)
	sampled := make(chan struct{})
	go func() {
		defer close(sampled)
		st.rows = sampler.run(ctx)
		stop() // the load ends with the last interval
	}()
	var customers sync.WaitGroup
	present := make(chan struct{}, maxCustomers)
	for at := wallClock(); loading.Err() == nil; {
		at = at.Add(time.Duration(rand.ExpFloat64() / st.customersPerSecond * float64(time.Second)))
		sleep(loading, at.Sub(wallClock()))
		if loading.Err() != nil {
			break
		}
		select {
		case present <- struct{}{}:
		default:
			st.world.dropped.Add(1)
			continue
		}
		arrived := at
		customers.Go(func() {
			st.world.reportFirst(st.world.newCustomer().goesThrough(loading, arrived, randomPause))
			<-present
		})
	}
	<-sampled
	customers.Wait()
	st.world.leaving.Wait()
	return ctx.Err()
}

// settle waits until the last locks have expired and the last webhooks are sent.
func (st *steady) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	locks := st.env.DB.Collection("seatlocks")
	for {
		open := mongodb.Is("status", "ACTIVE")
		if st.world.failed.Load() > 0 { // the locks of customers whose requests failed last longer
			open = dueLocksFilter()
		}
		n, err := locks.CountDocuments(ctx, open)
		if err != nil {
			return fmt.Errorf("wait until all locks have ended: %w", err)
		}
		if n == 0 && int64(st.receiver.count()) >= st.world.bookingChanges.Load() {
			return nil
		}
		if sleep(ctx, time.Second); ctx.Err() != nil {
			return fmt.Errorf("%d locks have not ended, and %d changes of at least %d were told, %v after the load",
				n, st.receiver.count(), st.world.bookingChanges.Load(), settleTimeout)
		}
	}
}

// check checks the invariants when all processes have stopped, and returns the size of the database.
func (st *steady) check(ctx context.Context) (size string, err error) {
	st.countLostStreams()
	st.stopProcesses()
	w := st.world
	if err := st.env.check(ctx, expectation{
		seats: w.keptSeats.Load(), grants: w.kept.Load(), unknown: w.failedSeats.Load(), counters: true, locks: true,
	}); err != nil {
		return "", err
	}
	report, err := st.env.Recovery.Reconcile(ctx, ids.NewRun("bench", clock.System()), slog.New(slog.DiscardHandler))
	if err == nil && report.Corrections+report.Reported > 0 {
		err = fmt.Errorf("%d counters or maps were wrong, and %d contradictions were found", report.Corrections, report.Reported)
	}
	if err != nil {
		return "", err
	}
	payments := st.env.DB.Collection("payments")
	for status, want := range map[string]int64{"ACCEPTED": w.confirmed.Load() - w.canceledPaid.Load(), "REFUND_DUE": w.canceledPaid.Load()} {
		n, err := payments.CountDocuments(ctx, mongodb.Is("status", status))
		if err != nil {
			return "", err
		}
		if n < want-w.failed.Load() || n > want+w.failed.Load() {
			return "", fmt.Errorf("%d payments are %s; want %d, give or take %d failed requests", n, status, want, w.failed.Load())
		}
	}
	return st.size(ctx)
}

// countLostStreams counts the listeners whose stream has ended. Those of the browser connect again.
func (st *steady) countLostStreams() {
	for _, l := range st.streams {
		select {
		case <-l.done:
			st.lostStreams++
		default:
		}
	}
}

// size describes the size of the database.
func (st *steady) size(ctx context.Context) (string, error) {
	var stats struct {
		Data    float64 `bson:"dataSize"`
		Storage float64 `bson:"storageSize"`
		Indexes float64 `bson:"indexSize"`
	}
	if err := st.env.DB.Database.RunCommand(ctx, bson.D{{Key: "dbStats", Value: 1}}).Decode(&stats); err != nil {
		return "", err
	}
	text := fmt.Sprintf("%.0f MiB of documents, %.0f MiB on the disk with %.0f MiB of indexes",
		stats.Data/mib, (stats.Storage+stats.Indexes)/mib, stats.Indexes/mib)
	for _, name := range []string{"seatlocks", "bookings", "payments", "changes", "webhookdeliveries"} {
		n, err := st.env.DB.Collection(name).EstimatedDocumentCount(ctx)
		if err != nil {
			return "", err
		}
		text += fmt.Sprintf("; %d %s", n, name)
	}
	return text, nil
}

// stopProcesses stops all but the database. It may be called again.
func (st *steady) stopProcesses() {
	for _, l := range st.streams {
		l.close()
	}
	st.streams = nil
	for _, p := range append(slices.Clone(st.apis), st.worker) {
		if p != nil {
			p.Stop()
		}
	}
	st.apis, st.worker = nil, nil
}

// stop ends what was started.
func (st *steady) stop(ctx context.Context) (err error) {
	st.stopProcesses()
	if st.receiver != nil {
		err = st.receiver.close()
	}
	if st.env != nil {
		err = errors.Join(err, st.env.drop(ctx))
	}
	return err
}

// steadyFile is the name of a file of the results.
func (st *steady) steadyFile(extension string) string {
	return filepath.Join(st.outDir, "steady."+extension)
}
