package seats

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// maxKey bounds an idempotency key, in bytes.
const maxKey = 200

// Take locks seats. replayed says that an earlier request with the same
// idempotency key made the lock, which is returned in its present state.
//
// It refuses with CodeEventNotFound, CodeIdempotencyReused, CodeNotOnSale,
// CodeSeatLimit, CodeSeatsUnavailable or fault.CodeInvalid, and nothing is kept.
// mongodb.CodeUnavailable: nothing is kept. mongodb.CodeOutcomeUnknown: the
// same request with the same key finds out.
func (s *Service) Take(ctx context.Context, q LockRequest) (lock Lock, replayed bool, err error) {
	if err := q.check(); err != nil {
		return Lock{}, false, err
	}
	a, err := mongodb.Surely(ctx, s.db, mongodb.Absence, func(ctx context.Context) (answer, error) {
		a := s.submit(ctx, q.EventID, &request{take: &q, lockID: ids.New()})
		return a, a.err
	})
	return a.lock, a.replayed, err
}

func (q LockRequest) check() error {
	switch {
	case q.Seats < 1 || q.Seats > MaxSeats:
		return fault.Invalid("body.seats", "Between 1 and %d seats can be locked.", MaxSeats)
	case len(q.Key) > maxKey:
		return fault.Invalid("body.idempotencyKey", "An idempotency key has %d bytes at most.", maxKey)
	default:
		return q.Until.check("expiresAt", "ttlSeconds")
	}
}

func (u Until) check(at, duration string) error {
	switch {
	case u.For < 0:
		return fault.Invalid("body."+duration, "A duration is above 0.")
	case u.For > 0 && !u.At.IsZero():
		return fault.Invalid("body."+duration, "Give %s or %s, not both.", at, duration)
	default:
		return nil
	}
}
