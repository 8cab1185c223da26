package inventory_test

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// free is what nobody has of an event: numbered seats, places of general admission by section, and of the whole event.
type free struct {
	seats     map[string]bool
	inSection map[string]int64
	all       int64
}

// free has what no live lock takes. Of the locks that counts says, the seats are free too.
func (s *store) free(counts func(*inventory.Lock) bool) free {
	f := free{seats: map[string]bool{}, inSection: map[string]int64{}, all: s.event.TotalSeats}
	plan := s.plan()
	for _, section := range plan.Sections {
		f.inSection[section.Key] = section.Capacity
		for _, row := range section.Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					f.seats[seat.ID] = true
				}
			}
		}
	}
	for _, l := range s.ofEvent(takes) {
		if counts(l) {
			continue
		}
		f.all -= l.Seats
		if l.Section != "" {
			f.inSection[l.Section] -= l.Seats
		}
		for _, id := range l.SeatIDs {
			delete(f.seats, id)
		}
	}
	return f
}

// plan is the event's plan with its own capacities; without sections if the event is unseated.
func (s *store) plan() holdfast.SeatingPlan {
	if s.seats == nil {
		return holdfast.SeatingPlan{}
	}
	plan := s.seats.plans[s.event.Seating.PlanID]
	plan.Sections = slices.Clone(plan.Sections)
	for n, section := range plan.Sections {
		for _, c := range s.event.Sections {
			if c.Key == section.Key {
				plan.Sections[n].Capacity = c.Capacity
			}
		}
	}
	return plan
}

// fits reports whether there are seats for a wish, by trying: so many of one category and one section, with exactly as many accessible
// ones, and next to each other if they have to be.
func (s *store) fits(w holdfast.EntryWish, f free) bool {
	if f.all < w.Seats {
		return false
	}
	if s.seats == nil {
		return true
	}
	plan := s.plan()
	for _, section := range plan.Sections {
		if w.Section != "" && w.Section != section.Key {
			continue
		}
		if len(section.Rows) == 0 {
			if w.Section != "" && f.inSection[section.Key] >= w.Seats {
				return true
			}
			continue
		}
		for _, category := range plan.Categories {
			if len(w.Categories) > 0 && !slices.Contains(w.Categories, category.Key) {
				continue
			}
			if s.fitsIn(section, category.Key, w, f) {
				return true
			}
		}
	}
	return false
}

func (s *store) fitsIn(section holdfast.Section, category string, w holdfast.EntryWish, f free) bool {
	isOpen := s.event.Seating.AccessiblePolicy == holdfast.AccessibleOpen && w.Accessible == 0
	accessible, others := int64(0), int64(0)
	isEnough := func() bool {
		return isOpen && accessible+others >= w.Seats || accessible >= w.Accessible && others >= w.Seats-w.Accessible
	}
	for _, row := range section.Rows {
		isTable, isApart := row.Adjacency == holdfast.AdjacencyAll, row.Adjacency == holdfast.AdjacencyNone
		for from := range row.Seats {
			if w.Adjacent != holdfast.AdjacentRequired {
				break
			}
			accessible, others = 0, 0
			for n, seat := range row.Seats[from:] {
				isFree := seat != nil && f.seats[seat.ID] && categoryOf(section, row, seat) == category
				if !isFree && isTable {
					continue
				}
				if !isFree || isApart && n > 0 || !isTable && int64(n) >= w.Seats {
					break
				}
				if seat.Accessible {
					accessible++
				} else {
					others++
				}
			}
			if isEnough() {
				return true
			}
		}
	}
	if w.Adjacent == holdfast.AdjacentRequired {
		return false
	}
	accessible, others = 0, 0
	for _, row := range section.Rows {
		for _, seat := range row.Seats {
			switch {
			case seat == nil || !f.seats[seat.ID] || categoryOf(section, row, seat) != category:
			case seat.Accessible:
				accessible++
			default:
				others++
			}
		}
	}
	return isEnough()
}

func categoryOf(section holdfast.Section, row holdfast.Row, seat *holdfast.Seat) string {
	switch {
	case seat.Category != "":
		return seat.Category
	case row.Category != "":
		return row.Category
	default:
		return section.Category
	}
}

// sells reports whether the event is ON_SALE, and in its window.
func (s *store) sells() bool {
	e := s.event
	starts, ends := e.SaleStartsAt, e.SaleEndsAt
	hasNoTime := !starts.IsZero() && !ends.IsZero() && !starts.Before(ends)
	return e.Status == "ON_SALE" && !hasNoTime && !s.now.Before(starts) && (ends.IsZero() || s.now.Before(ends))
}

// holding counts a customer's seats and locks, without due ones.
func (s *store) holding(user ID) (seats, locks int64) {
	for _, l := range s.ofEvent(func(l *inventory.Lock) bool { return l.UserID == user }) {
		switch {
		case l.Status == "CONSUMED":
			seats += l.Seats
		case l.Status == "ACTIVE" && !l.Due(s.now):
			seats, locks = seats+l.Seats, locks+1
		}
	}
	return seats, locks
}

// mayGet reports whether a lock of so many seats more breaks no cap.
func (s *store) mayGet(user ID, more int64, rules inventory.Rules) bool {
	seats, locks := s.holding(user)
	return (rules.MaxSeatsPerLock == 0 || more <= rules.MaxSeatsPerLock) &&
		(s.event.MaxSeatsPerUser == 0 || seats+more <= s.event.MaxSeatsPerUser) &&
		(rules.MaxLocksPerUser == 0 || locks+1 <= rules.MaxLocksPerUser)
}
