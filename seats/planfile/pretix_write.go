package planfile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// ErrNoNumberedSeats says that a plan can't be written in pretix's format.
var ErrNoNumberedSeats = errors.New("the format of pretix has numbered seats only, and the plan has none")

// WritePretix writes a plan in pretix's format, as Read reads it. The plan passes seating.Check. The report lists what is
// not in the file, and what Read makes of it otherwise. The error may be ErrNoNumberedSeats.
func WritePretix(plan holdfast.SeatingPlan) ([]byte, Report, error) {
	w := &pretixWriter{plan: seating.Expand(plan), names: map[string]string{}}
	w.countDropped()
	w.nameCategories()
	w.place()
	if w.seats == 0 {
		return nil, nil, ErrNoNumberedSeats
	}
	text, err := w.write()
	if err != nil {
		return nil, nil, err
	}
	again, err := Read(text, Options{Format: Pretix})
	if err != nil || len(again.Problems) > 0 {
		return nil, nil, fmt.Errorf("a plan of pretix that was just written is refused: %v: %w", again.Problems, err)
	}
	w.compare(seating.Expand(again.Plan))
	return text, w.report, nil
}

type pretixWriter struct {
	plan   holdfast.SeatingPlan
	names  map[string]string // of the categories, by key
	seats  int
	scale  holdfast.Thousandths // of all positions
	move   holdfast.Point       // of all positions, after scaling
	size   holdfast.Point
	radius int // of a seat; 0 for the format's default
	report Report
}

func (w *pretixWriter) count(what string, isDropped bool, example string) {
	if isDropped {
		w.report.count(Dropped, what, 1, example)
	}
}

// each calls a function for each seat.
func (w *pretixWriter) each(f func(*holdfast.Seat)) {
	for _, s := range w.plan.Sections {
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					f(seat)
				}
			}
		}
	}
}

func (w *pretixWriter) countDropped() {
	w.count("focal points", w.plan.FocalPoint != nil, "")
	for range w.plan.Decorations {
		w.count("decorations", true, "")
	}
	for _, s := range w.plan.Sections {
		w.count("sections for general admission", s.Capacity > 0, s.Key)
		w.count("floors of sections", s.Floor != "", "")
		w.count("entrances of sections", s.Entrance != "", "")
		w.count("outlines of sections", len(s.Outline) > 0, "")
		w.count("views of sections", s.ViewURL != "", "")
	}
	w.each(func(seat *holdfast.Seat) {
		w.seats++
		w.count("marks of accessible seats", seat.Accessible, "")
		w.count("marks of companion seats", seat.Companion, "")
		w.count("restricted views of seats", seat.RestrictedView, "")
		w.count("notes of seats", seat.Note != "", "")
		w.count("views of seats", seat.ViewURL != "", "")
	})
}

// nameCategories gives categories with the same name different ones, because seats name their category.
func (w *pretixWriter) nameCategories() {
	taken := map[string]bool{}
	for _, c := range w.plan.Categories {
		name := c.Name
		for taken[strings.TrimSpace(name)] {
			name = c.Key + " " + name
		}
		w.report.renamed("names of categories", c.Name, name)
		taken[strings.TrimSpace(name)] = true
		w.names[c.Key] = name
	}
}

// place chooses the scale of the positions, whose unit is a pixel in pretix. Positions that are large enough stay
// as they are, unless some are negative.
func (w *pretixWriter) place() {
	const (
		usual  = 25 // pixels between two seats
		radius = 10 // of a seat, by default
		part   = 0.4
	)
	corner := holdfast.Point{X: math.MaxInt64, Y: math.MaxInt64}
	far := holdfast.Point{X: math.MinInt64, Y: math.MinInt64}
	w.each(func(seat *holdfast.Seat) {
		corner.X, corner.Y = min(corner.X, *seat.X), min(corner.Y, *seat.Y)
		far.X, far.Y = max(far.X, *seat.X), max(far.Y, *seat.Y)
	})
	if w.seats == 0 {
		return
	}
	pitch := w.pitch()
	extent := max(far.X-corner.X, far.Y-corner.Y, 1) + 2*holdfast.Thousandths(math.Ceil(pitch))*holdfast.Unit
	w.scale = 1
	if pitch > 0 {
		w.scale = max(1, min(holdfast.Thousandths(usual/pitch), holdfast.MaxPlanCoordinate/extent))
	}
	space := max(1, holdfast.Thousandths(math.Ceil(pitch*float64(w.scale)))) * holdfast.Unit
	isMoved := w.scale > 1 || corner.X < 0 || corner.Y < 0
	if fits := extent*w.scale+space <= holdfast.MaxPlanCoordinate; isMoved && fits {
		w.move = holdfast.Point{X: moved(corner.X*w.scale, space), Y: moved(corner.Y*w.scale, space)}
	}
	w.size = holdfast.Point{X: far.X*w.scale + w.move.X + space, Y: far.Y*w.scale + w.move.Y + space}
	if r := int(math.Round(part * pitch * float64(w.scale))); pitch > 0 && r < radius {
		w.radius = max(1, r)
	}
	if w.scale > 1 || w.move != (holdfast.Point{}) {
		w.report.count(Renamed, "positions, because the unit of the format is a pixel", 1,
			fmt.Sprintf("%d times as large, then moved by %g, %g", w.scale, number(w.move.X), number(w.move.Y)))
	}
}

// moved returns the way of whole units from the lowest coordinate to about a space from 0.
func moved(lowest, space holdfast.Thousandths) holdfast.Thousandths {
	way := space - lowest
	return way - way%holdfast.Unit
}

// pitch is the usual distance of two seats, or of two rows if each has one seat.
func (w *pretixWriter) pitch() float64 {
	var pitches []float64
	for _, s := range w.plan.Sections {
		var column []point
		for _, row := range s.Rows {
			var at []point
			for _, seat := range row.Seats {
				if seat != nil {
					at = append(at, point{number(*seat.X), number(*seat.Y)})
				}
			}
			if len(at) > 1 {
				pitches = append(pitches, shapeOf(at).pitch)
			} else {
				column = append(column, at...)
			}
		}
		if len(column) > 1 {
			pitches = append(pitches, steps(column)...)
		}
	}
	return median(pitches)
}

// The parts of a file.
type (
	pretixPosition struct {
		X float64 `json:"x"`
		Y float64 `json:"y"`
	}
	pretixFileSeat struct {
		GUID     string         `json:"seat_guid"`
		Number   string         `json:"seat_number"`
		Position pretixPosition `json:"position"`
		Category string         `json:"category"`
		Radius   int            `json:"radius,omitempty"`
	}
	pretixFileRow struct {
		Number string           `json:"row_number"`
		Label  string           `json:"row_label,omitempty"`
		Shown  string           `json:"row_number_position"`
		Seats  []pretixFileSeat `json:"seats"`
	}
	pretixFileZone struct {
		ID       string         `json:"zone_id"`
		Name     string         `json:"name"`
		Position pretixPosition `json:"position"`
	}
	pretixFileCategory struct {
		Name  string `json:"name"`
		Color string `json:"color,omitempty"`
	}
	pretixFileSize struct {
		Width  int64 `json:"width"`
		Height int64 `json:"height"`
	}
)

// write writes a line for each category and each row.
func (w *pretixWriter) write() ([]byte, error) {
	out, plan := &jsonWriter{}, w.plan
	out.json("{\n \"name\":", plan.Name)
	out.json(",\n \"size\":", pretixFileSize{max(1, int64(w.size.X/holdfast.Unit)), max(1, int64(w.size.Y/holdfast.Unit))})
	out.list(",\n \"categories\":", "\n  ", len(plan.Categories), func(i int) {
		out.json("", pretixFileCategory{w.names[plan.Categories[i].Key], plan.Categories[i].Color})
	})
	zones := slices.DeleteFunc(slices.Clone(plan.Sections), func(s holdfast.Section) bool { return s.Capacity > 0 })
	out.list(",\n \"zones\":", "\n  ", len(zones), func(i int) {
		out.json("", pretixFileZone{ID: zones[i].Key, Name: zones[i].Name})
		out.text.Truncate(out.text.Len() - len("}"))
		rows := zones[i].Rows
		out.list(",\"areas\":[],\"rows\":", "\n   ", len(rows), func(n int) { out.json("", w.row(rows[n])) })
		out.text.WriteByte('}')
	})
	out.text.WriteString("\n}\n")
	return out.text.Bytes(), out.err
}

func (w *pretixWriter) row(row holdfast.Row) pretixFileRow {
	form := pretixFileRow{Number: row.Key, Label: unless(row.Label, row.Key), Shown: "both", Seats: []pretixFileSeat{}}
	for _, seat := range row.Seats {
		if seat != nil {
			form.Seats = append(form.Seats, pretixFileSeat{
				GUID: seat.ID, Number: seat.Label, Category: w.names[seat.Category], Radius: w.radius,
				Position: pretixPosition{number(*seat.X*w.scale + w.move.X), number(*seat.Y*w.scale + w.move.Y)},
			})
		}
	}
	return form
}

// compare counts the differences of a plan that was read from the file. Its sections are those with rows, in the same order.
func (w *pretixWriter) compare(again holdfast.SeatingPlan) {
	w.report.renamed("names of plans", w.plan.Name, again.Name)
	keys := map[string]string{} // of the categories in again
	for i, c := range w.plan.Categories {
		read := again.Categories[i]
		keys[c.Key] = read.Key
		w.report.renamed("keys of categories, which the format makes of their names", c.Key, read.Key)
	}
	n := 0
	for _, s := range w.plan.Sections {
		if s.Capacity > 0 {
			continue
		}
		w.compareSection(s, again.Sections[n], keys)
		n++
	}
}

func (w *pretixWriter) compareSection(s, read holdfast.Section, keys map[string]string) {
	w.report.renamed("names of sections", s.Name, read.Name)
	w.count("categories of sections that are not those of the first seat", keys[s.Category] != read.Category, s.Key)
	rows, labels := map[string]holdfast.Row{}, map[string]string{}
	for _, row := range read.Rows {
		rows[row.Key] = row
		for _, seat := range row.Seats {
			if seat != nil {
				labels[seat.ID] = seat.Label
			}
		}
	}
	for _, row := range s.Rows {
		other := rows[row.Key]
		w.report.renamed("labels of rows", row.Label, other.Label)
		w.count("neighbours in rows, where the positions show others", !sameNeighbours(row, other), s.Key+"/"+row.Key)
		for _, seat := range row.Seats {
			if seat != nil {
				w.report.renamed("labels of seats", seat.Label, cmp.Or(labels[seat.ID], seat.Label))
			}
		}
	}
}

// sameNeighbours reports whether two rows have the same seats next to each other. Gaps at the ends and second gaps do
// not count, nor does the adjacency of a single seat.
func sameNeighbours(a, b holdfast.Row) bool {
	x, y := neighbours(a), neighbours(b)
	return slices.Equal(x, y) && (len(x) <= 1 || a.Adjacency == b.Adjacency)
}

// neighbours returns the IDs of a row, with "" for a gap between seats. At a table gaps do not count.
func neighbours(row holdfast.Row) (ids []string) {
	isGap := false
	for _, seat := range row.Seats {
		switch {
		case seat == nil:
			isGap = row.Adjacency == holdfast.AdjacencyLine
			continue
		case isGap && len(ids) > 0:
			ids = append(ids, "")
		}
		ids, isGap = append(ids, seat.ID), false
	}
	return ids
}
