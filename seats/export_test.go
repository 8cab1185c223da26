package seats

import (
	"context"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// InFlight is how many events have requests that wait or are being committed.
func (s *Service) InFlight() int {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	return len(s.queues.byEvent)
}

// Waiting is how many requests wait for an event.
func (s *Service) Waiting(event ID) int {
	s.queues.mu.Lock()
	defer s.queues.mu.Unlock()
	if q := s.queues.byEvent[event]; q != nil {
		return len(q.waiting)
	}
	return 0
}

// EndStale ends a lock as one that was read with the status from.
func (s *Service) EndStale(ctx context.Context, id ID, from Status, a Action) error {
	return mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		return s.endLocks(ctx, []ID{id}, from, a, ending{})
	})
}

// MoveStale moves a counter that was read as total, available and oversold.
func (s *Service) MoveStale(ctx context.Context, id ID, total, available, oversold, toAvailable, toOversold int64) error {
	whole := func(n int64) mongodb.Whole { return mongodb.Whole{N: n, Valid: true} }
	before := eventDoc{ID: id, TotalSeats: whole(total), AvailableSeats: whole(available), Oversold: whole(oversold)}
	return mongodb.Do(ctx, s.db, func(ctx context.Context) error {
		return s.moveCounter(ctx, before, tally{total, toAvailable, toOversold})
	})
}
