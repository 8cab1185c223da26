package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// SumAtMost makes a command of the store add up at most n locks.
func (s *Store) SumAtMost(n int) { s.maxSummed = n }

// ReadForUnion is a lock as a union reads it.
func ReadForUnion(doc bson.Raw) holdfast.Lock {
	var l unionLock
	l.read(bson.Raw{5, 0, 0, 0, 0}) // nothing of the lock before is left
	l.seatIDs = append(l.seatIDs, []byte("before"))
	l.read(doc)
	lock := holdfast.Lock{ID: l.id, Seats: l.seats, Status: holdfast.LockStatus(l.status), Section: string(l.section)}
	for _, id := range l.seatIDs {
		lock.SeatIDs = append(lock.SeatIDs, string(id))
	}
	return lock
}

// ReadLock is the same part of a lock as everything else reads it.
func ReadLock(doc bson.Raw) holdfast.Lock {
	var d lockDoc
	if mongodb.Unmarshal(doc, &d) != nil {
		d = lockDoc{ID: mongodb.IDOf(doc, "_id")}
	}
	lock := d.lock()
	return holdfast.Lock{ID: lock.ID, Seats: lock.Seats, Status: lock.Status, Section: lock.Section, SeatIDs: lock.SeatIDs}
}
