package pretix_test

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/seats/seating"
	"github.com/holdfast-dev/holdfast/seats/seating/planjson"
	"github.com/holdfast-dev/holdfast/seats/seating/pretix"
)

// FuzzRead reads any text. A text that is accepted is a valid plan with all seats of the text, and
// the same each time.
func FuzzRead(f *testing.F) {
	if text, err := os.ReadFile("testdata/chamber.json"); err == nil {
		f.Add(text)
	}
	f.Add([]byte(example))
	for _, row := range wrong {
		f.Add([]byte(strings.Replace(example, row.old, row.new, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		plan, report, problems, err := pretix.Read(text, pretix.Options{Name: "file"})
		if len(problems) > seating.MaxProblems {
			t.Fatal(len(problems))
		}
		if err != nil || len(problems) > 0 {
			return
		}
		written, err := json.Marshal(planjson.Of(plan))
		if err != nil {
			t.Fatal(err)
		}
		if _, problems, err := planjson.Read(written); err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v, %v", written, problems, err)
		}
		again, sameReport, _, _ := pretix.Read(text, pretix.Options{Name: "file"})
		if !reflect.DeepEqual(again, plan) || !reflect.DeepEqual(sameReport, report) {
			t.Fatal("another plan of the same text")
		}
		listed, _, problems, err := pretix.Read(text, pretix.Options{Name: "file", AsListed: true})
		if err != nil || len(problems) > 0 || listed.TotalSeats() != plan.TotalSeats() {
			t.Fatalf("as listed, %d seats, not %d: %v, %v", listed.TotalSeats(), plan.TotalSeats(), problems, err)
		}
	})
}
