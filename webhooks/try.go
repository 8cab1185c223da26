package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
)

// try is a change or a document on its way.
type try struct {
	item    *item // nil: of a document
	key     ID    // of the document
	record  *record
	isEarly bool // a document before its time
	begunAt time.Time
	url     string // of the endpoint, and its secrets, at that time
	secrets []secret
}

// tried is how a try ended.
type tried struct {
	*try
	result
	failure error // the event could not be made; see hold
	isLost  bool  // the change is past retention
}

// start starts as many tries as there is room for.
func (r *runner) start(ctx context.Context, senders *sync.WaitGroup) {
	now := r.now()
	r.resume(now)
	for room, mayProbe := r.health.room(now, r.inFlight); room > 0; room-- {
		t := r.nextTry(mayProbe)
		if t == nil {
			return
		}
		r.inFlight++
		t.begunAt = now
		switch {
		case t.item == nil:
			r.dueSubjects[t.record.subject] = true
		case r.faults[t.record.changeID].n == 0:
			r.observe.firstTry(now.Sub(t.item.entry.change.At))
		}
		t.url, t.secrets = r.endpoint.URL, *r.endpoint.secrets
		if r.senders < r.inFlight { // they stay: the stack of a new one would grow with each try
			r.senders++
			senders.Go(func() {
				for t := range r.tries {
					r.results <- r.try(ctx, t)
				}
			})
		}
		r.tries <- t
	}
}

// nextTry is what is tried next; nil: there is nothing. Documents go first. While the endpoint fails, a new change does:
// the documents may be what the endpoint refuses.
func (r *runner) nextTry(mayProbe bool) *try {
	if r.health.isFailing() && mayProbe {
		if t := r.nextNew(); t != nil {
			return t
		}
	}
	if t := r.nextDue(mayProbe); t != nil || !mayProbe {
		return t
	}
	return r.nextNew()
}

func (r *runner) nextNew() *try {
	if i := r.track.next(); i != nil {
		return &try{item: i, record: recordOf(i.entry)}
	}
	return nil
}

// nextDue leaves out documents before their time if they may not be tried: they are read again.
func (r *runner) nextDue(mayBeEarly bool) *try {
	for len(r.due) > 0 {
		t := r.due[0]
		r.due = r.due[1:]
		if !t.isEarly || mayBeEarly {
			return t
		}
	}
	return nil
}

// errPanicked says that an event could not be made for a fault of ours. The process goes on.
var errPanicked = errors.New("making the event panicked")

// try makes the event and sends it.
func (r *runner) try(ctx context.Context, t *try) (end tried) {
	defer func() {
		if p := recover(); p != nil {
			end = tried{try: t, failure: fmt.Errorf("%w: %v\n%s", errPanicked, p, debug.Stack())}
		}
	}()
	e, err := r.entryOf(ctx, t)
	if err != nil || e == nil {
		return tried{try: t, failure: err, isLost: err == nil}
	}
	body, err := e.encoded(ctx, r.encode)
	if err != nil {
		return tried{try: t, failure: err}
	}
	return tried{try: t, result: r.send.send(ctx, t.url, t.secrets, e.id, body)}
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
	if t.aborted || errors.Is(t.failure, context.Canceled) { // the dispatcher ends
		if t.item != nil {
			r.track.again(t.item)
		}
		return
	}
	if t.failure != nil {
		if r.hold(t, now) {
			return
		}
		t.outcome = outcomeNotMade
	}
	delete(r.faults, t.record.changeID)
	if t.isLost {
		t.record.isDead = true
		r.retried(t, false)
		return
	}
	t.record.attempts++
	t.record.status, t.record.triedAt = t.status, t.begunAt
	r.observe.tried(t.outcome)
	if t.outcome != outcomeDelivered {
		r.failed(t, now)
		return
	}
	r.health.succeeded(now)
	r.counts.delivered.Add(1)
	r.written.delivered = append(r.written.delivered, t.record)
	if t.item == nil {
		r.retried(t, true)
		return
	}
	r.track.delivered(t.item)
	r.flushSoon(flushInterval)
}

func (r *runner) failed(t tried, now time.Time) {
	r.counts.failed.Add(1)
	if t.outcome != outcomeNotMade { // which says nothing of the endpoint
		r.noteFailure(t, now)
	}
	t.record.earlyAt = earlyAt(now, t.record.attempts, t.retryAfter)
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
		r.written.stored = append(r.written.stored, recordOf(later))
	}
	r.flushSoon(flushInterval)
}

// noteFailure takes over what a failed try says of the endpoint.
func (r *runner) noteFailure(t tried, now time.Time) {
	if !r.health.isFailing() {
		r.log.Debug("[WEBHOOKS JOB] The endpoint fails; it is probed", slog.String("outcome", t.outcome), slog.Int("status", t.status))
	}
	r.health.failed(now, t.retryAfter, t.item != nil || t.isEarly)
	switch {
	case t.isGone():
		r.written.disabled = ReasonGone
	case r.health.disables(now):
		r.written.disabled = ReasonFailures
	}
}

// retried takes over the result of a document.
func (r *runner) retried(t tried, isDelivered bool) {
	if t.record.isDead {
		r.counts.dead.Add(1)
	}
	r.written.retried = append(r.written.retried, retried{key: t.key, record: t.record, isDelivered: isDelivered})
	r.flushSoon(retriedFlushDelay)
}
