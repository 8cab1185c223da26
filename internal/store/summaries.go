package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// EventSummary is an event with the sums of its ACTIVE locks.
type EventSummary struct {
	holdfast.Event
	Locks  int64 // that are ACTIVE, due or not
	Locked int64 // their seats
}

// Sold returns the number of taken seats that are neither locked nor blocked: the seats of CONSUMED locks, if the
// counter agrees with the locks. Summing these locks would cost more with every sale.
func (s EventSummary) Sold() int64 {
	return max(0, s.TotalSeats-s.AvailableSeats+s.Oversold-s.Locked-s.Seating.BlockedSeats)
}

// EventFilter selects events. Empty fields select all.
type EventFilter struct {
	Name   string // a part of the name, in any case; see mongodb.Contains
	Status holdfast.EventStatus
}

// MaxEventsSearched bounds what a filter reads, because names and statuses of events have no index.
const MaxEventsSearched = 5000

// EventSummaries reads up to limit events, newest first, after a position; the zero ID is the start. With a filter, it
// searches 5,000 events after the position, and end is the last of them: a search may go on after it. end is zero if there
// are fewer, and without a filter. Counters and locks are read in one snapshot.
func (s *Store) EventSummaries(ctx context.Context, f EventFilter, after ID, limit int) (list []EventSummary, end ID, err error) {
	filter := behind(ID{})
	if !after.IsZero() {
		filter = mongodb.And(filter, mongodb.Is("_id", bson.D{{Key: "$lt", Value: after}}))
	}
	if f != (EventFilter{}) {
		end, err = s.endOfSearch(ctx, filter)
	}
	if err != nil {
		return nil, ID{}, err
	}
	if !end.IsZero() {
		filter = mongodb.And(filter, mongodb.Is("_id", bson.D{{Key: "$gte", Value: end}}))
	}
	if f.Name != "" {
		filter = mongodb.And(filter, mongodb.Contains("name", f.Name))
	}
	if f.Status != "" {
		filter = mongodb.And(filter, sameStatus(f.Status))
	}
	list, err = s.summaries(ctx, filter, limit)
	return list, end, err
}

// endOfSearch returns the last event that a search reads, or the zero ID if it reads all. It reads the index alone, and the
// search filters the stored documents, so maps of events that don't match are not copied.
func (s *Store) endOfSearch(ctx context.Context, filter bson.D) (ID, error) {
	last, err := mongodb.All[struct {
		ID ID `bson:"_id"`
	}](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(filter), mongodb.Only("_id"), {{Key: "$sort", Value: bson.D{{Key: "_id", Value: -1}}}},
		{{Key: "$skip", Value: MaxEventsSearched - 1}}, mongodb.Limit(2),
	})
	if err != nil || len(last) < 2 { // no event is left for another search
		return ID{}, mongodb.Translate(err)
	}
	return last[0].ID, nil
}

func (s *Store) summaries(ctx context.Context, filter bson.D, limit int) ([]EventSummary, error) {
	return mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) ([]EventSummary, error) {
		docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
			mongodb.Match(filter, eventSchema), {{Key: "$sort", Value: bson.D{{Key: "_id", Value: -1}}}}, mongodb.Limit(limit), withoutMap,
			mongodb.WithNow,
		})
		if err != nil {
			return nil, err
		}
		eventIDs := make([]ID, 0, len(docs))
		for _, d := range docs {
			eventIDs = append(eventIDs, d.ID)
		}
		active, err := s.sums(ctx, mongodb.In("eventId", eventIDs), []holdfast.LockStatus{holdfast.LockActive})
		summaries := make([]EventSummary, 0, len(docs))
		for _, d := range docs {
			sum := active[d.ID]
			summaries = append(summaries, EventSummary{Event: d.answer(), Locks: sum.Locks, Locked: sum.Seats})
		}
		return summaries, err
	})
}

// EventSummary reads one event with the sums of its ACTIVE locks, in one snapshot, or fails with CodeEventNotFound.
func (s *Store) EventSummary(ctx context.Context, id ID) (EventSummary, error) {
	if _, err := s.Event(ctx, id); err != nil { // this confirms that the event does not exist
		return EventSummary{}, err
	}
	found, err := s.summaries(ctx, mongodb.Is("_id", id), 1)
	if err == nil && len(found) == 0 {
		err = holdfast.NotFound(holdfast.CodeEventNotFound)
	}
	if err != nil {
		return EventSummary{}, err
	}
	return found[0], nil
}
