// Package planjson reads and writes the JSON form of seating plans: the body of POST
// /api/seating-plans, and the files of seatctl. Reading is strict: keys are exact, and each
// problem has the path of what is wrong.
package planjson

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast"
)

// Plan is the form of a plan. The other types are its parts.
type Plan struct {
	Name       string     `json:"name"`
	Categories []Category `json:"categories"`
	FocalPoint *Point     `json:"focalPoint,omitempty"`
	Sections   []Section  `json:"sections"`
}

type (
	// Category is a price class.
	Category struct {
		Key   string `json:"key"`
		Name  string `json:"name"`
		Color string `json:"color,omitempty"`
	}
	// Point is a position.
	Point struct {
		X float64 `json:"x"`
		Y float64 `json:"y"`
	}
	// Section has either Rows or a Capacity.
	Section struct {
		Key      string       `json:"key"`
		Name     string       `json:"name"`
		Category string       `json:"category"`
		Floor    string       `json:"floor,omitempty"`
		Entrance string       `json:"entrance,omitempty"`
		Rows     []Row        `json:"rows,omitempty"`
		Capacity int64        `json:"capacity,omitempty"`
		Outline  [][2]float64 `json:"outline,omitempty"`
	}
	// Row is a row of a section.
	Row struct {
		Key       string `json:"key"`
		Label     string `json:"label,omitempty"`
		Category  string `json:"category,omitempty"`
		Adjacency string `json:"adjacency,omitempty"`
		Seats     Seats  `json:"seats"`
	}
	// Seats is a list, in which null is a gap, or a number.
	Seats struct {
		List  []*Seat
		Count int64 // if List is nil
	}
	// Seat is a numbered seat.
	Seat struct {
		ID             string   `json:"id"`
		Label          string   `json:"label,omitempty"`
		Category       string   `json:"category,omitempty"`
		X              *float64 `json:"x,omitempty"`
		Y              *float64 `json:"y,omitempty"`
		Accessible     bool     `json:"accessible,omitempty"`
		Companion      bool     `json:"companion,omitempty"`
		RestrictedView bool     `json:"restrictedView,omitempty"`
		Note           string   `json:"note,omitempty"`
	}
)

// MarshalJSON implements json.Marshaler.
func (s Seats) MarshalJSON() ([]byte, error) {
	if s.List == nil {
		return json.Marshal(s.Count)
	}
	return json.Marshal(s.List)
}

// Of returns the form of a plan. It has what the plan says, and nothing more: what is absent
// stays absent.
func Of(plan holdfast.SeatingPlan) Plan {
	form := Plan{Name: plan.Name, Categories: make([]Category, 0, len(plan.Categories)), Sections: make([]Section, 0, len(plan.Sections))}
	for _, c := range plan.Categories {
		form.Categories = append(form.Categories, Category(c))
	}
	if f := plan.FocalPoint; f != nil {
		form.FocalPoint = &Point{X: number(f.X), Y: number(f.Y)}
	}
	for _, s := range plan.Sections {
		form.Sections = append(form.Sections, OfSection(s))
	}
	return form
}

// OfSection returns the form of a section.
func OfSection(s holdfast.Section) Section {
	form := Section{Key: s.Key, Name: s.Name, Category: s.Category, Floor: s.Floor, Entrance: s.Entrance, Capacity: s.Capacity}
	for _, p := range s.Outline {
		form.Outline = append(form.Outline, [2]float64{number(p.X), number(p.Y)})
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
			Companion: seat.Companion, RestrictedView: seat.RestrictedView, Note: seat.Note,
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
