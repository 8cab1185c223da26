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

	doc     eventDoc // the new document, where whole is true
	whole   bool
	fields  eventDoc // else the changed fields, by name, and the removed ones
	named   bson.Raw
	removed []string
}

// To returns the event with the change applied.
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

// watchTimeout is how long MongoDB waits for a change before it answers that there is none.
const watchTimeout = time.Second

// Watch calls changed with every committed change of an event, in order, until ctx ends
// or the change stream fails. It calls begun once, at the start, with the Seq from which
// on no change is missed. An error of begun ends the watch.
func (s *Store) Watch(ctx context.Context, begun func(ctx context.Context, seq int64) error, changed func(Change)) error {
	start, err := s.clusterTime(ctx)
	if err != nil {
		return mongodb.Translate(err)
	}
	stream, err := s.events().Watch(ctx, mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "operationType", Value: bson.D{{Key: "$ne", Value: "update"}}}},
		moved("availableSeats"), moved("totalSeats"), moved("oversold"), moved("status"), moved("name"),
		bson.D{{Key: "updateDescription.removedFields", Value: bson.D{{Key: "$in", Value: bson.A{"oversold", "status"}}}}},
	}}}}}}, options.ChangeStream().SetMaxAwaitTime(watchTimeout).SetStartAtOperationTime(&start))
	if err != nil {
		return mongodb.Translate(err)
	}
	defer stream.Close(context.WithoutCancel(ctx)) //nolint:errcheck // it was only read
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

// clusterTime is a time of the cluster that no later change is before.
func (s *Store) clusterTime(ctx context.Context) (bson.Timestamp, error) {
	var answer struct {
		OperationTime bson.Timestamp `bson:"operationTime"`
	}
	err := s.db.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Decode(&answer)
	return answer.OperationTime, err
}

// EventAt reads an event as of one moment, and returns the moment as a Seq: the event
// contains all changes up to it and none with a higher Seq. A primary that does not
// know yet that another one was elected returns a past moment. It fails with
// CodeEventNotFound.
func (s *Store) EventAt(ctx context.Context, id ID) (holdfast.Event, int64, error) {
	var answer struct {
		Cursor struct {
			First []eventDoc     `bson:"firstBatch"`
			At    bson.Timestamp `bson:"atClusterTime"`
		} `bson:"cursor"`
	}
	err := s.db.RunCommand(ctx, bson.D{
		{Key: "find", Value: eventsName},
		{Key: "filter", Value: mongodb.Is("_id", id)},
		{Key: "limit", Value: 1},
		{Key: "singleBatch", Value: true},
		{Key: "readConcern", Value: bson.D{{Key: "level", Value: "snapshot"}}},
	}).Decode(&answer)
	if err != nil {
		return holdfast.Event{}, 0, mongodb.Translate(err)
	}
	if len(answer.Cursor.First) == 0 {
		_, err := s.Event(ctx, id) // confirms that it does not exist
		if err == nil {
			err = holdfast.Refuse(holdfast.CodeUnavailable, "The event has just been created; try again.")
		}
		return holdfast.Event{}, 0, err
	}
	return answer.Cursor.First[0].event(), seqOf(answer.Cursor.At), nil
}

// seqOf is a time of MongoDB as a number: its second, its count within the second, and
// free low bits for a caller that sends one change as several messages.
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
