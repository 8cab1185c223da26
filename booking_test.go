package holdfast_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
)

func TestBookingStatus_EveryPairIsAllowedOrRefusedAsTheContractSays(t *testing.T) {
	allowed := map[holdfast.BookingStatus]map[holdfast.BookingAction]holdfast.BookingStatus{
		"INITIATED":       {"pay": "PAYMENT_PENDING", "cancel": "CANCELLED", "expire": "EXPIRED"},
		"PAYMENT_PENDING": {"confirm": "CONFIRMED", "cancel": "CANCELLED", "expire": "EXPIRED"},
		"CONFIRMED":       {"cancel": "CANCELLED"},
		"EXPIRED":         {},
		"CANCELLED":       {},
	}
	if len(holdfast.BookingStatuses()) != len(allowed) {
		t.Fatalf("%d statuses, want %d", len(holdfast.BookingStatuses()), len(allowed))
	}
	actions := []holdfast.BookingAction{holdfast.PayBooking, holdfast.ConfirmBooking, holdfast.CancelBooking, holdfast.ExpireBooking, "break"}
	for _, from := range append([]holdfast.BookingStatus{"", "BROKEN"}, holdfast.BookingStatuses()...) {
		for _, action := range actions {
			t.Run(fmt.Sprintf("%s a booking that is %s", action, from), func(t *testing.T) {
				want, ok := allowed[from][action]
				if got, gotOK := from.Next(action); got != want || gotOK != ok {
					t.Errorf("got %q, %v; want %q, %v", got, gotOK, want, ok)
				}
			})
		}
	}
}

// An open booking can expire, a live one can be cancelled, and an ended one can't change.
func TestBookingStatuses_AreGroupedByTheirActions(t *testing.T) {
	for _, status := range holdfast.BookingStatuses() {
		t.Run(string(status), func(t *testing.T) {
			_, expires := status.Next(holdfast.ExpireBooking)
			_, cancels := status.Next(holdfast.CancelBooking)
			for name, pair := range map[string][2]bool{
				"open":  {status.IsOpen(), expires},
				"live":  {slices.Contains(holdfast.LiveStatuses(), status), cancels},
				"ended": {status.HasEnded(), !cancels},
			} {
				t.Run(name, func(t *testing.T) {
					if pair[0] != pair[1] {
						t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
					}
				})
			}
		})
	}
}

func TestBooking_IsDueWithItsWindowOrItsLock(t *testing.T) {
	soon, past := now.Add(time.Millisecond), now.Add(-time.Millisecond)
	for _, row := range []struct {
		name            string
		window, expires time.Time
		windowPassed    bool
		due             bool
	}{
		{name: "both open", window: soon, expires: soon},
		{name: "no window", expires: soon},
		{name: "no window, lock due", expires: past, due: true},
		{name: "window passed", window: past, expires: soon, windowPassed: true, due: true},
		{name: "window ends now", window: now, expires: soon, windowPassed: true, due: true},
		{name: "lock due", window: soon, expires: past, due: true},
		{name: "lock due now", window: soon, expires: now, due: true},
		{name: "both passed", window: past, expires: past, windowPassed: true, due: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, lock := holdfast.Booking{PaymentExpiresAt: row.window}, holdfast.Lock{ExpiresAt: row.expires}
			if got := b.WindowPassed(now); got != row.windowPassed {
				t.Errorf("the window has passed: %v, want %v", got, row.windowPassed)
			}
			if got := b.Due(lock, now); got != row.due {
				t.Errorf("due: %v, want %v", got, row.due)
			}
		})
	}
}

func TestBooking_RefusalFitsTheStatus(t *testing.T) {
	for status, want := range map[holdfast.BookingStatus]holdfast.Code{
		"INITIATED": holdfast.CodeBookingNotPayable, "PAYMENT_PENDING": holdfast.CodeBookingNotPayable,
		"CONFIRMED": holdfast.CodeBookingConfirmed,
		"EXPIRED":   holdfast.CodeBookingExpired, "CANCELLED": holdfast.CodeBookingCancelled, "BROKEN": holdfast.CodeBookingNotPayable,
	} {
		t.Run(string(status), func(t *testing.T) {
			if got := (holdfast.Booking{Status: status}).Refusal(); !holdfast.HasCode(got, want) {
				t.Errorf("got %v, want %s", got, want)
			}
		})
	}
}
