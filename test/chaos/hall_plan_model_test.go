package chaos_test

import "fmt"

// The part of the event's model that knows seating plans.

// misfit is the code for a wish that does not fit the plan.
const misfit = "VALIDATION_FAILED"

// hallAnswer is what the answer to a change of the plan or the capacities says of the event.
type hallAnswer struct {
	hall                       *hall
	total, available, capacity int64
}

func (a hallAnswer) String() string {
	return fmt.Sprintf("%v %d of %d, %d standing", a.hall, a.available, a.total, a.capacity)
}

// fits reports whether the event's plan has the named seats.
func (s eventState) fits(w wish) bool { return s.hall == nil || w.named&^s.hall.all == 0 }

// setHall gives the event another plan, other capacities, or both.
func (s eventState) setHall(in opInput, out opOutput) (after eventState, possible bool) {
	after, possible = s.inHall(in)
	answer := hallAnswer{after.hall, after.total, after.free, after.capacity}
	return after, possible && (in.indeterminate || out.event == answer)
}

// inHall is the state in another plan, or with another capacity. What is taken stays taken, wherever it is in
// the plan: locks that are due are taken too. It is not possible if something that is taken would not be there.
//
// A capacity that was set for the event is kept in another plan, if it is enough.
func (s eventState) inHall(in opInput) (after eventState, possible bool) {
	taken, standingTaken := s.hall.all&^s.freeSeats(noLock), s.capacity-s.freeStanding(standing, noLock)
	if in.hall != nil && in.hall != s.hall {
		if wasSet := s.capacity != s.hall.capacity(); !wasSet || s.capacity < standingTaken {
			s.capacity = in.hall.capacity()
		}
		s.hall = in.hall
	}
	if in.capacity != 0 {
		s.capacity = in.capacity
	}
	total := s.hall.all.count() + s.capacity
	s.free, s.total = s.free+total-s.total, total
	return s, taken&^s.hall.all == 0 && standingTaken <= s.capacity
}
