package pipeline

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

const (
	// maxConflicts is how often a plan may go stale before the run holds the event: it
	// then writes the event before it reads, so other writers can't starve it. The first
	// attempts read first: they block the event's other writers for a shorter time.
	maxConflicts = 5
	// runTimeout bounds a run with all its repetitions.
	runTimeout = 15 * time.Second
	// maxSpares is how many due locks a run finds out that MongoDB does not end, one by one.
	maxSpares = 20
	// maxLoads bounds how often a decision asks for more.
	maxLoads = 8
	// fenceTimeout bounds a read that begins with a fence. A dead process's transaction
	// may hold the event. Only a transaction finds and ends it, so the next attempt is one.
	fenceTimeout = time.Second
	retryDelay   = 2 * time.Millisecond
)

// task is the commands of one event in a run.
type task struct {
	eventID   ID
	commands  func() []inventory.Command
	abandoned func(i int) bool    // nil: no caller can give up
	remote    func(i int) *remote // a caller in another process; nil: it is in this one
	origin    func(command int) holdfast.Origin

	needs inventory.Needs // what the decision needed so far
	read  *inventory.Event
	held  *inventory.State   // what the write that holds the event has returned, for the first decision
	known store.Known        // the event that this run has from the memory, with its occupancy if there is one
	seats *seating.Occupancy // as the decision has left it; nil: it did not use it
	seen  ID                 // the event that was read, also if the commands don't name one

	decidedOn *inventory.Event
	plan      inventory.Plan
	results   []inventory.Result
	applied   store.Applied
	proof     *proof // of the plan's refusals, under way
	hasRemote bool   // there are commands of other processes
	// isContended: other processes wrote the event lately.
	isContended bool
	isApart     bool // its event can't be part of a shared transaction; see share
}

// run carries tasks through load, decide and apply, in one transaction.
type run struct {
	pipeline *Pipeline
	tasks    []*task
	lookup   *lookup
	writer   int32                  // noted in contended events; 0: not noted
	unknown  map[ID]*holdfast.Error // users that do not exist
	keyClash bool                   // a key of the commands is in use
	// hold: the transaction writes the events before it reads.
	hold          bool
	conflicts     int // how often the plans went stale
	heldConflicts int // of these, in transactions that held their events
	spared        int // how often MongoDB rejected the change of a lock
	wrongMaps     int // how often the map of a seated event was wrong
}

const (
	// errAbandoned says that a caller has given up since its command was decided.
	errAbandoned = mongodb.AbortError("a caller has given up")
	// errUnguarded says that no condition can match the revision that a plan relies on.
	// Only a transaction that holds the event can carry it out.
	errUnguarded = mongodb.AbortError("the event's revision is no whole number")
	// errUnmatchable says that plans went stale although their transactions held the
	// event: no condition of a plan matches a document of other software. The queue then
	// commits the commands one by one.
	errUnmatchable = mongodb.AbortError("a document can't be guarded")
)

// maxHeldConflicts bounds how often a plan goes stale in a transaction that holds the
// event.
const maxHeldConflicts = 3

// readError is the error of a read outside of a transaction.
type readError struct{ cause error }

func (e readError) Error() string { return "the event could not be read: " + e.cause.Error() }
func (e readError) Unwrap() error { return e.cause }

// do decides and applies until the plans are written.
func (r *run) do(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	r.holdContested()
	for {
		db := r.pipeline.store.DB()
		db.LearnUpgrade(ctx)
		shared := db.Shared()
		var err error
		if r.hold {
			err = mongodb.Do(ctx, db, r.attemptHolding)
		} else {
			err = r.attempt(ctx)
		}
		var failed readError
		switch {
		case err == nil:
			r.remember()
			r.tellPaid()
			return nil
		case errors.Is(err, store.ErrStale):
			if r.hold {
				r.heldConflicts++
			}
			r.contend()
			if r.heldConflicts >= maxHeldConflicts {
				return errUnmatchable
			}
		case errors.Is(err, errAbandoned), errors.Is(err, store.ErrClock), db.RefusedAsFormer(ctx, err, shared), r.spares(err):
		case errors.Is(err, store.ErrKeyInUse):
			if r.keyClash { // the keys were read: another unique index refuses a document
				return holdfast.Refuse(holdfast.CodeUnavailable, "The request failed and changed nothing; try again.").By(err)
			}
			r.keyClash = true
			for _, t := range r.tasks {
				t.needs = t.needs.And(inventory.RepeatNeeds(t.commands()))
			}
		case errors.Is(err, store.ErrSeatTaken), errors.Is(err, store.ErrMap):
			if err := r.mend(ctx, err); err != nil {
				r.forget()
				return err
			}
		case r.writer != 0 && errors.As(err, new(store.RejectedEventError)): // other software may have left something in its place
			r.writer = 0
		case errors.Is(err, errUnproven):
			r.readProofs()
		case errors.Is(err, errUnknownUsers):
			r.unknown = r.lookup.unknown
		case errors.Is(err, errUnguarded), errors.Is(err, errNeedsLocks), errors.As(err, &failed) && ctx.Err() == nil:
			r.hold = true
		case errors.Is(err, errLeft):
			r.forget()
			return err
		default:
			r.forget()
			return mongodb.Translate(err)
		}
		r.forget()
		r.conflicts++
		r.hold = r.hold || r.conflicts >= maxConflicts
		if pauseErr := pause(ctx, r.conflicts); pauseErr != nil {
			return mongodb.ConflictError(errors.Join(err, pauseErr))
		}
	}
}

// spares reports whether MongoDB rejected the change of a lock that the plans only reclaim: the next
// attempt can take another one. After maxSpares it takes none of those that were planned.
func (r *run) spares(err error) bool {
	var rejected store.RejectedLocksError
	if !errors.As(err, &rejected) {
		return false
	}
	r.spared++
	for _, t := range r.tasks {
		reclaimed := t.reclaimed()
		among := slices.DeleteFunc(slices.Clone(reclaimed), func(id ID) bool { return !slices.Contains(rejected.IDs, id) })
		if len(among) == 0 {
			continue
		}
		all := r.spared > maxSpares
		if all {
			among = reclaimed
		}
		r.pipeline.store.Spare(t.eventID, among, all)
		return true
	}
	return false
}

// reclaimed are the locks that the plan ends for their seats: no command names them.
func (t *task) reclaimed() (ids []ID) {
	if !t.needs.Reclaim && len(t.needs.Holders) == 0 {
		return nil
	}
	for _, w := range t.plan.Locks {
		if !slices.Contains(t.needs.Locks, w.ID) {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// remember keeps the events as they were written or, where nothing was written, read.
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
		t.known, t.seats = store.Known{}, nil
		if seats != nil {
			seats.Settle()
		}
		if event != nil {
			r.pipeline.memory.keep(*event, seats)
		}
	}
}

// tellPaid tells the observer of the payments that were made.
func (r *run) tellPaid() {
	for _, t := range r.tasks {
		if paid := r.pipeline.paid; paid != nil && len(t.plan.NewPayments) > 0 {
			paid(t.plan)
		}
	}
}

// forget drops the remembered events: they may be out of date. It drops the occupancies of this run too,
// which have what was not committed.
func (r *run) forget() {
	for _, t := range r.tasks {
		t.known, t.seats = store.Known{}, nil
		r.pipeline.memory.forget(t.eventID)
	}
}

// pause waits for a random time, so that other transactions can commit. It does not wait
// before the first repetition.
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

// attemptHolding is an attempt in a transaction that writes the events first.
func (r *run) attemptHolding(ctx context.Context) error {
	for _, t := range r.tasks {
		if t.eventID.IsZero() {
			continue
		}
		if err := r.holdEvent(ctx, t); err != nil {
			return err
		}
	}
	return r.attempt(ctx)
}

// attempt decides and applies once.
func (r *run) attempt(ctx context.Context) error {
	for _, t := range r.tasks {
		t.applied, t.proof = store.Applied{}, nil
		if err := r.decide(ctx, t); err != nil {
			return err
		}
	}
	return r.apply(ctx)
}

// apply writes what was decided in one transaction.
func (r *run) apply(ctx context.Context) error {
	var plans []store.EventPlan
	for _, t := range r.tasks {
		if !t.plan.IsEmpty() {
			plans = append(plans, store.EventPlan{EventID: t.eventID, Plan: t.plan, Origin: t.origin, Writer: r.writer,
				IsContended: t.isContended, IsExpected: r.conflicts == 0 && (r.hold || !t.isContended)})
		}
	}
	if len(plans) == 0 {
		return r.beforeCommit()
	}
	end := r.startProofs(ctx)
	defer end()
	applied, err := r.pipeline.store.Apply(ctx, plans, r.beforeCommit)
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

// beforeCommit is the last check. Users that do not exist get no seats. A caller that has
// given up since the decision may have asked elsewhere. This is checked last, because the
// search for users and the proofs take time.
func (r *run) beforeCommit() error {
	if r.unknown == nil { // the commands of unknown users are not refused yet
		if err := r.lookup.wait(); err != nil {
			return err
		}
	}
	for _, t := range r.tasks {
		if err := t.proof.wait(t.plan); err != nil {
			return err
		}
	}
	var remotes []*remote
	for _, t := range r.tasks {
		if t.abandoned == nil {
			continue
		}
		for i, result := range t.results {
			if result.Acquires() && t.abandoned(i) {
				return errAbandoned
			}
			if caller := t.remote(i); caller != nil && result.Err == nil {
				remotes = append(remotes, caller)
			}
		}
	}
	if !askRemotes(remotes) {
		return errAbandoned
	}
	return nil
}
