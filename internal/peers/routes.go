package peers

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
)

const (
	// recently is how far back an owner's last commands may reach, to tell something of the present.
	recently = time.Minute
	// fewContenders is the least number of processes with about equal shares of an event that is forwarded. A
	// process with nearly all requests of an event, such as by a load balancer's routing, keeps them.
	fewContenders = 1.5
	// forwardTTL is how long an event's commands are forwarded, from the last sign that this is worth it.
	forwardTTL = 10 * time.Second
	// lastCommands is how many commands of an event its owner looks back to.
	lastCommands = 40
	// manyForwarded is how many forwarded events show that no load balancer routes by event. The commands of every event that is
	// not known are then forwarded at first.
	manyForwarded = 16
	// maxRoutes bounds the events that are known.
	maxRoutes = 10_000
)

// always makes a process forward the commands of all events. Only the linker sets it (-X), to "yes", for the storms of faults.
var always string

// routes decides which events' commands are forwarded. It is safe for concurrent use.
type routes struct {
	self int32 // this process, as a writer

	mu         sync.Mutex
	events     map[holdfast.ID]*route
	isUnrouted bool      // there were manyForwarded
	counted    time.Time // when that was found out
}

type route struct {
	until time.Time // until then its commands are forwarded

	commands *lastOnes // of an event that this process owns; nil: it owns none
}

// lastOnes are the last commands for an event: of which processes, and when. They are rings.
type lastOnes struct {
	from [lastCommands]int32
	at   [lastCommands]time.Time
	next int
}

// newest is when the last command came.
func (l *lastOnes) newest() time.Time { return l.at[(l.next+lastCommands-1)%lastCommands] }

// get returns the route of an event, and makes it if there is none. The caller holds r.mu.
func (r *routes) get(event holdfast.ID, now time.Time) *route {
	e, found := r.events[event]
	if !found {
		if len(r.events) >= maxRoutes {
			maps.DeleteFunc(r.events, func(_ holdfast.ID, e *route) bool {
				return !e.until.After(now) && (e.commands == nil || now.Sub(e.commands.newest()) > forwardTTL)
			})
		}
		if len(r.events) >= maxRoutes {
			clear(r.events) // each is noticed again
		}
		e = &route{}
		r.events[event] = e
	}
	return e
}

// contended notes a commit of this process to an event that other processes write too: writers are the processes of the event's
// last commits, this one last. It returns true if the event's commands are forwarded from now on: if other processes that can
// own events have committed since this one's last commit, and have about as many of the last commits.
func (r *routes) contended(event holdfast.ID, writers []int32, isPeer func(writer int32) bool, now time.Time) bool {
	if !slices.ContainsFunc(sinceOwn(writers, r.self), isPeer) {
		return false
	}
	equals := slices.DeleteFunc(slices.Clone(writers), func(w int32) bool { return w != r.self && !isPeer(w) })
	if groupcommit.ContendersOf(equals) < fewContenders {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.get(event, now)
	isNew := !e.until.After(now)
	e.until = now.Add(forwardTTL)
	return isNew
}

// sinceOwn are the writers between the last two commits of a process; its last commit is the last one.
func sinceOwn(writers []int32, self int32) []int32 {
	if len(writers) > 0 && writers[len(writers)-1] == self {
		writers = writers[:len(writers)-1]
	}
	for i := len(writers) - 1; i >= 0; i-- {
		if writers[i] == self {
			return writers[i+1:]
		}
	}
	return writers
}

// isForwarded reports whether the event's commands are forwarded.
func (r *routes) isForwarded(event holdfast.ID, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.counted) >= time.Second {
		r.counted, r.isUnrouted = now, r.forwarded(now) >= manyForwarded
	}
	e := r.events[event]
	if e == nil && r.isUnrouted {
		e = r.get(event, now)
		e.until = now.Add(forwardTTL)
	}
	return e != nil && e.until.After(now) || always != ""
}

// forwarded is how many events are forwarded, by this process or to it. The caller holds r.mu.
func (r *routes) forwarded(now time.Time) (n int) {
	for _, e := range r.events {
		if e.until.After(now) || e.commands != nil && now.Sub(e.commands.newest()) < forwardTTL {
			n++
		}
	}
	return n
}

// answered notes an answer of the event's owner: whether forwarding is worth it. If it is not, it ends after forwardTTL.
func (r *routes) answered(event holdfast.ID, isWorthIt bool, now time.Time) {
	if !isWorthIt {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.get(event, now).until = now.Add(forwardTTL)
}

// noteCommand notes a command for an event that this process owns, and reports whether it is worth it that others forward
// theirs: several processes have about equal shares of the last commands.
func (r *routes) noteCommand(event holdfast.ID, from int32, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.get(event, now)
	if e.commands == nil {
		e.commands = &lastOnes{}
	}
	c := e.commands
	oldest := c.at[c.next]
	c.from[c.next], c.at[c.next] = from, now
	c.next = (c.next + 1) % lastCommands
	return now.Sub(oldest) <= recently && groupcommit.ContendersOf(c.from[:]) >= fewContenders
}

// noteOwnCommand is noteCommand for a command of this process's own clients. It notes nothing of events that no other
// process forwards.
func (r *routes) noteOwnCommand(event holdfast.ID, now time.Time) {
	r.mu.Lock()
	e := r.events[event]
	isOwned := e != nil && e.commands != nil
	r.mu.Unlock()
	if isOwned {
		r.noteCommand(event, r.self, now)
	}
}
