package testenv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

func TestPaymentViolations(t *testing.T) {
	t.Parallel()
	of := func(reference, status, reason string, booking byte) paymentDoc {
		p := paymentDoc{Provider: "p", Reference: reference, Status: status, Reason: reason, BookingID: holdfast.ID{booking}}
		p.ID = holdfast.Charge{Provider: "p", Reference: reference}.PaymentID()
		return p
	}
	accepted, due := of("r", "ACCEPTED", "", 1), of("s", "REFUND_DUE", "late", 1)
	sold := bookingDoc{ID: holdfast.ID{1}, Status: "CONFIRMED"}
	sold.Internal.PaymentID = accepted.ID
	cancelled, byHand, twice := sold, bookingDoc{ID: holdfast.ID{1}, Status: "CONFIRMED"}, accepted
	cancelled.Status = "CANCELLED"
	twice.ID = holdfast.ID{9}
	for name, c := range map[string]struct {
		payments []paymentDoc
		booking  bookingDoc
		want     []string // the beginning of each violation
	}{
		"accepted and due":            {[]paymentDoc{accepted, due}, sold, nil},
		"of other software":           {nil, byHand, nil},
		"accepted, booking cancelled": {[]paymentDoc{accepted}, cancelled, []string{"is ACCEPTED, but its booking"}},
		"accepted, confirmed without": {[]paymentDoc{accepted}, byHand, []string{"is ACCEPTED, but its booking"}},
		"confirmed, payment missing":  {nil, sold, []string{"is CONFIRMED with the payment"}},
		"a reference twice": {[]paymentDoc{accepted, twice}, sold,
			[]string{"have the reference", "of another charge", "is ACCEPTED, but"}},
		"due without a reason":         {[]paymentDoc{of("r", "REFUND_DUE", "", 1)}, cancelled, []string{"with the reason"}},
		"refunded without a reference": {[]paymentDoc{of("r", "REFUNDED", "late", 1)}, cancelled, []string{"with the refund"}},
		"a status that does not exist": {[]paymentDoc{of("r", "PAID", "late", 1)}, cancelled, []string{"has the status"}},
		"confirmed with a payment due": {[]paymentDoc{of("r", "REFUND_DUE", "late", 1)}, sold, []string{"is CONFIRMED with the payment"}},
		"accepted for another than it is": {[]paymentDoc{of("r", "ACCEPTED", "", 2)}, sold,
			[]string{"is ACCEPTED, but", "is CONFIRMED with the"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			findPaymentViolations(c.payments, []bookingDoc{c.booking}, func(format string, args ...any) {
				got = append(got, fmt.Sprintf(format, args...))
			})
			if len(got) != len(c.want) {
				t.Fatalf("got %q, want %q", got, c.want)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q", got[i], want)
				}
			}
		})
	}
}
