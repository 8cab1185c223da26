package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/changes"
)

const (
	// maxInFlight bounds the tries at one endpoint at a time.
	maxInFlight = 64
	// maxTaken bounds the changes of one endpoint in memory, those not written yet included; maxTracked also counts those
	// that are settled and wait for an earlier one.
	maxTaken   = 2000
	maxTracked = 20_000
	// An endpoint gets no new changes while it has documents of maxSubjects subjects, or maxDocuments documents. Replays
	// may exceed both.
	maxSubjects  = 5000
	maxDocuments = 50_000

	// flushInterval is how long a result waits to be written, and retriedFlushDelay one of a document: the next
	// change of its subject waits for it.
	flushInterval     = time.Second
	retriedFlushDelay = 20 * time.Millisecond
	duePollInterval   = time.Second
	wakeInterval      = 30 * time.Second
	flushTimeout      = 20 * time.Second
	// stopTimeout is how long tries in flight may take to end when the process stops, and lastFlushTimeout the write
	// of their results.
	stopTimeout      = 3 * time.Second
	lastFlushTimeout = 3 * time.Second
)

// runner tells one endpoint. One goroutine has its state; others make the tries.
type runner struct {
	*Dispatcher
	feed   *feed
	send   *sender
	log    *slog.Logger
	wake   chan struct{}
	newest atomic.Pointer[Endpoint] // as it was read last
	idle   atomic.Bool              // nothing is left to do now
	behind atomic.Int64             // records behind the end

	endpoint *Endpoint
	track    *track
	health   health
	blocked  map[string]bool // subjects with documents that are PENDING
	pending  int64           // such documents; perhaps there are fewer
	tries    chan *try
	senders  int // goroutines that take tries
	results  chan tried
	inFlight int

	due         []*try          // documents to be tried
	dueSubjects map[string]bool // of documents in flight
	polledAt    time.Time
	wokenAt     time.Time // when documents were looked for that wait for nothing
	isMoreDue   bool      // perhaps
	pollAgain   bool      // the last poll failed
	hasReplay   bool      // there are more documents than the runner knows of

	faults   map[string]fault // of changes whose event could not be made, by their IDs
	held     []*item          // those of them that are no documents, in the order of their times
	warnedAt time.Time

	written   flush // what is not written yet
	stored    changes.Position
	flushAt   time.Time // zero: nothing is to be written
	hasFailed bool      // the last flush

	isPartOfPage bool
	moved        <-chan struct{}
}

// run tells the endpoint until ctx ends, another runner replaces this one, or the endpoint is disabled.
func (r *runner) run(ctx context.Context) {
	defer r.send.close()
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	var senders sync.WaitGroup
	defer senders.Wait()
	defer stopSending()
	defer close(r.tries)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		r.readConfig()
		r.pollDue(ctx)
		if err := r.take(ctx); err != nil {
			r.log.WarnContext(ctx, "[WEBHOOKS JOB] Changes can't be read; trying again", slog.Any("error", err))
		}
		r.start(sending, &senders)
		if r.flushIfDue(ctx) {
			return
		}
		r.noteState()
		timer.Reset(r.nextWake())
		select {
		case <-ctx.Done():
		case t := <-r.results:
			r.ended(t)
			r.drain()
		case <-r.moved:
		case <-r.wake:
		case <-timer.C:
		}
	}
	r.stop(ctx, stopSending)
}

// drain takes the results that are there already.
func (r *runner) drain() {
	for {
		select {
		case t := <-r.results:
			r.ended(t)
		default:
			return
		}
	}
}

// readConfig takes over what has changed of the endpoint.
func (r *runner) readConfig() {
	newest := r.newest.Load()
	if newest == r.endpoint {
		return
	}
	if newest.URL != r.endpoint.URL { // perhaps that was the fault
		r.health.nextProbe = time.Time{}
	}
	if newest.replays != r.endpoint.replays {
		r.polledAt, r.hasReplay = time.Time{}, true
	}
	r.endpoint = newest
}

// nextWake is how long nothing happens unless a try ends or changes come.
func (r *runner) nextWake() time.Duration {
	now, next := r.now(), duePollInterval
	soonest := func(at time.Time) {
		if !at.IsZero() {
			next = min(next, max(0, at.Sub(now)))
		}
	}
	soonest(r.flushAt)
	if len(r.held) > 0 {
		soonest(r.faults[r.held[0].entry.id].until)
	}
	soonest(r.pollAt(now))
	if r.health.isFailing() && r.inFlight == 0 && len(r.track.ready) > 0 {
		soonest(r.health.nextProbe)
	}
	return max(next, time.Millisecond)
}

func (r *runner) noteState() {
	waits := len(r.held) > 0 || !r.health.isFailing() && (len(r.track.ready) > 0 || r.isPartOfPage)
	r.idle.Store(r.inFlight == 0 && !waits && len(r.due) == 0 && r.flushAt.IsZero() && !r.polledAt.IsZero())
	r.behind.Store(max(0, r.feed.last().Seq-r.stored.Seq))
}

// stop waits for the tries in flight, and writes their results. Without its lease it sends nothing more.
func (r *runner) stop(ctx context.Context, stopSending func()) {
	if r.isLeaseLost(ctx) {
		stopSending()
	}
	timeout := time.NewTimer(stopTimeout)
	defer timeout.Stop()
	for r.inFlight > 0 {
		select {
		case t := <-r.results:
			r.ended(t)
		case <-timeout.C:
			stopSending()
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlushTimeout)
	defer cancel()
	if err := r.flush(ctx); err != nil && !errors.Is(err, errReplaced) {
		r.log.WarnContext(ctx, "[WEBHOOKS JOB] The last results were not written; their changes are sent again", slog.Any("error", err))
	}
}
