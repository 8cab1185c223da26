package pipeline_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The internal fields of an event were removed by hand. The event gets the revision and the counter again that a
// process has cached, with other seats taken. The process does not sell those seats.
func TestSeated_ARevisionThatWasSetBackIsNotRemembered(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	w.DropSeatIndex()
	eventID := newSeated(t, w)
	p, other := newProcess(t, w), newProcess(t, w)
	for range 3 {
		lock := submit(t, p, eventID, general(eventID, 1)).Lock
		submit(t, p, eventID, inventory.Release{LockID: lock.ID})
	}
	first := submit(t, p, eventID, named(eventID, "a-1-1")).Lock
	remembered := revisionOf(t, w, eventID)

	unset := bson.D{{Key: "$unset", Value: bson.D{{Key: "internal", Value: ""}}}}
	if _, err := w.DB.Collection("events").UpdateOne(w.Ctx(), bson.D{{Key: "_id", Value: eventID}}, unset); err != nil {
		t.Fatal(err)
	}
	if _, isCorrected, err := other.RepairSeats(w.Ctx(), eventID, "run"); err != nil || !isCorrected {
		t.Fatal(isCorrected, err)
	}
	submit(t, other, eventID, named(eventID, "a-2-1"))
	submit(t, other, eventID, inventory.Release{LockID: first.ID})
	for revisionOf(t, w, eventID) < remembered {
		name := "Show"
		c := inventory.ChangeEvent{EventChange: holdfast.EventChange{Name: &name}}
		if _, err := other.Change(w.Ctx(), eventID, c); err != nil {
			t.Fatal(err)
		}
	}
	_, err := p.Submit(w.Ctx(), eventID, named(eventID, "a-2-1"))
	wantCode(t, err, holdfast.CodeSeatsUnavailable)
	wantTaken(t, w, eventID, "a-2-1")
}
