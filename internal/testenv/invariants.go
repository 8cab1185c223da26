package testenv

import (
	"context"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast/internal/ids"
)

// CheckInvariants proves the documents as they are, at one snapshot and by
// reading them itself: counters against locks, CONFIRMED bookings against
// CONSUMED locks, one live booking a lock.
func CheckInvariants(t testing.TB, db *mongo.Database) {
	t.Helper()
	for _, broken := range Broken(t, db) {
		t.Error(broken)
	}
}

// Broken lists what contradicts the invariants.
func Broken(t testing.TB, db *mongo.Database) (broken []string) {
	t.Helper()
	session, err := db.Client().StartSession(options.Session().SetDefaultTransactionOptions(
		options.Transaction().SetReadConcern(readconcern.Snapshot())))
	if err != nil {
		t.Fatal(err)
	}
	defer session.EndSession(context.Background())
	_, err = session.WithTransaction(context.Background(), func(ctx context.Context) (any, error) {
		broken, err = brokenNow(ctx, db)
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return broken
}

type anEvent struct {
	ID        ids.ID  `bson:"_id"`
	Total     float64 `bson:"totalSeats"`
	Available float64 `bson:"availableSeats"`
	Oversold  float64 `bson:"oversold"`
}

type aLock struct {
	ID      ids.ID  `bson:"_id"`
	EventID ids.ID  `bson:"eventId"`
	Seats   float64 `bson:"seats"`
	Status  string  `bson:"status"`
}

type aBooking struct {
	ID     ids.ID `bson:"_id"`
	LockID ids.ID `bson:"seatLockId"`
	Status string `bson:"status"`
}

func brokenNow(ctx context.Context, db *mongo.Database) (broken []string, err error) {
	events, err := everything[anEvent](ctx, db, "events")
	if err != nil {
		return nil, err
	}
	locks, err := everything[aLock](ctx, db, "seatlocks")
	if err != nil {
		return nil, err
	}
	bookings, err := everything[aBooking](ctx, db, "bookings")
	if err != nil {
		return nil, err
	}
	say := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }
	taken, status := map[ids.ID]float64{}, map[ids.ID]string{}
	for _, l := range locks {
		status[l.ID] = l.Status
		if l.Status == "ACTIVE" || l.Status == "CONSUMED" {
			taken[l.EventID] += l.Seats
		}
	}
	for _, e := range events {
		if e.Available < 0 || e.Available > e.Total || e.Oversold < 0 || (e.Available > 0 && e.Oversold > 0) {
			say("event %s: available %v, oversold %v of %v", e.ID, e.Available, e.Oversold, e.Total)
		}
		if e.Available-e.Oversold != e.Total-taken[e.ID] {
			say("event %s: available %v − oversold %v ≠ total %v − taken %v", e.ID, e.Available, e.Oversold, e.Total, taken[e.ID])
		}
	}
	sold, live := map[ids.ID]bool{}, map[ids.ID]int{}
	for _, b := range bookings {
		if b.Status == "CONFIRMED" {
			sold[b.LockID] = true
			if status[b.LockID] != "CONSUMED" {
				say("booking %s is CONFIRMED, its lock %s is %s", b.ID, b.LockID, status[b.LockID])
			}
		}
		if b.Status != "EXPIRED" && b.Status != "CANCELLED" {
			if live[b.LockID]++; live[b.LockID] > 1 {
				say("lock %s has %d live bookings", b.LockID, live[b.LockID])
			}
		}
	}
	for _, l := range locks {
		if l.Status == "CONSUMED" && !sold[l.ID] {
			say("lock %s is CONSUMED without a CONFIRMED booking", l.ID)
		}
	}
	return broken, nil
}

func everything[T any](ctx context.Context, db *mongo.Database, collection string) ([]T, error) {
	cursor, err := db.Collection(collection).Find(ctx, bson.D{})
	if err != nil {
		return nil, err
	}
	var all []T
	err = cursor.All(ctx, &all)
	return all, err
}
