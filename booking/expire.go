package booking

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// DueBooking is an open booking whose time has passed, as the sweep finds it.
type DueBooking struct {
	ID, LockID ID
	ExpiresAt  time.Time // of its payment window; zero for an INITIATED one
	// EventID is the event whose seats its lock still takes, zero where the lock
	// takes none: it has ended, or there is no such lock.
	EventID ID
	// Poison: its lock's seats are no whole number ≥ 1, so no sweep may end it.
	Poison bool
}

// DuePending returns up to limit PAYMENT_PENDING bookings whose window has
// passed, in the order of its end, behind a place.
func (s *Service) DuePending(ctx context.Context, after seats.After, limit int) ([]DueBooking, error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(Pending)), mongodb.Passed("paymentExpiresAt"), after.Filter("paymentExpiresAt")),
		mongodb.Sort("paymentExpiresAt", "_id"),
		mongodb.Limit(limit),
	})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	found, _, err := s.withEvents(ctx, docs)
	return found, err
}

// DueInitiated looks at up to limit INITIATED bookings behind a place, and
// returns those whose lock has ended or is due. last is the place to go on
// behind, zero at the end.
func (s *Service) DueInitiated(ctx context.Context, after ID, limit int) (found []DueBooking, last ID, err error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(mongodb.And(mongodb.Is("status", string(Initiated)), mongodb.Is("_id", bson.D{{Key: "$gt", Value: after}}))),
		mongodb.Sort("_id"),
		mongodb.Limit(limit),
		mongodb.Only("seatLockId"),
	})
	if err != nil || len(docs) == 0 {
		return nil, ID{}, mongodb.Translate(err)
	}
	all, locks, err := s.withEvents(ctx, docs)
	if err != nil {
		return nil, ID{}, err
	}
	for _, d := range all {
		if lock, exists := locks[d.LockID]; !exists || lock.Ended(lock.Now) != nil {
			found = append(found, d)
		}
	}
	if len(docs) == limit {
		last = docs[limit-1].ID
	}
	return found, last, nil
}

// withEvents looks up the locks of bookings.
func (s *Service) withEvents(ctx context.Context, docs []bookingDoc) ([]DueBooking, map[ID]seats.Claim, error) {
	lockIDs := make([]ID, 0, len(docs))
	for _, d := range docs {
		lockIDs = append(lockIDs, d.LockID)
	}
	if len(docs) == 0 {
		return nil, nil, nil
	}
	locks, err := s.seats.Claims(ctx, lockIDs)
	if err != nil {
		return nil, nil, mongodb.Translate(err)
	}
	found := make([]DueBooking, 0, len(docs))
	for _, d := range docs {
		due := DueBooking{ID: d.ID, LockID: d.LockID, ExpiresAt: d.PaymentExpiresAt.Time}
		if lock, exists := locks[d.LockID]; exists && lock.Status == seats.Active {
			due.EventID, due.Poison = lock.EventID, lock.Seats == 0
		}
		found = append(found, due)
	}
	return found, locks, nil
}

// Ended is a booking that a sweep expired, with what came back by it.
type Ended struct {
	ID, LockID ID
	Seats      int64
}

// Swept is what one transaction of a sweep did; Busy is as in seats.Swept.
type Swept struct {
	Ended []Ended
	Busy  bool
}

// ExpireDue expires due bookings whose locks are all of one event, together
// with those of the locks that are ACTIVE, in one transaction. A zero event is
// for bookings whose locks take no seats. Bookings that have moved meanwhile,
// or are not due by the database's clock, are left alone. It fails with
// seats.CodeEventNotFound where the locks' event does not exist.
func (s *Service) ExpireDue(ctx context.Context, eventID ID, due []DueBooking, by seats.EndedBy, runID string) (Swept, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Swept, error) {
		var still []Booking
		choose := func(ctx context.Context) (lockIDs []ID, err error) {
			still, lockIDs, err = s.stillDue(ctx, due)
			return lockIDs, err
		}
		if eventID.IsZero() {
			if _, err := choose(ctx); err != nil {
				return Swept{}, err
			}
			ended, err := s.expireAll(ctx, still, nil, runID)
			return Swept{Ended: ended}, err
		}
		locks, err := s.seats.Expire(ctx, eventID, by, runID, choose)
		if err != nil {
			return Swept{}, err
		}
		ended, err := s.expireAll(ctx, still, locks.Ended, runID)
		return Swept{ended, locks.Busy}, err
	})
}

// stillDue reads the bookings and their locks at the transaction's snapshot.
// Of the locks it names those to end: ACTIVE, and no other booking's.
func (s *Service) stillDue(ctx context.Context, due []DueBooking) (still []Booking, lockIDs []ID, err error) {
	bookingIDs, all := make([]ID, 0, len(due)), make([]ID, 0, len(due))
	for _, d := range due {
		bookingIDs, all = append(bookingIDs, d.ID), append(all, d.LockID)
	}
	bookings, err := s.findNow(ctx, mongodb.And(mongodb.In("_id", bookingIDs), mongodb.In("status", open)))
	if err != nil || len(bookings) == 0 {
		return nil, nil, err
	}
	locks, err := s.seats.Claims(ctx, all)
	if err != nil {
		return nil, nil, err
	}
	for _, b := range bookings {
		lock, exists := locks[b.LockID]
		lockless := b.Status == Initiated && (!exists || lock.Ended(lock.Now) != nil)
		if !lockless && !b.windowPassed(b.now) {
			continue
		}
		if exists && lock.Status == seats.Active {
			if lock.Seats == 0 {
				continue // poison: left to people
			}
			if lock.BookingID.IsZero() || lock.BookingID == b.ID {
				lockIDs = append(lockIDs, lock.ID)
			}
		}
		still = append(still, b.Booking)
	}
	return still, lockIDs, nil
}

func (s *Service) expireAll(ctx context.Context, bookings []Booking, locks []seats.Ended, runID string) ([]Ended, error) {
	if len(bookings) == 0 {
		return nil, nil
	}
	restored := map[ID]int64{}
	for _, l := range locks {
		restored[l.ID] = l.Seats
	}
	ended, lockIDs := make([]Ended, 0, len(bookings)), make([]ID, 0, len(bookings))
	for _, b := range bookings {
		ended = append(ended, Ended{b.ID, b.LockID, restored[b.LockID]})
		lockIDs = append(lockIDs, b.LockID)
		delete(restored, b.LockID) // seats come back once, whoever else names the lock
	}
	if err := s.seats.Detach(ctx, lockIDs, idsOf(bookings)); err != nil {
		return nil, err
	}
	moved, err := s.moveAll(ctx, idsOf(bookings), open, Expired, bson.E{Key: "runId", Value: runID})
	if err == nil && moved != int64(len(bookings)) {
		err = mongodb.ErrAgain
	}
	return ended, err
}

type bookingNow struct {
	Booking
	now time.Time
}

// findNow is find with the database's clock.
func (s *Service) findNow(ctx context.Context, filter bson.D) ([]bookingNow, error) {
	docs, err := mongodb.All[bookingDoc](ctx, s.bookings(), mongo.Pipeline{
		mongodb.Match(filter), mongodb.WithNow,
	})
	found := make([]bookingNow, 0, len(docs))
	for _, d := range docs {
		found = append(found, bookingNow{d.booking(), d.Now.Time})
	}
	return found, err
}

// CountDue counts the PAYMENT_PENDING bookings whose window has passed.
func (s *Service) CountDue(ctx context.Context) (int64, error) {
	n, err := s.bookings().CountDocuments(ctx, mongodb.And(mongodb.Is("status", string(Pending)), mongodb.Passed("paymentExpiresAt")))
	return n, mongodb.Translate(err)
}
