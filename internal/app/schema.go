package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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
	schemaRetryDelay    = 10 * time.Second // between attempts
	schemaWatchInterval = time.Minute
)

// schemaState has the indexes and validators that are missing.
func (b *boot) schemaState() string {
	if state := b.schema.Load(); state != nil {
		return *state
	}
	return schemaRunning
}

// ensureSchema creates indexes and validators, in one process at a time, and retries after a
// failure. If none is missing, it needs no lease. A lease only saves work: if MongoDB rejects it, the
// schema is created without one.
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
		if err == nil {
			err = a.warnOfSeatIndex(ctx)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		failed := "not complete; this process keeps trying, and the log says why"
		a.boot.schema.Store(&failed)
		a.Log.ErrorContext(ctx, "Could not create indexes and validators; retrying", slog.Any("error", err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(schemaRetryDelay):
		}
	}
}

// warnOfSeatIndex logs that SEAT_INDEX is set and has no effect, because the database was made with the other value.
func (a *App) warnOfSeatIndex(ctx context.Context) error {
	decided, err := a.DB.ReadVersion(ctx)
	if wanted := a.Config.SeatIndex; err == nil && wanted != nil && *wanted != decided.SeatIndex {
		a.Log.WarnContext(ctx, "SEAT_INDEX has no effect: it decides for a new database only, and this one was made with the other value",
			slog.Bool("wanted", *wanted), slog.Bool("database", decided.SeatIndex))
	}
	return err
}

// watchSchema checks the schema until ctx ends, because other software may remove or add indexes and validators.
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
			a.Log.DebugContext(ctx, "Could not check indexes and validators", slog.Any("error", err))
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
	if a.boot.told == nil { // EnsureSchema has logged them
		a.boot.told = gaps
	}
	for _, advice := range gaps {
		if !slices.Contains(a.boot.told, advice) {
			a.Log.ErrorContext(ctx, "The database does not have the settings that Holdfast needs", slog.String("advice", advice))
		}
	}
	a.boot.told = gaps
	state := stateOfSchema(len(gaps))
	a.boot.schema.Store(&state)
	return nil
}

// stateOfSchema is the state for /readyz. MongoDB's message about a gap may contain data, so only the
// log has it.
func stateOfSchema(gaps int) string {
	if gaps == 0 {
		return schemaOK
	}
	return fmt.Sprintf("%d indexes or validators missing; the log says which and what to do", gaps)
}

// Collections are all collections, with their indexes and validators.
func (a *App) Collections() (all []mongodb.Collection) {
	all = slices.Concat(core.Collections(), jobs.Collections())
	if wanted := a.Config.SeatIndex; wanted != nil && !*wanted {
		all = core.WithoutSeatIndex(all)
	}
	if a.Config.EndedRetention.Age > 0 {
		all = append(all, store.RetentionIndexes()...)
	}
	return all
}
