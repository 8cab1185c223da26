package seats_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestAcquire_RefusesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event, closed := w.Event(10), w.Event(10)
	w.Set("events", closed, bson.D{{Key: "status", Value: "CLOSED"}})
	for name, c := range map[string]struct {
		request holdfast.LockRequest
		want    holdfast.Code
	}{
		"no such event":  {holdfast.LockRequest{EventID: mongodb.NewID(), Seats: 1}, holdfast.CodeEventNotFound},
		"closed":         {holdfast.LockRequest{EventID: closed, Seats: 1}, holdfast.CodeEventNotOnSale},
		"no seats":       {holdfast.LockRequest{EventID: event, Seats: 0}, holdfast.CodeInvalid},
		"negative seats": {holdfast.LockRequest{EventID: event, Seats: -1}, holdfast.CodeInvalid},
		"too many":       {holdfast.LockRequest{EventID: event, Seats: 11}, holdfast.CodeSeatsUnavailable},
		"absurdly many":  {holdfast.LockRequest{EventID: event, Seats: 1 << 62}, holdfast.CodeInvalid},
		"beyond the cap": {holdfast.LockRequest{EventID: event, Seats: 1, Until: holdfast.Until{For: testenv.MaxTTL + time.Second}},
			holdfast.CodeInvalid},
		"in a far year": {holdfast.LockRequest{EventID: event, Seats: 1,
			Until: holdfast.Until{At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}}, holdfast.CodeInvalid},
		"both times":    {holdfast.LockRequest{EventID: event, Seats: 1, Until: holdfast.Until{At: time.Now(), For: 1}}, holdfast.CodeInvalid},
		"negative time": {holdfast.LockRequest{EventID: event, Seats: 1, Until: holdfast.Until{For: -1}}, holdfast.CodeInvalid},
		"key too long":  {holdfast.LockRequest{EventID: event, Seats: 1, Key: string(make([]byte, 201))}, holdfast.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			c.request.UserID = mongodb.NewID()
			_, _, err := w.Seats.AcquireLock(w.Ctx(), c.request)
			wantCode(t, err, c.want)
		})
	}
	if n, err := w.DB.Collection("seatlocks").CountDocuments(w.Ctx(), bson.D{}); err != nil || n != 0 {
		t.Errorf("%d locks are there, want none: %v", n, err)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}

func TestAcquire_TimeInThePastIsAcceptedAndDueAtOnce(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	lock := w.Acquire(event, 2, holdfast.Until{At: time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC)})
	if got := w.Lock(lock.ID); got.Status != holdfast.LockActive || !got.Due(time.Now()) {
		t.Errorf("got %+v, want an ACTIVE lock that is due", got)
	}
	if available, _ := w.Available(event); available != 8 {
		t.Errorf("available %d, want 8", available)
	}
}

func TestAcquire_DocumentsOfOtherSoftwareWork(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for _, total := range []any{int32(10), int64(10), 10.0} {
		t.Run(fmt.Sprintf("%T", total), func(t *testing.T) {
			event := mongodb.NewID()
			w.Insert("events", bson.D{
				{Key: "_id", Value: event}, {Key: "totalSeats", Value: total}, {Key: "availableSeats", Value: total},
				{Key: "name", Value: "N"}, {Key: "venue", Value: bson.D{{Key: "hall", Value: 3}}},
			})
			lock := w.Acquire(event, 4, testenv.Soon())
			if available, _ := w.Available(event); available != 6 {
				t.Errorf("%T: available %d, want 6", total, available)
			}
			if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
				t.Error(err)
			}
			if available, _ := w.Available(event); available != 10 {
				t.Errorf("%T: available %d, want 10", total, available)
			}
		})
	}
}
