package planfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
)

// arranger puts the rows of a valid plan in the order in which their seats stand.
type arranger struct {
	report *Report
	gaps   bool    // guess gaps in all rows, not only in those that are put in another order
	usual  float64 // the usual pitch of the plan
}

// arrange arranges the rows whose seats all have positions. It keeps rows that have an adjacency or gaps, because these
// say which seats are neighbours.
func (a *arranger) arrange(plan *holdfast.SeatingPlan) {
	shapes := make([][]*shape, len(plan.Sections))
	var pitches []float64
	for i, section := range plan.Sections {
		shapes[i] = make([]*shape, len(section.Rows))
		for n, row := range section.Rows {
			if at := positions(row.Seats); row.Adjacency == "" && len(at) > 1 {
				s := shapeOf(at)
				shapes[i][n], pitches = &s, append(pitches, s.pitch)
			}
		}
	}
	a.usual = median(pitches)
	for i := range plan.Sections {
		a.section(&plan.Sections[i], shapes[i])
	}
}

// section arranges the rows of a section. A row that becomes several keeps its key in the first of them.
func (a *arranger) section(section *holdfast.Section, shapes []*shape) {
	keys := make([]string, len(section.Rows))
	for n, row := range section.Rows {
		keys[n] = row.Key
	}
	var rows []holdfast.Row
	var added []int // indexes of rows that have no key yet
	for n, row := range section.Rows {
		if shapes[n] == nil {
			rows = append(rows, row)
			continue
		}
		for i, part := range a.row(row, *shapes[n], section.Key+"/"+row.Key) {
			if i > 0 {
				part.Label = cmp.Or(row.Label, row.Key)
				keys, added = append(keys, row.Key), append(added, len(rows))
			}
			rows = append(rows, part)
		}
	}
	for n, key := range keysOf(keys, holdfast.MaxPlanKeyLength, "row")[len(section.Rows):] {
		rows[added[n]].Key = key
	}
	section.Rows = rows
}

// row returns the rows that the seats of a row stand in.
func (a *arranger) row(row holdfast.Row, s shape, where string) []holdfast.Row {
	lines, isTable := s.lines(a.usual)
	if isTable {
		a.report.count(Guessed, "tables, all of whose seats are together", 1, where)
		row.Adjacency = holdfast.AdjacencyAll
		return []holdfast.Row{row}
	}
	if len(lines) > 1 {
		a.report.count(Guessed, "rows that double back or have two sides, and become a row for each", 1, where)
	}
	isSorted := !slices.ContainsFunc(lines, func(line []int) bool { return !slices.IsSorted(line) })
	if !isSorted {
		a.report.count(Guessed, "rows whose seats stand in another order than they are listed", 1, where)
	}
	rows := make([]holdfast.Row, len(lines))
	for n, line := range lines {
		rows[n] = row
		rows[n].Seats = make([]*holdfast.Seat, len(line))
		for to, from := range line {
			rows[n].Seats[to] = row.Seats[from]
		}
		if a.gaps || len(lines) > 1 || !isSorted {
			rows[n].Seats = a.withGaps(rows[n].Seats, s.part(line), where)
		}
	}
	return rows
}

// withGaps puts a gap between neighbours that are further apart than is usual. Two seats have no usual distance.
func (a *arranger) withGaps(seats []*holdfast.Seat, at []point, where string) (places []*holdfast.Seat) {
	const fewest = 3
	if len(at) < fewest {
		return seats
	}
	distances := steps(at)
	most := gapFactor * median(distances)
	for i, seat := range seats {
		if i > 0 && most > 0 && distances[i-1] > most {
			a.report.count(Guessed, "gaps where neighbours are far apart", 1, fmt.Sprintf("%s, before %s", where, seat.ID))
			places = append(places, nil)
		}
		places = append(places, seat)
	}
	return places
}

// positions returns where seats stand, or nil if there is a gap among them, or one without a position.
func positions(seats []*holdfast.Seat) []point {
	at := make([]point, len(seats))
	for i, seat := range seats {
		if seat == nil || seat.X == nil || seat.Y == nil {
			return nil
		}
		at[i] = point{number(*seat.X), number(*seat.Y)}
	}
	return at
}

// setAdjacency sets the adjacency of the rows that the values name, such as Main/1=ALL. Sections and rows have their
// keys or their names.
func setAdjacency(plan *holdfast.SeatingPlan, values []string) error {
	for n, value := range values {
		at := max(0, strings.LastIndexByte(value, '='))
		of, adjacency := value[:at], holdfast.Adjacency(strings.ToUpper(strings.TrimPrefix(value[at:], "=")))
		if of == "" || !slices.Contains(holdfast.Adjacencies(), adjacency) {
			what := fmt.Sprintf("Value %d must be such as Main=ALL or Main/1=ALL, with LINE, NONE or ALL.", n+1)
			return &OptionError{OptionAdjacency, what}
		}
		isFound := false
		for i := range plan.Sections {
			s := &plan.Sections[i]
			name, isInSection := strings.CutPrefix(of, s.Key+"/")
			if !isInSection {
				name, isInSection = strings.CutPrefix(of, s.Name+"/")
			}
			for n := range s.Rows {
				row := &s.Rows[n]
				if of == s.Key || of == s.Name || isInSection && (name == row.Key || name == cmp.Or(row.Label, row.Key)) {
					row.Adjacency, isFound = adjacency, true
				}
			}
		}
		if !isFound {
			what := fmt.Sprintf("No section and no row has the name or the key in value %d. Give one such as Main or Main/1.", n+1)
			return &OptionError{OptionAdjacency, what}
		}
	}
	return nil
}
