package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
)

const (
	// maxInFlight bounds the tries at one endpoint at a time.
	maxInFlight = 64
	// maxTaken bounds the changes of one endpoint in memory, those not written yet included.
	maxTaken = 2000
	// maxPending bounds the documents that an endpoint has before it gets no new changes; maxSubjects what is read of
	// them, which replays may exceed.
	maxPending  = 5000
	maxSubjects = 4 * (maxPending + MaxReplayed)

	// flushInterval is how long a result waits to be written, and retriedFlushDelay one of a document: the next
	// change of its subject waits for it.
	flushInterval     = time.Second
	retriedFlushDelay = 20 * time.Millisecond
	duePollInterval   = time.Second
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
	blocked  map[string]bool // subjects with documents
	results  chan tried
	inFlight int

	due         []*try          // documents to be tried
	dueSubjects map[string]bool // of documents in flight
	polledAt    time.Time
	isMoreDue   bool // perhaps
	pollAgain   bool // the last poll failed

	written   flush // what is not written yet
	stored    changes.Position
	flushAt   time.Time // zero: nothing is to be written
	hasFailed bool      // the last flush
	backoff   time.Time // nothing is sent before it, because an event could not be made

	isPartOfPage bool
	moved        <-chan struct{}
}

// try is a change or a document on its way.
type try struct {
	item    *item // nil: of a document
	key     ID    // of the document
	record  *record
	isEarly bool // a document before its time
	begunAt time.Time
}

// tried is how a try ended.
type tried struct {
	*try
	result
	failure error // the event could not be made: it counts as no try
	isLost  bool  // the change is past retention
}

// run tells the endpoint until ctx ends, another runner replaces this one, or the endpoint is disabled.
func (r *runner) run(ctx context.Context) {
	defer r.send.close()
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	var senders sync.WaitGroup
	defer senders.Wait()
	defer stopSending()
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
		r.polledAt = time.Time{}
	}
	r.endpoint = newest
}

// take takes changes of the feed, or reads them if the endpoint is behind it.
func (r *runner) take(ctx context.Context) error {
	r.isPartOfPage = false
	for r.hasRoom() {
		found, next, isFed, moved := r.feed.after(r.track.scanned, page)
		r.moved = moved
		if !isFed {
			var err error
			if found, next, err = r.readOwn(ctx); err != nil {
				r.moved = nil // or it would try again at once
				return err
			}
		}
		if next == r.track.scanned {
			return nil
		}
		for _, e := range found {
			if !r.endpoint.wants(&e.change) {
				continue
			}
			if r.blocked[e.subject] {
				r.track.addStored(e)
				r.written.stored = append(r.written.stored, recordOf(e))
				r.flushSoon(flushInterval)
				continue
			}
			r.track.add(e)
		}
		r.track.scanned = next
		r.flushSoon(flushInterval)
	}
	r.isPartOfPage, r.moved = true, nil
	return nil
}

// hasRoom reports whether more changes may be taken. An endpoint that fails is not told of more than the next one, so its
// backlog stays where it is.
func (r *runner) hasRoom() bool {
	if r.health.isFailing() && r.track.unsettled > 0 {
		return false
	}
	unwritten := len(r.written.stored) + len(r.written.delivered)
	return r.track.unsettled+unwritten < maxTaken && len(r.blocked) < maxPending
}

// readOwn reads a page behind the position. What retention has removed is passed.
func (r *runner) readOwn(ctx context.Context) (found []*entry, next changes.Position, err error) {
	from := r.track.scanned
	list, next, err := r.changes.Read(ctx, &from, changes.Filter{EventID: r.endpoint.EventID}, page)
	if holdfast.HasCode(err, holdfast.CodeChangesGone) {
		begin, end, err := r.changes.Ends(ctx)
		if err != nil {
			return nil, from, err
		}
		if next = begin; from.Compare(end) > 0 { // the database was restored from a backup
			next = end
		}
		r.log.ErrorContext(ctx, "[WEBHOOKS JOB] Changes were removed before the endpoint was told of them",
			slog.Int64("from", from.Seq), slog.Int64("to", next.Seq))
		return nil, next, nil
	}
	for _, p := range list {
		found = append(found, newEntry(p))
	}
	return found, next, err
}

// pollDue reads documents that are to be tried.
func (r *runner) pollDue(ctx context.Context) {
	now := r.now()
	interval := duePollInterval
	if r.isMoreDue {
		interval = 0
	}
	isQuiet := len(r.blocked) == 0 && !r.polledAt.IsZero() && !r.pollAgain // a replay resets polledAt
	if len(r.due) > 0 || len(r.dueSubjects) > 0 && r.isMoreDue || isQuiet || now.Sub(r.polledAt) < interval {
		return
	}
	docs, found, err := r.Service.due(ctx, r.endpoint.ID, now, r.health.recoveredAt)
	r.polledAt, r.isMoreDue = now, found == maxDue
	r.pollAgain = err != nil
	if err != nil {
		r.isMoreDue = false
		r.log.WarnContext(ctx, "[WEBHOOKS JOB] Deliveries can't be read; trying again", slog.Any("error", err))
		return
	}
	for _, d := range docs {
		subject := string(d.Subject)
		r.blocked[subject] = true
		if r.dueSubjects[subject] || r.track.isBusy(subject) || r.isUnwritten(d.Key) {
			continue
		}
		r.due = append(r.due, &try{key: d.Key, record: d.record(), isEarly: d.NextAttemptAt.After(now)})
	}
}

func (r *runner) isUnwritten(key ID) bool {
	for _, w := range r.written.retried {
		if w.key == key {
			return true
		}
	}
	return false
}

// start starts as many tries as there is room for.
func (r *runner) start(ctx context.Context, senders *sync.WaitGroup) {
	now := r.now()
	if now.Before(r.backoff) {
		return
	}
	due, fresh := r.health.room(now, r.inFlight)
	for ; due > 0 && len(r.due) > 0; due-- {
		t := r.due[0]
		r.due = r.due[1:]
		r.dueSubjects[t.record.subject] = true
		r.begin(ctx, senders, t, now)
		fresh--
	}
	for ; fresh > 0; fresh-- {
		next := r.track.next()
		if next == nil {
			return
		}
		r.observe.firstTry(now.Sub(next.change.At))
		r.begin(ctx, senders, &try{item: next, record: recordOf(next.entry)}, now)
	}
}

func (r *runner) begin(ctx context.Context, senders *sync.WaitGroup, t *try, now time.Time) {
	r.inFlight++
	t.begunAt = now
	url, secrets := r.endpoint.URL, *r.endpoint.secrets
	senders.Go(func() { r.results <- r.try(ctx, t, url, secrets) })
}

// try makes the event and sends it.
func (r *runner) try(ctx context.Context, t *try, url string, secrets []secret) tried {
	e, err := r.entryOf(ctx, t)
	if err != nil || e == nil {
		return tried{try: t, failure: err, isLost: err == nil}
	}
	body, err := e.encoded(ctx, r.encode)
	if err != nil {
		return tried{try: t, failure: err}
	}
	return tried{try: t, result: r.send.send(ctx, url, secrets, e.id, body)}
}

// entryOf is the change of a try; nil: it is past retention.
func (r *runner) entryOf(ctx context.Context, t *try) (*entry, error) {
	if t.item != nil {
		return t.item.entry, nil
	}
	found, _, err := r.changes.Read(ctx, &t.record.position, changes.Filter{}, 1)
	switch {
	case holdfast.HasCode(err, holdfast.CodeChangesGone):
		return nil, nil
	case err != nil:
		return nil, err
	case len(found) == 0 || found[0].ID() != t.record.changeID:
		return nil, nil
	}
	return newEntry(found[0]), nil
}

// ended takes over the result of a try.
func (r *runner) ended(t tried) {
	now := r.now()
	r.inFlight--
	if t.item == nil {
		delete(r.dueSubjects, t.record.subject)
	}
	switch {
	case t.failure != nil, t.aborted:
		if t.failure != nil && !errors.Is(t.failure, context.Canceled) {
			r.backoff = now.Add(readDelay)
			r.log.Warn("[WEBHOOKS JOB] An event could not be made; trying again", slog.Any("error", t.failure))
		}
		if t.item != nil {
			r.track.again(t.item)
		}
		return
	case t.isLost:
		t.record.isDead = true
		r.retried(t, false)
		return
	}
	t.record.attempts++
	t.record.status, t.record.triedAt = t.status, t.begunAt
	r.observe.tried(t.outcome)
	if t.outcome == outcomeDelivered {
		r.health.succeeded(now)
		r.counts.delivered.Add(1)
		r.written.delivered = append(r.written.delivered, t.record)
		if t.item == nil {
			r.retried(t, true)
			return
		}
		r.track.delivered(t.item)
		r.flushSoon(flushInterval)
		return
	}
	r.failed(t, now)
}

func (r *runner) failed(t tried, now time.Time) {
	r.counts.failed.Add(1)
	wasFailing := r.health.isFailing()
	r.health.failed(now, t.retryAfter)
	if !wasFailing {
		r.log.Debug("[WEBHOOKS JOB] The endpoint fails; it is probed", slog.String("outcome", t.outcome), slog.Int("status", t.status))
	}
	switch {
	case t.isGone():
		r.written.disabled = ReasonGone
	case r.health.disables(now):
		r.written.disabled = ReasonFailures
	}
	if !t.isEarly {
		t.record.nextAttemptAt, t.record.isDead = retryAt(now, int(t.record.step), t.retryAfter, rand.Float64())
		t.record.step++
	}
	if t.item == nil {
		r.retried(t, false)
		return
	}
	r.blocked[t.record.subject] = true
	r.written.stored = append(r.written.stored, t.record)
	for _, later := range r.track.failed(t.item) {
		r.written.stored = append(r.written.stored, recordOf(later.entry))
	}
	r.flushSoon(flushInterval)
}

// retried takes over the result of a document.
func (r *runner) retried(t tried, isDelivered bool) {
	if t.record.isDead {
		r.counts.dead.Add(1)
	}
	r.written.retried = append(r.written.retried, retried{key: t.key, record: t.record, isDelivered: isDelivered})
	r.flushSoon(retriedFlushDelay)
}

// flushSoon sees to it that what is not written yet is written after at most a delay.
func (r *runner) flushSoon(delay time.Duration) {
	if at := r.now().Add(delay); r.flushAt.IsZero() || at.Before(r.flushAt) {
		r.flushAt = at
	}
}

// flushIfDue writes what waits. It reports whether the runner has ended.
func (r *runner) flushIfDue(ctx context.Context) (ends bool) {
	isFull := len(r.written.stored)+len(r.written.delivered) >= maxTaken/2
	isDue := !r.flushAt.IsZero() && !r.now().Before(r.flushAt)
	if !isDue && (r.hasFailed || r.written.disabled == "" && !isFull) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	err := r.flush(ctx)
	r.hasFailed = err != nil
	switch {
	case errors.Is(err, errReplaced):
		r.log.InfoContext(ctx, "[WEBHOOKS JOB] The endpoint was deleted or enabled anew, or another process tells it")
		return true
	case err != nil:
		r.log.WarnContext(ctx, "[WEBHOOKS JOB] Results can't be written; trying again", slog.Any("error", err))
		r.flushAt = r.now().Add(flushInterval)
		return false
	}
	return r.endpoint.State == Disabled
}

// flush writes the results and the position.
func (r *runner) flush(ctx context.Context) error {
	f := &r.written
	f.endpoint, f.epoch, f.position, f.health = r.endpoint.ID, r.endpoint.epoch, r.track.position(), r.health
	if f.position == r.stored && len(f.stored)+len(f.delivered)+len(f.retried) == 0 && f.disabled == "" {
		r.flushAt = time.Time{}
		return nil
	}
	if r.hooks.beforeWrite != nil {
		if err := r.hooks.beforeWrite(); err != nil {
			return err
		}
	}
	unblocked, err := r.write(ctx, f)
	if err != nil {
		return err
	}
	for _, subject := range unblocked {
		delete(r.blocked, subject)
	}
	if len(f.retried) > 0 { // the next documents of their subjects
		r.polledAt = time.Time{}
	}
	if f.disabled != "" {
		r.log.WarnContext(ctx, "[WEBHOOKS JOB] The endpoint is disabled", slog.String("reason", f.disabled))
		ended := *r.endpoint
		ended.State = Disabled
		r.endpoint = &ended
	}
	r.stored, r.written, r.flushAt = f.position, flush{}, time.Time{}
	return nil
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
	soonest(r.backoff)
	if r.health.isFailing() && r.inFlight == 0 && len(r.track.ready) > 0 {
		soonest(r.health.nextProbe)
	}
	return max(next, time.Millisecond)
}

func (r *runner) noteState() {
	waits := !r.health.isFailing() && (len(r.track.ready) > 0 || r.isPartOfPage)
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
