package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/planfile"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

const (
	examplePlans = "../../seats/planfile/examples/"
	pretixPlan   = "../../seats/planfile/testdata/chamber.json"
	smallPlan    = `{"name":"Hall","categories":[{"key":"c","name":"C"}],"sections":[{"key":"A","name":"A","category":"c",` +
		`"rows":[{"key":"1","seats":[{"id":"x"},null,{"id":"y","label":"9"}]},{"key":"2","seats":3}]}]}`
	smallTable     = "section;row;seat;category\r\nA;1;1;c\r\nA;1;2;c\r\n"
	smallPlanCells = "Hall json 1 2 5 0 5 1" // of the table that check prints
)

// offline runs seatctl without a database.
func offline(in string, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = runCommandLine(args, strings.NewReader(in), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// file writes a file for a test, and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A check needs no database, and no settings: those that are wrong do not matter.
func TestPlansCheck_NeedsNoDatabase(t *testing.T) {
	t.Setenv("MONGODB_URI", "")
	t.Setenv("LEASE_TTL", "1ns")
	if code, out, errs := offline(smallPlan, "plans", "check", "-"); code != 0 || errs != "" ||
		!strings.Contains(strings.Join(strings.Fields(out), " "), smallPlanCells) {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if code, _, errs := offline(smallPlan, "plans", "import", "-"); code != 2 || !strings.Contains(errs, "MONGODB_URI") {
		t.Errorf("an import: %d %s", code, errs)
	}
	if code, _, errs := offline("", "plans", "check"); code != 2 || !strings.Contains(errs, "<file>") {
		t.Errorf("no file: %d %s", code, errs)
	}
}

// The plans of the field have the neighbours that a picture of their picks shows.
func TestPlansCheck_MarksPicks(t *testing.T) {
	t.Parallel()
	const plans = "../../docs/plans/testdata/"
	for name, picks := range map[string][]string{"benches": {"2", "2"}, "rings": {"10"}, "hall": {"4"}, "stadium": {"4", "8"}} {
		args := []string{"plans", "check", plans + name + ".json", "-o", "-"}
		for _, n := range picks {
			args = append(args, "--pick", n)
		}
		code, picture, errs := offline("", args...)
		n, err := strconv.Atoi(picks[0])
		if marked := strings.Count(picture, `fill="#ffffff">1</text>`); err != nil || code != 0 || marked != n {
			t.Errorf("%s: %d seats are marked as the first pick, want %d; %d %s", name, marked, n, code, errs)
		}
	}
	for _, wrong := range []string{"0", "51", "50", "x"} {
		if code, _, errs := offline("", "plans", "check", plans+"benches.json", "--pick", wrong); code == 0 || !strings.Contains(errs, "pick") {
			t.Errorf("--pick %s: %d %s", wrong, code, errs)
		}
	}
}

func TestPlansCheck_TheExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(examplePlans + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| \[(\w+\.json)\]\(\w+\.json\) \| (\d+) \| (\d+) \| (\d+) \|`).FindAllStringSubmatch(string(page), -1)
	if len(rows) < 3 {
		t.Fatal(rows)
	}
	for _, row := range rows {
		code, out, errs := offline("", "plans", "check", examplePlans+row[1], "-o", "json")
		for name, want := range map[string]string{"totalSeats": row[2], "seats": row[3], "generalAdmission": row[4]} {
			if !strings.Contains(out, `"`+name+`": `+want) {
				t.Errorf("%s: no %s %s in %s", row[1], name, want, out)
			}
		}
		if code != 0 || errs != "" {
			t.Errorf("%s: %d %s", row[1], code, errs)
		}
	}
}

func TestPlansCheck_FindsTheFormat(t *testing.T) {
	t.Parallel()
	pretix, err := os.ReadFile(pretixPlan)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   string
		args []string
		want string
	}{
		"json":              {in: smallPlan, want: `"format": "json"`},
		"json, with a mark": {in: "\ufeff" + smallPlan, want: `"format": "json"`},
		"csv":               {in: smallTable, want: `"format": "csv"`},
		"csv, with a mark":  {in: "\ufeff" + smallTable, want: `"format": "csv"`},
		"pretix":            {in: string(pretix), want: `"format": "pretix"`},
		"a name":            {in: smallTable, args: []string{"--name", "My hall"}, want: `"name": "My hall"`},
		"another name":      {in: smallPlan, args: []string{"--name", "My hall"}, want: `"name": "My hall"`},
		"csv by name":       {args: []string{file(t, "My hall.CSV", smallTable)}, want: `"name": "My hall"`},
		"csv by content":    {args: []string{file(t, "hall.txt", smallTable)}, want: `"format": "csv"`},
		"json by content":   {args: []string{file(t, "hall.txt", smallPlan)}, want: `"format": "json"`},
		"differences":       {in: string(pretix), want: `"what": "areas, with their texts"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"-o", "json", "plans", "check"}, c.args...)
			if c.in != "" {
				args = append(args, "-")
			}
			if code, out, errs := offline(c.in, args...); code != 0 || !strings.Contains(out, c.want) {
				t.Errorf("%d %s %s", code, out, errs)
			}
		})
	}
	_, _, report := offline(string(pretix), "plans", "check", "-")
	if !strings.Contains(report, "dropped: areas, with their texts: 3\n") || !strings.Contains(report, "guessed: gaps") {
		t.Error(report)
	}
	if _, _, report = offline(string(pretix), "plans", "check", "-", "--as-listed"); strings.Contains(report, "guessed") {
		t.Error(report)
	}
}

// The options say what a file lacks, and a comma does not separate them.
func TestPlansCheck_TakesOptionsForWhatAFileLacks(t *testing.T) {
	t.Parallel()
	const seat = `{"seat_guid":"%s","seat_number":"1","category":"","position":{"x":%d,"y":%d},"wheelchair":true}`
	bench := `{"name":"Bench","categories":[],"zones":[{"name":"Main, left","rows":[{"row_number":"1","seats":[` + strings.Join([]string{
		fmt.Sprintf(seat, "a", 0, 0), fmt.Sprintf(seat, "b", 60, 0), fmt.Sprintf(seat, "c", 0, 25), fmt.Sprintf(seat, "d", 60, 25),
	}, ",") + `]}]}]}`
	for name, c := range map[string]struct {
		args  []string
		code  int
		wants string
	}{
		"nothing":            {nil, 1, "the standard input: --category: The file has no categories"},
		"a category":         {[]string{"--category", "c"}, 0, `unknown property of seats "wheelchair": 4; use it with --accessible`},
		"two sides":          {[]string{"--category", "c"}, 0, "become a row for each: 1 (Main-left/1)"},
		"a property":         {[]string{"--category", "c", "--accessible", "wheelchair"}, 0, "guessed"},
		"another property":   {[]string{"--category", "c", "--accessible", "weelchair"}, 1, "--accessible: No seat"},
		"an adjacency":       {[]string{"--category=c", "--accessible", "wheelchair", "--adjacency", "Main, left/1=ALL"}, 0, "renamed: zones: 1"},
		"an unknown section": {[]string{"--category=c", "--adjacency=Main, left/1=ALL", "--adjacency=Nowhere=ALL"}, 1, "--adjacency: No section"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := offline(bench, append([]string{"plans", "check", "-"}, c.args...)...)
			isWhole := strings.Contains(strings.Join(c.args, " "), "1=ALL") && c.code == 0 // nothing is guessed, or left out
			if code != c.code || !strings.Contains(errs, c.wants) || isWhole && strings.Count(errs, "\n") != 1 {
				t.Errorf("%d %s %s", code, out, errs)
			}
		})
	}
}

func TestPlansCheck_ListsProblems(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in, want, says string
		args           []string
	}{
		"json":           {in: strings.Replace(smallPlan, `"y"`, `"x"`, 1), want: "sections[0].rows[0].seats[2].id", says: "1 problem\n"},
		"csv":            {in: strings.Replace(smallTable, "1;2", "1;1", 1), want: "line 3", says: "1 problem\n"},
		"pretix":         {in: `{"name":"x","categories":[],"zones":[]}`, want: "zones", says: "2 problems\n"},
		"as JSON":        {in: smallTable + "A;;3;c", want: `"location": "line 4"`, args: []string{"-o", "json"}, says: "1 problem\n"},
		"many":           {in: smallTable + strings.Repeat("A;;3;c\n", 200), want: "line 103", says: "the first 100 problems\n"},
		"no JSON":        {in: `{"name":`, says: "the standard input: the text is not JSON"},
		"another format": {in: smallTable, args: []string{"--format", "json"}, says: "the standard input: the text is not JSON"},
		"a pretix plan":  {in: `{"zones":[]}`, args: []string{"--format", "json"}, want: "unexpected property", says: "problems\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := offline(c.in, append([]string{"plans", "check", "-"}, c.args...)...)
			if code != 1 || !strings.Contains(out, c.want) || !strings.Contains(errs, c.says) {
				t.Errorf("%d %s %s", code, out, errs)
			}
		})
	}
	if code, _, errs := offline("", "plans", "check", "no such file"); code != 1 || !strings.Contains(errs, "no such file") {
		t.Errorf("%d %s", code, errs)
	}
	for _, args := range [][]string{{"--format", "xml"}, {"--name", " "}, {"--name", "a\x1bb"}} {
		if code, _, errs := offline(smallPlan, append([]string{"plans", "check", "-"}, args...)...); code != 2 {
			t.Errorf("%q: %d %s", args, code, errs)
		}
	}
}

// importPlan imports a file and returns the plan's ID.
func importPlan(t *testing.T, env *testenv.Env, in string, args ...string) string {
	t.Helper()
	code, out, errs := ctl(env, in, append([]string{"plans", "import"}, args...)...)
	id := strings.TrimSuffix(out, "\n")
	if _, err := holdfast.ParseID(id); code != 0 || err != nil {
		t.Fatalf("%d %s %s", code, out, errs)
	}
	return id
}

// Export writes what import reads: a plan that is exported and imported is the same plan, in its
// own format and as a table.
func TestPlansExport_IsImportedAsTheSamePlan(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	for _, source := range []string{examplePlans + "theatre.json", examplePlans + "arena.json", examplePlans + "cinema.json", pretixPlan} {
		id := importPlan(t, env, "", source)
		code, text, errs := ctl(env, "", "plans", "export", id)
		if code != 0 || errs != "" {
			t.Fatal(code, errs)
		}
		again := importPlan(t, env, text, "-")
		if code, copied, _ := ctl(env, "", "plans", "export", again); code != 0 || copied != text {
			t.Errorf("%s: %d, another plan", source, code)
		}
		want, problems, err := planfile.ReadJSON([]byte(text))
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		if text, err := os.ReadFile(source); err != nil {
			t.Fatal(err)
		} else if original, problems, err := planfile.ReadJSON(text); source != pretixPlan &&
			(err != nil || len(problems) > 0 || !reflect.DeepEqual(seating.Expand(original), want)) {
			t.Errorf("%s: not the plan of the file", source)
		}
		path := filepath.Join(t.TempDir(), want.Name+".csv")
		if code, out, errs := ctl(env, "", "plans", "export", id, path); code != 0 || out != "" {
			t.Errorf("%d %s %s", code, out, errs)
		}
		if code, out, errs := offline("", "plans", "check", path, "-o", "json"); code != 0 || errs != "" ||
			!strings.Contains(out, `"name": "`+want.Name+`"`) {
			t.Errorf("%d %s %s", code, out, errs)
		}
	}
}

// A table keeps the categories of sections and seats, and the order of the categories; what it drops is told.
func TestPlansExport_ToATableKeepsTheCategories(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	const plan = `{"name":"Hall","focalPoint":{"x":1,"y":0},"categories":[{"key":"best","name":"best"},{"key":"usual","name":"usual"},` +
		`{"key":"none","name":"none"}],"sections":[{"key":"A","name":"A","category":"best","rows":[` +
		`{"key":"1","seats":[{"id":"A-1-1","category":"usual"},{"id":"A-1-2"}]}]}]}`
	id := importPlan(t, env, plan, "-")
	code, table, errs := ctl(env, "", "plans", "export", id, "--format", "csv")
	const want = "section,row,seat,category,x,y,accessible,section_category,category_number\n" +
		"A,1,1,usual,,,,best,2\nA,1,2,best,,,,best,1\n"
	if code != 0 || table != want || errs != "dropped: focal points: 1\ndropped: categories without seats: 1\n" {
		t.Errorf("%d\n%s%s", code, table, errs)
	}
	_, again, _ := ctl(env, "", "plans", "export", importPlan(t, env, table, "-"))
	sections := func(text string) any {
		var p struct{ Sections any }
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		return p.Sections
	}
	_, original, _ := ctl(env, "", "plans", "export", id)
	if !reflect.DeepEqual(sections(again), sections(original)) {
		t.Errorf("%s\n%s", original, again)
	}
}

// The format of pretix is imported again, and a picture is the one that check draws.
func TestPlansExport_ToOtherFormats(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	id := importPlan(t, env, "", examplePlans+"cinema.json")
	code, text, errs := ctl(env, "", "plans", "export", id, "--format", "pretix")
	if code != 0 || !strings.Contains(errs, "dropped: focal points: 1\n") {
		t.Errorf("%d %s", code, errs)
	}
	before, err := os.ReadFile(examplePlans + "cinema.svg")
	if err != nil {
		t.Fatal(err)
	}
	drawn := strings.Count(string(before), "</title></circle>") + strings.Count(string(before), "</title></rect>")
	if again := importPlan(t, env, text, "-"); again == id || strings.Count(text, "seat_guid") != drawn {
		t.Errorf("%d seats, want %d", strings.Count(text, "seat_guid"), drawn)
	}
	path := filepath.Join(t.TempDir(), "hall.SVG")
	if code, out, errs := ctl(env, "", "plans", "export", id, path); code != 0 || out+errs != "" {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if drawn, err := os.ReadFile(path); err != nil || string(drawn) != string(before) {
		t.Errorf("another picture, %v", err)
	}
	standing := importPlan(t, env, `{"name":"P","categories":[{"key":"c","name":"C"}],"sections":[`+
		`{"key":"A","name":"A","category":"c","capacity":5}]}`, "-")
	code, text, errs = ctl(env, "", "plans", "export", standing, "--format", "pretix")
	if code != 1 || text != "" || !strings.Contains(errs, "numbered seats") {
		t.Errorf("%d %s %s", code, text, errs)
	}
}

func TestPlansImport_OnceForEachKey(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	first, second := importPlan(t, env, smallPlan, "-"), importPlan(t, env, smallPlan, "-")
	keyed := importPlan(t, env, smallPlan, "-", "--key", "k")
	if again := importPlan(t, env, smallPlan, "-", "--key", "k"); first == second || keyed == first || again != keyed {
		t.Error(first, second, keyed, again)
	}
	code, out, errs := ctl(env, smallPlan, "plans", "import", "-", "--key", "k", "-o", "json")
	if code != 0 || !strings.Contains(out, `"replayed": true`) || !strings.Contains(out, keyed) {
		t.Errorf("%d %s %s", code, out, errs)
	}
	code, out, errs = ctl(env, smallTable, "plans", "import", "-", "--key", "k")
	if code != 1 || out != "" || !strings.Contains(errs, "key") {
		t.Errorf("another plan: %d %s %s", code, out, errs)
	}
	if code, out, errs := ctl(env, smallTable+"A;;;c", "plans", "import", "-"); code != 1 || !strings.Contains(out, "line 4") {
		t.Errorf("a problem: %d %s %s", code, out, errs)
	}
	if code, _, errs := ctl(env, smallPlan, "plans", "import", "-", "--key", strings.Repeat("k", 201)); code != 2 {
		t.Errorf("a long key: %d %s", code, errs)
	}
}

func TestPlansExport_RefusesWhatIsNoPlan(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	for id, want := range map[string]int{"x": 2, strings.Repeat("0", 24): 2, strings.Repeat("a", 24): 1} {
		if code, out, errs := ctl(env, "", "plans", "export", id); code != want || out != "" {
			t.Errorf("%s: %d %s %s", id, code, out, errs)
		}
	}
	id := importPlan(t, env, smallPlan, "-")
	if code, out, errs := ctl(env, "", "plans", "export", id, "--format", "csv"); code != 0 || errs != "" ||
		!strings.HasPrefix(out, "section,row,seat,category,x,y,accessible,id") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	if code, _, errs := ctl(env, "", "plans", "export", id, filepath.Join(t.TempDir(), "none", "x.json")); code != 1 {
		t.Errorf("%d %s", code, errs)
	}
}

// A terminal obeys no text of a plan.
func TestPlansExport_NothingThatATerminalObeys(t *testing.T) {
	t.Parallel()
	env := testenv.New(t)
	id := importPlan(t, env, strings.Replace(smallPlan, `"Hall"`, `"a\u200eb"`, 1), "-")
	code, text, _ := ctl(env, "", "plans", "export", id)
	if code != 0 || !strings.Contains(text, `"a\u200eb"`) || importPlan(t, env, text, "-") == id {
		t.Errorf("%d %s", code, text)
	}
}
