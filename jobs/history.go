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
		Name:   runsCollection,
		Schema: &runRules,
		Indexes: []mongodb.Index{
			{Keys: mongodb.Keys("job", "startedAt", "_id")},
			{Keys: mongodb.Keys("job"), Partial: mongodb.Is("outcome", string(Running))},
			{Keys: mongodb.Keys("outcome", "startedAt"), Partial: mongodb.Is("outcome", string(Failed))},
			{Keys: mongodb.Keys("startedAt"), ExpireAfter: runTTL},
			{Keys: mongodb.Keys("finishedAt"), ExpireAfter: emptyRunTTL, Partial: bson.D{
				{Key: "trigger", Value: string(Scheduled)}, {Key: "outcome", Value: string(Completed)}, {Key: "found", Value: 0},
			}},
		},
	}, leases}
}

// runRules is the schema of runs. Lists, and the search for the last run, leave out runs that break it.
var runRules = mongodb.Schema{
	Required: []string{"_id", "job", "outcome"},
	Fields: []mongodb.Field{
		mongodb.TextField("_id"), mongodb.TextField("job"), mongodb.TextField("pod"),
		mongodb.OneOf(Scheduled, Manual, Startup).Field("trigger"), mongodb.OneOf(Running, Completed, Failed).Field("outcome"),
		mongodb.DateField("startedAt"), mongodb.DateField("finishedAt"), mongodb.TextField("reason"), mongodb.WholeField("contended"),
		mongodb.WholeField("found"), mongodb.WholeField("applied"), mongodb.WholeField("skipped"), mongodb.WholeField("errors"),
		mongodb.WholeField("seatsRestored"),
	},
}

var runSchema = runRules.Filter()

// inProgress matches the job's runs that have not ended.
func inProgress(job string) bson.D {
	return mongodb.And(mongodb.Is("job", job), mongodb.Is("outcome", string(Running)), runSchema)
}

// History keeps the records of runs in MongoDB. A record that cannot be written
// is logged; the run does not fail.
type History struct{ DB *mongodb.DB }

func (h *History) runs() *mongo.Collection { return h.DB.Collection(runsCollection) }

// failAbandoned marks the job's other runs in progress as failed. The caller
// holds the job's lease, so their processes have died or lost it.
func (h *History) failAbandoned(ctx context.Context, run Run) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTimeout)
	defer cancel()
	_, err := h.runs().UpdateMany(ctx, inProgress(run.Job),
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
	var updated Record
	err := h.runs().FindOneAndUpdate(ctx, mongodb.Is("_id", r.ID), mongo.Pipeline{{{Key: "$set", Value: fields}}},
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&updated)
	if err != nil {
		h.DB.Log().WarnContext(ctx, "Could not write the run's record", slog.String("correlationId", r.ID), errorAttr(err))
		return r
	}
	return updated
}

// countContention records, on the job's run in progress, that another process
// tried to run the job too.
func (h *History) countContention(ctx context.Context, job string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), historyTimeout)
	defer cancel()
	_, err := h.runs().UpdateOne(ctx, inProgress(job),
		bson.D{{Key: "$inc", Value: bson.D{{Key: "contended", Value: 1}}}})
	if err != nil {
		h.DB.Log().WarnContext(ctx, "Could not record the contention", slog.String("job", job), errorAttr(err))
	}
}

// passSince returns the latest pass of a job that began at a time or later, by the database's clock. A pass that its
// time limit ended is none, nor is one that ends in the future.
func (h *History) passSince(ctx context.Context, job string, since time.Time) (latest Record, found bool, err error) {
	latest, found, err = mongodb.First[Record](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("job", job), mongodb.Is("outcome", string(Completed)), mongodb.Passed("finishedAt"),
			bson.D{{Key: "startedAt", Value: bson.D{{Key: "$gte", Value: since}}}},
			bson.D{{Key: "reason", Value: bson.D{{Key: "$ne", Value: reasonTimeLimit}}}}, runSchema),
		{{Key: "$sort", Value: bson.D{{Key: "finishedAt", Value: -1}}}},
	})
	return latest, found, mongodb.Translate(err)
}

// last returns a job's latest run.
func (h *History) last(ctx context.Context, job string) (Record, bool, error) {
	latest, found, err := mongodb.First[Record](ctx, h.runs(), mongo.Pipeline{mongodb.Match(mongodb.Is("job", job), runSchema), newestFirst})
	return latest, found, mongodb.Translate(err)
}

var newestFirst = bson.D{{Key: "$sort", Value: bson.D{{Key: "startedAt", Value: -1}, {Key: "_id", Value: -1}}}}

// failed returns the latest failed runs of all jobs.
func (h *History) failed(ctx context.Context, limit int) (records []Record, err error) {
	records, err = mongodb.All[Record](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("outcome", string(Failed)), runSchema), newestFirst, mongodb.Limit(limit),
	})
	return records, mongodb.Translate(err)
}

// list returns a page of a job's runs, newest first, and the next page's token.
func (h *History) list(ctx context.Context, job string, page holdfast.Page) (records []Record, next string, err error) {
	after, err := readToken(page.Token)
	if err != nil {
		return nil, "", err
	}
	size := cmp.Or(page.Size, holdfast.DefaultPageSize)
	records, err = mongodb.All[Record](ctx, h.runs(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("job", job), after, runSchema), newestFirst, mongodb.Limit(size + 1),
	})
	if err != nil {
		return nil, "", mongodb.Translate(err)
	}
	if len(records) > size {
		records = records[:size]
		next = writeToken(records[size-1])
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
