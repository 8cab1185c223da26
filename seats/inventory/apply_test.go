package inventory_test

import (
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// apply writes a plan as one transaction. With errStale or errKeyInUse it writes nothing.
// Another error says that the plan contradicts itself.
func (s *store) apply(p inventory.Plan) error {
	tx := s.clone()
	for _, write := range []func(inventory.Plan) error{
		tx.writeEvent, tx.writeLocks, tx.insertLocks, tx.writeBookings, tx.writePayments, tx.writeEntries,
	} {
		if err := write(p); err != nil {
			return err
		}
	}
	if err := s.checkChanges(tx, p); err != nil {
		return fmt.Errorf("the changes: %w", err)
	}
	*s = *tx
	return nil
}

func (s *store) writeEvent(p inventory.Plan) error {
	if p.Event == nil {
		if len(p.Acquired) > 0 {
			return fmt.Errorf("locks are made without writing the event")
		}
		return nil
	}
	w, e := *p.Event, s.event
	if e == nil || !guardHolds(*e, w) || !p.InTime(s.now) {
		return errStale
	}
	if w.IfUnchanged == nil && w.Drift == nil && !e.Valid() {
		return errStale
	}
	if !w.Touch {
		e.Revision += max(1, w.Raise)
	}
	e.AvailableSeats += w.Available
	e.Oversold += w.Oversold
	if c := w.Counter; c != nil {
		e.AvailableSeats, e.Oversold = c.AvailableSeats, c.Oversold
		e.Repairs++
	}
	if w.Drift != nil {
		net := e.AvailableSeats - e.Oversold - w.Drift.Amount
		e.AvailableSeats, e.Oversold = max(0, net), max(0, -net)
		e.Repairs++
	}
	if w.RunID != "" {
		s.runID = w.RunID
	}
	if w.SweptAtRev != nil {
		e.SweptAtRev = w.SweptAtRev
	}
	setFields(e, w.Fields)
	if w.List != nil {
		e.List = *w.List
		e.Waitlist.HasBegun, e.Waitlist.Waiting, e.Waitlist.Holds = true, w.List.Waiting, w.List.Holds
	}
	if w.ShopData != nil {
		e.ShopData = *w.ShopData
	}
	return s.writeMaps(w)
}

func setFields(e *inventory.Event, c holdfast.EventChange) {
	if c.Name != nil {
		e.Name = *c.Name
	}
	if c.TotalSeats != nil {
		e.TotalSeats = *c.TotalSeats
	}
	if c.EventDate != nil {
		e.EventDate = *c.EventDate
	}
	if c.Status != nil {
		e.Status = *c.Status
	}
	if c.SaleStartsAt != nil {
		e.SaleStartsAt = *c.SaleStartsAt
	}
	if c.SaleEndsAt != nil {
		e.SaleEndsAt = *c.SaleEndsAt
	}
	if c.OrphanRule != nil {
		e.Seating.OrphanRule = *c.OrphanRule
	}
	if c.AccessiblePolicy != nil {
		e.Seating.AccessiblePolicy = *c.AccessiblePolicy
	}
	if c.LatePayments != nil {
		e.LatePayments.Policy = *c.LatePayments
	}
	if c.LateSeconds != nil {
		e.LatePayments.Seconds = *c.LateSeconds
	}
	if c.SeatingPlanID != nil {
		e.Seating.PlanID = *c.SeatingPlanID
	}
	if c.MaxSeatsPerUser != nil {
		e.MaxSeatsPerUser = *c.MaxSeatsPerUser
	}
	if c.Waitlist != nil {
		e.Waitlist.Status = *c.Waitlist
	}
	if c.OfferSeconds != nil {
		e.Waitlist.OfferSeconds = *c.OfferSeconds
	}
	if c.WaitlistFit != nil {
		e.Waitlist.Fit = *c.WaitlistFit
	}
}

// guardHolds is the condition of an event's write.
func guardHolds(e inventory.Event, w inventory.EventWrite) bool {
	switch before := w.IfUnchanged; {
	case w.Drift != nil:
		return e.Repairs == w.Drift.Repairs
	case before == nil:
		return e.Status == holdfast.OnSale && e.MaxSeatsPerUser == 0 && e.AvailableSeats >= w.AtLeast &&
			e.Seating.PlanID.IsZero() && e.List.Waiting == 0 && e.SaleStartsAt.Equal(w.SaleStartsAt) && e.SaleEndsAt.Equal(w.SaleEndsAt)
	default:
		return e.Revision == before.Revision && e.TotalSeats == before.TotalSeats && e.AvailableSeats == before.AvailableSeats &&
			e.Oversold == before.Oversold && e.Status == before.Status && e.Seating.PlanID == before.Seating.PlanID &&
			e.SaleStartsAt.Equal(before.SaleStartsAt) && e.SaleEndsAt.Equal(before.SaleEndsAt)
	}
}

func (s *store) writeLocks(p inventory.Plan) error {
	written := map[ID]bool{}
	for _, w := range p.Locks {
		if written[w.ID] {
			return fmt.Errorf("lock %s is written twice", w.ID)
		}
		written[w.ID] = true
		lock := s.locks[w.ID]
		if lock == nil || lock.Status != w.From || !s.lockGuardHolds(*lock, w) {
			return errStale
		}
		lock.Revision++
		lock.Status = w.To
		if !w.ExpiresAt.IsZero() {
			lock.ExpiresAt = w.ExpiresAt
		}
		if !w.BookingID.IsZero() {
			lock.BookingID = w.BookingID
		}
		if w.Seats != nil {
			lock.Seats, lock.SeatIDs, lock.Section = w.Seats.Seats, w.Seats.SeatIDs, w.Seats.Section
		}
		if w.ShopData != nil {
			lock.ShopData = *w.ShopData
		}
		if w.EndedBy != "" || w.RunID != "" {
			s.ends[w.ID] = ending{w.EndedBy, w.RunID}
		}
	}
	return nil
}

func (s *store) lockGuardHolds(lock inventory.Lock, w inventory.LockWrite) bool {
	switch w.Guard {
	case inventory.IsDue:
		return lock.Revision == w.Revision && lock.Due(s.now)
	case inventory.AtRevision:
		return lock.Revision == w.Revision
	case inventory.LiveAtRevision:
		return lock.Revision == w.Revision && !lock.Due(s.now) && (w.Before.IsZero() || s.now.Before(w.Before))
	default:
		return true
	}
}

func (s *store) insertLocks(p inventory.Plan) error {
	for i := range p.Acquired {
		lock := p.AcquiredAt(i, s.now)
		if s.locks[lock.ID] != nil || lock.ID.IsZero() {
			return fmt.Errorf("lock %s is made twice", lock.ID)
		}
		if lock.Key != "" {
			made := s.ofEvent(func(l *inventory.Lock) bool { return l.UserID == lock.UserID && l.Key == lock.Key })
			if len(made) > 0 {
				return errKeyInUse
			}
		}
		s.locks[lock.ID] = &inventory.Lock{Lock: lock}
	}
	return nil
}

func (s *store) writeBookings(p inventory.Plan) error {
	for _, w := range p.Bookings {
		b := s.bookings[w.ID]
		if b == nil || b.Status != w.From || b.Revision != w.Revision || (w.WindowOpen && !b.PaymentExpiresAt.After(s.now)) {
			return errStale
		}
		setBooking(b, w)
	}
	for i := range p.NewBookings {
		b := p.BookedAt(i, s.now)
		if s.bookings[b.ID] != nil {
			return fmt.Errorf("booking %s is made twice", b.ID)
		}
		s.bookings[b.ID] = pointer(b)
	}
	return nil
}

func setBooking(b *holdfast.Booking, w inventory.BookingWrite) {
	b.Status, b.Revision, b.UpdatedAt = w.To, b.Revision+1, w.UpdatedAt
	if !w.PaymentExpiresAt.IsZero() {
		b.PaymentExpiresAt = w.PaymentExpiresAt
	}
	if w.PaymentReference != "" {
		b.PaymentReference = w.PaymentReference
	}
	if !w.LockID.IsZero() {
		b.LockID, b.Late = w.LockID, w.Late
	}
	if w.ShopData != nil {
		b.ShopData = *w.ShopData
	}
	if w.Seats != nil {
		b.Seats, b.SeatIDs, b.Section = w.Seats.Seats, w.Seats.SeatIDs, w.Seats.Section
	}
	if w.Customer != nil {
		b.UserID, b.Holder = w.Customer.UserID, w.Customer.Holder
	}
	if w.Payments != nil {
		b.Payments = *w.Payments
	}
	if w.Done != nil {
		b.Done = *w.Done
	}
}
