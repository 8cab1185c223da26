package httpapi

import "time"

// SetPatience changes how long requests wait for the answer to another one.
func (l *RateLimiter) SetPatience(d time.Duration) { l.patience = d }
