package store

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Fields that only Holdfast uses are in one sub-document of each document, where no field of
// other software meets them. The former version has them at the top level: formerRev of events
// and locks, and formerFixes, fence, sweptRev and runId of events. While processes of the
// former version may serve the database too (see mongodb.Upgrade), every write raises both
// revisions, and every guard compares both. Afterwards a field of the former version is one of
// the type that it writes, and another type is other software's.
const (
	internalName = "internal"

	rev      = internalName + ".rev"      // raised by every change
	fixes    = internalName + ".fixes"    // raised by every repair of an event's counter
	fence    = internalName + ".fence"    // raised before a refusal is decided
	sweptRev = internalName + ".sweptRev" // rev after the last sweep's transaction
	heldAt   = internalName + ".heldAt"   // when HoldSeats held a seated event
	writers  = internalName + ".writers"  // of an event: the processes of its last changes, if there are several
	runID    = internalName + ".runId"    // the run that made the last change of a run; of locks it is public

	formerRev   = "rev"
	formerFixes = "fixes"
	lockRunID   = "runId"

	formerType = "long" // of the former version's numbers
)

// formerEventNumbers are the fields of events that the former version writes as numbers.
var formerEventNumbers = []string{formerRev, formerFixes, "fence", "sweptRev"}

// internalDoc has the fields that only Holdfast uses. A value of another type counts as absent,
// and Wrong says that no update can change the fields.
type internalDoc struct {
	internalFields

	Wrong bool // there is a value, and it is no document
}

type internalFields struct {
	Rev      mongodb.Whole `bson:"rev"`
	Repairs  mongodb.Whole `bson:"fixes"`
	SweptRev mongodb.Whole `bson:"sweptRev"`
	HeldAt   mongodb.Date  `bson:"heldAt"`
	Writers  writersDoc    `bson:"writers"`
	// Of a booking.
	PaymentID ID `bson:"paymentId"`
}

// UnmarshalBSONValue reads any value.
func (d *internalDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	*d = internalDoc{Wrong: true}
	if bson.Type(kind) == bson.TypeEmbeddedDocument {
		d.Wrong = mongodb.Unmarshal(data, &d.internalFields) != nil
	}
	return nil
}

// writersDoc is empty if the value is no list of whole numbers.
type writersDoc []int32

// UnmarshalBSONValue reads any value.
func (d *writersDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	*d = nil
	list, _ := bson.RawValue{Type: bson.Type(kind), Value: data}.ArrayOK()
	values, _ := list.Values()
	for _, v := range values {
		if n, ok := v.Int32OK(); ok {
			*d = append(*d, n)
		}
	}
	return nil
}

// formerDoc is a number in a field of the former version.
type formerDoc struct {
	mongodb.Whole

	IsFormer bool // it has the type that the former version writes
}

// UnmarshalBSONValue reads any value.
func (d *formerDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	d.IsFormer = bson.Type(kind) == bson.TypeInt64
	return d.Whole.UnmarshalBSONValue(kind, data)
}

// pointer is the number that a guard compares; nil if there is none.
func (d formerDoc) pointer(shared bool) *int64 {
	switch {
	case shared:
		return d.Pointer()
	case d.IsFormer:
		return &d.N
	default:
		return nil
	}
}

// sameFormer matches a field of the former version that is as it was read.
func sameFormer(field string, f inventory.Former, n *int64) bson.D {
	if f.Shared || n != nil {
		return sameNumber(field, n)
	}
	return without(field)
}

// has matches a field of the type that the former version writes, and without any other value. A
// list that has such an element is other software's.
func has(field string) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$type", Value: formerType}, {Key: "$not", Value: isList}}}}
}

func without(fields ...string) bson.D {
	return bson.D{{Key: "$nor", Value: anyOf(fields)}}
}

func anyOf(fields []string) bson.A {
	list := bson.A{}
	for _, field := range fields {
		list = append(list, has(field))
	}
	return list
}

// raise adds 1 to a field, and to the former version's field while that version may read it.
func raise(inc bson.D, shared bool, field, former string) bson.D {
	inc = append(inc, bson.E{Key: field, Value: int64(1)})
	if shared {
		inc = append(inc, bson.E{Key: former, Value: int64(1)})
	}
	return inc
}

// raiseRevision is part of every update of an event or a lock: an update without a change would
// not conflict with another transaction.
func raiseRevision(shared bool) bson.E {
	return bson.E{Key: "$inc", Value: raise(nil, shared, rev, formerRev)}
}

// dropFormer removes the former version's fields that were read. A plan that has read nothing
// leaves them.
func dropFormer(unset bson.D, shared bool, f inventory.Former) bson.D {
	if shared || f.Shared {
		return unset
	}
	if f.Revision != nil {
		unset = append(unset, bson.E{Key: formerRev, Value: ""})
	}
	if f.Repairs != nil {
		unset = append(unset, bson.E{Key: formerFixes, Value: ""})
	}
	return unset
}
