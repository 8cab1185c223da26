package testenv

import (
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
)

// ChangeUnchecked applies an update that the collection's validator would refuse.
func (e *Env) ChangeUnchecked(collection string, id holdfast.ID, change bson.D) {
	e.T.Helper()
	result, err := e.DB.Collection(collection).UpdateOne(e.Ctx(), bson.D{{Key: "_id", Value: id}}, change,
		options.UpdateOne().SetBypassDocumentValidation(true))
	if err != nil || result.MatchedCount != 1 {
		e.T.Fatal(err, result)
	}
}
