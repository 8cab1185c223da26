package seats

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// SectionStates has the states of the seats of a section.
type SectionStates struct {
	Key string
	holdfast.SeatCounts
	// Seats are the states of the section's seats in plan order; none for general admission. A seat under a due lock is
	// available. For a seat in several locks, Outranks decides.
	Seats []holdfast.SeatState
}

// SeatStates returns the state of each seat of an event at one snapshot. It reads all locks that
// take seats, so it is for operators, not for customers. It refuses with EVENT_NOT_FOUND, or VALIDATION_FAILED for an event without
// a plan.
func (s *Service) SeatStates(ctx context.Context, eventID ID) ([]SectionStates, error) {
	var states []SectionStates
	var hall *seating.Hall
	err := s.store.EachSeatLock(ctx, eventID, func(_ holdfast.Event, free *seating.Occupancy) error {
		if free == nil {
			return errNoPlan()
		}
		hall, states = free.Hall(), freeStates(free)
		return nil
	}, func(lock holdfast.Lock, state holdfast.SeatState) { addStates(states, hall, lock, state) })
	if err != nil {
		return nil, err
	}
	for n := range states {
		st := &states[n]
		for _, seat := range st.Seats {
			st.Add(seat, 1)
		}
	}
	return states, nil
}

func freeStates(free *seating.Occupancy) []SectionStates {
	states := make([]SectionStates, len(free.Hall().Sections()))
	for n := range states {
		section := &free.Hall().Sections()[n]
		states[n] = SectionStates{
			Key: section.Key, SeatCounts: holdfast.SeatCounts{Total: free.Capacity(n)}, Seats: make([]holdfast.SeatState, len(section.Seats)),
		}
		for i := range states[n].Seats {
			states[n].Seats[i] = holdfast.SeatAvailable
		}
	}
	return states
}

func addStates(states []SectionStates, hall *seating.Hall, lock holdfast.Lock, state holdfast.SeatState) {
	for _, id := range lock.SeatIDs {
		at, found := hall.Find(id)
		if !found {
			continue
		}
		if seat := &states[at.Section].Seats[at.Seat]; state.Outranks(*seat) {
			*seat = state
		}
	}
	if n, found := generalAdmission(hall, lock); found {
		states[n].Add(state, lock.Seats)
	}
}
