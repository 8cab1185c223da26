package plancsv

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
	"github.com/holdfast-dev/holdfast/seats/seating/convert"
)

// Write writes a plan as a table that Read reads. The plan passes seating.Check. The report says
// what a table does not have; every seat keeps its ID, its neighbours, its category, its position
// and what else it has, every section its category, and the categories their order.
func Write(plan holdfast.SeatingPlan) ([]byte, convert.Report) {
	w := &writer{plan: seating.Expand(plan), ofSections: map[string]string{}}
	for _, c := range w.plan.Categories {
		w.count("colors of categories", c.Color != "")
	}
	w.count("focal points", plan.FocalPoint != nil)
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

type writer struct {
	plan       holdfast.SeatingPlan
	lines      []cells
	ofSections map[string]string // categories of sections that are not the one of the first seat
	categories []string          // in the order of their first lines
	used       [columnCount]bool
	report     convert.Report
}

func (w *writer) count(what string, isDropped bool) {
	if isDropped {
		w.report.Count(convert.Dropped, what, 1, "")
	}
}

func (w *writer) add(c cells) {
	for column, text := range c {
		w.used[column] = w.used[column] || text != ""
	}
	w.lines = append(w.lines, c)
}

// unless returns a text, or "" if it is what Read takes without it.
func unless(text, otherwise string) string {
	if text == otherwise {
		return ""
	}
	return text
}

func (w *writer) section(s holdfast.Section) {
	w.count("floors of sections", s.Floor != "")
	w.count("entrances of sections", s.Entrance != "")
	w.count("outlines of sections", len(s.Outline) > 0)
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
		for i, seat := range row.Seats {
			if seat == nil {
				w.add(line)
			} else {
				w.seat(line, s.Key+"-"+row.Key+"-", n, i, seat)
			}
		}
	}
}

func (w *writer) setCategory(line *cells, key string) {
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

func (w *writer) seat(line cells, prefix string, row, index int, seat *holdfast.Seat) {
	w.setCategory(&line, seat.Category)
	line[colSeat], line[colNote] = seat.Label, seat.Note
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

// firstCategory is the category of a section's first seat, which Read takes for the section's.
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
func (w *writer) sectionCategories() {
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

// orderCategories numbers the categories if their order, which best available goes by, is another one than that of
// their first lines, and says where a table has fewer categories than the plan.
func (w *writer) orderCategories() {
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
func (w *writer) set(line, column int, text string) {
	w.lines[line][column] = text
	w.used[column] = w.used[column] || text != ""
}

func decimal(v holdfast.Thousandths) string {
	return strconv.FormatFloat(float64(v)/float64(holdfast.Unit), 'f', -1, 64)
}
