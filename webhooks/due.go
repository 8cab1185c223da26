package webhooks

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// maxBehind bounds how long a delivery is not examined after it was found behind a delivery that waits.
const maxBehind = 5 * time.Minute

// maxEarly bounds the deliveries that are tried again together, of an endpoint that accepts others. It leaves room for new ones:
// the endpoint may refuse some deliveries always.
const maxEarly = 64

// dueSubjects returns subjects of the endpoint that have a delivery to be tried, without the busy ones.
func (s *sender) dueSubjects(ctx context.Context, now time.Time, limit int) ([]string, error) {
	if !s.health.isFailing() {
		tried, err := s.findDue(ctx, "dueAt", wasTried, now, maxEarly)
		if err != nil {
			return nil, err
		}
		untried, err := s.findDue(ctx, "dueAt", neverTried, now, limit-len(tried))
		all := append(tried, untried...)
		slices.Sort(all)
		return slices.Compact(all), err
	}
	if s.health.mayProbe(now) { // deliveries that were never tried go first: the endpoint may refuse the other ones
		found, err := s.findDue(ctx, "dueAt", neverTried, now, limit)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return s.findDue(ctx, "nextAttemptAt", wasTried, now, limit)
}

// findDue finds deliveries whose time has passed, earliest first.
func (s *sender) findDue(ctx context.Context, field string, which bson.D, now time.Time, limit int) (subjects []string, err error) {
	busy := slices.AppendSeq(make([]string, 0, len(s.busy)), maps.Keys(s.busy)) // never nil, which MongoDB would refuse
	found, err := mongodb.All[struct {
		Subject string `bson:"subject"`
	}](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(pendingOf(s.endpoint.ID), which, mongodb.Is(field, bson.D{{Key: "$lte", Value: now}}),
			mongodb.Is("subject", bson.D{{Key: "$nin", Value: busy}})),
		mongodb.Sort(field), mongodb.Limit(limit),
		{{Key: "$project", Value: bson.D{{Key: "_id", Value: 0}, {Key: "subject", Value: 1}}}},
	})
	for _, f := range found {
		subjects = append(subjects, f.Subject)
	}
	return subjects, err
}

// readyHeads returns the first deliveries of subjects that may be tried now. If the first delivery of a subject has
// to wait, it postpones the deliveries behind it: they are examined again when the first one has ended, and after
// maxBehind at the latest.
func (s *sender) readyHeads(ctx context.Context, subjects []string, now time.Time) (ready []Delivery, err error) {
	id, isFailing := s.endpoint.ID, s.health.isFailing()
	heads, err := s.heads(ctx, id, subjects)
	if err != nil {
		return nil, err
	}
	var updates []mongo.WriteModel
	for _, raw := range heads {
		decoded := decode[Delivery](ctx, s.Service, deliveriesName, []bson.Raw{raw})
		if len(decoded) == 0 { // it is DEAD now
			updates = append(updates, mongo.NewUpdateOneModel().SetFilter(mongodb.Is("_id", raw.Lookup("_id"))).
				SetUpdate(bson.D{{Key: "$set", Value: mongodb.Is("state", Dead)}}))
			continue
		}
		d := decoded[0]
		at := d.waitsUntil(isFailing)
		if !at.After(now) {
			ready = append(ready, d)
			continue
		}
		at = now.Add(min(at.Sub(now), maxBehind))
		behind := mongodb.And(pendingOf(id), mongodb.Is("subject", d.Subject), mongodb.Is("_id", bson.D{{Key: "$ne", Value: d.ID}}))
		updates = append(updates, mongo.NewUpdateManyModel().SetFilter(behind).
			SetUpdate(bson.D{{Key: "$max", Value: bson.D{{Key: "dueAt", Value: at}, {Key: "nextAttemptAt", Value: at}}}}))
	}
	return ready, s.bulk(ctx, updates)
}

// writeProgress writes the progress of deliveries, and makes the deliveries due that were behind those that waited.
// It can be repeated. It does not change a delivery that another process has tried meanwhile, or that a replay has
// planned again.
func (s *Service) writeProgress(ctx context.Context, id ID, all []tried, now time.Time) error {
	type change struct{ before, after Progress }
	alike := map[change][]ID{} // most deliveries of a page share one update
	var subjects []string
	for _, t := range all {
		if t.aborted {
			continue
		}
		c := change{t.Progress, t.after}
		alike[c] = append(alike[c], t.ID)
		if c.before.Attempts > 0 && c.after.State != Pending {
			subjects = append(subjects, t.Subject)
		}
	}
	updates := make([]mongo.WriteModel, 0, len(alike)+1)
	for c, ids := range alike {
		asRead := mongodb.And(mongodb.In("_id", ids), mongodb.Is("state", Pending), mongodb.Is("attempts", c.before.Attempts),
			mongodb.Is("dueAt", c.before.DueAt))
		updates = append(updates, mongo.NewUpdateManyModel().SetFilter(asRead).SetUpdate(bson.D{{Key: "$set", Value: c.after}}))
	}
	if len(subjects) > 0 {
		updates = append(updates, mongo.NewUpdateManyModel().SetFilter(mongodb.And(pendingOf(id), neverTried, mongodb.In("subject", subjects))).
			SetUpdate(bson.D{{Key: "$set", Value: bson.D{{Key: "dueAt", Value: now}, {Key: "nextAttemptAt", Value: now}}}}))
	}
	return s.bulk(ctx, updates)
}

func (s *Service) bulk(ctx context.Context, updates []mongo.WriteModel) error {
	if len(updates) == 0 {
		return nil
	}
	_, err := s.deliveries().BulkWrite(ctx, updates, options.BulkWrite().SetOrdered(false))
	return err
}
