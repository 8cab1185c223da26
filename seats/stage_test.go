package seats_test

import (
	"context"
	"testing"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	testenv.WaitFor(t, ready)
}

func contextWithCancel(w *testenv.Env) (context.Context, context.CancelFunc) {
	return context.WithCancel(w.Ctx())
}

// holdEvent writes the event in a transaction and leaves it open until release.
func holdEvent(_ *testing.T, w *testenv.Env, event holdfast.ID) (release func()) {
	return w.HoldEvent(event.String())
}
