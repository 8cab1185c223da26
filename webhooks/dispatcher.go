package webhooks

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
)

const (
	// reloadInterval is how soon a changed endpoint is noticed while nothing is committed.
	reloadInterval = time.Second
	// onceInterval is how soon a manual run notices that all is told.
	onceInterval = 100 * time.Millisecond
	// replacedDelay passes before an endpoint is claimed again that another process has claimed.
	replacedDelay = 2 * time.Second
	countInterval = 15 * time.Second
)

// Totals are what metrics tell of all endpoints.
type Totals struct {
	Enabled       int
	Disabled      map[string]int // by reason
	Backlog       int64          // records of changes that the endpoint furthest behind has not settled
	Pending, Dead int64          // deliveries
}

// Observer has callbacks for metrics; each may be nil.
type Observer struct {
	FirstTry func(lag time.Duration) // from the commit of a change to its first try
	Tried    func(outcome string)    // one of Outcomes
	Totals   func(Totals)
}

func (o Observer) firstTry(lag time.Duration) {
	if o.FirstTry != nil {
		o.FirstTry(max(0, lag))
	}
}

func (o Observer) tried(outcome string) {
	if o.Tried != nil {
		o.Tried(outcome)
	}
}

// Dispatcher tells the endpoints of changes. One process at a time should run it; see package webhooks for what
// happens if two do.
type Dispatcher struct {
	*Service
	encode    Encode
	observe   Observer
	leaseLost error       // the cause of a context that ends because the lease was lost
	now       clock.Clock // of the database, as it was at the beginning of the run

	counts struct{ delivered, failed, dead atomic.Int64 }
}

// NewDispatcher returns a dispatcher for one run. A context whose cause is leaseLost ends tries at once.
func (s *Service) NewDispatcher(encode Encode, o Observer, leaseLost error) *Dispatcher {
	return &Dispatcher{Service: s, encode: encode, observe: o, leaseLost: leaseLost}
}

// Counts are what a run did.
type Counts struct{ Delivered, Failed, Dead int }

// Counts are of the run up to now.
func (d *Dispatcher) Counts() Counts {
	return Counts{Delivered: int(d.counts.delivered.Load()), Failed: int(d.counts.failed.Load()), Dead: int(d.counts.dead.Load())}
}

func (d *Dispatcher) isLeaseLost(ctx context.Context) bool {
	return d.leaseLost != nil && errors.Is(context.Cause(ctx), d.leaseLost)
}

// active is an endpoint's runner.
type active struct {
	*runner
	end     context.CancelFunc
	isEnded bool // end was called
	done    chan struct{}
}

func (a *active) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// Run tells the endpoints until ctx ends; once: until each was told of what there was, or has failed. It fails only if
// it can't begin.
func (d *Dispatcher) Run(ctx context.Context, log *slog.Logger, once bool) error {
	fed, err := newFeed(ctx, d.changes, log, once)
	if err == nil {
		d.now, err = d.clock(ctx)
	}
	if err != nil {
		return err
	}
	asked := make(chan chan<- error) // see ask
	fed.beforeMove = func(ctx context.Context) error { return ask(ctx, asked) }
	reading, stopReading := context.WithCancel(ctx)
	var background sync.WaitGroup
	if !once {
		background.Go(func() { fed.run(reading) })
	}
	runners, replaced := map[ID]*active{}, map[ID]time.Time{}
	defer func() {
		for _, a := range runners {
			a.end()
		}
		for _, a := range runners {
			<-a.done
		}
		stopReading()
		background.Wait()
	}()
	counted := time.Time{}
	var answer chan<- error
	for ctx.Err() == nil {
		endpoints, disabled, err := d.enabled(ctx)
		if err == nil {
			err = d.reconcile(ctx, log, fed, endpoints, runners, replaced)
		}
		if err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "[WEBHOOKS JOB] Endpoints can't be read; trying again", slog.Any("error", err))
		}
		if answer != nil {
			answer <- err
		}
		if now := d.now(); err == nil && d.observe.Totals != nil && now.Sub(counted) >= countInterval {
			counted = now
			d.tell(ctx, len(endpoints), disabled, runners)
		}
		if once && err == nil && isIdle(runners) {
			return nil
		}
		delay := reloadInterval
		if once {
			delay = onceInterval
		}
		answer = awaitAsker(ctx, asked, delay)
	}
	return nil
}

// ask has the endpoints read, and waits for it. So what is committed after a change of an endpoint finds the endpoint
// changed.
func ask(ctx context.Context, asked chan<- chan<- error) error {
	answer := make(chan error, 1)
	select {
	case asked <- answer:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitAsker waits, at most for a delay, until the feed asks. It returns where to say that the endpoints were read; nil: it has
// not asked.
func awaitAsker(ctx context.Context, asked <-chan chan<- error, delay time.Duration) chan<- error {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case answer := <-asked:
		return answer
	case <-ctx.Done():
	case <-timer.C:
	}
	return nil
}

// isIdle reports whether all runners have nothing to do now.
func isIdle(runners map[ID]*active) bool {
	for _, a := range runners {
		if !a.isDone() && !a.idle.Load() {
			return false
		}
	}
	return true
}

// reconcile starts runners of endpoints that have none, tells the others what has changed, and ends those of endpoints
// that are not enabled.
func (d *Dispatcher) reconcile(
	ctx context.Context, log *slog.Logger, fed *feed, endpoints []Endpoint, runners map[ID]*active, replaced map[ID]time.Time,
) (failure error) {
	wanted := map[ID]bool{}
	for i := range endpoints {
		e := &endpoints[i]
		wanted[e.ID] = true
		if a := runners[e.ID]; a != nil {
			if !a.isDone() {
				a.changed(e)
				continue
			}
			if delete(runners, e.ID); !a.isEnded {
				replaced[e.ID] = d.now()
			}
		}
		if at, was := replaced[e.ID]; was && d.now().Sub(at) < replacedDelay {
			continue
		}
		a, err := d.open(ctx, log, fed, e.ID)
		if failure = cmp.Or(failure, err); a != nil {
			runners[e.ID] = a
		}
	}
	for id, a := range runners {
		if wanted[id] {
			continue
		}
		a.stopRunning() // the others go on meanwhile
		if a.isDone() {
			delete(runners, id)
			delete(replaced, id)
		}
	}
	return failure
}

func (a *active) stopRunning() {
	a.isEnded = true
	a.end()
}

// changed tells a runner of its endpoint. One whose epoch was raised must begin anew: at another position, or not at all.
func (a *active) changed(e *Endpoint) {
	if a.newest.Load().epoch != e.epoch {
		a.end()
		return
	}
	a.newest.Store(e)
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// open claims an endpoint and starts its runner; nil: it is not enabled any more.
func (d *Dispatcher) open(ctx context.Context, log *slog.Logger, fed *feed, id ID) (*active, error) {
	e, found, err := d.claim(ctx, id)
	if err != nil || !found {
		return nil, err
	}
	blocked, err := d.wakeSubjects(ctx, id, d.now())
	if err != nil {
		return nil, err
	}
	pending, err := d.countPending(ctx, id, d.maxStored())
	if err != nil {
		return nil, err
	}
	r := &runner{
		Dispatcher: d, feed: fed, send: newSender(d.allowPrivate, d.now, d.hooks), log: log.With(slog.String("webhookId", id.String())),
		wake: make(chan struct{}, 1), endpoint: &e, track: newTrack(e.position), health: e.health, blocked: blocked, pending: pending,
		tries: make(chan *try, maxInFlight), results: make(chan tried, maxInFlight),
		dueSubjects: map[string]bool{}, faults: map[string]fault{}, stored: e.position,
	}
	r.newest.Store(&e)
	ctx, end := context.WithCancel(ctx)
	a := &active{runner: r, end: end, done: make(chan struct{})}
	go func() {
		defer close(a.done)
		defer end()
		defer func() {
			if p := recover(); p != nil { // another runner goes on from the last position
				r.log.ErrorContext(ctx, "[WEBHOOKS JOB] A runner panicked", slog.Any("error", p), slog.String("stack", string(debug.Stack())))
			}
		}()
		r.run(ctx)
	}()
	return a, nil
}

// tell tells the metrics.
func (d *Dispatcher) tell(ctx context.Context, enabled int, disabled map[string]int, runners map[ID]*active) {
	pending, dead, err := d.countDeliveries(ctx)
	if err != nil {
		return
	}
	totals := Totals{Enabled: enabled, Disabled: disabled, Pending: pending, Dead: dead}
	for _, a := range runners {
		totals.Backlog = max(totals.Backlog, a.behind.Load())
	}
	d.observe.Totals(totals)
}
