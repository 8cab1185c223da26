package testenv

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/ids"
)

// HoldEvent writes an event in a transaction and leaves it open until release,
// so that what others want of the event waits.
func (w *World) HoldEvent(event string) (release func()) {
	w.T.Helper()
	id, err := ids.Parse(event)
	if err != nil {
		w.T.Fatal(err)
	}
	session, err := w.DB.Client().StartSession()
	if err != nil {
		w.T.Fatal(err)
	}
	if err := session.StartTransaction(); err != nil {
		w.T.Fatal(err)
	}
	ctx := mongo.NewSessionContext(w.Ctx(), session)
	_, err = w.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: id}}, bson.D{{Key: "$inc", Value: bson.D{{Key: "rev", Value: 1}}}})
	if err != nil {
		w.T.Fatal(err)
	}
	return func() { session.EndSession(context.Background()) }
}
