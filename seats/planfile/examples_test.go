package planfile

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/holdfast-dev/holdfast/seats/seating"
)

const examples = "examples/"

// exampleRow is a row of the table in examples/README.md.
var exampleRow = regexp.MustCompile(`(?m)^\| \[(\w+\.json)\]\(\w+\.json\) \| (\d+) \| (\d+) \| (\d+) \|`)

// Each example is a valid plan, and has the seats that the page about it says.
func TestExamples_HaveTheSeatsThatTheirPageSays(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(examples + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(examples + "*.json")
	rows := exampleRow.FindAllStringSubmatch(string(page), -1)
	if err != nil || len(rows) != len(files) || len(rows) < 3 {
		t.Fatalf("%d rows for the files %v, %v", len(rows), files, err)
	}
	for _, row := range rows {
		t.Run(row[1], func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(examples + row[1])
			if err != nil {
				t.Fatal(err)
			}
			plan, problems, err := ReadJSON(text)
			if err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
			h, err := seating.NewHall(plan)
			if err != nil {
				t.Fatal(err)
			}
			standing := h.TotalSeats() - int64(h.NumberedSeats())
			for i, got := range []int64{h.TotalSeats(), int64(h.NumberedSeats()), standing} {
				if want := row[i+2]; strconv.FormatInt(got, 10) != want {
					t.Errorf("%d seats; the page says %s", got, want)
				}
			}
		})
	}
}
