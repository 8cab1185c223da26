package booking_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestStatus_EveryPairIsAllowedOrRefusedAsTheContractSays(t *testing.T) {
	allowed := map[holdfast.BookingStatus]map[holdfast.BookingAction]holdfast.BookingStatus{
		"INITIATED":       {"pay": "PAYMENT_PENDING", "cancel": "CANCELLED", "expire": "EXPIRED"},
		"PAYMENT_PENDING": {"confirm": "CONFIRMED", "cancel": "CANCELLED", "expire": "EXPIRED"},
		"CONFIRMED":       {"cancel": "CANCELLED"},
		"EXPIRED":         {},
		"CANCELLED":       {},
	}
	actions := []holdfast.BookingAction{holdfast.PayBooking, holdfast.ConfirmBooking, holdfast.CancelBooking, holdfast.ExpireBooking}
	if len(holdfast.BookingStatuses()) != len(allowed) {
		t.Fatalf("%d statuses, want %d", len(holdfast.BookingStatuses()), len(allowed))
	}
	for _, from := range holdfast.BookingStatuses() {
		for _, action := range actions {
			want, ok := allowed[from][action]
			if got, gotOK := from.Next(action); got != want || gotOK != ok {
				t.Errorf("%s %s: got %q, %v; want %q, %v", from, action, got, gotOK, want, ok)
			}
		}
	}
}
