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

// maxSummed is how many locks one command adds up, which takes about a second. The locks of a
// page of events are seldom more.
const maxSummed = 500_000

// lockSum is the sum of an event's locks.
type lockSum struct {
	Event  ID            `bson:"_id"`
	Seats  mongodb.Whole `bson:"seats"`
	Poison int64         `bson:"poison"` // locks whose seats are no whole number ≥ 1
	Locks  int64         `bson:"locks"`
}

// add adds the sum of other locks. If one of the sums is too large, so is the result.
func (s lockSum) add(o lockSum) lockSum {
	s.Poison, s.Locks = s.Poison+o.Poison, s.Locks+o.Locks
	s.Seats.N += o.Seats.N
	s.Seats.Wrong = s.Seats.Wrong || o.Seats.Wrong || s.Seats.N > mongodb.MaxWhole
	s.Seats.Valid = !s.Seats.Wrong
	return s
}

// sums adds up the locks of some events that have one of the statuses, by a covered index. A
// command reads at most maxSummed locks. Several commands are consistent only within
// mongodb.AtSnapshot.
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
	isOne    bool   // events is one event
	statuses []holdfast.LockStatus
	ids      bson.D // a filter; with one, there is one event and one status
	onlyOIDs bool   // ids matches ObjectIDs only
}

var inOrder = mongodb.Sort("eventId", "status", "_id")

func (r lockRange) match() bson.D {
	return mongodb.Match(r.events, mongodb.In("status", r.statuses), r.ids)
}

// sumRange adds up the first maxSummed locks of a range.
func (s *Store) sumRange(ctx context.Context, r lockRange) ([]lockSum, error) {
	poison := bson.D{{Key: "$cond", Value: bson.A{wholeSeats, int64(0), int64(1)}}}
	return mongodb.All[lockSum](ctx, s.locks(), mongo.Pipeline{
		r.match(), inOrder, mongodb.Limit(s.maxSummed),
		mongodb.Group("$eventId", bson.E{Key: "seats", Value: mongodb.Sum(countedSeats)},
			bson.E{Key: "poison", Value: mongodb.Sum(poison)}, bson.E{Key: "locks", Value: mongodb.Sum(int64(1))}),
	})
}

// fromLast leaves the last of several events out, and returns the range that begins with it. Adding up some of its
// locks again costs less than looking for the last one that was read, which reads all of them again.
func (r lockRange) fromLast(found []lockSum) (whole []lockSum, rest []lockRange) {
	slices.SortFunc(found, func(a, b lockSum) int { return bytes.Compare(a.Event[:], b.Event[:]) })
	last := len(found) - 1
	from := mongodb.And(r.events, bson.D{{Key: "eventId", Value: bson.D{{Key: "$gte", Value: found[last].Event}}}})
	return found[:last], []lockRange{{events: from, statuses: r.statuses}}
}

// restOf returns what is left of a range after its first maxSummed locks, as ranges again. They are of one event,
// unless locks ended meanwhile.
func (s *Store) restOf(ctx context.Context, r lockRange) (rest []lockRange, err error) {
	last, found, err := mongodb.First[struct {
		ID     bson.RawValue       `bson:"_id"`
		Event  ID                  `bson:"eventId"`
		Status holdfast.LockStatus `bson:"status"`
	}](ctx, s.locks(), mongo.Pipeline{
		r.match(), inOrder, {{Key: "$skip", Value: s.maxSummed - 1}}, mongodb.Only("eventId", "status"),
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
	for _, ids := range idsAfter(last.ID, r.onlyOIDs) {
		ids.events, ids.isOne, ids.statuses = ofEvent, true, []holdfast.LockStatus{last.Status}
		rest = append(rest, ids)
	}
	return rest, nil
}

// idsAfter are the ranges of all _id after one, in the order of the index. $gt compares with
// values of the same type. An $expr compares with values of every type, but the index does not
// cover it.
func idsAfter(last bson.RawValue, onlyOIDs bool) []lockRange {
	after := func(id any) lockRange {
		return lockRange{ids: mongodb.Is("$expr", bson.D{{Key: "$gt", Value: bson.A{"$_id", bson.D{{Key: "$literal", Value: id}}}}})}
	}
	oid, isOID := last.ObjectIDOK()
	if !isOID {
		return []lockRange{after(last)}
	}
	oids := lockRange{ids: bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: oid}}}}, onlyOIDs: true}
	if onlyOIDs {
		return []lockRange{oids}
	}
	largest := ID(bytes.Repeat([]byte{0xff}, len(ID{})))
	return []lockRange{oids, after(largest)}
}
