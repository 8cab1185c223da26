//go:build unix

package engine_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/engine"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A sweep finds a corrupt lock, and another process's recovery leaves it out too.
func TestEngine_CorruptLocksCountNothing(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	w.Acquire(event, 1, testenv.Soon())
	w.Set("seatlocks", w.Acquire(event, 3, testenv.Soon()).ID, bson.D{{Key: "userId", Value: "x"}})
	for what, run := range map[string]func(*engine.Engine) error{
		"sweep":   func(e *engine.Engine) error { _, err := e.Sweep(w.Ctx()); return err },
		"recover": func(e *engine.Engine) error { _, err := e.Recover(w.Ctx()); return err },
		"again":   func(e *engine.Engine) error { _, err := e.Recover(w.Ctx()); return err },
	} {
		e, err := engine.Open(w.Ctx(), engine.Options{URI: w.URI, Database: w.DB.Name()})
		if err != nil {
			t.Fatal(err)
		}
		if err := run(e); err != nil {
			t.Error(err)
		}
		if available, _ := w.Available(event); available != 9 {
			t.Errorf("%s: %d seats are available, want 9", what, available)
		}
		if err := e.Close(context.WithoutCancel(w.Ctx())); err != nil {
			t.Error(err)
		}
	}
}

// An engine's search keeps the corrupt documents that a worker has found in the collections of the jobs.
func TestEngine_FindsCorruptRunsAndLeases(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	for collection, field := range map[string]string{"jobruns": "pod", "jobleases": "lockedBy"} {
		w.Insert(collection, bson.D{{Key: "_id", Value: "x"}, {Key: "job", Value: "lock-expiry"}, {Key: "outcome", Value: "failed"},
			{Key: "expiresAt", Value: time.Now().Add(time.Hour)}, {Key: field, Value: 7}})
	}
	if err := w.Corrupt.Refresh(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	found, _ := w.Corrupt.Known()
	age := bson.D{{Key: "$set", Value: bson.D{{Key: "began", Value: found.Began.Add(-time.Hour)}}}}
	if _, err := w.DB.Collection("meta").UpdateOne(w.Ctx(), bson.D{{Key: "_id", Value: "corrupt"}}, age); err != nil {
		t.Fatal(err)
	}
	if _, err := openOn(t, w).Sweep(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	if err := w.Corrupt.Load(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	if after, _ := w.Corrupt.Known(); after.String() != "1 in jobruns, 1 in jobleases" || !after.Began.After(found.Began) {
		t.Errorf("the search has found: %v", after)
	}
}

// openOn returns an engine on the database of a test.
func openOn(t *testing.T, w *testenv.Env) *engine.Engine {
	t.Helper()
	e, err := engine.Open(w.Ctx(), engine.Options{URI: w.URI, Database: w.DB.Name(), Log: slog.New(w.Log)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(context.WithoutCancel(w.Ctx())); err != nil {
			t.Error(err)
		}
	})
	return e
}
