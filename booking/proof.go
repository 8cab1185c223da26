package booking

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// Sale is a CONFIRMED booking and its lock.
type Sale struct{ ID, LockID ID }

// EachSale walks all CONFIRMED bookings, and hands them over in batches of up to size.
func (s *Service) EachSale(ctx context.Context, size int, visit func([]Sale) error) error {
	return mongodb.Translate(mongodb.Each(ctx, s.bookings(), mongodb.Is("status", string(Confirmed)), mongodb.Keys("_id", "seatLockId"), size,
		func(doc bson.Raw) Sale { return Sale{mongodb.IDOf(doc, "_id"), mongodb.IDOf(doc, "seatLockId")} }, visit))
}

// Unmarked returns those of the sales whose lock is not CONSUMED: it still is
// ACTIVE, or it has ended and its seats may be sold again. Nearly always there
// are none, which costs one read.
func (s *Service) Unmarked(ctx context.Context, sales []Sale) (active, ended []Sale, err error) {
	bookingIDs, lockIDs := make([]ID, 0, len(sales)), make([]ID, 0, len(sales))
	for _, sale := range sales {
		bookingIDs, lockIDs = append(bookingIDs, sale.ID), append(lockIDs, sale.LockID)
	}
	if all, err := s.seats.AllConsumed(ctx, lockIDs); err != nil || all {
		return nil, nil, err
	}
	locks, err := s.seats.Claims(ctx, lockIDs)
	if err != nil {
		return nil, nil, mongodb.Translate(err)
	}
	still, err := s.confirmed(ctx, "_id", bookingIDs) // one may have been cancelled since it was read
	for _, sale := range sales {
		switch status := locks[sale.LockID].Status; {
		case !still[sale.ID], status == seats.Consumed:
		case status == seats.Active:
			active = append(active, sale)
		default:
			ended = append(ended, sale)
		}
	}
	return active, ended, mongodb.Translate(err)
}

// Unsold returns those of the CONSUMED locks that no CONFIRMED booking has.
func (s *Service) Unsold(ctx context.Context, lockIDs []ID) ([]ID, error) {
	sold, err := s.confirmed(ctx, "seatLockId", lockIDs)
	if err != nil || len(sold) == len(lockIDs) {
		return nil, mongodb.Translate(err)
	}
	locks, err := s.seats.Claims(ctx, lockIDs) // one may have been released since it was read
	var unsold []ID
	for _, id := range lockIDs {
		if !sold[id] && locks[id].Status == seats.Consumed {
			unsold = append(unsold, id)
		}
	}
	return unsold, mongodb.Translate(err)
}

// confirmed tells for which of the values of field, which holds IDs, there is a
// CONFIRMED booking; it reads no more than that field.
func (s *Service) confirmed(ctx context.Context, field string, values []ID) (map[ID]bool, error) {
	there := make(map[ID]bool, len(values))
	projection := bson.D{{Key: "_id", Value: 0}, {Key: field, Value: 1}}
	if field == "_id" {
		projection = mongodb.Keys(field)
	}
	err := mongodb.Each(ctx, s.bookings(), mongodb.And(mongodb.In(field, values), mongodb.Is("status", string(Confirmed))), projection, len(values),
		func(doc bson.Raw) ID { return mongodb.IDOf(doc, field) },
		func(found []ID) error {
			for _, id := range found {
				there[id] = true
			}
			return nil
		})
	return there, err
}

// ConsumeSold marks a lock CONSUMED that is ACTIVE although its booking is
// CONFIRMED, as hand-written code leaves it when it dies in between. done is
// false where there is nothing to mend any more.
func (s *Service) ConsumeSold(ctx context.Context, lockID ID, runID string) (done bool, err error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (bool, error) {
		lock, err := s.seats.Claim(ctx, lockID)
		if fault.Is(err, seats.CodeLockNotFound) || (err == nil && lock.Status != seats.Active) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		sold, err := s.confirmed(ctx, "seatLockId", []ID{lockID})
		if err != nil || len(sold) == 0 {
			return false, err
		}
		return true, s.seats.ConsumeSold(ctx, lockID, runID)
	})
}

// CountInitiated counts the INITIATED bookings.
func (s *Service) CountInitiated(ctx context.Context) (int64, error) {
	n, err := s.bookings().CountDocuments(ctx, mongodb.Is("status", string(Initiated)))
	return n, mongodb.Translate(err)
}

// CountByStatus counts the bookings of each status, each up to most.
func (s *Service) CountByStatus(ctx context.Context, most int64) (map[Status]int64, error) {
	counts := make(map[Status]int64, len(Statuses))
	for _, status := range Statuses {
		n, err := s.bookings().CountDocuments(ctx, mongodb.Is("status", string(status)), options.Count().SetLimit(most))
		if err != nil {
			return nil, mongodb.Translate(err)
		}
		counts[status] = n
	}
	return counts, nil
}
