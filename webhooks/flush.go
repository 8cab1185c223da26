package webhooks

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// flushSoon sees to it that what is not written yet is written after at most a delay.
func (r *runner) flushSoon(delay time.Duration) {
	if at := r.now().Add(delay); r.flushAt.IsZero() || at.Before(r.flushAt) {
		r.flushAt = at
	}
}

// flushIfDue writes what waits. It reports whether the runner has ended.
func (r *runner) flushIfDue(ctx context.Context) (ends bool) {
	isFull := len(r.written.stored)+len(r.written.delivered) >= maxTaken/2
	isDue := !r.flushAt.IsZero() && !r.now().Before(r.flushAt)
	if !isDue && (r.hasFailed || r.written.disabled == "" && !isFull) {
		return false
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	err := r.flush(ctx)
	r.hasFailed = err != nil
	switch {
	case errors.Is(err, errReplaced):
		r.log.InfoContext(ctx, "[WEBHOOKS JOB] The endpoint was deleted or enabled anew, or another process tells it")
		return true
	case err != nil:
		r.log.WarnContext(ctx, "[WEBHOOKS JOB] Results can't be written; trying again", slog.Any("error", err))
		r.flushAt = r.now().Add(flushInterval)
		return false
	}
	return r.endpoint.State == Disabled
}

// flush writes the results and the position. One whose outcome is unknown is repeated, with what has come since; then
// it writes the same documents again.
func (r *runner) flush(ctx context.Context) error {
	f := &r.written
	f.endpoint, f.at, f.epoch, f.position, f.health = r.endpoint.ID, r.now(), r.endpoint.epoch, r.track.position(), r.health
	if f.position == r.stored && len(f.stored)+len(f.delivered)+len(f.retried)+len(f.later) == 0 && f.disabled == "" {
		r.flushAt = time.Time{}
		return nil
	}
	for len(f.batches)*maxInBatch < len(f.delivered) {
		f.batches = append(f.batches, ids.New())
	}
	if f.disabled != "" {
		end, err := r.end(ctx, true)
		if err != nil {
			return err
		}
		f.disabledFrom = end.Seq
	}
	unblocked, err := r.write(ctx, f)
	if err != nil {
		return err
	}
	r.wrote(ctx, unblocked)
	return nil
}

// wrote takes over that a flush is written.
func (r *runner) wrote(ctx context.Context, unblocked []string) {
	f := &r.written
	for _, subject := range unblocked {
		delete(r.blocked, subject)
	}
	r.pending += int64(len(f.stored))
	for _, t := range f.retried {
		if t.isSettled() {
			r.pending--
		}
	}
	if len(f.retried)+len(f.later) > 0 { // the next documents of their subjects
		r.polledAt = time.Time{}
	}
	if f.disabled != "" {
		r.log.WarnContext(ctx, "[WEBHOOKS JOB] The endpoint is disabled", slog.String("reason", f.disabled))
		ended := *r.endpoint
		ended.State = Disabled
		r.endpoint = &ended
	}
	r.stored, r.written, r.flushAt = f.position, flush{}, time.Time{}
}

// flush is what a runner writes in one transaction.
type flush struct {
	endpoint     ID
	at           time.Time
	epoch        int64
	position     changes.Position
	health       health
	disabled     string    // why the endpoint is disabled; "": it is not
	disabledFrom int64     // the number of the first change that it is not told of then
	stored       []*record // new documents
	delivered    []*record
	batches      []ID // of the documents with what was delivered
	retried      []retried
	later        []deliveryDoc // documents that wait for an earlier one of their subject, and lose their time
}

// retried is how the try of a document ended: delivered (then record is in delivered too), dead, or pending.
type retried struct {
	key         ID
	record      *record
	isDelivered bool
}

func (r retried) isSettled() bool { return r.isDelivered || r.record.isDead }

// errReplaced says that another runner has the endpoint, or that it was deleted.
const errReplaced = mongodb.AbortError("another runner has the endpoint")

const (
	maxStatements = 500 // of a command
	maxInBatch    = 500 // deliveries of a document
)

// write writes a flush. unblocked are the subjects that have no document any more.
func (s *Service) write(ctx context.Context, f *flush) (unblocked []string, err error) {
	if s.hooks.beforeWrite != nil {
		if err := s.hooks.beforeWrite(); err != nil {
			return nil, err
		}
	}
	unblocked, err = mongodb.InTx(ctx, s.db, func(ctx context.Context) (unblocked []string, err error) {
		if err := s.writePosition(ctx, f); err != nil {
			return nil, err
		}
		var updates, deletes []bson.D
		var subjects []string // whose first document may need a time
		for _, d := range f.later {
			subjects = append(subjects, string(d.Subject))
			updates = append(updates, bson.D{
				{Key: "q", Value: mongodb.And(mongodb.Is("_id", d.Key), mongodb.Is("state", Pending))},
				{Key: "u", Value: bson.D{{Key: "$unset", Value: bson.D{{Key: "nextAttemptAt", Value: ""}}}}},
			})
		}
		for _, r := range f.stored {
			if r.nextAttemptAt.IsZero() { // perhaps the earlier one that it is to wait for is gone
				subjects = append(subjects, r.subject)
			}
			updates = append(updates, bson.D{
				{Key: "q", Value: mongodb.And(mongodb.Is("webhookId", f.endpoint), mongodb.Is("changeId", r.changeID))},
				{Key: "u", Value: r.update(f.at)}, {Key: "upsert", Value: true},
			})
		}
		for _, r := range f.retried {
			if r.isSettled() {
				subjects = append(subjects, r.record.subject)
			}
			if r.isDelivered {
				deletes = append(deletes, bson.D{{Key: "q", Value: mongodb.Is("_id", r.key)}, {Key: "limit", Value: 1}})
				continue
			}
			updates = append(updates, bson.D{{Key: "q", Value: mongodb.Is("_id", r.key)}, {Key: "u", Value: r.record.update(f.at)}})
		}
		if err := s.command(ctx, "update", "updates", updates); err != nil {
			return nil, err
		}
		if err := s.command(ctx, "delete", "deletes", deletes); err != nil {
			return nil, err
		}
		if err := s.writeDelivered(ctx, f); err != nil {
			return nil, err
		}
		return s.promote(ctx, f.endpoint, subjects, f.at)
	})
	if err == nil && s.hooks.afterWrite != nil {
		err = s.hooks.afterWrite()
	}
	return unblocked, err
}

func (s *Service) writePosition(ctx context.Context, f *flush) error {
	set := bson.D{{Key: "internal.seq", Value: f.position.Seq}, {Key: "internal.item", Value: f.position.Item}}
	unset := bson.D{}
	if f.health.isFailing() {
		set = append(set, bson.E{Key: "internal.failingSince", Value: f.health.failingSince})
	} else {
		unset = append(unset, bson.E{Key: "internal.failingSince", Value: ""})
	}
	if !f.health.recoveredAt.IsZero() {
		set = append(set, bson.E{Key: "internal.recoveredAt", Value: f.health.recoveredAt})
	}
	update := bson.D{}
	if f.disabled != "" {
		set = append(set, bson.E{Key: "state", Value: Disabled}, bson.E{Key: "reason", Value: f.disabled}, bson.E{Key: "updatedAt", Value: f.at})
		update = append(update, bson.E{Key: "$min", Value: bson.D{{Key: "internal.disabledFrom", Value: f.disabledFrom}}})
	}
	update = append(update, bson.E{Key: "$set", Value: set}, pullPassed(f.position))
	if len(unset) > 0 {
		update = append(update, bson.E{Key: "$unset", Value: unset})
	}
	result, err := s.endpoints().UpdateOne(ctx, mongodb.And(mongodb.Is("_id", f.endpoint), mongodb.Is("internal.epoch", f.epoch)), update)
	if err == nil && result.MatchedCount == 0 {
		err = errReplaced
	}
	return err
}

// command sends the statements of an update or a delete, in several commands if there are many.
func (s *Service) command(ctx context.Context, verb, list string, statements []bson.D) error {
	for len(statements) > 0 {
		n := min(len(statements), maxStatements)
		err := s.db.RunCommand(ctx, bson.D{{Key: verb, Value: deliveriesName}, {Key: list, Value: statements[:n]}}).Err()
		if err != nil {
			return err
		}
		statements = statements[n:]
	}
	return nil
}

func (s *Service) writeDelivered(ctx context.Context, f *flush) error {
	for n, key := range f.batches {
		batch := f.delivered[n*maxInBatch : min((n+1)*maxInBatch, len(f.delivered))]
		_, err := s.deliveries().ReplaceOne(ctx, mongodb.Is("_id", key), bson.D{
			{Key: "_id", Value: key}, {Key: "webhookId", Value: f.endpoint}, {Key: "state", Value: Delivered},
			{Key: "at", Value: f.at}, {Key: "items", Value: itemsOf(batch)},
		}, options.Replace().SetUpsert(true))
		if err != nil {
			return err
		}
	}
	return nil
}

// promote makes the first documents of subjects due that have no time. unblocked have no document.
func (s *Service) promote(ctx context.Context, id ID, subjects []string, now time.Time) (unblocked []string, err error) {
	var waiting []bson.D
	slices.Sort(subjects)
	for _, subject := range slices.Compact(subjects) {
		d, exists, err := s.firstOf(ctx, id, subject)
		switch {
		case err != nil:
			return nil, err
		case !exists:
			unblocked = append(unblocked, subject)
		case d.NextAttemptAt.IsZero():
			waiting = append(waiting, bson.D{{Key: "q", Value: mongodb.Is("_id", d.Key)},
				{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: "nextAttemptAt", Value: now}}}}}})
		}
	}
	return unblocked, s.command(ctx, "update", "updates", waiting)
}
