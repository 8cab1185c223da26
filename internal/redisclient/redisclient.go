// Package redisclient opens clients of Redis that fail at once rather than try
// again by themselves: whoever asks decides what an absent Redis means.
package redisclient

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/holdfast-dev/holdfast/internal/telemetry"
)

// Open makes a client each of whose steps (dial, read, write, wait for a
// connection) lasts no longer than step. It does not connect: the server may come
// later, and go.
func Open(o redis.Options, step time.Duration) *redis.Client {
	quiet.Do(func() { redis.SetLogger(silent{}) })
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = step, step, step, step
	o.MaxRetries, o.DialerRetries = -1, 1
	o.ContextTimeoutEnabled, o.DisableIdentity = true, true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	client := redis.NewClient(&o)
	if telemetry.Traced() {
		if err := redisotel.InstrumentTracing(client, redisotel.WithDBStatement(false)); err != nil {
			panic(err) // wrong in the code, not in a setting
		}
	}
	return client
}

// go-redis writes lines of its own, past the process's log, at each failure. All
// that they tell is in the errors.
var quiet sync.Once

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
