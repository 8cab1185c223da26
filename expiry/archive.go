package expiry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/pipeline"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Archiver marks events that are past and settled, so that recovery and reconcile skip them.
type Archiver struct {
	Pipeline *pipeline.Pipeline
}

// archivePageSize is the number of events in one read.
const archivePageSize = 500

// Run archives the events whose date is longer ago than age. The report counts these events: archived events, events
// that were skipped because they are open or MongoDB rejects the change, and events that were left for the next run
// because of an error.
func (a *Archiver) Run(ctx context.Context, age time.Duration, log *slog.Logger) (Report, error) {
	var report Report
	s := a.Pipeline.Store()
	clock := s.DB().Clock()
	logged := clock()
	for after := (holdfast.ID{}); ; {
		page, err := s.OverEvents(ctx, age, after, archivePageSize)
		if err != nil {
			return report, err
		}
		for _, event := range page {
			if err := interrupted(ctx); err != nil {
				return report, err
			}
			archived, err := a.archive(ctx, event, age, log)
			if report = report.Add(archived); err != nil {
				return report, err
			}
			if clock.Since(logged) > progressInterval {
				logged = clock()
				log.InfoContext(ctx, "[RETENTION JOB] Archiving events that are over",
					slog.Int("found", report.Found), slog.Int("applied", report.Applied))
			}
		}
		if len(page) < archivePageSize {
			break
		}
		after = page[len(page)-1].ID
	}
	level := slog.LevelDebug
	if report.Applied > 0 {
		level = slog.LevelInfo
	}
	log.Log(ctx, level, fmt.Sprintf("[RETENTION JOB] Archived %d events that are over", report.Applied),
		slog.Int("found", report.Found), slog.Int("applied", report.Applied),
		slog.Int("skipped", report.Skipped), slog.Int("errors", report.Errors))
	return report, nil
}

// archive archives one event. An error means that the database does not answer.
func (a *Archiver) archive(ctx context.Context, event store.OverEvent, age time.Duration, log *slog.Logger) (Report, error) {
	s := a.Pipeline.Store()
	if event.IsOpen {
		return Report{Found: 1, Skipped: 1}, nil
	}
	archived, err := false, error(nil)
	if event.Waits { // the job waitlist ends the entries, and a later run archives the event
		_, err = a.Pipeline.Submit(ctx, event.ID, inventory.CloseList{Revision: event.Revision})
	} else {
		archived, err = s.Archive(ctx, event, age)
	}
	switch {
	case archived:
		return Report{Found: 1, Applied: 1}, nil
	case err == nil || pipeline.IsRejected(err) || holdfast.HasCode(err, holdfast.CodeEventNotFound):
		return Report{Found: 1, Skipped: 1}, nil
	case ctx.Err() != nil || s.DB().Ping(ctx) != nil:
		return Report{}, err
	default:
		log.ErrorContext(ctx, "Could not archive an event that is over; the next run tries again",
			slog.Any("eventId", event.ID), slog.Any("error", err))
		return Report{Found: 1, Errors: 1}, nil
	}
}
