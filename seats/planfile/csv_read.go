package planfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// readCSV reads a plan, which is valid if there are no problems, but not written out. A table has no
// name for its plan. The report lists the parts of the table that are not in the plan, or differ. A problem's
// location is a line of the file, such as "line 7", or the field for a problem of the whole
// plan; there are at most the first seating.MaxProblems. The error is an OptionError.
func readCSV(text []byte, o Options) (holdfast.SeatingPlan, Report, []holdfast.FieldError, error) {
	r := &csvReader{
		options: o, sections: map[string]*csvSection{}, categories: map[string]*csvCategory{}, ids: map[string]int{}, wrong: map[int]bool{},
	}
	if err := r.read(text); err != nil {
		if at := (*errLine)(nil); errors.As(err, &at) {
			r.problem(at.line, "%s", at.what)
			err = nil
		}
		return holdfast.SeatingPlan{}, r.report, r.sorted(), err
	}
	plan, known := r.plan(o.Name), len(r.problems)
	for _, p := range seating.Check(plan) {
		place := parsePlace(p.Where)
		line := r.lineOf(place)
		if r.wrong[line] || line == 0 && known > 0 || place.Field == "category" {
			continue // it follows from another problem
		}
		if line > 0 && place.Field != "" {
			p.What = place.Field + ": " + p.What
		}
		r.problems = append(r.problems, lineProblem{line, p})
	}
	return plan, r.report, r.sorted(), nil
}

// csvReader collects the lines of a table. Names are as in the cells.
type csvReader struct {
	options    Options
	sections   map[string]*csvSection
	categories map[string]*csvCategory
	ids        map[string]int // line of each ID of the column id
	seats      int
	places     int // seats and gaps

	sectionList  []*csvSection
	categoryList []*csvCategory

	report   Report
	problems []lineProblem
	wrong    map[int]bool // lines that have a problem
}

type (
	csvSection struct {
		cell, category     string  // category is that of the capacity
		name, ofSeats      csvText // ofSeats is the section's own category
		capacity           int64
		line, capacityLine int
		rows               []*csvRow
		rowsByCell         map[string]*csvRow
	}
	csvRow struct {
		cell             string
		label, adjacency csvText
		line             int
		places           []csvPlace
		byCell           map[string]int // line of a seat
	}
	// csvPlace is a seat, or a gap if seat is nil.
	csvPlace struct {
		seat *holdfast.Seat
		line int
	}
	csvCategory struct {
		cell, key    string
		name, number csvText
		line         int
	}
	// csvText is a text that several lines may have.
	csvText struct {
		value string
		line  int
	}
	// lineProblem is a problem of a line, or of the whole plan if the line is 0.
	lineProblem struct {
		line int
		holdfast.FieldError
	}
)

func (r *csvReader) problem(line int, what string, args ...any) {
	if len(r.problems) < seating.MaxProblems {
		r.problems = append(r.problems, lineProblem{line, holdfast.FieldError{What: fmt.Sprintf(what, args...)}})
		r.wrong[line] = true
	}
}

// sorted returns the problems by line.
func (r *csvReader) sorted() (problems []holdfast.FieldError) {
	slices.SortStableFunc(r.problems, func(a, b lineProblem) int { return cmp.Compare(a.line, b.line) })
	for _, p := range r.problems[:min(len(r.problems), seating.MaxProblems)] {
		if p.line > 0 {
			p.Where = "line " + strconv.Itoa(p.line)
		}
		problems = append(problems, p.FieldError)
	}
	return problems
}

// read reads all lines. The error is an errLine or an OptionError; problems of a line do not end the reading.
func (r *csvReader) read(text []byte) error {
	t, err := newTable(text, r.options, &r.report)
	if err != nil {
		return err
	}
	for len(r.problems) < seating.MaxProblems {
		c, err := t.next()
		if errors.Is(err, io.EOF) && len(r.sectionList) == 0 && len(r.problems) == 0 {
			return &errLine{t.line, "There is no line with a seat after this one."}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = r.add(c, t.line, t.separator)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// add adds a line. The error is for a line beyond the limits of a plan, after which no line is
// kept.
func (r *csvReader) add(c cells, line int, separator rune) error {
	if c[colSection] == "" {
		r.problem(line, "The section is missing.")
		return nil
	}
	s := r.sections[c[colSection]]
	if s == nil {
		if len(r.sectionList) == holdfast.MaxPlanSections {
			return &errLine{line, fmt.Sprintf("A plan must have at most %d sections.", holdfast.MaxPlanSections)}
		}
		s = &csvSection{cell: c[colSection], line: line, rowsByCell: map[string]*csvRow{}}
		r.sections[s.cell], r.sectionList = s, append(r.sectionList, s)
	}
	r.same(&s.name, c[colSectionName], line, colSectionName)
	r.same(&s.ofSeats, c[colSectionCategory], line, colSectionCategory)
	if c[colSeat] != "" || c[colStart] != "" || c[colCapacity] != "" {
		c[colCategory] = cmp.Or(c[colCategory], r.options.Category)
	}
	if err := r.addCategory(&c, line); err != nil {
		return err
	}
	if c[colCapacity] != "" {
		r.addCapacity(s, &c, line)
		return nil
	}
	if c[colRow] == "" {
		r.problem(line, "The row is missing.")
		return nil
	}
	if r.places++; r.places > maxPlaces {
		return &errLine{line, fmt.Sprintf("A plan must have at most %d seats and gaps.", maxPlaces)}
	}
	w := s.rowsByCell[c[colRow]]
	if w == nil {
		w = &csvRow{cell: c[colRow], line: line}
		s.rowsByCell[w.cell], s.rows = w, append(s.rows, w)
	}
	r.same(&w.label, c[colRowLabel], line, colRowLabel)
	r.same(&w.adjacency, strings.ToUpper(c[colAdjacency]), line, colAdjacency)
	if c.only(colSection, colRow, colSectionName, colSectionCategory, colRowLabel, colAdjacency) {
		w.places = append(w.places, csvPlace{line: line})
		return nil
	}
	if c[colStart] != "" || c[colEnd] != "" {
		return r.addRange(w, &c, line, separator)
	}
	return r.addSeat(w, &c, line, separator)
}

// addRange adds the seats of a line that has the first number and the last one.
func (r *csvReader) addRange(w *csvRow, c *cells, line int, separator rune) error {
	const maxDigits = 9
	first, err := strconv.Atoi(c[colStart])
	last, errLast := strconv.Atoi(c[colEnd])
	switch {
	case err != nil || errLast != nil || max(len(c[colStart]), len(c[colEnd])) > maxDigits ||
		first < 0 || last < first || last-first >= holdfast.MaxRowSeats:
		r.problem(line, "The start and the end must be the first and the last number of at most %d seats, and have at most %d digits.",
			holdfast.MaxRowSeats, maxDigits)
		return nil
	case c[colID]+c[colX]+c[colY] != "":
		r.problem(line, "A line with a start and an end must have no id, x and y. Write a line for each seat.")
		return nil
	}
	width := 0
	if strings.HasPrefix(c[colStart], "0") { // 01 to 12 are printed so on the tickets
		width = len(c[colStart])
	}
	for n := first; n <= last; n++ {
		c[colSeat] = fmt.Sprintf("%0*d", width, n)
		if err := r.addSeat(w, c, line, separator); err != nil {
			return err
		}
	}
	return nil
}

// maxPlaces bounds the gaps of a table.
const maxPlaces = 2 * holdfast.MaxPlanSeats

func (r *csvReader) addCategory(c *cells, line int) error {
	if c[colCategory] == "" {
		return nil
	}
	of := r.categories[c[colCategory]]
	if of == nil {
		if len(r.categoryList) == holdfast.MaxPlanCategories {
			return &errLine{line, fmt.Sprintf("A plan must have at most %d categories.", holdfast.MaxPlanCategories)}
		}
		of = &csvCategory{cell: c[colCategory], line: line}
		r.categories[of.cell], r.categoryList = of, append(r.categoryList, of)
	}
	r.same(&of.name, c[colCategoryName], line, colCategoryName)
	if number := c[colCategoryNumber]; number != "" && categoryNumber(number) == 0 {
		r.problem(line, "The category_number %s must be a number from 1 to %d.", quoted(number), holdfast.MaxPlanCategories)
	} else {
		r.same(&of.number, number, line, colCategoryNumber)
	}
	return nil
}

// categoryNumber returns the number of a category, or 0 if the text is not a valid one.
func categoryNumber(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > holdfast.MaxPlanCategories {
		return 0
	}
	return n
}

func (r *csvReader) addCapacity(s *csvSection, c *cells, line int) {
	n, err := strconv.ParseInt(c[colCapacity], 10, 64)
	switch {
	case err != nil || n < 1:
		r.problem(line, "The capacity %s must be a number from 1 to %d.", quoted(c[colCapacity]), holdfast.MaxSeats)
	case !c.only(colSection, colSectionName, colCategory, colCategoryName, colCategoryNumber, colCapacity):
		r.problem(line, "A line with a capacity must have a section and a category, and neither a row nor a seat.")
	case c[colCategory] == "":
		r.problem(line, "The category is missing.")
	case s.capacityLine > 0:
		r.problem(line, "The capacity of the section is also on line %d.", s.capacityLine)
	default:
		s.capacity, s.capacityLine, s.category = n, line, c[colCategory]
	}
}

func (r *csvReader) addSeat(w *csvRow, c *cells, line int, separator rune) error {
	if r.seats++; r.seats > holdfast.MaxPlanSeats {
		return &errLine{line, fmt.Sprintf("A plan must have at most %d seats in rows.", holdfast.MaxPlanSeats)}
	}
	switch before := w.byCell[c[colSeat]]; {
	case c[colSeat] == "":
		r.problem(line, "The seat is missing.")
		return nil
	case before > 0 && c[colID] == "":
		r.problem(line, "The seat %s of this row is also on line %d.", quoted(c[colSeat]), before)
		return nil
	case c[colCategory] == "":
		r.problem(line, "The category is missing.")
	}
	if w.byCell == nil {
		w.byCell = map[string]int{}
	}
	if c[colID] == "" {
		w.byCell[c[colSeat]] = line
	} else if before := r.ids[c[colID]]; before > 0 {
		r.problem(line, "The seat with the ID %s is also on line %d.", quoted(c[colID]), before)
		return nil
	} else {
		r.ids[c[colID]] = line
	}
	w.places = append(w.places, csvPlace{line: line, seat: &holdfast.Seat{
		ID: c[colID], Label: c[colSeat], Category: c[colCategory], Note: c[colNote], ViewURL: c[colViewURL],
		X: r.coordinate(c[colX], line, colX, separator), Y: r.coordinate(c[colY], line, colY, separator),
		Accessible:     r.bool(c[colAccessible], line, colAccessible),
		Companion:      r.bool(c[colCompanion], line, colCompanion),
		RestrictedView: r.bool(c[colRestrictedView], line, colRestrictedView),
	}})
	return nil
}

// same sets a text of a section, a row or a category, and refuses one that differs from an earlier
// line.
func (r *csvReader) same(t *csvText, value string, line, column int) {
	switch {
	case value == "" || value == t.value:
	case t.value != "":
		r.problem(line, "The %s is %s, but %s on line %d. Give one value.", columnNames[column], quoted(value), quoted(t.value), t.line)
	default:
		t.value, t.line = value, line
	}
}
