package expiry

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats"
)

// Sweeper expires what is due in one database.
type Sweeper struct {
	Seats    *seats.Service
	Bookings *booking.Service
	// Batch is how many documents are ended in one transaction at most.
	Batch int
}

// SweepLocks ends the ACTIVE locks that are due. A page that is not full is the
// last one: what comes due meanwhile is the next run's, or a run would have no
// end while a sale goes on.
func (s *Sweeper) SweepLocks(ctx context.Context, run Pass) (Report, error) {
	p := &pass{Pass: run}
	var after seats.After
	for {
		due, err := s.Seats.DueLocks(ctx, after, s.Batch)
		if err != nil {
			return p.report, err
		}
		p.found(ctx, len(due))
		if err := s.expireLocks(ctx, p, due); err != nil {
			return p.report, err
		}
		p.found(ctx, p.beyond)
		p.beyond = 0
		if len(due) < s.Batch {
			p.success(ctx)
			return p.report, nil
		}
		last := due[len(due)-1]
		after = seats.After{At: last.ExpiresAt, ID: last.ID}
	}
}

// expireLocks ends a page of due locks, a transaction for each event. Where the
// page is full there are more: each event's transaction then takes its others
// along, or locks spread over many events would take a transaction each.
func (s *Sweeper) expireLocks(ctx context.Context, p *pass, due []seats.DueLock) error {
	upTo := 0
	if len(due) == s.Batch {
		upTo = s.Batch
	}
	groups := groupBy(due, func(d seats.DueLock) (ids.ID, bool) {
		if d.Poison {
			p.setAside(ctx, 1, "the lock's seats are no whole number ≥ 1", "lockId", d.ID, "eventId", d.EventID)
		}
		return d.EventID, !d.Poison
	})
	return eachGroup(ctx, groups, func(ctx context.Context, g group[seats.DueLock]) error {
		return apply(ctx, p, g.event, g.items, func(ctx context.Context, group []seats.DueLock) (ended int, busy bool, err error) {
			lockIDs, named := make([]ids.ID, 0, len(group)), make(map[ids.ID]bool, len(group))
			for _, d := range group {
				lockIDs, named[d.ID] = append(lockIDs, d.ID), true
			}
			swept, err := s.Seats.ExpireDue(ctx, g.event, lockIDs, upTo, p.By, p.RunID)
			for _, e := range swept.Ended {
				p.restored(e.Seats)
				p.say(ctx, p.Words.Locks(e, g.event))
				if named[e.ID] {
					ended++
				}
			}
			p.alsoEnded(len(swept.Ended) - ended)
			return ended, swept.Busy, err
		})
	})
}

// SweepBookings ends the PAYMENT_PENDING bookings whose window has passed and,
// where initiated is set, the INITIATED ones whose lock has ended or is due. It
// ends as SweepLocks does.
func (s *Sweeper) SweepBookings(ctx context.Context, run Pass, initiated bool) (Report, error) {
	p := &pass{Pass: run}
	if err := s.sweepPending(ctx, p); err != nil {
		return p.report, err
	}
	if initiated {
		if err := s.sweepInitiated(ctx, p); err != nil {
			return p.report, err
		}
	}
	p.success(ctx)
	return p.report, nil
}

// manyBatches is how many batches of due bookings are found at once, so that
// those of one event, which come due at different times, meet in a transaction.
const manyBatches = 10

func (s *Sweeper) sweepPending(ctx context.Context, p *pass) error {
	var after seats.After
	for {
		due, err := s.Bookings.DuePending(ctx, after, manyBatches*s.Batch)
		if err != nil {
			return err
		}
		if err := s.expireBookings(ctx, p, due); err != nil || len(due) < manyBatches*s.Batch {
			return err
		}
		last := due[len(due)-1]
		after = seats.After{At: last.ExpiresAt, ID: last.ID}
	}
}

func (s *Sweeper) sweepInitiated(ctx context.Context, p *pass) error {
	var after ids.ID
	for {
		due, last, err := s.Bookings.DueInitiated(ctx, after, s.Batch)
		if err != nil {
			return err
		}
		if err := s.expireBookings(ctx, p, due); err != nil || last.IsZero() {
			return err
		}
		after = last
	}
}

func (s *Sweeper) expireBookings(ctx context.Context, p *pass, due []booking.DueBooking) error {
	p.found(ctx, len(due))
	groups := groupBy(due, func(d booking.DueBooking) (ids.ID, bool) {
		if d.Poison {
			p.setAside(ctx, 1, "the seats of the booking's lock are no whole number ≥ 1", "bookingId", d.ID, "lockId", d.LockID)
		}
		return d.EventID, !d.Poison
	})
	return eachGroup(ctx, groups, func(ctx context.Context, g group[booking.DueBooking]) error {
		for batch := range slices.Chunk(g.items, s.Batch) { // one after the other: they write the same event
			err := apply(ctx, p, g.event, batch, func(ctx context.Context, group []booking.DueBooking) (ended int, busy bool, err error) {
				swept, err := s.Bookings.ExpireDue(ctx, g.event, group, p.By, p.RunID)
				for _, e := range swept.Ended {
					p.restored(e.Seats)
					p.say(ctx, p.Words.Booking(e.ID, e.LockID, e.Seats))
				}
				return len(swept.Ended), swept.Busy, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

type group[T any] struct {
	event ids.ID
	items []T
}

// groupBy sorts items by event, in the order in which events come first.
func groupBy[T any](items []T, eventOf func(T) (ids.ID, bool)) []group[T] {
	var groups []group[T]
	at := map[ids.ID]int{}
	for _, item := range items {
		event, ok := eventOf(item)
		if !ok {
			continue
		}
		i, known := at[event]
		if !known {
			i = len(groups)
			at[event] = i
			groups = append(groups, group[T]{event: event})
		}
		groups[i].items = append(groups[i].items, item)
	}
	return groups
}
