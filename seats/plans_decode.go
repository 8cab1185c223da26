package seats

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// decodePart reads a part of a section: its section's number in the plan, its own number in the
// section, and its part of the section. It fails with errIncomplete for a document that
// encodeSections does not write.
func decodePart(doc bson.Raw) (number, part int64, s holdfast.Section, err error) {
	d := planDecoder{}
	d.fields(doc, func(key []byte, v bsoncore.Value) {
		switch string(key) {
		case "number":
			number = d.whole(v)
		case "part":
			part = d.whole(v)
		case "key":
			s.Key = d.text(v)
		case "name":
			s.Name = d.text(v)
		case "category":
			s.Category = d.text(v)
		case "floor":
			s.Floor = d.text(v)
		case "entrance":
			s.Entrance = d.text(v)
		case "viewUrl":
			s.ViewURL = d.text(v)
		case "capacity":
			s.Capacity = d.whole(v)
		case "outline":
			d.list(v, func(v bsoncore.Value) { s.Outline = append(s.Outline, d.point(v)) })
		case "rows":
			d.list(v, func(v bsoncore.Value) { s.Rows = append(s.Rows, d.row(v)) })
		}
	})
	if d.isWrong {
		err = errPlanIncomplete
	}
	return number, part, s, err
}

// planDecoder reads values of the types that encodeSections writes, and records whether a value had another
// type.
type planDecoder struct {
	isWrong bool
	last    string // the category read last, so that most seats share its memory
	seats   []holdfast.Seat
	numbers []holdfast.Thousandths
}

func (d *planDecoder) row(v bsoncore.Value) (row holdfast.Row) {
	d.document(v, func(key []byte, v bsoncore.Value) {
		switch string(key) {
		case "key":
			row.Key = d.text(v)
		case "label":
			row.Label = d.text(v)
		case "category":
			row.Category = d.category(v)
		case "adjacency":
			row.Adjacency = holdfast.Adjacency(d.text(v))
		case "seats":
			row.Seats = []*holdfast.Seat{}
			d.list(v, func(v bsoncore.Value) {
				if v.Type == bsoncore.TypeNull {
					row.Seats = append(row.Seats, nil)
				} else {
					row.Seats = append(row.Seats, d.seat(v))
				}
			})
		}
	})
	return row
}

func (d *planDecoder) seat(v bsoncore.Value) *holdfast.Seat {
	seat := nextOf(&d.seats)
	d.document(v, func(key []byte, v bsoncore.Value) {
		switch string(key) {
		case "id":
			seat.ID = d.text(v)
		case "label":
			seat.Label = d.text(v)
		case "category":
			seat.Category = d.category(v)
		case "x":
			seat.X = nextOf(&d.numbers)
			*seat.X = d.coordinate(v)
		case "y":
			seat.Y = nextOf(&d.numbers)
			*seat.Y = d.coordinate(v)
		case "accessible":
			seat.Accessible = d.flag(v)
		case "companion":
			seat.Companion = d.flag(v)
		case "restrictedView":
			seat.RestrictedView = d.flag(v)
		case "note":
			seat.Note = d.text(v)
		case "viewUrl":
			seat.ViewURL = d.text(v)
		}
	})
	return seat
}

// nextOf takes a value of a block that many values share.
func nextOf[T any](block *[]T) *T {
	const length = 256
	if len(*block) == 0 {
		*block = make([]T, length)
	}
	value := &(*block)[0]
	*block = (*block)[1:]
	return value
}

func (d *planDecoder) point(v bsoncore.Value) (p holdfast.Point) {
	i := 0
	d.list(v, func(v bsoncore.Value) {
		if i == 0 {
			p.X = d.coordinate(v)
		} else {
			p.Y = d.coordinate(v)
		}
		i++
	})
	const axes = 2
	d.require(i == axes)
	return p
}

func (d *planDecoder) document(v bsoncore.Value, field func(key []byte, v bsoncore.Value)) {
	d.require(v.Type == bsoncore.TypeEmbeddedDocument)
	if !d.isWrong {
		d.fields(v.Data, field)
	}
}

func (d *planDecoder) list(v bsoncore.Value, item func(v bsoncore.Value)) {
	d.require(v.Type == bsoncore.TypeArray)
	if !d.isWrong {
		d.fields(v.Data, func(_ []byte, v bsoncore.Value) { item(v) })
	}
}

// fields calls field for each field of a document, or each item of an array.
func (d *planDecoder) fields(doc []byte, field func(key []byte, v bsoncore.Value)) {
	const header, terminator = 4, 1
	if d.require(len(doc) >= header+terminator); d.isWrong {
		return
	}
	for rest := doc[header : len(doc)-terminator]; len(rest) > 0; {
		element, after, ok := bsoncore.ReadElement(rest)
		if d.require(ok); !ok {
			return
		}
		field(element.KeyBytes(), element.Value())
		rest = after
	}
}

func (d *planDecoder) require(ok bool) { d.isWrong = d.isWrong || !ok }

func (d *planDecoder) text(v bsoncore.Value) string {
	s, ok := v.StringValueOK()
	d.require(ok)
	return s
}

func (d *planDecoder) category(v bsoncore.Value) string {
	const header, terminator = 4, 1
	if v.Type == bsoncore.TypeString && len(v.Data) >= header+terminator && string(v.Data[header:len(v.Data)-terminator]) == d.last {
		return d.last
	}
	d.last = d.text(v)
	return d.last
}

func (d *planDecoder) flag(v bsoncore.Value) bool {
	flag, ok := v.BooleanOK()
	d.require(ok)
	return flag
}

// whole reads a whole number of any type, which a backup may have changed.
func (d *planDecoder) whole(v bsoncore.Value) int64 {
	n, ok := mongodb.WholeOf(bson.RawValue{Type: bson.Type(v.Type), Value: v.Data})
	d.require(ok)
	return n
}

func (d *planDecoder) coordinate(v bsoncore.Value) holdfast.Thousandths {
	n, ok := thousandths(v)
	d.require(ok)
	return n
}

// thousandths reads a number in units, of any type.
func thousandths(v bsoncore.Value) (holdfast.Thousandths, bool) {
	f, ok := v.AsFloat64OK()
	if !ok {
		return 0, false
	}
	const tooLarge = float64(holdfast.MaxPlanCoordinate + 1)
	return holdfast.Thousandths(max(-tooLarge, min(math.Round(f*float64(holdfast.Unit)), tooLarge))), f == f
}
