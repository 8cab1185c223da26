package recovery_test

import (
	"log/slog"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// BSON allows a field twice in a document, and MongoDB's queries and updates see the first. So does
// every decision: a lock gives back what the sums have counted, and a counter is corrected.
func TestForeignDocuments_TheFirstOfRepeatedFieldsCounts(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Insert("seatlocks", bson.D{{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: event}, {Key: "SEATS", Value: 7},
		{Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: testenv.Past().At}, {Key: "seats", Value: 5}})
	reconcile := func() {
		t.Helper()
		for range 2 {
			if report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log)); err != nil || report.Errors > 0 {
				t.Errorf("%+v, %v", report, err)
			}
		}
	}
	reconcile()
	if available, _ := w.Available(event); available != 9 {
		t.Fatalf("%d seats are available of 10, 1 is locked", available)
	}
	w.SweepLocks()
	if available, _ := w.Available(event); available != 10 {
		t.Errorf("%d seats are available of 10, none is locked", available)
	}
	reconcile()
	if lines := w.Log.Lines("ERROR"); len(lines) > 0 {
		t.Error(lines)
	}
}
