package seats_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// waitFor polls until ready, within a deadline.
func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-deadline:
			t.Fatal("it did not happen in time")
		case <-tick.C:
		}
	}
}

func contextWithCancel(w *testenv.World) (context.Context, context.CancelFunc) {
	return context.WithCancel(w.Ctx())
}

// holdEvent writes the event in a transaction and leaves it open until release.
func holdEvent(t *testing.T, w *testenv.World, event ids.ID) (release func()) {
	t.Helper()
	session, err := w.DB.Client().StartSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := session.StartTransaction(); err != nil {
		t.Fatal(err)
	}
	ctx := mongo.NewSessionContext(w.Ctx(), session)
	_, err = w.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: event}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "rev", Value: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	return func() { session.EndSession(context.Background()) }
}
