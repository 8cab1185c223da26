package testenv_test

import (
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A database that only had other documents is used again, and has none of them.
func TestNew_UsesADatabaseAgain(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(e *testenv.Env)
		isAgain bool
	}{
		{"documents", func(e *testenv.Env) {
			e.Acquire(e.Event(10), 2, testenv.Soon())
			e.Insert("meta", bson.D{{Key: "_id", Value: "theirs"}})
		}, true},
		{"a collection", func(e *testenv.Env) { e.Insert("theirs", bson.D{{Key: "a", Value: 1}}) }, false},
		{"an index", func(e *testenv.Env) {
			e.Command(bson.D{{Key: "createIndexes", Value: "seatlocks"}, {Key: "indexes", Value: bson.A{
				bson.D{{Key: "key", Value: bson.D{{Key: "seats", Value: 1}}}, {Key: "name", Value: "theirs"}},
			}}})
		}, false},
		{"a validator", func(e *testenv.Env) {
			e.Command(bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: bson.D{}}})
		}, false},
		{"an array in an index", func(e *testenv.Env) {
			e.Insert("seatlocks", bson.D{
				{Key: "_id", Value: mongodb.NewID()}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: bson.A{1}},
			})
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var name string
			var before map[string][]bson.M
			t.Run("first", func(t *testing.T) {
				e := testenv.New(t)
				name, before = e.DB.Name(), documents(t, e)
				c.change(e)
			})
			e := testenv.New(t)
			if isAgain := e.DB.Name() == name; isAgain != c.isAgain {
				t.Errorf("used again: %t, want %t", isAgain, c.isAgain)
			}
			after := documents(t, e)
			if c.isAgain && !reflect.DeepEqual(after, before) {
				t.Errorf("has %v, want %v", after, before)
			}
		})
	}
}

// documents returns all documents by collection.
func documents(t *testing.T, e *testenv.Env) map[string][]bson.M {
	t.Helper()
	names, err := e.DB.ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]bson.M{}
	for _, name := range names {
		cursor, err := e.DB.Collection(name).Find(t.Context(), bson.D{})
		if err != nil {
			t.Fatal(err)
		}
		var all []bson.M
		if err := cursor.All(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		found[name] = all
	}
	return found
}
