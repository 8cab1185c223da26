package planfile

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast"
)

// Plan is the form of a plan. The other types are its parts. The tags other than json describe them in
// the API's OpenAPI document; package seating has the rules.
type Plan struct {
	Name        string       `json:"name" minLength:"1" maxLength:"200"`
	Categories  []Category   `json:"categories" nullable:"false" minItems:"1" maxItems:"64" doc:"The price classes, the best first."`
	FocalPoint  *Point       `json:"focalPoint,omitempty" doc:"What the hall looks at. Best available prefers seats near it."`
	Decorations []Decoration `json:"decorations,omitempty" nullable:"false" maxItems:"2000" doc:"For drawing, in this order."`
	Sections    []Section    `json:"sections" nullable:"false" minItems:"1" maxItems:"500"`
}

type (
	// Category is a price class.
	Category struct {
		Key   string `json:"key" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" maxLength:"32" doc:"Unique in the plan."`
		Name  string `json:"name" minLength:"1" maxLength:"200"`
		Color string `json:"color,omitempty" pattern:"^#[0-9a-fA-F]{6}$"`
	}
	// Point is a position.
	Point struct {
		X float64 `json:"x" minimum:"-100000" maximum:"100000"`
		Y float64 `json:"y" minimum:"-100000" maximum:"100000"`
	}
	// Decoration is a part of the drawing, such as the stage.
	Decoration struct {
		Kind   string       `json:"kind" enum:"stage,area,wall,text,icon" doc:"A stage is drawn in place of the focal point's mark."`
		Points [][2]float64 `json:"points,omitempty" nullable:"false" maxItems:"200" doc:"Of a stage, an area or a wall; in all at most 20,000."`
		At     *[2]float64  `json:"at,omitempty" doc:"The position of a text or an icon."`
		Text   string       `json:"text,omitempty" maxLength:"200" doc:"A text has one, and a wall none."`
		Icon   string       `json:"icon,omitempty" enum:"bar,entrance,exit,lift,stairs,toilet,cloakroom,food,first-aid,information"`
		Floor  string       `json:"floor,omitempty" maxLength:"200" doc:"Of the sections that it is drawn with. Default: all."`
	}
	// Section has either Rows or a Capacity.
	Section struct {
		Key      string       `json:"key" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" maxLength:"32" doc:"Unique in the plan."`
		Name     string       `json:"name" minLength:"1" maxLength:"200"`
		Category string       `json:"category" doc:"The key of the category of all rows and seats without a category."`
		Floor    string       `json:"floor,omitempty" maxLength:"200"`
		Entrance string       `json:"entrance,omitempty" maxLength:"200"`
		Rows     []Row        `json:"rows,omitempty" nullable:"false" doc:"Numbered seats; a section has rows or a capacity."`
		Capacity int64        `json:"capacity,omitempty" minimum:"1" maximum:"10000000" doc:"General admission, such as a standing area."`
		Outline  [][2]float64 `json:"outline,omitempty" nullable:"false" maxItems:"200" doc:"Points x, y, for drawing."`
		ViewURL  string       `json:"viewUrl,omitempty" pattern:"^https://" maxLength:"500" doc:"A picture of the view, by https."`
	}
	// Row is a row of a section.
	Row struct {
		Key       string `json:"key" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" maxLength:"32" doc:"Unique in the section."`
		Label     string `json:"label,omitempty" maxLength:"32" doc:"Default: the key."`
		Category  string `json:"category,omitempty" doc:"Default: the section's."`
		Adjacency string `json:"adjacency,omitempty" enum:"LINE,NONE,ALL" doc:"Which seats are adjacent; ALL is for tables. Default: LINE."`
		Seats     Seats  `json:"seats"`
	}
	// Seats is a list, in which null is a gap, or a number.
	Seats struct {
		List  []*Seat
		Count int64 // if List is nil
	}
	// Seat is a numbered seat.
	Seat struct {
		ID             string   `json:"id" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]*$" maxLength:"64" doc:"Unique in the plan."`
		Label          string   `json:"label,omitempty" maxLength:"32" doc:"Default: the position in the row."`
		Category       string   `json:"category,omitempty" doc:"Default: the row's."`
		X              *float64 `json:"x,omitempty" minimum:"-100000" maximum:"100000" doc:"Default: the position in the row; gaps count."`
		Y              *float64 `json:"y,omitempty" minimum:"-100000" maximum:"100000" doc:"Default: the index of the row."`
		Accessible     bool     `json:"accessible,omitempty" doc:"For a customer with a wheelchair."`
		Companion      bool     `json:"companion,omitempty" doc:"For the companion of a customer with a wheelchair."`
		RestrictedView bool     `json:"restrictedView,omitempty"`
		Note           string   `json:"note,omitempty" maxLength:"200"`
		ViewURL        string   `json:"viewUrl,omitempty" pattern:"^https://" maxLength:"500" doc:"A picture of the view, by https."`
	}
)

// MarshalJSON implements json.Marshaler.
func (s Seats) MarshalJSON() ([]byte, error) {
	if s.List == nil {
		return json.Marshal(s.Count)
	}
	return json.Marshal(s.List)
}

// PlanOf returns the form of a plan, without defaults: a field that is absent in the plan
// stays absent.
func PlanOf(plan holdfast.SeatingPlan) Plan {
	form := Plan{Name: plan.Name, Categories: make([]Category, 0, len(plan.Categories)), Sections: make([]Section, 0, len(plan.Sections))}
	for _, c := range plan.Categories {
		form.Categories = append(form.Categories, Category(c))
	}
	if f := plan.FocalPoint; f != nil {
		form.FocalPoint = &Point{X: number(f.X), Y: number(f.Y)}
	}
	for _, d := range plan.Decorations {
		form.Decorations = append(form.Decorations, decorationOf(d))
	}
	for _, s := range plan.Sections {
		form.Sections = append(form.Sections, SectionOf(s))
	}
	return form
}

func decorationOf(d holdfast.Decoration) Decoration {
	form := Decoration{Kind: string(d.Kind), Points: pairsOf(d.Points), Text: d.Text, Icon: d.Icon, Floor: d.Floor}
	if d.At != nil {
		form.At = new(pairOf(*d.At))
	}
	return form
}

func pairOf(p holdfast.Point) [2]float64 { return [2]float64{number(p.X), number(p.Y)} }

func pairsOf(points []holdfast.Point) (pairs [][2]float64) {
	for _, p := range points {
		pairs = append(pairs, pairOf(p))
	}
	return pairs
}

// SectionOf returns the form of a section.
func SectionOf(s holdfast.Section) Section {
	form := Section{
		Key: s.Key, Name: s.Name, Category: s.Category, Floor: s.Floor, Entrance: s.Entrance, Capacity: s.Capacity,
		Outline: pairsOf(s.Outline), ViewURL: s.ViewURL,
	}
	for _, row := range s.Rows {
		form.Rows = append(form.Rows, Row{
			Key: row.Key, Label: row.Label, Category: row.Category, Adjacency: string(row.Adjacency),
			Seats: Seats{List: listOf(row.Seats), Count: row.Count},
		})
	}
	return form
}

func listOf(seats []*holdfast.Seat) []*Seat {
	if seats == nil {
		return nil
	}
	list, forms := make([]*Seat, len(seats)), make([]Seat, len(seats))
	for i, seat := range seats {
		if seat == nil {
			continue
		}
		forms[i] = Seat{
			ID: seat.ID, Label: seat.Label, Category: seat.Category, X: optional(seat.X), Y: optional(seat.Y), Accessible: seat.Accessible,
			Companion: seat.Companion, RestrictedView: seat.RestrictedView, Note: seat.Note, ViewURL: seat.ViewURL,
		}
		list[i] = &forms[i]
	}
	return list
}

// number writes thousandths as units: a float64 has all of them exactly enough to be read back.
func number(v holdfast.Thousandths) float64 { return float64(v) / float64(holdfast.Unit) }

func optional(v *holdfast.Thousandths) *float64 {
	if v == nil {
		return nil
	}
	return new(number(*v))
}
