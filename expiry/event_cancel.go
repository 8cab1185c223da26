package expiry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// EventCancel is the name of the job that cancels all of an event.
const EventCancel = "event-cancel"

// Canceller cancels all of an event: the event at once, its locks and bookings by a run of the job event-cancel. The
// wish is stored, so that any process can carry it out, and go on after another one was killed.
type Canceller struct {
	Sweeper *Sweeper
	// OnProgress is called with what the run has done: at most once a second during a pass, and after one that ended something.
	OnProgress func(context.Context, Report)
	// TakesTurns ends a run with ErrOthersFirst where it would wait and another wish is due. The caller asks Next and goes on.
	TakesTurns bool
}

// ErrOthersFirst ends a run that has to wait, and is not at its end, because another wish is due.
var ErrOthersFirst = errors.New("another event is due to be cancelled first")

// Ask stores the wish to cancel all of an event, cancels the event, and returns the ID of the run that carries it out:
// that of an earlier wish, if one is left. It refuses with EVENT_NOT_FOUND. After OUTCOME_UNKNOWN it may be asked again: the
// wish may be stored, and then it cancels the event in any case.
func (c *Canceller) Ask(ctx context.Context, eventID holdfast.ID) (runID string, err error) {
	s := c.Sweeper.Pipeline.Store()
	if _, err := s.Event(ctx, eventID); err != nil {
		return "", err
	}
	wish, err := s.AskCancellation(ctx, eventID, ids.NewRun(EventCancel, s.DB().Clock()()))
	if err != nil {
		return "", err
	}
	err = c.close(ctx, eventID)
	if err != nil && !holdfast.IsNotFound(err) {
		err = holdfast.Refuse(holdfast.CodeOutcomeUnknown, "The wish is stored, but the event could not be changed yet; ask again.").By(err)
	}
	return wish.RunID, err
}

// close sets the event's status. No claim on it that begins afterwards succeeds.
func (c *Canceller) close(ctx context.Context, eventID holdfast.ID) error {
	cancelled := holdfast.Cancelled
	_, err := c.Sweeper.Pipeline.Change(ctx, eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{Status: &cancelled}})
	return err
}

// Next is the run to go on with; "": there is no wish that is not carried out. The first passes of all wishes come before any
// wait for a last pass.
func (c *Canceller) Next(ctx context.Context) (runID string, err error) {
	s := c.Sweeper.Pipeline.Store()
	wish, _, err := s.NextCancellation(ctx, s.DB().TransactionLifetime(ctx))
	return wish.RunID, err
}

// Run carries out the wish of a run. It ends locks and bookings in passes: the last one begins a transaction's lifetime
// after the event was cancelled, when no transaction can be left that has read it before. Every failure of the database
// is tried again until ctx ends.
func (c *Canceller) Run(ctx context.Context, run Run) (Report, error) {
	s := c.Sweeper.Pipeline.Store()
	wish, found, err := s.CancellationOf(ctx, run.ID)
	if err != nil || !found {
		return Report{}, err
	}
	if err := c.letOthers(ctx, wish); err != nil {
		return Report{}, err
	}
	report, err := c.carryOut(ctx, run, wish)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrOthersFirst) {
		err = errors.Join(err, s.TriedCancellation(ctx, wish, false))
	}
	return report, err
}

func (c *Canceller) carryOut(ctx context.Context, run Run, wish store.Cancellation) (Report, error) {
	s := c.Sweeper.Pipeline.Store()
	run.By = holdfast.EndedByEventCancel
	p := &progress{Run: run, sweeper: c.Sweeper, lines: cancelLines(wish.EventID)}
	err := c.close(ctx, wish.EventID)
	if holdfast.IsNotFound(err) { // other software has removed it
		return p.report, s.EndCancellation(ctx, wish)
	}
	if err != nil {
		return p.report, err
	}
	if wish, err = s.CloseCancellation(ctx, wish); err != nil {
		return p.report, err
	}
	for {
		left, err := c.untilLast(ctx, wish)
		if err != nil {
			return p.report, err
		}
		ended, err := c.pass(ctx, p, wish.EventID)
		if ended > 0 && c.OnProgress != nil {
			c.OnProgress(ctx, p.report)
		}
		failed := p.report.Errors > 0
		switch {
		case err != nil:
			return p.report, err
		case left <= 0 && ended == 0 && !failed:
			p.success(ctx)
			return p.report, s.EndCancellation(ctx, wish)
		}
		p.report.Errors = 0 // the next pass tries again
		if err := s.TriedCancellation(ctx, wish, !failed); err != nil {
			return p.report, err
		}
		if err := c.wait(ctx, wish, left, failed); err != nil {
			return p.report, err
		}
	}
}

// passInterval is the time between two passes that found nothing to end, and after one that failed.
const passInterval = time.Second

// untilLast is the time until a pass that begins can be the last one.
func (c *Canceller) untilLast(ctx context.Context, wish store.Cancellation) (time.Duration, error) {
	db := c.Sweeper.Pipeline.Store().DB()
	now, err := db.Now(ctx)
	return wish.ClosedAt.Add(db.TransactionLifetime(ctx)).Sub(now), err
}

// wait waits until it is time for another pass, unless another wish is due.
func (c *Canceller) wait(ctx context.Context, wish store.Cancellation, left time.Duration, failed bool) error {
	pause := min(max(left, 0), passInterval)
	if failed { // before the turn of another wish, which may fail as well
		sleep(ctx, passInterval)
		pause = 0
	}
	if err := c.letOthers(ctx, wish); err != nil {
		return err
	}
	sleep(ctx, pause)
	return interrupted(ctx)
}

// letOthers returns ErrOthersFirst if another wish is due, and comes before this one.
func (c *Canceller) letOthers(ctx context.Context, wish store.Cancellation) error {
	if !c.TakesTurns {
		return nil
	}
	s := c.Sweeper.Pipeline.Store()
	next, found, err := s.NextCancellation(ctx, s.DB().TransactionLifetime(ctx))
	if err == nil && found && next.IsDue && next.RunID != wish.RunID {
		return ErrOthersFirst
	}
	return err
}

// pass ends all that the event has, and returns how much that was.
func (c *Canceller) pass(ctx context.Context, p *progress, eventID holdfast.ID) (ended int, err error) {
	before, s := p.report.Applied, c.Sweeper.Pipeline.Store()
	for _, status := range []holdfast.LockStatus{holdfast.LockActive, holdfast.LockConsumed} {
		err := eachPage(ctx, c, p, func(after holdfast.ID) ([]store.EventLock, error) {
			return s.TakingLocks(ctx, eventID, status, after, c.Sweeper.Batch)
		}, func(locks []store.EventLock) error {
			return endGroup(ctx, p, eventID, locks, func(ctx context.Context, locks []store.EventLock) (int, bool, error) {
				command := inventory.CancelSale{Run: p.Run.Run}
				for _, l := range locks {
					command.LockIDs = append(command.LockIDs, l.ID)
				}
				return c.end(ctx, p, eventID, command)
			})
		})
		if err != nil {
			return 0, err
		}
	}
	for _, status := range holdfast.LiveStatuses() {
		for _, foreign := range []bool{false, true} {
			err := eachPage(ctx, c, p, func(after holdfast.ID) ([]store.EventBooking, error) {
				return s.BookingsIn(ctx, eventID, foreign, status, after, c.Sweeper.Batch)
			}, func(bookings []store.EventBooking) error {
				return endGroup(ctx, p, eventID, bookings, func(ctx context.Context, bookings []store.EventBooking) (int, bool, error) {
					command := inventory.CancelSale{Run: p.Run.Run}
					for _, b := range bookings {
						command.Bookings, command.Events = append(command.Bookings, b.BookingRef), append(command.Events, b.EventID)
					}
					return c.end(ctx, p, eventID, command)
				})
			})
			if err != nil {
				return 0, err
			}
		}
	}
	return p.report.Applied - before, interrupted(ctx)
}

func (c *Canceller) end(ctx context.Context, p *progress, eventID holdfast.ID, command inventory.CancelSale) (int, bool, error) {
	result, err := c.Sweeper.Pipeline.Sweep(ctx, eventID, command)
	for _, e := range result.Ended {
		p.ended(ctx, e, eventID)
	}
	return len(result.Ended), false, err
}

// eachPage ends documents page by page.
func eachPage[T document](
	ctx context.Context, c *Canceller, p *progress, read func(after holdfast.ID) ([]T, error), end func([]T) error,
) error {
	clock := c.Sweeper.Pipeline.Store().DB().Clock()
	for after, told := (holdfast.ID{}), clock(); ctx.Err() == nil; {
		page, err := read(after)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		p.found(ctx, countNew(p, page, func(T) holdfast.ID { return holdfast.ID{} }))
		began := clock()
		if err := end(page); err != nil {
			return err
		}
		if len(page) == c.Sweeper.Batch { // other events sell meanwhile: they get half of the time
			sleep(ctx, clock.Since(began))
		}
		if c.OnProgress != nil && clock.Since(told) >= time.Second {
			told = clock()
			c.OnProgress(ctx, p.report)
			p.Log.InfoContext(ctx, "[EVENT CANCEL JOB] Cancelling", slog.Int("applied", p.report.Applied),
				slog.Int64("seatsRestored", p.report.SeatsRestored))
		}
		if len(page) < c.Sweeper.Batch {
			break
		}
		after = page[len(page)-1].Position().ID
	}
	return interrupted(ctx)
}
