package seats

import (
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	// partBytes is the size after which a part of a section takes no more rows. A row has at most
	// some 0.8 MiB.
	partBytes = 1 << 20
	// maxInsertBytes bounds one command that inserts parts, unless one part is larger.
	maxInsertBytes = 8 << 20
)

// The documents of rows and seats are written and read without reflection, which would need most
// of the time of a large plan.

// encodeSections returns the parts of all sections of a plan that is written out. The first part
// of a section also has the other fields of the section.
func encodeSections(plan holdfast.SeatingPlan) (parts []bson.Raw) {
	for number, s := range plan.Sections {
		rows, n := s.Rows, 0
		for isFirst := true; isFirst || len(rows) > 0; n++ {
			doc := beginPart(plan.ID, number, n, s)
			at, doc := bsoncore.AppendArrayElementStart(doc, "rows")
			i := 0
			for ; i < len(rows) && len(doc) < partBytes; i++ {
				doc = appendRow(doc, strconv.Itoa(i), rows[i])
			}
			parts = append(parts, endDocument(endDocument(doc, at), 0))
			rows, isFirst = rows[i:], false
		}
	}
	return parts
}

// beginPart begins the document of a part, which the caller must end.
func beginPart(plan ID, number, part int, s holdfast.Section) []byte {
	_, doc := bsoncore.AppendDocumentStart(nil)
	doc = bsoncore.AppendObjectIDElement(doc, "_id", bson.ObjectID(mongodb.NewID()))
	doc = bsoncore.AppendObjectIDElement(doc, "planId", bson.ObjectID(plan))
	doc = bsoncore.AppendInt64Element(doc, "number", int64(number))
	doc = bsoncore.AppendInt64Element(doc, "part", int64(part))
	doc = bsoncore.AppendStringElement(doc, "key", s.Key)
	if part > 0 {
		return doc
	}
	doc = bsoncore.AppendStringElement(doc, "name", s.Name)
	doc = bsoncore.AppendStringElement(doc, "category", s.Category)
	doc = appendText(doc, "floor", s.Floor)
	doc = appendText(doc, "entrance", s.Entrance)
	doc = appendText(doc, "viewUrl", s.ViewURL)
	if s.Capacity > 0 {
		doc = bsoncore.AppendInt64Element(doc, "capacity", s.Capacity)
	}
	if s.Outline == nil {
		return doc
	}
	list, doc := bsoncore.AppendArrayElementStart(doc, "outline")
	for i, p := range s.Outline {
		point, inner := bsoncore.AppendArrayElementStart(doc, strconv.Itoa(i))
		inner = bsoncore.AppendDoubleElement(inner, "0", units(p.X))
		inner = bsoncore.AppendDoubleElement(inner, "1", units(p.Y))
		doc = endDocument(inner, point)
	}
	return endDocument(doc, list)
}

func appendRow(doc []byte, index string, row holdfast.Row) []byte {
	at, doc := bsoncore.AppendDocumentElementStart(doc, index)
	doc = bsoncore.AppendStringElement(doc, "key", row.Key)
	doc = bsoncore.AppendStringElement(doc, "label", row.Label)
	doc = bsoncore.AppendStringElement(doc, "category", row.Category)
	doc = bsoncore.AppendStringElement(doc, "adjacency", string(row.Adjacency))
	list, doc := bsoncore.AppendArrayElementStart(doc, "seats")
	for i, seat := range row.Seats {
		if seat == nil {
			doc = bsoncore.AppendNullElement(doc, strconv.Itoa(i))
		} else {
			doc = appendSeat(doc, strconv.Itoa(i), seat)
		}
	}
	return endDocument(endDocument(doc, list), at)
}

func appendSeat(doc []byte, index string, seat *holdfast.Seat) []byte {
	at, doc := bsoncore.AppendDocumentElementStart(doc, index)
	doc = bsoncore.AppendStringElement(doc, "id", seat.ID)
	doc = bsoncore.AppendStringElement(doc, "label", seat.Label)
	doc = bsoncore.AppendStringElement(doc, "category", seat.Category)
	doc = bsoncore.AppendDoubleElement(doc, "x", units(*seat.X))
	doc = bsoncore.AppendDoubleElement(doc, "y", units(*seat.Y))
	doc = appendFlag(doc, "accessible", seat.Accessible)
	doc = appendFlag(doc, "companion", seat.Companion)
	doc = appendFlag(doc, "restrictedView", seat.RestrictedView)
	doc = appendText(doc, "note", seat.Note)
	doc = appendText(doc, "viewUrl", seat.ViewURL)
	return endDocument(doc, at)
}

// appendText appends a text that is absent if it is "".
func appendText(doc []byte, key, text string) []byte {
	if text == "" {
		return doc
	}
	return bsoncore.AppendStringElement(doc, key, text)
}

func appendFlag(doc []byte, key string, flag bool) []byte {
	if !flag {
		return doc
	}
	return bsoncore.AppendBooleanElement(doc, key, true)
}

// endDocument ends the document or the array that began at an index.
func endDocument(doc []byte, at int32) []byte {
	doc, err := bsoncore.AppendDocumentEnd(doc, at)
	if err != nil {
		panic(err) // at is not an index of doc, which is a programming error
	}
	return doc
}

// units is a coordinate as JSON has it. A float64 is exact enough to be read back.
func units(v holdfast.Thousandths) float64 { return float64(v) / float64(holdfast.Unit) }
