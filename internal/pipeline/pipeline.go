package pipeline

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
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
	store   *store.Store
	rules   inventory.Rules
	users   UserLookup
	memory  memory
	repeats *repeats
	writer  int32 // of this process; random
	paid    func(inventory.Plan)
	listed  func(inventory.Plan)
	queue   *groupcommit.Queue[ID, queued, inventory.Result]
}

// Options are the options of New.
type Options struct {
	Rules inventory.Rules
	Users UserLookup // nil: every user exists
	// Paid is called with each plan that makes payments, after its commit. It may be nil.
	Paid func(inventory.Plan)
	// Listed is called with each plan that makes or changes entries of a waiting list, after its commit. It may be nil.
	Listed func(inventory.Plan)
	// WithoutMemory makes every command read its event from the database, like a process that has just started. It
	// is for tests which show that the cache does not change an answer.
	WithoutMemory bool
	// SettleTimeout bounds the search for the outcome of a batch. Only tests set it; if it is zero, the default of
	// groupcommit applies.
	SettleTimeout time.Duration
}

// New returns a pipeline that carries out commands in a store.
func New(s *store.Store, o Options) *Pipeline {
	p := &Pipeline{
		store: s, rules: o.Rules, users: o.Users, memory: memory{off: o.WithoutMemory}, repeats: newRepeats(),
		writer: 1 + rand.Int32N(math.MaxInt32), paid: o.Paid, listed: o.Listed,
	}
	p.queue = groupcommit.New(groupcommit.Options[ID, queued, inventory.Result]{
		Commit:    p.commit,
		Now:       s.DB().Clock(),
		IsUnknown: func(err error) bool { return holdfast.HasCode(err, holdfast.CodeOutcomeUnknown) },
		Orphaned:  p.releaseOrphan,
		Unsettled: p.releaseUnsettled,
		MayShare:  p.mayShare,
		Log:       s.DB().Log(),

		SettleTimeout: o.SettleTimeout,
	})
	return p
}

// IsRejected reports whether a single command or document of a batch can be the cause of its failure. Other commands
// may succeed.
func IsRejected(err error) bool {
	return errors.Is(err, store.ErrUnusable) || mongodb.RejectedForDocument(err)
}

// Submit queues a command of an event, and waits for its result, at most until ctx ends. It returns a refusal as an
// error. The package's document describes the errors of a caller that gives up.
func (p *Pipeline) Submit(ctx context.Context, eventID ID, c inventory.Command) (inventory.Result, error) {
	return mongodb.ConfirmRefusal(ctx, p.store.DB(), holdfast.IsNotFound, func(ctx context.Context) (inventory.Result, error) {
		result, err := p.queue.Submit(ctx, eventID, queuedOf(ctx, c))
		if err != nil {
			return inventory.Result{}, explain(err, c)
		}
		return result, result.Err
	})
}

// commit carries out a batch of the queue.
func (p *Pipeline) commit(ctx context.Context, b *groupcommit.Batch[ID, queued]) (groupcommit.Committed[inventory.Result], error) {
	ctx, end := traced(withReadTime(ctx, b), b)
	defer end()
	r := &run{pipeline: p, lookup: p.lookUp(ctx, b), hold: b.Settling, writer: p.writer,
		tx: mongodb.TxOptions{IsCommitter: true, RetryDelay: b.RetryDelay, Rest: b.Rest}}
	for _, g := range b.Groups {
		t := &task{group: group{g}}
		if b.Settling {
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
	for _, t := range r.tasks {
		group := groupcommit.GroupResult[inventory.Result]{
			Apart: t.isApart, Outcomes: make([]groupcommit.Outcome[inventory.Result], len(t.results)),
			Written: groupcommit.Written{Took: t.applied.Took, Contended: t.applied.Contended, Writers: t.applied.Writers},
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
