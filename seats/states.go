package seats

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// SectionStates has the states of the seats of a section.
type SectionStates struct {
	Key                              string
	Total                            int64
	Available, Locked, Sold, Blocked int64
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
	err := s.store.EachSeatLock(ctx, eventID, func(free *seating.Occupancy) {
		hall, states = free.Hall(), freeStates(free)
	}, func(lock holdfast.Lock, state holdfast.SeatState) { addStates(states, hall, lock, state) })
	switch {
	case err != nil:
		return nil, err
	case hall == nil:
		return nil, errNoPlan()
	}
	for n := range states {
		st := &states[n]
		for _, seat := range st.Seats {
			st.count(seat, 1)
		}
		st.Available = max(0, st.Total-st.Locked-st.Sold-st.Blocked)
	}
	return states, nil
}

func freeStates(free *seating.Occupancy) []SectionStates {
	states := make([]SectionStates, len(free.Hall().Sections()))
	for n := range states {
		section := &free.Hall().Sections()[n]
		states[n] = SectionStates{Key: section.Key, Total: free.Capacity(n), Seats: make([]holdfast.SeatState, len(section.Seats))}
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
	if n, found := hall.FindSection(lock.Section); found && len(lock.SeatIDs) == 0 && hall.Sections()[n].GeneralAdmission() {
		states[n].count(state, lock.Seats)
	}
}

func (s *SectionStates) count(state holdfast.SeatState, n int64) {
	switch state {
	case holdfast.SeatLocked:
		s.Locked += n
	case holdfast.SeatSold:
		s.Sold += n
	case holdfast.SeatBlocked:
		s.Blocked += n
	case holdfast.SeatAvailable: // all other seats
	}
}
