package booking

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// MoveStale moves a booking as one that was read with the status from.
func (s *Service) MoveStale(ctx context.Context, id ID, from Status, a Action) error {
	return mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		_, err := s.move(ctx, Booking{ID: id, Status: from}, a)
		return err
	})
}

// ConfirmStale confirms a booking as one that was read as payable.
func (s *Service) ConfirmStale(ctx context.Context, b Booking) error {
	return mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		_, err := s.confirm(ctx, b, "")
		return err
	})
}
