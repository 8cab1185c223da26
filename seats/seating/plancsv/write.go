package plancsv

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
	"github.com/holdfast-dev/holdfast/seats/seating/convert"
)

// Write writes a plan as a table that Read reads. The plan passes seating.Check. The report says
// what a table does not have; every seat keeps its ID, its neighbours, its category, its position
// and what else it has.
func Write(plan holdfast.SeatingPlan) ([]byte, convert.Report) {
	w := &writer{plan: seating.Expand(plan)}
	for _, c := range w.plan.Categories {
		w.count("colors of categories", c.Color != "")
	}
	w.count("focal points", plan.FocalPoint != nil)
	for _, s := range w.plan.Sections {
		w.section(s)
	}
	w.checkCategories()
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
	categories []string // in the order of their first lines
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
	for _, known := range w.categories {
		if known == key {
			return
		}
	}
	w.categories = append(w.categories, key)
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

// checkCategories says where a table has fewer categories than the plan, or another order, which
// best available goes by.
func (w *writer) checkCategories() {
	used := map[string]int{}
	for i, key := range w.categories {
		used[key] = i + 1
	}
	at, inOrder := 0, true
	for _, c := range w.plan.Categories {
		w.count("categories without seats", used[c.Key] == 0)
		if used[c.Key] > 0 {
			at++
			inOrder = inOrder && used[c.Key] == at
		}
	}
	w.count("order of the categories, which is that of their first lines in a table", !inOrder)
}

func decimal(v holdfast.Thousandths) string {
	return strconv.FormatFloat(float64(v)/float64(holdfast.Unit), 'f', -1, 64)
}
