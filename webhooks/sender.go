package webhooks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// maxInFlight bounds the concurrent tries at one endpoint, and maxBusy the deliveries that its sender keeps in
	// memory.
	maxInFlight = 64
	maxBusy     = 256
	// settleDelay is how long a result waits for other results that are written together with it.
	settleDelay = 10 * time.Millisecond
	// duePollInterval is the time after which a delivery is noticed that was not made by a fan-out of this process,
	// such as one of a replay.
	duePollInterval = time.Second
	// failedDelay is the delay after a read or a write that failed.
	failedDelay = time.Second
	// stopTimeout bounds the tries in flight when the process stops, and lastWriteTimeout the write of their
	// results.
	stopTimeout      = 3 * time.Second
	lastWriteTimeout = 3 * time.Second
)

// sender sends the deliveries of one endpoint. It may lose all of its state, because a delivery is PENDING until its
// result is written. One goroutine owns the state; each delivery is tried on another goroutine.
type sender struct {
	*Dispatcher
	log       *slog.Logger
	poster    *poster
	endpoint  Endpoint // as it was read last, with the FailingSince that is stored
	health    health
	busy      map[string]bool // subjects of deliveries that are tried, or whose results are not written
	slots     chan struct{}   // one for each try in flight
	results   chan tried
	received  []tried // results that are not written
	wake      chan struct{}
	failures  atomic.Int64 // tries that have failed
	seen      int64        // the number of them that were received
	disabling string       // the reason why the endpoint is to be disabled
}

// tried is the result of a try, with its delivery.
type tried struct {
	result
	Delivery
	after Progress
}

func (d *Dispatcher) newSender(e *Endpoint, log *slog.Logger) *sender {
	return &sender{
		Dispatcher: d, log: log.With(slog.String("webhookId", e.ID.String())), poster: d.newPoster(d.now),
		endpoint: *e, health: health{failingSince: e.Internal.FailingSince}, busy: map[string]bool{},
		slots: make(chan struct{}, maxInFlight), results: make(chan tried, maxBusy), wake: make(chan struct{}, 1),
	}
}

// errNotEnabled says that the endpoint is no longer enabled.
var errNotEnabled = errors.New("the endpoint is not enabled")

// run sends until ctx ends or the endpoint is not enabled. If once is set, it returns when nothing is due, or a read
// or a write fails.
func (s *sender) run(ctx context.Context, once bool) {
	defer s.poster.close()
	sending, stopSending := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSending()
	for isOver := false; !isOver && ctx.Err() == nil; {
		isMore, err := s.step(ctx, sending)
		switch {
		case errors.Is(err, errNotEnabled):
			isOver = true
		case err != nil && ctx.Err() == nil:
			s.log.WarnContext(ctx, "[WEBHOOKS JOB] Sending has failed", slog.Any("error", err))
			if isOver = once; !isOver {
				pause(ctx, failedDelay)
			}
		case once && !isMore && len(s.busy) == 0:
			isOver = true
		case !isMore:
			s.await(ctx)
		}
	}
	s.stop(ctx, stopSending)
}

// step writes the results that were received, and starts deliveries that are due. isMore says that more may be
// started now.
func (s *sender) step(ctx, sending context.Context) (isMore bool, err error) {
	if err := s.write(ctx); err != nil {
		return false, err
	}
	const limit = maxBusy / 2
	isFailing := s.health.isFailing()
	switch {
	case len(s.busy) > maxBusy-limit, len(s.busy) > 0 && (isFailing || s.disabling != ""):
		return false, nil
	case s.disabling != "": // until that is done nothing is sent
		err := s.disable(ctx, &s.endpoint, s.disabling)
		if errors.Is(err, errChanged) || holdfast.IsNotFound(err) { // the change may have removed the cause
			s.disabling, err = "", nil
		} else if err == nil {
			s.log.WarnContext(ctx, "[WEBHOOKS JOB] The endpoint is disabled", slog.String("reason", s.disabling))
			err = errNotEnabled
		}
		return false, err
	}
	now := s.now()
	subjects, err := s.dueSubjects(ctx, now, limit)
	var ready []Delivery
	if err == nil && len(subjects) > 0 {
		ready, err = s.readyHeads(ctx, subjects, now)
	}
	if err == nil {
		// The endpoint is read after the deliveries, so a delivery of a change that was committed after a change of
		// the endpoint uses the changed endpoint.
		err = s.reload(ctx)
	}
	if err != nil {
		return false, err
	}
	isMore = len(ready) < len(subjects) || len(subjects) == limit
	if isFailing && len(ready) > 0 { // the try is a probe
		ready = ready[:1]
	}
	return isMore, s.start(ctx, sending, ready)
}

// reload reads the endpoint.
func (s *sender) reload(ctx context.Context) error {
	e, err := s.get(ctx, s.endpoint.ID)
	if holdfast.IsNotFound(err) || err == nil && e.State != Enabled {
		return errNotEnabled
	}
	if err != nil {
		return err
	}
	if !e.UpdatedAt.Equal(s.endpoint.UpdatedAt) { // the change may have removed the cause, or the endpoint was enabled again
		s.health = health{failingSince: e.Internal.FailingSince}
	}
	s.endpoint = e
	return nil
}

// start starts tries of deliveries of different subjects. If one try fails, the deliveries that have not begun are
// not tried.
func (s *sender) start(ctx, sending context.Context, ready []Delivery) error {
	positions := make([]changes.Position, len(ready))
	for i := range ready {
		positions[i] = ready[i].position()
	}
	found, err := s.changes.At(ctx, positions)
	if err != nil {
		return err
	}
	endpoint, seen := s.endpoint, s.seen
	for i := range ready {
		t := tried{Delivery: ready[i]}
		s.busy[t.Subject] = true
		change, isThere := found[positions[i]]
		if !isThere || change.ID() != t.ChangeID {
			t.outcome = outcomeLost
			s.results <- t
			continue
		}
		go func() {
			s.slots <- struct{}{}
			defer func() { <-s.slots }()
			if t.aborted = s.failures.Load() > seen; !t.aborted {
				t.result = s.try(sending, &endpoint, &t.Delivery, change)
			}
			if !t.aborted && t.outcome != outcomeDelivered && t.outcome != outcomeNotMade {
				s.failures.Add(1)
			}
			s.results <- t
		}()
	}
	return nil
}

// try makes the event of a change and sends it.
func (s *sender) try(ctx context.Context, e *Endpoint, d *Delivery, c holdfast.Change) result {
	body, err := s.make(ctx, c)
	if err != nil {
		s.log.WarnContext(ctx, "[WEBHOOKS JOB] An event could not be made; trying again",
			slog.String("changeId", d.ChangeID), slog.Any("error", err))
		return result{outcome: outcomeNotMade, aborted: ctx.Err() != nil}
	}
	if d.Attempts == 0 && !d.IsReplay {
		s.observe.firstTry(s.now().Sub(c.At))
	}
	return s.poster.post(ctx, e.URL, e.Secrets, d.ChangeID, body)
}

// make makes the event of a change. It turns a panic into an error, because the panic concerns this change alone.
func (s *sender) make(ctx context.Context, c holdfast.Change) (body []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("making the event panicked: %v\n%s", p, debug.Stack())
		}
	}()
	return s.encode(ctx, c)
}

// await waits for results, for new deliveries, or until some deliveries may be due.
func (s *sender) await(ctx context.Context) {
	delay := duePollInterval
	if wait := s.health.nextProbe.Sub(s.now()); s.health.isFailing() && wait > 0 {
		delay = min(delay, wait)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return
	case <-timer.C:
		return
	case <-s.wake:
		return
	case t := <-s.results:
		s.receive(t)
	}
	timer.Reset(settleDelay)
	for len(s.received) < len(s.busy) {
		select {
		case t := <-s.results:
			s.receive(t)
		case <-timer.C:
			return
		}
	}
}

// receive updates the state after a try.
func (s *sender) receive(t tried) {
	now := s.now()
	t.after = t.Progress.after(t.result, now, rand.Float64())
	s.received = append(s.received, t)
	if t.aborted {
		return
	}
	if t.after.State == Dead {
		s.counts.dead.Add(1)
	}
	if t.outcome == outcomeLost {
		s.log.Warn("[WEBHOOKS JOB] A change can't be read any more; its delivery is dead", slog.String("changeId", t.ChangeID))
		return
	}
	s.observe.tried(t.outcome)
	if t.outcome == outcomeDelivered {
		s.counts.delivered.Add(1)
		s.health = health{}
		return
	}
	s.counts.failed.Add(1)
	if t.outcome == outcomeNotMade { // this does not say anything about the endpoint
		return
	}
	s.seen++
	s.health.failed(now, t.retryAfter, t.Attempts == 0 || !t.isBySchedule(now))
	switch {
	case t.status == http.StatusGone:
		s.disabling = ReasonGone
	case s.health.disables(now):
		s.disabling = ReasonFailures
	}
}

// write writes the results that were received. If it fails, they are written together with the next ones.
func (s *sender) write(ctx context.Context) error {
	if len(s.received) == 0 {
		return nil
	}
	write := func() error { return s.writeReceived(ctx) }
	if s.hooks.Writing != nil {
		write = s.hooks.Writing(write)
	}
	if err := write(); err != nil {
		return err
	}
	for _, t := range s.received {
		delete(s.busy, t.Subject)
	}
	s.received = nil
	return nil
}

func (s *sender) writeReceived(ctx context.Context) error {
	since := s.health.failingSince.Truncate(time.Millisecond)
	err := s.writeProgress(ctx, s.endpoint.ID, s.received, s.now())
	if err != nil || since.Equal(s.endpoint.Internal.FailingSince) {
		return err
	}
	change := bson.D{{Key: "$set", Value: mongodb.Is("internal.failingSince", since)}}
	if since.IsZero() {
		change = bson.D{{Key: "$unset", Value: mongodb.Is("internal.failingSince", "")}}
	}
	_, err = s.endpoints().UpdateOne(ctx, mongodb.Is("_id", s.endpoint.ID), change)
	if err == nil {
		s.endpoint.Internal.FailingSince = since
	}
	return err
}

// stop waits for the tries in flight, and writes their results. If another process may send already, it ends them.
func (s *sender) stop(ctx context.Context, stopSending func()) {
	s.failures.Add(1) // deliveries that have not begun are not tried
	if errors.Is(context.Cause(ctx), s.leaseLost) {
		stopSending()
	}
	defer time.AfterFunc(stopTimeout, stopSending).Stop()
	for len(s.received) < len(s.busy) {
		s.receive(<-s.results)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWriteTimeout)
	defer cancel()
	if err := s.write(ctx); err != nil {
		s.log.WarnContext(ctx, "[WEBHOOKS JOB] The last results were not written; their changes are sent again", slog.Any("error", err))
	}
}

// pause waits for the delay, or until ctx ends.
func pause(ctx context.Context, delay time.Duration) {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
