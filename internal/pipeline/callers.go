package pipeline

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// queued is a command in the queue, with the trace of its caller, the time that its reads must not be older than,
// and the origin of its changes.
type queued struct {
	inventory.Command
	span   trace.SpanContext
	read   mongodb.ReadTime
	origin holdfast.Origin
}

func queuedOf(ctx context.Context, c inventory.Command) queued {
	return queued{
		Command: c, span: trace.SpanContextFromContext(ctx), read: mongodb.ReadTimeOf(ctx), origin: holdfast.OriginOf(ctx),
	}
}

// withReadTime returns a context whose reads are not older than any caller of the batch requires.
func withReadTime(ctx context.Context, b *groupcommit.Batch[ID, queued]) context.Context {
	for _, g := range b.Groups {
		for _, c := range g.Commands {
			ctx = mongodb.WithReadTime(ctx, c.read)
		}
	}
	return ctx
}

// group contains the commands of an event in a batch.
type group struct{ groupcommit.Group[ID, queued] }

// commands returns the commands, and marks those whose callers have given up by now.
func (g group) commands() []inventory.Command {
	commands := make([]inventory.Command, len(g.Commands))
	for i, c := range g.Commands {
		commands[i] = c.Command
		if g.Abandoned(i) {
			commands[i] = inventory.Abandon(c.Command)
		}
	}
	return commands
}

func (g group) origins() []holdfast.Origin {
	origins := make([]holdfast.Origin, len(g.Commands))
	for i, c := range g.Commands {
		origins[i] = c.origin
	}
	return origins
}

// explain turns an error of the queue into one with a code.
func explain(err error, c inventory.Command) error {
	acquire, acquires := c.(inventory.Acquire)
	sale, sells := c.(inventory.Sell)
	switch {
	case errors.Is(err, groupcommit.ErrFull):
		return holdfast.Refuse(holdfast.CodeUnavailable, "Too many requests wait for this event; try again.")
	case errors.Is(err, groupcommit.ErrNotStarted),
		errors.Is(err, groupcommit.ErrInFlight) && acquires && acquire.Key == "":
		return holdfast.Refuse(holdfast.CodeUnavailable, "No answer in time; no seats are kept.").By(err)
	case errors.Is(err, groupcommit.ErrInFlight), errors.Is(err, groupcommit.ErrUnknown):
		unknown := holdfast.Refuse(holdfast.CodeOutcomeUnknown, "No answer in time; ask again with the same key.").By(err)
		if acquires {
			unknown = unknown.With(holdfast.UnknownLock{LockID: acquire.LockID})
		}
		if sells {
			unknown = unknown.With(holdfast.UnknownLock{LockID: sale.LockID})
		}
		return unknown
	default:
		return err
	}
}

// releaseUnsettled releases the lock that may have been created for a caller that gave up and has no key to find it
// by.
func (p *Pipeline) releaseUnsettled(eventID ID, c queued) {
	if acquire, ok := c.Command.(inventory.Acquire); ok && acquire.Key == "" {
		p.queue.Post(eventID, queued{Command: inventory.Release{LockID: acquire.LockID}, origin: c.origin})
	}
}

// releaseOrphan releases the lock of a caller that gave up and has no key to find it by. If the queue is full, the
// lock expires.
func (p *Pipeline) releaseOrphan(eventID ID, c queued, result inventory.Result) {
	if acquire, ok := c.Command.(inventory.Acquire); ok && acquire.Key == "" && result.Err == nil {
		p.queue.Post(eventID, queued{Command: inventory.Release{LockID: result.Lock.ID}, origin: c.origin})
	}
}

// Queue returns the queue of the commands, for tests.
func (p *Pipeline) Queue() *groupcommit.Queue[ID, queued, inventory.Result] { return p.queue }

// Close waits until every command in flight has its answer, or ctx ends.
func (p *Pipeline) Close(ctx context.Context) error { return p.queue.Close(ctx) }
