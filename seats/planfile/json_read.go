package planfile

import (
	"math"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/jsonwalk"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// ReadJSON reads a plan, which is valid if there are no problems, but not written out. A problem's
// location is a path in the plan, such as sections[3].rows[2].seats[7].id. The error is for a text
// that is not JSON, or that jsonwalk.Check refuses.
func ReadJSON(text []byte) (holdfast.SeatingPlan, []holdfast.FieldError, error) {
	plan, _, problems, err := readJSON(text, false)
	return plan, problems, err
}

// ReadRequest is ReadJSON for a plan that may have an idempotencyKey in addition to its own keys; the key is "" if the
// plan has none.
func ReadRequest(text []byte) (plan holdfast.SeatingPlan, idempotencyKey string, problems []holdfast.FieldError, err error) {
	return readJSON(text, true)
}

func readJSON(text []byte, isRequest bool) (plan holdfast.SeatingPlan, key string, problems []holdfast.FieldError, err error) {
	if err := jsonwalk.Check(text); err != nil {
		return plan, "", nil, err
	}
	r := &jsonReader{Reader: jsonwalk.NewReader(text, seating.MaxProblems)}
	r.plan(&plan, func(name string) bool {
		if !isRequest || name != "idempotencyKey" {
			return false
		}
		if key = r.OptionalString(); holdfast.CheckText("", key, holdfast.MaxKeyLength) != nil {
			r.Problem("A key must have at most %d characters, and no control characters.", holdfast.MaxKeyLength)
		}
		return true
	})
	return plan, key, r.checked(plan, r.Problems()), nil
}

// plan reads a plan; other reads further members, or returns false.
func (r *jsonReader) plan(plan *holdfast.SeatingPlan, other func(name string) bool) {
	r.Object(func(name string) bool {
		switch name {
		case "name":
			plan.Name = r.Text()
		case "categories":
			r.list(holdfast.MaxPlanCategories, func() { plan.Categories = append(plan.Categories, r.category()) })
		case "focalPoint":
			plan.FocalPoint = r.focalPoint()
		case "decorations":
			if !r.Null() {
				r.list(holdfast.MaxDecorations, func() { plan.Decorations = append(plan.Decorations, r.decoration()) })
			}
		case "sections":
			r.list(holdfast.MaxPlanSections, func() { plan.Sections = append(plan.Sections, r.section()) })
		default:
			return other(name)
		}
		return true
	}, "name", "categories", "sections")
}

// checked adds the problems of the rules to those of the form, unless the rules would report missing parts that were not read.
func (r *jsonReader) checked(plan holdfast.SeatingPlan, form []holdfast.FieldError) []holdfast.FieldError {
	if r.cut {
		return form
	}
	return joinProblems(form, seating.Check(plan))
}

// joinProblems adds the problems of the rules to those of the form. A value with a wrong form was not read,
// so the rules are not applied to it.
func joinProblems(form, rules []holdfast.FieldError) []holdfast.FieldError {
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

// jsonReader reads the parts of a plan. Parts beyond the limits of a plan are refused without being
// kept, because a part takes much more memory than its text, which may be as short as {}.
type jsonReader struct {
	*jsonwalk.Reader

	rows, seatCount int  // of the plan
	cut             bool // something is beyond the limits
}

// list is List for at most so many items.
func (r *jsonReader) list(most int, item func()) {
	r.List(func(i int) {
		if i < most {
			item()
			return
		}
		if i == most {
			r.cut = true
			r.Problem("The list must have at most %d items.", most)
		}
		r.Skip()
	})
}

// counted reads a part of which the plan has at most MaxPlanSeats, and counts it.
func (r *jsonReader) counted(n *int, part func()) {
	if *n++; *n <= holdfast.MaxPlanSeats {
		part()
		return
	}
	if *n == holdfast.MaxPlanSeats+1 {
		r.cut = true
		r.Problem("A plan must have at most %d seats in rows.", holdfast.MaxPlanSeats)
	}
	r.Skip()
}

func (r *jsonReader) category() (c holdfast.Category) {
	r.Object(func(name string) bool {
		switch name {
		case "key":
			c.Key = r.Text()
		case "name":
			c.Name = r.Text()
		case "color":
			c.Color = r.OptionalString()
		default:
			return false
		}
		return true
	}, "key", "name")
	return c
}

func (r *jsonReader) focalPoint() *holdfast.Point {
	if r.Null() {
		return nil
	}
	var p holdfast.Point
	r.Object(func(name string) bool {
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

func (r *jsonReader) decoration() (d holdfast.Decoration) {
	r.Object(func(name string) bool {
		switch name {
		case "kind":
			d.Kind = holdfast.DecorationKind(r.Text())
		case "points":
			if !r.Null() {
				r.list(holdfast.MaxDecorationPoints, func() { d.Points = append(d.Points, r.pair()) })
			}
		case "at":
			if !r.Null() {
				d.At = new(r.pair())
			}
		case "text":
			d.Text = r.OptionalString()
		case "icon":
			d.Icon = r.OptionalString()
		case "floor":
			d.Floor = r.OptionalString()
		default:
			return false
		}
		return true
	}, "kind")
	return d
}

func (r *jsonReader) section() (s holdfast.Section) {
	r.Object(func(name string) bool {
		switch name {
		case "key":
			s.Key = r.Text()
		case "name":
			s.Name = r.Text()
		case "category":
			s.Category = r.Text()
		case "floor":
			s.Floor = r.OptionalString()
		case "entrance":
			s.Entrance = r.OptionalString()
		case "rows":
			if !r.Null() {
				r.List(func(int) { r.counted(&r.rows, func() { s.Rows = append(s.Rows, r.row()) }) })
			}
		case "capacity":
			if !r.Null() {
				s.Capacity = r.capacity()
			}
		case "outline":
			if !r.Null() {
				r.list(holdfast.MaxOutlinePoints, func() { s.Outline = append(s.Outline, r.pair()) })
			}
		case "viewUrl":
			s.ViewURL = r.OptionalString()
		default:
			return false
		}
		return true
	}, "key", "name", "category")
	return s
}

// capacity reads a capacity. In a plan 0 means none, so the rules can't refuse a 0 in the text.
func (r *jsonReader) capacity() int64 {
	n, ok := r.Integer()
	if !ok {
		return 1 // for the rules: the section has a capacity
	}
	if n == 0 {
		r.Problem("The number must be from 1 to %d, not 0.", holdfast.MaxSeats)
		return 1
	}
	return n
}

// pair reads a point x, y.
func (r *jsonReader) pair() (p holdfast.Point) {
	n := 0
	problems := len(r.Problems())
	r.List(func(i int) {
		n++
		switch i {
		case 0:
			p.X = r.coordinate()
		case 1:
			p.Y = r.coordinate()
		default:
			r.Skip()
		}
	})
	const axes = 2
	if n != axes && len(r.Problems()) == problems {
		r.Problem("expected array of 2 numbers")
	}
	return p
}

func (r *jsonReader) row() (row holdfast.Row) {
	r.Object(func(name string) bool {
		switch name {
		case "key":
			row.Key = r.Text()
		case "label":
			row.Label = r.OptionalString()
		case "category":
			row.Category = r.OptionalString()
		case "adjacency":
			row.Adjacency = holdfast.Adjacency(r.OptionalString())
		case "seats":
			r.seats(&row)
		default:
			return false
		}
		return true
	}, "key", "seats")
	return row
}

func (r *jsonReader) seats(row *holdfast.Row) {
	switch c := r.First(); {
	case c == '[':
		row.Seats = []*holdfast.Seat{}
		r.list(holdfast.MaxRowPlaces, func() {
			if r.Null() {
				row.Seats = append(row.Seats, nil)
			} else {
				r.counted(&r.seatCount, func() { row.Seats = append(row.Seats, r.seat()) })
			}
		})
	case jsonwalk.IsNumber(c):
		row.Count, _ = r.Integer()
	default:
		r.Problem("expected integer or array")
		r.Skip()
	}
}

func (r *jsonReader) seat() *holdfast.Seat {
	seat := &holdfast.Seat{}
	r.Object(func(name string) bool {
		switch name {
		case "id":
			seat.ID = r.Text()
		case "label":
			seat.Label = r.OptionalString()
		case "category":
			seat.Category = r.OptionalString()
		case "x":
			seat.X = r.optionalCoordinate()
		case "y":
			seat.Y = r.optionalCoordinate()
		case "accessible":
			seat.Accessible = r.OptionalBool()
		case "companion":
			seat.Companion = r.OptionalBool()
		case "restrictedView":
			seat.RestrictedView = r.OptionalBool()
		case "note":
			seat.Note = r.OptionalString()
		case "viewUrl":
			seat.ViewURL = r.OptionalString()
		default:
			return false
		}
		return true
	}, "id")
	return seat
}

func (r *jsonReader) optionalCoordinate() *holdfast.Thousandths {
	if r.Null() {
		return nil
	}
	return new(r.coordinate())
}

// coordinate reads a coordinate, rounded to thousandths. A coordinate that is too large for a plan stays
// too large.
func (r *jsonReader) coordinate() holdfast.Thousandths {
	f, ok := r.Number()
	if !ok {
		return 0
	}
	const tooLarge = float64(holdfast.MaxPlanCoordinate + 1)
	return holdfast.Thousandths(max(-tooLarge, min(math.Round(f*float64(holdfast.Unit)), tooLarge)))
}
