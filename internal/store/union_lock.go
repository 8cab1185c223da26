package store

import (
	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// unionFields are the fields of a lock that a union needs.
var unionFields = mongodb.Keys("status", "seats", seatIDsField, sectionField)

// unionLock has the unionFields of a lock. It is read from the bytes of the document, which are those of the
// driver's batch: a union may have millions of locks, and decoding each one into a lockDoc takes several times
// as long as everything else. The values are those that a lockDoc has.
type unionLock struct {
	id              ID
	seats           int64
	status, section []byte
	seatIDs         [][]byte // used again for the next lock
}

// read reads a document, of which nothing is kept. One that is no BSON has its _id alone.
func (l *unionLock) read(doc bson.Raw) {
	*l = unionLock{seatIDs: l.seatIDs[:0]}
	if !l.readFields(doc) {
		*l = unionLock{id: mongodb.IDOf(doc, "_id"), seatIDs: l.seatIDs[:0]}
	}
	if len(l.seatIDs) > 0 {
		l.section = nil // see sectionOf
	}
}

// Bits of the fields that have been read: the first one of a name counts.
const (
	sawID = 1 << iota
	sawStatus
	sawSeats
	sawSeatIDs
	sawSection
)

func (l *unionLock) readFields(doc bson.Raw) (ok bool) {
	saw := 0
	isFirst := func(field int) bool {
		first := saw&field == 0
		saw |= field
		return first
	}
	return eachElement(doc, func(e bsoncore.Element, v bsoncore.Value) {
		switch key := e.KeyBytes(); {
		case string(key) == "_id" && isFirst(sawID):
			if id, isID := v.ObjectIDOK(); isID {
				l.id = ID(id)
			}
		case string(key) == "status" && isFirst(sawStatus):
			l.status = textOf(v)
		case string(key) == "seats" && isFirst(sawSeats):
			l.seats = max(0, wholeOf(v).Or(0))
		case string(key) == seatIDsField && isFirst(sawSeatIDs):
			l.readSeatIDs(v)
		case string(key) == sectionField && isFirst(sawSection):
			l.section = textOf(v)
		}
	})
}

// readSeatIDs reads the strings of a list, or a single one; see mongodb.Texts.
func (l *unionLock) readSeatIDs(v bsoncore.Value) {
	switch v.Type {
	case bsoncore.TypeArray:
	case bsoncore.TypeString:
		if one := textOf(v); len(one) > 0 {
			l.seatIDs = append(l.seatIDs, one)
		}
		return
	default:
		return
	}
	if !eachElement(v.Data, func(_ bsoncore.Element, v bsoncore.Value) {
		if v.Type == bsoncore.TypeString {
			l.seatIDs = append(l.seatIDs, textOf(v))
		}
	}) {
		l.seatIDs = l.seatIDs[:0]
	}
}

// namesEarlier reports whether the lock names its n-th seat in front of it too.
func (l *unionLock) namesEarlier(n int) bool {
	for _, id := range l.seatIDs[:n] {
		if bytes.Equal(id, l.seatIDs[n]) {
			return true
		}
	}
	return false
}

// eachElement calls handle with the elements of a document or list; false: it is no BSON.
func eachElement(doc []byte, handle func(bsoncore.Element, bsoncore.Value)) (ok bool) {
	length, rest, ok := bsoncore.ReadLength(doc)
	if !ok || int(length) != len(doc) || doc[len(doc)-1] != 0 {
		return false
	}
	for len(rest) > 1 {
		var e bsoncore.Element
		if e, rest, ok = bsoncore.ReadElement(rest); !ok {
			return false
		}
		v, err := e.ValueErr()
		if err != nil {
			return false
		}
		handle(e, v)
	}
	return true
}

// textOf is mongodb.Text without a copy.
func textOf(v bsoncore.Value) []byte {
	const lengthSize = 4
	if v.Type != bsoncore.TypeString || len(v.Data) <= lengthSize {
		return nil
	}
	return v.Data[lengthSize : len(v.Data)-1]
}

func wholeOf(v bsoncore.Value) (w mongodb.Whole) {
	_ = w.UnmarshalBSONValue(byte(v.Type), v.Data) // it never fails
	return w
}
