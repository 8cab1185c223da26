package inventory_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/hallmodel"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The changes of locks and the blocks of the model.

// changeSeats replaces the seats of a live lock.
func (m *seatModel) changeSeats(c inventory.ChangeSeats) outcome {
	lock := m.locks[c.LockID]
	if lock == nil {
		return refused("LOCK_NOT_FOUND")
	}
	if code := m.claimCode(lock); code != "" {
		return refused(code)
	}
	if len(m.live(lock.ID)) > 0 {
		return refused("LOCK_HAS_BOOKING")
	}
	if m.event == nil {
		return refused("EVENT_NOT_FOUND")
	}
	m.offersFirst()
	held, _ := m.holding(lock.UserID)
	if most := m.rules.MaxSeatsPerLock; most > 0 && c.Seats > lock.Seats && c.Seats > most {
		return refused("SEAT_LIMIT_REACHED")
	}
	if most := m.event.MaxSeatsPerUser; most > 0 && c.Seats > lock.Seats && held-lock.Seats+c.Seats > most {
		return refused("SEAT_LIMIT_REACHED")
	} else if most > 0 && c.Seats > lock.Seats {
		m.endDueOf(lock.UserID, ID{})
	}
	if m.event.Status == "CANCELLED" {
		return refused("EVENT_NOT_ON_SALE")
	}
	if refusal := m.notOnSale(); refusal.code != "" && c.Seats > lock.Seats {
		return refusal
	}
	if !m.fits(c.Wish) {
		return refused("VALIDATION_FAILED")
	}
	found, refusal := m.find(c.Wish, c.Seats, lock)
	if refusal.code != "" {
		return refusal
	}
	lock.Seats, lock.SeatIDs, lock.Section = c.Seats, found.seats, found.section
	return outcome{lock: lock.Lock}
}

// change changes the event's settings. The total is the hall's.
func (m *seatModel) change(c inventory.ChangeEvent) outcome {
	if m.event != nil && m.event.Status == "CANCELLED" && c.Status != nil && *c.Status != "CANCELLED" {
		return refused("EVENT_NOT_ON_SALE")
	}
	ofSeated := c.SeatingPlanID != nil || len(c.Sections) > 0
	if m.event != nil && (m.hall != nil && c.TotalSeats != nil || m.hall == nil && ofSeated) {
		return refused("VALIDATION_FAILED")
	}
	if m.event != nil && m.hall != nil {
		next, refusal := m.changed(c)
		if refusal.code != "" {
			return refusal
		}
		m.hall = next
		m.event.TotalSeats, m.event.Sections = next.TotalSeats(), next.GeneralAdmission()
	}
	o := m.model.change(c)
	if o.code == "" && c.OrphanRule != nil {
		m.event.Seating.OrphanRule = *c.OrphanRule
	}
	if o.code == "" && c.AccessiblePolicy != nil {
		m.event.Seating.AccessiblePolicy = *c.AccessiblePolicy
	}
	if o.code == "" && c.SeatingPlanID != nil {
		m.event.Seating.PlanID = *c.SeatingPlanID
	}
	return o
}

// changed is the hall that the event is to have.
func (m *seatModel) changed(c inventory.ChangeEvent) (next *hallmodel.Hall, refusal outcome) {
	next = m.hall
	isNew := c.SeatingPlanID != nil && *c.SeatingPlanID != m.event.Seating.PlanID
	if isNew {
		next = m.newHall(*c.SeatingPlanID)
	}
	for _, s := range c.Sections {
		if section := next.Section(s.Key); section == nil || section.Capacity == 0 {
			return nil, refused("VALIDATION_FAILED")
		}
	}
	next = next.WithCapacities(c.Sections)
	all := m.taken() + int64(len(m.blocked))
	if isNew && !m.hasTaken(next) {
		missing := m.missing(next)
		return nil, outcome{code: "CAPACITY_BELOW_TAKEN", details: holdfast.CapacityBelowTaken{
			Taken: all, Missing: missing[:min(len(missing), 100)], MissingSeats: int64(len(missing)),
		}}
	}
	for _, s := range next.Sections {
		before := m.hall.Section(s.Key)
		stays := !isNew && before.Capacity == s.Capacity
		if taken := m.takenOf(s.Key); s.Capacity > 0 && s.Capacity < taken && !stays {
			return nil, belowTaken(taken)
		}
	}
	if next.TotalSeats() < all && next.TotalSeats() != m.event.TotalSeats {
		return nil, belowTaken(all)
	}
	return next, outcome{}
}

func belowTaken(taken int64) outcome {
	return outcome{code: "CAPACITY_BELOW_TAKEN", details: holdfast.CapacityBelowTaken{Taken: taken}}
}

// newHall is the hall of another plan, with the capacities that were set for the event, where they suffice.
func (m *seatModel) newHall(id ID) *hallmodel.Hall {
	present, next := hallmodel.Of(m.plans[m.event.Seating.PlanID]), hallmodel.Of(m.plans[id])
	var kept []holdfast.SectionCapacity
	for _, s := range m.event.Sections {
		to := next.Section(s.Key)
		isSet := present.Section(s.Key).Capacity != s.Capacity
		if isSet && to != nil && to.Capacity > 0 && s.Capacity >= m.takenOf(s.Key) {
			kept = append(kept, s)
		}
	}
	return next.WithCapacities(kept)
}

// missing lists the seats of locks and blocks that a hall does not have, in the order of the present hall.
func (m *seatModel) missing(hall *hallmodel.Hall) (ids []string) {
	for _, s := range m.hall.Seats {
		isTaken := m.blocked[s.ID]
		for _, l := range m.locks {
			isTaken = isTaken || (l.Status == "ACTIVE" || l.Status == "CONSUMED") && slices.Contains(l.SeatIDs, s.ID)
		}
		if isTaken && hall.ByID[s.ID] == nil {
			ids = append(ids, s.ID)
		}
	}
	return ids
}

// hasTaken reports whether a hall has all that locks and blocks have.
func (m *seatModel) hasTaken(hall *hallmodel.Hall) bool {
	for id := range m.blocked {
		if hall.ByID[id] == nil {
			return false
		}
	}
	for _, l := range m.locks {
		if l.Status != "ACTIVE" && l.Status != "CONSUMED" {
			continue
		}
		for _, id := range l.SeatIDs {
			if hall.ByID[id] == nil {
				return false
			}
		}
		if section := hall.Section(l.Section); l.Section != "" && (section == nil || section.Capacity == 0) {
			return false
		}
	}
	return true
}

// block takes all of the seats out of sale, or none.
func (m *seatModel) block(ids []string) outcome {
	if o, ok := m.canBlock(ids); !ok {
		return o
	}
	seats, _ := m.hall.Named(ids)
	var unavailable []string
	for _, s := range seats {
		if holder := m.holder(s.ID); holder != nil && !m.isOver(holder) {
			unavailable = append(unavailable, s.ID)
		}
	}
	if unavailable != nil {
		return tooFew(0, 0, unavailable)
	}
	for _, s := range seats {
		if holder := m.holder(s.ID); holder != nil {
			m.expire(holder)
		}
		m.blocked[s.ID] = true
	}
	return outcome{}
}

func (m *seatModel) unblock(ids []string) outcome {
	if o, ok := m.canBlock(ids); !ok {
		return o
	}
	for _, id := range ids {
		delete(m.blocked, id)
	}
	return outcome{}
}

func (m *seatModel) canBlock(ids []string) (o outcome, ok bool) {
	if m.event == nil {
		return refused("EVENT_NOT_FOUND"), false
	}
	if m.hall == nil {
		return refused("VALIDATION_FAILED"), false
	}
	if _, ok := m.hall.Named(ids); !ok {
		return refused("VALIDATION_FAILED"), false
	}
	return outcome{}, true
}

// difference is "" if a store has the documents of the model. Which of the venue's locks have the
// blocked seats is not told.
func (m *seatModel) difference(s *store) string {
	blocked := map[string]bool{}
	customers := *s
	customers.locks = copies(s.locks)
	for id, l := range s.locks {
		if l.Status == "BLOCKED" {
			for _, seat := range l.SeatIDs {
				blocked[seat] = true
			}
		}
		if l.UserID.IsZero() {
			delete(customers.locks, id)
		}
	}
	if !maps.Equal(blocked, m.blocked) {
		return fmt.Sprintf("the venue has blocked %v, want %v", blocked, m.blocked)
	}
	documents := *m.model
	if m.event != nil {
		want := *m.event
		taken := m.taken() + int64(len(m.blocked))
		want.AvailableSeats, want.Oversold, want.Seating.BlockedSeats = m.available(), max(0, taken-m.event.TotalSeats), int64(len(m.blocked))
		if !reflect.DeepEqual(s.event.Event, want) {
			return fmt.Sprintf("the event is\n%+v, want\n%+v", s.event.Event, want)
		}
		documents.event = nil
	}
	return documents.difference(&customers)
}
