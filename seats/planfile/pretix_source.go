package planfile

import (
	"cmp"
	"fmt"
)

// fields maps each field of a plan that can be invalid to its name in the text.
var fields = map[string]string{"x": "position.x", "y": "position.y", "sections": "zones"}

// source returns the location in the text of a location in the plan.
func (b *pretixBuilder) source(where string) string {
	place := parsePlace(where)
	path := ""
	if place.List == "categories" {
		path = fmt.Sprintf("categories[%d]", b.categories[place.Index[0]].index)
	}
	if place.List == "sections" {
		zone, index := b.zones[place.Index[0]], place.Index[1:]
		path = fmt.Sprintf("zones[%d]", zone.index)
		if len(index) > 0 {
			row := zone.rows[index[0]]
			path += fmt.Sprintf(".rows[%d]", row.index)
			if seats := index[1:]; len(seats) > 0 {
				path += fmt.Sprintf(".seats[%d]", row.seats[seats[0]].index)
			}
		}
	}
	field := cmp.Or(fields[place.Field], place.Field)
	if path != "" && field != "" {
		path += "."
	}
	return path + field
}
