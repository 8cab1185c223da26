package expiry

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/users"
)

// Eraser erases a customer: what locks, bookings, payments and the user say about it. Each batch is a transaction, and the
// documents themselves say what is left. So after a kill, the same call continues.
type Eraser struct {
	Sweeper *Sweeper
	Users   *users.Service
	Log     *slog.Logger
}

// Erased counts the documents that a call has changed.
type Erased struct{ Locks, Bookings, Entries int }

// Erase erases a user or, unless holder is "", a holder. It ends what is due first. It refuses with HOLDS_SEATS while the
// customer has a lock, an open booking or an open entry that is not due, with USER_NOT_FOUND if there never was such a user, and with
// VALIDATION_FAILED. After OUTCOME_UNKNOWN, which is also the answer if ctx ends, a part is erased: call it again.
//
// A lock that a request of the user acquires at the same time may stay as it is. The next call erases it.
func (e *Eraser) Erase(ctx context.Context, user holdfast.ID, holder string) (erased Erased, err error) {
	id, err := holdfast.CustomerID(user, holder)
	if err != nil {
		return Erased{}, err
	}
	of := store.Customer{ID: id, Holder: holder}
	if holder == "" {
		err = e.Users.Known(ctx, id)
	}
	if err == nil {
		erased, err = e.erase(ctx, of)
	}
	if err != nil && !mongodb.IsRefusal(err) {
		err = errUnfinished(erased, err)
	}
	return erased, err
}

func errUnfinished(so Erased, cause error) error {
	return holdfast.Refuse(holdfast.CodeOutcomeUnknown, "%d locks, %d bookings and %d entries were changed, and others are left. "+
		"Ask again to continue.", so.Locks, so.Bookings, so.Entries).By(cause)
}

func (e *Eraser) erase(ctx context.Context, of store.Customer) (erased Erased, err error) {
	if err := e.endDue(ctx, of); err != nil {
		return Erased{}, err
	}
	if of.Holder == "" {
		if err := e.Users.Erase(ctx, of.ID); err != nil {
			return Erased{}, err
		}
	}
	// A late payment that has read a booking before may make another lock. It can't once the booking is erased, so the second
	// pass finds that lock.
	s, batch := e.Sweeper.Pipeline.Store(), e.Sweeper.Batch
	for isLast := false; !isLast; {
		pass := Erased{}
		if pass.Locks, err = s.EraseLocks(ctx, of, batch); err == nil {
			pass.Bookings, err = s.EraseBookings(ctx, of, batch)
		}
		if err == nil {
			pass.Entries, err = s.EraseEntries(ctx, of, batch)
		}
		if err == nil {
			_, err = s.ErasePayments(ctx, of, batch)
		}
		erased = Erased{erased.Locks + pass.Locks, erased.Bookings + pass.Bookings, erased.Entries + pass.Entries}
		if err != nil {
			return erased, err
		}
		isLast = pass == Erased{}
	}
	return erased, e.refuseLive(ctx, of)
}

// endDue ends the due bookings and locks of a customer. It refuses with HOLDS_SEATS if others are not due.
func (e *Eraser) endDue(ctx context.Context, of store.Customer) error {
	s, sweeper := e.Sweeper.Pipeline.Store(), e.Sweeper
	p := &progress{Run: Run{Run: inventory.Run{By: holdfast.EndedByReclaim}, Log: e.Log, ByLock: true}, sweeper: sweeper, lines: eraseLines}
	isLive := false
	for after := (holdfast.ID{}); ; {
		due, last, others, err := s.BookingsToEnd(ctx, of, after, sweeper.Batch)
		if err != nil {
			return err
		}
		isLive = isLive || others
		if err := sweeper.expireBookings(ctx, p, due); err != nil {
			return err
		}
		if after = last; last.IsZero() {
			break
		}
	}
	for after := (holdfast.ID{}); ; {
		due, err := s.LocksToEnd(ctx, of, after, sweeper.Batch)
		if err != nil {
			return err
		}
		if err := sweeper.expireLocks(ctx, p, due); err != nil {
			return err
		}
		if len(due) < sweeper.Batch {
			break
		}
		after = due[len(due)-1].ID
	}
	switch {
	case p.report.Errors > 0:
		return fmt.Errorf("%d due locks or bookings could not be ended", p.report.Errors)
	case isLive:
		return errHoldsSeats()
	default:
		return e.refuseLive(ctx, of)
	}
}

func (e *Eraser) refuseLive(ctx context.Context, of store.Customer) error {
	holds, err := e.Sweeper.Pipeline.Store().HoldsLock(ctx, of)
	if err == nil && !holds {
		holds, err = e.Sweeper.Pipeline.Store().HoldsEntry(ctx, of)
	}
	if err == nil && holds {
		return errHoldsSeats()
	}
	return err
}

func errHoldsSeats() error {
	return holdfast.Refuse(holdfast.CodeHoldsSeats,
		"The customer has locks, open bookings or open entries of waiting lists. End them first, or wait for their end.")
}
