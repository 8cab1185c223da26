package jobs

import (
	"context"
	"log/slog"
	"time"
)

// leaseLine is what every log line about a lease says.
type leaseLine struct {
	key      string
	acquired bool
	duration time.Duration
}

func (r *Runner) logLease(ctx context.Context, log *slog.Logger, level slog.Level, message string, l leaseLine, more ...slog.Attr) {
	log.LogAttrs(ctx, level, message, append([]slog.Attr{
		slog.String("lockKey", l.key), slog.Bool("acquired", l.acquired),
		slog.Int64("ttlMs", r.Terms.StoreTTL().Milliseconds()), slog.Int64("durationMs", l.duration.Milliseconds()),
	}, more...)...)
}

func holderAttr(holder string) slog.Attr { return slog.String("holder", holder) }

func errorAttr(err error) slog.Attr { return slog.Any("error", err) }

// reasonAttr says why a lease was not acquired, or was lost.
func reasonAttr(err error) slog.Attr {
	reason := "contention"
	if unavailable, ok := IsUnavailable(err); ok {
		reason = unavailable.Reason
	}
	return slog.String("reason", reason)
}

// The fallback modes of lines about an unavailable store.
var (
	fallbackDisable        = slog.String("fallbackMode", "disable")
	fallbackSingleInstance = slog.String("fallbackMode", "single-instance")
)
