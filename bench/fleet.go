package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/devserver"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// fleetSettings are the flags of the scenario fleet.
type fleetSettings struct {
	model     onSale // in the time of a real sale
	scale     float64
	processes string // of the API, such as 1,3
}

const (
	fleetMembers  = 3 // of the replica set
	fleetWorkers  = 2
	fleetShipped  = 3 // addresses that the shipped configuration of HAProxy has
	fleetMost     = 20
	fleetRowSeats = 40 // seats in a row of a hall, at most 64
)

// The defaults of the scenario: four sales take less than four minutes.
const (
	fleetScale     = 60
	fleetCustomers = 2000
	fleetLength    = 15 * time.Minute
)

// fleetIdleTime is how long is measured what the processes use without customers.
const fleetIdleTime = 3 * time.Second

// register adds the flags. Their names begin with fleet.
func (f *fleetSettings) register(flags *flag.FlagSet) {
	f.model = defaultOnSale()
	f.model.Length, f.model.Customers = fleetLength, fleetCustomers
	flags.StringVar(&f.processes, "fleet-processes", "1,3", "fleet: numbers of API processes, comma-separated")
	flags.Float64Var(&f.scale, "fleet-scale", fleetScale, "fleet: how much faster than a real sale; at 60 a minute takes a second")
	flags.IntVar(&f.model.Customers, "fleet-customers", f.model.Customers, "fleet: customers")
	flags.IntVar(&f.model.Events, "fleet-events", f.model.Events, "fleet: events, which the customers choose evenly")
	flags.DurationVar(&f.model.Length, "fleet-length", f.model.Length, "fleet: time of the sale in which customers come")
	flags.Float64Var(&f.model.Early, "fleet-early", f.model.Early, "fleet: share of customers who wait for the opening")
	flags.Float64Var(&f.model.PerTicket, "fleet-demand", f.model.PerTicket, "fleet: seats that customers want, for each that there is")
	flags.Float64Var(&f.model.GiveUp, "fleet-give-up", f.model.GiveUp, "fleet: probability that a refusal is the customer's last")
	flags.Float64Var(&f.model.Abandon, "fleet-abandon", f.model.Abandon, "fleet: share of locks that are never paid for")
	flags.DurationVar(&f.model.Payment, "fleet-payment", f.model.Payment, "fleet: median time from the lock to the payment")
	flags.Uint64Var(&f.model.Seed, "fleet-seed", f.model.Seed, "fleet: seed of the model")
}

// counts are the numbers of API processes.
func (f *fleetSettings) counts() (counts []int, err error) {
	for text := range strings.SplitSeq(f.processes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > fleetMost {
			return nil, fmt.Errorf("-fleet-processes must be numbers from 1 to %d", fleetMost)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

func (f *fleetSettings) check() error {
	_, err := f.counts()
	m, fast := f.model, f.model.faster(f.scale)
	switch {
	case err != nil:
		return err
	case m.Customers < 1, m.Events < 1, m.Length <= 0, m.PerTicket <= 0, m.Payment <= 0:
		return errors.New("-fleet-customers, -fleet-events, -fleet-length, -fleet-demand and -fleet-payment must be above 0")
	case m.Early < 0, m.Early > 1, m.Abandon < 0, m.Abandon > 1, m.GiveUp <= 0, m.GiveUp > 1:
		return errors.New("-fleet-early, -fleet-abandon and -fleet-give-up are probabilities; the last one must be above 0")
	case f.scale <= 0, fast.LockTTL < time.Second:
		return fmt.Errorf("-fleet-scale must be above 0, and at most %v: a lock lasts at least a second", m.LockTTL.Seconds())
	}
	return nil
}

// fleet measures on-sales of a whole deployment: HAProxy, API processes, two workers and a replica set of three.
func fleet(s settings) (rows []*result) {
	counts, _ := s.fleet.counts() // check has proved them
	for _, seated := range []bool{false, true} {
		for _, n := range counts {
			measure := func(ctx context.Context) (measurement, error) { return measureFleet(ctx, s, n, seated) }
			rows = append(rows, &result{Variant: fmt.Sprintf("%d API", n), Load: kind(seated), measure: measure})
		}
	}
	return rows
}

// kind names the events of a sale.
func kind(seated bool) string {
	if seated {
		return "seated"
	}
	return "unseated"
}

// deployment is everything that a sale needs.
type deployment struct {
	set      *devserver.ReplicaSet
	env      *env
	apis     []*server
	workers  []*server
	proxy    *server
	events   []holdfast.ID
	capacity int           // seats of each event
	users    []holdfast.ID // by the customer's number
}

// measureFleet starts a deployment, lets the customers of the model buy, and checks the invariants when no lock is open any more.
func measureFleet(ctx context.Context, s settings, apis int, seated bool) (m measurement, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	model := s.fleet.model.faster(s.fleet.scale)
	d, err := deploy(ctx, s, model, apis, seated)
	defer d.stop()
	if err != nil {
		return m, err
	}
	probe, err := newProbe(ctx, d)
	if err != nil {
		return m, err
	}
	defer probe.close()
	idle, err := probe.read(ctx)
	if err != nil {
		return m, err
	}
	sleep(ctx, fleetIdleTime)
	before, err := probe.read(ctx)
	if err != nil {
		return m, err
	}
	sale := newSale(d, model, seated)
	err = sale.run(ctx, probe.watchConnections)
	if err == nil {
		err = d.awaitNoOpenLock(ctx, model.LockTTL)
	}
	if err != nil {
		return m, err
	}
	after, err := probe.read(ctx)
	if err != nil {
		return m, err
	}
	report := sale.report()
	report.APIs, report.Seated, report.Scale = apis, seated, s.fleet.scale
	if err := report.addProbes(ctx, [3]reading{idle, before, after}, probe); err != nil {
		return m, err
	}
	d.stopAPIs() // they complete the requests in flight first
	if err := d.check(ctx, sale); err != nil {
		return m, err
	}
	// A run that is interrupted later keeps this report.
	file := filepath.Join(s.outDir, fmt.Sprintf("fleet-%s-%d.md", kind(seated), apis))
	return report.measurement(sale), os.WriteFile(file, []byte(report.markdown()), 0o600)
}

// deploy starts all processes, and creates events and customers. What it returns has to be stopped, also after an error.
func deploy(ctx context.Context, s settings, model onSale, apis int, seated bool) (d *deployment, err error) {
	d = &deployment{}
	if d.set, err = devserver.StartReplicaSet(ctx, devserver.MongodOptions{Progress: os.Stderr, CacheGB: cacheGB}, fleetMembers); err != nil {
		return d, err
	}
	s.mongoURI = d.set.URI
	if d.env, err = newEnv(ctx, s.mongoURI); err != nil {
		return d, err
	}
	if err := d.create(ctx, model, seated); err != nil {
		return d, err
	}
	for range apis {
		api, err := startServer(ctx, engineName, serverConfig{binDir: s.binDir, mongoURI: s.mongoURI, database: d.env.DB.Name()})
		if err != nil {
			return d, err
		}
		d.apis = append(d.apis, api)
	}
	for i := range fleetWorkers {
		interval := time.Duration(float64(time.Minute) / s.fleet.scale).String()
		worker, err := startWorker(ctx, s, d.env.DB.Name(), "JOB_LEASES=mongo", fmt.Sprint("POD_NAME=worker-", i+1),
			"LOCK_EXPIRY_INTERVAL="+interval, "BOOKING_EXPIRY_INTERVAL="+interval)
		if err != nil {
			return d, err
		}
		d.workers = append(d.workers, worker)
	}
	d.proxy, err = startHAProxy(ctx, d.apis)
	return d, err
}

// create creates the events, in halls if they are seated, and a user for each customer.
func (d *deployment) create(ctx context.Context, model onSale, seated bool) error {
	rows := (model.seatsPerEvent() + fleetRowSeats - 1) / fleetRowSeats
	d.capacity = rows * fleetRowSeats
	open := func() (holdfast.ID, error) { return d.env.createEvent(ctx, int64(d.capacity)) }
	if seated {
		plan, _, err := d.env.Plans.Create(ctx, fleetHall(rows), holdfast.CreationKey{})
		if err != nil {
			return err
		}
		open = func() (holdfast.ID, error) { return d.env.createHall(ctx, plan.ID) }
	}
	for range model.Events {
		event, err := open()
		if err != nil {
			return err
		}
		d.events = append(d.events, event)
	}
	users := make([]any, model.Customers)
	for i := range users {
		user := ids.New()
		d.users = append(d.users, user)
		users[i] = bson.D{{Key: "_id", Value: user}, {Key: "name", Value: fmt.Sprint("Customer ", i)},
			{Key: "email", Value: fmt.Sprintf("customer-%d@example.com", i)}, {Key: "createdAt", Value: clock.System().UTC()}}
	}
	_, err := d.env.DB.Database.Collection("users").InsertMany(ctx, users)
	return err
}

// fleetHall is a hall with rows of fleetRowSeats.
func fleetHall(rows int) holdfast.SeatingPlan {
	section := holdfast.Section{Key: "s", Name: "Stalls", Category: "seats"}
	for r := range rows {
		row := holdfast.Row{Key: fmt.Sprint(r)}
		for i := range fleetRowSeats {
			row.Seats = append(row.Seats, &holdfast.Seat{ID: seatID(r, i)})
		}
		section.Rows = append(section.Rows, row)
	}
	return holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "seats", Name: "Seats"}}, Sections: []holdfast.Section{section},
	}
}

// startHAProxy starts HAProxy as it is shipped, with more lines of servers if there are more processes than it has lines.
func startHAProxy(ctx context.Context, apis []*server) (proxy *server, err error) {
	port, err := devserver.ReservePort()
	if err != nil {
		return nil, err
	}
	address := port.Addr()
	var addresses [fleetShipped]string
	for i := range addresses {
		addresses[i] = apis[i%len(apis)].address
	}
	command, err := devserver.HAProxyCommand(ctx, "deploy", address, addresses, os.Stderr)
	if err == nil && len(apis) > fleetShipped {
		err = addServers(&command, apis[fleetShipped:])
	}
	if err = errors.Join(err, port.Close()); err != nil {
		return nil, err
	}
	p, err := devserver.Start(command)
	if err != nil {
		return nil, err
	}
	if err := waitFor(ctx, p, address, "/api/events"); err != nil {
		p.Stop()
		return nil, err
	}
	return &server{Process: p, address: address}, nil
}

// addServers puts a copy of the configuration, in which each list of servers has more lines, in place of the shipped one.
func addServers(c *devserver.Command, more []*server) error {
	file := slices.Index(c.Args, "-f") + 1
	shipped, err := os.ReadFile(c.Args[file])
	if err != nil {
		return err
	}
	var config strings.Builder
	for line := range strings.Lines(string(shipped)) {
		config.WriteString(line)
		_, after, found := strings.Cut(line, `server api-3 "${API_3-127.0.0.1:8083}"`)
		for i := 0; found && i < len(more); i++ {
			fmt.Fprintf(&config, "    server api-%d %s%s", fleetShipped+1+i, more[i].address, after)
		}
	}
	if c.TempDir, err = os.MkdirTemp("", "haproxy-"); err != nil {
		return err
	}
	c.Args[file] = filepath.Join(c.TempDir, "haproxy.cfg")
	return os.WriteFile(c.Args[file], []byte(config.String()), 0o600)
}

func (d *deployment) stopAPIs() {
	for _, api := range d.apis {
		api.Stop()
	}
	d.apis = nil
}

// stop stops what was started.
func (d *deployment) stop() {
	if d.proxy != nil {
		d.proxy.Stop()
	}
	d.stopAPIs()
	for _, worker := range d.workers {
		worker.Stop()
	}
	if d.env != nil {
		_ = d.env.DB.Close(context.Background()) // nothing depends on this connection any more
	}
	if d.set != nil {
		d.set.Stop()
	}
}

// awaitNoOpenLock waits until the workers have expired what was not paid for.
func (d *deployment) awaitNoOpenLock(ctx context.Context, ttl time.Duration) error {
	const slack, interval = 30 * time.Second, 100 * time.Millisecond
	ctx, cancel := context.WithTimeoutCause(ctx, ttl+slack, errors.New("locks are still ACTIVE long after they were due"))
	defer cancel()
	for {
		open, err := d.env.DB.Database.Collection("seatlocks").CountDocuments(ctx, bson.D{{Key: "status", Value: "ACTIVE"}})
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || open == 0:
			return err
		}
		sleep(ctx, interval)
	}
}

// check compares counters, locks and maps with each other, and with what the customers were told.
func (d *deployment) check(ctx context.Context, sale *fleetSale) error {
	want := expectation{seats: sale.paidSeats, grants: sale.paid, unknown: sale.unknown, counters: true, locks: true}
	if err := d.env.check(ctx, want); err != nil {
		return err
	}
	return d.env.reconcile(ctx)
}

// fleetClient is the connections of all customers to the load balancer, fewer than it accepts from one address.
func fleetClient(address string) *fasthttp.HostClient {
	const connections = 1500
	return &fasthttp.HostClient{
		Addr: address, MaxConns: connections, MaxConnWaitTimeout: time.Minute, ReadTimeout: time.Minute, DisableHeaderNamesNormalizing: true,
	}
}
