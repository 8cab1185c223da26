package testenv

import (
	"context"
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/event"
)

// since passes on the commands that are sent after a database was opened.
func since(opened *atomic.Bool, m *event.CommandMonitor) *event.CommandMonitor {
	if m == nil {
		return nil
	}
	return &event.CommandMonitor{
		Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if m.Started != nil && opened.Load() {
				m.Started(ctx, e)
			}
		},
		Succeeded: func(ctx context.Context, e *event.CommandSucceededEvent) {
			if m.Succeeded != nil && opened.Load() {
				m.Succeeded(ctx, e)
			}
		},
		Failed: func(ctx context.Context, e *event.CommandFailedEvent) {
			if m.Failed != nil && opened.Load() {
				m.Failed(ctx, e)
			}
		},
	}
}
