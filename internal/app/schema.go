package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/jobs"
)

// States of the schema, as /readyz names them.
const (
	schemaOK      = "ok"
	schemaRunning = "indexes are being built"
)

const (
	schemaRetryDelay    = 10 * time.Second // before what failed is tried again
	schemaWatchInterval = time.Minute
)

// schemaState says what is missing.
func (b *boot) schemaState() string {
	if state := b.schema.Load(); state != nil {
		return *state
	}
	return schemaRunning
}

// ensureSchema makes indexes and validators, in one process at a time, and repeats what
// failed. If none is missing, it needs no lease. A lease only saves work: where MongoDB rejects it, the
// schema is made without one.
func (a *App) ensureSchema(ctx context.Context) {
	all := a.Collections()
	migration := jobs.Job{Name: "schema", NeedsNoLease: true, Do: func(ctx context.Context, run jobs.Run) (counts jobs.Counts, err error) {
		degraded, err := core.EnsureSchema(ctx, a.DB, run.Log, all...)
		counts.Errors = len(degraded)
		return counts, err
	}}
	complete := func(ctx context.Context) (bool, error) {
		gaps, err := core.SchemaGaps(ctx, a.DB, all...)
		return len(gaps) == 0, err
	}
	for {
		_, err := a.Jobs.RunAtBoot(ctx, migration, complete)
		if err == nil {
			err = a.lookAtSchema(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		failed := "not complete; this process keeps trying, and the log says why"
		a.boot.schema.Store(&failed)
		a.Log.ErrorContext(ctx, "Making indexes and validators failed; it is tried again", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(schemaRetryDelay):
		}
	}
}

// watchSchema looks, until ctx ends, for what is missing by now, and for what other software has set up.
func (a *App) watchSchema(ctx context.Context) {
	ticker := time.NewTicker(schemaWatchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := a.lookAtSchema(ctx); err != nil && ctx.Err() == nil {
			a.Log.DebugContext(ctx, "Could not look at indexes and validators", slog.Any("error", err))
		}
	}
}

// lookAtSchema keeps the state of the schema for /readyz, and logs each entry once.
func (a *App) lookAtSchema(ctx context.Context) error {
	all := a.Collections()
	gaps, err := core.SchemaGaps(ctx, a.DB, all...)
	if err != nil {
		return err
	}
	foreign, err := core.ForeignSetup(ctx, a.DB, all...)
	if err != nil {
		return err
	}
	if a.boot.told == nil { // EnsureSchema has logged them
		a.boot.told = gaps
	}
	found := append(append([]string{}, gaps...), foreign...)
	for _, advice := range found {
		if !slices.Contains(a.boot.told, advice) {
			a.Log.ErrorContext(ctx, "The database is not set up as Holdfast needs it", slog.String("advice", advice))
		}
	}
	a.boot.told = found
	state := stateOfSchema(len(gaps), foreign)
	a.boot.schema.Store(&state)
	return nil
}

// stateOfSchema is the state for /readyz. What MongoDB says about a gap may hold data, so that only the
// log has it.
func stateOfSchema(gaps int, foreign []string) string {
	const most = 3
	var told []string
	if gaps > 0 {
		told = append(told, fmt.Sprintf("%d indexes or validators missing; the log says which and what to do", gaps))
	}
	told = append(told, foreign[:min(most, len(foreign))]...)
	if more := len(foreign) - most; more > 0 {
		told = append(told, fmt.Sprintf("%d more; the log says which", more))
	}
	if len(told) == 0 {
		return schemaOK
	}
	return strings.Join(told, "; ")
}

// Collections are all collections, with their indexes and validators.
func (a *App) Collections() (all []mongodb.Collection) {
	all = slices.Concat(core.Collections(), jobs.Collections())
	if !a.Config.SeatIndex {
		all = core.WithoutSeatIndex(all)
	}
	if a.retention > 0 {
		all = append(all, store.RetentionIndexes()...)
	}
	return all
}
