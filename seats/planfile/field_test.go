package planfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// The plans have the shapes of plans that are in use: benches, tables, aisles that only the positions show, and rows
// that double back. Each golden file has the report and the rows, with | for a gap.
func TestRead_PlansOfTheField(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/plans/testdata/*.json")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			plan, report := readAll(t, text, Options{})
			var got strings.Builder
			for _, note := range report {
				fmt.Fprintln(&got, note)
			}
			for _, s := range plan.Sections {
				for _, row := range s.Rows {
					fmt.Fprintln(&got, strings.TrimSpace(fmt.Sprint(s.Key, "/", row.Key, " ", order(row), " ", row.Adjacency)))
				}
			}
			compareGolden(t, strings.TrimSuffix(file, ".json")+".golden", got.String())
		})
	}
}

// Two together sit on one side of a bench, and two of one side may be named: they leave no single seats.
func TestRead_SeatsOfABenchAreSoldSideBySide(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/plans/testdata/benches.json")
	if err != nil {
		t.Fatal(err)
	}
	plan, _ := readAll(t, text, Options{})
	hall, err := seating.NewHall(plan)
	if err != nil {
		t.Fatal(err)
	}
	place := func(id string) seating.Place {
		p, isFound := hall.Find(id)
		if !isFound {
			t.Fatal(id)
		}
		return p
	}
	side := map[string]holdfast.Thousandths{}
	for _, row := range plan.Sections[0].Rows {
		for _, seat := range row.Seats {
			side[seat.ID] = *seat.X
		}
	}
	o := seating.NewOccupancy(hall)
	if orphans := o.Orphans([]seating.Place{place("G1-1"), place("G1-3")}, nil, false); len(orphans) > 0 {
		t.Error(orphans)
	}
	if hall.Together([]seating.Place{place("G1-4"), place("G1-5")}) {
		t.Error("seats across the diagonal are together")
	}
	for range plan.TotalSeats() / 2 {
		a := o.Best(seating.Wish{Seats: 2, Section: seating.AnySection, Settled: true}, nil)
		if a.Outcome != seating.Together || side[hall.Seat(a.Places[0]).ID] != side[hall.Seat(a.Places[1]).ID] {
			t.Fatal(a)
		}
		for _, p := range a.Places {
			o.Take(p)
		}
	}
}
