package webhooks

import (
	"net/http"
	"strconv"
	"time"
)

// retryDelays are how long a failed try waits for the next one, each after the one before.
var retryDelays = []time.Duration{
	5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour,
	24 * time.Hour,
}

const (
	// jitter is the part of a delay by which it may be longer, so that retries of an outage spread.
	jitter = 0.2
	// maxRetryAfter bounds the time that an answer may ask for.
	maxRetryAfter = 24 * time.Hour
)

// retryAt is when a delivery is tried again whose last scheduled try, the step-th of the retries, has failed; isDead: it
// is given up. random is in [0, 1).
func retryAt(now time.Time, step int, retryAfter time.Duration, random float64) (at time.Time, isDead bool) {
	if step >= len(retryDelays) {
		return time.Time{}, true
	}
	delay := retryDelays[step]
	delay += time.Duration(float64(delay) * jitter * random)
	return now.Add(max(delay, retryAfter)), false
}

// earlyAt is when a document may be tried before its time, if the endpoint has recovered meanwhile. The delay doubles with
// each try: an endpoint that refuses one change and accepts others fails and recovers all the time.
func earlyAt(now time.Time, attempts int64, retryAfter time.Duration) time.Time {
	delay := time.Second << min(max(attempts-1, 0), 10)
	return now.Add(max(min(delay, maxProbeDelay), retryAfter))
}

// parseRetryAfter reads the header of an answer: seconds, or a date. What can't be read, or is past, is 0.
func parseRetryAfter(value string, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(max(0, min(seconds, int64(maxRetryAfter/time.Second)))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(at.Sub(now), maxRetryAfter))
	}
	return 0
}

const (
	// disableAfter is how long an endpoint may fail without a success.
	disableAfter = 5 * 24 * time.Hour
	// minProbeDelay and maxProbeDelay bound the time between two probes.
	minProbeDelay = 50 * time.Millisecond
	maxProbeDelay = 5 * time.Minute
)

// health is how an endpoint has answered.
type health struct {
	// failingSince is the first failure after the last success; zero: the last try succeeded, or there was none.
	failingSince time.Time
	// nextProbe is when a new change, or a document before its time, may be tried while the endpoint fails.
	nextProbe time.Time
	// recoveredAt is the last success after failures: documents that were tried before it are due.
	recoveredAt time.Time
}

func (h *health) isFailing() bool { return !h.failingSince.IsZero() }

func (h *health) succeeded(now time.Time) {
	if h.isFailing() {
		*h = health{recoveredAt: now}
	}
}

// failed notes a failed try. Documents that are due fail by their own schedule, and do not put off the next probe.
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

// disables reports whether an endpoint has failed for so long that it is disabled.
func (h *health) disables(now time.Time) bool {
	return h.isFailing() && now.Sub(h.failingSince) >= disableAfter
}

// earlyBefore: documents that were tried before it may be tried before their time; zero: none may now.
func (h *health) earlyBefore(now time.Time) time.Time {
	if h.isFailing() && now.Before(h.nextProbe) {
		return time.Time{}
	}
	return h.recoveredAt
}

// room is how many tries may be started; mayProbe: also of new changes, and of documents before their time.
func (h *health) room(now time.Time, inFlight int) (tries int, mayProbe bool) {
	if !h.isFailing() {
		return max(0, maxInFlight-inFlight), true
	}
	if inFlight > 0 {
		return 0, false
	}
	return 1, !now.Before(h.nextProbe)
}
