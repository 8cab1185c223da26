package inventory_test

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// seen is what a client can see of a lock, but for what follows from its ID.
type seen struct {
	Status    holdfast.LockStatus
	Seats     int64
	SeatIDs   string
	Section   string
	ExpiresAt time.Time
	BookingID ID
	ShopData  string
}

func seenOf(l *inventory.Lock) seen {
	if l == nil || l.Status == holdfast.LockBlocked || l.Status == holdfast.LockReleased && l.UserID.IsZero() && l.ExpiresAt.IsZero() {
		return seen{} // no client sees a block
	}
	return seen{l.Status, l.Seats, fmt.Sprint(l.SeatIDs), l.Section, l.ExpiresAt, l.BookingID, fmt.Sprint(l.ShopData)}
}

// checkChanges compares the changes that a plan tells with what it has changed: tx is the store after the plan's
// writes.
func (s *store) checkChanges(tx *store, p inventory.Plan) error {
	told := map[ID]inventory.Change{}
	for _, c := range p.Changes {
		id := subjectOf(p, c)
		if _, twice := told[id]; twice && c.Booking == nil && c.Payment == nil {
			return fmt.Errorf("%s is told twice: %+v", id, p.Changes)
		}
		told[id] = c
	}
	for id, after := range tx.locks {
		c, isTold := told[id]
		if delete(told, id); isTold != (seenOf(after) != seenOf(s.locks[id])) {
			return fmt.Errorf("lock %s went from %+v to %+v; told: %+v", id, s.locks[id], after, c)
		}
		if !isTold {
			continue
		}
		image := c.Lock
		if c.Acquired > 0 {
			image = pointer(p.AcquiredAt(c.Acquired-1, tx.now))
		}
		image.Key, image.RequestHash = after.Key, after.RequestHash
		if !reflect.DeepEqual(*image, after.Lock) || c.Revision != after.Revision {
			return fmt.Errorf("told %+v of revision %d, stored %+v of revision %d", *image, c.Revision, after.Lock, after.Revision)
		}
		if want := wantedType(s.locks[id], after); c.Type != want {
			return fmt.Errorf("lock %s: told %s, want %s", id, c.Type, want)
		}
	}
	for id, after := range tx.bookings {
		before := s.bookings[id]
		c, isTold := told[id]
		if delete(told, id); isTold != (before == nil || before.Status != after.Status || !before.SameShopData(after.ShopData)) {
			return fmt.Errorf("booking %s went from %+v to %+v; told: %+v", id, before, after, c)
		}
		if isTold && (!reflect.DeepEqual(*c.Booking, *after) || c.Revision != after.Revision) {
			return fmt.Errorf("told %+v, stored %+v", *c.Booking, *after)
		}
	}
	for id, after := range tx.payments {
		before := s.payments[id]
		c, isTold := told[id]
		if delete(told, id); isTold != (before == nil || before.Status != after.Status) {
			return fmt.Errorf("payment %s went from %+v to %+v; told: %+v", id, before, after, c)
		}
		if isTold && (!reflect.DeepEqual(*c.Payment, *after) || c.Revision != after.Revision) {
			return fmt.Errorf("told %+v, stored %+v", *c.Payment, *after)
		}
	}
	if len(told) > 0 {
		return fmt.Errorf("nothing changed of %+v", told)
	}
	return s.checkEventChanges(tx, p)
}

func subjectOf(p inventory.Plan, c inventory.Change) ID {
	switch {
	case c.Acquired > 0:
		return p.Acquired[c.Acquired-1].ID
	case c.Lock != nil:
		return c.Lock.ID
	case c.Payment != nil:
		return c.Payment.ID
	default:
		return c.Booking.ID
	}
}

func wantedType(before, after *inventory.Lock) holdfast.ChangeType {
	now := seenOf(after)
	switch was := seenOf(before); {
	case before == nil:
		return holdfast.ChangeLockCreated
	case was.Status != now.Status:
		names := map[holdfast.LockStatus]string{"CONSUMED": "consumed", "RELEASED": "released", "EXPIRED": "expired"}
		return holdfast.ChangeType("holdfast.lock." + names[now.Status])
	case was.Seats != now.Seats || was.SeatIDs != now.SeatIDs || was.Section != now.Section || was.ShopData != now.ShopData,
		was.ExpiresAt.Equal(now.ExpiresAt):
		return holdfast.ChangeLockChanged
	default:
		return holdfast.ChangeLockExtended
	}
}

// checkEventChanges compares the changes of the event in a plan.
func (s *store) checkEventChanges(tx *store, p inventory.Plan) error {
	if s.event == nil || p.Event == nil {
		if len(p.Told) > 0 {
			return fmt.Errorf("told %v of an event that is not written", p.Told)
		}
		return nil
	}
	told := p.EventChanges(tx.event.Event)
	before, after := s.event.Answer().AvailableSeats, tx.event.Answer().AvailableSeats
	isKnown := s.event.Valid() || p.Event.Drift == nil // of a counter that can't be right, a drift says nothing
	for what, want := range map[holdfast.ChangeType]bool{
		holdfast.ChangeEventCancelled: s.event.Status != tx.event.Status && tx.event.Status == holdfast.Cancelled,
		holdfast.ChangeSeatsBlocked:   s.event.Seating.BlockedSeats != tx.event.Seating.BlockedSeats || s.movesBlocks(tx),
		holdfast.ChangeEventSoldOut:   before > 0 && after == 0,
		holdfast.ChangeEventAvailable: before == 0 && after > 0,
		holdfast.ChangeEventChanged:   s.event.Status == tx.event.Status || tx.event.Status != holdfast.Cancelled,
		holdfast.ChangeEventCreated:   false,
		holdfast.ChangePlanCreated:    false,
	} {
		if (what == holdfast.ChangeEventSoldOut || what == holdfast.ChangeEventAvailable) && !isKnown {
			continue
		}
		if what == holdfast.ChangeEventChanged && reflect.DeepEqual(p.Event.Fields, holdfast.EventChange{}) && p.Event.ShopData == nil {
			continue // a command may name no field
		}
		if slices.Contains(told, what) != want {
			return fmt.Errorf("from %+v to %+v: told %v, want %s: %v", s.event, tx.event, told, what, want)
		}
	}
	return nil
}

// movesBlocks reports whether a lock of the venue was made or has changed.
func (s *store) movesBlocks(tx *store) bool {
	for id, after := range tx.locks {
		if before := s.locks[id]; before == nil && after.Status == holdfast.LockBlocked ||
			before != nil && before.Status == holdfast.LockBlocked && !reflect.DeepEqual(seenOf(before), seenOf(after)) {
			return true
		}
	}
	return false
}
