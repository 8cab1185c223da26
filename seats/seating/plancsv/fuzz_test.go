package plancsv_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/seats/seating"
	"github.com/holdfast-dev/holdfast/seats/seating/plancsv"
)

// FuzzRead reads any text. A table that is accepted is a valid plan, which is written and read back
// as the same seats.
func FuzzRead(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(more))
	f.Add([]byte(ordered))
	f.Add([]byte("sep=;\r\n" + strings.ReplaceAll(example, ",", ";")))
	for _, row := range wrong {
		f.Add([]byte(strings.Replace(row.table, row.old, row.new, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, _, problems := plancsv.Read(text, "file")
		if len(problems) > seating.MaxProblems {
			t.Fatal(len(problems))
		}
		if len(problems) > 0 {
			return
		}
		if problems := seating.Check(plan); len(problems) > 0 {
			t.Fatal(problems)
		}
		written, dropped := plancsv.Write(plan)
		again, _, problems := plancsv.Read(written, "file")
		if len(problems) > 0 || describe(again) != describe(plan) {
			t.Fatalf("%s: %v\n%s\n%s", written, problems, describe(plan), describe(again))
		}
		wantCategories(t, again, plan, dropped)
	})
}
