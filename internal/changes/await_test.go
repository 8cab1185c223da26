package changes_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// What is written after the look wakes.
func TestAwait_IsWokenByWhatComesLater(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, collection string
		await            func(w *testenv.Env, end changes.Position) bool
		write            func(w *testenv.Env)
	}{
		{
			"a record", "changes",
			func(w *testenv.Env, _ changes.Position) bool { return awaitRecord(w) },
			func(w *testenv.Env) { record(w, made(mongodb.NewID(), holdfast.ChangeLockExtended, 1)) },
		},
		{
			"a number", mongodb.MetaCollection,
			awaitNumber,
			func(w *testenv.Env) {
				record(w, made(mongodb.NewID(), holdfast.ChangeLockExtended, 1))
				number(w)
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			record(w, made(mongodb.NewID(), holdfast.ChangeLockExtended, 1))
			testenv.WaitFor(t, func() bool { // on a busy machine the second of a call may be over before the write
				number(w)
				_, end := list(w, nil, changes.Filter{}, 1000)
				var isWritten bool
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					isWritten = c.await(w, end)
				}()
				if hasWaiter(w, c.collection, ended) {
					c.write(w)
				}
				<-ended
				return isWritten && !w.Log.Has(streamFailed)
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
	record(w, made(mongodb.NewID(), holdfast.ChangeLockExtended, 1))
	for range 2 {
		if !awaitRecord(w) {
			t.Error("a record waits for its number, and nothing woke")
		}
	}
	if awaitNumber(w, begin) {
		t.Error("no record has a number")
	}
	number(w)
	if awaitRecord(w) {
		t.Error("each record has a number")
	}
	if !awaitNumber(w, begin) {
		t.Error("a record has a number, and nothing woke")
	}
	if awaitNumber(w, changes.Position{Seq: 2}) {
		t.Error("there is no other record")
	}
	if w.Log.Has(streamFailed) {
		t.Error("a change stream has failed")
	}
}

const (
	streamFailed = "Waiting by a change stream has failed; polling for a minute"
	interval     = 10 * time.Millisecond
)

func awaitRecord(w *testenv.Env) bool { return w.Changes.RecordWaker(interval)(w.Ctx()) }

func awaitNumber(w *testenv.Env, end changes.Position) bool {
	return w.Changes.NumberWaker(interval)(w.Ctx(), end)
}

// A change stream that fails is not tried again for a minute.
func TestAwait_WithoutAChangeStreamWaitsForTheInterval(t *testing.T) {
	t.Parallel()
	w := testenv.Open(t, testenv.OwnServer(t), "holdfast_test")
	off := w.FailCommands("getMore", "alwaysOn", bson.D{{Key: "errorCode", Value: 13}}) // Unauthorized
	defer off()
	wait := w.Changes.RecordWaker(interval)
	for range 3 {
		if wait(w.Ctx()) {
			t.Error("there is no record")
		}
	}
	if found := w.Log.Lines(streamFailed); len(found) != 1 {
		t.Errorf("%d change streams have failed: %v", len(found), found)
	}
}
