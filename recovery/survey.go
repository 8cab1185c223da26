package recovery

import (
	"context"

	"github.com/holdfast-dev/holdfast/booking"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/seats"
)

// Survey is what a pass would find and do.
type Survey struct {
	Unmarked       []booking.Sale // CONFIRMED, and their lock is ACTIVE: it would be marked sold
	Ended          []booking.Sale // CONFIRMED, and their lock has ended: people have to look
	Unsold         []ids.ID       // CONSUMED locks without a CONFIRMED booking: people have to look
	StaleLocks     int64          // due, and would be expired
	StaleBookings  int64
	Initiated      int64 // bookings, which are told of
	Drifts         []seats.Correction
	PoisonLocks    int64    // their seats are no whole number ≥ 1: people have to look
	PoisonEvents   []ids.ID // their totalSeats is no whole number ≥ 0: people have to look
	Oversold       int64    // events with seats taken beyond their total
	EventsMeasured int64
}

// Survey looks at everything that a pass looks at, and changes nothing. Beside live
// traffic, what it tells was so when it looked.
func (r *Recovery) Survey(ctx context.Context) (s Survey, err error) {
	steps := []func(context.Context, *Survey) error{r.surveySales, r.surveyStale, r.surveyCounters}
	for _, step := range steps {
		if err := step(ctx, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (r *Recovery) surveySales(ctx context.Context, s *Survey) error {
	err := r.Bookings.EachSale(ctx, idPage, func(sales []booking.Sale) error {
		active, ended, err := r.Bookings.Unmarked(ctx, sales)
		s.Unmarked, s.Ended = append(s.Unmarked, active...), append(s.Ended, ended...)
		return err
	})
	if err != nil {
		return err
	}
	return r.Seats.EachConsumed(ctx, idPage, func(lockIDs []ids.ID) error {
		unsold, err := r.Bookings.Unsold(ctx, lockIDs)
		s.Unsold = append(s.Unsold, unsold...)
		return err
	})
}

func (r *Recovery) surveyStale(ctx context.Context, s *Survey) (err error) {
	if s.StaleLocks, err = r.Seats.CountDue(ctx, 0); err != nil {
		return err
	}
	if s.StaleBookings, err = r.Bookings.CountDue(ctx); err != nil {
		return err
	}
	s.Initiated, err = r.Bookings.CountInitiated(ctx)
	return err
}

func (r *Recovery) surveyCounters(ctx context.Context, s *Survey) (err error) {
	for after := (ids.ID{}); ; {
		page, err := r.Seats.Counters(ctx, after, pageSize)
		if err != nil {
			return err
		}
		if page.Len() == 0 {
			break
		}
		after = page.Last()
		s.EventsMeasured += int64(page.Len())
		found, err := r.Seats.Audit(ctx, page)
		if err != nil {
			return err
		}
		for _, p := range found.PoisonLocks {
			s.PoisonLocks += p.Count
		}
		if len(found.Suspects) == 0 {
			continue
		}
		drifts, poison, err := r.Seats.Drifts(ctx, found.Suspects)
		if err != nil {
			return err
		}
		s.Drifts, s.PoisonEvents = append(s.Drifts, drifts...), append(s.PoisonEvents, poison...)
	}
	s.Oversold, err = r.Seats.OversoldEvents(ctx)
	return err
}
