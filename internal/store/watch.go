package store

import (
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Change is a committed change of an event.
type Change struct {
	EventID ID
	// Seq rises with every transaction, and is the same in every process: MongoDB's
	// own time of the commit.
	Seq  int64
	Gone bool // the event was removed

	doc     eventDoc // a new document, where it is whole
	whole   bool
	fields  eventDoc // else what was changed, and removed
	named   bson.Raw
	removed []string
}

// To makes the change on an event.
func (c Change) To(e holdfast.Event) holdfast.Event {
	if c.whole {
		return c.doc.event()
	}
	has := func(field string) bool {
		_, err := c.named.LookupErr(field)
		return err == nil
	}
	if has("name") {
		e.Name = string(c.fields.Name)
	}
	if has("totalSeats") {
		e.TotalSeats = c.fields.TotalSeats.Or(0)
	}
	if has("availableSeats") {
		e.AvailableSeats = c.fields.AvailableSeats.Or(0)
	}
	if has("oversold") {
		e.Oversold = c.fields.Oversold.Or(0)
	}
	if has("status") {
		e.Status = c.fields.event().Status
	}
	if slices.Contains(c.removed, "oversold") {
		e.Oversold = 0
	}
	if slices.Contains(c.removed, "status") {
		e.Status = holdfast.OnSale
	}
	return e
}

// watchAwait is how long MongoDB waits for a change before it says that there is none.
const watchAwait = time.Second

// Watch hands over what is committed to any event, in order, until ctx ends or the
// stream of changes can't go on; begun is called once, when it has begun, with the
// Seq from which on everything will be heard; its error ends the watch.
func (s *Store) Watch(ctx context.Context, begun func(ctx context.Context, seq int64) error, changed func(Change)) error {
	start, err := s.clusterTime(ctx)
	if err != nil {
		return mongodb.Translate(err)
	}
	stream, err := s.events().Watch(ctx, mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "operationType", Value: bson.D{{Key: "$ne", Value: "update"}}}},
		moved("availableSeats"), moved("totalSeats"), moved("oversold"), moved("status"), moved("name"),
		bson.D{{Key: "updateDescription.removedFields", Value: bson.D{{Key: "$in", Value: bson.A{"oversold", "status"}}}}},
	}}}}}}, options.ChangeStream().SetMaxAwaitTime(watchAwait).SetStartAtOperationTime(&start))
	if err != nil {
		return mongodb.Translate(err)
	}
	defer stream.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing is lost by it
	if err := begun(ctx, seqOf(start)); err != nil {
		return err
	}
	for stream.Next(ctx) {
		var c changeDoc
		if err := stream.Decode(&c); err != nil {
			return err
		}
		changed(c.change())
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return mongodb.Translate(stream.Err())
}

// clusterTime is a time that nothing later is before.
func (s *Store) clusterTime(ctx context.Context) (bson.Timestamp, error) {
	var answer struct {
		OperationTime bson.Timestamp `bson:"operationTime"`
	}
	err := s.db.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Decode(&answer)
	return answer.OperationTime, err
}

// EventAt reads an event as of a moment, and tells which: changes with a higher Seq
// are not in it, all others are. A primary that does not know yet that there is
// another one tells of a moment that is past. It fails with CodeEventNotFound.
func (s *Store) EventAt(ctx context.Context, id ID) (holdfast.Event, int64, error) {
	var answer struct {
		Cursor struct {
			First []eventDoc     `bson:"firstBatch"`
			At    bson.Timestamp `bson:"atClusterTime"`
		} `bson:"cursor"`
	}
	err := s.db.RunCommand(ctx, bson.D{
		{Key: "find", Value: eventsName}, {Key: "filter", Value: mongodb.Is("_id", id)}, {Key: "limit", Value: 1}, {Key: "singleBatch", Value: true},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}}},
	}).Decode(&answer)
	if err != nil {
		return holdfast.Event{}, 0, mongodb.Translate(err)
	}
	if len(answer.Cursor.First) == 0 {
		_, err := s.Event(ctx, id) // who is surely not there
		if err == nil {
			err = holdfast.Refuse(holdfast.CodeUnavailable, "The event has just been created; try again.")
		}
		return holdfast.Event{}, 0, err
	}
	return answer.Cursor.First[0].event(), seqOf(answer.Cursor.At), nil
}

// seqOf is a time of MongoDB's as a number: its second, its count within that, and
// room behind it for who tells one change in several messages.
func seqOf(t bson.Timestamp) int64 {
	const countBits, roomBits = 20, 8
	count := min(int64(t.I), 1<<countBits-1)
	return int64(t.T)<<(countBits+roomBits) | count<<roomBits
}

func moved(field string) bson.D {
	return bson.D{{Key: "updateDescription.updatedFields." + field, Value: bson.D{{Key: "$exists", Value: true}}}}
}

type changeDoc struct {
	Op  string `bson:"operationType"`
	Key struct {
		ID ID `bson:"_id"`
	} `bson:"documentKey"`
	Time   bson.Timestamp `bson:"clusterTime"`
	Full   bson.Raw       `bson:"fullDocument"`
	Update struct {
		Fields  bson.Raw `bson:"updatedFields"`
		Removed []string `bson:"removedFields"`
	} `bson:"updateDescription"`
}

func (d changeDoc) change() Change {
	c := Change{EventID: d.Key.ID, Seq: seqOf(d.Time)}
	switch d.Op {
	case "update":
		c.named, c.removed = d.Update.Fields, d.Update.Removed
		if bson.Unmarshal(d.Update.Fields, &c.fields) != nil {
			c.named = nil
		}
	case "insert", "replace":
		c.whole = bson.Unmarshal(d.Full, &c.doc) == nil
	default:
		c.Gone = true
	}
	return c
}
