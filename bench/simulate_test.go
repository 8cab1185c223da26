package main

import (
	"math"
	"testing"
)

// simpleParameters are costs that are easy to reckon with.
func simpleParameters() parameters {
	return parameters{
		Cores: 2,
		OneEvent: []commitCost{
			{Locks: 1, Total: 1, Database: .8, ProcessCPU: .2, MongodCPU: .4, Commands: 4},
			{Locks: 500, Total: 11, Database: 8, ProcessCPU: 5, MongodCPU: 6, Commands: 4},
		},
		SeveralEvents: []commitCost{
			{Locks: 2, Total: 1.2, Database: .9, ProcessCPU: .3, MongodCPU: .5, Commands: 5},
			{Locks: 400, Total: 21, Database: 15, ProcessCPU: 8, MongodCPU: 12, Commands: 5},
		},
		HTTP:     []httpCost{{Clients: 1, API: .05, Generator: .02, Mongod: .1}},
		Conflict: conflictCost{Total: .5, ProcessCPU: .1, MongodCPU: .2},
	}
}

func sharedMachine(d simDeployment) simDeployment {
	d.shared, d.cores, d.warmUpSeconds, d.seconds = true, 2, .2, 1
	d.engines, d.events = max(1, d.engines), max(1, d.events)
	return d
}

func isNear(got, want, within float64) bool { return math.Abs(got/want-1) <= within }

// One caller alone gets a transaction after the other.
func TestSimulate_OneCaller(t *testing.T) {
	got := simulate(sharedMachine(simDeployment{clients: 1}), simpleParameters(), 1)
	if !isNear(got.perSecond, 1000, .02) || got.locksPerCommit != 1 || got.conflicts != 0 {
		t.Errorf("got %+v, want 1,000 a second", got)
	}
	if !isNear(got.p50, 1, .02) {
		t.Errorf("p50 %v ms, want 1", got.p50)
	}
}

// All callers that wait share the next transaction.
func TestSimulate_CallersShareATransaction(t *testing.T) {
	p := simpleParameters()
	for _, clients := range []int{8, 64, 256} {
		got := simulate(sharedMachine(simDeployment{clients: clients}), p, 1)
		if !isNear(got.locksPerCommit, float64(clients), .02) {
			t.Errorf("%d callers: %v locks in a transaction", clients, got.locksPerCommit)
		}
		if want := float64(clients) / costOf(p.OneEvent, float64(clients)).Total / ms; !isNear(got.perSecond, want, .15) {
			t.Errorf("%d callers: %v a second, want about %v", clients, got.perSecond, want)
		}
	}
}

// No rate is above what the cores can do.
func TestSimulate_CoresAreTheLimit(t *testing.T) {
	p := simpleParameters()
	p.HTTP[0].API = 1
	got := simulate(sharedMachine(simDeployment{clients: 256, http: true}), p, 1)
	cost := costOf(p.OneEvent, got.locksPerCommit)
	perLock := p.HTTP[0].API + p.HTTP[0].Generator + (cost.ProcessCPU+cost.MongodCPU+p.HTTP[0].Mongod)/got.locksPerCommit
	if limit := 2 / perLock / ms; got.perSecond > 1.02*limit || got.perSecond < .9*limit {
		t.Errorf("%v a second, want a little less than %v", got.perSecond, limit)
	}
}

func TestSimulate_SameSeedSamePrediction(t *testing.T) {
	d := sharedMachine(simDeployment{clients: 64, http: true, engines: 3})
	p := simpleParameters()
	if a, b := simulate(d, p, 7), simulate(d, p, 7); a != b {
		t.Errorf("got %+v, then %+v", a, b)
	}
}

// Processes on one event disturb each other, unless its requests go to one of them.
func TestSimulate_ProcessesOnOneEvent(t *testing.T) {
	p := simpleParameters()
	one := simulate(sharedMachine(simDeployment{clients: 96}), p, 1)
	three := simulate(sharedMachine(simDeployment{clients: 96, engines: 3}), p, 1)
	routed := simulate(sharedMachine(simDeployment{clients: 96, engines: 3, byEvent: true}), p, 1)
	if three.conflicts == 0 || three.perSecond >= one.perSecond {
		t.Errorf("three processes get %v a second with %v conflicts, one gets %v", three.perSecond, three.conflicts, one.perSecond)
	}
	if routed.conflicts != 0 || !isNear(routed.perSecond, one.perSecond, .02) {
		t.Errorf("three routed processes get %+v, one gets %v", routed, one.perSecond)
	}
}

// Events share transactions, at most one of each event at a time.
func TestSimulate_EventsShareTransactions(t *testing.T) {
	got := simulate(sharedMachine(simDeployment{clients: 256, events: 1000}), simpleParameters(), 1)
	if got.locksPerCommit < 50 || got.locksPerCommit > 256 || got.conflicts != 0 {
		t.Errorf("got %+v", got)
	}
}

// A core is shared by turns: a short piece of work does not wait for the end of a long one.
func TestMachine_SharesCores(t *testing.T) {
	line := &timeline{}
	m := newMachine(line, 1, 1)
	long, short := m.process(1), m.process(1)
	var shortEnd, longEnd float64
	long.do(100*ms, func() { longEnd = line.now })
	line.after(10*ms, func() { short.do(ms, func() { shortEnd = line.now }) })
	line.run(1)
	if shortEnd > 13*ms || !isNear(longEnd, 101*ms, .001) || !isNear(long.used, 100*ms, .001) {
		t.Errorf("the short work ended at %v, the long at %v; %v used", shortEnd, longEnd, long.used)
	}
}

// A process has no more threads than it may have.
func TestProcess_Threads(t *testing.T) {
	line := &timeline{}
	p := newMachine(line, 4, 1).process(2)
	var ends []float64
	for range 4 {
		p.do(10*ms, func() { ends = append(ends, line.now) })
	}
	line.run(1)
	if len(ends) != 4 || !isNear(ends[1], 10*ms, .001) || !isNear(ends[3], 20*ms, .001) {
		t.Errorf("ended at %v", ends)
	}
}

// Work takes longer while no core is idle.
func TestMachine_Slowdown(t *testing.T) {
	line := &timeline{}
	p := newMachine(line, 2, 1.5).process(2)
	var ends []float64
	p.do(10*ms, func() { ends = append(ends, line.now) })
	line.run(1)
	for range 2 {
		p.do(10*ms, func() { ends = append(ends, line.now-1) })
	}
	line.run(2)
	if len(ends) != 3 || !isNear(ends[0], 10*ms, .001) || !isNear(ends[2], 15*ms, .05) {
		t.Errorf("ended at %v", ends)
	}
}

func TestHTTPCostOf(t *testing.T) {
	measured := []httpCost{{Clients: 2, API: 3}, {Clients: 4, API: 2}, {Clients: 8, API: 1}}
	for clients, want := range map[float64]float64{1: 3, 2: 3, 3: 2.5, 4: 2, 6: 1.5, 8: 1, 100: 1} {
		if got := httpCostOf(measured, clients); !isNear(got.API, want, 1e-9) {
			t.Errorf("%v clients: %+v, want %v", clients, got, want)
		}
	}
}

func TestCostOf(t *testing.T) {
	measured := []commitCost{{Locks: 1, Total: 1}, {Locks: 11, Total: 2}, {Locks: 111, Total: 12}}
	for locks, want := range map[float64]float64{1: 1, 6: 1.5, 11: 2, 61: 7, 111: 12, 211: 22} {
		if got := costOf(measured, locks); !isNear(got.Total, want, 1e-9) || got.Locks != locks {
			t.Errorf("%v locks: %+v, want %v", locks, got, want)
		}
	}
	if got := costOf(measured[:1], 5); got.Total != 1 {
		t.Errorf("of one size: %+v", got)
	}
}

// The parameters that are stored can be read, and are those of a machine.
func TestReadParameters_Stored(t *testing.T) {
	p, err := readParameters("testdata/simulation/" + parametersFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, costs := range [][]commitCost{p.OneEvent, p.SeveralEvents} {
		for i, c := range costs {
			if c.Total < c.Database || c.Database <= 0 || c.MongodCPU <= 0 || i > 0 && c.Locks <= costs[i-1].Locks {
				t.Errorf("cost %d: %+v", i, c)
			}
		}
	}
}

func TestMeanOf(t *testing.T) {
	a, b := simpleParameters(), simpleParameters()
	b.OneEvent[1].Locks, b.HTTP[0].API, b.Slowdown, b.CPU = 600, .07, 2, "other"
	a.CPU = "one"
	got, err := meanOf([]parameters{a, b})
	if err != nil {
		t.Fatal(err)
	}
	if got.OneEvent[1].Locks != 550 || !isNear(got.HTTP[0].API, .06, 1e-9) || got.Slowdown != 1 || got.CPU != "one" ||
		got.OneEvent[0] != a.OneEvent[0] || got.Cores != 2 {
		t.Errorf("got %+v", got)
	}
}
