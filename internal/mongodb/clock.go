package mongodb

import "time"

// Clock returns the current time of a process. Tests pass their own clock. It is used for durations, deadlines and
// names of runs. The database's clock alone decides whether a lock or a booking is due.
type Clock func() time.Time

// skew is added to the machine's clock, such as 10m. Only the linker sets it (-X), for tests which show that no
// decision depends on the clock of a pod.
var skew string

var offset = func() time.Duration {
	d, _ := time.ParseDuration(skew) // 0 if skew is not set
	return d
}()

// SystemTime reads the machine's clock. Only this file reads it.
func SystemTime() time.Time { return time.Now().Add(offset) }

// Since returns the time elapsed since start.
func (c Clock) Since(start time.Time) time.Duration { return c().Sub(start) }

// Deadline returns a deadline for a connection. The runtime compares it with its
// own clock, so skew does not apply.
func Deadline(timeout time.Duration) time.Time { return time.Now().Add(timeout) }
