package app

import (
	"context"
	"log/slog"
	"strings"

	"github.com/holdfast-dev/holdfast/recovery"
)

// drawProgress logs the progress of a step of recovery, with a bar for a terminal.
func drawProgress(ctx context.Context, log *slog.Logger, p recovery.Progress) {
	if p.Total > 0 {
		log = log.With(slog.String("bar", bar(p.Done, p.Total)))
	}
	recovery.LogProgress(ctx, log, p)
}

// bar shows which part of total is done.
func bar(done, total int64) string {
	const length = 30
	full := int(length * min(done, total) / total)
	return strings.Repeat("█", full) + strings.Repeat("░", length-full)
}
