package pipeline_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A unique index refuses a seat, although no lock that counts has it: it can't be sold, and all others are.
func TestSeated_ASeatThatOnlyTheIndexHasIsNotSold(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID := newSeated(t, w)
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "createIndexes", Value: "seatlocks"}, {Key: "indexes", Value: bson.A{
		bson.D{{Key: "key", Value: mongodb.Keys("eventId", "seatIds")}, {Key: "name", Value: "all"}, {Key: "unique", Value: true}},
	}}}).Err(); err != nil {
		t.Fatal(err)
	}
	w.Insert("seatlocks", bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "eventId", Value: eventID}, {Key: "userId", Value: mongodb.NewID()}, {Key: "seats", Value: 1},
		{Key: "status", Value: "EXPIRED"}, {Key: "seatIds", Value: bson.A{"a-1-1"}}, {Key: "expiresAt", Value: time.Now()},
	})
	p := newProcess(t, w)
	results, err := p.Commit(w.Ctx(), map[holdfast.ID][]inventory.Command{
		eventID: {named(eventID, "a-1-1", "a-1-2"), named(eventID, "a-2-1"), named(eventID, "a-1-2")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n, code := range []holdfast.Code{holdfast.CodeSeatsUnavailable, "", ""} {
		wantCode(t, results[eventID][n].Err, code)
	}
	wantTaken(t, w, eventID, "a-1-2", "a-2-1")
	submit(t, p, eventID, named(eventID, "a-1-3"))
	wantTaken(t, w, eventID, "a-1-2", "a-1-3", "a-2-1")
}
