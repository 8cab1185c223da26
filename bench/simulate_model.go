package main

import (
	"math/rand/v2"
)

// What the queue of a process does; see internal/groupcommit and internal/mongodb.
const (
	simMaxBatch     = 500
	simLanes        = 2
	simLongLine     = 32
	simMaxYields    = 16
	simYieldCPU     = 0.3e-6 // seconds: a turn of the scheduler
	simYieldBatches = 4
	simMaxYield     = 30e-3
	simFirstRetry   = 1e-3
	simMaxRetry     = 2e-3
	startSpread     = 20e-3 // seconds, in which the clients begin
	simCommitShare  = 0.25  // of a transaction: the last of its four or five commands, the commit
)

// simDeployment is what is simulated.
type simDeployment struct {
	clients int
	http    bool
	engines int // processes that sell
	events  int
	// byEvent: an event's requests go to one process. Otherwise a client stays with one.
	byEvent bool

	// shared: all components are on the cores of one machine. Otherwise each has its own.
	shared          bool
	cores           int     // of the shared machine, or of the load generator's
	engineCores     int     // of each process's machine
	mongodCores     int     // of the database's
	roundTrip       float64 // seconds, between two machines
	extraRoundTrips float64 // of a commit, to the other members of the replica set

	warmUpSeconds, seconds float64
}

// prediction is the outcome of a simulation.
type prediction struct {
	perSecond, p50, p99  float64 // milliseconds
	locksPerCommit       float64
	engineUse, mongodUse float64 // of the cores, 0 to 1
	conflicts            float64 // failed attempts of a transaction
}

// simulation runs a deployment.
type simulation struct {
	*timeline
	simDeployment
	parameters
	random     *rand.Rand
	perRequest httpCost

	mongod, generator *process
	engines           []*simEngine
	held              map[int]bool // events that are in a transaction
	revisions         map[int]int

	counting           bool
	answered           int
	latencies          []float64
	commits, committed int
	attempts, failed   int
}

// simEngine is a process that sells, with its queue.
type simEngine struct {
	*simulation
	cpu     *process
	beside  *process // what the program does while it waits for MongoDB, such as the collection of garbage
	lines   map[int]*simLine
	ready   []*simLine
	waiting int
	lanes   int
}

// simLine has the requests for an event.
type simLine struct {
	event    int
	waiting  []*simRequest
	revision int
	yields   int
	took     float64
}

type simRequest struct {
	client  int
	began   float64
	answers func()
}

// ms is a millisecond in seconds.
const ms = 1e-3

// simulate predicts what clients without pauses get from a deployment. The same seed gives the same prediction.
func simulate(d simDeployment, p parameters, seed uint64) prediction {
	t := &timeline{}
	s := &simulation{
		timeline: t, simDeployment: d, parameters: p, random: rand.New(rand.NewPCG(seed, 1)),
		held: map[int]bool{}, revisions: map[int]int{}, perRequest: httpCostOf(p.HTTP, float64(d.clients)/float64(d.engines)),
	}
	const unlimited = 1 << 20 // threads: one for each connection
	var machines []*machine
	machineOf := func(cores int) *machine {
		if d.shared && len(machines) > 0 {
			return machines[0]
		}
		if d.shared {
			cores = d.cores
		}
		machines = append(machines, newMachine(t, cores, p.Slowdown))
		return machines[len(machines)-1]
	}
	s.mongod = machineOf(d.mongodCores).process(unlimited)
	for range d.engines {
		cores := d.engineCores
		if d.shared {
			cores = d.cores
		}
		m := machineOf(d.engineCores)
		s.engines = append(s.engines, &simEngine{simulation: s, cpu: m.process(cores), beside: m.process(1), lines: map[int]*simLine{}})
	}
	if d.http {
		s.generator = machineOf(d.cores).process(d.cores)
	}
	for c := range d.clients {
		s.after(s.random.Float64()*startSpread, func() { s.request(c) })
	}
	t.run(d.warmUpSeconds)
	s.counting = true
	engineBefore, mongodBefore := s.engineUsed(), s.mongod.used
	t.run(d.warmUpSeconds + d.seconds)
	return s.outcome(s.engineUsed()-engineBefore, s.mongod.used-mongodBefore)
}

func (s *simulation) engineUsed() (used float64) {
	for _, e := range s.engines {
		used += e.cpu.used + e.beside.used
	}
	return used
}

func (s *simulation) outcome(engineUsed, mongodUsed float64) prediction {
	engineCores, mongodCores := float64(s.engineCores*len(s.engines)), float64(s.mongodCores)
	if s.shared {
		engineCores, mongodCores = float64(s.cores), float64(s.cores)
	}
	return prediction{
		perSecond: float64(s.answered) / s.seconds, p50: quantileOf(s.latencies, .5) / ms, p99: quantileOf(s.latencies, .99) / ms,
		locksPerCommit: float64(s.committed) / float64(max(1, s.commits)),
		engineUse:      engineUsed / s.seconds / engineCores, mongodUse: mongodUsed / s.seconds / mongodCores,
		conflicts: float64(s.failed) / float64(max(1, s.attempts)),
	}
}

// request lets a client send its next request.
func (s *simulation) request(client int) {
	event := 0
	if s.events > 1 {
		event = s.random.IntN(s.events)
	}
	to := s.engines[client%len(s.engines)]
	if s.byEvent {
		to = s.engines[event%len(s.engines)]
	}
	r := &simRequest{client: client, began: s.now}
	if !s.http {
		r.answers = func() { s.answer(r) }
		to.enqueue(event, r)
		return
	}
	half, network := ms/2, s.roundTrip/2 //nolint:mnd // there and back
	r.answers = func() {
		to.cpu.do(s.perRequest.API*half, func() {
			s.after(network, func() { s.generator.do(s.perRequest.Generator*half, func() { s.answer(r) }) })
		})
	}
	s.generator.do(s.perRequest.Generator*half, func() {
		s.after(network, func() { to.cpu.do(s.perRequest.API*half, func() { to.enqueue(event, r) }) })
	})
}

func (s *simulation) answer(r *simRequest) {
	if s.counting {
		s.answered++
		s.latencies = append(s.latencies, s.now-r.began)
	}
	s.request(r.client)
}

// enqueue adds a request to its event's line.
func (e *simEngine) enqueue(event int, r *simRequest) {
	l, found := e.lines[event]
	if !found {
		l = &simLine{event: event}
		e.lines[event] = l
	}
	l.waiting = append(l.waiting, r)
	e.waiting++
	if !found {
		e.offer(l)
	}
}

// offer makes a line ready for a lane, or gives it a committer of its own.
func (e *simEngine) offer(l *simLine) {
	delay := 0.0
	if l.yields > 0 {
		base := min(l.took, simMaxYield)
		delay = base/2 + e.random.Float64()*base //nolint:mnd // see pace.delay
	}
	if delay > 0 || len(l.waiting) >= simLongLine {
		e.after(delay, func() {
			e.await(func() int { return len(l.waiting) }, func() {
				e.commit([]*simLine{l}, [][]*simRequest{e.takeUp(l, simMaxBatch)}, func() {})
			})
		})
		return
	}
	e.ready = append(e.ready, l)
	e.openLane()
}

func (e *simEngine) openLane() {
	if len(e.ready) > 0 && e.lanes < simLanes {
		e.lanes++
		e.runLane()
	}
}

// runLane commits what is ready, again and again.
func (e *simEngine) runLane() {
	e.await(func() int { return e.waiting }, func() {
		var lines []*simLine
		var batches [][]*simRequest
		for room := simMaxBatch; room > 0 && len(e.ready) > 0; {
			l := e.ready[0]
			e.ready = e.ready[1:]
			if len(l.waiting) >= simLongLine {
				e.offer(l)
				continue
			}
			batch := e.takeUp(l, room)
			room -= len(batch)
			lines, batches = append(lines, l), append(batches, batch)
		}
		if len(lines) == 0 {
			e.lanes--
			return
		}
		e.openLane()
		e.commit(lines, batches, e.runLane)
	})
}

// await calls then when no more requests arrive before a turn of the process's scheduler.
func (e *simEngine) await(waiting func() int, then func()) {
	before, turns := -1, 0
	var turn func()
	turn = func() {
		now := waiting()
		if turns++; now == before || now >= simMaxBatch || turns > simMaxYields {
			then()
			return
		}
		before = now
		e.cpu.do(simYieldCPU, turn)
	}
	e.cpu.do(simYieldCPU, turn)
}

func (e *simEngine) takeUp(l *simLine, limit int) []*simRequest {
	n := min(limit, len(l.waiting))
	batch := l.waiting[:n:n]
	l.waiting = l.waiting[n:]
	e.waiting -= n
	return batch
}

// commit carries batches out in one transaction, again and again while their events are in another one.
func (e *simEngine) commit(lines []*simLine, batches [][]*simRequest, then func()) {
	locks := 0
	for _, b := range batches {
		locks += len(b)
	}
	measured := e.OneEvent
	if len(lines) > 1 {
		measured = e.SeveralEvents
	}
	cost := costOf(measured, float64(locks))
	retry := simFirstRetry
	var attempt func()
	attempt = func() {
		if e.counting {
			e.attempts++
		}
		if e.holdAll(lines) {
			began := e.now
			e.transact(cost, func() { e.committedAll(lines, batches, locks, e.now-began, then) })
			return
		}
		if e.counting {
			e.failed++
		}
		e.cpu.do(e.Conflict.ProcessCPU*ms, func() {
			e.database(e.Conflict.Total-e.Conflict.ProcessCPU, e.Conflict.MongodCPU, 1, func() {
				pause := retry/2 + e.random.Float64()*retry //nolint:mnd // see runTx
				retry = min(2*retry, simMaxRetry)
				e.after(pause, attempt)
			})
		})
	}
	attempt()
}

// holdAll begins a transaction of events; false if one of them is in another.
func (s *simulation) holdAll(lines []*simLine) bool {
	for _, l := range lines {
		if s.held[l.event] {
			return false
		}
	}
	for _, l := range lines {
		s.held[l.event] = true
	}
	return true
}

// transact runs a transaction: the process and the database by turns, a command at a time.
func (e *simEngine) transact(cost commitCost, then func()) {
	commands := max(1, int(cost.Commands+.5)) //nolint:mnd // rounded
	mongodCPU := cost.MongodCPU
	if e.http {
		mongodCPU += e.perRequest.Mongod
	}
	serial := min(cost.Total-cost.Database, cost.ProcessCPU)
	e.beside.do((cost.ProcessCPU-serial)*ms, func() {})
	share := 1 / float64(commands)
	left := commands
	var step func()
	step = func() {
		if left == 0 {
			e.after(e.extraRoundTrips*e.roundTrip, then)
			return
		}
		left--
		e.cpu.do(serial*share*ms, func() {
			e.database(cost.Database*share, mongodCPU*share, 1, step)
		})
	}
	step()
}

// database sends commands to MongoDB: so many milliseconds pass on an idle machine, of which it needs so much CPU time.
// What it needs beyond that is done by other threads, while the answer is under way.
func (s *simulation) database(total, cpu float64, commands int, then func()) {
	onPath := min(total, cpu)
	s.after(s.roundTrip*float64(commands), func() {
		s.mongod.do(onPath*ms, func() { s.after(max(0, total-cpu)*ms, then) })
		if cpu > onPath {
			s.mongod.do((cpu-onPath)*ms, func() {})
		}
	})
}

// committedAll answers the requests of a transaction, and goes on.
func (e *simEngine) committedAll(lines []*simLine, batches [][]*simRequest, locks int, took float64, then func()) {
	if e.counting {
		e.commits++
		e.committed += locks
	}
	for i, l := range lines {
		delete(e.held, l.event)
		e.revisions[l.event]++
		switch revision := e.revisions[l.event]; {
		case l.revision != 0 && revision > l.revision+1:
			l.yields = simYieldBatches
		case l.yields > 0:
			l.yields--
		}
		l.revision, l.took = e.revisions[l.event], took*(1-simCommitShare)
		for _, r := range batches[i] {
			r.answers()
		}
		if len(l.waiting) > 0 {
			e.offer(l)
		} else {
			// The next request makes a new line, as of an event that the process has not seen.
			delete(e.lines, l.event)
		}
	}
	then()
}
