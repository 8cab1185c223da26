package chaos_test

import (
	"context"
	"io"
	"time"
)

// delay waits for a duration that is itself part of a workload or a fault: a think time, how
// long a process stays frozen, when a crash happens. To wait for a state, use poll.
func delay(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// poll checks a condition at an interval until it holds or the timeout has passed, and
// reports whether it held.
func poll(timeout, interval time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(timeout); !holds(); {
		if time.Now().After(deadline) {
			return false
		}
		delay(context.Background(), interval)
	}
	return true
}

// receive waits for a channel's next value, or for its end, and reports whether that came
// before the timeout.
func receive[T any](from <-chan T, timeout time.Duration) (value T, inTime bool) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case value = <-from:
		return value, true
	case <-timer.C:
		return value, false
	}
}

// closeQuietly closes a connection or a body whose content is no longer needed. An error
// would not matter to the test.
func closeQuietly(c io.Closer) { _ = c.Close() }
