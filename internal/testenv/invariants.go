package testenv

import (
	"context"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
)

// CheckInvariants fails the test if the stored documents violate an invariant: the
// counters and the maps of seats against the locks, CONFIRMED bookings against CONSUMED
// locks, at most one live booking per lock, locks that ended by a transfer, payments against bookings. It reads all
// documents at one snapshot.
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

	Plan     bson.RawValue `bson:"seatingPlanId"`
	Internal struct {
		Map map[string]bson.RawValue `bson:"map"`
	} `bson:"internal"`
}

type lockDoc struct {
	ID      holdfast.ID `bson:"_id"`
	EventID holdfast.ID `bson:"eventId"`
	Seats   float64     `bson:"seats"`
	Status  string      `bson:"status"`
	SeatIDs []string    `bson:"seatIds"`
	Section string      `bson:"section"`

	BookingID holdfast.ID `bson:"bookingId"`
	EndedBy   string      `bson:"endedBy"`
}

type bookingDoc struct {
	ID     holdfast.ID `bson:"_id"`
	LockID holdfast.ID `bson:"seatLockId"`
	Status string      `bson:"status"`

	Internal struct {
		Payments []listedPayment `bson:"payments"`
	} `bson:"internal"`
}

type listedPayment struct {
	ID     holdfast.ID `bson:"id"`
	Status string      `bson:"status"`
	Amount *int64      `bson:"amount"`
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
	payments, err := readAll[paymentDoc](ctx, db, "payments")
	if err != nil {
		return nil, err
	}
	plans, err := readPlans(ctx, db)
	if err != nil {
		return nil, err
	}
	report := func(format string, args ...any) { violations = append(violations, fmt.Sprintf(format, args...)) }
	findViolations(events, locks, bookings, report)
	findSeatViolations(plans, events, locks, report)
	findPaymentViolations(payments, bookings, report)
	return violations, nil
}

func findViolations(events []eventDoc, locks []lockDoc, bookings []bookingDoc, report func(string, ...any)) {
	taken, status := map[holdfast.ID]float64{}, map[holdfast.ID]string{}
	for _, l := range locks {
		status[l.ID] = l.Status
		if l.takes() {
			taken[l.EventID] += l.Seats
		}
	}
	for _, e := range events {
		isSeated := e.Plan.Type == bson.TypeObjectID // each of its sections has its own
		if e.Available < 0 || e.Available > e.Total || e.Oversold < 0 || e.Available > 0 && e.Oversold > 0 && !isSeated {
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
		if l.EndedBy == string(holdfast.EndedByTransfer) && (l.Status != "RELEASED" || l.BookingID.IsZero()) {
			report("lock %s ended by a transfer, and is %s with the booking %s", l.ID, l.Status, l.BookingID)
		}
	}
}

func (l lockDoc) takes() bool {
	return l.Status == "ACTIVE" || l.Status == "CONSUMED" || l.Status == "BLOCKED"
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
