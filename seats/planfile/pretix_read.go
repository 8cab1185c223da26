package planfile

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/jsonwalk"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// readPretix reads a plan, which is valid if there are no problems, but not written out. The report lists
// the parts of the text that are not in the plan, or differ. A problem's location is a path in the text, such
// as zones[3].rows[2].seats[7].category; there are at most the first seating.MaxProblems. The error
// is an OptionError, or for a text that is not JSON, or that jsonwalk.Check refuses.
func readPretix(text []byte, o Options) (holdfast.SeatingPlan, Report, []holdfast.FieldError, error) {
	if err := jsonwalk.Check(text); err != nil {
		return holdfast.SeatingPlan{}, nil, nil, err
	}
	r := &pretixReader{Reader: jsonwalk.NewReader(text, seating.MaxProblems), options: o}
	layout := r.layout()
	switch {
	case len(r.Problems()) > 0: // the rules would report missing parts that were not read
		return holdfast.SeatingPlan{}, r.report, r.Problems(), nil
	case o.Accessible != "" && !r.isMapped:
		return holdfast.SeatingPlan{}, r.report, nil, &OptionError{OptionAccessible, "No seat of the file has this property."}
	case r.uncategorized && o.Category == "" && len(layout.categories) == 0:
		const what = "The file has no categories, and its seats name none. Give these seats a category."
		return holdfast.SeatingPlan{}, r.report, nil, &OptionError{OptionCategory, what}
	}
	isOfOption := func(c pretixCategory) bool { return c.name == o.Category }
	if r.uncategorized && o.Category != "" && !slices.ContainsFunc(layout.categories, isOfOption) {
		layout.categories = append(layout.categories, pretixCategory{index: len(layout.categories), name: o.Category})
	}
	b := pretixBuilder{pretixLayout: layout, report: r.report, options: o}
	b.build()
	problems := b.problems
	for _, p := range seating.Check(b.built) {
		if parsePlace(p.Where).Field != "category" && len(problems) < seating.MaxProblems {
			problems = append(problems, holdfast.FieldError{Where: b.source(p.Where), What: p.What})
		}
	}
	return b.built, b.report, problems, nil
}

// pretixLayout and its parts have the content of a text. index is the index in the list of the text.
type (
	pretixLayout struct {
		name       string
		categories []pretixCategory
		zones      []pretixZone
	}
	pretixCategory struct {
		index       int
		name, color string
	}
	pretixZone struct {
		index    int
		name, id string
		at       point
		rows     []pretixRow
	}
	pretixRow struct {
		index         int
		number, label string
		at            point
		seats         []pretixSeat
	}
	pretixSeat struct {
		index                  int
		guid, number, category string
		isAccessible           bool
		at                     point
	}
)

// pretixReader reads a text into a layout. Parts without seats, and parts beyond the limits of a plan,
// are not kept.
type pretixReader struct {
	*jsonwalk.Reader

	options       Options
	report        Report
	seats         int
	uncategorized bool // a seat has no category of its own
	isMapped      bool // a seat has the property Options.Accessible
}

func (r *pretixReader) dropped(what string, n int) { r.report.count(Dropped, what, n, "") }

// drop skips a value, and counts it unless it is null.
func (r *pretixReader) drop(what string) {
	if !r.Null() {
		r.dropped(what, 1)
		r.Skip()
	}
}

// unknown skips the value of a property that the format does not have.
func (r *pretixReader) unknown(of, name string) {
	r.report.unknown("unknown property of "+of, name, of == "seats")
	r.Skip()
}

func (r *pretixReader) layout() (l pretixLayout) {
	r.Object(func(name string) bool {
		switch name {
		case "name":
			l.name = r.Text()
		case "categories":
			r.List(func(i int) {
				if c := r.category(i); len(l.categories) <= holdfast.MaxPlanCategories {
					l.categories = append(l.categories, c)
				}
			})
		case "zones":
			r.List(func(i int) {
				if z := r.zone(i); len(z.rows) > 0 {
					l.zones = append(l.zones, z)
				} else {
					r.dropped("zones without seats", 1)
				}
			})
		case "size":
			r.drop("size of the plan")
		default:
			r.unknown("the plan", name)
		}
		return true
	}, "zones", "categories")
	return l
}

func (r *pretixReader) category(index int) pretixCategory {
	c := pretixCategory{index: index}
	r.Object(func(name string) bool {
		switch name {
		case "name":
			c.name = r.Text()
		case "color":
			if !r.Null() {
				c.color = r.Text()
			}
		default:
			r.unknown("categories", name)
		}
		return true
	}, "name")
	return c
}

func (r *pretixReader) zone(index int) pretixZone {
	z := pretixZone{index: index}
	r.Object(func(name string) bool {
		switch name {
		case "name":
			z.name = r.text()
		case "zone_id":
			z.id = r.text()
		case "position":
			z.at = r.position()
		case "rows":
			r.List(func(i int) {
				if row := r.row(i); len(row.seats) > 0 {
					z.rows = append(z.rows, row)
				} else {
					r.dropped("rows without seats", 1)
				}
			})
		case "areas":
			r.List(func(int) { r.drop("areas, with their texts") })
		case "uuid", "displayed":
			r.drop(name + " of zones")
		default:
			r.unknown("zones", name)
		}
		return true
	}, "rows")
	return z
}

func (r *pretixReader) row(index int) pretixRow {
	w := pretixRow{index: index}
	r.Object(func(name string) bool {
		switch name {
		case "row_number":
			w.number = r.text()
		case "row_label":
			w.label = r.text()
		case "position":
			w.at = r.position()
		case "seats":
			r.List(func(i int) { r.seat(i, &w) })
		case "seat_label", "uuid", "row_number_position", "number_of_seats", "seats_spacing":
			r.drop(name + " of rows")
		default:
			r.unknown("rows", name)
		}
		return true
	}, "seats", "row_number")
	return w
}

func (r *pretixReader) seat(index int, of *pretixRow) {
	if r.seats++; r.seats > holdfast.MaxPlanSeats {
		if r.seats == holdfast.MaxPlanSeats+1 {
			r.Problem("A plan must have at most %d seats in rows.", holdfast.MaxPlanSeats)
		}
		r.Skip()
		return
	}
	s := pretixSeat{index: index}
	r.Object(func(name string) bool {
		switch name {
		case "seat_guid":
			s.guid = r.Text()
		case "seat_number":
			s.number = r.Text()
		case "category":
			s.category = r.text()
		case "position":
			s.at = r.position()
		case "uuid", "radius", "start_direction":
			r.drop(name + " of seats")
		default:
			if name != r.options.Accessible || name == "" {
				r.unknown("seats", name)
				break
			}
			s.isAccessible, r.isMapped = r.flag(), true
		}
		return true
	}, "seat_guid", "seat_number", "position")
	if s.category == "" {
		s.category, r.uncategorized = r.options.Category, true
	}
	of.seats = append(of.seats, s)
}

func (r *pretixReader) position() (p point) {
	r.Object(func(name string) bool {
		switch name {
		case "x":
			p.x = r.coordinate()
		case "y":
			p.y = r.coordinate()
		default:
			r.unknown("positions", name)
		}
		return true
	}, "x", "y")
	return p
}

// flag reads true or false, which may be written as a text or a number.
func (r *pretixReader) flag() bool {
	switch c := r.First(); {
	case jsonwalk.IsNumber(c):
		f, _ := r.Number()
		return f != 0
	case c != '"':
		return r.OptionalBool()
	}
	value, isKnown := bools[strings.ToLower(r.Text())]
	if !isKnown {
		r.Problem("expected true or false")
	}
	return value
}

// coordinate reads a number, small enough that sums are finite.
func (r *pretixReader) coordinate() float64 {
	const tooLarge = 1e9
	f, _ := r.Number()
	return max(-tooLarge, min(f, tooLarge))
}

// text reads a text that may be null.
func (r *pretixReader) text() string {
	if r.Null() {
		return ""
	}
	return r.Text()
}
