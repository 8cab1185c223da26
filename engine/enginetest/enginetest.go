package enginetest

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/engine"
)

// Variable is the environment variable with the URI of the MongoDB for tests.
const Variable = "HOLDFAST_TEST_MONGODB_URI"

// Engine is an engine on a database of one test.
type Engine struct {
	*engine.Engine

	Client   *mongo.Client // for documents of the shop, in the same or another database
	Database string

	t testing.TB
}

// server starts the MongoDB of this process once. It ends with the process.
var server = sync.OnceValues(func() (uri string, err error) {
	if uri := os.Getenv(Variable); uri != "" {
		return uri, nil
	}
	return startMongod()
})

// New opens an engine on a new database. At the end of the test it closes the engine and drops the database. It fails
// the test if there is no MongoDB. Tests may run in parallel.
func New(t testing.TB) *Engine {
	t.Helper()
	return Open(t, engine.Options{})
}

// Open is New with options, of which the MongoDB and the database are replaced. Without a Log the test's output gets
// warnings and errors.
func Open(t testing.TB, o engine.Options) *Engine {
	t.Helper()
	uri, err := server()
	if err != nil {
		t.Fatal(err)
	}
	e := &Engine{Database: "holdfast_test_" + rand.Text()[:12], t: t}
	e.Client, err = mongo.Connect(options.Client().ApplyURI(uri).SetAppName(engine.AppName(e.Database)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Client.Disconnect(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	o.URI, o.Client, o.Database = "", e.Client, e.Database
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	t.Cleanup(func() {
		if err := e.Client.Database(e.Database).Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if e.Engine, err = engine.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return e
}
