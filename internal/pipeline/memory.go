package pipeline

import (
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// maxRemembered bounds the remembered events. A forgotten event costs a read.
const maxRemembered = 10_000

// memory is a cache of events, as the last commit or read of this process left them. An
// entry may be out of date: a commit that relies on it then fails.
type memory struct {
	off    bool
	mu     sync.Mutex
	events map[ID]inventory.Event
}

// recall returns the remembered event. An event that is not remembered is presumed to
// sell, which saves a read if that is true. nil: the state must be read.
func (m *memory) recall(id ID) *inventory.Event {
	if m.off || id.IsZero() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e, ok := m.events[id]
	if !ok {
		e = presumed(id)
	}
	return &e
}

func presumed(id ID) inventory.Event {
	const plenty = 1 << 40
	return inventory.Event{
		Event:    holdfast.Event{ID: id, TotalSeats: plenty, AvailableSeats: plenty, Status: holdfast.OnSale},
		HasTotal: true, Countable: true,
	}
}

func (m *memory) keep(e inventory.Event) {
	if m.off {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events == nil || len(m.events) >= maxRemembered {
		m.events = make(map[ID]inventory.Event)
	}
	m.events[e.ID] = e
}

func (m *memory) forget(id ID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.events, id)
}
