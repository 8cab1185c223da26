package inventory_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
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
		if c.Booking != nil || c.Booked > 0 || c.Payment != nil || c.Entry != nil || c.Joined > 0 {
			continue
		}
		id := subjectOf(p, c)
		if _, twice := told[id]; twice {
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
	if len(told) > 0 {
		return fmt.Errorf("nothing changed of %+v", told)
	}
	if err := tx.checkBookingChanges(s, p); err != nil {
		return err
	}
	if err := s.checkPaymentChanges(p); err != nil {
		return err
	}
	if err := s.checkEntryChanges(p, tx); err != nil {
		return err
	}
	return s.checkEventChanges(tx, p)
}

// checkBookingChanges compares the changes of bookings that a plan tells with its writes: one for each write that shows in
// another field than the list of payments.
func (s *store) checkBookingChanges(before *store, p inventory.Plan) error {
	var told, want []inventory.Change
	for _, c := range p.Changes {
		if c.Booked > 0 {
			c.Booking, c.Booked = pointer(p.BookedAt(c.Booked-1, s.now)), 0
		}
		if c.Booking != nil {
			c.By = 0
			told = append(told, c)
		}
	}
	states := copies(before.bookings)
	for _, w := range p.Bookings {
		before, after := *states[w.ID], states[w.ID]
		setBooking(after, w)
		if what := typeOfBookingChange(before, *after, w); what != "" {
			c := inventory.Change{Type: what, Revision: after.Revision, Booking: pointer(*after)}
			if w.Seats != nil || w.Customer != nil {
				c.Previous = &holdfast.PreviousBooking{
					Seats: before.Seats, SeatIDs: before.SeatIDs, Section: before.Section, UserID: before.UserID, Holder: before.Holder,
				}
			}
			want = append(want, c)
		}
	}
	for i := range p.NewBookings {
		b, what := p.BookedAt(i, s.now), holdfast.ChangeBookingCreated
		if b.Status == holdfast.BookingConfirmed {
			what = holdfast.ChangeBookingConfirmed
		}
		want = append(want, inventory.Change{Type: what, Booking: pointer(b)})
	}
	return sameChanges(told, want, func(c inventory.Change) string { return fmt.Sprint(c.Booking.ID, c.Revision) })
}

func typeOfBookingChange(before, after holdfast.Booking, w inventory.BookingWrite) holdfast.ChangeType {
	switch {
	case before.Status != after.Status:
		return map[holdfast.BookingStatus]holdfast.ChangeType{
			"PAYMENT_PENDING": "holdfast.booking.payment_pending", "CONFIRMED": "holdfast.booking.confirmed",
			"CANCELLED": "holdfast.booking.cancelled", "EXPIRED": "holdfast.booking.expired",
		}[after.Status]
	case w.Customer != nil:
		return "holdfast.booking.transferred"
	case w.Seats != nil || !before.SameShopData(after.ShopData):
		return "holdfast.booking.changed"
	default:
		return ""
	}
}

// checkPaymentChanges compares the changes of payments that a plan tells with its writes: one for each.
func (s *store) checkPaymentChanges(p inventory.Plan) error {
	var told, want []inventory.Change
	for _, c := range p.Changes {
		if c.Payment != nil {
			c.By = 0
			told = append(told, c)
		}
	}
	states := copies(s.payments)
	for _, made := range p.NewPayments {
		states[made.ID] = pointer(made)
		want = append(want, inventory.Change{
			Type: typeOfPaymentChange(holdfast.Payment{}, made), Revision: made.Revision, Payment: pointer(made),
		})
	}
	for _, w := range p.Payments {
		before, after := states[w.ID], w.After
		want = append(want, inventory.Change{Type: typeOfPaymentChange(*before, after), Revision: after.Revision, Payment: &after})
		states[w.ID] = &after
	}
	return sameChanges(told, want, func(c inventory.Change) string { return fmt.Sprint(c.Payment.ID, c.Revision) })
}

// typeOfPaymentChange: a payment tells its new status. A part of it that is DUE tells so, and so does one that was refunded.
func typeOfPaymentChange(before, after holdfast.Payment) holdfast.ChangeType {
	switch {
	case before.Status != after.Status:
		return map[holdfast.PaymentStatus]holdfast.ChangeType{
			"ACCEPTED": "holdfast.payment.accepted", "REFUND_DUE": "holdfast.payment.refund_due", "REFUNDED": "holdfast.payment.refunded",
		}[after.Status]
	case len(before.Refunds) < len(after.Refunds):
		return "holdfast.payment.refund_due"
	default:
		return "holdfast.payment.refunded"
	}
}

// sameChanges compares changes in any order.
func sameChanges(told, want []inventory.Change, key func(inventory.Change) string) error {
	for _, list := range [][]inventory.Change{told, want} {
		slices.SortStableFunc(list, func(a, b inventory.Change) int { return strings.Compare(key(a), key(b)) })
	}
	if !reflect.DeepEqual(told, want) {
		return fmt.Errorf("told %+v, want %+v", told, want)
	}
	return nil
}

func subjectOf(p inventory.Plan, c inventory.Change) ID {
	switch {
	case c.Acquired > 0:
		return p.Acquired[c.Acquired-1].ID
	default:
		return c.Lock.ID
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
