package seating

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// MaxProblems is the maximum number of problems that Check returns. A plan with more of them is corrected step by step.
const MaxProblems = 100

// Check returns what is wrong with a plan: at most the first MaxProblems, and nothing if the plan
// is valid. A problem's location is a path such as sections[3].rows[2].seats[7].id.
func Check(plan holdfast.SeatingPlan) []holdfast.FieldError {
	c := checker{plan: &plan, categories: make(map[string]bool, len(plan.Categories)), seats: map[string]location{}}
	top := location{}
	c.text(top, "name", plan.Name, holdfast.MaxNameLength, required)
	if focal := plan.FocalPoint; focal != nil {
		c.point(location{list: "focalPoint"}, *focal)
	}
	c.number(top, "categories", int64(len(plan.Categories)), 1, holdfast.MaxPlanCategories)
	for i := range plan.Categories {
		c.category(location{list: "categories", index: i, level: 1}, &plan.Categories[i])
	}
	c.decorations()
	c.number(top, "sections", int64(len(plan.Sections)), 1, holdfast.MaxPlanSections)
	keys := make(map[string]bool, len(plan.Sections))
	for i := range plan.Sections {
		if c.full() {
			break
		}
		at := location{list: "sections", index: i, level: 1}
		c.unique(at, plan.Sections[i].Key, keys)
		c.section(at, &plan.Sections[i])
	}
	if c.numbered > holdfast.MaxPlanSeats {
		c.add(top, "sections", "The rows have %d seats; a plan must have at most %d.", c.numbered, holdfast.MaxPlanSeats)
	}
	if total := int64(c.numbered) + c.capacities; total > holdfast.MaxSeats {
		c.add(top, "sections", "The rows and capacities have %d seats; a plan must have at most %d.", total, holdfast.MaxSeats)
	}
	return c.problems
}

type checker struct {
	plan       *holdfast.SeatingPlan
	problems   []holdfast.FieldError
	categories map[string]bool
	seats      map[string]location // by ID; for a seat of a counted row, the location of the row
	numbered   int                 // seats in rows
	capacities int64
}

func (c *checker) full() bool { return len(c.problems) >= MaxProblems }

func (c *checker) add(at location, field, what string, args ...any) {
	if !c.full() {
		c.problems = append(c.problems, holdfast.FieldError{Where: at.path(field), What: fmt.Sprintf(what, args...)})
	}
}

// location is a part of a plan: an item of a list (level 1), one of its rows (2), or a seat of
// that (3).
type location struct {
	list             string
	index, row, seat int
	level            int
}

// path returns the path of a field, or of the part itself if field is "".
func (l location) path(field string) string {
	var b strings.Builder
	b.WriteString(l.list)
	for level, list := range []string{"", "rows", "seats"} {
		if level >= l.level {
			break
		}
		if level > 0 {
			b.WriteString("." + list)
		}
		fmt.Fprintf(&b, "[%d]", []int{l.index, l.row, l.seat}[level])
	}
	if b.Len() > 0 && field != "" {
		b.WriteByte('.')
	}
	b.WriteString(field)
	return b.String()
}

func (c *checker) category(at location, category *holdfast.Category) {
	if !c.unique(at, category.Key, c.categories) {
		return
	}
	c.text(at, "name", category.Name, holdfast.MaxNameLength, required)
	if category.Color != "" && !isColor(category.Color) {
		c.add(at, "color", "color must have the form #rrggbb.")
	}
}

func (c *checker) section(at location, s *holdfast.Section) {
	c.text(at, "name", s.Name, holdfast.MaxNameLength, required)
	c.text(at, "floor", s.Floor, holdfast.MaxNameLength, optional)
	c.text(at, "entrance", s.Entrance, holdfast.MaxNameLength, optional)
	c.viewURL(at, s.ViewURL)
	c.known(at, s.Category)
	c.number(at, "outline", int64(len(s.Outline)), 0, holdfast.MaxOutlinePoints)
	for i, p := range s.Outline[:min(len(s.Outline), holdfast.MaxOutlinePoints)] {
		if !inRange(p.X) || !inRange(p.Y) {
			c.add(at, fmt.Sprintf("outline[%d]", i), "%s", coordinateProblem)
		}
	}
	switch {
	case s.Capacity != 0 && len(s.Rows) > 0:
		c.add(at, "capacity", "A section must have either rows or a capacity, not both.")
	case s.Capacity != 0:
		if c.number(at, "capacity", s.Capacity, 1, holdfast.MaxSeats) {
			c.capacities += s.Capacity
		}
		return
	case len(s.Rows) == 0:
		c.add(at, "rows", "A section must have at least one row, or a capacity.")
	}
	before := c.numbered
	keys := make(map[string]bool, len(s.Rows))
	at.level = 2
	for i := range s.Rows {
		if c.full() {
			return
		}
		at.row = i
		c.unique(at, s.Rows[i].Key, keys)
		c.row(at, s.Key, &s.Rows[i])
	}
	if n := c.numbered - before; n > holdfast.MaxSectionSeats {
		at.level = 1
		c.add(at, "rows", "The rows have %d seats; a section must have at most %d.", n, holdfast.MaxSectionSeats)
	}
}

func (c *checker) row(at location, section string, row *holdfast.Row) {
	c.text(at, "label", row.Label, holdfast.MaxLabelLength, optional)
	if row.Category != "" {
		c.known(at, row.Category)
	}
	switch row.Adjacency {
	case "", holdfast.AdjacencyLine, holdfast.AdjacencyNone, holdfast.AdjacencyAll:
	default:
		c.add(at, "adjacency", "adjacency must be LINE, NONE or ALL.")
	}
	if row.Seats == nil {
		if c.number(at, "seats", row.Count, 1, holdfast.MaxRowSeats) {
			c.numbered += int(row.Count)
			c.countedIDs(at, section, row)
		}
		return
	}
	if row.Count != 0 {
		c.add(at, "seats", "The seats of a row must be either counted or listed, not both.")
	}
	at.level = 3
	n := 0
	for i, seat := range row.Seats {
		if seat == nil {
			continue
		}
		n++
		if at.seat = i; !c.full() {
			c.seat(at, seat)
		}
	}
	c.numbered += n
	at.level = 2
	c.number(at, "seats", int64(n), 1, holdfast.MaxRowSeats)
	if len(row.Seats) > holdfast.MaxRowPlaces {
		c.add(at, "seats", "A row must have at most %d seats and gaps.", holdfast.MaxRowPlaces)
	}
}

// countedIDs checks the IDs of a row that is given as a count. Keys are wrong in one place only:
// the IDs made of an invalid key are not checked.
func (c *checker) countedIDs(at location, section string, row *holdfast.Row) {
	if !IsKey(section, holdfast.MaxPlanKeyLength) || !IsKey(row.Key, holdfast.MaxPlanKeyLength) {
		return
	}
	if longest := countedID(section, row.Key, int(row.Count)); len(longest) > holdfast.MaxSeatIDLength {
		c.add(at, "seats", "Seat IDs made from the number, such as %s, have more than %d characters. List the seats instead.",
			longest, holdfast.MaxSeatIDLength)
		return
	}
	for position := 1; position <= int(row.Count) && !c.full(); position++ {
		id := countedID(section, row.Key, position)
		if first, taken := c.seats[id]; taken {
			c.add(at, "seats", "The seat ID %s, made from the number, is also at %s. Seat IDs must be unique in the plan.", id, first.path(""))
			return
		}
		c.seats[id] = at
	}
}

func (c *checker) seat(at location, seat *holdfast.Seat) {
	if !IsKey(seat.ID, holdfast.MaxSeatIDLength) {
		c.add(at, "id", keyProblem, holdfast.MaxSeatIDLength)
	} else if IsRouteName(seat.ID) {
		c.add(at, "id", "%s is not a valid seat ID, because a route has that name.", seat.ID)
	} else if first, taken := c.seats[seat.ID]; taken {
		c.add(at, "id", "The seat ID is also at %s. Seat IDs must be unique in the plan.", first.path(""))
	} else {
		c.seats[seat.ID] = at
	}
	c.text(at, "label", seat.Label, holdfast.MaxLabelLength, optional)
	c.text(at, "note", seat.Note, holdfast.MaxPlanNoteLength, optional)
	c.viewURL(at, seat.ViewURL)
	if seat.Category != "" {
		c.known(at, seat.Category)
	}
	if seat.X != nil {
		c.coordinate(at, "x", *seat.X)
	}
	if seat.Y != nil {
		c.coordinate(at, "y", *seat.Y)
	}
}

// IsRouteName reports whether a path .../seats/{seatId} with this ID would be another route.
func IsRouteName(id string) bool { return id == "stream" || id == "block" || id == "unblock" }

// unique checks a key, and that it is new.
func (c *checker) unique(at location, key string, keys map[string]bool) bool {
	switch {
	case c.full():
		return false
	case !IsKey(key, holdfast.MaxPlanKeyLength):
		c.add(at, "key", keyProblem, holdfast.MaxPlanKeyLength)
	case keys[key]:
		c.add(at, "key", "The key %s occurs twice. Keys must be unique.", key)
	}
	keys[key] = true
	return true
}

const keyProblem = "It must have 1 to %d letters, digits, dots, underscores and hyphens, and begin with a letter or a digit."

// IsKey reports whether a text matches [A-Za-z0-9][A-Za-z0-9._-]* and is not too long.
func IsKey(text string, most int) bool {
	if text == "" || len(text) > most {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return true
}

func isColor(text string) bool {
	return len(text) == len("#rrggbb") && text[0] == '#' && strings.Trim(text[1:], "0123456789abcdefABCDEF") == ""
}

// known checks that the plan has a category.
func (c *checker) known(at location, category string) {
	if !c.categories[category] {
		c.add(at, "category", "The plan has no category with this key.")
	}
}

// number checks a number of the plan.
func (c *checker) number(at location, field string, n, least, most int64) bool {
	if n < least || n > most {
		c.add(at, field, "The number must be from %d to %d, not %d.", least, most, n)
		return false
	}
	return true
}

// Whether a text may be absent.
const (
	required = false
	optional = true
)

func (c *checker) text(at location, field, text string, most int, mayBeAbsent bool) {
	var refusal *holdfast.Error
	switch {
	case text == "" && mayBeAbsent:
	case strings.TrimSpace(text) == "":
		c.add(at, field, "The text must not be blank.")
	case errors.As(holdfast.CheckText(field, text, most), &refusal):
		c.add(at, field, "%s", refusal.Message)
	}
}

func (c *checker) point(at location, p holdfast.Point) {
	c.coordinate(at, "x", p.X)
	c.coordinate(at, "y", p.Y)
}

var coordinateProblem = fmt.Sprintf("A coordinate must be from %d to %[2]d.", -holdfast.MaxPlanCoordinate/holdfast.Unit,
	holdfast.MaxPlanCoordinate/holdfast.Unit)

func (c *checker) coordinate(at location, field string, v holdfast.Thousandths) {
	if !inRange(v) {
		c.add(at, field, "%s", coordinateProblem)
	}
}

func inRange(v holdfast.Thousandths) bool {
	return -holdfast.MaxPlanCoordinate <= v && v <= holdfast.MaxPlanCoordinate
}
