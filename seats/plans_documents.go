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
		ID          ID                  `bson:"_id"`
		Name        string              `bson:"name"`
		TotalSeats  int64               `bson:"totalSeats"`
		Categories  []holdfast.Category `bson:"categories"`
		FocalPoint  *pointDoc           `bson:"focalPoint"`
		Decorations []decorationDoc     `bson:"decorations"`
		Sections    []SectionSummary    `bson:"sections"`
		CreatedAt   time.Time           `bson:"createdAt"`
	}
	decorationDoc struct {
		Kind   holdfast.DecorationKind `bson:"kind"`
		Points []pairDoc               `bson:"points"`
		At     *pairDoc                `bson:"at"`
		Text   string                  `bson:"text"`
		Icon   string                  `bson:"icon"`
		Floor  string                  `bson:"floor"`
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
	if len(of.Decorations) > 0 {
		decorations := make(bson.A, 0, len(of.Decorations))
		for _, d := range of.Decorations {
			decorations = append(decorations, encodeDecoration(d))
		}
		doc = append(doc, bson.E{Key: "decorations", Value: decorations})
	}
	return doc
}

// encodeDecoration leaves out the parts that the decoration does not have.
func encodeDecoration(d holdfast.Decoration) bson.D {
	doc := bson.D{{Key: "kind", Value: string(d.Kind)}}
	if len(d.Points) > 0 {
		points := make(bson.A, 0, len(d.Points))
		for _, p := range d.Points {
			points = append(points, encodePair(p))
		}
		doc = append(doc, bson.E{Key: "points", Value: points})
	}
	if d.At != nil {
		doc = append(doc, bson.E{Key: "at", Value: encodePair(*d.At)})
	}
	for _, text := range []bson.E{{Key: "text", Value: d.Text}, {Key: "icon", Value: d.Icon}, {Key: "floor", Value: d.Floor}} {
		if text.Value != "" {
			doc = append(doc, text)
		}
	}
	return doc
}

func encodePair(p holdfast.Point) bson.A { return bson.A{units(p.X), units(p.Y)} }

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
	for _, read := range d.Decorations {
		decoration := holdfast.Decoration{Kind: read.Kind, At: (*holdfast.Point)(read.At), Text: read.Text, Icon: read.Icon, Floor: read.Floor}
		for _, p := range read.Points {
			decoration.Points = append(decoration.Points, holdfast.Point(p))
		}
		of.Decorations = append(of.Decorations, decoration)
	}
	return of
}

// pairDoc is a point that is stored as a list of two numbers.
type pairDoc holdfast.Point

// UnmarshalBSONValue reads a list of two numbers.
func (p *pairDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	d := planDecoder{}
	*p = pairDoc(d.point(bsoncore.Value{Type: bsoncore.Type(kind), Data: data}))
	if d.isWrong {
		return errors.New("a point is not a list of two numbers")
	}
	return nil
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
