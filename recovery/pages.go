package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// tally is a report that pages add to while others do.
type tally struct {
	mu sync.Mutex
	Report
}

func (t *tally) add(r Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Report.Report = t.Add(r.Report)
	t.Consumed += r.Consumed
	t.Corrections += r.Corrections
	t.Oversold += r.Oversold
	t.Reported += r.Reported
}

// eachPage lets walk hand over pages of work, of which inFlight are done at a
// time; it waits where there are as many. The first error ends the whole.
func eachPage(ctx context.Context, walk func(ctx context.Context, work func(func() error)) error) error {
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(inFlight)
	walked := walk(within, all.Go)
	if err := all.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the run was ended before its work: %w", context.Cause(ctx))
	}
	return walked
}

// often is the time between two lines of progress at least; people at a terminal
// are told more often.
const (
	often          = 5 * time.Second
	oftenForPeople = time.Second
)

// progress returns a function to call when so many more documents of a long step
// are done; it logs, now and then, how many and how fast. total 0 is not known.
func (r *Recovery) progress(log *slog.Logger, doing string, total int64) func(ctx context.Context, n int) {
	var mu sync.Mutex
	pace := often
	if r.Bar {
		pace = oftenForPeople
	}
	start := r.Clock()
	last, done := start, 0
	return func(ctx context.Context, n int) {
		mu.Lock()
		defer mu.Unlock()
		done += n
		if r.Clock.Since(last) < pace {
			return
		}
		last = r.Clock()
		line := []any{"done", done, "perSecond", int(float64(done) / r.Clock.Since(start).Seconds())}
		if total > 0 {
			line = append(line, "of", total)
			if r.Bar {
				line = append(line, "bar", bar(int64(done), total))
			}
		}
		log.InfoContext(ctx, "[RECOVERY] "+doing, line...)
	}
}

// bar is as long as the whole, and full as far as the work is.
func bar(done, total int64) string {
	const long = 30
	full := int(long * min(done, total) / total)
	return strings.Repeat("█", full) + strings.Repeat("░", long-full)
}
