package testenv

import (
	"testing"
	"time"
)

const (
	waitTimeout  = time.Minute
	pollInterval = 10 * time.Millisecond
)

// WaitFor polls until done returns true, and fails the test after a minute.
func WaitFor(t testing.TB, done func() bool) {
	t.Helper()
	if !Poll(waitTimeout, done) {
		t.Fatalf("the condition did not become true within %v", waitTimeout)
	}
}

// HoldsFor polls for d, and fails the test once holds returns false.
func HoldsFor(t testing.TB, d time.Duration, holds func() bool) {
	t.Helper()
	if Poll(d, func() bool { return !holds() }) {
		t.Fatalf("the condition became false within %v", d)
	}
}

// Poll reports whether done returned true within timeout. Unlike WaitFor, it may be
// called on any goroutine.
func Poll(timeout time.Duration, done func() bool) bool {
	deadline := time.NewTimer(timeout)
	defer deadline.Stop()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if done() {
			return true
		}
		select {
		case <-deadline.C:
			return false
		case <-tick.C:
		}
	}
}
