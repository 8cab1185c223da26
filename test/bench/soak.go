package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// The soak takes too long to be a row of a table: -soak runs it alone.
const (
	soakAPIs = 2
	// soakClients is the number of clients that measure the best rate, without a pause between two requests.
	soakClients  = 128
	bestRateTime = 10 * time.Second
	// soakShare is the load as a share of the best rate.
	soakShare = 0.5
	// soakListeners is the number of listeners to the availability of each hot event.
	soakListeners = 10
	soakUsers     = 500
	// maxCustomers bounds the concurrent customers. Further customers are turned away, and counted.
	maxCustomers = 50_000
	// sweepInterval is shorter than the default, so that a short measurement has several sweeps.
	sweepInterval = 15 * time.Second
	// settleTimeout bounds the time until the last locks have expired and the last webhooks are sent.
	settleTimeout = 5 * time.Minute
	// soakIntervals is the least number of intervals of a soak, each from a second to maxSoakInterval.
	soakIntervals   = 12
	minSoakTime     = soakIntervals * time.Second
	maxSoakInterval = time.Minute
)

// These are the events of the soak.
const (
	soakHotEvents = 2   // unseated
	soakEvents    = 200 // unseated
	soakHalls     = 20
)

// soak is a deployment and its customers while it runs.
type soak struct {
	settings

	env      *env
	apis     []*server
	worker   *server
	proxy    *devserver.Process
	receiver *webhookReceiver
	streams  []*stream

	api                *client.Client // through the load balancer
	hot, events, halls []soakEvent
	users              []string // IDs

	customers                    atomic.Int64 // that came; each has a number
	kept, keptSeats              atomic.Int64 // locks that stay sold
	bookingChanges               atomic.Int64 // of which a webhook is sent
	failed, failedSeats, dropped atomic.Int64
	leaving                      sync.WaitGroup // customers whose locks have not expired yet

	mu        sync.Mutex
	latencies []time.Duration // of the requests since the last call of takeLatencies
}

// measureSoak loads a deployment, HAProxy as it is shipped, API processes and a worker, with a steady mix of customers
// at half the best rate, and shows whether memory and latency stay flat. Then it checks the invariants.
func measureSoak(ctx context.Context, s settings) (err error) {
	stop, err := s.startMongod(ctx)
	if err != nil {
		return err
	}
	defer stop()
	st := &soak{settings: s}
	defer func() { err = errors.Join(err, st.stop(context.WithoutCancel(ctx))) }()
	for _, step := range []func(context.Context) error{st.start, st.load, st.settle, st.check} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Println("All invariants held: counters, maps, locks and payments; the endpoint has all changes of bookings.")
	return nil
}

// start creates the events, starts the processes, and connects the listeners.
func (st *soak) start(ctx context.Context) (err error) {
	if st.env, err = newEnv(ctx, st.mongoURI, core.Collections()); err != nil {
		return err
	}
	if err := st.createEvents(ctx); err != nil {
		return err
	}
	for n := range soakUsers {
		user, err := st.env.Users.CreateUser(ctx, "Ada", fmt.Sprintf("ada%d@example.com", n))
		if err != nil {
			return err
		}
		st.users = append(st.users, user.ID.String())
	}
	if st.apis, _, err = st.env.startServers(ctx, st.settings, engineName, soakAPIs); err != nil {
		return err
	}
	var address string
	if st.proxy, address, err = startHAProxy(ctx, st.apis, byEvent); err != nil {
		return err
	}
	const connections = 1500 // fewer than HAProxy accepts from one address
	st.api, _ = newClient(address, connections)
	if st.receiver, err = newWebhookReceiver(ctx, st.env, "holdfast.booking.*"); err != nil {
		return err
	}
	interval := sweepInterval.String()
	st.worker, err = startWorker(ctx, st.settings, st.env.DB.Name(), "LOCK_EXPIRY_INTERVAL="+interval, "BOOKING_EXPIRY_INTERVAL="+interval)
	if err != nil {
		return err
	}
	for _, event := range st.hot {
		for range soakListeners {
			l, err := openStream(ctx, address, eventStream(event.id), nil)
			if err != nil {
				return err
			}
			st.streams = append(st.streams, l)
		}
	}
	return nil
}

// createEvents creates the events, of which a hall is hot, too.
func (st *soak) createEvents(ctx context.Context) error {
	unseated, err := st.env.createEvents(ctx, soakHotEvents+soakEvents, ampleSeats)
	if err != nil {
		return err
	}
	for _, id := range unseated {
		st.events = append(st.events, soakEvent{id: id})
	}
	open, err := st.env.hallOpener(ctx, engineName)
	if err != nil {
		return err
	}
	halls, err := openVenue(1+soakHalls, hallSeats, open)
	if err != nil {
		return err
	}
	for _, id := range halls.halls {
		st.halls = append(st.halls, soakEvent{id: id, seats: &picture{}})
	}
	st.hot, st.events = append(slices.Clone(st.events[:soakHotEvents]), st.halls[0]), st.events[soakHotEvents:]
	st.halls = st.halls[1:]
	return nil
}

// findBestRate lets clients send the requests of customer after customer, without pauses. It returns the rates of requests
// and of customers.
func (st *soak) findBestRate(ctx context.Context) (requests, customers float64, err error) {
	noPause := func() time.Duration { return 0 }
	m, err := closedLoop(ctx, soakClients, bestRateTime, func(context.Context, int, int) (bool, error) {
		return true, st.newCustomer().goThrough(ctx, wallClock(), noPause)
	})
	return float64(len(st.takeLatencies())) / m.Seconds, m.perSecond(), err
}

// load lets customers arrive at random times, at a constant rate on average, whether or not earlier ones are
// answered. Meanwhile it prints the figures of each interval.
func (st *soak) load(ctx context.Context) error {
	best, rate, err := st.findBestRate(ctx)
	if err != nil {
		return fmt.Errorf("measure the best rate: %w", err)
	}
	rate *= soakShare
	fmt.Printf("Best rate: %.0f requests a second by %d clients. Load: %.0f customers a second for %v.\n",
		best, soakClients, rate, st.soakTime)
	loading, stop := context.WithCancel(ctx)
	defer stop()
	sampled := make(chan error, 1)
	go func() {
		sampled <- st.sample(ctx)
		stop() // the load ends with the last interval
	}()
	var customers sync.WaitGroup
	present := make(chan struct{}, maxCustomers)
	for at := wallClock(); ; {
		at = at.Add(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
		if sleep(loading, at.Sub(wallClock())); loading.Err() != nil {
			break
		}
		select {
		case present <- struct{}{}:
		default:
			st.dropped.Add(1)
			continue
		}
		arrived := at
		customers.Go(func() {
			if err := st.newCustomer().goThrough(loading, arrived, randomPause); err != nil && st.failed.Load() == 1 {
				fmt.Fprintln(os.Stderr, "the first request that failed:", err)
			}
			<-present
		})
	}
	err = <-sampled
	customers.Wait()
	st.leaving.Wait()
	fmt.Printf("%d customers came, %d requests failed, %d customers were turned away; %d locks stay sold.\n",
		st.customers.Load(), st.failed.Load(), st.dropped.Load(), st.kept.Load())
	return errors.Join(err, ctx.Err())
}

// soakFigures are the figures that should stay flat.
var soakFigures = []string{"requests a second", "p50 ms", "p99 ms", "API MiB", "worker MiB", "mongod MiB"}

// sample prints the figures at the end of each interval; at the end of the last one, how much they changed.
func (st *soak) sample(ctx context.Context) error {
	interval := min(maxSoakInterval, st.soakTime/soakIntervals)
	n := int(st.soakTime / interval)
	figures := make([][]float64, len(soakFigures))
	started := wallClock()
	for i := range n {
		end := started.Add(time.Duration(i+1) * interval)
		if sleep(ctx, end.Sub(wallClock())); ctx.Err() != nil {
			return ctx.Err()
		}
		row, err := st.figures(ctx, interval)
		if err != nil {
			return fmt.Errorf("read the figures of an interval: %w", err)
		}
		fmt.Printf("%5.1f min:", end.Sub(started).Minutes())
		for f, figure := range row {
			figures[f] = append(figures[f], figure)
			fmt.Printf(" %s %.1f,", soakFigures[f], figure)
		}
		fmt.Printf(" %d errors\n", st.failed.Load()+st.dropped.Load())
	}
	fmt.Println("From the second quarter of the time to the last:")
	for f, values := range figures {
		before, after := mean(values[n/4:n/2]), mean(values[n-n/4:])
		fmt.Printf("  %s %.1f to %.1f, %+.0f %%\n", soakFigures[f], before, after, 100*(after/before-1))
	}
	return nil
}

func mean(values []float64) (mean float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	return mean
}

// figures returns soakFigures for the time since the last call. Those of the API are the sums over its processes.
func (st *soak) figures(ctx context.Context, interval time.Duration) (row []float64, err error) {
	m := measurement{latencies: st.takeLatencies()}
	rate := float64(len(m.latencies)) / interval.Seconds()
	var memory float64
	for _, api := range st.apis {
		p, err := readProcess(ctx, api.address)
		if err != nil {
			return nil, err
		}
		memory += p.memory
	}
	worker, err := readProcess(ctx, st.worker.address)
	if err != nil {
		return nil, err
	}
	var status struct {
		Memory struct {
			Resident float64 `bson:"resident"` // MiB
		} `bson:"mem"`
	}
	err = st.env.DB.Client().Database("admin").RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}}).Decode(&status)
	return []float64{
		rate, inMilliseconds(m.quantile(.5)), inMilliseconds(m.quantile(.99)), memory, worker.memory, status.Memory.Resident,
	}, err
}

// settle waits until the last locks have expired and the last webhooks are sent.
func (st *soak) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	open := mongodb.Is("status", "ACTIVE")
	if st.failed.Load() > 0 { // the locks of customers whose requests failed last longer
		open = dueLocksFilter()
	}
	for {
		n, err := st.env.DB.Collection("seatlocks").CountDocuments(ctx, open)
		if err != nil {
			return fmt.Errorf("wait until all locks have ended: %w", err)
		}
		if n == 0 && int64(st.receiver.count()) >= st.bookingChanges.Load() {
			return nil
		}
		if sleep(ctx, time.Second); ctx.Err() != nil {
			return fmt.Errorf("%d locks have not ended, and %d of at least %d changes were delivered, %v after the load",
				n, st.receiver.count(), st.bookingChanges.Load(), settleTimeout)
		}
	}
}

// check checks the invariants when all processes have stopped.
func (st *soak) check(ctx context.Context) error {
	st.stopProcesses()
	if err := st.env.check(ctx, expectation{
		seats: st.keptSeats.Load(), grants: st.kept.Load(), unknown: st.failedSeats.Load(), counters: true, locks: true,
	}); err != nil {
		return err
	}
	if err := st.env.reconcile(ctx); err != nil {
		return err
	}
	accepted, err := st.env.DB.Collection("payments").CountDocuments(ctx, mongodb.Is("status", string(holdfast.PaymentAccepted)))
	if err == nil && (accepted < st.kept.Load() || accepted > st.kept.Load()+st.failed.Load()) {
		err = fmt.Errorf("%d payments are ACCEPTED, and %d locks are sold; %d requests failed", accepted, st.kept.Load(), st.failed.Load())
	}
	return err
}

// stopProcesses stops all processes but the database. It may be called again.
func (st *soak) stopProcesses() {
	for _, l := range st.streams {
		_ = l.Close() // it only reads
	}
	if st.proxy != nil {
		st.proxy.Stop()
	}
	for _, p := range append(st.apis, st.worker) {
		if p != nil {
			p.Stop()
		}
	}
	st.streams, st.proxy, st.apis, st.worker = nil, nil, nil, nil
}

// stop ends everything that was started.
func (st *soak) stop(ctx context.Context) (err error) {
	st.stopProcesses()
	if st.receiver != nil {
		err = st.receiver.Shutdown()
	}
	if st.env != nil {
		err = errors.Join(err, st.env.drop(ctx))
	}
	return err
}
