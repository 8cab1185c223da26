package planfile

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// describe writes what a table says of a plan: a line for each section, row and seat.
func describe(plan holdfast.SeatingPlan) string {
	var b strings.Builder
	names := map[string]string{}
	for _, c := range plan.Categories {
		names[c.Key] = c.Name
	}
	for _, s := range seating.Expand(plan).Sections {
		fmt.Fprintf(&b, "%s %q", s.Key, s.Name)
		if s.Capacity > 0 {
			fmt.Fprintf(&b, " %d %s %q", s.Capacity, s.Category, names[s.Category])
		}
		b.WriteByte('\n')
		for _, row := range s.Rows {
			fmt.Fprintf(&b, " %s %q %s\n", row.Key, row.Label, row.Adjacency)
			for _, seat := range row.Seats {
				if seat == nil {
					b.WriteString("  gap\n")
					continue
				}
				fmt.Fprintf(&b, "  %s %q %s %q %d %d", seat.ID, seat.Label, seat.Category, names[seat.Category], *seat.X, *seat.Y)
				for i, is := range []bool{seat.Accessible, seat.Companion, seat.RestrictedView} {
					if is {
						b.WriteString([]string{" accessible", " companion", " restricted"}[i])
					}
				}
				fmt.Fprintf(&b, " %q\n", seat.Note)
			}
		}
	}
	return b.String()
}

func readTable(t *testing.T, text string) (holdfast.SeatingPlan, string) {
	t.Helper()
	c, err := Read([]byte(text), Options{Format: CSV, Name: "file"})
	if err != nil || len(c.Problems) > 0 || c.Plan.Name != "file" {
		t.Fatal(c.Plan.Name, c.Problems, err)
	}
	return c.Plan, fmt.Sprint(c.Report)
}

const csvExample = `section,row,seat,category,x,y,accessible
Stalls,A,1,first,10,20,
Stalls,A,2,first,10.5,20.25,true
Balcony,A,1,second,,,
Stalls,B,1,second,,,
Stalls,A,3,second,,,
Stalls,B,,,,,
Stalls,B,Stalls-B-12,second,,,
`

const exampleSeats = `Stalls "Stalls"
 A "A" LINE
  Stalls-A-1 "1" first "first" 10000 20000 ""
  Stalls-A-2 "2" first "first" 10500 20250 accessible ""
  Stalls-A-3 "3" second "second" 3000 0 ""
 B "B" LINE
  Stalls-B-1 "1" second "second" 1000 1000 ""
  gap
  Stalls-B-12 "12" second "second" 3000 1000 ""
Balcony "Balcony"
 A "A" LINE
  Balcony-A-1 "1" second "second" 1000 0 ""
`

func TestReadCSV_SectionsRowsAndSeatsInTheOrderOfTheirLines(t *testing.T) {
	t.Parallel()
	plan, report := readTable(t, csvExample)
	if got := describe(plan); got != exampleSeats || report != "[]" {
		t.Errorf("%s\n%s", got, report)
	}
	if plan.Categories[0].Key != "first" || plan.Categories[1].Key != "second" {
		t.Error(plan.Categories)
	}
}

// What spreadsheets make of a table is the same plan.
func TestReadCSV_AcceptsWhatSpreadsheetsWrite(t *testing.T) {
	t.Parallel()
	replace := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(csvExample) }
	for name, text := range map[string]string{
		"byte order mark":    "\ufeff" + csvExample,
		"CRLF":               replace("\n", "\r\n"),
		"semicolons":         replace(",", ";"),
		"decimal commas":     replace(",", ";", "10.5", "10,5", "20.25", "20,25"),
		"tabs":               replace(",", "\t"),
		"tabs, commas":       replace(",", "\t", "10.5", "10,5"),
		"sep=":               "sep=;\r\n" + replace(",", ";"),
		"blank lines":        csvExample + ",,,,,,\n\n   \n,,\n",
		"blank lines before": "\n\n" + csvExample,
		"quotes":             replace("Stalls,", `"Stalls", `, "section", `"section"`),
		"capitals":           replace("section,row", " Section ,ROW", "true", "TRUE"),
		"a cross":            replace("true", "x"),
		"spaces":             replace("Stalls,", "Stalls ,", ",A,", ", A,", "first", "\u00a0first"),
		"more columns":       replace("accessible\n", "accessible,\n", ",,\n", ",,,\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plan, report := readTable(t, text)
			if got := describe(plan); got != exampleSeats || report != "[]" {
				t.Errorf("%s\n%s", got, report)
			}
		})
	}
	var columns []string
	for line := range strings.Lines(csvExample) {
		c := strings.Split(strings.TrimSpace(line), ",")
		columns = append(columns, strings.Join([]string{c[6], c[3], c[2], c[5], c[4], c[0], c[1]}, ","))
	}
	if plan, _ := readTable(t, strings.Join(columns, "\n")); describe(plan) != exampleSeats {
		t.Error(describe(plan))
	}
}

func TestReadCSV_MakesKeysOfTextsAndSaysSo(t *testing.T) {
	t.Parallel()
	plan, report := readTable(t, `category;seat;row;section;price
Ränge 1+2;1 a;Reihe 1;Süd (links);12 €
Ränge 1+2;1.a;Reihe 1;Süd (links);12 €
Ränge 1+2;1-a;Reihe 1;Süd (links);12 €
舞台;block;1;stream;
`)
	const want = `Sued-links "Süd (links)"
 Reihe-1 "Reihe 1" LINE
  Sued-links-Reihe-1-1-a-2 "1 a" Raenge-1-2 "Ränge 1+2" 1000 0 ""
  Sued-links-Reihe-1-1.a "1.a" Raenge-1-2 "Ränge 1+2" 2000 0 ""
  Sued-links-Reihe-1-1-a "1-a" Raenge-1-2 "Ränge 1+2" 3000 0 ""
stream "stream"
 1 "1" LINE
  stream-1-block "block" category "舞台" 1000 0 ""
`
	const wantReport = `[dropped: unknown column "price": 1 renamed: categories: 2 ("Ränge 1+2" is Raenge-1-2; "舞台" is category) ` +
		`renamed: sections: 1 ("Süd (links)" is Sued-links) renamed: rows: 1 ("Reihe 1" is Reihe-1) ` +
		`renamed: seats: 1 ("Sued-links-Reihe-1-1 a" is Sued-links-Reihe-1-1-a-2)]`
	if got := describe(plan); got != want || report != wantReport {
		t.Errorf("%s\n%s", got, report)
	}
}

const csvMore = `section,row,seat,category,x,y,accessible,id,section_name,row_label,category_name,capacity,adjacency,companion,` +
	`restricted_view,note
A,1,1,c,,,,X-1,Stalls left,Row 1,Cheap,,,yes,,
A,1,1,c,,,,X-2,,,,,all,,1,behind a pillar
A,1,,,,,,,Stalls left,,,,ALL,,,
A,1,A-1-9,c,,,,A-1-A-1-9,,,,,,,,
pit,,,d,,,,,Standing,,Standing,500,,,,
`

func TestReadCSV_MoreColumns(t *testing.T) {
	t.Parallel()
	plan, report := readTable(t, csvMore)
	const want = `A "Stalls left"
 1 "Row 1" ALL
  X-1 "1" c "Cheap" 1000 0 companion ""
  X-2 "1" c "Cheap" 2000 0 restricted "behind a pillar"
  gap
  A-1-A-1-9 "A-1-9" c "Cheap" 4000 0 ""
pit "Standing" 500 d "Standing"
`
	if got := describe(plan); got != want || report != "[]" {
		t.Errorf("%s\n%s", got, report)
	}
}

const csvOrdered = `section,row,seat,category,section_category,category_number
A,1,1,c,d,
A,1,2,d,,1
A,1,3,e,,2
A,1,4,f,,
`

// Categories without a number follow those that have one.
func TestReadCSV_CategoriesHaveNumbers(t *testing.T) {
	t.Parallel()
	plan, report := readTable(t, csvOrdered)
	if order, sections := categoriesOf(plan); order != "d e c f " || sections != "A=d " || report != "[]" {
		t.Error(order, sections, report)
	}
}

// csvWrong are changes of a table: old becomes new, and is then refused.
var csvWrong = []struct{ table, old, new, where, what string }{
	{csvExample, `seat,category`, `category`, "line 1", "but seat is missing"},
	{csvExample, `section,row`, `section,block`, "line 1", "but row is missing"},
	{csvExample, `,x,y`, `,x,x`, "line 1", "x occurs twice"},
	{csvExample, `Stalls,A,2`, `,A,2`, "line 3", "section is missing"},
	{csvExample, `Stalls,A,2`, `Stalls,,2`, "line 3", "row is missing"},
	{csvExample, `Stalls,A,2`, `Stalls,A,`, "line 3", "seat is missing"},
	{csvExample, `Balcony,A,1`, `Balcony,A,`, "line 4", "seat is missing"},
	{csvExample, `2,first`, `2,`, "line 3", "category is missing"},
	{csvExample, `Stalls,A,2`, `Stalls,A,1`, "line 3", `"1" of this row is also on line 2`},
	{csvExample, `Stalls,A,3`, `Stalls,A,2`, "line 6", `"2" of this row is also on line 3`},
	{csvExample, `20.25`, `2O`, "line 3", `y "2O" is not a number`},
	{csvExample, `20.25`, `"20,25"`, "line 3", "not a number"},
	{csvExample, `20.25`, `0x10`, "line 3", "not a number"},
	{csvExample, `20.25`, `inf`, "line 3", "not a number"},
	{csvExample, `20.25`, `nan`, "line 3", "not a number"},
	{csvExample, `20.25`, `1e999`, "line 3", "from -100000 to 100000"},
	{csvExample, `20.25`, `-100001`, "line 3", "from -100000 to 100000"},
	{csvExample, `true`, `WAHR`, "line 3", `"WAHR"`},
	{csvExample, `true`, `true,more`, "line 3", "more cells"},
	{csvExample, `Stalls,A,2`, `"Stalls,A,2`, "line 3", "quotes"},
	{csvExample, `Stalls,A,2`, `St"alls,A,2`, "line 3", "quotes"},
	{csvExample, `Stalls,A,2`, "Stalls,A,\x84", "line 3", "UTF-8"},
	{csvExample, `Stalls,A,2`, "Stalls,A,\a", "line 3", "control character"},
	{csvExample, `Stalls,A,2`, "Stalls,A," + strings.Repeat("2", 33), "line 3", "at most 32"},
	{csvExample, `Stalls,B,1,second,,,` + "\n", ``, "line 6", ""},
	{csvExample, `Stalls,B,Stalls-B-12`, `Stalls,B,1`, "line 8", "line 5"},
	{csvMore, `X-2`, `X-1`, "line 3", `"X-1" is also on line 2`},
	{csvMore, `X-2`, `X 1`, "line 3", "letters, digits"},
	{csvMore, `X-2`, `block`, "line 3", "route"},
	{csvMore, `,X-2,`, `,,`, "", ""},
	{csvMore, `X-2,,,`, `X-2,Right,,`, "line 3", `section_name is "Right", but "Stalls left" on line 2`},
	{csvMore, `,ALL,`, `,none,`, "line 4", `adjacency is "NONE", but "ALL" on line 3`},
	{csvMore, `X-2,,,`, `X-2,,Row 2,`, "line 3", `row_label is "Row 2"`},
	{csvMore, `Row 1`, strings.Repeat("R", 33), "line 2", "label: The text must have at most 32"},
	{csvMore, `Standing,500`, `Standing,0`, "line 6", `capacity "0"`},
	{csvMore, `Standing,500`, `Standing,many`, "line 6", `capacity "many"`},
	{csvMore, `Standing,500`, `Standing,10000001`, "line 6", "not 10000001"},
	{csvMore, `pit,,,d`, `pit,1,,d`, "line 6", "neither a row"},
	{csvMore, `pit,,,d`, `pit,,,`, "line 6", "category is missing"},
	{csvMore, `pit,`, `A,`, "line 6", "section_name"},
	{csvOrdered, `c,d,`, `c,x,`, "line 2", `No line has the category "x"`},
	{csvOrdered, `d,,1`, `d,c,1`, "line 3", `section_category is "c", but "d" on line 2`},
	{csvOrdered, `d,,1`, `d,,0`, "line 3", `category_number "0"`},
	{csvOrdered, `d,,1`, `d,,65`, "line 3", `category_number "65"`},
	{csvOrdered, `d,,1`, `d,,first`, "line 3", `category_number "first"`},
	{csvMore, `pit,,,d,,,,,Standing`, `A,,,d,,,,,`, "line 6", "either rows or a capacity"},
}

func TestReadCSV_NamesTheLineOfEachProblem(t *testing.T) {
	t.Parallel()
	for _, row := range csvWrong {
		t.Run(row.new, func(t *testing.T) {
			t.Parallel()
			if strings.Count(row.table, row.old) != 1 {
				t.Fatal("the table has changed: ", row.old)
			}
			_, _, problems, _ := readCSV([]byte(strings.Replace(row.table, row.old, row.new, 1)), Options{Name: "file"})
			if row.what == "" { // no problem
				if len(problems) > 0 {
					t.Error(problems)
				}
				return
			}
			if len(problems) != 1 || problems[0].Where != row.where || !strings.Contains(problems[0].What, row.what) {
				t.Errorf("want %q at %s, got %v", row.what, row.where, problems)
			}
		})
	}
	for text, where := range map[string]string{
		"": "line 1", "\n\n": "line 1", "a;b\n": "line 1", "section,row,seat,category\n": "line 1", "sep=|\na|b": "line 1",
		"section,row,seat,category\nA,1,,\nA,1,,\nA,2,1,c": "line 2", "section,row,seat,category\nA,1,1,\n": "line 2",
	} {
		if _, _, problems, _ := readCSV([]byte(text), Options{Name: "file"}); len(problems) != 1 || problems[0].Where != where {
			t.Errorf("%q: %v", text, problems)
		}
	}
}

func TestReadCSV_SaysAllProblemsByLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("3", 40)
	text := strings.NewReplacer("20.25", "north", "Stalls,A,3", "Stalls,A,"+long, "Balcony,A,1", "Balcony,,1").Replace(csvExample)
	_, _, problems, _ := readCSV([]byte(text), Options{Name: "\x00"})
	var where []string
	for _, p := range problems {
		where = append(where, p.Where)
	}
	if got := strings.Join(where, ","); got != "line 3,line 4,line 6" {
		t.Error(got, problems)
	}
	if _, _, problems, _ = readCSV([]byte(csvExample), Options{}); len(problems) != 1 || problems[0].Where != "name" {
		t.Error(problems)
	}
	_, _, problems, _ = readCSV([]byte(csvExample+strings.Repeat("A,,1,c\n", 1000)), Options{Name: "file"})
	if len(problems) != seating.MaxProblems {
		t.Error(len(problems))
	}
}

func TestReadCSV_IsBounded(t *testing.T) { // alone, because it measures what the process allocates
	const header = "section,row,seat,category\n"
	numbered := func(format string, n int) string {
		var b strings.Builder
		b.WriteString(header)
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, what string }{
		"sections":   {numbered("%d,1,1,c\n", 1_000_000), "at most 500 sections"},
		"rows":       {numbered("A,%d,,\n", 1_000_000), "at most 400000 seats and gaps"},
		"seats":      {numbered("A,1,%d,c\n", 1_000_000), "at most 200000 seats in rows"},
		"categories": {numbered("A,1,%d,c%[1]d\n", 1_000_000), "at most 64 categories"},
		"gaps":       {header + strings.Repeat("A,1,,\n", 3_000_000), "at most 400000 seats and gaps"},
		"cells":      {strings.Repeat(",", 5_000_000), "more than 100000 bytes"},
		"columns":    {header + strings.Repeat(",", 5_000_000), "more than 100000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, problems, _ := readCSV([]byte(c.text), Options{Name: "file"})
			runtime.ReadMemStats(&after)
			if n := len(problems); n == 0 || n > seating.MaxProblems || !strings.Contains(problems[n-1].What, c.what) {
				t.Errorf("%d problems: %v", n, problems)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 250<<20 {
				t.Errorf("%d bytes", used)
			}
		})
	}
}
