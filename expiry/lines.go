package expiry

import (
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Lines are a run's log lines. They are fixed: operators' tools search for these texts.
type Lines struct {
	Found   func(n int) string
	Lock    func(e inventory.Ended, event holdfast.ID) string // nil if no locks are swept
	Booking func(e inventory.Ended) string                    // nil if no bookings are swept
	Success func(n int) string                                // nil: the caller logs it
}

// The lines of the two scheduled sweeps.
var (
	LockLines = Lines{
		Found: func(n int) string { return fmt.Sprintf("[LOCK EXPIRY JOB] Found %d expired locks", n) },
		Lock: func(e inventory.Ended, event holdfast.ID) string {
			return fmt.Sprintf("[LOCK EXPIRY JOB] Expired lock %s, restored %d seats to event %s", e.Lock, e.Seats, event)
		},
		Success: func(n int) string { return fmt.Sprintf("[LOCK EXPIRY JOB] Successfully expired %d locks", n) },
	}
	BookingLines = Lines{
		Found: func(n int) string { return fmt.Sprintf("[BOOKING EXPIRY JOB] Found %d expired bookings", n) },
		Booking: func(e inventory.Ended) string {
			return fmt.Sprintf("[BOOKING EXPIRY JOB] Expired booking %s, expired lock %s, restored %d seats", e.Booking, e.Lock, e.Seats)
		},
		Success: func(n int) string { return fmt.Sprintf("[BOOKING EXPIRY JOB] Successfully expired %d bookings", n) },
	}
)
