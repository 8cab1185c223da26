package expiry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Waitlist is the name of the job that does what is due for waiting lists.
const Waitlist = "waitlist"

const (
	// listInterval is how soon a list that is due is noticed.
	listInterval = time.Second
	// listsPerTurn bounds the events of one turn.
	listsPerTurn = 100
	// checksPerTurn bounds the transactions of one event in a turn, so that other events get theirs.
	checksPerTurn = 20
	// listRetryDelay passes before a list whose check has failed is checked again.
	listRetryDelay = 10 * time.Second
	// totalsInterval is the time between two counts of all entries.
	totalsInterval = 30 * time.Second
)

// ListChecker does what is due for waiting lists: offers that no transaction of their event makes, and the end of the entries of a
// list that has closed. Each check is a command in the queue of its event.
type ListChecker struct {
	Pipeline *pipeline.Pipeline
	Batch    int // entries that are closed in one transaction
	// Checked is called with each check that made offers or closed entries, and Totals with a count of all entries from time to time.
	// Both may be nil, and Checked may be called concurrently.
	Checked func(inventory.ListCheck)
	Totals  func(store.ListTotals)

	mu     sync.Mutex
	report Report
	failed map[holdfast.ID]time.Time // lists whose check has failed, until when they are left
}

// Run does what is due until ctx ends or, with once, until nothing is due. It retries failures, but for those of the database with
// once. The report counts the lists that were due, and the offers that were made and entries that were closed.
func (c *ListChecker) Run(ctx context.Context, log *slog.Logger, once bool) (Report, error) {
	clock := c.Pipeline.Store().DB().Clock()
	var counted time.Time
	for {
		hasMore, err := c.turn(ctx, log)
		if err == nil && c.Totals != nil && clock.Since(counted) >= totalsInterval {
			counted, err = clock(), c.count(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return c.report, interrupted(ctx)
		case err != nil && once:
			return c.report, err
		case err != nil:
			log.WarnContext(ctx, "[WAITLIST JOB] Failed; retrying", slog.Any("error", err))
		case once && !hasMore:
			return c.report, nil
		}
		if hasMore { // entries of a closed list are left, and meanwhile the event sells
			pause(ctx)
		} else {
			sleep(ctx, listInterval)
		}
	}
}

func (c *ListChecker) count(ctx context.Context) error {
	totals, err := c.Pipeline.Store().ListTotals(ctx)
	if err == nil {
		c.Totals(totals)
	}
	return err
}

// turn checks the lists that are due. It reports whether more has to be done at once.
func (c *ListChecker) turn(ctx context.Context, log *slog.Logger) (hasMore bool, err error) {
	clock := c.Pipeline.Store().DB().Clock()
	maps.DeleteFunc(c.failed, func(_ holdfast.ID, until time.Time) bool { return clock().After(until) })
	due, err := c.Pipeline.Store().ListsToCheck(ctx, listsPerTurn+len(c.failed))
	if err != nil {
		return false, err
	}
	var done inventory.ListCheck
	var all errgroup.Group
	all.SetLimit(maxInFlight)
	due = slices.DeleteFunc(due, func(id holdfast.ID) bool { _, isLeft := c.failed[id]; return isLeft })
	for _, id := range due {
		if ctx.Err() != nil {
			break
		}
		all.Go(func() error {
			checked, isLeft, err := c.check(ctx, id)
			c.mu.Lock()
			defer c.mu.Unlock()
			c.report.Found++
			c.report.Applied += checked.Offers + checked.Closed
			done.Offers, done.Closed, hasMore = done.Offers+checked.Offers, done.Closed+checked.Closed, hasMore || isLeft
			if err != nil && ctx.Err() == nil && !holdfast.HasCode(err, holdfast.CodeEventNotFound) {
				c.fail(id, clock().Add(listRetryDelay))
				log.ErrorContext(ctx, "Could not check a waiting list; trying again later", slog.Any("eventId", id), slog.Any("error", err))
			}
			return nil
		})
	}
	_ = all.Wait() // a list that fails does not stop the others
	if done.Offers+done.Closed > 0 {
		log.InfoContext(ctx, fmt.Sprintf("[WAITLIST JOB] Made %d offers and closed %d entries", done.Offers, done.Closed),
			slog.Int("offers", done.Offers), slog.Int("closed", done.Closed))
	}
	return hasMore, nil
}

func (c *ListChecker) fail(id holdfast.ID, until time.Time) {
	if c.failed == nil {
		c.failed = map[holdfast.ID]time.Time{}
	}
	c.failed[id] = until
	c.report.Errors++
}

// check does what is due for one list: all offers, because others get none until they are made, and one batch of entries to close.
func (c *ListChecker) check(ctx context.Context, id holdfast.ID) (done inventory.ListCheck, hasMore bool, err error) {
	for range checksPerTurn {
		result, err := c.Pipeline.Submit(ctx, id, inventory.CheckList{UpTo: c.Batch})
		if err != nil {
			return done, false, err
		}
		did := result.List
		if c.Checked != nil && did.Offers+did.Closed > 0 {
			c.Checked(did)
		}
		done.Offers, done.Closed = done.Offers+did.Offers, done.Closed+did.Closed
		if hasMore = result.MoreOffers; !hasMore || did.Offers == 0 {
			break
		}
	}
	return done, hasMore, nil
}
