package recovery_test

import (
	"log/slog"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/recovery"
)

const (
	lostPlans     = "events without a seating plan that have locks of its seats"
	lostPlansLine = "WARN [RECOVERY] An event without a seating plan has locks of seats of one"
)

// countOf is the count of a finding.
func countOf(p recovery.Plan, what string) (n int64) {
	for _, f := range p.Findings() {
		if f.What == what {
			n += f.Count
		}
	}
	return n
}

// An event loses its seating plan by a manual change while locks of its seats are live, and so becomes an unseated
// one. A pass reports that, and changes nothing.
func TestReconcile_ReportsAnEventThatLostItsPlan(t *testing.T) {
	t.Parallel()
	hall := holdfast.SeatingPlan{Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
		{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}}}, {Key: "pit", Name: "Pit", Category: "c", Capacity: 5},
	}}
	unset := bson.D{{Key: "$unset", Value: bson.D{{Key: "seatingPlanId", Value: ""}}}}
	named, standing := holdfast.LockRequest{Wish: holdfast.Wish{SeatIDs: []string{"A-1-2"}}}, holdfast.LockRequest{Seats: 1}
	standing.Wish.Section = "pit"
	for name, c := range map[string]struct {
		lock   holdfast.LockRequest
		ends   bool
		change bson.D
		want   int64
	}{
		"as it was": {lock: named, change: bson.D{{Key: "$set", Value: bson.D{{Key: "name", Value: "E"}}}}},
		"removed":   {lock: named, change: unset, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			event := w.SeatedEvent(hall)
			if c.lock.Seats > 0 || c.lock.Wish.SeatIDs != nil {
				c.lock.EventID, c.lock.UserID, c.lock.Until = event, mongodb.NewID(), testenv.Soon()
				lock, _, err := w.Seats.AcquireLock(w.Ctx(), c.lock)
				if err == nil && c.ends {
					_, err = w.Seats.ReleaseLock(w.Ctx(), lock.ID)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if _, err := w.DB.Collection("events").UpdateByID(w.Ctx(), event, c.change); err != nil {
				t.Fatal(err)
			}
			read := func() string {
				raw, err := w.DB.Collection("events").FindOne(w.Ctx(), bson.D{{Key: "_id", Value: event}}).Raw()
				if err != nil {
					t.Fatal(err)
				}
				return raw.String()
			}
			before := read()
			plan, err := w.Recovery.Plan(w.Ctx())
			if err != nil || countOf(plan, lostPlans) != c.want {
				t.Errorf("%v; the plan has %d, want %d", err, countOf(plan, lostPlans), c.want)
			}
			report, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log))
			if lines := w.Log.Lines(lostPlansLine); err != nil || int64(report.Reported) != c.want || int64(len(lines)) != c.want {
				t.Errorf("%v; %+v, %v", err, report, lines)
			}
			if after := read(); after != before {
				t.Errorf("the event was\n%s\nand is\n%s", before, after)
			}
		})
	}
}
