package plans_test

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/seating"
	"github.com/holdfast-dev/holdfast/seats/seating/planjson"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// example reads one of the plans of docs/plans.
func example(t testing.TB, name string) holdfast.SeatingPlan {
	t.Helper()
	text, err := os.ReadFile("../../docs/plans/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	plan, problems, err := planjson.Read(text)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	return plan
}

// A plan is read as it was created, written out, whole and by sections.
func TestCreate_KeepsThePlan(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, name := range []string{"arena", "cinema", "theatre"} {
		t.Run(name, func(t *testing.T) {
			plan := example(t, name)
			of, replayed, err := w.Plans.Create(w.Ctx(), plan, holdfast.CreationKey{})
			if err != nil || replayed {
				t.Fatal(replayed, err)
			}
			want := seating.Expand(plan)
			want.ID, want.CreatedAt = of.ID, of.CreatedAt
			got, err := w.Plans.Get(w.Ctx(), of.ID)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("read %s\nwant %s", text(got), text(want))
			}
			hall, err := w.Plans.Hall(w.Ctx(), of.ID)
			if err != nil || hall.TotalSeats() != plan.TotalSeats() {
				t.Fatal(hall, err)
			}
		})
	}
}

func text(plan holdfast.SeatingPlan) string {
	text, err := json.Marshal(planjson.Of(plan))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
