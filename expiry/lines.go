package expiry

import (
	"fmt"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// lines are the log lines of a run. They are fixed: operators' tools search for these texts.
type lines struct {
	found   func(n int) string
	ended   func(e inventory.Ended, event holdfast.ID) string
	success func(n int) string // nil: recovery logs its own
}

// lockLines are the lines of a run that ends locks.
func lockLines(by holdfast.EndedBy) lines {
	if by == holdfast.EndedByRecovery {
		return lines{
			found: func(n int) string {
				return fmt.Sprintf("[RECOVERY] Found %d stale ACTIVE locks that should be EXPIRED", n)
			},
			ended: func(e inventory.Ended, _ holdfast.ID) string {
				return fmt.Sprintf("[RECOVERY] Expired stale lock %s, restored %d seats", e.Lock, e.Seats)
			},
		}
	}
	return lines{
		found: func(n int) string { return fmt.Sprintf("[LOCK EXPIRY JOB] Found %d expired locks", n) },
		ended: func(e inventory.Ended, event holdfast.ID) string {
			return fmt.Sprintf("[LOCK EXPIRY JOB] Expired lock %s, restored %d seats to event %s", e.Lock, e.Seats, event)
		},
		success: func(n int) string { return fmt.Sprintf("[LOCK EXPIRY JOB] Successfully expired %d locks", n) },
	}
}

// bookingLines are the lines of a run that ends bookings.
func bookingLines(by holdfast.EndedBy) lines {
	if by == holdfast.EndedByRecovery {
		return lines{
			found: func(n int) string { return fmt.Sprintf("[RECOVERY] Found %d stale PAYMENT_PENDING bookings", n) },
			ended: func(e inventory.Ended, _ holdfast.ID) string {
				return fmt.Sprintf("[RECOVERY] Expired stale booking %s, released lock %s", e.Booking, e.Lock)
			},
		}
	}
	return lines{
		found: func(n int) string { return fmt.Sprintf("[BOOKING EXPIRY JOB] Found %d expired bookings", n) },
		ended: func(e inventory.Ended, _ holdfast.ID) string {
			return fmt.Sprintf("[BOOKING EXPIRY JOB] Expired booking %s, expired lock %s, restored %d seats", e.Booking, e.Lock, e.Seats)
		},
		success: func(n int) string { return fmt.Sprintf("[BOOKING EXPIRY JOB] Successfully expired %d bookings", n) },
	}
}

// eraseLines are the lines of what ends before a customer is erased.
var eraseLines = lines{
	found: func(n int) string { return fmt.Sprintf("[ERASE] Found %d expired locks or bookings of a customer", n) },
	ended: func(e inventory.Ended, event holdfast.ID) string {
		return fmt.Sprintf("[ERASE] Expired lock %s, restored %d seats to event %s", e.Lock, e.Seats, event)
	},
}

// cancelLines are the lines of a run that cancels all of an event.
func cancelLines(event holdfast.ID) lines {
	return lines{
		found: func(n int) string {
			return fmt.Sprintf("[EVENT CANCEL JOB] Found %d locks or bookings of event %s", n, event)
		},
		ended: func(e inventory.Ended, _ holdfast.ID) string {
			if e.Booking.IsZero() {
				return fmt.Sprintf("[EVENT CANCEL JOB] Released lock %s, restored %d seats", e.Lock, e.Seats)
			}
			return fmt.Sprintf("[EVENT CANCEL JOB] Cancelled booking %s, released lock %s, restored %d seats", e.Booking, e.Lock, e.Seats)
		},
		success: func(n int) string {
			return fmt.Sprintf("[EVENT CANCEL JOB] Successfully cancelled %d locks or bookings of event %s", n, event)
		},
	}
}
