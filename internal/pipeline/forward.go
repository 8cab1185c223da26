package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/groupcommit"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Forwarder carries commands of busy events out in other processes; see package peers.
type Forwarder interface {
	// Forward carries a command out in another process, if that is better. Its errors are refusals and
	// groupcommit.ErrInFlight, if ctx ends.
	Forward(ctx context.Context, eventID ID, c inventory.Command) (inventory.Result, Forwarded, error)
	// Contended is told of commits to an event that other processes write too: the event, and the processes of its last
	// commits, this one last, as far as they are noted. It reports whether the event's commands are forwarded from now on.
	Contended(eventID ID, writers []int32) (isForwarded bool)
}

// Forwarded says what has become of a command that might be forwarded.
type Forwarded int

const (
	// NotForwarded says that nothing was done: this process carries the command out.
	NotForwarded Forwarded = iota
	// Carried says that there is a result, or that the caller has given up.
	Carried
	// Lost says that the other process has not answered. It may have carried the command out; from now on it does so only in
	// a transaction that has written the event already.
	Lost
)

// UseForwarder makes the pipeline forward commands. It is called at most once.
func (p *Pipeline) UseForwarder(f Forwarder) { p.forwarder.Store(&f) }

// Writer is what events note of this process.
func (p *Pipeline) Writer() int32 { return p.writer }

// Rules are the rules by which this process decides.
func (p *Pipeline) Rules() inventory.Rules { return p.rules }

// forward lets another process carry a command out. isDone is false if this process has to.
func (p *Pipeline) forward(ctx context.Context, eventID ID, c inventory.Command) (result inventory.Result, isDone bool, err error) {
	f := p.forwarder.Load()
	if f == nil {
		return result, false, nil
	}
	result, forwarded, err := (*f).Forward(ctx, eventID, c)
	switch forwarded {
	case Carried:
		if err != nil {
			return inventory.Result{}, true, explain(err, c)
		}
		return result, true, nil
	case Lost:
		result, err = p.settleLost(ctx, eventID, c)
		return result, true, err
	default:
		return result, false, nil
	}
}

// errLeft says that nothing was done, and that the commands are left to the process that sells the event.
var errLeft = errors.New("another process sells the event")

const (
	// firstLook is after how many failed attempts a batch asks which processes write its event, for the first time.
	firstLook = 2
	// lookTimeout bounds that read. It is needed for speed alone.
	lookTimeout = 200 * time.Millisecond
)

// leaveToOwner returns errLeft if a batch had better be carried out by another process: it keeps meeting commits of others. It is
// called after each attempt that fails, and looks after 2, 4, 8 … of them. What comes from another process, and what may have
// been carried out, is carried out here.
func (p *Pipeline) leaveToOwner(ctx context.Context, b *groupcommit.Batch[ID, queued], attempts int) error {
	f := p.forwarder.Load()
	if f == nil || attempts < firstLook || attempts&(attempts-1) != 0 || b.Settling || len(b.Groups) > 1 {
		return nil
	}
	g := b.Groups[0]
	if slices.ContainsFunc(g.Commands, func(c queued) bool { return c.remote != nil || c.lost || c.mustStay }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(mongodb.WithoutTx(ctx), lookTimeout)
	defer cancel()
	writers, err := p.store.Writers(ctx, g.Key)
	if err == nil && (*f).Contended(g.Key, append(writers, p.writer)) {
		return errLeft
	}
	return nil // if it can't be read, the attempts go on
}

// settleLost carries out a command that another process may have carried out. A transaction that holds the event finds
// that out for a lock; a release and a cancellation find what they change. Where this fails, it is not known what was done.
func (p *Pipeline) settleLost(ctx context.Context, eventID ID, c inventory.Command) (inventory.Result, error) {
	if _, changes := c.(inventory.ChangeSeats); changes { // done twice it might choose other seats
		return inventory.Result{}, explain(fmt.Errorf("%w: the process that had it has not answered", groupcommit.ErrUnknown), c)
	}
	q := queuedOf(ctx, c)
	q.lost = true
	result, err := p.submitHere(ctx, eventID, q)
	code := holdfast.CodeOf(err)
	if err == nil || code != "" && code != holdfast.CodeUnavailable && code != holdfast.CodeOutcomeUnknown {
		return result, err
	}
	what := groupcommit.ErrUnknown
	if ctx.Err() != nil {
		what = groupcommit.ErrInFlight
		p.releaseUnsettled(eventID, q)
	}
	return inventory.Result{}, explain(fmt.Errorf("%w: %v", what, err), c) //nolint:errorlint // its causes say that nothing was done
}

// Orphaned is told the result of a forwarded command whose caller has given up. Its error is any without a code if
// there is no result.
func (p *Pipeline) Orphaned(eventID ID, c inventory.Command, origin holdfast.Origin, result inventory.Result) {
	q := queued{Command: c, origin: origin}
	if code := holdfast.CodeOf(result.Err); result.Err != nil && (code == "" || code == holdfast.CodeOutcomeUnknown) {
		p.releaseUnsettled(eventID, q)
		return
	}
	p.releaseOrphan(eventID, q, result)
}

// Remote is the caller of a command in another process.
type Remote struct {
	Waiters
	ID int64
}

// Waiters are the callers of another process.
type Waiters interface {
	// Waiting returns those of the commands whose callers still wait.
	Waiting(commands []int64) []int64
}

// SubmitFor is Submit for a caller in another process. It forwards nothing.
func (p *Pipeline) SubmitFor(ctx context.Context, eventID ID, c inventory.Command, caller Remote) (inventory.Result, error) {
	q := queuedOf(ctx, c)
	q.remote = &remote{Remote: caller}
	return p.submitHere(ctx, eventID, q)
}

// remote is a caller in another process, as far as this one knows.
type remote struct {
	Remote
	hasLeft atomic.Bool
}

// askRemotes asks the processes of the commands that change something whether their callers still wait. It reports whether all
// do. It is called after the event was written: a process that no longer waits carries the command out itself, and a
// caller that gives up later asks elsewhere; both have to wait for this transaction.
func askRemotes(callers []*remote) (allWait bool) {
	if len(callers) == 0 {
		return true
	}
	byProcess := map[Waiters][]*remote{}
	for _, c := range callers {
		byProcess[c.Waiters] = append(byProcess[c.Waiters], c)
	}
	answers := make(chan bool, len(byProcess))
	for process, callers := range byProcess {
		go func() { answers <- ask(process, callers) }()
	}
	allWait = true
	for range byProcess {
		allWait = <-answers && allWait
	}
	return allWait
}

// ask is askRemotes for one process.
func ask(process Waiters, callers []*remote) (allWait bool) {
	ids := make([]int64, len(callers))
	for i, c := range callers {
		ids[i] = c.ID
	}
	waiting := map[int64]bool{}
	for _, id := range process.Waiting(ids) {
		waiting[id] = true
	}
	allWait = true
	for _, c := range callers {
		if !waiting[c.ID] {
			c.hasLeft.Store(true)
			allWait = false
		}
	}
	return allWait
}
