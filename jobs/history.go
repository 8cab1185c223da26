package jobs

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const runsName = "jobruns"

// How long runs are kept. Scheduled ones that found nothing tell only that the
// job is alive.
const (
	keepRuns      = 30 * 24 * time.Hour
	keepEmptyRuns = time.Hour
)

// Collections is what this package wants MongoDB to hold.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{
		Name: runsName,
		Indexes: []mongodb.Index{
			{Keys: mongodb.Keys("job", "startedAt", "_id")},
			{Keys: mongodb.Keys("job"), Partial: mongodb.Is("outcome", string(Running))},
			{Keys: mongodb.Keys("outcome", "startedAt"), Partial: mongodb.Is("outcome", string(Failed))},
			{Keys: mongodb.Keys("startedAt"), ExpireAfter: keepRuns},
			{Keys: mongodb.Keys("finishedAt"), ExpireAfter: keepEmptyRuns, Partial: bson.D{
				{Key: "trigger", Value: string(Scheduled)}, {Key: "outcome", Value: string(Completed)}, {Key: "found", Value: 0},
			}},
		},
	}}
}

// History keeps runs in MongoDB. To write it is never a reason for a run to
// fail: without a database there is no work to do either.
type History struct{ DB *mongodb.DB }

// historyTime bounds the writing of a record.
const historyTime = 2 * time.Second

func (h *History) runs() *mongo.Collection { return h.DB.Collection(runsName) }

type runDoc struct {
	ID         mongodb.Text  `bson:"_id"`
	Job        mongodb.Text  `bson:"job"`
	Pod        mongodb.Text  `bson:"pod"`
	Trigger    mongodb.Text  `bson:"trigger"`
	StartedAt  mongodb.Date  `bson:"startedAt"`
	FinishedAt mongodb.Date  `bson:"finishedAt"`
	Outcome    mongodb.Text  `bson:"outcome"`
	Reason     mongodb.Text  `bson:"reason"`
	Contended  mongodb.Whole `bson:"contended"`
	Found      mongodb.Whole `bson:"found"`
	Applied    mongodb.Whole `bson:"applied"`
	Skipped    mongodb.Whole `bson:"skipped"`
	Errors     mongodb.Whole `bson:"errors"`
	Seats      mongodb.Whole `bson:"seatsRestored"`
}

func (d runDoc) record() Record {
	return Record{
		ID: string(d.ID), Job: string(d.Job), Pod: string(d.Pod), Trigger: Trigger(d.Trigger),
		StartedAt: d.StartedAt.Time, FinishedAt: d.FinishedAt.Time, Outcome: Outcome(d.Outcome), Reason: string(d.Reason), Contended: int(d.Contended.Or(0)),
		Counts: Counts{Found: int(d.Found.Or(0)), Applied: int(d.Applied.Or(0)), Skipped: int(d.Skipped.Or(0)),
			Errors: int(d.Errors.Or(0)), SeatsRestored: d.Seats.Or(0)},
	}
}

// start notes that a run is under way. If it is the only one, others of its job
// that are still noted as running were left behind by dead processes.
func (h *History) start(ctx context.Context, r Record, exclusive bool) Record {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTime)
	defer cancel()
	if exclusive {
		_, err := h.runs().UpdateMany(ctx, bson.D{{Key: "job", Value: r.Job}, {Key: "outcome", Value: string(Running)}},
			mongo.Pipeline{{{Key: "$set", Value: bson.D{
				{Key: "outcome", Value: string(Failed)}, {Key: "finishedAt", Value: "$$NOW"},
				{Key: "reason", Value: "its process ended, or lost its lease, before the run's end; " + r.ID + " came after it"},
			}}}})
		if err != nil {
			h.DB.Log().WarnContext(ctx, "Runs left behind could not be noted", "correlationId", r.ID, "error", err)
		}
	}
	return h.write(ctx, r, bson.D{{Key: "startedAt", Value: "$$NOW"}, {Key: "outcome", Value: string(Running)}})
}

// finish notes how a run ended.
func (h *History) finish(ctx context.Context, r Record) Record {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTime)
	defer cancel()
	fields := bson.D{
		{Key: "finishedAt", Value: "$$NOW"}, {Key: "outcome", Value: string(r.Outcome)},
		{Key: "found", Value: r.Found}, {Key: "applied", Value: r.Applied}, {Key: "skipped", Value: r.Skipped},
		{Key: "errors", Value: r.Errors}, {Key: "seatsRestored", Value: r.SeatsRestored},
		{Key: "startedAt", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$startedAt", r.StartedAt}}}},
	}
	if r.Reason != "" {
		fields = append(fields, bson.E{Key: "reason", Value: bson.D{{Key: "$literal", Value: r.Reason}}})
	}
	return h.write(ctx, r, fields)
}

// write sets fields of a run's document and returns it as it then is.
func (h *History) write(ctx context.Context, r Record, fields bson.D) Record {
	fields = append(fields, bson.E{Key: "job", Value: r.Job}, bson.E{Key: "trigger", Value: string(r.Trigger)},
		bson.E{Key: "pod", Value: bson.D{{Key: "$literal", Value: r.Pod}}})
	var doc runDoc
	err := h.runs().FindOneAndUpdate(ctx, mongodb.Is("_id", r.ID), mongo.Pipeline{{{Key: "$set", Value: fields}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&doc)
	if err != nil {
		h.DB.Log().Log(ctx, slog.LevelWarn, "A run's history could not be written", "correlationId", r.ID, "error", err)
		return r
	}
	return doc.record()
}

// contended notes on a job's run that another process wanted to run the job too.
func (h *History) contended(ctx context.Context, job string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTime)
	defer cancel()
	_, err := h.runs().UpdateOne(ctx, bson.D{{Key: "job", Value: job}, {Key: "outcome", Value: string(Running)}},
		bson.D{{Key: "$inc", Value: bson.D{{Key: "contended", Value: 1}}}})
	if err != nil {
		h.DB.Log().WarnContext(ctx, "Contention could not be noted", "job", job, "error", err)
	}
}

// completedSince reports whether a run of the job completed after a time of the
// database's clock.
func (h *History) completedSince(ctx context.Context, job string, since time.Time) (bool, error) {
	_, found, err := mongodb.First[runDoc](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("job", job), mongodb.Is("outcome", string(Completed)),
			bson.D{{Key: "startedAt", Value: bson.D{{Key: "$gt", Value: since.Add(-keepRuns)}}}},
			bson.D{{Key: "finishedAt", Value: bson.D{{Key: "$gt", Value: since}}}}),
	})
	return found, mongodb.Translate(err)
}

// last is a job's latest run.
func (h *History) last(ctx context.Context, job string) (Record, bool, error) {
	doc, found, err := mongodb.First[runDoc](ctx, h.runs(), mongo.Pipeline{mongodb.Match(mongodb.Is("job", job)), newestFirst})
	return doc.record(), found, mongodb.Translate(err)
}

var newestFirst = bson.D{{Key: "$sort", Value: bson.D{{Key: "startedAt", Value: -1}, {Key: "_id", Value: -1}}}}

// failed are the latest runs that failed, of all jobs.
func (h *History) failed(ctx context.Context, limit int) (records []Record, err error) {
	docs, err := mongodb.All[runDoc](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("outcome", string(Failed))), newestFirst, mongodb.Limit(limit),
	})
	for _, d := range docs {
		records = append(records, d.record())
	}
	return records, mongodb.Translate(err)
}

// list is a page of a job's runs, newest first, and the token of the next one.
func (h *History) list(ctx context.Context, job string, page mongodb.Page) (records []Record, next string, err error) {
	before, err := readToken(page.Token)
	if err != nil {
		return nil, "", err
	}
	size := page.Size
	if size == 0 {
		size = mongodb.DefaultPageSize
	}
	docs, err := mongodb.All[runDoc](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("job", job), before), newestFirst, mongodb.Limit(size + 1),
	})
	if err != nil {
		return nil, "", mongodb.Translate(err)
	}
	for i, d := range docs {
		if i == size {
			next = writeToken(records[size-1])
			break
		}
		records = append(records, d.record())
	}
	return records, next, nil
}

// A page's token is the place behind its last run.
func writeToken(r Record) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", r.StartedAt.UnixMilli(), r.ID))
}

func readToken(token string) (bson.D, error) {
	if token == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	at, id, _ := strings.Cut(string(raw), " ")
	milli, notNumber := strconv.ParseInt(at, 10, 64)
	if err != nil || notNumber != nil || id == "" {
		return nil, fault.Invalid("query.pageToken", "The page token is none that this list gave.")
	}
	when := time.UnixMilli(milli)
	return bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "startedAt", Value: bson.D{{Key: "$lt", Value: when}}}},
		bson.D{{Key: "startedAt", Value: when}, {Key: "_id", Value: bson.D{{Key: "$lt", Value: id}}}},
	}}}, nil
}
