package recovery_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// What is advised for a wrong total of a seated event works: other capacities, or where there is no general admission
// a new total in MongoDB and a pass.
func TestPlan_AWrongTotalCanBeSetRight(t *testing.T) {
	t.Parallel()
	rows := holdfast.Section{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 6}}}
	pit := holdfast.Section{Key: "pit", Name: "Pit", Category: "c", Capacity: 10}
	for name, c := range map[string]struct {
		sections []holdfast.Section
		total    int64
		mend     func(t *testing.T, w *testenv.Env, event holdfast.ID)
	}{
		"other capacities": {[]holdfast.Section{rows, pit}, 16, func(t *testing.T, w *testenv.Env, event holdfast.ID) {
			_, err := w.Seats.UpdateEvent(w.Ctx(), event, holdfast.EventChange{Sections: []holdfast.SectionCapacity{{Key: "pit", Capacity: 10}}})
			if err != nil {
				t.Fatal(err)
			}
		}},
		"a total in MongoDB": {[]holdfast.Section{rows}, 6, func(t *testing.T, w *testenv.Env, event holdfast.ID) {
			available := bson.D{{Key: "$min", Value: bson.A{"$availableSeats", 6}}}
			set := bson.D{{Key: "$set", Value: bson.D{{Key: "totalSeats", Value: 6}, {Key: "availableSeats", Value: available}}}}
			if _, err := w.DB.Collection("events").UpdateOne(w.Ctx(), mongodb.Is("_id", event), bson.A{set}); err != nil {
				t.Fatal(err)
			}
			w.Recover()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.SeatedEvent(holdfast.SeatingPlan{
				Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: c.sections,
			})
			_, _, err := w.Seats.AcquireLock(w.Ctx(), holdfast.LockRequest{
				EventID: event, UserID: holdfast.ID{7}, Seats: 2, Wish: holdfast.Wish{SeatIDs: []string{"A-1-1", "A-1-2"}}, Until: testenv.Soon(),
			})
			if err != nil {
				t.Fatal(err)
			}
			const finding = "events whose totalSeats is not what their seating plan and capacities have"
			count := func() int64 {
				t.Helper()
				plan, err := w.Recovery.Plan(w.Ctx())
				if err != nil {
					t.Fatal(err)
				}
				return countOf(plan, finding)
			}
			w.Set("events", event, bson.D{{Key: "totalSeats", Value: 90}, {Key: "availableSeats", Value: 88}})
			if n := count(); n != 1 {
				t.Errorf("%d findings of the damage", n)
			}
			c.mend(t, w, event)
			e, err := w.Seats.GetEvent(w.Ctx(), event)
			if n := count(); err != nil || n != 0 || e.TotalSeats != c.total || e.AvailableSeats != c.total-2 {
				t.Errorf("%d findings, %+v, %v", n, e, err)
			}
			testenv.CheckInvariants(t, w.DB.Database)
		})
	}
}
