package webhooks

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// MaxReplayed bounds the deliveries of a replay, which takes the oldest changes first.
const MaxReplayed = 5000

// Replay selects past changes; a zero value selects all. Until is exclusive.
type Replay struct {
	Since, Until time.Time // of the changes' commits
	Types        []string  // patterns, as of an endpoint; nil: the endpoint's own
	State        string    // of the former deliveries: Delivered or Dead
}

func (r Replay) has(t holdfast.ChangeType, at time.Time) bool {
	return (r.Types == nil || isOfTypes(r.Types, t)) && (r.Since.IsZero() || !at.Before(r.Since)) && (r.Until.IsZero() || at.Before(r.Until))
}

// Replay plans deliveries of changes that the endpoint has passed, with the same IDs as before, and returns how many.
// Changes that are PENDING are left as they are. If it returns MaxReplayed, there may be more.
func (s *Service) Replay(ctx context.Context, id ID, r Replay) (planned int, err error) {
	if r.Types != nil {
		if err := checkTypes(r.Types); err != nil {
			return 0, err
		}
	}
	if !r.Since.IsZero() && !r.Until.IsZero() && !r.Since.Before(r.Until) {
		return 0, holdfast.RefuseInput("body.until", "The end is not after the beginning.")
	}
	e, err := s.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	var found []*record
	if r.State == "" {
		found, err = s.pastChanges(ctx, e, r)
	} else {
		found, err = s.pastDeliveries(ctx, e, r)
	}
	if err != nil {
		return 0, err
	}
	for len(found) > 0 {
		n := min(len(found), maxStatements)
		more, err := s.plan(ctx, id, found[:n])
		if err != nil {
			return planned, err
		}
		planned += more
		found = found[n:]
	}
	return planned, nil
}

// pastChanges are changes that the endpoint was told of, or is not told of because it was disabled.
func (s *Service) pastChanges(ctx context.Context, e Endpoint, r Replay) (found []*record, err error) {
	filter := changes.Filter{EventID: e.EventID, Since: r.Since, Until: r.Until}
	var from *changes.Position
	for {
		list, next, err := s.changes.Read(ctx, from, filter, page)
		if err != nil {
			return nil, err
		}
		for _, p := range list {
			if e.isPast(p.Position) && e.wants(&p.Change) && r.has(p.Type, p.At) {
				found = append(found, recordOf(newEntry(p)))
			}
			if len(found) == MaxReplayed {
				return found, nil
			}
		}
		if from != nil && next == *from || e.isAhead(next) {
			return found, nil
		}
		from = &next
	}
}

// pastDeliveries are deliveries that ended.
func (s *Service) pastDeliveries(ctx context.Context, e Endpoint, r Replay) (found []*record, err error) {
	cursor, err := s.deliveries().Aggregate(ctx, mongo.Pipeline{
		mongodb.Match(mongodb.Is("webhookId", e.ID), mongodb.Is("state", r.State)), mongodb.Sort("webhookId", "state", "_id"),
	})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		var d deliveryDoc
		if err := mongodb.Unmarshal(cursor.Current, &d); err != nil {
			return nil, err
		}
		all := d.Items
		if r.State != Delivered {
			all = []deliveryDoc{d}
		}
		for i := range all {
			if r.has(holdfast.ChangeType(all[i].Type), all[i].ChangedAt.Time) {
				found = append(found, all[i].record())
			}
			if len(found) == MaxReplayed {
				return found, nil
			}
		}
	}
	return found, mongodb.Translate(cursor.Err())
}

// plan makes deliveries PENDING, in one transaction, and returns how many were not. The transaction wakes the runner, and
// conflicts with its flushes: each sees the documents of the other.
func (s *Service) plan(ctx context.Context, id ID, records []*record) (int, error) {
	now, err := s.now(ctx)
	if err != nil {
		return 0, err
	}
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (int, error) {
		err := s.updateOne(ctx, id, bson.D{{Key: "$inc", Value: bson.D{{Key: "internal.replays", Value: int64(1)}}}})
		if err != nil {
			return 0, err
		}
		changeIDs := make([]string, len(records))
		for i, r := range records {
			changeIDs[i] = r.changeID
		}
		there, err := mongodb.All[deliveryDoc](ctx, s.deliveries(), mongo.Pipeline{
			mongodb.Match(pendingOf(id), mongodb.In("changeId", changeIDs)), mongodb.Only("changeId"),
		})
		if err != nil {
			return 0, err
		}
		isPending := map[string]bool{}
		for _, d := range there {
			isPending[string(d.ChangeID)] = true
		}
		var updates []bson.D
		for _, r := range records {
			if isPending[r.changeID] {
				continue
			}
			isPending[r.changeID] = true
			again := *r
			again.attempts, again.step, again.status, again.isDead, again.nextAttemptAt = 0, 0, 0, false, now
			again.triedAt, again.earlyAt = time.Time{}, time.Time{}
			updates = append(updates, bson.D{
				{Key: "q", Value: mongodb.And(mongodb.Is("webhookId", id), mongodb.Is("changeId", r.changeID))},
				{Key: "u", Value: again.update(now)}, {Key: "upsert", Value: true},
			})
		}
		return len(updates), s.command(ctx, "update", "updates", updates)
	})
}
