package pipeline_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// A seat is in one lock only. Both the decision and the unique index ensure that, each without the other.
func TestSeated_NoSeatIsInTwoLocks(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	eventID, p := newSeated(t, w), newProcess(t, w)
	submit(t, p, eventID, named(eventID, "a-1-1"))
	own := submit(t, p, eventID, named(eventID, "a-2-1")).Lock
	for _, c := range []inventory.Command{
		named(eventID, "a-1-1"), named(eventID, "a-1-2", "a-1-1"),
		inventory.ChangeSeats{LockID: own.ID, Seats: 1, Wish: holdfast.Wish{SeatIDs: []string{"a-1-1"}}},
		inventory.Block{LockID: mongodb.NewID(), SeatIDs: []string{"a-1-1"}},
	} {
		if _, err := p.Submit(w.Ctx(), eventID, c); err == nil {
			t.Errorf("%T has got the seat of another lock", c)
		}
	}
	n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), mongodb.And(mongodb.Is("eventId", eventID), mongodb.Is("seatIds", "a-1-1")))
	if err != nil || n != 1 {
		t.Errorf("%d locks have the seat, %v", n, err)
	}
}
