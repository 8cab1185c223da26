//go:build unix

package engine_test

import (
	"context"
	"testing"

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
