package planjson

import (
	"fmt"
	"math"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/strictjson"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// Read reads a plan, which is valid if there are no problems, but not written out. A problem's
// location is a path in the plan, such as sections[3].rows[2].seats[7].id. The error is for a text
// that is no JSON, or that package strictjson refuses.
func Read(text []byte) (holdfast.SeatingPlan, []holdfast.FieldError, error) {
	plan, _, problems, err := read(text, false)
	return plan, problems, err
}

// ReadRequest is Read for a plan that may have an idempotencyKey beside its own keys; "" if it has
// none.
func ReadRequest(text []byte) (plan holdfast.SeatingPlan, idempotencyKey string, problems []holdfast.FieldError, err error) {
	return read(text, true)
}

func read(text []byte, isRequest bool) (plan holdfast.SeatingPlan, key string, problems []holdfast.FieldError, err error) {
	if err := strictjson.Check(text); err != nil {
		return plan, "", nil, err
	}
	r := reader{text: text}
	r.space()
	r.object(func(name string) bool {
		switch name {
		case "name":
			plan.Name = r.string()
		case "categories":
			r.list(func(int) { plan.Categories = append(plan.Categories, r.category()) })
		case "focalPoint":
			plan.FocalPoint = r.focalPoint()
		case "sections":
			r.list(func(int) { plan.Sections = append(plan.Sections, r.section()) })
		case "idempotencyKey":
			if !isRequest {
				return false
			}
			if key = r.optionalString(); holdfast.CheckText("", key, holdfast.MaxKeyLength) != nil {
				r.problem("A key has at most %d characters, and no control characters.", holdfast.MaxKeyLength)
			}
		default:
			return false
		}
		return true
	}, "name", "categories", "sections")
	return plan, key, join(r.problems, seating.Check(plan)), nil
}

// join adds the problems of the rules to those of the form. What has a wrong form was not read:
// the rules have nothing to say about it.
func join(form, rules []holdfast.FieldError) []holdfast.FieldError {
	isForm := func(rule holdfast.FieldError) bool {
		for _, f := range form {
			if rest, below := strings.CutPrefix(rule.Where, f.Where); below && (rest == "" || f.Where == "" || rest[0] == '.' || rest[0] == '[') {
				return true
			}
		}
		return false
	}
	all := form
	for _, rule := range rules {
		if !isForm(rule) && len(all) < seating.MaxProblems {
			all = append(all, rule)
		}
	}
	return all
}

func (r *reader) category() (c holdfast.Category) {
	r.object(func(name string) bool {
		switch name {
		case "key":
			c.Key = r.string()
		case "name":
			c.Name = r.string()
		case "color":
			c.Color = r.optionalString()
		default:
			return false
		}
		return true
	}, "key", "name")
	return c
}

func (r *reader) focalPoint() *holdfast.Point {
	if r.null() {
		return nil
	}
	var p holdfast.Point
	r.object(func(name string) bool {
		switch name {
		case "x":
			p.X = r.coordinate()
		case "y":
			p.Y = r.coordinate()
		default:
			return false
		}
		return true
	}, "x", "y")
	return &p
}

func (r *reader) section() (s holdfast.Section) {
	r.object(func(name string) bool {
		switch name {
		case "key":
			s.Key = r.string()
		case "name":
			s.Name = r.string()
		case "category":
			s.Category = r.string()
		case "floor":
			s.Floor = r.optionalString()
		case "entrance":
			s.Entrance = r.optionalString()
		case "rows":
			if !r.null() {
				r.list(func(int) { s.Rows = append(s.Rows, r.row()) })
			}
		case "capacity":
			if !r.null() {
				s.Capacity = r.capacity()
			}
		case "outline":
			if !r.null() {
				r.list(func(int) { s.Outline = append(s.Outline, r.outlinePoint()) })
			}
		default:
			return false
		}
		return true
	}, "key", "name", "category")
	return s
}

// capacity reads a capacity. The plan's 0 means none, so that a written 0 is a wrong number.
func (r *reader) capacity() int64 {
	n, ok := r.integer()
	if !ok {
		return 1 // for the rules: the section has a capacity
	}
	if n == 0 {
		return -1
	}
	return n
}

func (r *reader) outlinePoint() (p holdfast.Point) {
	n := 0
	problems := len(r.problems)
	r.list(func(i int) {
		n++
		switch i {
		case 0:
			p.X = r.coordinate()
		case 1:
			p.Y = r.coordinate()
		default:
			r.skip()
		}
	})
	const axes = 2
	if n != axes && len(r.problems) == problems {
		r.problem("expected array of 2 numbers")
	}
	return p
}

func (r *reader) row() (row holdfast.Row) {
	r.object(func(name string) bool {
		switch name {
		case "key":
			row.Key = r.string()
		case "label":
			row.Label = r.optionalString()
		case "category":
			row.Category = r.optionalString()
		case "adjacency":
			row.Adjacency = holdfast.Adjacency(r.optionalString())
		case "seats":
			r.seats(&row)
		default:
			return false
		}
		return true
	}, "key", "seats")
	return row
}

func (r *reader) seats(row *holdfast.Row) {
	switch c := r.text[r.at]; {
	case c == '[':
		row.Seats = []*holdfast.Seat{}
		r.list(func(int) {
			if r.null() {
				row.Seats = append(row.Seats, nil)
			} else {
				row.Seats = append(row.Seats, r.seat())
			}
		})
	case isNumber(c):
		row.Count, _ = r.integer()
	default:
		r.problem("expected integer or array")
		r.skip()
	}
}

func (r *reader) seat() *holdfast.Seat {
	seat := &holdfast.Seat{}
	r.object(func(name string) bool {
		switch name {
		case "id":
			seat.ID = r.string()
		case "label":
			seat.Label = r.optionalString()
		case "category":
			seat.Category = r.optionalString()
		case "x":
			seat.X = r.optionalCoordinate()
		case "y":
			seat.Y = r.optionalCoordinate()
		case "accessible":
			seat.Accessible = r.optionalBool()
		case "companion":
			seat.Companion = r.optionalBool()
		case "restrictedView":
			seat.RestrictedView = r.optionalBool()
		case "note":
			seat.Note = r.optionalString()
		default:
			return false
		}
		return true
	}, "id")
	return seat
}

func (r *reader) optionalCoordinate() *holdfast.Thousandths {
	if r.null() {
		return nil
	}
	return new(r.coordinate())
}

// coordinate reads a coordinate, rounded to thousandths. One that is too large for a plan stays
// so.
func (r *reader) coordinate() holdfast.Thousandths {
	f, ok := r.number()
	if !ok {
		return 0
	}
	const tooLarge = float64(holdfast.MaxPlanCoordinate + 1)
	return holdfast.Thousandths(max(-tooLarge, min(math.Round(f*float64(holdfast.Unit)), tooLarge)))
}

// integer reads a whole number as JSON Schema defines it: 2.0 and 2e0 are integers. One that is
// too large for every limit stays so.
func (r *reader) integer() (int64, bool) {
	f, ok := r.number()
	if !ok {
		return 0, false
	}
	if f != math.Trunc(f) {
		r.problem("expected integer")
		return 0, false
	}
	const tooLarge = 1 << 53
	return int64(max(-tooLarge, min(f, tooLarge))), true
}

func (r *reader) problem(what string, args ...any) {
	if len(r.problems) < seating.MaxProblems {
		r.problems = append(r.problems, holdfast.FieldError{Where: string(r.path), What: fmt.Sprintf(what, args...)})
	}
}
