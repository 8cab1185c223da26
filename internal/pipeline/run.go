package pipeline

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

const (
	// maxConflicts is how often a plan may go stale before the run holds the event: the run then writes the event
	// before it reads, so that other writers can't starve it. The first attempts read first, which blocks the
	// event's other writers for a shorter time.
	maxConflicts = 5
	// maxStaleHeld is how often a plan may go stale in a transaction that holds the event. Nothing else can change the event
	// then, so a guard can't hold: a document contradicts its schema, or the decision.
	maxStaleHeld = 3
	// runTimeout bounds a run with all its retries.
	runTimeout = 15 * time.Second
	// maxLoads bounds how often a decision may request more data.
	maxLoads   = 18
	retryDelay = 2 * time.Millisecond
)

// task contains the commands of one event in a run, and their progress.
type task struct {
	group

	needs inventory.Needs // what the decision needed so far
	read  *inventory.Event
	held  *inventory.State   // the state that the write which holds the event has returned, for the first decision
	known store.Known        // the event that this run has taken from the cache, with its occupancy if there is one
	seats *seating.Occupancy // as the decision has left it; nil: it did not use it
	due   []inventory.Lock   // due locks that the decision knew

	decidedOn *inventory.Event
	plan      inventory.Plan
	results   []inventory.Result
	applied   store.Applied
	isApart   bool // its event can't be part of a shared transaction; see share
}

// run carries tasks through load, decide and apply, in one transaction.
type run struct {
	pipeline *Pipeline
	tasks    []*task
	tx       mongodb.TxOptions
	lookup   *lookup
	writer   int32                  // noted in contended events; 0 if it is not noted
	unknown  map[ID]*holdfast.Error // users that do not exist
	keyClash bool                   // a key of the commands is in use
	// unusable has the keys that a unique index refuses again and again: see inventory.State.
	unusable   map[inventory.UserKey]bool
	unsellable []string
	// hold says that the transaction writes the events before it reads.
	hold      bool
	conflicts int // how often the plans went stale
	staleHeld int // how often they went stale in a transaction that held the event
	wrongMaps int // how often the map of a seated event was wrong
}

const (
	// errDecideAgain says that the last check before the commit has found something that the decision did not know:
	// a caller has given up, or a user does not exist.
	errDecideAgain = mongodb.AbortError("a caller has given up, or a user does not exist")
	// errNeedsHold says that the decision has to be made in a transaction that holds the event.
	errNeedsHold = mongodb.AbortError("the event has to be held")
)

// do decides and applies until the plans are written.
func (r *run) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	r.holdContested()
	for {
		cause := r.attempt(ctx)
		var err error
		switch {
		case cause == nil:
			r.remember()
			r.report()
			return nil
		case errors.Is(cause, errNeedsHold): // what is remembered is still good
			r.hold = true
			continue
		case errors.Is(cause, store.ErrStale):
			err = r.contend(cause)
		case errors.Is(cause, errDecideAgain), errors.Is(cause, store.ErrClock):
		case isContradiction(cause):
			err = r.resolve(ctx, cause)
		default:
			err = mongodb.Translate(cause)
		}
		r.forget()
		if err != nil {
			return err
		}
		r.conflicts++
		r.hold = r.hold || r.conflicts >= maxConflicts
		if err := pause(ctx, r.conflicts); err != nil {
			return mongodb.ConflictError(errors.Join(cause, err))
		}
	}
}

// isContradiction reports whether MongoDB, or a damaged map, contradicts the decision.
func isContradiction(err error) bool {
	return errors.Is(err, store.ErrKeyInUse) || errors.Is(err, store.ErrSeatTaken) || errors.Is(err, store.ErrMap)
}

// resolve prepares the next attempt for the contradiction that this attempt has met.
func (r *run) resolve(ctx context.Context, cause error) error {
	if errors.Is(cause, store.ErrKeyInUse) {
		return r.readKeys(cause)
	}
	return r.mend(ctx, cause)
}

// readKeys makes the next attempt read the keys and IDs of its commands. If this attempt has read them, one of the
// keys is in a lock that does not count; only the command with that key is refused.
func (r *run) readKeys(cause error) error {
	if !r.keyClash {
		r.keyClash = true
		for _, t := range r.tasks {
			t.needs = t.needs.And(inventory.RepeatNeeds(t.commands()))
		}
		return nil
	}
	key, found := store.UsedKey(cause)
	if !found || r.unusable[key] {
		return holdfast.Refuse(holdfast.CodeUnavailable, "The request failed and changed nothing; try again.").By(cause)
	}
	if r.unusable == nil {
		r.unusable = map[inventory.UserKey]bool{}
	}
	r.unusable[key] = true
	return nil
}

// remember caches the events as they were written or, if they were not written, as they were read.
func (r *run) remember() {
	for _, t := range r.tasks {
		r.settleContest(t)
		event, seats := cmp.Or(t.applied.Event, t.read), t.seats
		switch {
		case seats != nil && event == nil: // the plan does not write the event
			event = t.decidedOn
		case seats != nil && event.Seating.PlanID != t.decidedOn.Seating.PlanID: // the map is of another hall now
			seats = nil
		case t.known.Seats != nil && seats == nil && event == nil: // nothing was decided on it
			event, seats = t.known.Event, t.known.Seats
		case t.known.Seats != nil && seats == nil && event.Revision == t.known.Event.Revision:
			seats = t.known.Seats
		}
		due := t.plan.StillDue(t.due)
		t.known, t.seats, t.due = store.Known{}, nil, nil
		if seats != nil {
			seats.Settle()
		}
		if event != nil {
			r.pipeline.memory.keep(*event, seats, due)
		}
	}
}

// report passes the plans that were written to the observers.
func (r *run) report() {
	for _, t := range r.tasks {
		r.pipeline.report(t.plan)
	}
}

func (p *Pipeline) report(plan inventory.Plan) {
	if p.paid != nil && len(plan.NewPayments) > 0 {
		p.paid(plan)
	}
	if p.listed != nil && len(plan.NewEntries)+len(plan.Entries) > 0 {
		p.listed(plan)
	}
}

// forget drops the events from the cache, because they may be out of date. It also drops the occupancies of this
// run, which contain changes that were not committed.
func (r *run) forget() {
	for _, t := range r.tasks {
		t.known, t.seats, t.due = store.Known{}, nil, nil
		r.pipeline.memory.forget(t.Key)
	}
}

// pause waits for a random time, so that other transactions can commit. It does not wait before the first retry.
func pause(ctx context.Context, conflicts int) error {
	if conflicts == 1 {
		return ctx.Err()
	}
	jitter := rand.N(retryDelay * time.Duration(min(conflicts, maxConflicts)))
	timer := time.NewTimer(retryDelay/2 + jitter)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt decides and applies once. If the run holds its events, it does so in a transaction that writes them first.
func (r *run) attempt(ctx context.Context) error {
	if !r.hold {
		return r.decideAndApply(ctx)
	}
	isRepeated := false
	_, err := mongodb.InTxWith(ctx, r.pipeline.store.DB(), r.tx, func(ctx context.Context) (struct{}, error) {
		if isRepeated { // this is a retry after a conflict: the cached event is out of date
			r.forget()
		}
		isRepeated = true
		for _, t := range r.tasks {
			if err := r.holdEvent(ctx, t); err != nil {
				return struct{}{}, err
			}
		}
		return struct{}{}, r.decideAndApply(ctx)
	})
	return err
}

func (r *run) decideAndApply(ctx context.Context) error {
	for _, t := range r.tasks {
		t.applied = store.Applied{}
		if err := r.decide(ctx, t); err != nil {
			return err
		}
	}
	return r.apply(ctx)
}

// apply writes the decision in one transaction.
func (r *run) apply(ctx context.Context) error {
	var plans []store.EventPlan
	for _, t := range r.tasks {
		if !t.plan.IsEmpty() {
			plans = append(plans, store.EventPlan{EventID: t.Key, Plan: t.plan, Origins: t.origins(), Writer: r.writer,
				IsContended: t.Contended, IsExpected: r.conflicts == 0 && (r.hold || !t.Contended)})
		}
	}
	if len(plans) == 0 {
		return r.beforeCommit()
	}
	applied, err := r.pipeline.store.Apply(ctx, r.tx, plans, r.beforeCommit)
	if err != nil {
		return err
	}
	for _, t := range r.tasks {
		if t.plan.IsEmpty() {
			continue
		}
		t.applied, applied = applied[0], applied[1:]
		if event := t.applied.Event; event != nil {
			inventory.Complete(t.plan, t.results, t.applied.Now, event.Event)
		}
	}
	return nil
}

// beforeCommit is the last check. It refuses seats to users that do not exist. A caller that has given up since the
// decision may have sent its request to another process. That is checked last, because the lookup of users takes
// time.
func (r *run) beforeCommit() error {
	if r.unknown == nil { // the commands of unknown users are not refused yet
		unknown, err := r.lookup.wait()
		if err != nil {
			return err
		}
		if len(unknown) > 0 {
			r.unknown = unknown
			return errDecideAgain
		}
	}
	for _, t := range r.tasks {
		for i, result := range t.results {
			if result.Grants() && t.Abandoned(i) {
				return errDecideAgain
			}
		}
	}
	return nil
}
