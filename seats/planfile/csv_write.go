package planfile

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// WriteCSV writes a plan as a table that Read reads. The plan passes seating.Check. The report lists
// the parts of the plan that a table does not have. Every seat keeps all of its fields and its neighbours, every
// section its category, and the categories their order.
func WriteCSV(plan holdfast.SeatingPlan) ([]byte, Report) {
	w := &csvWriter{plan: seating.Expand(plan), ofSections: map[string]string{}}
	for _, c := range w.plan.Categories {
		w.count("colors of categories", c.Color != "")
	}
	w.count("focal points", plan.FocalPoint != nil)
	for range w.plan.Decorations {
		w.count("decorations", true)
	}
	for _, s := range w.plan.Sections {
		w.section(s)
	}
	w.sectionCategories()
	w.orderCategories()
	var buffer bytes.Buffer
	out := csv.NewWriter(&buffer)
	columns := make([]int, 0, columnCount)
	for column := range columnCount {
		if column < usualColumns || w.used[column] {
			columns = append(columns, column)
		}
	}
	record := make([]string, len(columns))
	write := func(c *cells) {
		for i, column := range columns {
			record[i] = c[column]
		}
		_ = out.Write(record) // a buffer refuses nothing
	}
	write((*cells)(&columnNames))
	for i := range w.lines {
		write(&w.lines[i])
	}
	out.Flush()
	return buffer.Bytes(), w.report
}

type csvWriter struct {
	plan       holdfast.SeatingPlan
	lines      []cells
	ofSections map[string]string // categories of sections that are not the one of the first seat
	categories []string          // in the order of their first lines
	used       [columnCount]bool
	report     Report
}

func (w *csvWriter) count(what string, isDropped bool) {
	if isDropped {
		w.report.count(Dropped, what, 1, "")
	}
}

func (w *csvWriter) add(c cells) {
	for column, text := range c {
		w.used[column] = w.used[column] || text != ""
	}
	w.lines = append(w.lines, c)
}

// unless returns a text, or "" if it is the default of Read.
func unless(text, otherwise string) string {
	if text == otherwise {
		return ""
	}
	return text
}

func (w *csvWriter) section(s holdfast.Section) {
	w.count("floors of sections", s.Floor != "")
	w.count("entrances of sections", s.Entrance != "")
	w.count("outlines of sections", len(s.Outline) > 0)
	w.count("views of sections", s.ViewURL != "")
	head := cells{colSection: s.Key, colSectionName: unless(s.Name, s.Key)}
	if s.Capacity > 0 {
		head[colCapacity] = strconv.FormatInt(s.Capacity, 10)
		w.setCategory(&head, s.Category)
		w.add(head)
		return
	}
	if s.Category != firstCategory(s) {
		w.ofSections[s.Key] = s.Category
	}
	for n, row := range s.Rows {
		line := head
		line[colRow], line[colRowLabel] = row.Key, unless(row.Label, row.Key)
		line[colAdjacency] = unless(string(row.Adjacency), string(holdfast.AdjacencyLine))
		first := len(w.lines)
		for i, seat := range row.Seats {
			if seat == nil {
				w.add(line)
			} else {
				w.seat(line, s.Key+"-"+row.Key+"-", n, i, seat)
			}
		}
		if w.isArranged(row, first) {
			for i := first; i < len(w.lines); i++ {
				w.set(i, colAdjacency, string(row.Adjacency))
			}
		}
	}
}

// isArranged reports whether Read would arrange a row, whose lines begin at first, unless the table has its adjacency.
func (w *csvWriter) isArranged(row holdfast.Row, first int) bool {
	isDefault := func(c cells) bool { return c[colX] == "" || c[colY] == "" }
	at := positions(row.Seats)
	return len(at) > 1 && !slices.ContainsFunc(w.lines[first:], isDefault) && !shapeOf(at).isLine()
}

func (w *csvWriter) setCategory(line *cells, key string) {
	line[colCategory] = key
	for _, c := range w.plan.Categories {
		if c.Key == key {
			line[colCategoryName] = unless(c.Name, key)
		}
	}
	if !slices.Contains(w.categories, key) {
		w.categories = append(w.categories, key)
	}
}

func (w *csvWriter) seat(line cells, prefix string, row, index int, seat *holdfast.Seat) {
	w.setCategory(&line, seat.Category)
	line[colSeat], line[colNote], line[colViewURL] = seat.Label, seat.Note, seat.ViewURL
	if seat.ID != prefix+seat.Label || strings.HasPrefix(seat.Label, prefix) {
		line[colID] = seat.ID
	}
	if *seat.X != holdfast.Thousandths(index+1)*holdfast.Unit {
		line[colX] = decimal(*seat.X)
	}
	if *seat.Y != holdfast.Thousandths(row)*holdfast.Unit {
		line[colY] = decimal(*seat.Y)
	}
	for column, is := range map[int]bool{
		colAccessible: seat.Accessible, colCompanion: seat.Companion, colRestrictedView: seat.RestrictedView,
	} {
		if is {
			line[column] = "true"
		}
	}
	w.add(line)
}

// firstCategory is the category of a section's first seat, which Read uses for the section.
func firstCategory(s holdfast.Section) string {
	for _, row := range s.Rows {
		for _, seat := range row.Seats {
			if seat != nil {
				return seat.Category
			}
		}
	}
	return ""
}

// sectionCategories writes the categories of sections that Read would not find. A category that no seat has is
// not in the table.
func (w *csvWriter) sectionCategories() {
	for _, s := range w.plan.Sections {
		if of := w.ofSections[s.Key]; of != "" && !slices.Contains(w.categories, of) {
			w.count("categories of sections that no seat has", true)
			delete(w.ofSections, s.Key)
		}
	}
	for i := range w.lines {
		w.set(i, colSectionCategory, w.ofSections[w.lines[i][colSection]])
	}
}

// orderCategories numbers the categories if their order, which best available follows, differs from that of
// their first lines, and reports the categories that the table does not have.
func (w *csvWriter) orderCategories() {
	used, numbers := map[string]int{}, map[string]string{}
	for i, key := range w.categories {
		used[key] = i + 1
	}
	at, inOrder := 0, true
	for _, c := range w.plan.Categories {
		w.count("categories without seats", used[c.Key] == 0)
		if used[c.Key] > 0 {
			at++
			numbers[c.Key] = strconv.Itoa(at)
			inOrder = inOrder && used[c.Key] == at
		}
	}
	if inOrder {
		return
	}
	for i := range w.lines {
		w.set(i, colCategoryNumber, numbers[w.lines[i][colCategory]])
	}
}

// set sets a cell of a line.
func (w *csvWriter) set(line, column int, text string) {
	w.lines[line][column] = text
	w.used[column] = w.used[column] || text != ""
}

func decimal(v holdfast.Thousandths) string {
	return strconv.FormatFloat(float64(v)/float64(holdfast.Unit), 'f', -1, 64)
}
