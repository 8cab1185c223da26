package planfile

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// asPretix writes the rows of a plan in pretix's format, which has positions and no gaps.
func asPretix(t *testing.T, plan holdfast.SeatingPlan) []byte {
	t.Helper()
	type object map[string]any
	var zones []object
	for _, s := range seating.Expand(plan).Sections {
		rows := []object{}
		for _, row := range s.Rows {
			if row.Adjacency != holdfast.AdjacencyLine { // the boxes are not ordinary rows
				continue
			}
			var seats []object
			for _, seat := range row.Seats {
				if seat != nil {
					at := object{"x": number(*seat.X), "y": number(*seat.Y)}
					seats = append(seats, object{"seat_guid": seat.ID, "seat_number": seat.Label, "category": "c", "position": at})
				}
			}
			rows = append(rows, object{"row_number": row.Key, "seats": seats})
		}
		zones = append(zones, object{"name": s.Name, "zone_id": s.Key, "rows": rows})
	}
	text, err := json.Marshal(object{"name": plan.Name, "categories": []object{{"name": "c"}}, "zones": zones})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The examples have straight rows, arcs and aisles. The golden file is from before rows were examined for
// tables: these rows stay exactly as they were, in both formats.
func TestRead_OrdinaryRowsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, name := range []string{"theatre", "arena", "cinema"} {
		source, err := Examples.ReadFile("examples/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		plan, problems, err := ReadJSON(source)
		if err != nil || len(problems) > 0 {
			t.Fatal(problems, err)
		}
		table, _ := WriteCSV(plan)
		for format, text := range map[Format][]byte{CSV: table, Pretix: asPretix(t, plan)} {
			c, err := Read(text, Options{Format: format, Name: name})
			if err != nil || len(c.Problems) > 0 {
				t.Fatal(c.Problems, err)
			}
			written, err := WriteJSON(c.Plan)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s %s %x\n", name, format, sha256.Sum256(written))
		}
		fmt.Fprintf(&got, "%s table %x\n", name, sha256.Sum256(table))
	}
	compareGolden(t, "testdata/ordinary.golden", sortedLines(got.String()))
}

func sortedLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(path); err != nil || got != string(want) {
		t.Errorf("%s: %v\n%.10000s", path, err, got)
	}
}
