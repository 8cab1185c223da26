package app

import (
	"context"
	"log/slog"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// connect opens a process on a test's database, with leases in MongoDB.
func connect(t *testing.T, w *testenv.Env, flags ...string) *App {
	t.Helper()
	c, err := config.Parse("test", "", append([]string{
		"--mongodb-uri", w.URI, "--mongodb-database", w.DB.Name(), "--job-leases", "mongo"}, flags...))
	if err != nil {
		t.Fatal(err)
	}
	a, err := Connect(t.Context(), c, slog.New(w.Log))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return a
}

// MongoDB rejects all leases. The schema is made all the same, and the log says once that the others wait.
func TestBoot_MakesTheSchemaAlthoughLeasesAreRejected(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	const lockKey = "hf_eventId_userId_idempotencyKey_unique_if_idempotencyKey"
	if err := w.DB.Collection("seatlocks").Indexes().DropOne(t.Context(), lockKey); err != nil {
		t.Fatal(err)
	}
	w.Command(bson.D{{Key: "drop", Value: "jobleases"}}) // a view takes its place
	w.Command(bson.D{{Key: "create", Value: "jobleases"}, {Key: "viewOn", Value: "users"}, {Key: "pipeline", Value: bson.A{}}})
	a := connect(t, w)
	ctx, cancel := context.WithCancel(t.Context())
	booted := make(chan struct{})
	go func() {
		a.Boot(ctx)
		close(booted)
	}()
	testenv.WaitFor(t, func() bool { return a.boot.schema.Load() != nil && len(w.Log.Lines("DEBUG Lease unavailable")) > 2 })
	cancel()
	<-booted
	specs, err := w.DB.Collection("seatlocks").Indexes().ListSpecifications(t.Context())
	isKey := func(s mongo.IndexSpecification) bool { return s.Name == lockKey }
	if err != nil || !slices.ContainsFunc(specs, isKey) {
		t.Errorf("the index is missing: %v", err)
	}
	ready := a.Ready(t.Context())
	if !ready.Degraded {
		t.Errorf("%+v", ready)
	}
	if lines := w.Log.Lines("WARN Lease unavailable"); len(lines) != 2 { // of the schema, and of recovery
		t.Errorf("%q", lines)
	}
}

// SEAT_INDEX decides for a new database. A start with the other value works, and says that it changes nothing.
func TestBoot_SaysThatSeatIndexHasNoEffect(t *testing.T) {
	t.Parallel()
	w := testenv.New(t) // with the index
	for _, c := range []struct {
		flags []string
		warns bool
	}{{nil, false}, {[]string{"--seat-index"}, false}, {[]string{"--no-seat-index"}, true}} {
		before := len(w.Log.Lines("SEAT_INDEX has no effect"))
		a := connect(t, w, c.flags...)
		a.Boot(t.Context())
		if ready := a.Ready(t.Context()); ready.Checks["schema"] != schemaOK {
			t.Errorf("%q: %+v", c.flags, ready)
		}
		if warned := len(w.Log.Lines("SEAT_INDEX has no effect")) > before; warned != c.warns {
			t.Errorf("%q: warned: %t", c.flags, warned)
		}
	}
}
