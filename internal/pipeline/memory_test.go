package pipeline

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestMemory_RecallsTheEventAsItWasLastSeen(t *testing.T) {
	var m memory
	id := ID{1}
	if e := m.recall(id); e == nil || e.ID != id || e.AvailableSeats < holdfast.MaxSeats || e.Status != holdfast.OnSale ||
		e.MaxSeatsPerUser != 0 || !e.Valid() {
		t.Errorf("an event that was never seen is presumed to be %+v; want one that sells all", e)
	}
	for revision := range int64(3) {
		m.keep(inventory.Event{Event: holdfast.Event{ID: id}, Revision: revision})
		e := m.recall(id)
		if e == nil || e.Revision != revision {
			t.Errorf("got %+v, want revision %d", e, revision)
		}
		e.Revision = 99 // a decision may change its copy
		if again := m.recall(id); again.Revision != revision {
			t.Errorf("a change of the copy changed the memory: %+v", again)
		}
	}
	m.forget(id)
	if e := m.recall(id); e.Revision != 0 || e.AvailableSeats < holdfast.MaxSeats {
		t.Errorf("forgotten, and got %+v", e)
	}
}

func TestMemory_RecallsNothingWhereThereIsNoEventOrItIsOff(t *testing.T) {
	var m memory
	if e := m.recall(ID{}); e != nil {
		t.Errorf("the zero ID: %+v", e)
	}
	off := memory{off: true}
	off.keep(inventory.Event{Event: holdfast.Event{ID: ID{1}}})
	if e := off.recall(ID{1}); e != nil || len(off.events) != 0 {
		t.Errorf("switched off: %+v of %d", e, len(off.events))
	}
}

func TestMemory_IsBounded(t *testing.T) {
	var m memory
	var id ID
	for i := range maxRemembered + 10 {
		id[0], id[1], id[2] = byte(i), byte(i>>8), byte(i>>16)
		m.keep(inventory.Event{Event: holdfast.Event{ID: id}, Revision: 1})
	}
	if n := len(m.events); n > maxRemembered {
		t.Errorf("%d events are remembered, at most %d may be", n, maxRemembered)
	}
	if e := m.recall(id); e.Revision != 1 {
		t.Errorf("the last one is not remembered: %+v", e)
	}
}
