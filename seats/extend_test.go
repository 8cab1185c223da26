package seats_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestExtend_NeverShortensAndStopsAtTheCap(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	lock := w.Acquire(event, 1, holdfast.Until{For: time.Hour})
	extend := func(u holdfast.Until) (holdfast.Lock, error) { return w.Seats.ExtendLock(w.Ctx(), lock.ID, u) }

	got, err := extend(holdfast.Until{For: time.Minute})
	if err != nil || !got.ExpiresAt.Equal(lock.ExpiresAt) {
		t.Errorf("shorter: %v, %v; want %v as before", got.ExpiresAt, err, lock.ExpiresAt)
	}
	got, err = extend(testenv.Past())
	if err != nil || !got.ExpiresAt.Equal(lock.ExpiresAt) {
		t.Errorf("past: %v, %v; want %v as before", got.ExpiresAt, err, lock.ExpiresAt)
	}
	got, err = extend(holdfast.Until{At: lock.CreatedAt.Add(testenv.MaxTTL)})
	if err != nil || !w.Lock(lock.ID).ExpiresAt.Equal(lock.CreatedAt.Add(testenv.MaxTTL)) {
		t.Errorf("to the cap: %v, %v", got.ExpiresAt, err)
	}
	_, err = extend(holdfast.Until{At: lock.CreatedAt.Add(testenv.MaxTTL + time.Millisecond)})
	wantCode(t, err, holdfast.CodeInvalid)
	_, err = extend(holdfast.Until{})
	wantCode(t, err, holdfast.CodeInvalid)

	w.Set("events", event, bson.D{{Key: "status", Value: "CLOSED"}})
	_, err = extend(holdfast.Until{For: time.Hour})
	wantCode(t, err, "")
	w.Set("events", event, bson.D{{Key: "status", Value: "CANCELLED"}})
	_, err = extend(holdfast.Until{For: time.Hour})
	wantCode(t, err, holdfast.CodeEventNotOnSale)
}
