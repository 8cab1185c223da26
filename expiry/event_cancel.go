package expiry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// EventCancel is the name of the job that cancels an event with its locks and bookings.
const EventCancel = "event-cancel"

// Canceller cancels an event with its locks and bookings: the event at once, the locks and bookings by a run of the
// job event-cancel. The request is stored, so that any process can carry it out, and continue after another process
// was killed.
type Canceller struct {
	Sweeper *Sweeper
	// OnProgress is called with the report so far: at most once a second during a pass, and after a pass that ended
	// something.
	OnProgress func(context.Context, Report)
	// TakesTurns makes a run return ErrOthersFirst if it would wait while another request is due. The caller calls
	// Next and continues.
	TakesTurns bool
}

// ErrOthersFirst ends a run that has to wait, and is not complete, because another request is due.
var ErrOthersFirst = errors.New("another event is due to be cancelled first")

// ErrLeft says that a run could not end all locks and bookings of its event. The request stays stored.
var ErrLeft = errors.New("locks or bookings of the cancelled event can't be ended")

// Ask stores the request to cancel an event with its locks and bookings, cancels the event, and returns the ID of
// the run that carries it out: the run of an earlier request, if one is stored. It refuses with EVENT_NOT_FOUND.
// After OUTCOME_UNKNOWN the caller may ask again: the request may be stored, and then it will cancel the event.
func (c *Canceller) Ask(ctx context.Context, eventID holdfast.ID) (runID string, err error) {
	s := c.Sweeper.Pipeline.Store()
	if _, err := s.Event(ctx, eventID); err != nil {
		return "", err
	}
	wish, err := s.AskCancellation(ctx, eventID, mongodb.NewRunID(EventCancel, s.DB().Clock()()))
	if err != nil {
		return "", err
	}
	err = c.close(ctx, eventID)
	if err != nil && !holdfast.IsNotFound(err) {
		err = holdfast.Refuse(holdfast.CodeOutcomeUnknown, "The request is stored, but the event could not be changed yet; try again.").By(err)
	}
	return wish.RunID, err
}

// close sets the event's status. No claim on the event that begins after that succeeds.
func (c *Canceller) close(ctx context.Context, eventID holdfast.ID) error {
	cancelled := holdfast.Cancelled
	_, err := c.Sweeper.Pipeline.Change(ctx, eventID, inventory.ChangeEvent{EventChange: holdfast.EventChange{Status: &cancelled}})
	return err
}

// Next returns the run to continue, or "" if no request is stored. The first passes of all requests come before any
// wait for a last pass.
func (c *Canceller) Next(ctx context.Context) (runID string, err error) {
	s := c.Sweeper.Pipeline.Store()
	wish, _, err := s.NextCancellation(ctx, s.DB().TransactionLifetime(ctx))
	return wish.RunID, err
}

// Run carries out the request of a run. It ends locks and bookings in passes: the last pass begins a transaction's
// lifetime after the event was cancelled, when no transaction can be in flight that has read the event before. It
// retries every failure of the database until ctx ends. While some locks or bookings can't be ended, it tries again
// at intervals, or ends with ErrLeft if it takes no turns.
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
	if err != nil && ctx.Err() == nil {
		if _, missing := s.Event(ctx, wish.EventID); holdfast.IsNotFound(missing) { // it was deleted
			return report, s.EndCancellation(ctx, wish)
		}
	}
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrOthersFirst) && !errors.Is(err, ErrLeft) {
		err = errors.Join(err, s.TriedCancellation(ctx, wish, false))
	}
	return report, err
}

func (c *Canceller) carryOut(ctx context.Context, run Run, wish store.Cancellation) (Report, error) {
	s := c.Sweeper.Pipeline.Store()
	run.By = holdfast.EndedByEventCancel
	p := &progress{Run: run, sweeper: c.Sweeper, lines: cancelLines(wish.EventID)}
	for wish.ClosedAt.IsZero() { // a later change of the event would be reported again
		err := c.close(ctx, wish.EventID)
		if errors.Is(err, store.ErrUnusable) {
			wish.Left, wish.Why = 1, eventCause(wish.EventID)+": "+whyRejected
			err = c.waitForRepair(ctx, wish)
			if err == nil {
				continue
			}
		}
		if err != nil {
			return p.report, err
		}
		if wish, err = s.CloseCancellation(ctx, wish); err != nil {
			return p.report, err
		}
	}
	for {
		left, err := c.untilLast(ctx, wish)
		if err != nil {
			return p.report, err
		}
		found, skipped := p.report.Found, p.report.Skipped
		p.beginPass()
		ended, err := c.pass(ctx, p, wish.EventID)
		if ended > 0 && c.OnProgress != nil {
			c.OnProgress(ctx, p.report)
		}
		failed, isLast := p.report.Errors > 0, left <= 0 && ended == 0
		wish.Left, wish.Why = 0, ""
		switch {
		case err != nil:
			return p.report, err
		case isLast && !failed && p.report.Skipped == skipped:
			p.success(ctx)
			return p.report, s.EndCancellation(ctx, wish)
		case isLast:
			wish.Left, wish.Why = p.report.Skipped-skipped, p.why()
		}
		if ended == 0 { // the next pass counts the same documents again
			p.report.Found, p.report.Skipped = found, skipped
		}
		p.report.Errors = 0 // the next pass tries again
		if wish.Left > 0 && !failed {
			if err := c.waitForRepair(ctx, wish); err != nil {
				return p.report, err
			}
			continue
		}
		if err := s.TriedCancellation(ctx, wish, !failed); err != nil {
			return p.report, err
		}
		if err := c.wait(ctx, wish, left, failed); err != nil {
			return p.report, err
		}
	}
}

// waitForRepair notes what a pass has left, and waits until the next one. If the canceller takes no turns, it returns ErrLeft
// instead.
func (c *Canceller) waitForRepair(ctx context.Context, wish store.Cancellation) error {
	if err := c.Sweeper.Pipeline.Store().TriedCancellation(ctx, wish, true); err != nil {
		return err
	}
	if !c.TakesTurns {
		return fmt.Errorf("%w: %d are left: %s", ErrLeft, wish.Left, wish.Why)
	}
	return c.wait(ctx, wish, store.LeftoverInterval, false)
}

// passInterval is the delay after a pass that found nothing to end, and after one that failed.
const passInterval = time.Second

// untilLast returns the time until the last pass can begin.
func (c *Canceller) untilLast(ctx context.Context, wish store.Cancellation) (time.Duration, error) {
	db := c.Sweeper.Pipeline.Store().DB()
	now, err := db.Now(ctx)
	return wish.ClosedAt.Add(db.TransactionLifetime(ctx)).Sub(now), err
}

// wait waits until the next pass, unless another request is due.
func (c *Canceller) wait(ctx context.Context, wish store.Cancellation, left time.Duration, failed bool) error {
	pause := max(left, 0)
	if wish.Left == 0 {
		pause = min(pause, passInterval)
	}
	if failed { // the delay comes before the turn of another request, which may fail as well
		sleep(ctx, passInterval)
		pause = 0
	}
	for {
		if err := c.letOthers(ctx, wish); err != nil {
			return err
		}
		sleep(ctx, min(pause, passInterval))
		if pause -= passInterval; pause <= 0 || ctx.Err() != nil {
			return interrupted(ctx)
		}
	}
}

// letOthers returns ErrOthersFirst if another request is due, and comes before this one.
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

// pass ends the locks and bookings of the event, and returns their number.
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
		for _, inSourceShape := range []bool{false, true} {
			err := eachPage(ctx, c, p, func(after holdfast.ID) ([]store.EventBooking, error) {
				return s.BookingsIn(ctx, eventID, inSourceShape, status, after, c.Sweeper.Batch)
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
		p.found(ctx, len(page))
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
		clear(p.tried) // no later run begins in the middle of a page
	}
	return interrupted(ctx)
}
