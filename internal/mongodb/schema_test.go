package mongodb_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// goodKind is the schema of the documents in these tests.
var goodKind = &mongodb.Schema{Required: []string{"kind"}, Fields: []mongodb.Field{mongodb.OneOf("good").Field("kind")}}

func TestEnsureSchema_ReportsWhatMongoDBRejectsAndGoesOn(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for range 2 {
		w.Insert("things", bson.D{{Key: "name", Value: "same"}})
	}
	degraded, err := mongodb.EnsureSchema(w.Ctx(), w.DB, mongodb.Collection{
		Name: "things", Schema: goodKind,
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

// If MongoDB rejects a change of the schema for any reason, the other changes are still made.
func TestEnsureSchema_ARejectedChangeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	lists := bson.A{1, 2}
	w.Insert("parallel", bson.D{{Key: "a", Value: lists}, {Key: "b", Value: lists}})
	if err := w.DB.CreateView(w.Ctx(), "view", "parallel", mongo.Pipeline{}); err != nil {
		t.Fatal(err)
	}
	index := []mongodb.Index{{Keys: mongodb.Keys("a", "b")}, {Keys: mongodb.Keys("kind")}}
	collections := []mongodb.Collection{
		{Name: "parallel", Indexes: index}, {Name: "view", Schema: goodKind, Indexes: index}, {Name: "last", Indexes: index},
	}
	const rejected = 4 // an index of the first; the validator and the indexes of the second
	for range 2 {
		degraded, err := mongodb.EnsureSchema(w.Ctx(), w.DB, collections...)
		if err != nil || len(degraded) != rejected {
			t.Errorf("%d changes were rejected, %v: %q; want %d", len(degraded), err, degraded, rejected)
		}
		if gaps, err := mongodb.SchemaGaps(w.Ctx(), w.DB, collections...); err != nil || len(gaps) != rejected {
			t.Errorf("%d gaps, %v: %q; want %d", len(gaps), err, gaps, rejected)
		}
	}
	if first, last := definitions(t, w, "parallel"), definitions(t, w, "last"); first["hf_kind"] == nil || len(last) != 3 {
		t.Errorf("the others were not made: %v, %v", first, last)
	}
}

// An existing collection may have a collation. Our indexes compare byte by byte all the same, and are kept.
func TestEnsureSchema_OfACollectionWithACollation(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	ignoresCase := options.CreateCollection().SetCollation(mongodb.IgnoringCase())
	if err := w.DB.CreateCollection(w.Ctx(), "things", ignoresCase); err != nil {
		t.Fatal(err)
	}
	things := mongodb.Collection{Name: "things", Indexes: []mongodb.Index{
		{Keys: mongodb.Keys("key"), Unique: true}, {Keys: mongodb.Keys("email"), CaseInsensitive: true},
	}}
	for range 2 {
		if degraded, err := mongodb.EnsureSchema(w.Ctx(), w.DB, things); err != nil || len(degraded) > 0 {
			t.Errorf("%q, %v", degraded, err)
		}
		if gaps, err := mongodb.SchemaGaps(w.Ctx(), w.DB, things); err != nil || len(gaps) > 0 {
			t.Errorf("gaps %q, %v", gaps, err)
		}
		if have := definitions(t, w, "things"); len(have) != 3 {
			t.Errorf("indexes %v, want _id_ and two of ours", have)
		}
	}
	w.Insert("things", bson.D{{Key: "key", Value: "a"}})
	w.Insert("things", bson.D{{Key: "key", Value: "A"}})
	_, err := w.DB.Collection("things").InsertOne(w.Ctx(), bson.D{{Key: "key", Value: "a"}})
	if !mongodb.IsDuplicate(err, mongodb.Keys("key")) {
		t.Errorf("the key is not unique: %v", err)
	}
}

// An index of many documents takes longer to build than any request. The client must not end the build.
func TestEnsureSchema_IndexBuildsHaveNoDeadline(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	var builds atomic.Int64
	process := testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) {
		o.Monitor = &event.CommandMonitor{Started: func(ctx context.Context, e *event.CommandStartedEvent) {
			if e.CommandName != "createIndexes" {
				return
			}
			builds.Add(1)
			deadline, has := ctx.Deadline()
			if _, err := e.Command.LookupErr("maxTimeMS"); has || err == nil {
				t.Errorf("the build has to end until %v: %v", deadline, e.Command)
			}
		}}
	})
	_, err := mongodb.EnsureSchema(t.Context(), process.DB, mongodb.Collection{
		Name: "things", Schema: goodKind, Indexes: []mongodb.Index{{Keys: mongodb.Keys("kind")}},
	})
	if err != nil || builds.Load() != 1 {
		t.Errorf("%d indexes were built: %v", builds.Load(), err)
	}
}

func TestEnsureSchema_ManyAtOnceAgree(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	want := mongodb.Collection{Name: "many", Schema: goodKind, Indexes: []mongodb.Index{{Keys: mongodb.Keys("kind")}}}
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

// definitions returns the indexes of a collection by name.
func definitions(t *testing.T, w *testenv.Env, collection string) map[string]bson.M {
	t.Helper()
	cursor, err := w.DB.Collection(collection).Indexes().List(w.Ctx())
	if err != nil {
		t.Fatal(err)
	}
	var all []bson.M
	if err := cursor.All(w.Ctx(), &all); err != nil {
		t.Fatal(err)
	}
	found := map[string]bson.M{}
	for _, d := range all {
		name, _ := d["name"].(string)
		found[name] = d
	}
	return found
}

// An index that has the name of a wanted one and another definition is replaced. The new index is complete before
// the old one is dropped.
func TestEnsureSchema_ReplacesAnIndexWhoseDefinitionChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after mongodb.Index }{
		"a filter": {
			mongodb.Index{Keys: mongodb.Keys("a"), Partial: bson.D{{Key: "n", Value: bson.D{{Key: "$gt", Value: 0}}}}},
			mongodb.Index{Keys: mongodb.Keys("a"), Partial: bson.D{{Key: "n", Value: bson.D{{Key: "$gt", Value: 5}}}}},
		},
		"a lifetime": {
			mongodb.Index{Keys: mongodb.Keys("a"), ExpireAfter: time.Hour}, mongodb.Index{Keys: mongodb.Keys("a"), ExpireAfter: 2 * time.Hour},
		},
		"case": {
			mongodb.Index{Keys: mongodb.Keys("a"), Unique: true},
			mongodb.Index{Keys: mongodb.Keys("a"), Unique: true, CaseInsensitive: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			for _, index := range []mongodb.Index{c.before, c.after, c.after} {
				all := mongodb.Collection{Name: "things", Indexes: []mongodb.Index{index}}
				degraded, err := mongodb.EnsureSchema(w.Ctx(), w.DB, all)
				if err != nil || len(degraded) > 0 {
					t.Fatal(degraded, err)
				}
				if gaps, err := mongodb.SchemaGaps(w.Ctx(), w.DB, all); err != nil || len(gaps) > 0 {
					t.Errorf("gaps %q, %v", gaps, err)
				}
				if have := definitions(t, w, "things"); len(have) != 2 {
					t.Errorf("indexes %v", have)
				}
			}
		})
	}
}

// A unique index that can't be built leaves the index that it would replace.
func TestEnsureSchema_KeepsTheOldIndexIfTheNewOneIsRefused(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for range 2 {
		w.Insert("things", bson.D{{Key: "a", Value: "same"}})
	}
	if _, err := w.DB.Collection("things").Indexes().CreateOne(w.Ctx(),
		mongo.IndexModel{Keys: mongodb.Keys("a"), Options: options.Index().SetName("hf_a_unique")}); err != nil {
		t.Fatal(err)
	}
	degraded, err := mongodb.EnsureSchema(w.Ctx(), w.DB, mongodb.Collection{
		Name: "things", Indexes: []mongodb.Index{{Keys: mongodb.Keys("a"), Unique: true}},
	})
	if err != nil || len(degraded) != 1 || definitions(t, w, "things")["hf_a_unique"] == nil {
		t.Errorf("%q, %v, indexes %v", degraded, err, definitions(t, w, "things"))
	}
}
