package recovery_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A run says what it corrected.
func TestReconcile_CountsWhatItCorrected(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	first, second := w.Event(10), w.Event(10)
	w.Set("events", first, bson.D{{Key: "availableSeats", Value: 3}})
	w.Set("events", second, bson.D{{Key: "oversold", Value: 4}})
	report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
	if err != nil || report.Found != 2 || report.Applied != 2 || report.Corrections != 2 {
		t.Errorf("%+v, %v; want 2 found, applied and corrected", report, err)
	}
}

// Counters that were corrected together are counted, although neither the answer to the
// writes nor the read after them arrived.
func TestReconcile_CountsCorrectionsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	server := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	var once sync.Once
	off := func() {}
	process := testenv.Open(t, server.URI, "holdfast_test", func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Succeeded: func(_ context.Context, e *event.CommandSucceededEvent) {
			if e.CommandName == "update" {
				once.Do(func() { // the driver reads twice
					off = server.FailCommands("aggregate", bson.D{{Key: "times", Value: 2}}, bson.D{{Key: "closeConnection", Value: true}})
				})
			}
		}}
	})
	id := server.Event(10)
	server.Set("events", id, bson.D{{Key: "availableSeats", Value: 3}})
	report, err := process.Recovery.Reconcile(process.Ctx(), "run", slog.New(process.Log))
	off()
	if available, _ := server.Available(id); err != nil || available != 10 || report.Corrections != 1 || report.Applied != 1 {
		t.Errorf("%d available, %+v, %v; want the correction to be counted", available, report, err)
	}
	if n := len(process.Log.Lines("Corrected available seats")); n != 1 {
		t.Errorf("%d lines say that it was corrected, want 1", n)
	}
}
