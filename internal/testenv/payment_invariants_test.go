package testenv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast"
)

// of is a payment of a booking.
func of(reference, status, reason string, booking byte) paymentDoc {
	p := paymentDoc{Provider: "p", Reference: reference, Status: status, Reason: reason, BookingID: holdfast.ID{booking}}
	p.ID = holdfast.Charge{Provider: "p", Reference: reference}.PaymentID()
	return p
}

func withParts(p paymentDoc, parts ...holdfast.Refund) paymentDoc {
	p.Amount, p.Refunds = new(int64(10)), parts
	return p
}

func part(n byte, amount int64, reference string) holdfast.Refund {
	r := holdfast.Refund{ID: holdfast.ID{n}, Amount: amount, Status: holdfast.RefundDue, Reference: reference}
	if reference != "" {
		r.Status = holdfast.RefundDone
	}
	return r
}

// listing is a booking with a list of payments.
func listing(status string, payments ...paymentDoc) bookingDoc {
	b := bookingDoc{ID: holdfast.ID{1}, Status: status}
	for _, p := range payments {
		b.Internal.Payments = append(b.Internal.Payments, listedPayment{p.ID, p.Status, p.Amount})
	}
	return b
}

func listed(p paymentDoc) bookingDoc { return listing("CANCELLED", p) }

// paymentCase has the beginning of each violation.
type paymentCase struct {
	payments []paymentDoc
	booking  bookingDoc
	want     []string
}

func paymentCases() map[string]paymentCase {
	accepted, due := of("r", "ACCEPTED", "", 1), of("s", "REFUND_DUE", "late", 1)
	sold, byHand, twice := listing("CONFIRMED", accepted, due), listing("CONFIRMED"), accepted
	twice.ID = holdfast.ID{9}
	byParts := withParts(of("r", "REFUNDED", "late", 1), part(1, 10, "back"))
	var many []paymentDoc
	for i := range holdfast.MaxListedPayments {
		many = append(many, of(fmt.Sprint("m", i), "ACCEPTED", "", 1))
	}
	full, halfListed := listing("CONFIRMED", many...), listing("CONFIRMED", withParts(accepted))
	refunded, paid, large := of("r", "REFUNDED", "late", 1), of("r", "PAID", "late", 1), withParts(accepted, part(1, 4, ""), part(2, 7, ""))
	noReason, half := of("r", "REFUND_DUE", "", 1), withParts(of("r", "REFUNDED", "late", 1), part(1, 10, ""))
	half.RefundReference = "back"
	back := withParts(of("r", "REFUND_DUE", "late", 1), part(1, 10, "back"))
	return map[string]paymentCase{
		"accepted and due":             {[]paymentDoc{accepted, due}, sold, nil},
		"of other software":            {nil, byHand, nil},
		"more than a list has":         {append(many, due), full, nil},
		"refunded by its parts":        {[]paymentDoc{byParts}, listed(byParts), nil},
		"of a booking that was purged": {[]paymentDoc{of("r", "REFUND_DUE", "late", 2)}, byHand, nil},
		"with parts": {
			[]paymentDoc{withParts(accepted, part(1, 4, ""), part(2, 6, "b"))}, halfListed, nil,
		},
		"accepted, booking cancelled": {
			[]paymentDoc{accepted}, listed(accepted), []string{"is CANCELLED, and lists", "is ACCEPTED, but its booking"},
		},
		"accepted, booking purged": {
			[]paymentDoc{of("r", "ACCEPTED", "", 2)}, byHand, []string{"is ACCEPTED, but its booking"},
		},
		"accepted, not listed":       {[]paymentDoc{accepted}, byHand, []string{"is not in the list"}},
		"due, not listed":            {[]paymentDoc{accepted, due}, listing("CONFIRMED", accepted), []string{"is not in the list"}},
		"confirmed, payment missing": {nil, listing("CONFIRMED", accepted), []string{"lists the payment"}},
		"a reference twice": {
			[]paymentDoc{accepted, twice}, listing("CONFIRMED", accepted, twice), []string{"have the reference", "of another charge"},
		},
		"due without a reason":         {[]paymentDoc{noReason}, listed(noReason), []string{"with the reason"}},
		"refunded without a reference": {[]paymentDoc{refunded}, listed(refunded), []string{"with the refund"}},
		"a status that does not exist": {[]paymentDoc{paid}, listed(paid), []string{"has the status"}},
		"listed with another status":   {[]paymentDoc{due}, listed(of("s", "ACCEPTED", "", 1)), []string{"lists the", "is CANCELLED, and lists"}},
		"listed with another amount":   {[]paymentDoc{withParts(accepted)}, listing("CONFIRMED", accepted), []string{"lists the payment"}},
		"accepted for another booking": {
			[]paymentDoc{of("r", "ACCEPTED", "", 2)}, listing("CONFIRMED", accepted), []string{"lists the payment", "is ACCEPTED, but"},
		},
		"more parts than it has": {[]paymentDoc{large}, halfListed, []string{"has parts of 11"}},
		"a part without a reference": {
			[]paymentDoc{withParts(accepted, holdfast.Refund{Amount: 1, Status: holdfast.RefundDone})}, halfListed, []string{"with the part"},
		},
		"a part twice": {
			[]paymentDoc{withParts(accepted, part(1, 1, ""), part(1, 1, ""))}, halfListed, []string{"with the part"},
		},
		"refunded, and a part due":        {[]paymentDoc{half}, listed(half), []string{"with the part"}},
		"due, and all of it was refunded": {[]paymentDoc{back}, listed(back), []string{"but all of it was refunded"}},
	}
}

func TestPaymentViolations(t *testing.T) {
	t.Parallel()
	for name, c := range paymentCases() {
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
