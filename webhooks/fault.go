package webhooks

import (
	"log/slog"
	"time"
)

const (
	// maxFaults is how often the event of a change can't be made, such as with a seating plan that can't be read, until that is a
	// failed try. The earlier times count as none: perhaps MongoDB was not available for a moment.
	maxFaults = 4
	// faultDelay passes after each of them.
	faultDelay = time.Second
)

// fault is of a change whose event could not be made.
type fault struct {
	n     int
	until time.Time // it is not made again before
}

// hold notes that an event could not be made, and reports whether it is made again after faultDelay. Only its subject waits.
func (r *runner) hold(t tried, now time.Time) bool {
	id := t.record.changeID
	if now.Sub(r.warnedAt) >= faultDelay { // there may be thousands
		r.warnedAt = now
		r.log.Warn("[WEBHOOKS JOB] An event could not be made; trying again", slog.String("changeId", id), slog.Any("error", t.failure))
	}
	n := r.faults[id].n + 1
	if n == maxFaults {
		return false
	}
	r.faults[id] = fault{n: n, until: now.Add(faultDelay)}
	if t.item != nil { // documents are read again
		r.held = append(r.held, t.item)
	}
	return true
}

// isHeld reports whether the event of a change is not to be made yet.
func (r *runner) isHeld(changeID string, now time.Time) bool {
	return now.Before(r.faults[changeID].until)
}

// resume makes changes ready whose time has come.
func (r *runner) resume(now time.Time) {
	for len(r.held) > 0 && !r.isHeld(r.held[0].entry.id, now) {
		r.track.again(r.held[0])
		r.held = r.held[1:]
	}
}
