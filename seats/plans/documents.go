package plans

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// format is the version of the documents, in internal.format of a plan. A document without a
// format is of other software, and no plan.
const format = 1

// isPlan matches the documents of plans.
var isPlan = mongodb.Is("internal.format", format)

type (
	summaryDoc struct {
		ID         ID                  `bson:"_id"`
		Name       mongodb.Text        `bson:"name"`
		TotalSeats mongodb.Whole       `bson:"totalSeats"`
		Categories listOf[categoryDoc] `bson:"categories"`
		FocalPoint optional[pointDoc]  `bson:"focalPoint"`
		Sections   listOf[sectionDoc]  `bson:"sections"`
		CreatedAt  mongodb.Date        `bson:"createdAt"`
	}
	categoryDoc struct {
		Key   mongodb.Text `bson:"key"`
		Name  mongodb.Text `bson:"name"`
		Color mongodb.Text `bson:"color"`
	}
	pointDoc struct {
		X coordinate `bson:"x"`
		Y coordinate `bson:"y"`
	}
	sectionDoc struct {
		Key      mongodb.Text  `bson:"key"`
		Name     mongodb.Text  `bson:"name"`
		Category mongodb.Text  `bson:"category"`
		Seats    mongodb.Whole `bson:"seats"`
	}
)

// encodeSummary returns the document of a plan: what the routes answer, under the same names.
func encodeSummary(of Summary) bson.D {
	categories, sections := make(bson.A, 0, len(of.Categories)), make(bson.A, 0, len(of.Sections))
	for _, c := range of.Categories {
		category := bson.D{{Key: "key", Value: c.Key}, {Key: "name", Value: c.Name}}
		if c.Color != "" {
			category = append(category, bson.E{Key: "color", Value: c.Color})
		}
		categories = append(categories, category)
	}
	for _, s := range of.Sections {
		sections = append(sections, bson.D{
			{Key: "key", Value: s.Key}, {Key: "name", Value: s.Name}, {Key: "category", Value: s.Category}, {Key: "seats", Value: s.Seats},
		})
	}
	doc := bson.D{
		{Key: "_id", Value: of.ID}, {Key: "name", Value: of.Name}, {Key: "totalSeats", Value: of.TotalSeats},
		{Key: "categories", Value: categories}, {Key: "sections", Value: sections}, {Key: "createdAt", Value: of.CreatedAt},
		{Key: "internal", Value: mongodb.Is("format", format)},
	}
	if f := of.FocalPoint; f != nil {
		doc = append(doc, bson.E{Key: "focalPoint", Value: bson.D{{Key: "x", Value: units(f.X)}, {Key: "y", Value: units(f.Y)}}})
	}
	return doc
}

func (d summaryDoc) summary() Summary {
	of := Summary{
		ID: d.ID, Name: string(d.Name), TotalSeats: d.TotalSeats.N, CreatedAt: d.CreatedAt.Time,
		Categories: make([]holdfast.Category, 0, len(d.Categories)), Sections: make([]SectionSummary, 0, len(d.Sections)),
	}
	if of.CreatedAt.IsZero() {
		of.CreatedAt = d.ID.CreatedAt()
	}
	for _, c := range d.Categories {
		of.Categories = append(of.Categories, holdfast.Category{Key: string(c.Key), Name: string(c.Name), Color: string(c.Color)})
	}
	for _, s := range d.Sections {
		of.Sections = append(of.Sections, SectionSummary{
			Key: string(s.Key), Name: string(s.Name), Category: string(s.Category), Seats: s.Seats.N,
		})
	}
	if f := d.FocalPoint.value; f != nil {
		of.FocalPoint = &holdfast.Point{X: holdfast.Thousandths(f.X), Y: holdfast.Thousandths(f.Y)}
	}
	return of
}

// listOf is a list of documents; what is no document is left out. It reads any value.
type listOf[T any] []T

// UnmarshalBSONValue reads any value.
func (l *listOf[T]) UnmarshalBSONValue(kind byte, data []byte) error {
	*l = nil
	array, ok := bson.RawValue{Type: bson.Type(kind), Value: data}.ArrayOK()
	if !ok {
		return nil
	}
	values, err := array.Values()
	if err != nil {
		return err
	}
	for _, v := range values {
		var item optional[T]
		if err := item.UnmarshalBSONValue(byte(v.Type), v.Value); err != nil {
			return err
		}
		if item.value != nil {
			*l = append(*l, *item.value)
		}
	}
	return nil
}

// optional is a document, or nil for any other value.
type optional[T any] struct{ value *T }

// UnmarshalBSONValue reads any value.
func (o *optional[T]) UnmarshalBSONValue(kind byte, data []byte) error {
	if o.value = nil; bson.Type(kind) != bson.TypeEmbeddedDocument {
		return nil
	}
	o.value = new(T)
	return mongodb.UnmarshalValue(bson.RawValue{Type: bson.Type(kind), Value: data}, o.value)
}

// coordinate is a number in units, read as thousandths; 0 if it is no number.
type coordinate holdfast.Thousandths

// UnmarshalBSONValue reads any value.
func (c *coordinate) UnmarshalBSONValue(kind byte, data []byte) error {
	v, _ := thousandths(bsoncore.Value{Type: bsoncore.Type(kind), Data: data})
	*c = coordinate(v)
	return nil
}
