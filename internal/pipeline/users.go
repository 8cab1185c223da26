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

// errUnknownUsers says that a batch has commands of users that do not exist. They are
// refused when the batch is decided again.
const errUnknownUsers = mongodb.AbortError("the batch has commands of unknown users")

// lookupTimeout bounds the search. A transaction that waits for it holds its event, and another
// process ends it as an orphan if it has been idle for too long.
const lookupTimeout = mongodb.OrphanIdleTimeout / 2

// lookup is the search for a batch's users, concurrent with its transaction.
type lookup struct {
	done     chan struct{}
	unknown  map[ID]*holdfast.Error
	err      error
	panicked any // the value of UserLookup's panic
}

// lookUp starts the search for the users that acquire seats; nil if there are none.
func (p *Pipeline) lookUp(ctx context.Context, b *groupcommit.Batch[ID, queued]) *lookup {
	if p.users == nil {
		return nil
	}
	seen := map[ID]bool{}
	var userIDs []ID
	for _, g := range b.Groups {
		for _, c := range g.Commands {
			if acquire, ok := c.Command.(inventory.Acquire); ok && !seen[acquire.UserID] {
				seen[acquire.UserID] = true
				userIDs = append(userIDs, acquire.UserID)
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

// wait returns nil once all users are known to exist. It panics if UserLookup did, on
// the goroutine of the commit: the queue answers the batch and goes on.
func (l *lookup) wait() error {
	if l == nil {
		return nil
	}
	<-l.done
	if l.panicked != nil {
		panic(fmt.Errorf("looking up users panicked: %v", l.panicked))
	}
	if l.err == nil && len(l.unknown) > 0 {
		return errUnknownUsers
	}
	return l.err
}

// unknownUsers are the users that do not exist, once they are known.
func (l *lookup) unknownUsers() map[ID]*holdfast.Error {
	if l == nil {
		return nil
	}
	<-l.done
	return l.unknown
}
