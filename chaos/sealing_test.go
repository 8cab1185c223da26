package chaos_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// sealAfter makes the clients' events, whose date is the time of their creation, events that are
// over: they are sealed whenever nothing of them is open, and unsealed by the next request.
const sealAfter = time.Second

// sealEvents lets the APIs run the job retention until ctx ends. It returns how many seals were
// written.
func (c *cluster) sealEvents(ctx context.Context, seed uint64) (sealed int) {
	rng := rand.New(rand.NewPCG(seed, 1<<35))
	for ctx.Err() == nil {
		api := c.caller(apiNames[rng.IntN(len(apiNames))])
		run, cancel := context.WithTimeout(ctx, 10*time.Second)
		status, fields, err := api.call(run, http.MethodPost, "/api/admin/jobs/retention/run", nil)
		cancel()
		if applied, ok := fields["applied"].(float64); ok && err == nil && status == http.StatusOK {
			sealed += int(applied)
		}
		delay(ctx, randomMillis(rng, 100, 600))
	}
	return sealed
}
