package planfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// plan makes a plan of the lines.
func (r *csvReader) plan(name string) holdfast.SeatingPlan {
	plan := holdfast.SeatingPlan{Name: name}
	r.nameCategories()
	r.sortCategories()
	for _, c := range r.categoryList {
		plan.Categories = append(plan.Categories, holdfast.Category{Key: c.key, Name: cmp.Or(c.name.value, c.cell)})
	}
	cells := make([]string, len(r.sectionList))
	for i, s := range r.sectionList {
		cells[i] = s.cell
	}
	var unnamed []*holdfast.Seat // seats without an ID, which get one
	var names []string
	for i, key := range keysOf(cells, holdfast.MaxPlanKeyLength, "section") {
		s := r.sectionList[i]
		r.report.renamed("sections", s.cell, key)
		built := holdfast.Section{Key: key, Name: cmp.Or(s.name.value, s.cell), Capacity: s.capacity}
		if s.capacity > 0 {
			built.Category = r.keyOf(s.category)
		}
		if of := s.ofSeats; of.value != "" && s.capacity == 0 {
			if r.categories[of.value] == nil {
				r.problem(of.line, "No line has the category %s, which section_category names.", quoted(of.value))
			}
			built.Category = r.keyOf(of.value)
		}
		for n, row := range r.rows(s) {
			for _, place := range s.rows[n].places {
				row.Seats = append(row.Seats, place.seat)
				if seat := place.seat; seat != nil {
					seat.Category = r.keyOf(seat.Category)
					if seat.ID == "" {
						unnamed, names = append(unnamed, seat), append(names, nameSeat(seat, key, row.Key))
					}
				}
			}
			built.Rows = append(built.Rows, row)
		}
		setCategories(&built)
		plan.Sections = append(plan.Sections, built)
	}
	taken := []string{"stream", "block", "unblock"}
	for id := range r.ids {
		taken = append(taken, id)
	}
	for i, id := range keysOf(names, holdfast.MaxSeatIDLength, "seat", taken...) {
		unnamed[i].ID = id
		r.report.renamed("seats", names[i], id)
	}
	return plan
}

// nameSeat returns the ID that a seat would have, and sets its label if the cell is the ID itself.
func nameSeat(seat *holdfast.Seat, section, row string) string {
	prefix := section + "-" + row + "-"
	if label, is := strings.CutPrefix(seat.Label, prefix); is && label != "" {
		seat.Label = label
	}
	return prefix + seat.Label
}

// rows returns the rows of a section, without seats.
func (r *csvReader) rows(s *csvSection) []holdfast.Row {
	cells := make([]string, len(s.rows))
	for i, row := range s.rows {
		cells[i] = row.cell
	}
	rows := make([]holdfast.Row, len(s.rows))
	for i, key := range keysOf(cells, holdfast.MaxPlanKeyLength, "row") {
		r.report.renamed("rows", cells[i], key)
		label := cmp.Or(s.rows[i].label.value, cells[i])
		if label == key {
			label = ""
		}
		rows[i] = holdfast.Row{Key: key, Label: label, Adjacency: holdfast.Adjacency(s.rows[i].adjacency.value)}
	}
	return rows
}

func (r *csvReader) nameCategories() {
	cells := make([]string, len(r.categoryList))
	for i, c := range r.categoryList {
		cells[i] = c.cell
	}
	for i, key := range keysOf(cells, holdfast.MaxPlanKeyLength, "category") {
		r.categoryList[i].key = key
		r.report.renamed("categories", cells[i], key)
	}
}

// sortCategories puts the categories that have a number first, by that.
func (r *csvReader) sortCategories() {
	number := func(c *csvCategory) int { return cmp.Or(categoryNumber(c.number.value), holdfast.MaxPlanCategories+1) }
	slices.SortStableFunc(r.categoryList, func(a, b *csvCategory) int { return cmp.Compare(number(a), number(b)) })
}

// keyOf returns the key of a category. A seat without a category has been reported as a problem.
func (r *csvReader) keyOf(cell string) string {
	if c := r.categories[cell]; c != nil {
		return c.key
	}
	if len(r.categoryList) > 0 {
		return r.categoryList[0].key
	}
	return ""
}

// lineOf returns the line of a part of the plan; 0 if it has none.
func (r *csvReader) lineOf(p place) int {
	const section, row, seat = 1, 2, 3 // lengths of the index of its path
	switch {
	case p.List == "categories" && len(p.Index) == 1:
		return r.categoryList[p.Index[0]].line
	case p.List != "sections" || len(p.Index) == 0:
		return 0
	}
	s := r.sectionList[p.Index[0]]
	switch len(p.Index) {
	case section:
		if p.Field == "capacity" {
			return cmp.Or(s.capacityLine, s.line)
		}
		return s.line
	case row:
		w := s.rows[p.Index[1]]
		switch p.Field {
		case "label":
			return cmp.Or(w.label.line, w.line)
		case "adjacency":
			return cmp.Or(w.adjacency.line, w.line)
		}
		return w.line
	case seat:
		return s.rows[p.Index[1]].places[p.Index[2]].line
	}
	return 0
}
