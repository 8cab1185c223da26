package webhooks

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// databaseClock is the database's clock: processes whose clocks differ agree on what is due, and receivers can trust the
// time of a try. Between two comparisons it goes on by the process's clock.
type databaseClock struct {
	process clock.Clock
	ahead   atomic.Int64 // of the process's clock, in nanoseconds
}

func (c *databaseClock) now() time.Time {
	return c.process().Add(time.Duration(c.ahead.Load()))
}

// compare asks the database for its time.
func (c *databaseClock) compare(ctx context.Context, db *mongodb.DB) error {
	asked := c.process()
	now, err := db.Now(ctx)
	if err != nil {
		return mongodb.Translate(err)
	}
	c.ahead.Store(int64(now.Sub(asked.Add(c.process.Since(asked) / 2))))
	return nil
}
