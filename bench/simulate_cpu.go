package main

import "container/heap"

// A simulation is discrete: nothing happens between two events. Times are in seconds.

// moment is an event of a simulation.
type moment struct {
	at     float64
	number int // of moments at the same time, the one that was planned first comes first
	do     func()
}

// moments are a heap, by time.
type moments []moment

func (m moments) Len() int { return len(m) }
func (m moments) Less(i, j int) bool {
	return m[i].at < m[j].at || m[i].at == m[j].at && m[i].number < m[j].number
}
func (m moments) Swap(i, j int) { m[i], m[j] = m[j], m[i] }
func (m *moments) Push(x any)   { *m = append(*m, x.(moment)) }
func (m *moments) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	(*m)[last] = moment{}
	*m = (*m)[:last]
	return x
}

// timeline runs planned moments in order.
type timeline struct {
	now     float64
	planned moments
	count   int
}

// after plans do for so many seconds from now.
func (t *timeline) after(seconds float64, do func()) {
	t.count++
	heap.Push(&t.planned, moment{t.now + seconds, t.count, do})
}

// run runs until a time.
func (t *timeline) run(until float64) {
	for len(t.planned) > 0 && t.planned[0].at <= until {
		m := heap.Pop(&t.planned).(moment)
		t.now = m.at
		m.do()
	}
	t.now = until
}

// quantum is how long a thread runs while others wait for its core.
const quantum = 250e-6

// machine is some cores, which the threads of its processes share by turns.
type machine struct {
	*timeline
	idle  int       // cores
	ready []*thread // those that wait for a core
	// slowdown is how much longer work takes if it has no idle core beside it: two cores may be one, with two threads.
	slowdown float64
}

func newMachine(t *timeline, cores int, slowdown float64) *machine {
	return &machine{timeline: t, idle: cores, slowdown: max(1, slowdown)}
}

// process is a program. At most so many of its threads run at a time; its work waits in line for them.
type process struct {
	on      *machine
	threads int // that may still start
	line    []work
	used    float64 // core seconds
}

// work is something to do on a core.
type work struct {
	seconds float64
	done    func()
}

// thread of a process, with the work that it does.
type thread struct {
	of *process
	work
}

func (m *machine) process(threads int) *process {
	return &process{on: m, threads: threads}
}

// do adds work to the process.
func (p *process) do(seconds float64, done func()) {
	p.line = append(p.line, work{max(0, seconds), done})
	if p.threads > 0 {
		p.threads--
		p.next(&thread{of: p})
	}
}

// next gives a thread the next work of its process, or lets it end.
func (p *process) next(t *thread) {
	if len(p.line) == 0 {
		p.threads++
		return
	}
	t.work = p.line[0]
	p.line[0] = work{}
	p.line = p.line[1:]
	p.on.ready = append(p.on.ready, t)
	p.on.dispatch()
}

// dispatch gives idle cores to the threads that wait.
func (m *machine) dispatch() {
	for m.idle > 0 && len(m.ready) > 0 {
		t := m.ready[0]
		m.ready[0] = nil
		m.ready = m.ready[1:]
		m.idle--
		slice, takes := min(quantum, t.seconds), 1.0
		if m.idle == 0 {
			takes = m.slowdown
		}
		m.after(slice*takes, func() {
			m.idle++
			t.of.used += slice * takes
			if t.seconds -= slice; t.seconds > 0 {
				m.ready = append(m.ready, t)
			} else {
				t.done()
				t.of.next(t)
			}
			m.dispatch()
		})
	}
}
