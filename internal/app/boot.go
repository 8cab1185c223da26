package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/jobs"
)

// boot is the start of a process: indexes and validators, then recovery. The process
// already listens during this time. The loops that watch the database afterwards run here too.
type boot struct {
	at      time.Time // by the database's clock
	schema  atomic.Pointer[string]
	told    []string               // gaps of the schema that were logged; nil before the first check
	passed  atomic.Pointer[string] // the state of recovery
	serving atomic.Bool
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// States of the start, as /readyz names them.
const (
	recoveryRunning   = "running"
	recoveryCompleted = "completed"
	recoveryLeftOver  = "completed, but documents are left over; the log says which"
	recoveryFailed    = "failed"
)

// Boot makes indexes and validators, and runs the recovery pass of the start unless another
// process does it. It returns when both have ended, or after RECOVERY_BOOT_WAIT: the process
// then serves, and /readyz shows what is still running. A pass that fails is logged.
func (a *App) Boot(ctx context.Context) {
	ctx, a.boot.cancel = context.WithCancel(ctx)
	waited, stopWaiting := context.WithTimeout(ctx, a.Config.RecoveryBootWait)
	schema := make(chan struct{})
	a.boot.running.Go(func() {
		a.ensureSchema(ctx)
		close(schema)
		a.watchSchema(ctx)
	})
	a.boot.running.Go(func() {
		select { // a missing index makes recovery slow, and must not stop it
		case <-schema:
		case <-waited.Done():
		}
		a.recover(ctx)
		stopWaiting()
	})
	a.boot.running.Go(func() { a.Corrupt.Run(ctx) })
	<-waited.Done()
	if a.boot.recovery() == recoveryRunning && ctx.Err() == nil {
		a.Log.WarnContext(ctx, "Serving before recovery has ended", slog.String("after", a.Config.RecoveryBootWait.String()))
	}
	a.boot.serving.Store(true)
}

// end stops the remaining work of the start, and waits for its end.
func (b *boot) end(ctx context.Context) error {
	if b.cancel == nil {
		return nil
	}
	b.cancel()
	ended := make(chan struct{})
	go func() {
		b.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the recovery pass of the start has not ended: %w", ctx.Err())
	}
}

// Serving reports whether the process serves requests: the start has ended, or has lasted
// for RECOVERY_BOOT_WAIT.
func (a *App) Serving() bool { return a.boot.serving.Load() }

// recovery is the state of the pass of the start.
func (b *boot) recovery() string {
	if state := b.passed.Load(); state != nil {
		return *state
	}
	return recoveryRunning
}

// recover runs the recovery pass of the start, unless another process does it. If the pass fails, the process goes on
// and /readyz says so.
func (a *App) recover(ctx context.Context) {
	start := a.DB.Clock()()
	result, err := a.Jobs.RunAtBoot(ctx, a.recoveryJob(), a.Jobs.PassedSince(core.RecoveryName, a.boot.at))
	state := recoveryFailed
	switch {
	case result.Outcome == jobs.Skipped && err == nil:
		state = a.othersPass(ctx)
		a.Log.InfoContext(ctx, "[RECOVERY] Another process completed the recovery pass; it is not repeated")
	case err == nil:
		state = recoveryCompleted
	case errors.Is(err, jobs.ErrLeftOver):
		state = recoveryLeftOver
	case ctx.Err() == nil:
		a.Log.ErrorContext(ctx, "[RECOVERY] System recovery failed; proceeding with the start", slog.Any("error", err))
	}
	if state == recoveryCompleted {
		a.Metrics.RecoveryComplete.Set(1)
	}
	a.Metrics.RecoverySeconds.Set(a.DB.Clock().Since(start).Seconds())
	a.boot.passed.Store(&state)
}

// othersPass is how the pass of another process ended.
func (a *App) othersPass(ctx context.Context) string {
	if leftOver, err := a.Jobs.LeftOver(ctx, core.RecoveryName, a.boot.at); err == nil && leftOver {
		return recoveryLeftOver
	}
	return recoveryCompleted
}
