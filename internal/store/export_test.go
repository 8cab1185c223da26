package store

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// SumAtMost makes a command of the store add up at most n locks.
func (s *Store) SumAtMost(n int) { s.maxSummed = n }

// Schemas are the schemas of the collections whose documents are checked in Go too.
func Schemas() map[string]*mongodb.Schema {
	return map[string]*mongodb.Schema{eventsName: &eventRules, locksName: &lockRules, bookingsName: &bookingRules, paymentsName: &paymentRules,
		entriesName: &entryRules}
}

// GuardHolds reports whether the guard of an event's write holds before it, as a condition of MongoDB, and after it, as a check in Go.
func (s *Store) GuardHolds(t interface{ Fatal(...any) }, id ID, w inventory.EventWrite) (before, after bool) {
	matched, err := s.events().CountDocuments(context.Background(), eventGuard(id, w))
	if err != nil {
		t.Fatal(err)
	}
	var doc eventDoc
	err = s.events().FindOneAndUpdate(context.Background(), mongodb.Is("_id", id), eventUpdate(w),
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&doc)
	if err != nil {
		t.Fatal(err)
	}
	return matched == 1, w.HeldBefore(doc.inventory())
}

// ReadEvent is an event as a decision reads it.
func ReadEvent(t interface{ Fatal(...any) }, doc bson.D) inventory.Event {
	var d eventDoc
	raw, err := bson.Marshal(doc)
	if err == nil {
		err = mongodb.Unmarshal(raw, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.inventory()
}

// ReadForUnion is a lock as a union reads it; false: it is corrupt.
func ReadForUnion(doc bson.Raw) (holdfast.Lock, bool) {
	l := unionLock{seatIDs: [][]byte{[]byte("of the lock before")}}
	ok := l.read(doc)
	lock := holdfast.Lock{ID: l.id, Seats: l.seats, Status: holdfast.LockStatus(l.status), Section: string(l.section)}
	for _, id := range l.seatIDs {
		lock.SeatIDs = append(lock.SeatIDs, string(id))
	}
	return lock, ok
}

// ReadLock is the same part of a lock as everything else reads it.
func ReadLock(t testing.TB, doc bson.Raw) (holdfast.Lock, bool) {
	t.Helper()
	var d lockDoc
	if !lockRules.Holds(doc) {
		return holdfast.Lock{}, false
	}
	if err := mongodb.Unmarshal(doc, &d); err != nil {
		t.Fatal(err)
	}
	lock := d.lock()
	return holdfast.Lock{ID: lock.ID, Seats: lock.Seats, Status: lock.Status, Section: lock.Section, SeatIDs: lock.SeatIDs}, true
}

// Decode reads documents of the collections, as everything but a union does.
func Decode() map[string]func(bson.Raw) error {
	return map[string]func(bson.Raw) error{
		eventsName: decodes[eventDoc], locksName: decodes[lockDoc], bookingsName: decodes[bookingDoc], paymentsName: decodes[paymentDoc],
		entriesName: decodes[entryDoc],
	}
}

func decodes[D any](doc bson.Raw) error {
	var d D
	return mongodb.Unmarshal(doc, &d)
}
