package pipeline

import (
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

func TestMemory_RecallsTheEventAsItWasLastSeen(t *testing.T) {
	var m memory
	id := ID{1}
	if known := m.recall(id); known.Event != nil || known.Seats != nil {
		t.Errorf("an event that was never seen is %+v", known)
	}
	for revision := range int64(3) {
		m.keep(inventory.Event{Event: holdfast.Event{ID: id}, Revision: revision}, nil, nil)
		e := m.recall(id).Event
		if e == nil || e.Revision != revision {
			t.Errorf("got %+v, want revision %d", e, revision)
		}
		e.Revision = 99 // a decision may change its copy
		if again := m.recall(id).Event; again.Revision != revision {
			t.Errorf("a change of the copy changed the memory: %+v", again)
		}
	}
	m.forget(id)
	if e := m.recall(id).Event; e != nil {
		t.Errorf("forgotten, and got %+v", e)
	}
}

func TestMemory_RecallsNothingWhereThereIsNoEventOrItIsOff(t *testing.T) {
	var m memory
	if e := m.recall(ID{}).Event; e != nil {
		t.Errorf("the zero ID: %+v", e)
	}
	off := memory{off: true}
	off.keep(inventory.Event{Event: holdfast.Event{ID: ID{1}}}, nil, nil)
	if e := off.recall(ID{1}).Event; e != nil || len(off.events) != 0 {
		t.Errorf("switched off: %+v of %d", e, len(off.events))
	}
}

func TestMemory_LeavesOutMetadata(t *testing.T) {
	var m memory
	data := holdfast.ShopData{Reference: "R", Metadata: map[string]string{"a": "1"}}
	event := inventory.Event{Event: holdfast.Event{ID: ID{1}, ShopData: data}}
	m.keep(event, nil, nil)
	if e := m.recall(ID{1}).Event; e.Metadata != nil || e.Reference != "R" {
		t.Errorf("cached with %+v", e.ShopData)
	}
	if !event.SameShopData(data) {
		t.Errorf("the caller's event has %+v", event.ShopData)
	}
}

func TestMemory_IsBounded(t *testing.T) {
	var m memory
	var id ID
	for i := range maxRemembered + 10 {
		id[0], id[1], id[2] = byte(i), byte(i>>8), byte(i>>16)
		m.keep(inventory.Event{Event: holdfast.Event{ID: id}, Revision: 1}, nil, nil)
	}
	if n := len(m.events); n > maxRemembered {
		t.Errorf("%d events are remembered, at most %d may be", n, maxRemembered)
	}
	if e := m.recall(id).Event; e.Revision != 1 {
		t.Errorf("the last one is not remembered: %+v", e)
	}
}

func occupancyOf(t *testing.T, seats int64) *seating.Occupancy {
	t.Helper()
	section := holdfast.Section{Key: "a", Name: "A", Category: "c"}
	for n := int64(0); n < seats; n += holdfast.MaxRowSeats {
		row := holdfast.Row{Key: strconv.FormatInt(n, 10), Count: min(holdfast.MaxRowSeats, seats-n)}
		section.Rows = append(section.Rows, row)
	}
	hall, err := seating.NewHall(holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{section},
	})
	if err != nil {
		t.Fatal(err)
	}
	return seating.NewOccupancy(hall)
}

// Whoever recalls an occupancy owns it until it is kept again.
func TestMemory_GivesAnOccupancyToOneOwner(t *testing.T) {
	var m memory
	event, seats := inventory.Event{Event: holdfast.Event{ID: ID{1}}, Revision: 7}, occupancyOf(t, 10)
	m.keep(event, seats, nil)
	if known := m.recall(ID{1}); known.Event.Revision != 7 || known.Seats != seats {
		t.Errorf("got %+v", known)
	}
	if known := m.recall(ID{1}); known.Event.Revision != 7 || known.Seats != nil {
		t.Errorf("a second owner got %+v", known)
	}
	m.keep(event, seats, nil)
	m.forget(ID{1})
	if known := m.recall(ID{1}); known.Seats != nil || m.seats != 0 {
		t.Errorf("forgotten, and got %+v; %d seats are remembered", known, m.seats)
	}
}

func TestMemory_BoundsItsOccupancies(t *testing.T) {
	var m memory
	const size = 20_000
	seats := occupancyOf(t, size)
	for i := range byte(2*maxRememberedSeats/size + 1) {
		m.keep(inventory.Event{Event: holdfast.Event{ID: ID{i, 1}}, Revision: 1}, seats.Clone(), nil)
		m.keep(inventory.Event{Event: holdfast.Event{ID: ID{i, 1}}, Revision: 2}, seats.Clone(), nil) // replaces the entry
		if m.seats > maxRememberedSeats {
			t.Fatalf("%d seats are remembered", m.seats)
		}
		if known := m.recall(ID{i, 1}); known.Event.Revision != 2 || known.Seats == nil {
			t.Fatalf("the last one is not remembered: %+v", known)
		} else {
			m.keep(*known.Event, known.Seats, nil)
		}
	}
	if e := m.recall(ID{0, 1}).Event; e.Revision != 2 {
		t.Errorf("an event was forgotten with its occupancy: %+v", e)
	}
}
