package pipeline

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// ID names an event, a user, a lock or a booking.
type ID = holdfast.ID

// Pipeline is the way of commands to one database. Its methods are safe for use by
// many goroutines.
type Pipeline struct {
	store  *store.Store
	rules  inventory.Rules
	users  UserLookup
	memory memory
	queue  *groupcommit.Queue[ID, queued, inventory.Result]
}

// Options of New.
type Options struct {
	Rules inventory.Rules
	Users UserLookup // nil: every user exists
	// WithoutMemory reads every event anew, as a process does that has just begun. For
	// tests: what is remembered must never matter.
	WithoutMemory bool
}

// queued is a command in the queue, with its caller's trace.
type queued struct {
	inventory.Command
	span trace.SpanContext
}

// New returns the way of commands to a store.
func New(s *store.Store, o Options) *Pipeline {
	p := &Pipeline{store: s, rules: o.Rules, users: o.Users, memory: memory{off: o.WithoutMemory}}
	p.queue = groupcommit.New(groupcommit.Options[ID, queued, inventory.Result]{
		Commit:     p.commit,
		IsUnknown:  func(err error) bool { return holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) },
		IsRejected: mongodb.RejectedByServer,
		Orphaned:   p.releaseOrphan,
		Log:        s.DB().Log(),
	})
	return p
}

// Store is where the commands lead.
func (p *Pipeline) Store() *store.Store { return p.store }

// Queue is where commands wait, for metrics and tests.
func (p *Pipeline) Queue() *groupcommit.Queue[ID, queued, inventory.Result] { return p.queue }

// Close waits until every command in flight has its answer, or ctx ends.
func (p *Pipeline) Close(ctx context.Context) error { return p.queue.Close(ctx) }

// Submit queues a command at its event and waits for its result, but not longer than
// ctx. A refusal is an error; see the package's document for the others.
func (p *Pipeline) Submit(ctx context.Context, eventID ID, c inventory.Command) (inventory.Result, error) {
	return mongodb.ConfirmRefusal(ctx, p.store.DB(), holdfast.IsNotFound, func(ctx context.Context) (inventory.Result, error) {
		result, err := p.queue.Submit(ctx, eventID, queued{c, trace.SpanContextFromContext(ctx)})
		if err != nil {
			return inventory.Result{}, explain(err, c)
		}
		return result, result.Err
	})
}

// explain turns an error of the queue into one with a code.
func explain(err error, c inventory.Command) error {
	acquire, acquires := c.(inventory.Acquire)
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
		return unknown
	default:
		return err
	}
}

// releaseOrphan releases a lock that was made for a caller that had given up, where
// the caller has no key to find it by. If the queue is full, the lock expires.
func (p *Pipeline) releaseOrphan(eventID ID, c queued, result inventory.Result) {
	if acquire, ok := c.Command.(inventory.Acquire); ok && acquire.Key == "" && result.Err == nil {
		p.queue.Post(eventID, queued{Command: inventory.Release{LockID: result.Lock.ID}})
	}
}

// commit is what the queue calls with a batch.
func (p *Pipeline) commit(ctx context.Context, b *groupcommit.Batch[ID, queued]) (groupcommit.Committed[inventory.Result], error) {
	ctx, end := traced(mongodb.WithFastRetry(ctx), b)
	defer end()
	r := &run{pipeline: p, hold: b.Settling, lookup: p.lookUp(ctx, b)}
	for _, g := range b.Groups {
		r.tasks = append(r.tasks, &task{eventID: g.Key, settling: b.Settling, commands: func() []inventory.Command { return commandsOf(g) }, abandoned: g.Abandoned})
	}
	if err := r.do(ctx); err != nil {
		return groupcommit.Committed[inventory.Result]{}, err
	}
	var committed groupcommit.Committed[inventory.Result]
	for _, t := range r.tasks {
		group := groupcommit.GroupResult[inventory.Result]{
			Took: t.applied.Took, Outcomes: make([]groupcommit.Outcome[inventory.Result], len(t.results)),
		}
		if t.applied.Event != nil {
			group.Revision = t.applied.Event.Revision
		}
		for i, result := range t.results {
			group.Outcomes[i] = groupcommit.Outcome[inventory.Result]{Result: result, Again: result.Again}
		}
		committed.Groups = append(committed.Groups, group)
	}
	return committed, nil
}

// commandsOf marks the commands whose callers have given up by now.
func commandsOf(g groupcommit.Group[ID, queued]) []inventory.Command {
	commands := make([]inventory.Command, len(g.Commands))
	for i, c := range g.Commands {
		commands[i] = c.Command
		if acquire, ok := c.Command.(inventory.Acquire); ok && g.Abandoned(i) {
			acquire.Abandoned = true
			commands[i] = acquire
		}
	}
	return commands
}

// Do carries out a command that does not write the event.
func (p *Pipeline) Do(ctx context.Context, c inventory.Command) (inventory.Result, error) {
	return mongodb.ConfirmRefusal(ctx, p.store.DB(), mongodb.IsRefusal, func(ctx context.Context) (inventory.Result, error) {
		return p.one(ctx, ID{}, c, false)
	})
}

// Sweep carries out a command on an event that others write all the time. A zero
// eventID is for bookings whose locks take no seats.
func (p *Pipeline) Sweep(ctx context.Context, eventID ID, c inventory.Command) (inventory.Result, error) {
	return p.one(ctx, eventID, c, true)
}

// Repair proves an event's counter, and corrects it where it is wrong; the correction
// is nil where it is right.
func (p *Pipeline) Repair(ctx context.Context, eventID ID, runID string) (*inventory.Correction, error) {
	result, err := p.one(ctx, eventID, inventory.Repair{RunID: runID}, false)
	return result.Correction, err
}

// Plan decides a command on a state that was read, and changes nothing.
func (p *Pipeline) Plan(s inventory.State, c inventory.Command) (inventory.Plan, inventory.Result) {
	plan, results, needs := inventory.Decide(s, []inventory.Command{c}, p.rules)
	if !needs.None() {
		return inventory.Plan{}, inventory.Result{}
	}
	return plan, results[0]
}

func (p *Pipeline) one(ctx context.Context, eventID ID, c inventory.Command, hold bool) (inventory.Result, error) {
	t := &task{eventID: eventID, commands: func() []inventory.Command { return []inventory.Command{c} }}
	r := &run{pipeline: p, hold: hold, tasks: []*task{t}}
	if err := r.do(ctx); err != nil {
		return inventory.Result{}, err
	}
	return t.results[0], t.results[0].Err
}
