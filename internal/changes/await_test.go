package changes_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// What is written after the look wakes.
func TestAwait_IsWokenByWhatComesLater(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, collection string
		await            func(w *testenv.Env, end changes.Position) (bool, error)
		write            func(w *testenv.Env)
	}{
		{
			"a record", "changes",
			func(w *testenv.Env, _ changes.Position) (bool, error) { return w.Changes.AwaitRecord(w.Ctx()) },
			func(w *testenv.Env) { record(w, made(ids.New(), holdfast.ChangeLockExtended, 1)) },
		},
		{
			"a number", mongodb.MetaCollection,
			func(w *testenv.Env, end changes.Position) (bool, error) { return w.Changes.AwaitNumber(w.Ctx(), end) },
			func(w *testenv.Env) {
				record(w, made(ids.New(), holdfast.ChangeLockExtended, 1))
				number(w)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			record(w, made(ids.New(), holdfast.ChangeLockExtended, 1))
			testenv.WaitFor(t, func() bool { // on a busy machine the second of a call may be over before the write
				number(w)
				_, end := list(w, nil, changes.Filter{}, 1000)
				var isWritten bool
				var err error
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					isWritten, err = c.await(w, end)
				}()
				if hasWaiter(w, c.collection, ended) {
					c.write(w)
				}
				if <-ended; err != nil {
					t.Fatal(err)
				}
				return isWritten
			})
		})
	}
}

// hasWaiter returns when a change stream of a collection waits, and reports false if what waits has ended before.
func hasWaiter(w *testenv.Env, collection string, ended <-chan struct{}) bool {
	w.T.Helper()
	waiting := mongo.Pipeline{
		{{Key: "$currentOp", Value: bson.D{}}},
		mongodb.Match(bson.D{{Key: "op", Value: "getmore"}, {Key: "ns", Value: w.DB.Name() + "." + collection}}),
	}
	for {
		select {
		case <-ended:
			return false
		default:
		}
		admin := w.DB.Client().Database("admin", options.Database().SetReadConcern(readconcern.Local()))
		cursor, err := admin.Aggregate(w.Ctx(), waiting)
		if err != nil {
			w.T.Fatal(err)
		}
		var found []bson.Raw
		if err := cursor.All(w.Ctx(), &found); err != nil {
			w.T.Fatal(err)
		}
		if len(found) > 0 {
			return true
		}
	}
}

// What was there before the change stream is found too, and nothing is waited for in vain.
func TestAwait_LooksFirst(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	begin := changes.Position{Seq: 1}
	record(w, made(ids.New(), holdfast.ChangeLockExtended, 1))
	for range 2 {
		if isAny, err := w.Changes.AwaitRecord(w.Ctx()); !isAny || err != nil {
			t.Errorf("a record waits for its number: %v, %v", isAny, err)
		}
	}
	if isAny, err := w.Changes.AwaitNumber(w.Ctx(), begin); isAny || err != nil {
		t.Errorf("no record has a number: %v, %v", isAny, err)
	}
	number(w)
	if isAny, err := w.Changes.AwaitRecord(w.Ctx()); isAny || err != nil {
		t.Errorf("each record has a number: %v, %v", isAny, err)
	}
	if isAny, err := w.Changes.AwaitNumber(w.Ctx(), begin); !isAny || err != nil {
		t.Errorf("a record has a number: %v, %v", isAny, err)
	}
	if isAny, err := w.Changes.AwaitNumber(w.Ctx(), changes.Position{Seq: 2}); isAny || err != nil {
		t.Errorf("there is no other record: %v, %v", isAny, err)
	}
}
