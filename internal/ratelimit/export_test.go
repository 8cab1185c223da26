package ratelimit

import "time"

// SetPatience changes how long requests wait for the answer to another one.
func (l *Limiter) SetPatience(d time.Duration) { l.patience = d }
