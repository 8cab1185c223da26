package pipeline

import (
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// maxRemembered bounds the remembered events. A forgotten event costs a read.
const maxRemembered = 10_000

// maxRememberedSeats bounds the seats of the remembered occupancies: each keeps its hall in memory.
const maxRememberedSeats = 1_000_000

// memory is a cache of events, as the last commit or read of this process left them. An
// entry may be out of date: a commit that relies on it then fails.
type memory struct {
	off    bool
	mu     sync.Mutex
	events map[ID]remembered
	seats  int // of the occupancies
	// contested are the seated events that other processes write too.
	contested map[ID]bool
}

// remembered is an event. If it is seated, it may come with its occupancy, of the same revision.
type remembered struct {
	inventory.Event

	seats *seating.Occupancy
}

// recall returns the remembered event. An event that is not remembered is presumed to
// sell, which saves a read if that is true. nil: the state must be read.
//
// An occupancy has one owner: recall takes it out of the memory, and keep puts it back. Until then other
// runs read the map.
func (m *memory) recall(id ID) (*inventory.Event, *seating.Occupancy) {
	if m.off || id.IsZero() {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.events[id]
	if !ok {
		e := presumed(id)
		return &e, nil
	}
	if r.seats != nil {
		m.set(id, remembered{Event: r.Event})
	}
	return &r.Event, r.seats
}

const plenty = 1 << 40

func presumed(id ID) inventory.Event {
	return inventory.Event{
		Event:    holdfast.Event{ID: id, TotalSeats: plenty, AvailableSeats: plenty, Status: holdfast.OnSale},
		HasTotal: true, Countable: true,
	}
}

// keep remembers an event, and its occupancy if it is given. The caller must not use that any more.
func (m *memory) keep(e inventory.Event, seats *seating.Occupancy) {
	if m.off {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events == nil || len(m.events) >= maxRemembered {
		m.events, m.seats = make(map[ID]remembered), 0
	}
	if seats != nil && m.seats+sizeOf(seats) > maxRememberedSeats {
		m.dropOccupancies()
	}
	m.set(e.ID, remembered{e, seats})
}

// dropOccupancies forgets all occupancies: each costs a read of its map.
func (m *memory) dropOccupancies() {
	for id, r := range m.events {
		if r.seats != nil {
			m.set(id, remembered{Event: r.Event})
		}
	}
}

func (m *memory) forget(id ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seats -= sizeOf(m.events[id].seats)
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

// sells reports whether an event has seats, as far as is known, and no other process is known to write it.
func (m *memory) sells(id ID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.events[id]
	return !m.contested[id] && (!known || r.AvailableSeats > 0)
}

// revision is that of the remembered event; known is false if there is none.
func (m *memory) revision(id ID) (revision int64, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.events[id]
	return r.Revision, known
}

// set replaces an entry.
func (m *memory) set(id ID, r remembered) {
	m.seats += sizeOf(r.seats) - sizeOf(m.events[id].seats)
	m.events[id] = r
}

func sizeOf(seats *seating.Occupancy) int {
	if seats == nil {
		return 0
	}
	return seats.Hall().NumberedSeats()
}
