package pipeline

import (
	"sync"

	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// maxRemembered bounds the number of cached events. An event that is not cached costs a read.
const maxRemembered = 10_000

// maxRememberedSeats bounds the seats of all cached occupancies, because each of them keeps its hall in memory, and the
// cached locks.
const maxRememberedSeats = 1_000_000

// memory is a cache of events, as the last commit or read of this process left them. An entry may be out of date: a
// commit that relies on it then fails.
type memory struct {
	off    bool
	mu     sync.Mutex
	events map[ID]remembered
	seats  int // of the occupancies, and due locks
	// contested contains the seated events that other processes write too.
	contested map[ID]bool
}

// remembered is a cached event. A seated event may come with its occupancy, which has the same revision. due has locks
// that were found due, and that no run of this process has ended since.
type remembered struct {
	inventory.Event

	seats *seating.Occupancy
	due   []inventory.Lock
}

// recall returns the cached event, or nothing if it must be read.
// An occupancy has one owner: recall removes it from the cache, and keep puts it back. In the meantime other runs
// read the map from the database.
func (m *memory) recall(id ID) store.Known {
	if m.off || id.IsZero() {
		return store.Known{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.events[id]
	if !ok {
		return store.Known{}
	}
	if r.seats != nil {
		m.set(id, remembered{Event: r.Event, due: r.due})
	}
	return store.Known{Event: &r.Event, Seats: r.seats, Due: r.due}
}

// keep caches an event, with its occupancy and due locks if they are given. The caller must not use the occupancy after
// that. It leaves out the event's metadata, of which there may be 41 KB: only Change needs it, and that never decides on a
// cached event.
func (m *memory) keep(e inventory.Event, seats *seating.Occupancy, due []inventory.Lock) {
	if m.off {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events == nil || len(m.events) >= maxRemembered {
		m.events, m.seats = make(map[ID]remembered), 0
	}
	e.Metadata = nil
	r := remembered{e, seats, due}
	if size := r.size(); size > 0 && m.seats+size > maxRememberedSeats {
		m.dropAllButEvents()
	}
	m.set(e.ID, r)
}

// dropAllButEvents drops all occupancies and locks. Each of them then costs a read.
func (m *memory) dropAllButEvents() {
	for id, r := range m.events {
		if r.size() > 0 {
			m.set(id, remembered{Event: r.Event})
		}
	}
}

func (m *memory) forget(id ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seats -= m.events[id].size()
	delete(m.events, id)
}

// contend notes whether other processes write a seated event too.
func (m *memory) contend(id ID, do bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !do:
		delete(m.contested, id)
	case m.off:
	case m.contested == nil || len(m.contested) >= maxRemembered:
		m.contested = map[ID]bool{id: true}
	default:
		m.contested[id] = true
	}
}

// isContested reports whether other processes wrote the event lately.
func (m *memory) isContested(id ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.contested[id]
}

// sells reports whether, by the cache, an event has available seats, and other processes do not write it.
func (m *memory) sells(id ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.events[id]
	return !m.contested[id] && (!known || r.AvailableSeats > 0 && r.List.Waiting == 0)
}

// revision returns the revision of the cached event; known is false if the event is not cached.
func (m *memory) revision(id ID) (revision int64, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.events[id]
	return r.Revision, known
}

// set replaces an entry.
func (m *memory) set(id ID, r remembered) {
	m.seats += r.size() - m.events[id].size()
	m.events[id] = r
}

func (r remembered) size() (n int) {
	if r.seats != nil {
		n = r.seats.Hall().NumberedSeats()
	}
	for i := range r.due {
		n += 2 + len(r.due[i].SeatIDs) + 8*len(r.due[i].Metadata) // a lock takes more memory than a seat of a hall
	}
	return n
}
