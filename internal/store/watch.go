package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// Change is a committed change of an event.
type Change struct {
	EventID ID
	// Seq is MongoDB's time of the commit. It rises with every transaction, and is the same in every process.
	Seq  int64
	Gone bool // the event was removed
	// Other says that the change is of something that To leaves unchanged, such as the map of seats.
	Other bool
	// OfList says that the change is of the waiting list alone.
	OfList bool

	whole   bool     // doc is the new document; otherwise the change is an update
	doc     eventDoc // the new document
	fields  eventDoc // the updated fields
	named   bson.Raw // the same, with their names
	removed []string // the names of removed fields
	list    *listDoc // the state of the waiting list, if an update has set it
}

// shownFields are the fields that To applies, and removableFields are those that an update may remove.
var (
	shownFields     = []string{"availableSeats", "totalSeats", "oversold", "status", "name", planField, saleStart, saleEnd, "waitlist"}
	removableFields = []string{"oversold", "status", saleStart, saleEnd}
)

// has reports whether an update has set a field.
func (c Change) has(field string) bool {
	_, err := c.named.LookupErr(field)
	return err == nil
}

// hasRemoved reports whether an update has removed a field.
func (c Change) hasRemoved(field string) bool { return slices.Contains(c.removed, field) }

// To returns the event with the change applied.
func (c Change) To(e holdfast.Event) holdfast.Event {
	if c.whole {
		return c.doc.event()
	}
	if c.has("name") {
		e.Name = c.fields.Name
	}
	if c.has("totalSeats") {
		e.TotalSeats = c.fields.TotalSeats
	}
	if c.has("availableSeats") {
		e.AvailableSeats = c.fields.AvailableSeats
	}
	if c.has("oversold") {
		e.Oversold = c.fields.Oversold
	}
	if c.has("status") {
		e.Status = cmp.Or(c.fields.Status, holdfast.OnSale)
	}
	if c.has(planField) {
		e.Seating.PlanID = c.fields.SeatingPlanID
	}
	if c.has(saleStart) || c.hasRemoved(saleStart) {
		e.SaleStartsAt = c.fields.SaleStartsAt
	}
	if c.has(saleEnd) || c.hasRemoved(saleEnd) {
		e.SaleEndsAt = c.fields.SaleEndsAt
	}
	if c.has("waitlist") {
		e.Waitlist.Status = c.fields.event().Waitlist.Status
	}
	if c.list != nil {
		e.Waitlist.HasBegun, e.Waitlist.Waiting, e.Waitlist.Holds = true, c.list.Waiting, c.list.Holds
	}
	if c.has(updatedAt) {
		e.UpdatedAt = c.fields.UpdatedAt
	}
	if c.hasRemoved("oversold") {
		e.Oversold = 0
	}
	if c.hasRemoved("status") {
		e.Status = holdfast.OnSale
	}
	return e
}

const (
	// watchTimeout bounds how long MongoDB waits for a change before it answers.
	watchTimeout = time.Second
	// watchDelay is the delay after each answer, so that the changes of many events arrive in a few answers.
	watchDelay = 20 * time.Millisecond
)

// Watch calls changed with every committed change of an event, in order, until ctx ends or the change stream fails.
// At the start it calls begun once, with a Seq: it misses no change after that. An error of begun ends the watch.
// Every change of an event by Holdfast sets its field updatedAt. A manual change may not; Watch then reports it only
// if it changes a field that an availability has.
func (s *Store) Watch(ctx context.Context, begun func(ctx context.Context, seq int64) error, changed func(Change)) error {
	start, err := s.clusterTime(ctx)
	if err != nil {
		return mongodb.Translate(err)
	}
	stream, err := s.events().Watch(ctx, watched(), options.ChangeStream().SetMaxAwaitTime(watchTimeout).SetStartAtOperationTime(&start))
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
		if stream.RemainingBatchLength() > 0 {
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(watchDelay):
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return mongodb.Translate(stream.Err())
}

// clusterTime returns the cluster's present time: later changes have a later time.
func (s *Store) clusterTime(ctx context.Context) (bson.Timestamp, error) {
	var answer struct {
		OperationTime bson.Timestamp `bson:"operationTime"`
	}
	err := s.db.RunCommand(ctx, bson.D{{Key: "ping", Value: 1}}).Decode(&answer)
	return answer.OperationTime, err
}

// EventAt reads an event in a snapshot, and returns the snapshot's time as a Seq: the event has all changes up to
// this Seq, and no later ones. If the primary does not know yet that another one was elected, the snapshot is old.
// EventAt fails with CodeEventNotFound.
func (s *Store) EventAt(ctx context.Context, id ID) (holdfast.Event, int64, error) {
	raw, seq, err := s.readAt(ctx, id, noMap)
	if err != nil {
		return holdfast.Event{}, 0, err
	}
	var doc eventDoc
	err = unmarshalEvent(raw, &doc)
	return doc.event(), seq, err
}

// SeatMap has the taken seats of a seated event at one revision.
type SeatMap struct {
	PlanID   ID
	Revision int64
	Seats    *seating.Occupancy // only to be read: several goroutines may have it
}

// SeatsAt is EventAt for the map of a seated event. It also refuses with CodeInvalid for an event without
// a plan, and fails with ErrUnusable if the map can't be read.
func (s *Store) SeatsAt(ctx context.Context, id ID) (SeatMap, int64, error) {
	raw, seq, err := s.readAt(ctx, id, bson.D{})
	if err != nil {
		return SeatMap{}, 0, err
	}
	var doc eventDoc
	if err := unmarshalEvent(raw, &doc); err != nil {
		return SeatMap{}, 0, err
	}
	event := doc.inventory()
	occupancy, err := s.seatsOf(ctx, event, readSeats(raw, doc), Known{})
	if err == nil && occupancy == nil {
		err = holdfast.RefuseInput("path.id", "The event has no seating plan.")
	}
	return SeatMap{PlanID: event.Seating.PlanID, Revision: event.Revision, Seats: occupancy}, seq, err
}

// readAt reads an event in a snapshot.
func (s *Store) readAt(ctx context.Context, id ID, projection bson.D) (doc bson.Raw, seq int64, err error) {
	var answer struct {
		Cursor struct {
			First []bson.Raw     `bson:"firstBatch"`
			At    bson.Timestamp `bson:"atClusterTime"`
		} `bson:"cursor"`
	}
	err = s.db.RunCommand(ctx, bson.D{
		{Key: "find", Value: eventsName},
		{Key: "filter", Value: mongodb.Is("_id", id)},
		{Key: "projection", Value: projection},
		{Key: "limit", Value: 1},
		{Key: "singleBatch", Value: true},
		{Key: "readConcern", Value: mongodb.Snapshot(ctx)},
	}).Decode(&answer)
	if err != nil {
		return nil, 0, mongodb.Translate(err)
	}
	if len(answer.Cursor.First) == 0 {
		_, err := s.Event(ctx, id) // this confirms that the event does not exist
		if err == nil {
			err = holdfast.Refuse(holdfast.CodeUnavailable, "The event has just been created; try again.")
		}
		return nil, 0, err
	}
	return answer.Cursor.First[0], seqOf(answer.Cursor.At), nil
}

// seqOf returns a time of MongoDB as a number: its second, its count within the second, and free low bits. A caller
// that sends one change as several messages numbers them by the low bits.
func seqOf(t bson.Timestamp) int64 {
	const countBits, roomBits = 20, 8
	count := min(int64(t.I), 1<<countBits-1)
	return int64(t.T)<<(countBits+roomBits) | count<<roomBits
}

// watched returns the pipeline of the change stream. It keeps only the fields that a Change needs, because the map
// of a seated event changes with every lock.
func watched() mongo.Pipeline {
	anyOf := bson.A{
		bson.D{{Key: "operationType", Value: bson.D{{Key: "$ne", Value: "update"}}}},
		mongodb.In("updateDescription.removedFields", removableFields),
		updated(updatedAt),
	}
	fields := []string{
		"operationType", "documentKey", "clusterTime", "fullDocument", "updateDescription.removedFields", updatedPath + updatedAt,
	}
	for _, name := range shownFields {
		anyOf, fields = append(anyOf, updated(name)), append(fields, updatedPath+name)
	}
	return mongo.Pipeline{
		mongodb.Match(bson.D{{Key: "$or", Value: anyOf}}),
		{{Key: "$project", Value: append(mongodb.Keys(fields...), bson.E{Key: "list", Value: updatedList})}},
		{{Key: "$unset", Value: "fullDocument." + mapName}},
	}
}

const (
	updatedAt   = "updatedAt"
	updatedPath = "updateDescription.updatedFields."
)

// updatedList is the state of the waiting list that an update has set: by its name, which has a dot, or with the first fields that only
// Holdfast uses.
var updatedList = bson.D{{Key: "$ifNull", Value: bson.A{
	fieldOf(listName, "$updateDescription.updatedFields"),
	fieldOf("list", fieldOf(internalName, "$updateDescription.updatedFields")),
}}}

// fieldOf is an expression of the field of a document. Its name may have a dot.
func fieldOf(name string, of any) bson.D {
	return bson.D{{Key: "$getField", Value: bson.D{{Key: "field", Value: name}, {Key: "input", Value: of}}}}
}

func updated(field string) bson.D {
	return bson.D{{Key: updatedPath + field, Value: bson.D{{Key: "$exists", Value: true}}}}
}

type changeDoc struct {
	Op     string         `bson:"operationType"`
	Key    bson.Raw       `bson:"documentKey"`
	Time   bson.Timestamp `bson:"clusterTime"`
	Full   bson.Raw       `bson:"fullDocument"`
	List   *listDoc       `bson:"list"`
	Update struct {
		Fields  bson.Raw `bson:"updatedFields"`
		Removed []string `bson:"removedFields"`
	} `bson:"updateDescription"`
}

func (d changeDoc) change() Change {
	c := Change{EventID: mongodb.IDOf(d.Key, "_id"), Seq: seqOf(d.Time)}
	switch d.Op {
	case "update":
		c.named, c.removed = d.Update.Fields, d.Update.Removed
		if mongodb.Unmarshal(d.Update.Fields, &c.fields) != nil {
			c.named = nil
		}
		c.list = d.List
		isShown := slices.ContainsFunc(shownFields, c.has) || slices.ContainsFunc(removableFields, c.hasRemoved)
		c.OfList = c.list != nil && !isShown
		c.Other = c.list == nil && !isShown
	case "insert", "replace":
		c.whole = mongodb.Unmarshal(d.Full, &c.doc) == nil
	default:
		c.Gone = true
	}
	return c
}
