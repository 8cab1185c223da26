// Package clock is the one place that asks the machine for the time. It serves
// durations, deadlines and names of runs; whether a lock or a booking is due is
// decided by the database's clock alone.
package clock

import "time"

// Clock tells the time. Tests pass one of their own.
type Clock func() time.Time

// System is the machine's clock.
func System() time.Time { return time.Now() }

// Since is the time passed from start.
func (c Clock) Since(start time.Time) time.Duration { return c().Sub(start) }
