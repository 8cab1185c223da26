package booking

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// ID names a booking.
type ID = holdfast.ID

// Service has the bookings of one database. It is safe for concurrent use.
type Service struct {
	pipeline *pipeline.Pipeline
	store    *store.Store
	maxTTL   time.Duration // maximum payment window
}

// New returns the bookings of a pipeline's database. maxTTL is the maximum time of a
// payment window.
func New(p *pipeline.Pipeline, maxTTL time.Duration) *Service {
	return &Service{pipeline: p, store: p.Store(), maxTTL: maxTTL}
}

// CreateBooking makes the booking of a live lock, and moves the lock's expiry to the end of
// the payment window if that is later. If the lock has a booking already, CreateBooking
// returns it, and made is false.
//
// It refuses with LOCK_NOT_FOUND (also if the lock is another customer's or event's),
// LOCK_EXPIRED, LOCK_RELEASED, LOCK_CONSUMED, EVENT_NOT_ON_SALE if the event is cancelled,
// or VALIDATION_FAILED for a window beyond the maximum.
func (s *Service) CreateBooking(ctx context.Context, r holdfast.BookingRequest) (b holdfast.Booking, made bool, err error) {
	if r.UserID, err = holdfast.CustomerID(r.UserID, r.Holder); err != nil {
		return holdfast.Booking{}, false, err
	}
	if err := r.Window.Check(holdfast.PaymentFields, s.maxTTL); err != nil {
		return holdfast.Booking{}, false, err
	}
	r.ShopData = r.OwnShopData() // the caller may change it after the check
	if err := r.CheckShopData("body"); err != nil {
		return holdfast.Booking{}, false, err
	}
	result, err := s.pipeline.Do(ctx, inventory.Book{BookingRequest: r, BookingID: mongodb.NewID()})
	b, err = answer(result, err)
	return b, !result.Replayed && err == nil, err
}

// PayBooking opens the payment window of an INITIATED booking. If the window is open
// already, it changes nothing. It refuses with BOOKING_NOT_FOUND, BOOKING_EXPIRED,
// BOOKING_CONFIRMED, BOOKING_CANCELLED, the code of a lock that other software ended,
// EVENT_NOT_ON_SALE if the event is cancelled, or VALIDATION_FAILED for a window beyond the
// maximum.
func (s *Service) PayBooking(ctx context.Context, id ID, window holdfast.Until) (holdfast.Booking, error) {
	if window.IsZero() {
		return holdfast.Booking{}, holdfast.RefuseInput("body", "Give paymentExpiresAt or paymentTtlSeconds.")
	}
	if err := window.Check(holdfast.PaymentFields, s.maxTTL); err != nil {
		return holdfast.Booking{}, err
	}
	result, err := s.pipeline.Do(ctx, inventory.Pay{BookingID: id, Window: window})
	return answer(result, err)
}

// ConfirmBooking asserts that the payment was received, and sells the booking's seats:
// booking, lock and payment change in one transaction, before either is due by the database's clock.
// A repeat with the same charge, or with none, gets the same answer.
//
// If the event accepts late payments, a booking that has expired is confirmed too, while its seats are free: in a new
// lock, and its Late is true.
//
// It refuses with BOOKING_NOT_FOUND, BOOKING_NOT_PAYABLE, BOOKING_EXPIRED, BOOKING_CONFIRMED (another
// reference), BOOKING_CANCELLED, the code of a lock that other software ended,
// EVENT_NOT_ON_SALE if the event is cancelled, PAYMENT_REFERENCE_USED (by another booking), VALIDATION_FAILED (a
// charge that was reported differently before), or PAYMENT_REFUND_DUE (a charge that was refused before, of a booking that
// could be confirmed now). A refusal of a charge has the details holdfast.RefusedPayment, except for
// BOOKING_NOT_FOUND, BOOKING_NOT_PAYABLE, VALIDATION_FAILED and PAYMENT_REFERENCE_USED, which record nothing.
func (s *Service) ConfirmBooking(ctx context.Context, id ID, charge holdfast.Charge) (holdfast.Booking, error) {
	if err := charge.Check(); err != nil {
		return holdfast.Booking{}, err
	}
	command := inventory.Confirm{BookingID: id, Charge: ownCharge(charge)} // the caller may change it after the check
	result, err := s.pipeline.Do(ctx, command)
	if err == nil && result.IsLate {
		_, eventID, err := s.bookingAndEvent(ctx, id)
		if err != nil {
			return holdfast.Booking{}, err
		}
		command.LockID, command.EventID = mongodb.NewID(), eventID
		return answer(s.pipeline.Submit(ctx, eventID, command))
	}
	return answer(result, err)
}

// bookingAndEvent reads a booking, and finds the event whose seats it has.
func (s *Service) bookingAndEvent(ctx context.Context, id ID) (holdfast.Booking, ID, error) {
	b, err := s.store.Booking(ctx, id)
	if err != nil {
		return holdfast.Booking{}, ID{}, err
	}
	lock, err := s.store.LockOf(ctx, b)
	if holdfast.HasCode(err, holdfast.CodeLockNotFound) { // it was removed long after its end
		return b, b.EventID, nil
	}
	return b, lock.EventID, err
}

// RefundPayment records that the shop has refunded a payment that is REFUND_DUE, with its parts that are DUE. A void
// counts as a refund. A repeat with the same reference gets the same answer. It refuses with PAYMENT_NOT_FOUND,
// PAYMENT_ACCEPTED or PAYMENT_REFUNDED (with another reference).
func (s *Service) RefundPayment(ctx context.Context, id ID, reference string) (holdfast.Payment, error) {
	if err := checkRefundReference(reference); err != nil {
		return holdfast.Payment{}, err
	}
	return payment(s.pipeline.Do(ctx, inventory.Refund{PaymentID: id, Reference: reference}))
}

func checkRefundReference(reference string) error {
	const field = "body.refundReference"
	if reference == "" {
		return holdfast.RefuseInput(field, "Give the reference of the refund.")
	}
	return holdfast.CheckReference(field, reference, holdfast.MaxReferenceLength)
}

// GetPayment returns a payment in its present state, or PAYMENT_NOT_FOUND.
func (s *Service) GetPayment(ctx context.Context, id ID) (holdfast.Payment, error) {
	return s.store.Payment(ctx, id)
}

// ListPayments lists payments by ID, and the token of the next page. It refuses a filter by
// the zero ID or by an unknown status.
func (s *Service) ListPayments(ctx context.Context, f holdfast.PaymentFilter, page holdfast.Page) ([]holdfast.Payment, string, error) {
	if err := f.Check(); err != nil {
		return nil, "", err
	}
	return s.store.Payments(ctx, f, page)
}

// CancelBooking ends an open or CONFIRMED booking and releases its lock, in one transaction.
// On a cancelled booking it changes nothing. It refuses with BOOKING_NOT_FOUND,
// BOOKING_EXPIRED, or the code of a lock that other software ended.
func (s *Service) CancelBooking(ctx context.Context, id ID) (holdfast.Booking, error) {
	return s.cancel(ctx, id, false)
}

// CancelOpenBooking is CancelBooking for the customer, who may not return what was sold: it
// refuses a CONFIRMED booking with BOOKING_CONFIRMED, even if it is confirmed while the call runs.
func (s *Service) CancelOpenBooking(ctx context.Context, id ID) (holdfast.Booking, error) {
	return s.cancel(ctx, id, true)
}

func (s *Service) cancel(ctx context.Context, id ID, openOnly bool) (holdfast.Booking, error) {
	b, eventID, err := s.bookingAndEvent(ctx, id)
	if err != nil {
		return holdfast.Booking{}, err
	}
	command := inventory.Cancel{BookingID: id, LockID: b.LockID, EventID: b.EventID, OpenOnly: openOnly}
	if eventID.IsZero() { // the booking names no event, and its lock was removed: no seats to release
		return answer(s.pipeline.Do(ctx, command))
	}
	// A booking without a lock is cancelled too, because a late payment may be about to give it another lock.
	return answer(s.pipeline.Submit(ctx, eventID, command))
}

// UpdateBooking changes the reference and the metadata of a booking, in any status. It refuses with BOOKING_NOT_FOUND, or
// VALIDATION_FAILED for a change that breaks the limits of holdfast.ShopData.
func (s *Service) UpdateBooking(ctx context.Context, id ID, c holdfast.ShopDataChange) (holdfast.Booking, error) {
	c = c.Clone() // the caller may change its values after the check
	if err := c.Check("body"); err != nil {
		return holdfast.Booking{}, err
	}
	result, err := s.pipeline.Do(ctx, inventory.UpdateBooking{BookingID: id, Change: c})
	return answer(result, err)
}

// GetBooking returns a booking in its present state, or BOOKING_NOT_FOUND.
func (s *Service) GetBooking(ctx context.Context, id ID) (holdfast.Booking, error) {
	return s.store.Booking(ctx, id)
}

// ListBookings lists bookings by ID, and the token of the next page. It refuses a filter by
// the zero ID or by an unknown status.
func (s *Service) ListBookings(ctx context.Context, f holdfast.BookingFilter, page holdfast.Page) ([]holdfast.Booking, string, error) {
	if err := f.Check(); err != nil {
		return nil, "", err
	}
	return s.store.Bookings(ctx, f, page)
}

// answer is the booking of a result, or the zero value after a refusal.
func answer(result inventory.Result, err error) (holdfast.Booking, error) {
	if err != nil || result.Booking == nil {
		return holdfast.Booking{}, err
	}
	return *result.Booking, nil
}
