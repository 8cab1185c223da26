package testenv

import (
	"context"
	"fmt"
	"math/bits"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
)

// CheckInvariants fails the test if the stored documents violate an invariant: the
// counters against the locks, CONFIRMED bookings against CONSUMED locks, at most
// one live booking per lock. It reads all documents at one snapshot.
func CheckInvariants(t testing.TB, db *mongo.Database) {
	t.Helper()
	for _, violation := range Violations(t, db) {
		t.Error(violation)
	}
}

// Violations lists the violations that CheckInvariants reports.
func Violations(t testing.TB, db *mongo.Database) (violations []string) {
	t.Helper()
	session, err := db.Client().StartSession(options.Session().SetDefaultTransactionOptions(
		options.Transaction().SetReadConcern(readconcern.Snapshot())))
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(context.Background())
	_, err = session.WithTransaction(context.Background(), func(ctx context.Context) (any, error) {
		violations, err = readViolations(ctx, db)
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return violations
}

type eventDoc struct {
	ID        holdfast.ID `bson:"_id"`
	Total     float64     `bson:"totalSeats"`
	Available float64     `bson:"availableSeats"`
	Oversold  float64     `bson:"oversold"`

	Plan     any `bson:"seatingPlanId"`
	Internal struct {
		Map map[string]any `bson:"map"`
	} `bson:"internal"`
}

type lockDoc struct {
	ID      holdfast.ID `bson:"_id"`
	EventID holdfast.ID `bson:"eventId"`
	Seats   float64     `bson:"seats"`
	Status  string      `bson:"status"`
	SeatIDs []string    `bson:"seatIds"`
	Section string      `bson:"section"`
}

type bookingDoc struct {
	ID     holdfast.ID `bson:"_id"`
	LockID holdfast.ID `bson:"seatLockId"`
	Status string      `bson:"status"`
}

func readViolations(ctx context.Context, db *mongo.Database) (violations []string, err error) {
	events, err := readAll[eventDoc](ctx, db, "events")
	if err != nil {
		return nil, err
	}
	locks, err := readAll[lockDoc](ctx, db, "seatlocks")
	if err != nil {
		return nil, err
	}
	bookings, err := readAll[bookingDoc](ctx, db, "bookings")
	if err != nil {
		return nil, err
	}
	return findViolations(events, locks, bookings), nil
}

func findViolations(events []eventDoc, locks []lockDoc, bookings []bookingDoc) (violations []string) {
	report := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	taken, status := map[holdfast.ID]float64{}, map[holdfast.ID]string{}
	for _, l := range locks {
		status[l.ID] = l.Status
		if l.takes() {
			taken[l.EventID] += l.Seats
		}
	}
	findSeatViolations(events, locks, report)
	for _, e := range events {
		if e.Available < 0 || e.Available > e.Total || e.Oversold < 0 || (e.Available > 0 && e.Oversold > 0) {
			report("event %s: available %v, oversold %v of %v", e.ID, e.Available, e.Oversold, e.Total)
		}
		if e.Available-e.Oversold != e.Total-taken[e.ID] {
			report("event %s: available %v − oversold %v ≠ total %v − taken %v", e.ID, e.Available, e.Oversold, e.Total, taken[e.ID])
		}
	}
	sold, live := map[holdfast.ID]bool{}, map[holdfast.ID]int{}
	for _, b := range bookings {
		if b.Status == "CONFIRMED" {
			sold[b.LockID] = true
			if status[b.LockID] != "CONSUMED" {
				report("booking %s is CONFIRMED, its lock %s is %s", b.ID, b.LockID, status[b.LockID])
			}
		}
		if b.Status != "EXPIRED" && b.Status != "CANCELLED" {
			if live[b.LockID]++; live[b.LockID] > 1 {
				report("lock %s has %d live bookings", b.LockID, live[b.LockID])
			}
		}
	}
	for _, l := range locks {
		if l.Status == "CONSUMED" && !sold[l.ID] {
			report("lock %s is CONSUMED without a CONFIRMED booking", l.ID)
		}
	}
	return violations
}

func (l lockDoc) takes() bool {
	return l.Status == "ACTIVE" || l.Status == "CONSUMED" || l.Status == "BLOCKED"
}

// findSeatViolations compares the maps of seated events with their locks: no seat is in two locks, and as many
// are taken. Recovery's comparison knows which.
func findSeatViolations(events []eventDoc, locks []lockDoc, report func(string, ...any)) {
	type seat struct {
		event holdfast.ID
		id    string
	}
	holders, placed := map[seat]int{}, map[holdfast.ID]int{}
	for _, l := range locks {
		if !l.takes() {
			continue
		}
		for _, id := range l.SeatIDs {
			if holders[seat{l.EventID, id}]++; holders[seat{l.EventID, id}] > 1 {
				report("event %s: several locks have the seat %s", l.EventID, id)
			}
		}
		placed[l.EventID] += len(l.SeatIDs)
		if len(l.SeatIDs) == 0 && l.Section != "" {
			placed[l.EventID] += int(l.Seats)
		}
	}
	for _, e := range events {
		if e.Plan == nil {
			continue
		}
		inMap := 0
		for _, section := range e.Internal.Map {
			switch m := section.(type) {
			case bson.Binary:
				for _, b := range m.Data {
					inMap += bits.OnesCount8(b)
				}
			case int32:
				inMap += int(m)
			case int64:
				inMap += int(m)
			}
		}
		if inMap != placed[e.ID] {
			report("event %s: %d seats are taken in its map, %d by its locks", e.ID, inMap, placed[e.ID])
		}
	}
}

func readAll[T any](ctx context.Context, db *mongo.Database, collection string) ([]T, error) {
	cursor, err := db.Collection(collection).Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var all []T
	err = cursor.All(ctx, &all)
	return all, err
}
