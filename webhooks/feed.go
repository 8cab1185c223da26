package webhooks

import (
	"context"
	"log/slog"
	"sort"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
)

const (
	// pollInterval is how soon a numbered change is noticed while there are many. After maxEmpty reads that found none
	// MongoDB is asked to tell of the next one, or, without a change stream, it is noticed after idlePollInterval.
	pollInterval     = 25 * time.Millisecond
	idlePollInterval = 100 * time.Millisecond
	maxEmpty         = 3
	// readDelay passes after a read that failed.
	readDelay = time.Second
	// fedPage is how many changes are read at once, and maxFed how many of the latest ones are kept in memory, for all
	// endpoints. A page that ends within a record has all of it decoded again, and a hot event has records of hundreds.
	fedPage = 2000
	maxFed  = 4096
)

// Encode makes the CloudEvent of a change, as GET /api/changes lists it.
type Encode func(ctx context.Context, c holdfast.Change) ([]byte, error)

// entry is a change that endpoints are told. Its body is made once, when the first one needs it.
type entry struct {
	at      changes.Position
	change  holdfast.Change
	id      string
	subject string

	mu   sync.Mutex
	body []byte
}

func newEntry(p changes.Placed) *entry {
	return &entry{at: p.Position, change: p.Change, id: p.ID(), subject: p.Subject()}
}

func (e *entry) encoded(ctx context.Context, encode Encode) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.body != nil {
		return e.body, nil
	}
	body, err := encode(ctx, e.change)
	if err == nil {
		e.body = body
	}
	return body, err
}

// feed has the latest numbered changes, read once for all endpoints.
type feed struct {
	log     *slog.Logger
	of      *changes.Log
	isStill bool // nothing is read: what comes behind the end is left to a later run
	// beforeMove is called when changes were read, before they can be taken.
	beforeMove func(ctx context.Context) error

	mu      sync.Mutex
	entries []*entry         // all changes from begin to end
	begin   changes.Position // in front of the first entry
	end     changes.Position // behind the last change that was read
	moved   chan struct{}    // closed when end moves
}

// newFeed returns a feed of the changes behind the present end.
func newFeed(ctx context.Context, of *changes.Log, log *slog.Logger, isStill bool) (*feed, error) {
	_, end, err := of.Ends(ctx)
	return &feed{of: of, log: log, isStill: isStill, begin: end, end: end, moved: make(chan struct{})}, err
}

// run reads what is numbered, until ctx ends.
func (f *feed) run(ctx context.Context) {
	waker, isWoken := f.of.NewNumberWaker(idlePollInterval), false
	for empty := 0; ctx.Err() == nil; empty++ {
		n, err := f.read(ctx)
		delay := pollInterval
		switch {
		case err != nil && ctx.Err() == nil:
			f.log.WarnContext(ctx, "[WEBHOOKS JOB] Changes can't be read; trying again", slog.Any("error", err))
			delay = readDelay
		case n >= fedPage:
			empty, isWoken = 0, false
			continue
		case n > 0:
			empty = 0
		case empty >= maxEmpty && !isWoken:
			isWoken = waker.Wait(ctx, f.end)
			continue
		}
		isWoken = false
		pause(ctx, delay)
	}
}

// read reads one page, and returns how many changes it has. If they are fewer than a page, there are no others.
func (f *feed) read(ctx context.Context) (n int, err error) {
	from := f.end
	found, next, err := f.of.Read(ctx, &from, changes.Filter{}, fedPage)
	if holdfast.HasCode(err, holdfast.CodeChangesGone) { // the database was restored, or retention was faster
		_, end, err := f.of.Ends(ctx)
		if err == nil {
			err = f.beforeMove(ctx)
		}
		if err == nil {
			f.reset(end)
		}
		return 0, err
	}
	if err == nil && next != from {
		err = f.beforeMove(ctx)
	}
	if err != nil || next == from {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range found {
		f.entries = append(f.entries, newEntry(p))
	}
	f.end = next
	if surplus := len(f.entries) - maxFed; surplus > 0 {
		f.begin = f.entries[surplus].at
		f.entries = append([]*entry(nil), f.entries[surplus:]...)
	}
	f.notify()
	return len(found), nil
}

func (f *feed) reset(at changes.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.entries, f.begin, f.end = nil, at, at
	f.notify()
}

func (f *feed) notify() {
	close(f.moved)
	f.moved = make(chan struct{})
}

// after returns up to limit changes behind a position, and the position behind them. isFed: the position is neither
// further behind than what is in memory, nor ahead of it: then the endpoint has read more than the feed, or the
// database was restored from a backup. moved is closed when there is more.
func (f *feed) after(from changes.Position, limit int) (found []*entry, next changes.Position, isFed bool, moved <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if from.Compare(f.begin) < 0 {
		return nil, from, false, f.moved
	}
	if ahead := from.Compare(f.end); ahead >= 0 {
		return nil, from, ahead == 0 || f.isStill, f.moved
	}
	first := sort.Search(len(f.entries), func(n int) bool { return f.entries[n].at.Compare(from) >= 0 })
	if found = f.entries[first:]; len(found) > limit {
		return found[:limit:limit], found[limit].at, true, f.moved
	}
	return found[:len(found):len(found)], f.end, true, f.moved
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// last is behind the last change that was read.
func (f *feed) last() changes.Position {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.end
}
