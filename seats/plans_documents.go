package seats

import (
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// planFormat is the version of the documents, in internal.format of a plan.
const planFormat = 1

type (
	summaryDoc struct {
		ID         ID                  `bson:"_id"`
		Name       string              `bson:"name"`
		TotalSeats int64               `bson:"totalSeats"`
		Categories []holdfast.Category `bson:"categories"`
		FocalPoint *pointDoc           `bson:"focalPoint"`
		Sections   []SectionSummary    `bson:"sections"`
		CreatedAt  time.Time           `bson:"createdAt"`
	}
	pointDoc struct {
		X coordinate `bson:"x"`
		Y coordinate `bson:"y"`
	}
)

// encodeSummary returns the document of a plan: the fields that the routes answer, under the same names.
func encodeSummary(of PlanSummary) bson.D {
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
		{Key: "internal", Value: mongodb.Is("format", planFormat)},
	}
	if f := of.FocalPoint; f != nil {
		doc = append(doc, bson.E{Key: "focalPoint", Value: bson.D{{Key: "x", Value: units(f.X)}, {Key: "y", Value: units(f.Y)}}})
	}
	return doc
}

func (d summaryDoc) summary() PlanSummary {
	of := PlanSummary{
		ID: d.ID, Name: d.Name, TotalSeats: d.TotalSeats, CreatedAt: d.CreatedAt,
		Categories: d.Categories, Sections: d.Sections,
	}
	if of.CreatedAt.IsZero() {
		of.CreatedAt = d.ID.CreatedAt()
	}
	if f := d.FocalPoint; f != nil {
		of.FocalPoint = &holdfast.Point{X: holdfast.Thousandths(f.X), Y: holdfast.Thousandths(f.Y)}
	}
	return of
}

// coordinate is a number in units, read as thousandths.
type coordinate holdfast.Thousandths

// UnmarshalBSONValue reads a number.
func (c *coordinate) UnmarshalBSONValue(kind byte, data []byte) error {
	v, ok := thousandths(bsoncore.Value{Type: bsoncore.Type(kind), Data: data})
	if !ok {
		return errors.New("a coordinate is not a number")
	}
	*c = coordinate(v)
	return nil
}
