package webhooks

import (
	"net/http"
	"strconv"
	"time"
)

// retryDelays are the delays after a failed try, by the number of failed tries.
var retryDelays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour,
	24 * time.Hour,
}

const (
	// jitter is the part of a delay by which it may be longer, so that the retries after an outage spread.
	jitter = 0.2
	// maxRetryAfter bounds the delay that a response may ask for.
	maxRetryAfter = 24 * time.Hour
	// disableAfter is how long an endpoint may fail without a success before it is disabled.
	disableAfter = 5 * 24 * time.Hour
	// minProbeDelay and maxProbeDelay bound the time between two probes.
	minProbeDelay = 50 * time.Millisecond
	maxProbeDelay = 5 * time.Minute
)

// Progress is the state of a delivery after its tries. Its times count only while the delivery is PENDING.
type Progress struct {
	State      string `bson:"state"`
	Attempts   int64  `bson:"attempts"`
	LastStatus int64  `bson:"lastStatus"` // 0: there was no answer
	// Step is how many tries of the schedule have failed. Tries before their time don't count.
	Step int `bson:"step"`
	// NextAttemptAt is when the delivery is tried by the schedule.
	NextAttemptAt time.Time `bson:"nextAttemptAt"`
	// DueAt is when the delivery is tried while its endpoint accepts other deliveries. If the delivery is behind
	// another one of its subject that waits, both times are when it is examined again.
	DueAt time.Time `bson:"dueAt"`
	// IsReplay says that a replay has planned the delivery, perhaps long after its change.
	IsReplay bool `bson:"replay"`
}

// waitsUntil returns when the delivery is tried if it is the first one of its subject. A delivery that was never
// tried is due at once.
func (p *Progress) waitsUntil(isFailing bool) time.Time {
	switch {
	case p.Attempts == 0:
		return time.Time{}
	case isFailing:
		return p.NextAttemptAt
	default:
		return p.DueAt
	}
}

// isBySchedule reports whether a try at this time uses up a step of the schedule.
func (p *Progress) isBySchedule(now time.Time) bool {
	return p.Attempts == 0 || !p.NextAttemptAt.After(now)
}

// after returns the progress after a try. random is in [0, 1).
func (p Progress) after(r result, now time.Time, random float64) Progress {
	if r.outcome == outcomeLost {
		p.State = Dead
		return p
	}
	isBySchedule := p.isBySchedule(now)
	p.Attempts++
	p.LastStatus = int64(r.status)
	if r.outcome == outcomeDelivered {
		p.State = Delivered
		return p
	}
	if isBySchedule && p.Step >= len(retryDelays) {
		p.State = Dead
		return p
	}
	next := p.NextAttemptAt.Sub(now)
	if isBySchedule {
		delay := retryDelays[p.Step]
		next = delay + time.Duration(float64(delay)*jitter*random)
		p.Step++
	}
	next = max(next, r.retryAfter)
	// The delay doubles with each try: an endpoint that refuses one change and accepts others would otherwise fail
	// and recover all the time.
	early := min(time.Second<<min(p.Attempts-1, 10), maxProbeDelay)
	p.NextAttemptAt, p.DueAt = now.Add(next), now.Add(min(max(early, r.retryAfter), next))
	return p
}

// parseRetryAfter reads the header of a response: seconds, or a date. It returns 0 if the value is invalid or in the
// past.
func parseRetryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(max(0, min(seconds, int64(maxRetryAfter/time.Second)))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(at.Sub(now), maxRetryAfter))
	}
	return 0
}

// health is the state of an endpoint by the results of its tries.
type health struct {
	// failingSince is the time of the first failure after the last success. It is zero if the last try succeeded, or
	// if there was none.
	failingSince time.Time
	// nextProbe is when a delivery that was never tried may be tried while the endpoint fails.
	nextProbe time.Time
}

func (h *health) isFailing() bool { return !h.failingSince.IsZero() }

// failed notes a failed try. A failed delivery that was due by the schedule does not delay the next probe.
func (h *health) failed(now time.Time, retryAfter time.Duration, isProbe bool) {
	next := now.Add(retryAfter)
	switch {
	case !h.isFailing():
		h.failingSince = now
	case isProbe:
		next = now.Add(max(minProbeDelay, min(now.Sub(h.failingSince), maxProbeDelay), retryAfter))
	}
	if next.After(h.nextProbe) {
		h.nextProbe = next
	}
}

// disables reports whether an endpoint has failed for so long that it has to be disabled.
func (h *health) disables(now time.Time) bool {
	return h.isFailing() && now.Sub(h.failingSince) >= disableAfter
}

// mayProbe reports whether a failing endpoint may be sent a delivery that was never tried.
func (h *health) mayProbe(now time.Time) bool { return !now.Before(h.nextProbe) }
