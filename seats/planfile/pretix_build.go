package planfile

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// pretixBuilder makes a plan of a layout.
type pretixBuilder struct {
	pretixLayout

	options Options
	report  Report
	keys    map[string]string // of the categories, by name
	ids     []string          // of the seats, in the order of the layout

	built    holdfast.SeatingPlan
	problems []holdfast.FieldError // problems that the rules do not detect
}

func (b *pretixBuilder) build() {
	plan := &b.built
	plan.Name = cmp.Or(b.cut("the plan's name", strings.TrimSpace(b.name), holdfast.MaxNameLength), b.options.Name)
	b.addCategories(plan)
	names := make([]string, len(b.zones))
	for i, z := range b.zones {
		names[i] = cmp.Or(z.id, z.name)
	}
	keys := keysOf(names, holdfast.MaxPlanKeyLength, "zone")
	b.nameSeats()
	seats := b.ids
	for i := range b.zones {
		z := &b.zones[i]
		b.report.renamed("zones", names[i], keys[i])
		section := holdfast.Section{Key: keys[i], Name: b.cut("names of zones", strings.TrimSpace(cmp.Or(z.name, z.id)), holdfast.MaxNameLength)}
		section.Name = cmp.Or(section.Name, section.Key)
		seats = b.addRows(&section, z, seats)
		setCategories(&section)
		plan.Sections = append(plan.Sections, section)
	}
}

// addCategories adds the categories; of those with the same name, the first.
func (b *pretixBuilder) addCategories(plan *holdfast.SeatingPlan) {
	b.keys = make(map[string]string, len(b.categories))
	var names []string
	var kept []pretixCategory
	for _, c := range b.categories {
		if _, known := b.keys[c.name]; known {
			b.report.count(Dropped, "categories with the name of one before", 1, fmt.Sprintf("categories[%d]", c.index))
			continue
		}
		b.keys[c.name] = ""
		names, kept = append(names, c.name), append(kept, c)
	}
	b.categories = kept
	for i, key := range keysOf(names, holdfast.MaxPlanKeyLength, "category") {
		c := kept[i]
		b.keys[c.name] = key
		b.report.renamed("categories", c.name, key)
		color := hex(c.color)
		if color == "" && c.color != "" {
			b.report.count(Dropped, "colors that are not #rrggbb", 1, quoted(c.color))
		}
		name := cmp.Or(b.cut("names of categories", strings.TrimSpace(c.name), holdfast.MaxNameLength), key)
		plan.Categories = append(plan.Categories, holdfast.Category{Key: key, Name: name, Color: color})
	}
}

// nameSeats gives all seats their IDs, because these are unique in the plan.
func (b *pretixBuilder) nameSeats() {
	var guids []string
	for _, z := range b.zones {
		for _, row := range z.rows {
			for _, s := range row.seats {
				guids = append(guids, s.guid)
			}
		}
	}
	b.ids = keysOf(guids, holdfast.MaxSeatIDLength, "seat", "stream", "block", "unblock")
	for i, id := range b.ids {
		b.report.renamed("seats", guids[i], id)
	}
}

// addRows adds a zone's rows to its section. ids begin with those of the zone's seats; the
// others are returned.
func (b *pretixBuilder) addRows(section *holdfast.Section, z *pretixZone, ids []string) (others []string) {
	numbers := make([]string, len(z.rows))
	for i, row := range z.rows {
		numbers[i] = row.number
	}
	keys := keysOf(numbers, holdfast.MaxPlanKeyLength, "row")
	for i := range z.rows {
		w := &z.rows[i]
		where := fmt.Sprintf("zones[%d].rows[%d]", z.index, w.index)
		if keys[i] != w.number {
			b.report.count(Renamed, "rows", 1, fmt.Sprintf("%s: %s is %s", where, quoted(w.number), keys[i]))
		}
		label := w.number
		if w.label != "" {
			label = strings.ReplaceAll(w.label, "%s", w.number)
		}
		row := holdfast.Row{Key: keys[i], Label: b.cut("labels of rows", strings.TrimSpace(label), holdfast.MaxLabelLength)}
		if row.Label == row.Key {
			row.Label = ""
		}
		at := z.at.plus(w.at)
		seats := make([]*holdfast.Seat, len(w.seats))
		for n := range w.seats {
			s := &w.seats[n]
			s.at = at.plus(s.at)
			seats[n] = &holdfast.Seat{
				ID: ids[n], Label: b.cut("labels of seats", strings.TrimSpace(s.number), holdfast.MaxLabelLength),
				Category: b.category(s, where), X: thousandths(s.at.x), Y: thousandths(s.at.y), Accessible: s.isAccessible,
			}
		}
		ids = ids[len(w.seats):]
		row.Seats = seats
		section.Rows = append(section.Rows, row)
	}
	return ids
}

// category returns the key of a seat's category.
func (b *pretixBuilder) category(s *pretixSeat, row string) string {
	key, known := b.keys[s.category]
	if known || len(b.categories) == 0 { // a plan without categories is another problem
		return key
	}
	if len(b.problems) < seating.MaxProblems {
		what := "The plan has no category " + quoted(s.category) + "."
		if s.category == "" {
			what = "The seat has no category."
		}
		b.problems = append(b.problems, holdfast.FieldError{Where: fmt.Sprintf("%s.seats[%d].category", row, s.index), What: what})
	}
	return b.built.Categories[0].Key
}

func thousandths(v float64) *holdfast.Thousandths {
	const tooLarge = float64(holdfast.MaxPlanCoordinate + 1)
	return new(holdfast.Thousandths(max(-tooLarge, min(math.Round(v*float64(holdfast.Unit)), tooLarge))))
}

// cut makes a text valid: at most so many characters, and no control characters.
func (b *pretixBuilder) cut(what, text string, most int) string {
	valid := text
	if strings.ContainsFunc(valid, unicode.IsControl) {
		valid = strings.TrimSpace(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return ' '
			}
			return r
		}, valid))
	}
	if utf8.RuneCountInString(valid) > most {
		valid = strings.TrimSpace(string([]rune(valid)[:most]))
	}
	if valid != text {
		b.report.count(Renamed, what, 1, quoted(text)+" is "+quoted(valid))
	}
	return valid
}

// colors are the names that CSS gives to basic colors.
var colors = map[string]string{
	"black": "000000", "silver": "c0c0c0", "gray": "808080", "grey": "808080", "white": "ffffff", "maroon": "800000", "red": "ff0000",
	"purple": "800080", "fuchsia": "ff00ff", "magenta": "ff00ff", "green": "008000", "lime": "00ff00", "olive": "808000", "yellow": "ffff00",
	"navy": "000080", "blue": "0000ff", "teal": "008080", "aqua": "00ffff", "cyan": "00ffff", "orange": "ffa500", "pink": "ffc0cb",
	"brown": "a52a2a",
}

// hex writes a CSS color as #rrggbb, or "" if it is not a known color. Its opacity is left out.
func hex(color string) string {
	const short, shortOpaque, long, longOpaque = 3, 4, 6, 8 // digits
	color = strings.ToLower(strings.TrimSpace(color))
	if named := colors[color]; named != "" {
		return "#" + named
	}
	digits, isHex := strings.CutPrefix(color, "#")
	if !isHex || strings.Trim(digits, "0123456789abcdef") != "" {
		return ""
	}
	switch len(digits) {
	case short, shortOpaque:
		return "#" + strings.Repeat(digits[:1], 2) + strings.Repeat(digits[1:2], 2) + strings.Repeat(digits[2:3], 2)
	case long, longOpaque:
		return "#" + digits[:long]
	default:
		return ""
	}
}
