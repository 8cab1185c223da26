package pipeline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// ID names an event, a user, a lock or a booking.
type ID = holdfast.ID

// Pipeline carries out commands in one database. It is safe for concurrent use.
type Pipeline struct {
	store     *store.Store
	rules     inventory.Rules
	users     UserLookup
	memory    memory
	repeats   *repeats
	writer    int32 // of this process; random
	paid      func(inventory.Plan)
	forwarder atomic.Pointer[Forwarder]
	queue     *groupcommit.Queue[ID, queued, inventory.Result]
}

// Options of New.
type Options struct {
	Rules inventory.Rules
	Users UserLookup // nil: every user exists
	// Paid is called with each plan that makes payments, after its commit; nil: it is not.
	Paid func(inventory.Plan)
	// WithoutMemory reads every event anew, like a process that has just started. For
	// tests: memory must not change an answer.
	WithoutMemory bool
	// SettleTimeout bounds the search for the outcome of a batch. It is zero but in tests: the
	// default of groupcommit.
	SettleTimeout time.Duration
}

// New returns a pipeline that carries out commands in a store.
func New(s *store.Store, o Options) *Pipeline {
	p := &Pipeline{
		store: s, rules: o.Rules, users: o.Users, memory: memory{off: o.WithoutMemory}, repeats: newRepeats(),
		writer: 1 + rand.Int32N(math.MaxInt32), paid: o.Paid,
	}
	p.queue = groupcommit.New(groupcommit.Options[ID, queued, inventory.Result]{
		Commit:     p.commit,
		Now:        s.DB().Clock(),
		IsUnknown:  func(err error) bool { return holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) },
		IsRejected: isDivisible,
		Orphaned:   p.releaseOrphan,
		Unsettled:  p.releaseUnsettled,
		MayShare:   p.mayShare,
		Log:        s.DB().Log(),

		SettleTimeout: o.SettleTimeout,
	})
	return p
}

// IsRejected reports whether one command of a batch, or a document of it, can be the cause of
// its failure. Other commands may succeed.
func IsRejected(err error) bool {
	return errors.Is(err, errUnmatchable) || errors.As(err, new(store.RejectedEventError)) || mongodb.RejectedForDocument(err)
}

// isDivisible reports whether a part of a rejected batch may succeed. All commands that write an
// event that can't be changed fail alike.
func isDivisible(err error) bool {
	return IsRejected(err) && !errors.As(err, new(store.RejectedEventError))
}

// Submit queues a command at its event, here or in the process that sells the event for others, and waits for its result,
// at most until ctx ends. A refusal is an error. The package's document describes the errors of a caller that
// gives up.
func (p *Pipeline) Submit(ctx context.Context, eventID ID, c inventory.Command) (inventory.Result, error) {
	if result, isDone, err := p.forward(ctx, eventID, c); isDone {
		return result, err
	}
	q := queuedOf(ctx, c)
	result, err := p.submitHere(ctx, eventID, q)
	if !errors.Is(err, errLeft) {
		return result, err
	}
	if result, isDone, err := p.forward(ctx, eventID, c); isDone {
		return result, err
	}
	q.mustStay = true
	return p.submitHere(ctx, eventID, q)
}

// submitHere queues a command in this process.
func (p *Pipeline) submitHere(ctx context.Context, eventID ID, q queued) (inventory.Result, error) {
	places := placesOf(eventID)
	return mongodb.ConfirmRefusal(ctx, p.store.DB(), holdfast.IsNotFound, places, func(ctx context.Context) (inventory.Result, error) {
		q.read = mongodb.ReadTimeOf(ctx)
		result, err := p.queue.Submit(ctx, eventID, q)
		if err != nil {
			return inventory.Result{}, explain(err, q.Command)
		}
		return result, result.Err
	})
}

// commit carries out a batch of the queue.
func (p *Pipeline) commit(ctx context.Context, b *groupcommit.Batch[ID, queued]) (groupcommit.Committed[inventory.Result], error) {
	ctx = mongodb.WithBeforeRetry(ctx, func(attempts int) error { return p.leaveToOwner(ctx, b, attempts) })
	ctx, end := traced(mongodb.WithRest(mongodb.WithFastRetry(withReadTime(ctx, b), b.RetryDelay), b.Rest), b)
	defer end()
	r := &run{pipeline: p, lookup: p.lookUp(ctx, b), hold: b.Settling}
	r.writer = p.writer
	for _, g := range b.Groups {
		t := &task{eventID: g.Key, commands: func() []inventory.Command { return commandsOf(g) },
			abandoned: g.Abandoned, remote: func(i int) *remote { return g.Commands[i].remote },
			origin: func(command int) holdfast.Origin { return g.Commands[command].origin }, isContended: g.Contended}
		for _, c := range g.Commands {
			r.hold = r.hold || c.lost
			t.hasRemote = t.hasRemote || c.remote != nil
		}
		if r.hold {
			t.needs = inventory.RepeatNeeds(t.commands())
		}
		r.tasks = append(r.tasks, t)
	}
	carryOut := r.do
	if len(r.tasks) > 1 {
		carryOut = r.share
	}
	if err := carryOut(ctx); err != nil {
		return groupcommit.Committed[inventory.Result]{}, err
	}
	var committed groupcommit.Committed[inventory.Result]
	p.tellForwarder(r.tasks)
	for _, t := range r.tasks {
		group := groupcommit.GroupResult[inventory.Result]{
			Apart: t.isApart, Outcomes: make([]groupcommit.Outcome[inventory.Result], len(t.results)),
			Written: groupcommit.Written{Took: t.applied.Took, Contended: t.applied.Contended, Writers: t.applied.Writers},
		}
		if t.hasRemote { // other processes leave the event to this one, so it need not wait for the turns of all
			group.Writers = nil
		}
		if t.applied.Event != nil {
			group.Revision = t.applied.Event.Revision
		}
		for i, result := range t.results {
			group.Outcomes[i] = groupcommit.Outcome[inventory.Result]{Result: result, Undecided: result.Undecided}
		}
		committed.Groups = append(committed.Groups, group)
	}
	return committed, nil
}

// tellForwarder tells which events other processes write too.
func (p *Pipeline) tellForwarder(tasks []*task) {
	f := p.forwarder.Load()
	if f == nil {
		return
	}
	for _, t := range tasks {
		if t.applied.Contended || t.isContended {
			(*f).Contended(t.eventID, t.applied.Writers)
		}
	}
}
