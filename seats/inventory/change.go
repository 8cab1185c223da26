package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// ChangeSeats replaces the seats of a live lock by all seats of the new wish, or leaves the lock unchanged. The
// expiry does not change. The present seats of the lock count as free for the new wish.
type ChangeSeats struct {
	LockID ID
	Seats  int64
	Wish   holdfast.Wish
}

// decide checks in this order: the lock, its booking, the customer's limits, the event, the form of the wish, the
// seats. Every refusal is fenced, because a client repeats this request without a key.
func (c ChangeSeats) decide(d *decision) Result {
	lock, exists, read := d.lock(c.LockID)
	bookings := d.liveBookings(c.LockID)
	if !read || !d.knowsEvent() {
		return Result{}
	}
	if !exists {
		return d.refuseFirmly(holdfast.NotFound(holdfast.CodeLockNotFound))
	}
	if err := ended(lock, bookings, d.state.Now); err != nil {
		d.bump(lock)
		return d.refuseFirmly(err)
	}
	if len(bookings) > 0 {
		return d.refuseFirmly(holdfast.Refuse(holdfast.CodeLockHasBooking, "The lock has a booking, so its seats can't change."))
	}
	if d.state.Event == nil {
		return d.refuseFirmly(holdfast.NotFound(holdfast.CodeEventNotFound))
	}
	if !d.ensureSeats() || !d.settle() {
		return Result{}
	}
	if refusal, known := d.beyondLimits(lock.UserID, c.Seats, c.Seats-lock.Seats, 0, ID{}); !known {
		return Result{}
	} else if refusal != nil {
		return d.refuseFirmly(refusal)
	}
	if d.event.Status == holdfast.Cancelled {
		return d.refuseFirmly(errNotOnSale())
	}
	if refusal := d.notOnSale(); refusal != nil && c.Seats > lock.Seats {
		return d.refuseFirmly(refusal)
	}
	wish, invalid := d.inHall(c.Seats, c.Wish)
	if invalid != nil {
		return d.refuseFirmly(invalid)
	}
	if d.deferRest {
		return Result{Undecided: true}
	}
	if d.isAsWished(lock.Lock, wish) {
		return Result{Lock: &lock.Lock}
	}
	changed, result, ok := d.exchange(lock, wish, LiveAtRevision)
	if !ok {
		return result
	}
	return Result{Lock: &changed.Lock}
}

// exchange releases the seats of a lock, and claims the new ones. If that is refused, it claims the previous ones
// again, and ok is false.
func (d *decision) exchange(lock Lock, wish wished, guard LockGuard) (changed Lock, result Result, ok bool) {
	if !d.ensureCounter() {
		return lock, Result{}, false
	}
	old := previousSeats{seats: lock.Seats, places: d.placesOf(lock.SeatIDs), section: d.sectionOf(lock.Lock)}
	if d.list.holds {
		var refusal *holdfast.Error
		if wish, refusal = d.ownOnly(wish, old); refusal != nil {
			return lock, d.refuseFirmly(refusal), false
		}
	}
	counter, countedBy := d.counter, d.countedBy
	old.general = d.returnSeats(lock.Seats, lock.SeatIDs, lock.Section)
	claimed, result, ok := d.claimSeats(wish, old, UserKey{})
	if !ok {
		d.counter.restore(-lock.Seats)
		d.takePlaces(old.places)
		if old.general > 0 {
			d.state.Seats.AddGeneral(old.section, old.general)
		}
		if d.counter == counter { // no due lock was ended either
			d.countedBy = countedBy
		}
		if result.Err != nil {
			result = d.refuseFirmly(result.Err)
		}
		return lock, result, false
	}
	if held, known := d.holdings[lock.UserID]; known {
		held.Seats += claimed.Seats - lock.Seats
		d.holdings[lock.UserID] = held
	}
	if claimed.Seats > lock.Seats {
		d.guardSale()
	}
	d.write(lock, LockWrite{To: lock.Status, Guard: guard, Seats: &claimed.LockSeats})
	return d.locks[lock.ID], Result{}, true
}

// placesOf finds the given seats, and leaves out those that the plan does not have.
func (d *decision) placesOf(seatIDs []string) (places []seating.Place) {
	for _, id := range seatIDs {
		if p, found := d.state.Seats.Hall().Find(id); found {
			places = append(places, p)
		}
	}
	return places
}

// sectionOf returns the number of the section of general admission that a lock is in, or -1.
func (d *decision) sectionOf(lock holdfast.Lock) int {
	if d.state.Seats == nil || lock.Section == "" {
		return -1
	}
	return generalSection(d.state.Seats.Hall(), lock.Section)
}

// isAsWished reports whether a lock already has what the wish asks for: the named seats, as many places of a
// section, or seats that match the pick.
func (d *decision) isAsWished(lock holdfast.Lock, w wished) bool {
	if lock.Seats != w.seats {
		return false
	}
	switch {
	case w.general:
		return d.sectionOf(lock) == w.section
	case w.named != nil:
		places := d.placesOf(lock.SeatIDs)
		slices.SortFunc(places, seating.Place.Compare)
		return slices.Equal(places, w.named)
	case w.best != nil:
		return d.hasForm(d.placesOf(lock.SeatIDs), *w.best)
	default:
		return !d.isSeated()
	}
}

// hasForm reports whether places have the number, category, section and accessible seats of a pick, which is in one
// category and section, and whether they are together if the pick requires it.
func (d *decision) hasForm(places []seating.Place, w seating.Wish) bool {
	accessible, hall := 0, d.state.Seats.Hall()
	if len(places) != w.Seats || w.Required && !hall.Together(places) {
		return false
	}
	category := hall.Seat(places[0]).Category
	for _, p := range places {
		seat := hall.Seat(p)
		if seat.Category != category || p.Section != places[0].Section || w.Section != seating.AnySection && p.Section != w.Section {
			return false
		}
		if seat.Accessible {
			accessible++
		}
	}
	isOpen := w.Open && w.Accessible == 0
	return (w.Categories == nil || slices.Contains(w.Categories, category)) && (isOpen || accessible == w.Accessible)
}
