package recovery

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// eventPageSize is the number of events in a page. idPageSize is the number of sales or locks in a page, of
	// which only the IDs are read.
	eventPageSize = 1000
	idPageSize    = 5000
	// maxInFlight is how many pages are processed at a time: MongoDB uses one core for
	// each.
	maxInFlight = 4
)

// eachPage calls walk, which calls work for each page. work waits while maxInFlight pages are in flight. The first
// error ends the walk.
func eachPage(ctx context.Context, walk func(ctx context.Context, work func(func() error)) error) error {
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(maxInFlight)
	walked := walk(within, all.Go)
	if err := all.Wait(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("the run was ended before its work was done: %w", context.Cause(ctx))
	}
	return walked
}

func oneAtATime[T any](handle func(T) error) func(T) error {
	var mu sync.Mutex
	return func(page T) error {
		mu.Lock()
		defer mu.Unlock()
		return handle(page)
	}
}

// Progress is the progress of a long step.
type Progress struct {
	Doing       string
	Done, Total int64 // documents; Total is 0 if it is unknown
	PerSecond   int64
}

const defaultProgressInterval = 5 * time.Second

// progress returns a function that counts the documents of a step as done.
func (p *pass) progress(doing string, total int64) func(ctx context.Context, n int) {
	if p.onProgress == nil {
		return func(context.Context, int) {}
	}
	var mu sync.Mutex
	clock := p.store().DB().Clock()
	interval := cmp.Or(p.ProgressInterval, defaultProgressInterval)
	start := clock()
	last, done := start, int64(0)
	return func(ctx context.Context, n int) {
		mu.Lock()
		defer mu.Unlock()
		done += int64(n)
		if clock.Since(last) < interval {
			return
		}
		last = clock()
		p.onProgress(ctx, Progress{Doing: doing, Done: done, Total: total, PerSecond: int64(float64(done) / clock.Since(start).Seconds())})
	}
}

// LogProgress is an OnProgress that writes a line to the log.
func LogProgress(ctx context.Context, log *slog.Logger, p Progress) {
	line := []slog.Attr{slog.Int64("done", p.Done), slog.Int64("perSecond", p.PerSecond)}
	if p.Total > 0 {
		line = append(line, slog.Int64("of", p.Total))
	}
	log.LogAttrs(ctx, slog.LevelInfo, "[RECOVERY] "+p.Doing, line...)
}
