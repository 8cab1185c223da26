package testenv

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// HoldEvent writes an event in a transaction and keeps the transaction open until
// release, so that other writes to the event wait.
func (e *Env) HoldEvent(event string) (release func()) {
	e.T.Helper()
	id := must(holdfast.ParseID(event))(e.T)
	session := must(e.DB.Client().StartSession())(e.T)
	if err := session.StartTransaction(); err != nil {
		e.T.Fatal(err)
	}
	ctx := mongo.NewSessionContext(e.Ctx(), session)
	must(e.DB.Collection("events").UpdateOne(ctx, bson.D{{Key: "_id", Value: id}},
		bson.D{{Key: "$inc", Value: bson.D{{Key: "internal.rev", Value: 1}}}}))(e.T)
	return func() { session.EndSession(context.Background()) }
}

// Conflict is MongoDB's answer to a transaction that lost a conflict; it is repeated.
func Conflict() error {
	const writeConflict = 112
	return mongo.CommandError{
		Code: writeConflict, Name: "WriteConflict", Message: "a conflict of a test", Labels: []string{"TransientTransactionError"},
	}
}
