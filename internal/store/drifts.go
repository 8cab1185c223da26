package store

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// driftsTimeout bounds the correction of a page of counters, which takes less than a second. A write outside a
// transaction waits for a transaction that holds its event, and the transaction of a dead process may hold it for a
// minute. The correction of a single event is a transaction, which ends such an orphan. The driver passes the limit
// to MongoDB.
const driftsTimeout = 5 * time.Second

// ApplyDrifts subtracts drifts from counters in a few commands, each counter by itself, for the run with the given
// ID. It returns the events that this run corrected. The other events have to be measured again. It waits at most
// driftsTimeout for transactions that hold one of the events. After OUTCOME_UNKNOWN, AppliedDrifts returns which
// events were corrected. A failed command is a warning in the run's log, unless MongoDB rejects an event: the
// correction of that single event reports it.
func (s *Store) ApplyDrifts(
	ctx context.Context, writes map[ID]inventory.EventWrite, run string, log *slog.Logger,
) (corrected map[ID]holdfast.Event, err error) {
	updates := make([]mongo.WriteModel, 0, len(writes))
	for id, w := range writes {
		updates = append(updates, mongo.NewUpdateOneModel().SetFilter(eventGuard(id, w)).SetUpdate(eventUpdate(w)))
	}
	bounded, cancel := context.WithTimeout(ctx, driftsTimeout)
	defer cancel()
	if _, err := s.events().BulkWrite(bounded, updates, options.BulkWrite().SetOrdered(false)); err != nil {
		level := slog.LevelWarn
		if mongodb.RejectedForDocument(err) {
			level = slog.LevelDebug
		}
		log.Log(ctx, level, "Correcting counters together failed; they are corrected one by one",
			slog.Int("events", len(updates)), slog.Any("error", err))
	}
	return s.AppliedDrifts(ctx, writes, run)
}

// AppliedDrifts returns the events that a run has corrected exactly once since the drifts were measured.
func (s *Store) AppliedDrifts(
	ctx context.Context, writes map[ID]inventory.EventWrite, run string,
) (corrected map[ID]holdfast.Event, err error) {
	eventIDs := slices.Collect(maps.Keys(writes))
	ofRun := mongodb.Match(mongodb.In("_id", eventIDs), mongodb.Is(runID, run))
	docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{ofRun, withoutMap})
	corrected = make(map[ID]holdfast.Event, len(docs))
	for _, d := range docs {
		if d.Internal.Repairs == writes[d.ID].Drift.Repairs+1 { // there was no other repair since
			corrected[d.ID] = d.event()
		}
	}
	return corrected, mongodb.UnknownOutcome(err)
}
