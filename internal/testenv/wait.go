package testenv

import (
	"testing"
	"time"
)

// WaitFor polls until ready, within a deadline.
func WaitFor(t testing.TB, ready func() bool) {
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
