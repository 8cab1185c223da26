package store

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// unionFields are the fields of a lock that a union needs.
var unionFields = mongodb.Keys("_id", "status", "seats", seatIDsField, sectionField)

// unionLock has the unionFields of a lock. It is decoded from the bytes of the document, which belong to the
// driver's batch: a union may have millions of locks, and decoding each of them into a lockDoc takes several times
// as long as everything else. The values are the same as those of a lockDoc.
type unionLock struct {
	id              ID
	seats           int64
	status, section []byte
	isNamed         bool     // it has a list of seats
	seatIDs         [][]byte // used again for the next lock
}

// read decodes a document, and keeps none of its bytes. ok is false if one of these fields makes the
// lock corrupt. Such a lock counts no seats, but the seats that it names are not sold.
func (l *unionLock) read(doc bson.Raw) (ok bool) {
	*l = unionLock{seatIDs: l.seatIDs[:0]}
	_, rest, ok := bsoncore.ReadLength(doc)
	seen := 0 // a bit for each field: the first one of a name counts
	for isBSON := ok; isBSON && len(rest) > 1; {
		var e bsoncore.Element
		if e, rest, isBSON = bsoncore.ReadElement(rest); !isBSON {
			return false
		}
		if bit := 1 << (1 + slices.IndexFunc(unionFields, func(f bson.E) bool { return f.Key == string(e.KeyBytes()) })); seen&bit == 0 {
			seen |= bit
			ok = l.readField(e.KeyBytes(), e.Value()) && ok
		}
	}
	if l.isNamed {
		l.section = nil // see sectionOf
		ok = ok && int64(len(l.seatIDs)) == l.seats
	}
	if ok = ok && l.seats > 0 && l.seats <= holdfast.MaxSeats; !ok {
		l.seats = 0
	}
	return ok
}

func (l *unionLock) readField(key []byte, v bsoncore.Value) (ok bool) {
	switch string(key) {
	case "_id":
		var id bson.ObjectID
		id, ok = v.ObjectIDOK()
		l.id = ID(id)
	case "status":
		l.status, ok = textOf(v)
	case "seats":
		l.seats, ok = mongodb.WholeOf(bson.RawValue{Type: bson.Type(v.Type), Value: v.Data})
	case sectionField:
		l.section, ok = textOf(v)
	case seatIDsField:
		return l.readSeatIDs(v)
	default:
		return true
	}
	return ok
}

func (l *unionLock) readSeatIDs(v bsoncore.Value) (ok bool) {
	list, ok := v.ArrayOK()
	if !ok {
		return false
	}
	l.isNamed = true
	_, rest, ok := bsoncore.ReadLength(list)
	for isBSON := ok; isBSON && len(rest) > 1; {
		var e bsoncore.Element
		if e, rest, isBSON = bsoncore.ReadElement(rest); !isBSON {
			return false
		}
		id, isText := textOf(e.Value())
		if ok = ok && isText; isText {
			l.seatIDs = append(l.seatIDs, id)
		}
	}
	return ok
}

// namesEarlier reports whether the lock names its n-th seat at an earlier position too.
func (l *unionLock) namesEarlier(n int) bool {
	for _, id := range l.seatIDs[:n] {
		if bytes.Equal(id, l.seatIDs[n]) {
			return true
		}
	}
	return false
}

// textOf returns a string without copying it.
func textOf(v bsoncore.Value) (text []byte, ok bool) {
	const lengthSize = 4
	if v.Type != bsoncore.TypeString || len(v.Data) <= lengthSize {
		return nil, false
	}
	return v.Data[lengthSize : len(v.Data)-1], true
}
