package expiry_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// Times of other software, such as lists of dates, neither stop the walk nor repeat it. The
// locks behind them are removed.
func TestRetention_WalksPastTimesThatAreNoDates(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(100)
	old := time.Now().Add(-48 * time.Hour).Truncate(time.Millisecond)
	insert := func(id any, updatedAt, expiresAt any) { // with an open booking, which keeps the lock
		w.Insert("bookings", bson.D{{Key: "_id", Value: ids.New()}, {Key: "seatLockId", Value: id}, {Key: "status", Value: "PAYMENT_PENDING"}})
		lock := bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event}, {Key: "seats", Value: 1}, {Key: "status", Value: "EXPIRED"}}
		if updatedAt != nil {
			lock = append(lock, bson.E{Key: "updatedAt", Value: updatedAt})
		}
		if expiresAt != nil {
			lock = append(lock, bson.E{Key: "expiresAt", Value: expiresAt})
		}
		w.Insert("seatlocks", lock)
	}
	list := bson.A{old, old.Add(-time.Hour)}
	for _, unreadable := range []any{list, bson.A{}, "2020-01-01", bson.MinKey{}, bson.MaxKey{}, bson.Timestamp{T: 1}, 1, true} {
		for range 2 {
			insert(ids.New(), unreadable, old)
			insert(ids.New(), old, unreadable)
			insert(ids.New(), nil, unreadable)
		}
	}
	for _, foreign := range []any{"a", "b", 1, true, time.Unix(1, 0)} {
		insert(foreign, old, old)
	}
	var good []holdfast.ID
	for range 5 {
		good = append(good, ids.New(), ids.New())
		insert(good[len(good)-2], old, old)
		insert(good[len(good)-1], nil, old)
	}
	ofGood := bson.D{{Key: "seatLockId", Value: bson.D{{Key: "$in", Value: good}}}}
	if _, err := w.DB.Collection("bookings").DeleteMany(w.Ctx(), ofGood); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Ctx(), 20*time.Second) // a walk that repeats does not end
	defer cancel()
	small := &expiry.Retention{Store: w.Store, Batch: 1}
	report, err := small.Run(ctx, 24*time.Hour, slog.New(w.Log))
	if err != nil || report.Applied != len(good) || report.Found != len(good) {
		t.Errorf("%+v, %v; want %d", report, err, len(good))
	}
	for _, id := range good {
		if exists(t, w, "seatlocks", id) {
			t.Errorf("lock %s is left", id)
		}
	}
}
