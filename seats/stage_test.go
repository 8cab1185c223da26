package seats_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// waitFor polls until ready, within a deadline.
func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ready() {
		select {
		case <-deadline:
			t.Fatal("it did not happen in time")
		case <-tick.C:
		}
	}
}

func contextWithCancel(w *testenv.World) (context.Context, context.CancelFunc) {
	return context.WithCancel(w.Ctx())
}

// holdEvent writes the event in a transaction and leaves it open until release.
func holdEvent(_ *testing.T, w *testenv.World, event ids.ID) (release func()) {
	return w.HoldEvent(event.String())
}
