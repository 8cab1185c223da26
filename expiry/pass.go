package expiry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats"
)

// Pass is one run of a sweep: its name in documents and in the log, and the
// words it speaks there.
type Pass struct {
	RunID string
	By    seats.EndedBy
	Log   *slog.Logger // carries correlationId and job
	Words Words
}

// Words are the log lines of a pass, which CONTRACT fixes.
type Words struct {
	Found   func(n int) string
	Locks   func(e seats.Ended, event ids.ID) string
	Booking func(booking, lock ids.ID, seats int64) string
	Success func(n int) string // nil: whoever composes passes says so at their end
}

// The words of the two scheduled sweeps.
var (
	LockWords = Words{
		Found: func(n int) string { return fmt.Sprintf("[LOCK EXPIRY JOB] Found %d expired locks", n) },
		Locks: func(e seats.Ended, event ids.ID) string {
			return fmt.Sprintf("[LOCK EXPIRY JOB] Expired lock %s, restored %d seats to event %s", e.ID, e.Seats, event)
		},
		Success: func(n int) string { return fmt.Sprintf("[LOCK EXPIRY JOB] Successfully expired %d locks", n) },
	}
	BookingWords = Words{
		Found: func(n int) string { return fmt.Sprintf("[BOOKING EXPIRY JOB] Found %d expired bookings", n) },
		Booking: func(booking, lock ids.ID, seats int64) string {
			return fmt.Sprintf("[BOOKING EXPIRY JOB] Expired booking %s, expired lock %s, restored %d seats", booking, lock, seats)
		},
		Success: func(n int) string { return fmt.Sprintf("[BOOKING EXPIRY JOB] Successfully expired %d bookings", n) },
	}
)

// Report counts what a pass did.
type Report struct {
	Found         int   // documents due
	Applied       int   // ended
	Skipped       int   // set aside, or ended by somebody else meanwhile
	Errors        int   // left for the next run
	SeatsRestored int64 // to events
}

// Add sums two reports.
func (r Report) Add(o Report) Report {
	return Report{r.Found + o.Found, r.Applied + o.Applied, r.Skipped + o.Skipped, r.Errors + o.Errors, r.SeatsRestored + o.SeatsRestored}
}

const (
	// loudLines is how many single documents a run tells of at info; the rest
	// are told at debug.
	loudLines = 100
	// maxFailures in a row mean that something is wrong beyond single events.
	maxFailures = 10
)

// inFlight is how many events' transactions a sweep has under way at a time: so
// that MongoDB has the next one to work on while it commits another.
const inFlight = 4

// pass is a Pass under way.
type pass struct {
	Pass
	mu       sync.Mutex // guards what follows
	report   Report
	lines    int
	failures int    // in a row
	last     ids.ID // the event of the transaction before
	beyond   int    // locks that were ended along with a page, and are none of it
}

func (p *pass) say(ctx context.Context, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	level := slog.LevelInfo
	if p.lines++; p.lines > loudLines {
		level = slog.LevelDebug
	}
	p.Log.Log(ctx, level, line)
}

func (p *pass) found(ctx context.Context, n int) {
	if n > 0 {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.report.Found += n
		p.Log.InfoContext(ctx, p.Words.Found(n), "found", n)
	}
}

func (p *pass) success(ctx context.Context) {
	if p.Words.Success != nil {
		r := p.report
		p.Log.InfoContext(ctx, p.Words.Success(r.Applied), "found", r.Found, "applied", r.Applied,
			"skipped", r.Skipped, "errors", r.Errors, "seatsRestored", r.SeatsRestored)
	}
}

// setAside counts documents that a sweep must not or can't end.
func (p *pass) setAside(ctx context.Context, n int, why string, documents ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Skipped += n
	p.Log.WarnContext(ctx, "Set aside: "+why, documents...)
}

// applied counts a transaction that ended so many of a group, and reports
// whether the one before it was of the same event.
func (p *pass) applied(event ids.ID, ended, of int) (again bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = 0
	p.report.Applied += ended
	p.report.Skipped += of - ended
	again = event == p.last
	p.last = event
	return again
}

// failed counts a group that is left, and returns how many were in a row.
func (p *pass) failed(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Errors += n
	p.failures++
	return p.failures
}

// alsoEnded counts locks that were ended along with a page, and are none of it.
func (p *pass) alsoEnded(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beyond += n
	p.report.Applied += n
}

// restored counts seats that came back.
func (p *pass) restored(seats int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.SeatsRestored += seats
}

// eachGroup lets up to inFlight groups be ended at a time, and returns the first
// error of a pass that can't go on.
func eachGroup[T any](ctx context.Context, groups []group[T], end func(context.Context, group[T]) error) error {
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(inFlight)
	for _, g := range groups {
		if within.Err() != nil {
			break
		}
		all.Go(func() error { return end(within, g) })
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the run was ended before its work: %w", context.Cause(ctx))
	}
	return nil
}

// busyPause is the room that a sweep leaves, between two transactions, to those
// who sell the same event: twice as long as one of its transactions of 500 locks
// lasts, so that a sale goes on at half its rate at least.
const busyPause = 120 * time.Millisecond

func giveWay(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(busyPause):
	}
}

// apply ends the documents of a group. Where the server refuses the whole, it
// tries the halves, so that one document does not hold up its neighbours. The
// error is for a pass that can't go on.
func apply[T any](ctx context.Context, p *pass, event ids.ID, group []T, end func(context.Context, []T) (ended int, busy bool, err error)) error {
	ended, busy, err := end(ctx, group)
	switch {
	case err == nil:
		if again := p.applied(event, ended, len(group)); busy && again { // another event's turn is room enough
			giveWay(ctx)
		}
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("the run was ended before its work: %w", context.Cause(ctx))
	case fault.Is(err, seats.CodeEventNotFound):
		p.applied(event, 0, 0)
		p.setAside(ctx, len(group), "there is no such event", "eventId", event, "documents", len(group))
		return nil
	case mongodb.RejectedByServer(err) && len(group) > 1:
		half := len(group) / 2
		if err := apply(ctx, p, event, group[:half], end); err != nil {
			return err
		}
		return apply(ctx, p, event, group[half:], end)
	}
	failures := p.failed(len(group))
	p.Log.ErrorContext(ctx, "Could not expire; the next run tries again", "eventId", event, "documents", len(group), "error", err)
	if failures == maxFailures {
		return fmt.Errorf("%d groups in a row failed, the last one by: %w", maxFailures, err)
	}
	return nil
}
