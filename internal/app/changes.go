package app

import (
	"context"
	"time"
)

// maxChangesAge is how long a change may wait for its number before it is reported.
const maxChangesAge = 10 * time.Second

// changesState is the state for /readyz: whether changes get their numbers.
func (a *App) changesState(ctx context.Context) (state string, isGood bool) {
	oldest, err := a.Changes.WaitingSince(ctx)
	if err != nil {
		return unknown, false
	}
	if oldest.IsZero() {
		return "ok", true
	}
	now, err := a.DB.Now(ctx)
	if err != nil {
		return unknown, false
	}
	age := now.Sub(oldest)
	if age < maxChangesAge {
		return "ok", true
	}
	return "waiting for " + age.Round(time.Second).String() + ": start a worker or set RUN_JOBS; if one runs, see its log", false
}
