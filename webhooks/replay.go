package webhooks

import (
	"context"
	"iter"
	"slices"
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
// Changes that are PENDING are left as they are, and don't count. If it returns MaxReplayed, there may be more. After an error
// some may be planned.
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
	past := s.pastChanges
	if r.State != "" {
		past = s.pastDeliveries
	}
	for found, err := range past(ctx, e, r) {
		if err != nil {
			return planned, err
		}
		more, err := s.plan(ctx, id, found, MaxReplayed-planned)
		if planned += more; err != nil || planned == MaxReplayed {
			return planned, err
		}
	}
	return planned, nil
}

// selected are the known types that each list of patterns selects; nil is no list. all: these are all known types, so the
// patterns select those of later versions too.
func selected(lists ...[]string) (types []holdfast.ChangeType, all bool) {
	known := holdfast.ChangeTypes()
	for _, t := range known {
		if !slices.ContainsFunc(lists, func(patterns []string) bool { return patterns != nil && !isOfTypes(patterns, t) }) {
			types = append(types, t)
		}
	}
	return types, len(types) == len(known)
}

// pastChanges are changes that the endpoint was told of, or is not told of because it was disabled or had other types; oldest first,
// in pages of at most maxStatements.
func (s *Service) pastChanges(ctx context.Context, e Endpoint, r Replay) iter.Seq2[[]*record, error] {
	return func(yield func([]*record, error) bool) {
		types, all := selected(e.Types, r.Types)
		if len(types) == 0 {
			return
		}
		filter := changes.Filter{EventID: e.EventID, Since: r.Since, Until: r.Until}
		if !all {
			filter.Types = types
		}
		var from *changes.Position
		for {
			list, next, err := s.changes.Read(ctx, from, filter, maxStatements)
			if err != nil {
				yield(nil, err)
				return
			}
			var found []*record
			for _, p := range list {
				isTold := !e.isPast(p.Position) && e.wantsAt(p.Position, &p.Change) // by itself
				if !isTold && e.wants(&p.Change) && r.has(p.Type, p.At) {
					found = append(found, recordOf(newEntry(p)))
				}
			}
			if len(found) > 0 && !yield(found, nil) {
				return
			}
			if from != nil && next == *from || e.isAhead(next) {
				return
			}
			from = &next
		}
	}
}

// pastDeliveries are deliveries that ended, those of the oldest changes first, in pages of at most maxStatements.
func (s *Service) pastDeliveries(ctx context.Context, e Endpoint, r Replay) iter.Seq2[[]*record, error] {
	return func(yield func([]*record, error) bool) {
		var behind bson.D
		for {
			docs, err := mongodb.All[deliveryDoc](ctx, s.deliveries(), r.ended(e.ID, behind))
			if err != nil {
				yield(nil, mongodb.Translate(err))
				return
			}
			var found []*record
			for i := range docs {
				isRepeat := i > 0 && docs[i].position() == docs[i-1].position() // it was delivered twice
				if !isRepeat && r.has(holdfast.ChangeType(docs[i].Type), docs[i].ChangedAt.Time) {
					found = append(found, docs[i].record())
				}
			}
			for part := range slices.Chunk(found, maxStatements) {
				if !yield(part, nil) {
					return
				}
			}
			if len(docs) < MaxReplayed {
				return
			}
			last := docs[len(docs)-1].position()
			behind = bson.D{{Key: "$or", Value: bson.A{
				mongodb.Is("seq", bson.D{{Key: "$gt", Value: last.Seq}}),
				mongodb.And(mongodb.Is("seq", last.Seq), mongodb.Is("item", bson.D{{Key: "$gt", Value: last.Item}})),
			}}}
		}
	}
}

// ended reads the first MaxReplayed deliveries that ended, in the order of their changes. Those that were delivered are in batches,
// in the order of the deliveries: a change that was told late is in a late one.
func (r Replay) ended(id ID, behind bson.D) mongo.Pipeline {
	which := []bson.D{exists("changeId"), behind}
	if types, all := selected(r.Types); !all {
		which = append(which, mongodb.In("type", types))
	}
	if !r.Since.IsZero() {
		which = append(which, mongodb.Is("changedAt", bson.D{{Key: "$gte", Value: r.Since}}))
	}
	if !r.Until.IsZero() { // MongoDB has whole milliseconds; has checks it exactly
		which = append(which, mongodb.Is("changedAt", bson.D{{Key: "$lte", Value: r.Until}}))
	}
	stages := mongo.Pipeline{mongodb.Match(mongodb.Is("webhookId", id), mongodb.Is("state", r.State))}
	if r.State == Delivered {
		stages = append(stages,
			mongodb.Match(mongodb.Is("items", bson.D{{Key: "$elemMatch", Value: mongodb.And(which...)}})),
			bson.D{{Key: "$unwind", Value: "$items"}}, mongodb.Match(exists("items.changeId")),
			bson.D{{Key: "$replaceRoot", Value: bson.D{{Key: "newRoot", Value: "$items"}}}})
	}
	return append(stages, mongodb.Match(which...), mongodb.Sort("seq", "item"), mongodb.Limit(MaxReplayed))
}

// plan makes deliveries PENDING that are not, the first ones up to a number, in one transaction, and returns how many. The transaction
// wakes the runner, and conflicts with its flushes: each sees the documents of the other.
func (s *Service) plan(ctx context.Context, id ID, records []*record, most int) (int, error) {
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
			if isPending[r.changeID] || len(updates) == most {
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
