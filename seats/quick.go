package seats

import (
	"context"
	"errors"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// While seats last, nearly every batch is one of new requests that all fit. Such
// a batch is written without being read first: one guarded update of the event,
// which tells what it found and the database's time, and one insert. Whatever
// makes a batch another one fails its guard, or the unique index of idempotency
// keys, and the batch is then decided by reading: see batchTx.

// These say why a batch has to be read first. They never reach a caller.
var (
	errNotQuick = fault.New("READ_FIRST", "The batch has to be read first.")
	// errNotFitting: the event has not the seats, or has a rule of its own.
	errNotFitting = fault.New("READ_FIRST", "The event has to be read first.")
)

// readOn is how many of an event's batches are read first after one that could
// not be quick: an event that limits its customers goes on to do so.
const readOn = 20

// mayBeQuick reports whether a batch holds nothing that has to be read first,
// and the seats that it asks for.
func mayBeQuick(batch []*request, limits Limits) (total int64, ok bool) {
	keys := make(map[userKey]bool, len(batch))
	for _, r := range batch {
		q := r.take
		if q == nil || q.Until.For > limits.MaxTTL || limits.MaxLocks > 0 || (limits.MaxSeats > 0 && q.Seats > limits.MaxSeats) {
			return 0, false
		}
		if k := (userKey{q.UserID, q.Key}); q.Key != "" {
			if keys[k] {
				return 0, false
			}
			keys[k] = true
		}
		total += q.Seats
	}
	return total, true
}

// quick decides a batch in the caller's transaction, or fails with
// errNotQuick or errNotFitting.
func (b *batchTx) quick(ctx context.Context, total int64) (answers []answer, err error) {
	err = b.s.events().FindOneAndUpdate(ctx, quickEvent(b.eventID, total),
		bson.D{{Key: "$inc", Value: bson.D{{Key: "availableSeats", Value: -total}, {Key: "rev", Value: int64(1)}}}, mongodb.TouchDate},
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&b.event)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = errNotFitting
	}
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(b.requests, (*request).hasLeft) { // see fence
		return nil, errNotQuick
	}
	before := b.event // outside hands may have left a counter that can't be
	before.AvailableSeats.N += total
	if !before.sound() {
		return nil, errNotQuick
	}
	b.now = b.event.UpdatedAt.Time // the database's clock has just written it
	inserts := make([]bson.D, 0, len(b.requests))
	for _, r := range b.requests {
		lock, refusal := b.newLock(r)
		if refusal != nil {
			return nil, errNotQuick
		}
		inserts, answers = append(inserts, insertOf(lock, b.now)), append(answers, answer{lock: lock})
	}
	err = b.s.db.Insert(ctx, locksName, inserts)
	if mongodb.IsDuplicate(err) { // a key was used before
		err = errNotQuick
	}
	if err == nil {
		err = b.users.wait()
	}
	return answers, err
}

// quickEvent matches an event that has the seats and asks for no look at what
// its customers hold.
func quickEvent(id ID, total int64) bson.D {
	return mongodb.And(mongodb.Is("_id", id), onSaleForAll, bson.D{{Key: "availableSeats", Value: bson.D{{Key: "$gte", Value: total}}}})
}

// onSaleForAll matches events on sale that limit no customer's seats.
var onSaleForAll = bson.D{
	{Key: "status", Value: bson.D{{Key: "$in", Value: bson.A{nil, string(OnSale)}}}},
	{Key: "maxSeatsPerUser", Value: bson.D{{Key: "$in", Value: bson.A{nil, 0}}}},
}
