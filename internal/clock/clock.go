// Package clock is the one place that asks the machine for the time. It serves
// durations, deadlines and names of runs; whether a lock or a booking is due is
// decided by the database's clock alone.
package clock

import (
	"time"

	"github.com/jonboulle/clockwork"
)

// Clock tells the time. Tests pass one of their own.
type Clock func() time.Time

// skew is how far the machine's clock is off, such as 10m. Only the linker sets
// it (-X), in builds of tests that prove that no pod's clock decides anything.
var skew string

var off = func() time.Duration {
	d, _ := time.ParseDuration(skew) //nolint:errcheck // unset is 0
	return d
}()

// System is the machine's clock.
func System() time.Time { return time.Now().Add(off) }

// Since is the time passed from start.
func (c Clock) Since(start time.Time) time.Duration { return c().Sub(start) }

// Deadline is for connections, whose deadlines are the runtime's own.
func Deadline(in time.Duration) time.Time { return time.Now().Add(in) }

// Work is the machine's clock for libraries that want one of clockwork's.
func Work() clockwork.Clock { return work{clockwork.NewRealClock()} }

type work struct{ clockwork.Clock }

func (work) Now() time.Time                      { return System() }
func (work) Since(start time.Time) time.Duration { return System().Sub(start) }
func (work) Until(t time.Time) time.Duration     { return t.Sub(System()) }
