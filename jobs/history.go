package jobs

import (
	"cmp"
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

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/jobs/lease"
)

const (
	runsCollection = "jobruns"
	runTTL         = 30 * 24 * time.Hour
	emptyRunTTL    = time.Hour       // of scheduled runs that found nothing
	historyTimeout = 2 * time.Second // to write a record
)

// Collections returns the collections and indexes of this package.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{
		Name: runsCollection,
		Indexes: []mongodb.Index{
			{Keys: mongodb.Keys("job", "startedAt", "_id")},
			{Keys: mongodb.Keys("job"), Partial: mongodb.Is("outcome", string(Running))},
			{Keys: mongodb.Keys("outcome", "startedAt"), Partial: mongodb.Is("outcome", string(Failed))},
			{Keys: mongodb.Keys("startedAt"), ExpireAfter: runTTL},
			{Keys: mongodb.Keys("finishedAt"), ExpireAfter: emptyRunTTL, Partial: bson.D{
				{Key: "trigger", Value: string(Scheduled)}, {Key: "outcome", Value: string(Completed)}, {Key: "found", Value: 0},
			}},
		},
	}, {
		Name:    processesCollection,
		Indexes: []mongodb.Index{{Keys: mongodb.Keys("expiresAt"), ExpireAfter: time.Hour}},
	}, {
		Name: lease.Collection,
	}}
}

// History keeps the records of runs in MongoDB. A record that cannot be written
// is logged; the run does not fail.
type History struct{ DB *mongodb.DB }

func (h *History) runs() *mongo.Collection { return h.DB.Collection(runsCollection) }

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
		StartedAt: d.StartedAt.Time, FinishedAt: d.FinishedAt.Time, Outcome: Outcome(d.Outcome), Reason: string(d.Reason),
		Contended: int(d.Contended.Or(0)),
		Counts: Counts{Found: int(d.Found.Or(0)), Applied: int(d.Applied.Or(0)), Skipped: int(d.Skipped.Or(0)),
			Errors: int(d.Errors.Or(0)), SeatsRestored: d.Seats.Or(0)},
	}
}

// failAbandoned marks the job's other runs in progress as failed. The caller
// holds the job's lease, so their processes have died or lost it.
func (h *History) failAbandoned(ctx context.Context, run Run) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTimeout)
	defer cancel()
	_, err := h.runs().UpdateMany(ctx, bson.D{{Key: "job", Value: run.Job}, {Key: "outcome", Value: string(Running)}},
		mongo.Pipeline{{{Key: "$set", Value: bson.D{
			{Key: "outcome", Value: string(Failed)}, {Key: "finishedAt", Value: "$$NOW"},
			{Key: "reason", Value: "its process ended, or lost its lease, before the run ended; the next run is " + run.ID},
		}}}})
	if err != nil {
		h.DB.Log().WarnContext(ctx, "Could not mark abandoned runs as failed", slog.String("correlationId", run.ID), errorAttr(err))
	}
}

// start records that a run is in progress.
func (h *History) start(ctx context.Context, r Record) Record {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTimeout)
	defer cancel()
	return h.write(ctx, r, bson.D{
		{Key: "startedAt", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$startedAt", "$$NOW"}}}}, {Key: "outcome", Value: string(Running)},
	})
}

// await records that a run was asked for, unless it has a record.
func (h *History) await(ctx context.Context, r Record) Record {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTimeout)
	defer cancel()
	fields := bson.D{}
	for _, field := range []bson.E{
		{Key: "job", Value: r.Job}, {Key: "trigger", Value: string(r.Trigger)}, {Key: "startedAt", Value: "$$NOW"},
		{Key: "outcome", Value: string(Running)},
	} {
		fields = append(fields, bson.E{Key: field.Key, Value: bson.D{{Key: "$ifNull", Value: bson.A{"$" + field.Key, field.Value}}}})
	}
	return h.update(ctx, r, fields)
}

// progress writes the counts of a run that is in progress.
func (h *History) progress(ctx context.Context, r Record) {
	ctx, cancel := context.WithTimeout(ctx, historyTimeout)
	defer cancel()
	h.write(ctx, r, append(countsOf(r.Counts), bson.E{Key: "outcome", Value: string(Running)}))
}

func countsOf(c Counts) bson.D {
	return bson.D{
		{Key: "found", Value: c.Found}, {Key: "applied", Value: c.Applied}, {Key: "skipped", Value: c.Skipped},
		{Key: "errors", Value: c.Errors}, {Key: "seatsRestored", Value: c.SeatsRestored},
	}
}

// finish records how a run ended.
func (h *History) finish(ctx context.Context, r Record) Record {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTimeout)
	defer cancel()
	fields := append(countsOf(r.Counts), bson.D{
		{Key: "finishedAt", Value: "$$NOW"}, {Key: "outcome", Value: string(r.Outcome)},
		{Key: "startedAt", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$startedAt", r.StartedAt}}}},
	}...)
	if r.Reason != "" {
		fields = append(fields, bson.E{Key: "reason", Value: bson.D{{Key: "$literal", Value: r.Reason}}})
	}
	return h.write(ctx, r, fields)
}

// write sets fields of a run's document and returns the updated record.
func (h *History) write(ctx context.Context, r Record, fields bson.D) Record {
	fields = append(fields, bson.E{Key: "job", Value: r.Job}, bson.E{Key: "trigger", Value: string(r.Trigger)},
		bson.E{Key: "pod", Value: bson.D{{Key: "$literal", Value: r.Pod}}})
	return h.update(ctx, r, fields)
}

func (h *History) update(ctx context.Context, r Record, fields bson.D) Record {
	var doc runDoc
	err := h.runs().FindOneAndUpdate(ctx, mongodb.Is("_id", r.ID), mongo.Pipeline{{{Key: "$set", Value: fields}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&doc)
	if err != nil {
		h.DB.Log().WarnContext(ctx, "Could not write the run's record", slog.String("correlationId", r.ID), errorAttr(err))
		return r
	}
	return doc.record()
}

// countContention records, on the job's run in progress, that another process
// tried to run the job too.
func (h *History) countContention(ctx context.Context, job string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTimeout)
	defer cancel()
	_, err := h.runs().UpdateOne(ctx, bson.D{{Key: "job", Value: job}, {Key: "outcome", Value: string(Running)}},
		bson.D{{Key: "$inc", Value: bson.D{{Key: "contended", Value: 1}}}})
	if err != nil {
		h.DB.Log().WarnContext(ctx, "Could not record the contention", slog.String("job", job), errorAttr(err))
	}
}

// Records of other software have a name that is no text, or times that are no date or far ahead.
// They must not stand for the latest run, nor break the order of a list.
var (
	hasName = bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: ""}}}} // a text
	isOurs  = mongodb.And(hasName, bson.D{{Key: "startedAt", Value: bson.D{
		{Key: "$gte", Value: time.Unix(0, 0)}, {Key: "$lte", Value: time.UnixMilli(lastMilli)},
		{Key: "$not", Value: bson.D{{Key: "$type", Value: "array"}}},
	}}})
	// notAhead allows for clocks of the database's members that differ.
	notAhead = bson.D{{Key: "$expr", Value: bson.D{{Key: "$lte", Value: bson.A{
		"$startedAt", bson.D{{Key: "$add", Value: bson.A{"$$NOW", (24 * time.Hour).Milliseconds()}}},
	}}}}}
)

// lastMilli is the end of the year 9999, after which no time can be printed.
const lastMilli = 253_402_300_799_999

// pass is a completed run, and the database's clock when it was read.
type pass struct {
	FinishedAt mongodb.Date  `bson:"finishedAt"`
	Errors     mongodb.Whole `bson:"errors"`
	Now        mongodb.Date  `bson:"now"`
}

// latestPass returns the latest pass of a job that began after a time. A pass that its time limit
// ended is none, nor is one that ends in the future.
func (h *History) latestPass(ctx context.Context, job string, since time.Time) (latest pass, found bool, err error) {
	latest, found, err = mongodb.First[pass](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("job", job), mongodb.Is("outcome", string(Completed)), isOurs, mongodb.Passed("finishedAt"),
			bson.D{{Key: "startedAt", Value: bson.D{{Key: "$gt", Value: since.Add(-runTTL)}}}},
			bson.D{{Key: "reason", Value: bson.D{{Key: "$ne", Value: reasonTimeLimit}}}}),
		{{Key: "$sort", Value: bson.D{{Key: "finishedAt", Value: -1}}}}, mongodb.WithNow,
	})
	return latest, found, mongodb.Translate(err)
}

// passed reports whether a pass of the job ended after a time, by the database's clock, and
// whether one ended at most recentPass ago.
func (h *History) passed(ctx context.Context, job string, since time.Time) (ended, recent bool, err error) {
	latest, found, err := h.latestPass(ctx, job, since)
	ended = found && latest.FinishedAt.After(since)
	return ended, found && latest.Now.Sub(latest.FinishedAt.Time) <= recentPass, err
}

// last returns a job's latest run.
func (h *History) last(ctx context.Context, job string) (Record, bool, error) {
	doc, found, err := mongodb.First[runDoc](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("job", job), isOurs, notAhead), newestFirst,
	})
	return doc.record(), found, mongodb.Translate(err)
}

var newestFirst = bson.D{{Key: "$sort", Value: bson.D{{Key: "startedAt", Value: -1}, {Key: "_id", Value: -1}}}}

// failed returns the latest failed runs of all jobs.
func (h *History) failed(ctx context.Context, limit int) (records []Record, err error) {
	docs, err := mongodb.All[runDoc](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("outcome", string(Failed)), isOurs, notAhead), newestFirst, mongodb.Limit(limit),
	})
	for _, d := range docs {
		records = append(records, d.record())
	}
	return records, mongodb.Translate(err)
}

// list returns a page of a job's runs, newest first, and the next page's token.
func (h *History) list(ctx context.Context, job string, page holdfast.Page) (records []Record, next string, err error) {
	after, err := readToken(page.Token)
	if err != nil {
		return nil, "", err
	}
	size := cmp.Or(page.Size, holdfast.DefaultPageSize)
	docs, err := mongodb.All[runDoc](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("job", job), isOurs, after), newestFirst, mongodb.Limit(size + 1),
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

// A page token is the position after the page's last run.
func writeToken(r Record) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", r.StartedAt.UnixMilli(), r.ID))
}

func readToken(token string) (bson.D, error) {
	if token == "" {
		return nil, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(token)
	at, id, _ := strings.Cut(string(raw), " ")
	millis, parseErr := strconv.ParseInt(at, 10, 64)
	if err != nil || parseErr != nil || id == "" {
		return nil, holdfast.RefuseInput("query.pageToken", "Invalid page token.")
	}
	startedAt := time.UnixMilli(millis)
	return bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "startedAt", Value: bson.D{{Key: "$lt", Value: startedAt}}}},
		bson.D{{Key: "startedAt", Value: startedAt}, {Key: "_id", Value: bson.D{{Key: "$lt", Value: id}}}},
	}}}, nil
}
