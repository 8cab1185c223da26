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

// wasValid reports whether a counter that was changed without a read was possible before.
func wasValid(after inventory.Event, w inventory.EventWrite) bool {
	if w.IfUnchanged != nil || w.Drift != nil {
		return true
	}
	after.AvailableSeats -= w.Available
	return after.Valid()
}

// writeEvents writes the events of the plans, and returns them as they are then. Several take one command for all
// writes, and one read, by which most guards are checked. MongoDB plans a query for each write that has a condition
// beside the ID, which takes longer than the write.
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
			update := noteWriter(eventUpdate(*p.Event, s.shared()), p.writer())
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
		if mongodb.RejectedForDocument(err) { // without a guard in front of it, because it is stale or can't be changed
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
		if doc := after[p.EventID]; doc == nil || !p.Event.HeldBefore(doc.inventory(s.shared())) {
			return nil, ErrStale
		}
	}
	return after, nil
}

// writeEvent writes the event first, so the second of two transactions on it gets a
// conflict at once. It raises the revision even if the counter stays; a Drift does not.
//
// Its guard is a condition of the write, or is checked afterwards: MongoDB plans no query for a write by the ID alone.
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
	err = s.events().FindOneAndUpdate(ctx, guard, noteWriter(eventUpdate(w, s.shared()), p.writer()), o).Decode(&after)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments),
		isCheckedAfterwards && mongodb.RejectedForDocument(err), // the guard might not have matched what was rejected
		isCheckedAfterwards && err == nil && !w.HeldBefore(after.inventory(s.shared())):
		err = ErrStale
	}
	return after, rejectedEvent(err)
}

// writer is the process that the event notes; 0: none.
func (p EventPlan) writer() int32 {
	if !p.IsContended {
		return 0
	}
	return p.Writer
}

// maxWriters is how many changes an event notes the processes of.
const maxWriters = 40

// noteWriter adds the process of a change to the event's update.
func noteWriter(update any, writer int32) any {
	operators, ok := update.(bson.D)
	if !ok || writer == 0 {
		return update
	}
	return append(operators, bson.E{Key: "$push", Value: bson.D{{Key: writers, Value: bson.D{
		{Key: "$each", Value: bson.A{writer}}, {Key: "$slice", Value: -maxWriters},
	}}}})
}

// mayHaveMap reports whether the event of a write is expected to have a map. If one without has got one since, the map is sent with
// the answer, and the write is stale.
func mayHaveMap(w inventory.EventWrite) bool {
	return w.Drift != nil || w.IfUnchanged != nil && !w.IfUnchanged.Seating.PlanID.IsZero()
}

// Writers are the processes of an event's last changes, the last one last, as far as they were noted.
func (s *Store) Writers(ctx context.Context, eventID ID) ([]int32, error) {
	var doc eventDoc
	err := s.events().FindOne(ctx, mongodb.Is("_id", eventID), options.FindOne().SetProjection(bson.D{{Key: writers, Value: 1}})).Decode(&doc)
	return doc.Internal.Writers, err
}
