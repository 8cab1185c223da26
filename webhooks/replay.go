package webhooks

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// MaxReplayed bounds the deliveries of a replay. A replay starts with the oldest changes.
const MaxReplayed = 5000

// Replay selects past changes. A zero value selects all. Until is exclusive.
type Replay struct {
	Since, Until time.Time // of the changes' commits
	Types        []string  // patterns, as of an endpoint; if nil, the endpoint's own patterns apply
	State        string    // the state of the existing deliveries: Delivered or Dead
}

// Replay plans deliveries of past changes, with the same IDs as before, and returns their number. It leaves PENDING
// deliveries unchanged, and does not count them. If it returns MaxReplayed, there may be more changes. After an
// error some deliveries may be planned.
func (s *Service) Replay(ctx context.Context, id ID, r Replay) (planned int, err error) {
	if r.Types != nil {
		if err := checkTypes(r.Types); err != nil {
			return 0, err
		}
	}
	if !r.Since.IsZero() && !r.Until.IsZero() && !r.Since.Before(r.Until) {
		return 0, holdfast.RefuseInput("body.until", "until must be later than since.")
	}
	e, err := s.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	if r.State != "" {
		ended, err := s.ended(ctx, id, r)
		if err != nil {
			return 0, err
		}
		return s.plan(ctx, ended)
	}
	return s.replayChanges(ctx, &e, r)
}

// ended returns the deliveries in the replay's state, oldest changes first.
func (s *Service) ended(ctx context.Context, id ID, r Replay) ([]Delivery, error) {
	which := []bson.D{mongodb.Is("webhookId", id), mongodb.Is("state", r.State)}
	if r.Types != nil {
		which = append(which, mongodb.In("type", slices.DeleteFunc(holdfast.ChangeTypes(), func(t holdfast.ChangeType) bool {
			return !isOfTypes(r.Types, t)
		})))
	}
	// MongoDB stores whole milliseconds, so rounding up to the next one is exact.
	for compare, at := range map[string]time.Time{"$gte": r.Since, "$lt": r.Until} {
		if !at.IsZero() {
			next := at.Add(time.Millisecond - 1).Truncate(time.Millisecond)
			which = append(which, mongodb.Is("changedAt", bson.D{{Key: compare, Value: next}}))
		}
	}
	docs, err := mongodb.All[bson.Raw](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(which...), mongodb.Sort("seq", "item"), mongodb.Limit(MaxReplayed),
	})
	return decode[Delivery](ctx, s, deliveriesName, docs), mongodb.Translate(err)
}

// replayChanges plans the deliveries of committed changes, whether they were sent before or not.
func (s *Service) replayChanges(ctx context.Context, e *Endpoint, r Replay) (planned int, err error) {
	end, _, err := s.catchUp(ctx)
	if err != nil {
		return 0, err
	}
	filter := changes.Filter{EventID: e.EventID, Since: r.Since, Until: r.Until}
	for _, t := range holdfast.ChangeTypes() {
		if isOfTypes(e.Types, t) && (r.Types == nil || isOfTypes(r.Types, t)) {
			filter.Types = append(filter.Types, t)
		}
	}
	if len(filter.Types) == 0 {
		return 0, nil
	}
	const size = 500
	var from *changes.Position
	for isLast := false; !isLast && planned < MaxReplayed; {
		page, next, err := s.changes.Read(ctx, from, filter, size)
		if err != nil {
			return planned, err
		}
		var found []Delivery
		for i := range page {
			p := &page[i]
			isIn := e.isSince(p, r.Since) && (r.Until.IsZero() || p.At.Before(r.Until)) // pages have more
			if isIn && p.Position.Compare(end) < 0 && e.wants(&p.Change) {
				found = append(found, newDelivery(e.ID, p, time.Time{}))
			}
		}
		for len(found) > 0 && planned < MaxReplayed {
			n := min(len(found), MaxReplayed-planned)
			more, err := s.plan(ctx, found[:n])
			if planned += more; err != nil {
				return planned, err
			}
			found = found[n:]
		}
		isLast = from != nil && next == *from || next.Compare(end) >= 0
		from = &next
	}
	return planned, nil
}

// plan makes deliveries PENDING that are not, inserts those that don't exist, and returns the number of both.
func (s *Service) plan(ctx context.Context, deliveries []Delivery) (planned int, err error) {
	now, err := s.now(ctx)
	if err != nil || len(deliveries) == 0 {
		return 0, err
	}
	planning := Progress{State: Pending, NextAttemptAt: now, DueAt: now, IsReplay: true}
	updates := make([]mongo.WriteModel, len(deliveries))
	for i, d := range deliveries {
		updates[i] = mongo.NewUpdateOneModel().SetUpsert(true).
			SetFilter(mongodb.And(mongodb.Is("_id", d.ID), mongodb.Is("state", bson.D{{Key: "$ne", Value: Pending}}))).
			SetUpdate(bson.D{{Key: "$set", Value: planning}, {Key: "$setOnInsert", Value: d.Target}})
	}
	result, err := s.deliveries().BulkWrite(ctx, updates, options.BulkWrite().SetOrdered(false))
	if result != nil {
		planned = int(result.MatchedCount + result.UpsertedCount)
	}
	var bulk mongo.BulkWriteException
	isOther := func(e mongo.BulkWriteError) bool { return !mongo.IsDuplicateKeyError(e.WriteError) }
	if errors.As(err, &bulk) && bulk.WriteConcernError == nil && !slices.ContainsFunc(bulk.WriteErrors, isOther) {
		err = nil // these are PENDING already
	}
	return planned, mongodb.UnknownOutcome(err)
}
