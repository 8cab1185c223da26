package seatctl

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/holdfast-dev/holdfast/seats/seating"
)

// mapCell is how a seat is shown in a map.
type mapCell struct {
	mark  byte
	state string
	color text.Color
}

// mapCells are all of them, in the order of the legend. The first one is a seat that no lock takes.
var mapCells = []mapCell{
	{'.', "available", text.FgGreen},
	{'o', stateHeld, text.FgYellow},
	{'d', stateDue, text.FgMagenta},
	{'#', stateSold, text.FgRed},
	{'x', stateBlocked, text.FgHiBlack},
}

const (
	gapMark      = ' '
	continueMark = "+"   // in place of a row's label, where the row goes on
	largestMap   = 3_000 // seats of a hall that is shown as a whole
)

// seatMap draws sections as text.
type seatMap struct {
	text     strings.Builder
	holdings *holdings
	seats    [][]int // the number of each seat's cell, by section
	counts   []int64 // of the cells that were drawn
	terminal
}

// printMap prints the map of some sections, or of all of them: of a large hall only their counts.
func (s *session) printMap(h *holdings, sections []string) error {
	hall := h.taken.Hall()
	if len(sections) == 0 && hall.NumberedSeats() > largestMap {
		if err := s.printSections(h.sections); err != nil {
			return err
		}
		_, err := fmt.Fprintf(s.out.w, "The hall has %d seats in rows, too many for one map. "+
			"Name sections to see theirs, such as --section %s.\n", hall.NumberedSeats(), firstRows(hall))
		return err
	}
	m := newSeatMap(h, s.term)
	for n, section := range hall.Sections() {
		if len(sections) == 0 || slices.Contains(sections, section.Key) {
			m.section(n)
		}
	}
	m.legend()
	_, err := fmt.Fprint(s.out.w, m.text.String())
	return err
}

// firstRows is the key of the first section with rows.
func firstRows(hall *seating.Hall) string {
	sections := hall.Sections()
	return sections[slices.IndexFunc(sections, func(s seating.Section) bool { return !s.GeneralAdmission() })].Key
}

func newSeatMap(h *holdings, t terminal) *seatMap {
	m := &seatMap{holdings: h, counts: make([]int64, len(mapCells)), terminal: t}
	for _, section := range h.taken.Hall().Sections() {
		m.seats = append(m.seats, make([]int, len(section.Seats)))
	}
	for _, l := range h.lines {
		if l.SeatID != "" {
			m.seats[l.at.Section][l.at.Seat] = max(0, slices.IndexFunc(mapCells, func(c mapCell) bool { return c.state == l.State }))
		}
	}
	return m
}

// section draws the rows of a section, or says how much of its capacity is taken.
func (m *seatMap) section(n int) {
	taken := m.holdings.taken
	section := &taken.Hall().Sections()[n]
	if section.GeneralAdmission() {
		fmt.Fprintf(&m.text, "Section %s, general admission: %d / %d taken\n\n", section.Key, taken.TakenGeneral(n), taken.Capacity(n))
		return
	}
	fmt.Fprintf(&m.text, "Section %s: %d of %s available\n", section.Key, taken.AvailableIn(n), plural(taken.Capacity(n), "seat"))
	const widestLabel = 16
	labels, width := make([]string, len(section.Rows)), len(continueMark)
	for i, row := range section.Rows {
		labels[i] = text.Snip(visible(row.Label), widestLabel, "~")
		width = max(width, text.StringWidthWithoutEscSequences(labels[i]))
	}
	for i, row := range section.Rows {
		m.row(section, row, m.seats[n], text.AlignRight.Apply(labels[i], width), width)
	}
	m.text.WriteByte('\n')
}

// row draws a row. One that is wider than the terminal goes on in the next line.
func (m *seatMap) row(section *seating.Section, row seating.Row, cells []int, label string, labelWidth int) {
	line := make([]int, section.Seats[row.End-1].Position) // without the gaps at the end
	for i := range line {
		line[i] = -1 // a gap
	}
	for seat := row.First; seat < row.End; seat++ {
		line[section.Seats[seat].Position-1] = cells[seat]
		m.counts[cells[seat]]++
	}
	const margins = 4 // two spaces before and after the label
	inLine := len(line)
	if m.width > 0 {
		const fewest = 10
		inLine = max(fewest, m.width-labelWidth-margins)
	}
	for len(line) > 0 {
		n := min(inLine, len(line))
		fmt.Fprintf(&m.text, "  %s  ", label)
		m.cells(line[:n])
		line = line[n:]
		label = text.AlignRight.Apply(continueMark, labelWidth)
	}
}

// cells draws a line of seats and gaps.
func (m *seatMap) cells(line []int) {
	last := -1
	for _, n := range line {
		if n < 0 {
			m.text.WriteByte(gapMark)
			continue
		}
		if m.color && n != last {
			m.text.WriteString(mapCells[n].color.EscapeSeq())
		}
		last = n
		m.text.WriteByte(mapCells[n].mark)
	}
	if m.color && last >= 0 {
		m.text.WriteString(text.EscapeReset)
	}
	m.text.WriteByte('\n')
}

// legend says what the cells mean, and how many were drawn.
func (m *seatMap) legend() {
	if !slices.ContainsFunc(m.counts, func(n int64) bool { return n > 0 }) {
		return // general admission alone
	}
	const between = "   "
	width := 0
	for n, cell := range mapCells {
		words := fmt.Sprintf(" %d %s", m.counts[n], cell.state)
		switch next := len(between) + 1 + len(words); {
		case n == 0:
			width = next - len(between)
		case m.width > 0 && width+next > m.width:
			m.text.WriteByte('\n')
			width = next - len(between)
		default:
			m.text.WriteString(between)
			width += next
		}
		if m.color {
			m.text.WriteString(cell.color.EscapeSeq() + string(cell.mark) + text.EscapeReset)
		} else {
			m.text.WriteByte(cell.mark)
		}
		m.text.WriteString(words)
	}
	m.text.WriteByte('\n')
}

// plural is a number with its word.
func plural(n int64, word string) string {
	if n != 1 {
		word += "s"
	}
	return fmt.Sprint(n, " ", word)
}
