package main

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// newSeatedIn creates an event whose plan has two rows of three seats, and standing.
func newSeatedIn(t *testing.T, env *testenv.Env) holdfast.ID {
	t.Helper()
	of, _, err := env.Plans.Create(env.Ctx(), holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "c", Name: "C"}}, Sections: []holdfast.Section{
			{Key: "A", Name: "A", Category: "c", Rows: []holdfast.Row{{Key: "1", Count: 3}, {Key: "2", Label: "Second", Count: 3}}},
			{Key: "pit", Name: "Pit", Category: "c", Capacity: 10},
		},
	}, holdfast.CreationKey{})
	if err != nil {
		t.Fatal(err)
	}
	e, err := env.Seats.CreateEvent(env.Ctx(), holdfast.NewEvent{
		Name: "E", EventDate: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), Seating: holdfast.Seating{PlanID: of.ID},
	})
	if err != nil {
		t.Fatal(err)
	}
	return e.ID
}

// take locks seats of an event: named ones, or n of a section.
func take(t *testing.T, env *testenv.Env, event holdfast.ID, until holdfast.Until, n int64, wish holdfast.Wish) holdfast.Lock {
	t.Helper()
	l, _, err := env.Seats.AcquireLock(env.Ctx(), holdfast.LockRequest{
		EventID: event, UserID: mongodb.NewID(), Seats: n, Wish: wish, Until: until,
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// insertSeatLock writes a lock past the engine, as other software would.
func insertSeatLock(env *testenv.Env, event holdfast.ID, status holdfast.LockStatus, seatIDs ...string) holdfast.ID {
	id := mongodb.NewID()
	env.Insert("seatlocks", bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "seats", Value: len(seatIDs)},
		{Key: "seatIds", Value: seatIDs}, {Key: "status", Value: string(status)}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)}})
	return id
}

func named(seatIDs ...string) holdfast.Wish { return holdfast.Wish{SeatIDs: seatIDs} }
