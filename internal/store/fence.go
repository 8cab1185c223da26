package store

import (
	"context"
	"reflect"

	"go.mongodb.org/mongo-driver/v2/bson"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// loadFenced fences the event and reads it meanwhile, which saves the time of the read. What
// it read counts if nothing has changed up to the fence. Otherwise it reads again at the
// fence's time: a primary that was just elected waits until it has the data of that time.
func (s *Store) loadFenced(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) (fenced, exists bool, err error) {
	early := loaded{Known: found.Known}
	var read errgroup.Group
	if canReadEarly(n) {
		read.Go(func() error {
			_, err := s.aggregate(ctx, eventID, n, nil, &early)
			return err
		})
	}
	before, at, fenced, err := s.fence(ctx, eventID)
	readErr := read.Wait()
	if err != nil {
		return false, false, err
	}
	if readErr == nil && early.isAsBefore(before, s.shared()) {
		*found = early
		return fenced, true, nil
	}
	if fenced {
		exists, err = s.aggregate(ctx, eventID, n, &at, found)
	}
	return fenced, exists, err
}

// canReadEarly reports whether no document can appear among the needed ones without a change
// of the event. A booking or a payment can.
func canReadEarly(n inventory.Needs) bool {
	return len(n.Locks)+len(n.LiveOf)+len(n.Bookings)+len(n.Sold) == 0 && !n.NeedsPayments()
}

// isAsBefore reports whether an early read still held when the fence was written: event is
// what the fence found. If it is the same, no lock was made or ended in between. But a lock
// may have been extended or confirmed, which does not change the event; so no lock may have
// been found, except due ones, which can't be extended or confirmed.
func (l loaded) isAsBefore(event eventDoc, shared bool) bool {
	event.Now = l.Event.Now
	return !event.ID.IsZero() && reflect.DeepEqual(event, l.Event) && !event.inventory(shared).Unguarded && len(l.Keys)+len(l.Holdings) == 0
}

// fence writes the event and returns it as it was before, with the time of the write. The
// write waits for a transaction that holds the event. It is a plain command without retries,
// because a retryable write costs MongoDB a second write.
func (s *Store) fence(ctx context.Context, eventID ID) (before eventDoc, at bson.Timestamp, exists bool, err error) {
	var answer struct {
		Value *eventDoc      `bson:"value"`
		At    bson.Timestamp `bson:"operationTime"`
	}
	err = s.db.RunCommand(ctx, bson.D{
		{Key: "findAndModify", Value: eventsName},
		{Key: "query", Value: mongodb.Is("_id", eventID)},
		{Key: "fields", Value: noMap},
		{Key: "update", Value: bson.D{{Key: "$inc", Value: bson.D{{Key: fence, Value: int64(1)}}}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
	}).Decode(&answer)
	if err != nil || answer.Value == nil {
		return eventDoc{}, answer.At, false, err
	}
	return *answer.Value, answer.At, true, nil
}
