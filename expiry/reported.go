package expiry

import (
	"sync"
	"time"
)

// Reported remembers findings, so that runs do not log the same finding again and again. The zero value is ready for
// use. It is safe for concurrent use.
type Reported struct {
	mu   sync.Mutex
	last map[string]time.Time
}

const (
	// reportInterval is the time after which a finding that persists is reported again.
	reportInterval = 24 * time.Hour
	// maxReported bounds the number of findings that are remembered. Further findings are counted, but not logged.
	maxReported = 10_000
)

// IsNew reports whether a finding is to be logged, because it was not logged within the last day.
func (r *Reported) IsNew(finding string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, known := r.last[finding]; known && now.Sub(last) < reportInterval {
		return false
	}
	if len(r.last) >= maxReported {
		for old, last := range r.last {
			if now.Sub(last) >= reportInterval {
				delete(r.last, old)
			}
		}
	}
	if r.last == nil {
		r.last = map[string]time.Time{}
	} else if len(r.last) >= maxReported {
		return false
	}
	r.last[finding] = now
	return true
}

// Knows reports whether IsNew was called with a finding within the last day.
func (r *Reported) Knows(finding string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.last[finding]
	return known && now.Sub(last) < reportInterval
}
