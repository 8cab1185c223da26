package seating

import (
	"cmp"
	"strconv"

	"github.com/holdfast-dev/holdfast"
)

// Expand returns the plan written out: each row has its seats, and each row and each seat its
// label, category and adjacency; each seat has a position. A seat without x is at its position
// in the row, from 1, where gaps count. A seat without y is at the index of its row in the section,
// from 0. The given plan must pass Check, and is not changed.
func Expand(plan holdfast.SeatingPlan) holdfast.SeatingPlan {
	sections := make([]holdfast.Section, len(plan.Sections))
	for i, s := range plan.Sections {
		rows := make([]holdfast.Row, len(s.Rows))
		for n, row := range s.Rows {
			rows[n] = expandRow(s, n, row)
		}
		if len(rows) > 0 {
			s.Rows = rows
		}
		sections[i] = s
	}
	plan.Sections = sections
	return plan
}

func expandRow(s holdfast.Section, index int, row holdfast.Row) holdfast.Row {
	row.Label = cmp.Or(row.Label, row.Key)
	row.Category = cmp.Or(row.Category, s.Category)
	row.Adjacency = cmp.Or(row.Adjacency, holdfast.AdjacencyLine)
	written := row.Seats
	counted := written == nil
	n := len(written)
	if counted {
		n = int(row.Count)
	}
	seats, positions := make([]holdfast.Seat, n), make([]holdfast.Thousandths, n)
	row.Seats, row.Count = make([]*holdfast.Seat, n), 0
	y := holdfast.Thousandths(index) * holdfast.Unit
	for i := range row.Seats {
		seat := &seats[i]
		if counted {
			seat.ID = countedID(s.Key, row.Key, i+1)
		} else if written[i] == nil {
			continue
		} else {
			*seat = *written[i]
		}
		if seat.Label == "" {
			seat.Label = strconv.Itoa(i + 1)
		}
		seat.Category = cmp.Or(seat.Category, row.Category)
		if seat.X == nil {
			positions[i] = holdfast.Thousandths(i+1) * holdfast.Unit
			seat.X = &positions[i]
		}
		if seat.Y == nil {
			seat.Y = &y
		}
		row.Seats[i] = seat
	}
	return row
}

// countedID is the ID of a seat of a row that is given as a count; position is from 1.
func countedID(section, row string, position int) string {
	return section + "-" + row + "-" + strconv.Itoa(position)
}
