package chaos_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// archiveAfter makes the clients' events, whose date is the time of their creation, events that are
// over: they are archived whenever nothing of them is open, and the next request takes the mark away.
const archiveAfter = time.Second

// archiveEvents lets the APIs run the job retention until ctx ends, and then once more: that run begins only when no
// earlier one is in progress, whose request may have been cancelled. It returns how many events were archived.
func (c *cluster) archiveEvents(ctx context.Context, seed uint64) (archived int) {
	rng := rand.New(rand.NewPCG(seed, 1<<35))
	for isLast, hasRun := false, false; !isLast || !hasRun; {
		isLast = ctx.Err() != nil
		api := c.caller(apiNames[rng.IntN(len(apiNames))])
		run, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		status, fields, err := api.call(run, http.MethodPost, "/api/admin/jobs/retention/run", nil)
		cancel()
		applied, ok := fields["applied"].(float64)
		if hasRun = ok && err == nil && status == http.StatusOK; hasRun {
			archived += int(applied)
		}
		delay(context.WithoutCancel(ctx), randomMillis(rng, 100, 600))
	}
	return archived
}
