package pipeline

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// UserLookup returns the users that do not exist, each with its refusal.
type UserLookup func(ctx context.Context, userIDs []ID) (unknown map[ID]*holdfast.Error, err error)

// lookupTimeout bounds the lookup. A transaction that waits for the lookup holds its event, and another process ends
// the transaction as an orphan if it has been idle for too long.
const lookupTimeout = mongodb.OrphanIdleTimeout / 2

// lookup is the lookup of a batch's users, concurrent with its transaction.
type lookup struct {
	done     chan struct{}
	unknown  map[ID]*holdfast.Error
	err      error
	panicked any // the value of UserLookup's panic
}

// lookUp starts the lookup of the users that get seats. It returns nil if there are none.
func (p *Pipeline) lookUp(ctx context.Context, b *groupcommit.Batch[ID, queued]) *lookup {
	if p.users == nil {
		return nil
	}
	seen := map[ID]bool{}
	var userIDs []ID
	for _, g := range b.Groups {
		for _, c := range g.Commands {
			if id, ok := inventory.UserOf(c.Command); ok && !seen[id] {
				seen[id] = true
				userIDs = append(userIDs, id)
			}
		}
	}
	if len(userIDs) == 0 {
		return nil
	}
	l := &lookup{done: make(chan struct{})}
	p.queue.Go(func() {
		defer close(l.done)
		defer func() {
			if l.panicked = recover(); l.panicked != nil {
				p.store.DB().Log().LogAttrs(ctx, slog.LevelError, "Looking up users panicked",
					slog.Any("error", l.panicked), slog.String("stack", string(debug.Stack())))
			}
		}()
		ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
		defer cancel()
		l.unknown, l.err = p.users(ctx, userIDs)
	})
	return l
}

// wait waits for the lookup and returns the users that do not exist. It panics if UserLookup panicked, on the
// goroutine of the commit: the queue then answers the batch and goes on.
func (l *lookup) wait() (unknown map[ID]*holdfast.Error, err error) {
	if l == nil {
		return nil, nil
	}
	<-l.done
	if l.panicked != nil {
		panic(fmt.Errorf("looking up users panicked: %v", l.panicked))
	}
	return l.unknown, l.err
}
