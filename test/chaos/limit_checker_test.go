package chaos_test

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// limitChecker checks the limit of seats per customer in every committed state. Where a transaction gives a customer more
// seats, all seats of the customer's locks count, those of due locks too: a due lock that the transaction leaves ACTIVE may be
// extended by a transaction that began in time.
type limitChecker struct {
	limits map[holdfast.ID]int64 // by event; 0: no limit
	seats  map[customer]int64
	more   map[customer]int64 // that the current transaction adds
	due    map[holdfast.ID]bool
}

// customer is a user of an event.
type customer struct{ event, user holdfast.ID }

func newLimitChecker() *limitChecker {
	return &limitChecker{
		limits: map[holdfast.ID]int64{}, seats: map[customer]int64{}, more: map[customer]int64{}, due: map[holdfast.ID]bool{},
	}
}

func (l *limitChecker) changeEvent(id holdfast.ID, change changeEvent) {
	fields := change.FullDocument
	if change.Operation == "update" {
		fields = change.Update.Fields
	}
	if slices.Contains(change.Update.Removed, "maxSeatsPerUser") {
		l.limits[id] = 0
	}
	var event struct {
		Limit *int64 `bson:"maxSeatsPerUser"`
	}
	if err := bson.Unmarshal(fields, &event); err == nil && event.Limit != nil {
		l.limits[id] = *event.Limit
	}
}

// changeLock counts a lock of a customer. A lock that was due when it was made does not count: no request can extend it.
func (l *limitChecker) changeLock(id holdfast.ID, before, after trackedDocument, at time.Time) {
	if before.Status == "" && !after.ExpiresAt.After(at) && after.Status == "ACTIVE" {
		l.due[id] = true
	}
	if after.User.IsZero() || l.due[id] {
		return
	}
	of := customer{after.Event, after.User}
	more := takenSeats(after) - takenSeats(before)
	l.seats[of] += more
	l.more[of] += more
}

// exceeded returns the customers to whom the current transaction has given more seats than they may hold.
func (l *limitChecker) exceeded() (found []customer) {
	for of, more := range l.more {
		if limit := l.limits[of.event]; more > 0 && limit > 0 && l.seats[of] > limit {
			found = append(found, of)
		}
	}
	clear(l.more)
	return found
}
