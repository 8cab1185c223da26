package expiry

import (
	"context"
	"sync"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/store"
)

// pagePosition is where the next run begins: at the start, or where the previous run was interrupted. Otherwise
// documents that no run can end would use up the time of every run, and the documents after them would never end.
type pagePosition struct {
	mu    sync.Mutex
	after store.After
}

func (p *pagePosition) load() store.After {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.after
}

func (p *pagePosition) save(after store.After) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.after = after
}

// sweepPages ends due documents page by page, and stops after a page that is not full.
func sweepPages[T document](
	ctx context.Context, p *progress, position *pagePosition, size int,
	read func(context.Context, store.After, int) ([]T, error), end func(context.Context, *progress, []T) error,
) error {
	if p.By == holdfast.EndedByRecovery {
		position = new(pagePosition) // a pass examines everything
	}
	after := position.load()
	for {
		due, err := read(ctx, after, size)
		if err == nil {
			err = end(ctx, p, due)
		}
		switch {
		case err != nil && ctx.Err() != nil: // the run was ended
			position.save(behindTried(p, after, due))
			return err
		case err != nil:
			return err
		case len(due) < size:
			position.save(store.After{})
			return nil
		}
		after = due[len(due)-1].Position()
		clear(p.tried)
	}
}

// setTried notes that the next run need not come back to the documents, whether they ended or not.
func setTried[T document](p *progress, items []T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tried == nil {
		p.tried = map[store.After]bool{}
	}
	for _, d := range items {
		p.tried[d.Position()] = true
	}
}

// behindTried returns the position after the documents of a page that were tried, up to the first one that was not
// tried. The next run begins with that one, so that each run gets further.
func behindTried[T document](p *progress, after store.After, due []T) store.After {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range due {
		if !p.tried[d.Position()] {
			break
		}
		after = d.Position()
	}
	return after
}
