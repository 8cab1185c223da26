package seats

import (
	"context"
	"time"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// giveBack is a request to release a lock, perhaps with something that has to
// be committed together with it.
type giveBack struct {
	permit Permit
	also   Also
}

// Permit decides in the transaction, before anything is written, whether a lock
// is to be released, by the lock as it is and the database's clock. proceed
// false without an error: there is nothing to do. Errors with a code refuse
// this request alone.
type Permit func(ctx context.Context, lock Lock, now time.Time) (proceed bool, err error)

// Also writes in the transaction that releases the lock, after it.
type Also func(ctx context.Context, lock Lock) error

// GiveBack releases a lock, ACTIVE or CONSUMED, through its event's queue, so
// that it can't conflict with the locks taken there. permit nil means the rule
// for a client's release: a live lock is released, a released one is as wished,
// others are refused with CodeLockExpired or CodeLockConsumed. Permit and also
// may run several times.
func (s *Service) GiveBack(ctx context.Context, id ID, permit Permit, also Also) (Lock, error) {
	lock, err := s.Lock(ctx, id)
	if err != nil {
		return Lock{}, err
	}
	a := s.submit(ctx, lock.EventID, &request{give: releaseOf(permit, also), lockID: id})
	return a.lock, a.err
}

func releaseOf(permit Permit, also Also) *giveBack {
	if permit == nil {
		permit = clientsRelease
	}
	return &giveBack{permit: permit, also: also}
}

func clientsRelease(_ context.Context, lock Lock, now time.Time) (bool, error) {
	err := lock.Ended(now)
	if fault.Is(err, CodeLockReleased) {
		return false, nil
	}
	return err == nil, err
}

// Extend moves a live lock's expiry, never to an earlier time and at most to
// the cap, reckoned from its creation. It refuses with CodeLockNotFound, the
// codes of Lock.Ended, CodeNotOnSale where the event is cancelled, or
// fault.CodeInvalid beyond the cap.
func (s *Service) Extend(ctx context.Context, id ID, until Until) (Lock, error) {
	if until.IsZero() {
		return Lock{}, fault.Invalid("body", "Give expiresAt or ttlSeconds.")
	}
	if err := until.check("expiresAt", "ttlSeconds"); err != nil {
		return Lock{}, err
	}
	if until.For > s.limits.MaxTTL {
		return Lock{}, beyondCap("ttlSeconds", s.limits.MaxTTL)
	}
	return mongodb.Surely(ctx, s.db, mongodb.Refusal, func(ctx context.Context) (Lock, error) { return s.extend(ctx, id, until) })
}

func (s *Service) extend(ctx context.Context, id ID, until Until) (Lock, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (Lock, error) {
		lock, doc, err := s.lockNow(ctx, id)
		if err != nil {
			return Lock{}, err
		}
		now := doc.Now.Time
		if err := lock.Ended(now); err != nil {
			return Lock{}, s.RefuseDue(ctx, lock, err)
		}
		if err := s.CheckNotCancelled(ctx, lock.EventID); err != nil {
			return Lock{}, err
		}
		expires := until.From(now)
		if expires.After(lock.CreatedAt.Add(s.limits.MaxTTL)) {
			return Lock{}, beyondCap(until.field("expiresAt", "ttlSeconds"), s.limits.MaxTTL)
		}
		return s.claim(ctx, lock, later(lock.ExpiresAt, expires), lock.BookingID)
	})
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
