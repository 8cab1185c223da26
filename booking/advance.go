package booking

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// Pay opens the payment window of an INITIATED booking; on one that is open
// already it changes nothing. It refuses with CodeNotFound, CodeExpired,
// CodeConfirmed, CodeCancelled, the codes of an ended lock, seats.CodeNotOnSale
// where the event is cancelled, or fault.CodeInvalid for a window beyond the cap.
func (s *Service) Pay(ctx context.Context, id ID, window seats.Until) (Booking, error) {
	if window.IsZero() {
		return Booking{}, fault.Invalid("body", "Give paymentExpiresAt or paymentTtlSeconds.")
	}
	if err := s.checkWindow(window); err != nil {
		return Booking{}, err
	}
	return mongodb.Surely(ctx, s.db, mongodb.Refusal, func(ctx context.Context) (Booking, error) { return s.payOnce(ctx, id, window) })
}

func (s *Service) payOnce(ctx context.Context, id ID, window seats.Until) (Booking, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Booking, error) {
		b, lock, err := s.withLock(ctx, id)
		if err != nil {
			return Booking{}, err
		}
		if b.Status == Pending && !b.due(lock) && lock.Status == seats.Active { // a repeat
			return b, nil
		}
		if b.Status == Pending {
			return Booking{}, s.refuse(ctx, b, lock, b.check(Cancel, lock)) // the same rule for any action on an open booking
		}
		if err := b.check(Pay, lock); err != nil {
			return Booking{}, s.refuse(ctx, b, lock, err)
		}
		if err := s.seats.CheckNotCancelled(ctx, lock.EventID); err != nil {
			return Booking{}, err
		}
		ends, err := s.limits.window(window, b.CreatedAt, lock.Now)
		if err != nil {
			return Booking{}, err
		}
		if _, err := s.seats.Attach(ctx, lock.Lock, b.ID, ends); err != nil {
			return Booking{}, err
		}
		b.PaymentExpiresAt = ends
		return s.move(ctx, b, Pay, dateField("paymentExpiresAt", ends))
	})
}

// Confirm sells the booking's seats: booking and lock move in one transaction,
// while neither has passed by the database's clock. Again with the same
// reference, or with none, it answers the same. It refuses with CodeNotFound,
// CodeNotPayable, CodeExpired, CodeConfirmed (another reference), CodeCancelled,
// the codes of an ended lock, or seats.CodeNotOnSale where the event is cancelled.
func (s *Service) Confirm(ctx context.Context, id ID, reference string) (Booking, error) {
	b, err := mongodb.Surely(ctx, s.db, mongodb.Refusal, func(ctx context.Context) (Booking, error) { return s.confirmOnce(ctx, id, reference) })
	if reference != "" && err != nil && mongodb.Refusal(err) {
		s.db.Log().WarnContext(ctx, "Confirmation refused although it names a payment",
			"bookingId", id, "paymentReference", reference, "error", err)
		if s.observe.PaidAndRefused != nil {
			s.observe.PaidAndRefused()
		}
	}
	return b, err
}

func (s *Service) confirmOnce(ctx context.Context, id ID, reference string) (Booking, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Booking, error) {
		b, lock, err := s.withLock(ctx, id)
		if err != nil {
			return Booking{}, err
		}
		if b.Status == Confirmed && (reference == "" || reference == b.PaymentReference) {
			return b, nil
		}
		if b.Status == Initiated && b.due(lock) {
			return Booking{}, s.refuse(ctx, b, lock, b.check(Cancel, lock))
		}
		if err := b.check(Confirm, lock); err != nil {
			return Booking{}, s.refuse(ctx, b, lock, err)
		}
		if err := s.seats.CheckNotCancelled(ctx, lock.EventID); err != nil {
			return Booking{}, err
		}
		if err := s.seats.Consume(ctx, lock.ID); err != nil {
			return Booking{}, err
		}
		return s.confirm(ctx, b, reference)
	})
}

// refuse makes sure, where time alone is the reason, that no transaction that
// began in time still comes through; see seats.RefuseDue.
func (s *Service) refuse(ctx context.Context, b Booking, lock seats.Claim, refusal error) error {
	if !b.isOpen() {
		return refusal
	}
	return s.seats.RefuseDue(ctx, lock.Lock, refusal)
}

// confirm writes the booking, guarded by its payment window at that moment.
func (s *Service) confirm(ctx context.Context, b Booking, reference string) (Booking, error) {
	set := bson.D{{Key: "status", Value: string(Confirmed)}}
	if reference != "" {
		set = append(set, bson.E{Key: "paymentReference", Value: reference})
	}
	filter := mongodb.And(mongodb.Is("_id", b.ID), mongodb.Is("status", string(Pending)))
	if !b.PaymentExpiresAt.IsZero() { // other tools may have written none: the lock's time holds
		filter = mongodb.And(filter, mongodb.Ahead("paymentExpiresAt"))
	}
	result, err := s.bookings().UpdateOne(ctx, filter, bson.D{
		{Key: "$set", Value: set}, mongodb.TouchDate,
	})
	if err == nil && result.ModifiedCount != 1 {
		err = mongodb.ErrAgain
	}
	b.Status, b.PaymentReference = Confirmed, reference
	return b, err
}

// withLock reads a booking and its lock at the transaction's snapshot. The lock
// of a booking whose lock is gone ended long ago.
func (s *Service) withLock(ctx context.Context, id ID) (Booking, seats.Claim, error) {
	b, err := s.get(ctx, id)
	if err != nil {
		return Booking{}, seats.Claim{}, err
	}
	lock, err := s.seats.Claim(ctx, b.LockID)
	if fault.Is(err, seats.CodeLockNotFound) {
		return b, seats.Claim{Lock: seats.Lock{ID: b.LockID, EventID: b.EventID, Status: seats.Expired}}, nil
	}
	return b, lock, err
}
