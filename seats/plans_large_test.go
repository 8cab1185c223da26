package seats_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats"
	"github.com/holdfast-dev/holdfast/seats/planfile"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// large returns a plan with as many seats, and sections of the same size; each seat has a note.
func large(seats, sectionSeats int, note string) holdfast.SeatingPlan {
	const rowSeats = 100
	plan := holdfast.SeatingPlan{
		Name: "Large", Categories: []holdfast.Category{{Key: "a", Name: "A"}, {Key: "b", Name: "B"}}, FocalPoint: &holdfast.Point{},
	}
	for n := range seats / sectionSeats {
		s := holdfast.Section{Key: fmt.Sprintf("s%d", n), Name: fmt.Sprintf("Section %d", n), Category: "a"}
		for r := range sectionSeats / rowSeats {
			row := holdfast.Row{Key: fmt.Sprint(r), Seats: make([]*holdfast.Seat, rowSeats)}
			for i := range row.Seats {
				row.Seats[i] = &holdfast.Seat{
					ID: fmt.Sprintf("%d-%d-%d", n, r, i), Note: note, X: new(holdfast.Thousandths(i * 1250)), Y: new(holdfast.Thousandths(r * 987)),
				}
			}
			s.Rows = append(s.Rows, row)
		}
		plan.Sections = append(plan.Sections, s)
	}
	return plan
}

// mostDecorations has as many decorations, points and characters as a plan may have.
func mostDecorations() (all []holdfast.Decoration) {
	long := strings.Repeat("\U0001f3ad", holdfast.MaxDecorationTextLength)
	for i := range holdfast.MaxDecorations {
		at := &holdfast.Point{X: 123_456, Y: -holdfast.Thousandths(i)}
		d := holdfast.Decoration{Kind: holdfast.DecorationText, At: at, Text: long, Floor: long}
		if i < holdfast.MaxPlanDecorationPoints/holdfast.MaxDecorationPoints {
			d.Kind, d.At, d.Points = holdfast.DecorationArea, nil, make([]holdfast.Point, holdfast.MaxDecorationPoints)
			d.Points[i].X = holdfast.MaxPlanCoordinate - 1
		}
		all = append(all, d)
	}
	return all
}

// A plan may be larger than one document and than one command: the most seats, with notes that fill
// a body of 20,000,000 bytes. So may a section.
func TestCreate_TakesTheLargestPlan(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for name, plan := range map[string]holdfast.SeatingPlan{
		"plan":    large(holdfast.MaxPlanSeats, holdfast.MaxPlanSeats/20, strings.Repeat("n", 40)),
		"section": large(holdfast.MaxSectionSeats, holdfast.MaxSectionSeats, strings.Repeat("\U0001f3ad", holdfast.MaxPlanNoteLength)),
	} {
		t.Run(name, func(t *testing.T) {
			plan.Decorations = mostDecorations()
			of, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{Key: name})
			if err != nil {
				t.Fatal(err)
			}
			got, err := w.Plans.Get(w.Ctx(), of.ID)
			if err != nil {
				t.Fatal(err)
			}
			want := seating.Expand(plan)
			if want.ID, want.CreatedAt = of.ID, of.CreatedAt; !reflect.DeepEqual(got, want) {
				t.Error("the plan was read otherwise than it was created")
			}
			if _, replayed, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{Key: name}); err != nil || !replayed {
				t.Errorf("again: replayed %v, %v", replayed, err)
			}
		})
	}
}

// What a plan of 100,000 seats costs: the engine's part, without HTTP.
func BenchmarkPlan100000(b *testing.B) {
	w := testenv.New(b)
	plan := large(100_000, 2_000, "")
	var of []holdfast.ID
	b.Run("create", func(b *testing.B) {
		for b.Loop() {
			s, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{Key: fmt.Sprint(len(of))})
			if err != nil {
				b.Fatal(err)
			}
			of = append(of, s.ID)
		}
	})
	b.Run("get", func(b *testing.B) {
		for b.Loop() {
			if _, err := w.Plans.Get(w.Ctx(), of[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("hall", func(b *testing.B) {
		for b.Loop() {
			if _, err := seats.NewPlans(w.DB).Hall(w.Ctx(), of[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The sections of a plan are encoded once, however they are asked for.
func TestTexts_AreEncodedOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	plan := large(30_000, 1_500, "")
	plan.Sections = append(plan.Sections, holdfast.Section{Key: "pit", Name: "Pit", Category: "b", Capacity: 50_000})
	of, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := w.Plans.Get(w.Ctx(), of.ID)
	if err != nil {
		t.Fatal(err)
	}
	first := map[int]*byte{}
	for range 2 {
		for _, numbers := range [][]int{{3}, {0, 20}, {5, 6, 7}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}} {
			var got []int
			for text, err := range w.Plans.Texts(w.Ctx(), of, numbers) {
				if err != nil {
					t.Fatal(err)
				}
				n := numbers[len(got)]
				got = append(got, n)
				if section, err := json.Marshal(planfile.SectionOf(want.Sections[n])); err != nil || !bytes.Equal(section, text) {
					t.Errorf("section %d is %.100s, want %.100s", n, text, section)
				}
				if first[n] == nil {
					first[n] = &text[0]
				} else if first[n] != &text[0] {
					t.Errorf("section %d was encoded again", n)
				}
			}
			if !slices.Equal(got, numbers) {
				t.Errorf("got %v, want %v", got, numbers)
			}
		}
	}
}

// A page of plans with many sections has fewer of them than requested, and the list has all of them.
func TestList_APageIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	plan := holdfast.SeatingPlan{Name: "P", Categories: []holdfast.Category{{Key: "a", Name: "A"}}}
	for n := range 500 {
		name := strings.Repeat("n", 200)
		plan.Sections = append(plan.Sections, holdfast.Section{Key: fmt.Sprint(n), Name: name, Category: "a", Capacity: 1})
	}
	plan.Decorations = []holdfast.Decoration{{Kind: holdfast.DecorationText, At: &holdfast.Point{}, Text: "Bar"}}
	var want, got []holdfast.ID
	for range 20 { // of some 150 KB each
		of, _, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, of.ID)
	}
	mostRead := 0
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			mostRead = max(mostRead, len(e.Reply))
		}}
	})
	for page := (holdfast.Page{Size: 15}); len(got) == 0 || page.Token != ""; {
		plans, next, err := process.Plans.List(w.Ctx(), page)
		if err != nil || len(plans) == 0 || len(plans) > 10 || len(got) > len(want) {
			t.Fatalf("a page of %d plans, %v", len(plans), err)
		}
		for _, of := range plans {
			got = append(got, of.ID)
			if len(of.Decorations) > 0 {
				t.Error("the list reads decorations")
			}
		}
		page.Token = next
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %v, want %v", got, want)
	}
	if mostRead > 3<<19 {
		t.Errorf("MongoDB sent %d bytes at once", mostRead)
	}
}
