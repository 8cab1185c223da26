package inventory_test

import (
	"fmt"
	"maps"

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
	if !m.fits(c.Wish) {
		return refused("VALIDATION_FAILED")
	}
	held, _ := m.holding(lock.UserID)
	if most := m.rules.MaxSeatsPerLock; most > 0 && c.Seats > most {
		return refused("SEAT_LIMIT_REACHED")
	}
	if most := m.event.MaxSeatsPerUser; most > 0 && c.Seats > lock.Seats && held-lock.Seats+c.Seats > most {
		return refused("SEAT_LIMIT_REACHED")
	}
	if m.event.Status == "CANCELLED" || m.event.Status != "ON_SALE" && c.Seats > lock.Seats {
		return refused("EVENT_NOT_ON_SALE")
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
	rules := c.OrphanRule != nil || c.AccessiblePolicy != nil
	if m.event != nil && (m.hall != nil && c.TotalSeats != nil || m.hall == nil && rules) {
		return refused("VALIDATION_FAILED")
	}
	o := m.model.change(c)
	if o.code == "" && c.OrphanRule != nil {
		m.event.Seating.OrphanRule = *c.OrphanRule
	}
	if o.code == "" && c.AccessiblePolicy != nil {
		m.event.Seating.AccessiblePolicy = *c.AccessiblePolicy
	}
	return o
}

// block takes all of the seats out of sale, or none.
func (m *seatModel) block(ids []string) outcome {
	if o, ok := m.canBlock(ids); !ok {
		return o
	}
	seats, _ := m.named(ids)
	var unavailable []string
	for _, s := range seats {
		if holder := m.holder(s.id); holder != nil && !m.isOver(holder) {
			unavailable = append(unavailable, s.id)
		}
	}
	if unavailable != nil {
		return tooFew(0, 0, unavailable)
	}
	for _, s := range seats {
		if holder := m.holder(s.id); holder != nil {
			m.expire(holder)
		}
		m.blocked[s.id] = true
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
	if _, ok := m.named(ids); !ok {
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
		if s.event.Event != want {
			return fmt.Sprintf("the event is\n%+v, want\n%+v", s.event.Event, want)
		}
		documents.event = nil
	}
	return documents.difference(&customers)
}
