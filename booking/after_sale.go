package booking

import (
	"context"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// ChangeBooking replaces the seats of an open or CONFIRMED booking by all seats of the new wish, or leaves the booking as it
// is: it gives a part back, exchanges, or adds seats. The present seats count as free. An additional payment becomes
// ACCEPTED, and the part of a payment that the change names becomes DUE, in the same transaction.
//
// A booking that has the seats already stays as it is. replayed says that an earlier request with the same idempotency key
// was carried out: the booking is returned in its present state.
//
// It refuses with BOOKING_NOT_FOUND, BOOKING_EXPIRED, BOOKING_CANCELLED, the code of a lock that other software ended,
// IDEMPOTENCY_KEY_REUSED, BOOKING_NOT_PAYABLE (a payment of an open booking), PAYMENT_REFERENCE_USED,
// SEAT_LIMIT_REACHED, EVENT_NOT_ON_SALE and SALE_NOT_OPEN (more seats than before, or a cancelled event),
// SEATS_UNAVAILABLE, SEATS_NOT_ADJACENT, SEAT_ORPHANED or VALIDATION_FAILED. A refused change leaves nothing, no payment either.
func (s *Service) ChangeBooking(ctx context.Context, id ID, c holdfast.BookingChange) (b holdfast.Booking, replayed bool, err error) {
	c.Wish, c.Payment = c.Wish.Clone(), ownCharge(c.Payment) // the caller may change them after the check
	if c.Refund != nil {
		c.Refund = new(*c.Refund)
	}
	if c.Seats, err = c.Wish.Count(c.Seats); err != nil {
		return holdfast.Booking{}, false, err
	}
	if err := c.Check(); err != nil {
		return holdfast.Booking{}, false, err
	}
	of, eventID, err := s.ofBooking(ctx, c.EventID, id, c.Key, c.Hash())
	if err != nil {
		return holdfast.Booking{}, false, err
	}
	return s.submit(ctx, eventID, inventory.ChangeBooking{OfBooking: of, BookingChange: c, RefundID: mongodb.NewID()})
}

// TransferBooking gives a CONFIRMED booking to another customer, under the limits of that customer: its lock ends, and a new
// one has the seats. Payments keep the customer that paid. A booking that is theirs already stays as it is; for replayed
// see ChangeBooking.
//
// It refuses with BOOKING_NOT_FOUND, USER_NOT_FOUND, BOOKING_NOT_PAYABLE (an open booking), BOOKING_EXPIRED,
// BOOKING_CANCELLED, the code of a lock that other software ended, IDEMPOTENCY_KEY_REUSED, EVENT_NOT_ON_SALE (a
// cancelled event), SEAT_LIMIT_REACHED or VALIDATION_FAILED.
func (s *Service) TransferBooking(ctx context.Context, id ID, t holdfast.BookingTransfer) (b holdfast.Booking, replayed bool, err error) {
	if t.UserID, err = holdfast.CustomerID(t.UserID, t.Holder); err != nil {
		return holdfast.Booking{}, false, err
	}
	if err := holdfast.CheckText("body.idempotencyKey", t.Key, holdfast.MaxKeyLength); err != nil {
		return holdfast.Booking{}, false, err
	}
	of, eventID, err := s.ofBooking(ctx, t.EventID, id, t.Key, t.Hash())
	if err != nil {
		return holdfast.Booking{}, false, err
	}
	return s.submit(ctx, eventID, inventory.Transfer{
		OfBooking: of, Customer: inventory.Customer{UserID: t.UserID, Holder: t.Holder}, NewLockID: mongodb.NewID(),
	})
}

// Sell sells seats at once: a CONSUMED lock, a CONFIRMED booking and, if there is a charge, its payment, in one
// transaction. It sells while the event is CLOSED and outside the times of its sale too. replayed says that an earlier
// sale with the same idempotency key made the booking, which is returned in its present state.
//
// It refuses like AcquireLock of package seats, and with PAYMENT_REFERENCE_USED for a charge that was reported before. A
// refused sale leaves nothing, no payment either.
func (s *Service) Sell(ctx context.Context, r holdfast.SaleRequest) (b holdfast.Booking, replayed bool, err error) {
	r.Wish, r.ShopData, r.Charge, r.Until = r.Wish.Clone(), r.OwnShopData(), ownCharge(r.Charge), holdfast.Until{}
	if r.Seats, err = r.Wish.Count(r.Seats); err != nil {
		return holdfast.Booking{}, false, err
	}
	if r.UserID, err = holdfast.CustomerID(r.UserID, r.Holder); err != nil {
		return holdfast.Booking{}, false, err
	}
	if err := holdfast.CheckText("body.idempotencyKey", r.Key, holdfast.MaxKeyLength); err != nil {
		return holdfast.Booking{}, false, err
	}
	if err := r.CheckShopData("body"); err != nil {
		return holdfast.Booking{}, false, err
	}
	if err := r.Charge.Check(); err != nil {
		return holdfast.Booking{}, false, err
	}
	c := inventory.Sell{
		Acquire:   inventory.Acquire{LockRequest: r.LockRequest, LockID: mongodb.NewID()},
		BookingID: mongodb.NewID(), Charge: r.Charge,
	}
	if r.Key != "" {
		c.RequestHash = r.Hash()
	}
	return s.submit(ctx, r.EventID, c)
}

// RefundPart makes a part of a payment DUE, in whole minor units. replayed says that an earlier request with the same
// idempotency key, which is unique per payment, made it. It refuses with PAYMENT_NOT_FOUND, IDEMPOTENCY_KEY_REUSED, or
// VALIDATION_FAILED if not so much of the payment is left, or its amount is not known.
func (s *Service) RefundPart(ctx context.Context, paymentID ID, amount int64, key string) (p holdfast.Payment, replayed bool, err error) {
	if amount < 1 || amount > holdfast.MaxAmount {
		return p, false, holdfast.RefuseInput("body.amount", "amount must be a whole number from 1 to %d.", holdfast.MaxAmount)
	}
	if err := holdfast.CheckText("body.idempotencyKey", key, holdfast.MaxKeyLength); err != nil {
		return p, false, err
	}
	result, err := s.pipeline.Do(ctx, inventory.RefundPart{PaymentID: paymentID, PartID: mongodb.NewID(), Amount: amount, Key: key})
	p, err = payment(result, err)
	return p, result.Replayed, err
}

// RefundedPart records that the shop has refunded a part of a payment. A repeat with the same reference gets the same
// answer. It refuses with PAYMENT_NOT_FOUND, REFUND_NOT_FOUND or PAYMENT_REFUNDED (with another reference).
func (s *Service) RefundedPart(ctx context.Context, paymentID, partID ID, reference string) (holdfast.Payment, error) {
	if err := checkRefundReference(reference); err != nil {
		return holdfast.Payment{}, err
	}
	return payment(s.pipeline.Do(ctx, inventory.RefundedPart{PaymentID: paymentID, PartID: partID, Reference: reference}))
}

// ofBooking returns the booking that a command changes. It reads the booking, unless its event is known.
func (s *Service) ofBooking(ctx context.Context, eventID, id ID, key, hash string) (of inventory.OfBooking, _ ID, err error) {
	b := holdfast.Booking{EventID: eventID}
	if eventID.IsZero() {
		b, err = s.store.Booking(ctx, id)
		eventID = b.EventID
	}
	if err == nil && eventID.IsZero() { // other software made it
		b, eventID, err = s.bookingAndEvent(ctx, id)
	}
	done := holdfast.DoneRequest{ID: mongodb.NewID(), Hash: hash}
	if key != "" {
		done.KeyHash = holdfast.KeyHash(key)
	}
	return inventory.OfBooking{BookingID: id, LockID: b.LockID, EventID: b.EventID, Request: done}, eventID, err
}

// submit carries out a command in the queue of an event.
func (s *Service) submit(ctx context.Context, eventID ID, c inventory.Command) (b holdfast.Booking, replayed bool, err error) {
	result, err := s.pipeline.Submit(ctx, eventID, c)
	b, err = answer(result, err)
	return b, result.Replayed, err
}

// ownCharge returns a charge whose amount the caller can't change.
func ownCharge(c holdfast.Charge) holdfast.Charge {
	if c.Amount != nil {
		c.Amount = new(*c.Amount)
	}
	return c
}

// payment is the payment of a result, or the zero value after a refusal.
func payment(result inventory.Result, err error) (holdfast.Payment, error) {
	if err != nil || result.Payment == nil {
		return holdfast.Payment{}, err
	}
	return *result.Payment, nil
}
