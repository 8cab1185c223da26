package webhooks

import (
	"context"
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// maxDue bounds the documents that a runner has in memory.
const maxDue = 200

// pollAt is when documents are to be read; zero: not now.
func (r *runner) pollAt(now time.Time) time.Time {
	switch {
	case len(r.due) > 0, len(r.dueSubjects) > 0 && r.isMoreDue:
		return time.Time{}
	case r.polledAt.IsZero(), r.isMoreDue:
		return now
	case len(r.blocked) == 0 && !r.pollAgain: // a replay resets polledAt
		return time.Time{}
	default:
		return r.polledAt.Add(duePollInterval)
	}
}

// pollDue reads documents that are to be tried.
func (r *runner) pollDue(ctx context.Context) {
	now := r.now()
	if at := r.pollAt(now); at.IsZero() || at.After(now) {
		return
	}
	// There should be nothing to wake. But a change that waits for ever would be lost.
	if len(r.blocked) > 0 && now.Sub(r.wokenAt) >= r.wakeEvery() {
		if _, err := r.wakeSubjects(ctx, r.endpoint.ID, now); err != nil {
			r.log.WarnContext(ctx, "[WEBHOOKS JOB] Deliveries that wait for nothing can't be looked for; trying again", slog.Any("error", err))
		} else {
			r.wokenAt = now
		}
	}
	found, err := r.Service.due(ctx, r.endpoint.ID, now, r.health.earlyBefore(now), r.track.scanned)
	if err == nil && (r.hasReplay || r.pending >= r.maxStored()) {
		r.pending, err = r.countPending(ctx, r.endpoint.ID, r.maxStored())
	}
	r.polledAt, r.isMoreDue, r.pollAgain = now, false, err != nil
	if err != nil {
		r.log.WarnContext(ctx, "[WEBHOOKS JOB] Deliveries can't be read; trying again", slog.Any("error", err))
		return
	}
	r.hasReplay = false
	for _, d := range found.first {
		subject := string(d.Subject)
		r.blocked[subject] = true
		if r.dueSubjects[subject] || r.track.isBusy(subject) || r.isUnwritten(&d) || r.isHeld(string(d.ChangeID), now) {
			continue
		}
		r.due = append(r.due, &try{key: d.Key, record: d.record(), isEarly: d.NextAttemptAt.After(now)})
	}
	r.isMoreDue = found.isMore && len(r.due) > 0 // else all of them wait for something
	if len(found.later) > 0 {
		r.written.later = found.later
		r.flushSoon(retriedFlushDelay)
	}
}

// isUnwritten reports whether the next flush writes the document, or an earlier one of its subject.
func (r *runner) isUnwritten(d *deliveryDoc) bool {
	for _, w := range r.written.retried {
		if w.key == d.Key {
			return true
		}
	}
	for _, w := range r.written.stored {
		if w.subject == string(d.Subject) && w.position.Compare(d.position()) < 0 {
			return true
		}
	}
	return false
}

// due are documents that are to be tried.
type due struct {
	first  []deliveryDoc // of each subject the earliest change
	later  []deliveryDoc // of subjects that have an earlier one: they lose their time, and get one when they are the earliest
	isMore bool          // there may be more
}

// due reads documents that are to be tried: those whose time has come, and those that may be tried early, because they were
// tried before the endpoint recovered. A replay may have made documents of changes that the runner has not come to: they wait
// until it has taken the changes before them. It writes nothing: the runner may have been replaced.
func (s *Service) due(ctx context.Context, id ID, now, earlyBefore time.Time, scanned changes.Position) (found due, err error) {
	when := bson.A{mongodb.Is("nextAttemptAt", bson.D{{Key: "$lte", Value: now}, {Key: "$type", Value: "date"}})}
	if !earlyBefore.IsZero() {
		when = append(when, bson.D{
			{Key: "nextAttemptAt", Value: bson.D{{Key: "$type", Value: "date"}}}, {Key: "triedAt", Value: bson.D{{Key: "$lt", Value: earlyBefore}}},
			{Key: "earlyAt", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$gt", Value: now}}}}},
		})
	}
	all, err := mongodb.All[deliveryDoc](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(pendingOf(id), mongodb.Is("seq", bson.D{{Key: "$lte", Value: scanned.Seq}}), bson.D{{Key: "$or", Value: when}}),
		mongodb.Sort("nextAttemptAt"), mongodb.Limit(maxDue),
	})
	if err != nil {
		return due{}, mongodb.Translate(err)
	}
	first := map[string]deliveryDoc{}
	for _, d := range all {
		if d.position().Compare(scanned) >= 0 {
			continue
		}
		subject := string(d.Subject)
		if _, isKnown := first[subject]; !isKnown {
			if first[subject], _, err = s.firstOf(ctx, id, subject); err != nil {
				return due{}, mongodb.Translate(err)
			}
		}
		if first[subject].Key == d.Key {
			found.first = append(found.first, d)
		} else {
			found.later = append(found.later, d)
		}
	}
	found.isMore = len(all) == maxDue
	return found, nil
}

// firstOf is the earliest PENDING change of a subject. There may be thousands; by the index it reads one.
func (s *Service) firstOf(ctx context.Context, id ID, subject string) (first deliveryDoc, exists bool, err error) {
	return mongodb.First[deliveryDoc](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(pendingOf(id), mongodb.Is("subject", subject)), mongodb.Sort("subject", "seq", "item"), mongodb.Limit(1),
	})
}

// wakeSubjects returns the subjects of the endpoint's documents that are PENDING: later changes of them become documents too.
// It makes those due that wait for an earlier one which is not there.
func (s *Service) wakeSubjects(ctx context.Context, id ID, now time.Time) (map[string]bool, error) {
	found, err := mongodb.All[struct {
		Subject mongodb.Text `bson:"_id"`
		Next    mongodb.Date `bson:"next"`
	}](ctx, s.deliveries(), mongo.Pipeline{
		mongodb.Match(pendingOf(id)), mongodb.Sort("subject", "seq", "item"),
		mongodb.Group("$subject", bson.E{Key: "next", Value: bson.D{{Key: "$first", Value: "$nextAttemptAt"}}}),
	})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	all := map[string]bool{}
	var waiting []string
	for _, f := range found {
		if all[string(f.Subject)] = true; f.Next.IsZero() {
			waiting = append(waiting, string(f.Subject))
		}
	}
	_, err = s.promote(ctx, id, waiting, now)
	return all, mongodb.Translate(err)
}

// countPending counts the endpoint's documents that are PENDING, up to a limit.
func (s *Service) countPending(ctx context.Context, id ID, limit int64) (int64, error) {
	n, err := s.deliveries().CountDocuments(ctx, pendingOf(id), options.Count().SetLimit(limit))
	return n, mongodb.Translate(err)
}

func pendingOf(id ID) bson.D {
	return mongodb.And(mongodb.Is("webhookId", id), mongodb.Is("state", Pending))
}
