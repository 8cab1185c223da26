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

// Sealer seals events that are over and settled, so that recovery and reconcile skip them.
type Sealer struct {
	Store *store.Store

	reported Reported
	refused  Reported // events as they were when they could not be sealed
}

// sealPageSize is the number of events in one read.
const sealPageSize = 500

// Run seals the events whose date is longer ago than age, unless processes of the former version
// may serve the database too. The report counts these events:
// sealed, skipped because they are in use or have to be repaired first, and left for the next
// run because of an error. An event that has to be repaired is logged once a day, and is
// examined again after a day or when it has changed.
func (s *Sealer) Run(ctx context.Context, age time.Duration, log *slog.Logger) (Report, error) {
	var report Report
	if s.Store.DB().LearnUpgrade(ctx); s.Store.DB().Shared() {
		log.DebugContext(ctx, "[RETENTION JOB] No event is sealed before seatctl upgrade finish: the former version would not remove the seal")
		return report, nil
	}
	now, err := s.Store.DB().Now(ctx)
	if err != nil {
		return report, err
	}
	clock, until := s.Store.DB().Clock(), now.Add(-age)
	logged := clock()
	for after := (holdfast.ID{}); ; {
		page, err := s.Store.OverEvents(ctx, until, after, sealPageSize)
		if err != nil {
			return report, err
		}
		for _, event := range page {
			if err := interrupted(ctx); err != nil {
				return report, err
			}
			sealed, err := s.seal(ctx, event, until, log)
			if report = report.Add(sealed); err != nil {
				return report, err
			}
			if clock.Since(logged) > progressInterval {
				logged = clock()
				log.InfoContext(ctx, "[RETENTION JOB] Sealing events that are over",
					slog.Int("found", report.Found), slog.Int("applied", report.Applied))
			}
		}
		if len(page) < sealPageSize {
			break
		}
		after = page[len(page)-1].ID
	}
	level := slog.LevelDebug
	if report.Applied > 0 {
		level = slog.LevelInfo
	}
	log.Log(ctx, level, fmt.Sprintf("[RETENTION JOB] Sealed %d events that are over", report.Applied),
		slog.Int("found", report.Found), slog.Int("applied", report.Applied),
		slog.Int("skipped", report.Skipped), slog.Int("errors", report.Errors))
	return report, nil
}

// seal seals one event. An error means that the database does not answer.
func (s *Sealer) seal(ctx context.Context, event inventory.Event, until time.Time, log *slog.Logger) (Report, error) {
	now := s.Store.DB().Clock()
	state := stateOf(event)
	if s.refused.Knows(state, now()) {
		return Report{Found: 1, Skipped: 1}, nil
	}
	result, err := s.Store.Seal(ctx, event, until)
	switch {
	case err != nil && pipeline.IsRejected(err):
		result.Contradiction = "MongoDB rejects the change"
	case err != nil && (ctx.Err() != nil || s.Store.DB().Ping(ctx) != nil):
		return Report{}, err
	case err != nil:
		log.ErrorContext(ctx, "Could not seal an event that is over; it is tried again", slog.Any("eventId", event.ID), slog.Any("error", err))
		return Report{Found: 1, Errors: 1}, nil
	case result.Sealed:
		return Report{Found: 1, Applied: 1}, nil
	}
	if result.Contradiction != "" {
		s.refused.IsNew(state, now())
		level, why := slog.LevelDebug, result.Contradiction
		if s.reported.IsNew(fmt.Sprintf("event %s: %s", event.ID, why), now()) {
			level = slog.LevelWarn
		}
		log.Log(ctx, level, "Set aside: an event that is over can't be sealed: "+why, slog.Any("eventId", event.ID))
	}
	return Report{Found: 1, Skipped: 1}, nil
}

// stateOf names an event as it was read. It changes with every write of the event.
func stateOf(e inventory.Event) string {
	var repairs int64
	if e.Repairs != nil {
		repairs = *e.Repairs
	}
	return fmt.Sprint(e.ID, e.Revision, repairs, e.TotalSeats, e.AvailableSeats, e.Oversold)
}
