// Package clock is the only package that reads the machine's clock. It is used for
// durations, deadlines and names of runs. Whether a lock or a booking is due is
// decided by the database's clock alone.
package clock

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// Clock returns the current time. Tests pass their own.
type Clock func() time.Time

// skew is added to the machine's clock, such as 10m. Only the linker sets it (-X),
// for tests which show that no decision depends on a pod's clock.
var skew string

var offset = func() time.Duration {
	d, _ := time.ParseDuration(skew) // 0 if skew is not set
	return d
}()

// System reads the machine's clock.
func System() time.Time { return time.Now().Add(offset) }

// Since returns the time elapsed since start.
func (c Clock) Since(start time.Time) time.Duration { return c().Sub(start) }

// Deadline returns a deadline for a connection. The runtime compares it with its
// own clock, so skew does not apply.
func Deadline(timeout time.Duration) time.Time { return time.Now().Add(timeout) }

// Clockwork returns the machine's clock as a clockwork.Clock.
func Clockwork() clockwork.Clock { return systemClock{clockwork.NewRealClock()} }

type systemClock struct{ clockwork.Clock }

func (systemClock) Now() time.Time                      { return System() }
func (systemClock) Since(start time.Time) time.Duration { return System().Sub(start) }
func (systemClock) Until(t time.Time) time.Duration     { return t.Sub(System()) }
