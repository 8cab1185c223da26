package webhooks

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// reloadInterval is the time after which a new endpoint, or one that was disabled, is noticed.
	reloadInterval = time.Second
	countInterval  = 15 * time.Second
	// pollInterval is the time after which a numbered change is noticed while there are many. After two polls that
	// found no change, the dispatcher waits for a change stream or, without one, polls every idlePollInterval.
	pollInterval     = 25 * time.Millisecond
	idlePollInterval = 100 * time.Millisecond
)

// Totals has the metrics of all endpoints together.
type Totals struct {
	Enabled       int
	Disabled      map[string]int // by reason
	Backlog       int64          // deliveries that wait at the enabled endpoint with most of them, and records that are not fanned out
	Pending, Dead int64          // deliveries that have failed and are retried, and those that were given up
}

// Observer has callbacks for metrics. Each of them may be nil.
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

// Encode makes the CloudEvent of a change, as GET /api/changes lists it.
type Encode func(ctx context.Context, c holdfast.Change) ([]byte, error)

// Dispatcher fans out changes and sends deliveries. Only one process at a time should run it; package webhooks
// describes what happens if two do.
type Dispatcher struct {
	*Service
	encode  Encode
	observe Observer
	// leaseLost is the cause of a context that ends because another process may run a dispatcher.
	leaseLost error
	now       mongodb.Clock // of the database, as it was at the beginning of the run

	counts  struct{ delivered, failed, dead atomic.Int64 }
	running sync.WaitGroup
	mu      sync.Mutex
	senders map[ID]*sender
}

// NewDispatcher returns a dispatcher for one run. If the context of the run ends with the cause leaseLost, the tries in
// flight end at once.
func (s *Service) NewDispatcher(encode Encode, o Observer, leaseLost error) *Dispatcher {
	return &Dispatcher{Service: s, encode: encode, observe: o, leaseLost: leaseLost, senders: map[ID]*sender{}}
}

// Counts has the numbers of tries of a run, by result.
type Counts struct{ Delivered, Failed, Dead int }

// Counts returns the counts of the run so far.
func (d *Dispatcher) Counts() Counts {
	return Counts{Delivered: int(d.counts.delivered.Load()), Failed: int(d.counts.failed.Load()), Dead: int(d.counts.dead.Load())}
}

// Run fans out and sends until ctx ends. If once is set, it returns when each endpoint was sent every change that
// was committed, or has failed. It returns an error only if it can't begin.
func (d *Dispatcher) Run(ctx context.Context, log *slog.Logger, once bool) (err error) {
	if d.now, err = d.clock(ctx); err != nil {
		return err
	}
	defer d.running.Wait()
	if once {
		if _, _, err := d.catchUp(ctx); err != nil {
			return err
		}
		endpoints, err := d.find(ctx, isEnabled)
		d.open(ctx, log, endpoints, true)
		return mongodb.Translate(err)
	}
	d.running.Go(func() {
		for ctx.Err() == nil {
			d.protect(ctx, log, func() { d.fanOutAlways(ctx, log) })
		}
	})
	for counted := (time.Time{}); ctx.Err() == nil; pause(ctx, reloadInterval) {
		endpoints, err := d.find(ctx, bson.D{})
		if err != nil {
			log.WarnContext(ctx, "[WEBHOOKS JOB] Endpoints can't be read; trying again", slog.Any("error", err))
			continue
		}
		d.open(ctx, log, endpoints, false)
		if now := d.now(); d.observe.Totals != nil && now.Sub(counted) >= countInterval {
			counted = now
			d.reportTotals(ctx, endpoints)
		}
	}
	return nil
}

// protect calls run. A panic in run ends neither the process nor the other loops: the work of the loop is stored
// already, or is repeated.
func (d *Dispatcher) protect(ctx context.Context, log *slog.Logger, run func()) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "[WEBHOOKS JOB] A loop panicked", slog.Any("error", p), slog.String("stack", string(debug.Stack())))
			pause(ctx, failedDelay)
		}
	}()
	run()
}

// fanOutAlways fans out numbered changes until ctx ends.
func (d *Dispatcher) fanOutAlways(ctx context.Context, log *slog.Logger) {
	wait := d.changes.NumberWaker(idlePollInterval)
	for isBusy := true; ctx.Err() == nil; {
		if !d.wake(nil) { // the next new endpoint moves the cursor to the end
			pause(ctx, reloadInterval)
			continue
		}
		at, got, err := d.fanOut(ctx, d.now())
		switch {
		case err != nil && ctx.Err() == nil:
			log.WarnContext(ctx, "[WEBHOOKS JOB] Changes can't be fanned out; trying again", slog.Any("error", err))
			pause(ctx, failedDelay)
		case got != nil:
			isBusy = true
			d.wake(got)
		case isBusy:
			isBusy = false
			pause(ctx, pollInterval)
		default:
			isBusy = wait(ctx, at)
		}
	}
}

// wake makes the senders of endpoints look for deliveries, and reports whether there are senders.
func (d *Dispatcher) wake(got map[ID]bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id := range got {
		if s := d.senders[id]; s != nil {
			select {
			case s.wake <- struct{}{}:
			default:
			}
		}
	}
	return len(d.senders) > 0
}

// open starts a sender for each enabled endpoint that has none. A sender ends when its endpoint is no longer
// enabled.
func (d *Dispatcher) open(ctx context.Context, log *slog.Logger, endpoints []Endpoint, once bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range endpoints {
		e := &endpoints[i]
		if e.State != Enabled || d.senders[e.ID] != nil {
			continue
		}
		s := d.newSender(e, log)
		d.senders[e.ID] = s
		d.running.Go(func() {
			d.protect(ctx, s.log, func() { s.run(ctx, once) })
			d.mu.Lock()
			defer d.mu.Unlock()
			delete(d.senders, e.ID)
		})
	}
}

// reportTotals updates the metrics. If a read fails, they stay unchanged.
func (d *Dispatcher) reportTotals(ctx context.Context, endpoints []Endpoint) {
	t, hasFailed := Totals{Disabled: map[string]int{}}, false
	count := func(id ID, state string, which ...bson.D) int64 {
		n, err := d.count(ctx, id, state, which...)
		hasFailed = hasFailed || err != nil
		return n
	}
	for _, e := range endpoints {
		t.Pending += count(e.ID, Pending, wasTried)
		t.Dead += count(e.ID, Dead)
		if e.State == Enabled {
			t.Enabled++
			t.Backlog = max(t.Backlog, count(e.ID, Pending))
		} else {
			t.Disabled[e.Reason]++
		}
	}
	if t.Enabled > 0 {
		_, end, err := d.changes.Ends(ctx)
		at, failure := d.readCursor(ctx, end)
		hasFailed = hasFailed || err != nil || failure != nil
		t.Backlog += max(0, end.Seq-at.Seq)
	}
	if !hasFailed {
		d.observe.Totals(t)
	}
}
