package recovery_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Locks of seats were inserted by hand, so neither the counter nor the map includes them. A sweep ends the due ones,
// and leaves nothing wrong. A pass marks the seats of the others as taken.
func TestRecovery_LocksOfSeatsOfOtherSoftware(t *testing.T) {
	t.Parallel()
	hall := holdfast.SeatingPlan{Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
		{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}}}, {Key: "pit", Name: "Pit", Category: "c", Capacity: 5},
	}}
	named, standing := holdfast.Wish{SeatIDs: []string{"A-1-2", "A-1-3"}}, holdfast.Wish{Section: "pit"}
	for name, c := range map[string]struct {
		status holdfast.LockStatus
		place  bson.D
		wish   holdfast.Wish // that it is in the way of
		seats  int64         // of the wish
	}{
		"named seats":       {holdfast.LockActive, lockOf(2, "seatIds", bson.A{"A-1-1", "A-1-2"}), named, 0},
		"general admission": {holdfast.LockActive, lockOf(2, "section", "pit"), standing, 4},
		"a block":           {holdfast.LockBlocked, lockOf(2, "seatIds", bson.A{"A-1-1", "A-1-2"}), named, 0},
		"seats and a section": {holdfast.LockActive, append(lockOf(2, "seatIds", bson.A{"A-1-1", "A-1-2"}), bson.E{Key: "section", Value: "pit"}),
			named, 0},
	} {
		for _, isDue := range []bool{true, false} {
			for _, hasIndex := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, due: %t, index: %t", name, isDue, hasIndex), func(t *testing.T) {
					t.Parallel()
					w := testenv.New(t)
					if !hasIndex {
						w.DropSeatIndex()
					}
					event, lock, expires := w.SeatedEvent(hall), mongodb.NewID(), time.Now().Add(time.Hour)
					if isDue {
						expires = time.Now().Add(-time.Hour)
					}
					w.Insert("seatlocks", append(bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: event},
						{Key: "status", Value: string(c.status)}, {Key: "expiresAt", Value: expires}}, c.place...))
					w.SweepLocks()
					ends := isDue && c.status == holdfast.LockActive // a block has no time
					if ends {
						testenv.CheckInvariants(t, w.DB.Database)
					}
					w.Recover()
					testenv.CheckInvariants(t, w.DB.Database)
					want, code := c.status, holdfast.CodeSeatsUnavailable
					if ends {
						want, code = holdfast.LockExpired, ""
					}
					if got := statusOf(t, w, lock); got != want {
						t.Errorf("the lock is %s, want %s", got, want)
					}
					_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{
						EventID: event, UserID: mongodb.NewID(), Seats: c.seats, Wish: c.wish, Until: testenv.Soon(),
					})
					if holdfast.CodeOf(err) != code || (err == nil) != (code == "") {
						t.Errorf("a customer got %v, want %q", err, code)
					}
					if !ends { // the others are still for sale
						_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{EventID: event, UserID: mongodb.NewID(), Seats: 1,
							Wish: holdfast.Wish{Best: &holdfast.BestAvailable{Section: "A"}}, Until: testenv.Soon()})
						if err != nil {
							t.Errorf("the best of the seats that are free: %v", err)
						}
					}
					e, err := w.Seats.GetEvent(w.Ctx(), event)
					if blocked := e.Seating.BlockedSeats; err != nil || (blocked == 2) != (c.status == holdfast.LockBlocked) {
						t.Errorf("%d seats are blocked, %v", blocked, err)
					}
					testenv.CheckInvariants(t, w.DB.Database)
				})
			}
		}
	}
}

// lockOf returns the fields of a lock that say which seats it takes.
func lockOf(seats int, field string, value any) bson.D {
	return bson.D{{Key: "seats", Value: seats}, {Key: field, Value: value}}
}

// statusOf reads the status of any lock, also of a block.
func statusOf(t *testing.T, w *testenv.Env, id holdfast.ID) holdfast.LockStatus {
	t.Helper()
	var lock struct{ Status holdfast.LockStatus }
	if err := w.DB.Collection("seatlocks").FindOne(w.Ctx(), mongodb.Is("_id", id)).Decode(&lock); err != nil {
		t.Fatal(err)
	}
	return lock.Status
}
