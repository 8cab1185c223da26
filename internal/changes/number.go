package changes

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Log reads and numbers the records of a database.
type Log struct {
	db       *mongodb.DB
	searched atomic.Pointer[time.Time] // when all records without a number were searched last; nil if they never were
	late     atomic.Int64              // the kept lateness, in ns; 0 means not known yet
	corrupt  atomic.Int64              // the highest number of a record that was logged as corrupt
}

// New returns the records of a database.
func New(db *mongodb.DB) *Log { return &Log{db: db} }

// ends is the document with the last number that was given, and the last one whose record was removed.
type ends struct {
	Last   int64          `bson:"last"`
	At     bson.Timestamp `bson:"lastAt"` // the time of the record with the last number; zero means not known
	Purged int64          `bson:"purged"`
}

const endsID = "changes"

// MaxNumbered bounds the records that one transaction numbers.
const MaxNumbered = 500

// errNoEnds means that the database has no document with the ends yet.
const errNoEnds = mongodb.AbortError("no change was numbered before")

// errNumbered means that the records or the end are not those that were read. Within one snapshot that can't happen, because
// a rival meets a write conflict. The check is a second guard against a skipped record.
const errNumbered = mongodb.AbortError("another process numbers changes too")

// unnumbered matches records without a number.
var unnumbered = mongodb.Is("seq", int64(0))

// searchInterval is how often records of any age are looked for: those of other software, and of a transaction that the
// shards could not end in time.
const searchInterval = time.Minute

// lateness bounds how much older than the last numbered record a record can be whose transaction has just committed:
// a transaction lives at most one and a half times its limit, because MongoDB searches for transactions beyond the limit
// twice in that time.
func (l *Log) lateness(ctx context.Context) time.Duration {
	if kept := l.late.Load(); kept > 0 {
		return time.Duration(kept)
	}
	return l.askLateness(ctx)
}

func (l *Log) askLateness(ctx context.Context) time.Duration {
	d := 2 * l.db.TransactionLifetime(ctx)
	l.late.Store(int64(d))
	return d
}

// recent matches records without a number, except the old ones that only a search finds. MongoDB keeps the index keys of
// numbered records as deleted ones, for five minutes or longer, and a query without this bound would scan all of them.
func (e ends) recent(lateness time.Duration) bson.D {
	from := bson.Timestamp{T: e.At.T - min(e.At.T, uint32(lateness/time.Second))} //nolint:gosec // some minutes
	if from.T == 0 {
		return unnumbered
	}
	return mongodb.And(unnumbered, bson.D{{Key: "t", Value: bson.D{{Key: "$gte", Value: from}}}})
}

// Database is the name of the database.
func (l *Log) Database() string { return l.db.Name() }

func (l *Log) collection() *mongo.Collection { return l.db.Collection(name) }
func (l *Log) meta() *mongo.Collection       { return l.db.Collection(mongodb.MetaCollection) }

// ends is zero before the first number.
func (l *Log) ends(ctx context.Context) (ends, error) {
	e, _, err := l.findEnds(ctx)
	return e, err
}

func (l *Log) findEnds(ctx context.Context) (e ends, exists bool, err error) {
	return mongodb.First[ends](ctx, l.meta(), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", endsID))})
}

// Ends are the positions in front of the oldest change that is kept, and behind the latest one that is numbered.
func (l *Log) Ends(ctx context.Context) (begin, end Position, err error) {
	at, err := l.ends(ctx)
	return Position{Seq: at.Purged + 1}, Position{Seq: at.Last + 1}, mongodb.Translate(err)
}

// Number numbers the records that have none, in causal order, at most MaxNumbered of them, and returns how many it has
// numbered. Several processes may call it at the same time. It fails with UNAVAILABLE or OUTCOME_UNKNOWN; either
// way it can be called again.
//
// A record that is older than the last numbered one by more than the longest transaction is found within a minute, by the
// process that numbers.
func (l *Log) Number(ctx context.Context) (numbered int, err error) {
	now := l.db.Clock()()
	searched := l.searched.Load()
	isSearch := searched == nil || now.Sub(*searched) >= searchInterval
	if isSearch {
		l.askLateness(ctx)
	}
	number := func(ctx context.Context) (int, error) { return l.number(ctx, isSearch) }
	numbered, err = mongodb.InTx(ctx, l.db, number)
	if errors.Is(err, errNoEnds) {
		_, err = l.meta().UpdateOne(ctx, mongodb.Is("_id", endsID), bson.D{{Key: "$setOnInsert", Value: ends{}}},
			options.UpdateOne().SetUpsert(true))
		if err != nil && !mongo.IsDuplicateKeyError(err) {
			return 0, mongodb.UnknownOutcome(err)
		}
		numbered, err = mongodb.InTx(ctx, l.db, number)
	}
	if err == nil && isSearch && numbered < MaxNumbered {
		l.searched.Store(&now)
	}
	return numbered, err
}

// number writes the end first, so that of two processes one gets a conflict.
func (l *Log) number(ctx context.Context, isSearch bool) (int, error) {
	before, exists, err := l.findEnds(ctx)
	if err == nil && !exists {
		err = errNoEnds
	}
	if err != nil {
		return 0, err
	}
	which := before.recent(time.Duration(l.late.Load()))
	if isSearch {
		which = unnumbered
	}
	records, err := mongodb.All[waiting](ctx, l.collection(), mongo.Pipeline{
		mongodb.Match(which), mongodb.Sort("seq", "t", "_id"), mongodb.Limit(MaxNumbered), mongodb.Only("t", "eventId"),
	})
	if err != nil || len(records) == 0 {
		return 0, err
	}
	moved, err := l.meta().UpdateOne(ctx, mongodb.And(mongodb.Is("_id", endsID), mongodb.Is("last", before.Last)),
		bson.D{{Key: "$set", Value: bson.D{
			{Key: "last", Value: before.Last + int64(len(records))}, {Key: "lastAt", Value: records[len(records)-1].timestamp()},
		}}})
	if err == nil && moved.MatchedCount == 0 {
		err = errNumbered
	}
	if err != nil {
		return 0, err
	}
	// With a condition on the ID alone MongoDB plans no query. No other process can number meanwhile: it would have moved the end.
	statements := make([]bson.D, len(records))
	for i, r := range records {
		give := bson.D{{Key: "$set", Value: bson.D{{Key: "seq", Value: before.Last + int64(i) + 1}}}}
		statements[i] = bson.D{{Key: "q", Value: mongodb.Is("_id", r.ID)}, {Key: "u", Value: give}}
	}
	var answer struct {
		N int `bson:"n"`
	}
	err = l.db.RunCommand(ctx, bson.D{{Key: "update", Value: name}, {Key: "updates", Value: statements}}).Decode(&answer)
	if err == nil && answer.N != len(records) {
		err = errNumbered
	}
	return len(records), err
}

// waiting is a record without a number.
type waiting struct {
	ID      bson.RawValue `bson:"_id"`
	EventID ID            `bson:"eventId"`
	Time    bson.RawValue `bson:"t"`
}

// timestamp is the cluster's time of the record; zero if other software has left another value.
func (w waiting) timestamp() bson.Timestamp {
	t, i, _ := w.Time.TimestampOK()
	return bson.Timestamp{T: t, I: i}
}

// oldest finds the record that waits longest for its number, unless only a search finds it.
func (l *Log) oldest(ctx context.Context) (waiting, bool, error) {
	at, err := l.ends(ctx)
	if err != nil {
		return waiting{}, false, err
	}
	return mongodb.First[waiting](ctx, l.collection(), mongo.Pipeline{
		mongodb.Match(at.recent(l.lateness(ctx))), mongodb.Sort("seq", "t", "_id"), mongodb.Limit(1), mongodb.Only("t", "eventId"),
	})
}

// WaitingSince is when the oldest change was made that has no number yet, by the cluster's time in whole seconds;
// zero if there is none. If it stays, no process runs the job changes.
func (l *Log) WaitingSince(ctx context.Context) (time.Time, error) {
	w, isAny, err := l.oldest(ctx)
	if err != nil || !isAny {
		return time.Time{}, mongodb.Translate(err)
	}
	return madeAt(w.Time), nil
}

// madeAt is the time of a record. Other software may have left another value, which counts as 1970.
func madeAt(t bson.RawValue) time.Time {
	seconds, _, _ := t.TimestampOK()
	return time.Unix(int64(seconds), 0).UTC()
}

// purgedAtOnce bounds the records that one command removes.
const purgedAtOnce = 1000

// Purge removes records that were made before a time, in the order of their numbers, and returns how many it has
// removed, or 0 if none is left. Their time is that of the cluster, in whole seconds, which rises with the numbers. First
// Purge notes which numbers are gone, so that no reader mistakes a gap for the absence of changes.
func (l *Log) Purge(ctx context.Context, before time.Time) (removed int64, err error) {
	type record struct {
		Seq  int64         `bson:"seq"`
		Time bson.RawValue `bson:"t"`
	}
	found, err := mongodb.All[record](ctx, l.collection(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("seq", bson.D{{Key: "$gt", Value: int64(0)}})), mongodb.Sort("seq"), mongodb.Limit(purgedAtOnce),
		mongodb.Only("seq", "t"),
	})
	if err != nil {
		return 0, mongodb.Translate(err)
	}
	until := int64(0)
	for _, r := range found {
		if !madeAt(r.Time).Before(before) {
			break
		}
		until = r.Seq
	}
	if until == 0 {
		return 0, nil
	}
	note := bson.D{{Key: "$max", Value: bson.D{{Key: "purged", Value: until}}}}
	if _, err := l.meta().UpdateOne(ctx, mongodb.Is("_id", endsID), note); err != nil {
		return 0, mongodb.UnknownOutcome(err)
	}
	result, err := l.collection().DeleteMany(ctx, mongodb.Is("seq", bson.D{{Key: "$gt", Value: int64(0)}, {Key: "$lte", Value: until}}))
	if err != nil {
		return 0, mongodb.UnknownOutcome(err)
	}
	return result.DeletedCount, nil
}

// gone is the refusal for a position whose changes were removed.
func gone() error {
	return holdfast.Refuse(holdfast.CodeChangesGone,
		"Changes after this token have been removed: read the present state, and begin again without a token.")
}
