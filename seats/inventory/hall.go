package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// changeHall changes the capacities of general admission, and the seating plan. Taken seats stay taken: a new plan
// must have all of them, in any place. known is false if the decision has to read something first.
//
// The map of a new plan is built from the locks. A change of the plan is the first command of its decision.
func (c ChangeEvent) changeHall(d *decision) (refusal *holdfast.Error, known bool) {
	isNew := c.hasNewPlan(d)
	if !isNew && len(c.Sections) == 0 {
		return nil, true
	}
	if isNew && !d.ensureUnion(*c.SeatingPlanID) || !isNew && !d.ensureSeats() {
		return nil, false
	}
	next := d.state.Seats
	if isNew {
		next = d.state.Union.Seats
		d.state.Taken = &d.state.Union.Taken
	}
	if !d.ensureCounter() {
		return nil, false
	}
	capacities, refusal := c.capacities(d, next, isNew)
	if refusal == nil && isNew {
		refusal = d.lacksTaken()
	}
	if refusal == nil {
		refusal = belowTaken(next, capacities, isNew)
	}
	if refusal != nil {
		return refusal, true
	}
	total, taken := sum(capacities), d.counter.taken()
	if total < taken && total != d.counter.total {
		return tooSmall(taken, "More seats are taken than the event would have."), true
	}
	for n, capacity := range capacities {
		if next.Hall().Sections()[n].GeneralAdmission() {
			next.SetCapacity(n, capacity)
		}
	}
	d.state.Seats, d.counter = next, counterOf(total, taken)
	d.event.TotalSeats, d.event.Sections = total, next.Capacities()
	w := d.writeOfEvent()
	w.Fields.TotalSeats, w.Sections = &total, &d.event.Sections
	if isNew {
		d.event.Seating.PlanID, d.event.Seating.BlockedSeats = *c.SeatingPlanID, d.state.Union.Blocked
		w.Fields.SeatingPlanID, w.AllMaps = c.SeatingPlanID, true
	}
	return nil, true
}

// hasNewPlan reports whether the change gives the event another plan.
func (c ChangeEvent) hasNewPlan(d *decision) bool {
	return c.SeatingPlanID != nil && *c.SeatingPlanID != d.event.Seating.PlanID
}

// ensureUnion makes sure that the union of the locks in the hall of a plan is known. It returns false if the union
// has to be read first, together with the present map. There is no map if the present plan no longer exists.
func (d *decision) ensureUnion(planID ID) bool {
	if d.state.Union == nil || d.state.Union.PlanID != planID {
		d.needs.Union, d.needs.UnionIn, d.needs.Seats = true, planID, true
		return false
	}
	return true
}

// capacities returns the capacities of the sections after the change, by number. It refuses sections that are not of
// general admission, and more seats than an event can have.
func (c ChangeEvent) capacities(d *decision, next *seating.Occupancy, isNew bool) ([]int64, *holdfast.Error) {
	capacities := make([]int64, len(next.Hall().Sections()))
	for n := range capacities {
		capacities[n] = next.Capacity(n)
	}
	if isNew {
		d.keepCapacities(next, capacities)
	}
	for i, s := range c.Sections {
		n := generalSection(next.Hall(), s.Key)
		if n < 0 {
			return nil, holdfast.RefuseInput(holdfast.SectionField(i, "key"), "The plan has no such section of general admission.")
		}
		capacities[n] = s.Capacity
	}
	if sum(capacities) > holdfast.MaxSeats {
		return nil, holdfast.RefuseInput("body.sections", "An event has %d seats at most, in all of its sections.", holdfast.MaxSeats)
	}
	return capacities, nil
}

// keepCapacities keeps the capacities that were set for the event, in the sections of a new plan, if they are
// enough. A capacity that equals the present plan's was not set.
func (d *decision) keepCapacities(next *seating.Occupancy, capacities []int64) {
	for _, s := range d.event.Sections {
		if d.state.Seats != nil {
			hall := d.state.Seats.Hall()
			if n := generalSection(hall, s.Key); n >= 0 && hall.Sections()[n].Capacity == s.Capacity {
				continue
			}
		}
		if n := generalSection(next.Hall(), s.Key); n >= 0 && s.Capacity >= next.TakenGeneral(n) {
			capacities[n] = s.Capacity
		}
	}
}

// lacksTaken refuses a plan that lacks seats of locks. It also refuses a seat that several locks have: the plan
// would have it once, and the counter has it twice.
func (d *decision) lacksTaken() *holdfast.Error {
	u := d.state.Union
	switch {
	case len(u.Doubles) > 0:
		return tooSmall(u.Taken, "The seat %q is in several locks. End all of them but one, then change the plan; "+
			"seatctl doctor names such seats, and says how to list their locks.", u.Doubles[0])
	case len(u.Missing) > 0:
		missing := d.inPlanOrder(u.Missing)
		return holdfast.Refuse(holdfast.CodeCapacityBelowTaken, "The seat %q is taken, and the plan does not have it.", missing[0]).With(
			holdfast.CapacityBelowTaken{
				Taken: u.Taken, Missing: missing[:min(len(missing), holdfast.MaxMissingSeats)], MissingSeats: int64(len(missing)),
			})
	case len(u.MissingSections) > 0:
		return tooSmall(u.Taken, "The section %q has seats taken, and is not of general admission in the plan.", slices.Min(u.MissingSections))
	default:
		return nil
	}
}

// inPlanOrder returns the seats, each once, in the order of the present plan. Seats that it does not have come last, by their ID.
func (d *decision) inPlanOrder(seatIDs []string) []string {
	seatIDs = slices.Compact(slices.Sorted(slices.Values(seatIDs)))
	if d.state.Seats == nil {
		return seatIDs
	}
	type seat struct {
		id      string
		at      seating.Place
		isFound bool
	}
	seats, hall := make([]seat, len(seatIDs)), d.state.Seats.Hall()
	for i, id := range seatIDs {
		at, isFound := hall.Find(id)
		seats[i] = seat{id, at, isFound}
	}
	slices.SortStableFunc(seats, func(a, b seat) int {
		switch {
		case a.isFound && b.isFound:
			return a.at.Compare(b.at)
		case a.isFound:
			return -1
		case b.isFound:
			return 1
		default:
			return 0
		}
	})
	for i, s := range seats {
		seatIDs[i] = s.id
	}
	return seatIDs
}

// belowTaken refuses a capacity below the number of taken seats of a section. An unchanged capacity is not refused,
// unless the plan is new.
func belowTaken(next *seating.Occupancy, capacities []int64, isNew bool) *holdfast.Error {
	for n, capacity := range capacities {
		if taken := next.TakenGeneral(n); capacity < taken && (isNew || capacity != next.Capacity(n)) {
			return tooSmall(taken, "More seats of the section %q are taken than it would have.", next.Hall().Sections()[n].Key)
		}
	}
	return nil
}

func tooSmall(taken int64, format string, args ...any) *holdfast.Error {
	return holdfast.Refuse(holdfast.CodeCapacityBelowTaken, format, args...).With(holdfast.CapacityBelowTaken{Taken: taken})
}

// generalSection returns the number of a section of general admission, or -1 if it is not one.
func generalSection(hall *seating.Hall, key string) int {
	n, found := hall.FindSection(key)
	if !found || !hall.Sections()[n].GeneralAdmission() {
		return -1
	}
	return n
}

func sum(numbers []int64) (total int64) {
	for _, n := range numbers {
		total += n
	}
	return total
}
