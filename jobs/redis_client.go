package jobs

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// OpenRedis returns a client that fails fast and never retries: the caller decides what an
// unavailable Redis means. It has one timeout for each step: dial, read, write, and waiting for
// a connection. It does not connect, so Redis may start later.
func OpenRedis(o redis.Options, stepTimeout time.Duration) *redis.Client {
	disableLogger.Do(func() { redis.SetLogger(discardLogger{}) })
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = stepTimeout, stepTimeout, stepTimeout, stepTimeout
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(&o)
	if telemetry.Traced() {
		if err := redisotel.InstrumentTracing(client, redisotel.WithDBStatement(false)); err != nil {
			panic(err) // a programming error
		}
	}
	return client
}

// go-redis logs every failure to standard error, in its own format. The errors that
// it returns have the same information.
var disableLogger sync.Once

type discardLogger struct{}

func (discardLogger) Printf(context.Context, string, ...any) {}
