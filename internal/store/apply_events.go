package store

import (
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// wasValid reports whether a counter that was changed without a read was valid before.
func wasValid(after inventory.Event, w inventory.EventWrite) bool {
	if w.IfUnchanged != nil || w.Drift != nil {
		return true
	}
	after.AvailableSeats -= w.Available
	return after.Valid()
}

// writeEvents writes the events of the plans, and returns them as they are after that. Several events need one
// command for all writes, and one read, which checks most guards. MongoDB plans a query for each write whose filter
// has more than the ID, and that takes longer than the write.
func (s *Store) writeEvents(ctx context.Context, plans []EventPlan) (map[ID]*eventDoc, error) {
	if len(plans) == 1 && plans[0].Event != nil {
		doc, err := s.writeEvent(ctx, plans[0])
		return map[ID]*eventDoc{plans[0].EventID: &doc}, err
	}
	var eventIDs []ID
	var statements []bson.D
	for _, p := range plans {
		if p.Event != nil {
			eventIDs = append(eventIDs, p.EventID)
			update := noteWriter(eventUpdate(*p.Event), p.writer())
			write := bson.D{{Key: "q", Value: mongodb.Is("_id", p.EventID)}, {Key: "u", Value: update}}
			if !p.Event.IsCheckedAfterwards() {
				write[0].Value = eventGuard(p.EventID, *p.Event)
				write = append(write, bson.E{Key: "hint", Value: mongodb.ByID})
			}
			statements = append(statements, write)
		}
	}
	after := map[ID]*eventDoc{}
	if len(eventIDs) == 0 {
		return after, nil
	}
	if err := s.update(ctx, eventsName, statements, len(eventIDs)); err != nil {
		// the write has no guard that would have matched first: the plan is stale, or the event can't be changed
		if mongodb.RejectedForDocument(err) {
			err = ErrStale
		}
		return nil, err
	}
	docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{mongodb.Match(mongodb.In("_id", eventIDs)), withoutMap})
	if err != nil {
		return nil, err
	}
	for i := range docs {
		after[docs[i].ID] = &docs[i]
	}
	for _, p := range plans {
		if p.Event == nil || !p.Event.IsCheckedAfterwards() {
			continue
		}
		if doc := after[p.EventID]; doc == nil || !p.Event.HeldBefore(doc.inventory()) {
			return nil, ErrStale
		}
	}
	return after, nil
}

// writeEvent writes the event first, so that the second of two transactions on it meets a conflict at once. It
// raises the revision even if the counter stays; a Drift does not.
// Its guard is a condition of the write, or is checked after the write: MongoDB plans no query for a write by the ID
// alone.
func (s *Store) writeEvent(ctx context.Context, p EventPlan) (after eventDoc, err error) {
	w, guard := *p.Event, mongodb.Is("_id", p.EventID)
	isCheckedAfterwards := p.IsExpected && w.IsCheckedAfterwards()
	if !isCheckedAfterwards {
		guard = eventGuard(p.EventID, w)
	}
	o := options.FindOneAndUpdate().SetReturnDocument(options.After)
	if mayHaveMap(w) {
		o.SetProjection(noMap)
	}
	doc, err := s.events().FindOneAndUpdate(ctx, guard, noteWriter(eventUpdate(w), p.writer()), o).Raw()
	if err == nil {
		err = mongodb.Unmarshal(doc, &after)
	}
	switch {
	case errors.Is(err, mongo.ErrNoDocuments),
		isCheckedAfterwards && mongodb.RejectedForDocument(err), // the guard might not have matched the rejected event
		isCheckedAfterwards && err == nil && !w.HeldBefore(after.inventory()):
		err = ErrStale
	}
	return after, rejectedEvent(err)
}

// writer returns the process that the event notes, or 0 for none.
func (p EventPlan) writer() int32 {
	if !p.IsContended {
		return 0
	}
	return p.Writer
}

// maxWriters bounds the changes whose processes an event notes.
const maxWriters = 40

// noteWriter adds the process of a change to the update of the event.
func noteWriter(update any, writer int32) any {
	operators, ok := update.(bson.D)
	if !ok || writer == 0 {
		return update
	}
	return append(operators, bson.E{Key: "$push", Value: bson.D{{Key: writers, Value: bson.D{
		{Key: "$each", Value: bson.A{writer}}, {Key: "$slice", Value: -maxWriters},
	}}}})
}

// mayHaveMap reports whether the event of a write is expected to have a map. If an event without a map has got one
// since, MongoDB sends the map with the answer, and the write is stale.
func mayHaveMap(w inventory.EventWrite) bool {
	return w.Drift != nil || w.IfUnchanged != nil && !w.IfUnchanged.Seating.PlanID.IsZero()
}
