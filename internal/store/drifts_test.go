package store_test

import (
	"log/slog"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A transaction that holds one of the events does not block the run. The counter of that
// event is left to a later run.
func TestApplyDrifts_LeavesAnEventThatATransactionHolds(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	events := []holdfast.ID{w.Event(10), w.Event(10)}
	held := events[1]
	for _, id := range events {
		w.Set("events", id, bson.D{{Key: "availableSeats", Value: 7}})
	}
	release := w.HoldEvent(held.String())
	corrected := applyDrifts(t, w, events, "first")
	if available, _ := w.Available(held); available != 7 {
		t.Errorf("it waited for the transaction: the held event has %d seats available, want 7", available)
	}
	if _, isCorrected := corrected[held]; isCorrected {
		t.Error("the held event is said to be corrected")
	}
	if len(w.Log.Lines("WARN Correcting counters together failed")) != 1 {
		t.Error("the failure was not logged as a warning of the run")
	}
	release()
	for id := range applyDrifts(t, w, events, "second") {
		if _, twice := corrected[id]; twice {
			t.Errorf("event %s was corrected twice", id)
		}
	}
	for _, id := range events {
		if available, oversold := w.Available(id); available != 10 || oversold != 0 {
			t.Errorf("event %s has %d available, %d oversold, want 10 and 0", id, available, oversold)
		}
	}
}

// applyDrifts measures the events and applies what it found.
func applyDrifts(t *testing.T, w *testenv.Env, events []holdfast.ID, runID string) map[holdfast.ID]holdfast.Event {
	t.Helper()
	states, err := w.Store.Measure(w.Ctx(), events)
	if err != nil {
		t.Fatal(err)
	}
	writes := map[holdfast.ID]inventory.EventWrite{}
	for _, s := range states {
		if plan, result := w.Pipeline.Preview(s, inventory.Repair{RunID: runID}); result.Correction != nil {
			writes[s.Event.ID] = *plan.Event
		}
	}
	corrected, err := w.Store.ApplyDrifts(w.Ctx(), writes, runID, slog.New(w.Log))
	if err != nil {
		t.Fatal(err)
	}
	return corrected
}

// A correction outside a transaction is told nowhere. So it is not made if the event would be sold out by it, or
// available again, because of sales since the measurement.
func TestApplyDrifts_NeitherSellsOutNorMakesAvailable(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, row := range []struct {
		available, oversold, amount int64
		isCorrected                 bool
	}{
		{3, 0, -5, true}, {0, 0, -5, false}, {8, 0, 5, true}, {5, 0, 5, false}, {6, 0, 5, true},
		{0, 6, -5, true}, {0, 5, -5, true}, {0, 4, -5, false}, {0, 0, 5, true},
	} {
		id := w.Event(10)
		w.Set("events", id, bson.D{{Key: "availableSeats", Value: row.available}, {Key: "oversold", Value: row.oversold}})
		write := inventory.EventWrite{Drift: &inventory.Drift{Amount: row.amount, Quiet: true}, RunID: "run"}
		corrected, err := w.Store.ApplyDrifts(w.Ctx(), map[holdfast.ID]inventory.EventWrite{id: write}, "run", slog.New(w.Log))
		if _, isCorrected := corrected[id]; err != nil || isCorrected != row.isCorrected {
			t.Errorf("%+v: corrected: %v, %v", row, isCorrected, err)
		}
	}
}
