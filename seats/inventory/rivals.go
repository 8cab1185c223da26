package inventory

import (
	"maps"
	"slices"
)

// Other software that writes a lock can't know the map of a seated event: the lock's seats stay free in it, and may be
// sold until a repair. When such a lock ends, its seats must not become free while another lock has them.

// needRivals notes that all locks of the event are needed before a lock ends, if only other software has written it.
// Locks of ours were in the map from their beginning.
func (d *decision) needRivals(lock Lock) {
	hasPlaces := len(lock.SeatIDs) > 0 || lock.Section != ""
	if lock.Revision == nil && hasPlaces && d.isSeated() && d.state.Union == nil {
		d.needs.Union, d.needs.Seats = true, true
	}
}

// measures reports whether a command compares the locks with the map itself. It is decided alone.
func measures(c Command) bool {
	switch c.(type) {
	case RepairSeats, ChangeEvent:
		return true
	default:
		return false
	}
}

// followLocks makes the map, the blocked seats and a wrong counter what the locks say, which were read for needRivals.
func (d *decision) followLocks() {
	union := d.state.Union
	if d.state.Seats == nil || union.Seats == nil {
		return
	}
	d.state.Seats.Become(union.Seats)
	d.event.Seating.BlockedSeats, d.rivals = union.Blocked, maps.Clone(union.Holders)
	if !union.Uneven {
		d.state.Taken = &union.Taken
	}
}

// othersHave reports whether another lock has a seat of a lock that ends, and counts the lock as ended. It may name the
// seat among earlier ones too.
func (d *decision) othersHave(seatID string, earlier []string) bool {
	n, isShared := d.rivals[seatID]
	if !isShared {
		return false
	}
	if !slices.Contains(earlier, seatID) {
		n--
		d.rivals[seatID] = n
	}
	return n > 0
}
