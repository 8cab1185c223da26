package planfile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// described has what pretix's format holds of a plan, in texts that can be compared. Categories are by name.
type described struct{ seats, labels, rows, sections, categories, colors, neighbours string }

func describePretix(plan holdfast.SeatingPlan) (d described) {
	plan = seating.Expand(plan)
	names := map[string]string{}
	for _, c := range plan.Categories {
		names[c.Key] = strings.TrimSpace(c.Name)
		d.categories += names[c.Key] + "|"
		d.colors += strings.ToLower(c.Color) + "|"
	}
	for _, s := range plan.Sections {
		if s.Capacity > 0 {
			continue
		}
		d.sections += s.Key + "=" + strings.TrimSpace(s.Name) + "|"
		for _, row := range s.Rows {
			d.rows += s.Key + "/" + row.Key + "=" + strings.TrimSpace(row.Label) + "|"
			d.neighbours += fmt.Sprint(neighbours(row))
			if len(neighbours(row)) > 1 {
				d.neighbours += string(row.Adjacency)
			}
		}
		var seats, labels []string
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat != nil {
					seats = append(seats, seat.ID+"="+names[seat.Category])
					labels = append(labels, seat.ID+"="+strings.TrimSpace(seat.Label))
				}
			}
		}
		slices.Sort(seats) // their order is that of neighbours
		slices.Sort(labels)
		d.seats, d.labels = d.seats+fmt.Sprint(seats), d.labels+fmt.Sprint(labels)
	}
	return d
}

// The plans of the field are written as they were read.
func TestWritePretix_IsReadBack(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../docs/plans/testdata/*.json")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "testdata/chamber.json") {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plan, _ := readAll(t, source, Options{})
		text, report, err := WritePretix(plan)
		if err != nil {
			t.Fatal(err)
		}
		again, _ := readAll(t, text, Options{})
		got, want := describePretix(again), describePretix(plan)
		if got != want || len(report) > 0 {
			t.Errorf("%s: %+v\nwant %+v\n%v", file, got, want, report)
		}
	}
}

// Whatever a plan has, the file is read, keeps all seats with their IDs, labels and categories, and each difference is reported.
func TestWritePretix_AnyPlanIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		plan := draw(t)
		text, report, err := WritePretix(plan)
		if errors.Is(err, ErrNoNumberedSeats) {
			for _, s := range plan.Sections {
				if s.Capacity == 0 {
					t.Fatal("the plan has numbered seats")
				}
			}
			return
		}
		if err != nil || !json.Valid(text) {
			t.Fatal(err, string(text))
		}
		c, err := Read(text, Options{Name: "file"})
		if err != nil || len(c.Problems) > 0 || c.Format != Pretix {
			t.Fatal(c.Format, c.Problems, err, string(text))
		}
		got, want := describePretix(c.Plan), describePretix(plan)
		said := fmt.Sprint(report)
		for _, part := range []struct{ got, want, note string }{
			{got.sections, want.sections, ""}, {got.colors, want.colors, ""},
			{got.seats, want.seats, "names of categories"}, {got.categories, want.categories, "names of categories"},
			{got.labels, want.labels, ""}, {got.rows, want.rows, "neighbours"}, {got.neighbours, want.neighbours, "neighbours"},
		} {
			if part.got != part.want && (part.note == "" || !strings.Contains(said, part.note)) {
				t.Fatalf("%s\nwant %s\n%v", part.got, part.want, report)
			}
		}
		wantPositions(t, c.Plan, plan, report)
	})
}

// wantPositions checks that all positions are the same after one scale and one way.
func wantPositions(t *rapid.T, again, plan holdfast.SeatingPlan, report Report) {
	w := &pretixWriter{plan: seating.Expand(plan), names: map[string]string{}}
	w.each(func(*holdfast.Seat) { w.seats++ })
	w.place()
	if isSaid := strings.Contains(fmt.Sprint(report), "positions, because"); isSaid == (w.scale == 1 && w.move == holdfast.Point{}) {
		t.Fatalf("the scale %d and the way %v, but %v", w.scale, w.move, report)
	}
	want := map[string]holdfast.Point{}
	w.each(func(seat *holdfast.Seat) {
		want[seat.ID] = holdfast.Point{X: *seat.X*w.scale + w.move.X, Y: *seat.Y*w.scale + w.move.Y}
	})
	for _, s := range again.Sections {
		for _, row := range s.Rows {
			for _, seat := range row.Seats {
				if seat != nil && want[seat.ID] != (holdfast.Point{X: *seat.X, Y: *seat.Y}) {
					t.Fatalf("%s is at %v %v, want %v", seat.ID, *seat.X, *seat.Y, want[seat.ID])
				}
			}
		}
	}
}

func TestWritePretix_AFile(t *testing.T) {
	t.Parallel()
	plan, _, _ := ReadJSON([]byte(`{"name":"Hall <1>","sections":[
 {"key":"A","name":"Left","category":"a","rows":[
  {"key":"1","label":"Row 1","seats":[{"id":"x"},null,{"id":"y","category":"b"},{"id":"z"}]}]},
 {"key":"pit","name":"Pit","category":"b","capacity":5}],
 "categories":[{"key":"a","name":"Best"},{"key":"b","name":"Best","color":"#abcdef"}]}`))
	text, report, err := WritePretix(plan)
	const want = `{
 "name":"Hall <1>",
 "size":{"width":125,"height":50},
 "categories":[
  {"name":"Best"},
  {"name":"b Best","color":"#abcdef"}],
 "zones":[
  {"zone_id":"A","name":"Left","position":{"x":0,"y":0},"areas":[],"rows":[
   {"row_number":"1","row_label":"Row 1","row_number_position":"both","seats":[` +
		`{"seat_guid":"x","seat_number":"1","position":{"x":25,"y":25},"category":"Best"},` +
		`{"seat_guid":"y","seat_number":"3","position":{"x":75,"y":25},"category":"b Best"},` +
		`{"seat_guid":"z","seat_number":"4","position":{"x":100,"y":25},"category":"Best"}]}]}]
}
`
	if string(text) != want || err != nil {
		t.Errorf("%s %v", text, err)
	}
	const wantReport = `[dropped: sections for general admission: 1 (pit) renamed: names of categories: 1 ("Best" is b Best) ` +
		`renamed: positions, because the unit of the format is a pixel: 1 (25 times as large, then moved by 0, 25) ` +
		`renamed: keys of categories, which the format makes of their names: 2 ("a" is Best; "b" is b-Best)]`
	if fmt.Sprint(report) != wantReport {
		t.Error(report)
	}
}

func TestWritePretix_SaysWhatTheFormatDoesNotHave(t *testing.T) {
	t.Parallel()
	plan, _, _ := ReadJSON([]byte(jsonExample))
	row := &plan.Sections[0].Rows[1]
	row.Adjacency, row.Label, plan.Sections[0].Name = holdfast.AdjacencyNone, "%s of 2", " Left "
	_, report, err := WritePretix(plan)
	if err != nil {
		t.Fatal(err)
	}
	said := fmt.Sprint(report)
	for _, want := range []string{
		"focal points: 1", "decorations: 5", "floors of sections: 1", "entrances of sections: 1", "views of sections: 1",
		"outlines of sections: 1",
		"marks of accessible seats: 1", "marks of companion seats: 1", "restricted views of seats: 1", "notes of seats: 1", "views of seats: 1",
		"general admission: 1 (pit)", "neighbours in rows, where the positions show others: 2 (A/1; A/2)",
		`labels of rows: 1 ("%s of 2" is 2 of 2)`,
		`names of sections: 1 (" Left " is Left)`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
	plan.Sections = plan.Sections[1:]
	if _, _, err = WritePretix(plan); !errors.Is(err, ErrNoNumberedSeats) {
		t.Error(err)
	}
}
