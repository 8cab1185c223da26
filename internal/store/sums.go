package store

import (
	"bytes"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// maxSummed bounds the locks that one command sums, which takes about a second. A page of events seldom has more.
const maxSummed = 500_000

// lockSum is the sum of an event's locks.
type lockSum struct {
	Event ID    `bson:"_id"`
	Seats int64 `bson:"seats"`
	Locks int64 `bson:"locks"`
}

// add adds the sum of other locks.
func (s lockSum) add(o lockSum) lockSum {
	s.Locks += o.Locks
	s.Seats += o.Seats
	return s
}

// sums sums the locks of some events that have one of the statuses, by a covered index. A command reads at most
// maxSummed locks. Several commands are consistent only within mongodb.AtSnapshot.
func (s *Store) sums(ctx context.Context, ofEvents bson.D, statuses []holdfast.LockStatus) (map[ID]lockSum, error) {
	sums := map[ID]lockSum{}
	for left := []lockRange{{events: ofEvents, statuses: statuses}}; len(left) > 0; {
		next := left[len(left)-1]
		left = left[:len(left)-1]
		found, err := s.sumRange(ctx, next)
		if err != nil {
			return nil, err
		}
		read := int64(0)
		for _, sum := range found {
			read += sum.Locks
		}
		var rest []lockRange
		switch isWhole := read < int64(s.maxSummed); {
		case !isWhole && len(found) > 1: // only the last event's sum may be a part
			found, rest = next.fromLast(found)
		case !isWhole:
			if rest, err = s.restOf(ctx, next); err != nil {
				return nil, err
			}
		}
		for _, sum := range found {
			if before, isPart := sums[sum.Event]; isPart {
				sum = before.add(sum)
			}
			sums[sum.Event] = sum
		}
		left = append(left, rest...)
	}
	return sums, nil
}

// lockRange is a range of the index on (eventId, status, _id).
type lockRange struct {
	events   bson.D // a filter
	isOne    bool   // events contains one event only
	statuses []holdfast.LockStatus
	after    ID // the locks are behind it; unless it is zero, there is one event and one status
}

var inOrder = mongodb.Sort("eventId", "status", "_id")

func (r lockRange) match(without bson.D) bson.D {
	return mongodb.Match(r.events, mongodb.In("status", r.statuses), behind(r.after), without)
}

// sumRange sums the first maxSummed locks of a range.
func (s *Store) sumRange(ctx context.Context, r lockRange) ([]lockSum, error) {
	return mongodb.All[lockSum](ctx, s.locks(), mongo.Pipeline{
		r.match(s.notCorrupt()), inOrder, mongodb.Limit(s.maxSummed),
		mongodb.Group("$eventId", bson.E{Key: "seats", Value: mongodb.Sum(countedSeats)},
			bson.E{Key: "locks", Value: mongodb.Sum(int64(1))}),
	})
}

// fromLast leaves out the last of several events, and returns the range that begins with it. Summing some of its
// locks again costs less than searching for the last lock that was read, because the search reads all of them again.
func (r lockRange) fromLast(found []lockSum) (whole []lockSum, rest []lockRange) {
	slices.SortFunc(found, func(a, b lockSum) int { return bytes.Compare(a.Event[:], b.Event[:]) })
	last := len(found) - 1
	from := mongodb.And(r.events, bson.D{{Key: "eventId", Value: bson.D{{Key: "$gte", Value: found[last].Event}}}})
	return found[:last], []lockRange{{events: from, statuses: r.statuses}}
}

// restOf returns the ranges that follow the first maxSummed locks of a range. Those locks are of one event, unless
// locks ended meanwhile.
func (s *Store) restOf(ctx context.Context, r lockRange) (rest []lockRange, err error) {
	last, found, err := mongodb.First[struct {
		ID     ID                  `bson:"_id"`
		Event  ID                  `bson:"eventId"`
		Status holdfast.LockStatus `bson:"status"`
	}](ctx, s.locks(), mongo.Pipeline{
		r.match(s.notCorrupt()), inOrder, {{Key: "$skip", Value: s.maxSummed - 1}}, mongodb.Only("eventId", "status"),
	})
	if err != nil || !found {
		return nil, err
	}
	ofEvent := mongodb.Is("eventId", last.Event)
	if !r.isOne {
		later := mongodb.And(r.events, bson.D{{Key: "eventId", Value: bson.D{{Key: "$gt", Value: last.Event}}}})
		rest = append(rest, lockRange{events: later, statuses: r.statuses})
	}
	var later []holdfast.LockStatus
	for _, status := range r.statuses {
		if status > last.Status {
			later = append(later, status)
		}
	}
	if len(later) > 0 {
		rest = append(rest, lockRange{events: ofEvent, isOne: true, statuses: later})
	}
	return append(rest, lockRange{events: ofEvent, isOne: true, statuses: []holdfast.LockStatus{last.Status}, after: last.ID}), nil
}
