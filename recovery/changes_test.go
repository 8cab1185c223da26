package recovery_test

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A corrected counter is reported to subscribers only if the event is sold out by the correction, or is available
// again.
func TestRecovery_TellsOfEventsThatAreAvailableAgain(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	leaked, full, drifted := w.Event(5), w.Event(5), w.Event(5)
	w.Acquire(full, 5, testenv.Soon())
	for id, available := range map[holdfast.ID]int{leaked: 0, full: 2, drifted: 3} {
		w.Set("events", id, bson.D{{Key: "availableSeats", Value: available}})
	}
	number(t, w)
	_, next, err := w.Changes.List(w.Ctx(), nil, changes.Filter{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	if report := w.Recover(); report.Corrections != 3 {
		t.Fatalf("%d counters were corrected", report.Corrections)
	}
	number(t, w)
	list, _, err := w.Changes.List(w.Ctx(), &next, changes.Filter{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, c := range list {
		told = append(told, fmt.Sprint(c.Type.Name(), " ", c.EventID, " ", c.Event.AvailableSeats))
	}
	want := []string{fmt.Sprint("event.available ", leaked, " 5"), fmt.Sprint("event.sold_out ", full, " 0")}
	slices.Sort(told)
	if !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
}

func number(t *testing.T, w *testenv.Env) {
	t.Helper()
	if _, err := w.Changes.Number(w.Ctx()); err != nil {
		t.Fatal(err)
	}
}
