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
	// Seq is MongoDB's time of the commit. It rises with every transaction, and is the
	// same in every process.
	Seq  int64
	Gone bool // the event was removed

	whole   bool     // doc is the new document; otherwise the change is an update
	doc     eventDoc // the new document
	fields  eventDoc // the updated fields
	named   bson.Raw // the same, with their names
	removed []string // the names of removed fields
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

// watchTimeout bounds how long MongoDB waits for a change before it answers.
const watchTimeout = time.Second

// Watch calls changed with every committed change of an event, in order, until ctx ends or
// the change stream fails. At the start it calls begun once, with a Seq: no change after it
// is missed. An error of begun ends the watch.
func (s *Store) Watch(ctx context.Context, begun func(ctx context.Context, seq int64) error, changed func(Change)) error {
	start, err := s.clusterTime(ctx)
	if err != nil {
		return mongodb.Translate(err)
	}
	pipeline := mongo.Pipeline{{{Key: "$match", Value: bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "operationType", Value: bson.D{{Key: "$ne", Value: "update"}}}},
		updated("availableSeats"), updated("totalSeats"), updated("oversold"), updated("status"), updated("name"),
		bson.D{{Key: "updateDescription.removedFields", Value: bson.D{{Key: "$in", Value: bson.A{"oversold", "status"}}}}},
	}}}}}, changedFields, {{Key: "$unset", Value: "fullDocument." + internalName}}}
	stream, err := s.events().Watch(ctx, pipeline, options.ChangeStream().SetMaxAwaitTime(watchTimeout).SetStartAtOperationTime(&start))
	if err != nil {
		return mongodb.Translate(err)
	}
	defer stream.Close(context.WithoutCancel(ctx))
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

// clusterTime is the cluster's present time: later changes have a later time.
func (s *Store) clusterTime(ctx context.Context) (bson.Timestamp, error) {
	var answer struct {
		OperationTime bson.Timestamp `bson:"operationTime"`
	}
	err := s.db.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Decode(&answer)
	return answer.OperationTime, err
}

// EventAt reads an event in a snapshot, and returns the snapshot's time as a Seq: the event
// has all changes up to this Seq, and no later ones. If the primary does not know yet that
// another one was elected, the snapshot is old. EventAt fails with CodeEventNotFound.
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
		{Key: "projection", Value: noMap},
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

// seqOf is a time of MongoDB as a number: its second, its count within the second, and free
// low bits. A caller that sends one change as several messages numbers them by these.
func seqOf(t bson.Timestamp) int64 {
	const countBits, roomBits = 20, 8
	count := min(int64(t.I), 1<<countBits-1)
	return int64(t.T)<<(countBits+roomBits) | count<<roomBits
}

// changedFields keeps what a Change has. The map of a seated event changes with every lock.
var changedFields = bson.D{{Key: "$project", Value: mongodb.Keys(
	"operationType", "documentKey", "clusterTime", "fullDocument", "updateDescription.removedFields",
	updatedPath+"availableSeats", updatedPath+"totalSeats", updatedPath+"oversold", updatedPath+"status", updatedPath+"name",
)}}

const updatedPath = "updateDescription.updatedFields."

func updated(field string) bson.D {
	return bson.D{{Key: updatedPath + field, Value: bson.D{{Key: "$exists", Value: true}}}}
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
		if mongodb.Unmarshal(d.Update.Fields, &c.fields) != nil {
			c.named = nil
		}
	case "insert", "replace":
		c.whole = mongodb.Unmarshal(d.Full, &c.doc) == nil
	default:
		c.Gone = true
	}
	return c
}
