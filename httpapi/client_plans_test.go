package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/client"
)

// hall has two rows, one of them counted, and an area.
func hall() client.SeatingPlan {
	return client.SeatingPlan{
		Name: "Hall", Categories: []client.Category{{Key: "c", Name: "C", Color: "#123456"}}, FocalPoint: &client.Point{X: 1.5},
		Decorations: []client.Decoration{
			{Kind: "area", Points: [][2]float64{{0, 0}, {1, 0.5}, {0, 1}}, Floor: "1"},
			{Kind: "icon", At: &[2]float64{2, 0}, Icon: "bar", Text: "Bar"},
		},
		Sections: []client.Section{
			{Key: "A", Name: "A", Category: "c", Floor: "1", Entrance: "West", Rows: []client.Row{
				{Key: "1", Seats: []*client.Seat{{ID: "x", Accessible: true, Note: "n", X: new(2.5)}, nil, {ID: "y", Companion: true}}},
				{Key: "2", Adjacency: "ALL", Count: 2},
			}},
			{Key: "B", Name: "B", Category: "c", Capacity: 100, Outline: [][2]float64{{0, 0}, {1, 0.5}}, ViewURL: "https://a.example/b"},
		},
	}
}

func TestClient_CreatesAndReadsSeatingPlans(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	made, err := s.CreateSeatingPlan(ctx, hall(), "k")
	if err != nil || made.TotalSeats != 104 || len(made.Sections) != 2 || made.Sections[1].Seats != 100 || made.Replayed {
		t.Fatalf("%+v %v", made, err)
	}
	again, err := s.CreateSeatingPlan(ctx, hall(), "k")
	if err != nil || again.ID != made.ID || !again.Replayed {
		t.Errorf("the replay: %+v %v", again, err)
	}
	plan, err := s.GetSeatingPlan(ctx, made.ID)
	if err != nil {
		t.Fatal(err)
	}
	seats := plan.Sections[0].Rows
	if !reflect.DeepEqual(plan.Decorations, hall().Decorations) {
		t.Errorf("the decorations: %+v", plan.Decorations)
	}
	if plan.ID != made.ID || *plan.FocalPoint != (client.Point{X: 1.5}) || !reflect.DeepEqual(plan.Sections[1], hall().Sections[1]) ||
		seats[0].Seats[1] != nil || seats[0].Seats[0].Label != "1" || *seats[0].Seats[0].X != 2.5 || seats[1].Seats[1].ID != "A-2-2" {
		t.Errorf("%+v", plan)
	}
	some, err := s.GetSeatingPlan(ctx, made.ID, "B", "A")
	if err != nil || !reflect.DeepEqual(some, plan) {
		t.Errorf("by sections: %+v %v", some, err)
	}
	if some, err = s.GetSeatingPlan(ctx, made.ID, "B"); err != nil || len(some.Sections) != 1 {
		t.Errorf("one section: %+v %v", some, err)
	}
	// What was read can be created elsewhere.
	copied, err := s.CreateSeatingPlan(ctx, plan, "")
	if err != nil || copied.ID == made.ID || copied.TotalSeats != made.TotalSeats {
		t.Errorf("a copy: %+v %v", copied, err)
	}
	var listed []string
	for of, err := range s.ListSeatingPlans(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, of.ID)
	}
	if !reflect.DeepEqual(listed, []string{made.ID, copied.ID}) {
		t.Errorf("listed %v", listed)
	}
	wrong := hall()
	wrong.Sections[0].Rows[0].Seats[2].ID = "x"
	if _, err := s.CreateSeatingPlan(ctx, wrong, ""); !client.Is(err, client.ValidationFailed) ||
		!strings.Contains(err.Error(), "body.sections[0].rows[0].seats[2].id") {
		t.Errorf("a doubled ID: %v", err)
	}
	if _, err := s.GetSeatingPlan(ctx, strings.Repeat("0", 24)); !client.Is(err, client.SeatingPlanNotFound) {
		t.Errorf("no plan: %v", err)
	}
}

func TestClient_PreviewsAndExportsSeatingPlans(t *testing.T) {
	t.Parallel()
	s := openShop(t, passThrough)
	ctx := t.Context()
	preview, err := s.PreviewSeatingPlan(ctx, hall(), 1, 9)
	if err != nil || preview.TotalSeats != 104 || len(preview.Problems) != 0 || len(preview.Picks) != 2 ||
		!reflect.DeepEqual(preview.Picks[0], client.PlanPick{Seats: 1, SeatIDs: []string{"A-2-1"}, Adjacent: true}) ||
		len(preview.Picks[1].SeatIDs) != 0 {
		t.Errorf("%+v %v", preview, err)
	}
	wrong := hall()
	wrong.Sections[0].Rows[0].Seats[2].ID = "x"
	if preview, err = s.PreviewSeatingPlan(ctx, wrong); err != nil || len(preview.Problems) != 1 ||
		preview.Problems[0].Where != "sections[0].rows[0].seats[2].id" || len(preview.Picks) != 0 {
		t.Errorf("%+v %v", preview, err)
	}
	file, err := s.ExportSeatingPlan(ctx, hall(), "csv")
	if err != nil || file.Format != "csv" || !strings.HasPrefix(file.File, "section,row,seat") || len(file.Differences) == 0 ||
		file.Differences[0].Kind != "dropped" || file.Differences[0].Count != 1 {
		t.Errorf("%+v %v", file, err)
	}
	if _, err = s.ExportSeatingPlan(ctx, wrong, "svg"); !client.Is(err, client.ValidationFailed) {
		t.Errorf("a doubled ID: %v", err)
	}
	for _, err := range s.ListSeatingPlans(ctx) {
		t.Error("a plan was created", err)
	}
}

// A retry of a lost answer creates no second plan.
func TestClient_CreatesOneSeatingPlanDespiteALostAnswer(t *testing.T) {
	t.Parallel()
	lost := false
	s := openShop(t, func(w http.ResponseWriter, r *http.Request, api http.Handler) {
		if !lost {
			lost = true
			api.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}
		api.ServeHTTP(w, r)
	})
	made, err := s.CreateSeatingPlan(t.Context(), hall(), "")
	if err != nil || !made.Replayed || s.calls.Load() != 2 {
		t.Errorf("%+v %v after %d calls", made, err, s.calls.Load())
	}
}
