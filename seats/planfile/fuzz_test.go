package planfile

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/seats/seating"
)

// FuzzCSV reads any text. A table that is accepted is a valid plan, which is written and read back
// as the same seats.
func FuzzCSV(f *testing.F) {
	f.Add([]byte(csvExample))
	f.Add([]byte(csvMore))
	f.Add([]byte(csvOrdered))
	f.Add([]byte("sep=;\r\n" + strings.ReplaceAll(csvExample, ",", ";")))
	for _, row := range csvWrong {
		f.Add([]byte(strings.Replace(row.table, row.old, row.new, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(text, Options{Format: CSV, Name: "file"})
		plan, problems := c.Plan, c.Problems
		if len(problems) > seating.MaxProblems {
			t.Fatal(len(problems))
		}
		if err != nil || len(problems) > 0 {
			return
		}
		if problems := seating.Check(plan); len(problems) > 0 {
			t.Fatal(problems)
		}
		written, dropped := WriteCSV(plan)
		again, _ := Read(written, Options{Format: CSV, Name: "file"})
		if len(again.Problems) > 0 || describe(again.Plan) != describe(plan) {
			t.Fatalf("%s: %v\n%s\n%s", written, again.Problems, describe(plan), describe(again.Plan))
		}
		wantCategories(t, again.Plan, plan, dropped)
	})
}

// FuzzJSON reads any text. A text that is accepted is written and read back as the same plan.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(jsonExample))
	for _, row := range jsonWrong {
		f.Add([]byte(strings.Replace(jsonExample, row.old, row.new, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, problems, err := ReadJSON(text)
		if valid := json.Valid(text); err == nil && !valid {
			t.Fatal("the text is not JSON, but was read")
		}
		if err != nil || len(problems) > 0 {
			return
		}
		written, err := json.Marshal(PlanOf(plan))
		if err != nil {
			t.Fatal(err)
		}
		again, problems, err := ReadJSON(written)
		if err != nil || len(problems) > 0 || !reflect.DeepEqual(seating.Expand(again), seating.Expand(plan)) {
			t.Fatalf("%s: %v, %v", written, problems, err)
		}
		if _, _, err := WritePretix(plan); err != nil && !errors.Is(err, ErrNoNumberedSeats) {
			t.Fatal(err)
		}
	})
}

// FuzzPretix reads any text. A text that is accepted is a valid plan with all seats of the text, and
// the same each time.
func FuzzPretix(f *testing.F) {
	if text, err := os.ReadFile("testdata/chamber.json"); err == nil {
		f.Add(text)
	}
	f.Add([]byte(pretixExample))
	for _, row := range pretixWrong {
		f.Add([]byte(strings.Replace(pretixExample, row.old, row.new, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Read(text, Options{Format: Pretix, Name: "file"})
		plan, report, problems := c.Plan, c.Report, c.Problems
		if len(problems) > seating.MaxProblems {
			t.Fatal(len(problems))
		}
		if err != nil || len(problems) > 0 {
			return
		}
		written, err := json.Marshal(PlanOf(plan))
		if err != nil {
			t.Fatal(err)
		}
		if _, problems, err := ReadJSON(written); err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v, %v", written, problems, err)
		}
		again, _ := Read(text, Options{Format: Pretix, Name: "file"})
		if !reflect.DeepEqual(again.Plan, plan) || !reflect.DeepEqual(again.Report, report) {
			t.Fatal("another plan of the same text")
		}
		listed, err := Read(text, Options{Format: Pretix, Name: "file", AsListed: true})
		if err != nil || len(listed.Problems) > 0 || listed.Plan.TotalSeats() != plan.TotalSeats() {
			t.Fatalf("as listed, %d seats, not %d: %v, %v", listed.Plan.TotalSeats(), plan.TotalSeats(), listed.Problems, err)
		}
	})
}
