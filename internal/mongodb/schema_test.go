package mongodb_test

import (
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestEnsureSchema_ReportsWhatMongoDBRejectsAndGoesOn(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for range 2 {
		w.Insert("things", bson.D{{Key: "name", Value: "same"}})
	}
	degraded, err := mongodb.EnsureSchema(w.Ctx(), w.DB, mongodb.Collection{
		Name: "things", Validator: mongodb.Is("kind", "good"),
		Indexes: []mongodb.Index{{Keys: mongodb.Keys("name"), Unique: true}, {Keys: mongodb.Keys("kind")}},
	})
	if err != nil || len(degraded) != 1 || !strings.Contains(degraded[0], `db.runCommand({"createIndexes":"things"`) {
		t.Errorf("got %q, %v", degraded, err)
	}
	specs, err := w.DB.Collection("things").Indexes().ListSpecifications(w.Ctx())
	if err != nil || len(specs) != 2 {
		t.Errorf("%d indexes, want _id and kind: %v", len(specs), err)
	}
	if _, err := w.DB.Collection("things").InsertOne(w.Ctx(), bson.D{{Key: "kind", Value: "bad"}}); err == nil {
		t.Error("the validator is not in force")
	}
}

func TestEnsureSchema_ManyAtOnceAgree(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	want := mongodb.Collection{Name: "many", Validator: mongodb.Is("kind", "good"), Indexes: []mongodb.Index{{Keys: mongodb.Keys("kind")}}}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if degraded, err := mongodb.EnsureSchema(w.Ctx(), w.DB, want); err != nil || len(degraded) > 0 {
				t.Error(degraded, err)
			}
		})
	}
	all.Wait()
}
