package testenv

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

type paymentDoc struct {
	ID        holdfast.ID `bson:"_id"`
	Provider  string      `bson:"provider"`
	Reference string      `bson:"reference"`
	Part      string      `bson:"part"`
	BookingID holdfast.ID `bson:"bookingId"`
	Status    string      `bson:"status"`
	Reason    string      `bson:"reason"`

	RefundReference string `bson:"refundReference"`
}

// findPaymentViolations compares payments with bookings: there is one payment for each reference with its part, and
// it is ACCEPTED if and only if its booking is CONFIRMED with it. A CONFIRMED booking without a payment was
// confirmed without a charge, or by other software.
func findPaymentViolations(payments []paymentDoc, bookings []bookingDoc, report func(string, ...any)) {
	paid, byID := map[holdfast.ID]bookingDoc{}, map[holdfast.ID]paymentDoc{}
	for _, b := range bookings {
		if b.Status == string(holdfast.BookingConfirmed) && !b.Internal.PaymentID.IsZero() {
			paid[b.ID] = b
		}
	}
	type charge struct{ reference, part string }
	charges := map[charge]holdfast.ID{}
	for _, p := range payments {
		byID[p.ID] = p
		key := charge{p.Reference, p.Part}
		if other, exists := charges[key]; exists {
			report("payments %s and %s have the reference %q and the part %q", p.ID, other, p.Reference, p.Part)
		}
		charges[key] = p.ID
		if want := (holdfast.Charge{Provider: p.Provider, Reference: p.Reference, Part: p.Part}).PaymentID(); p.ID != want {
			report("payment %s has the ID of another charge; its own is %s", p.ID, want)
		}
		if !slices.Contains(holdfast.PaymentStatuses(), holdfast.PaymentStatus(p.Status)) {
			report("payment %s has the status %q", p.ID, p.Status)
		}
		isAccepted := p.Status == string(holdfast.PaymentAccepted)
		if b, exists := paid[p.BookingID]; isAccepted && (!exists || b.Internal.PaymentID != p.ID) {
			report("payment %s is ACCEPTED, but its booking %s is not CONFIRMED with it", p.ID, p.BookingID)
		}
		if isAccepted == (p.Reason != "") {
			report("payment %s is %s with the reason %q", p.ID, p.Status, p.Reason)
		}
		if (p.Status == string(holdfast.PaymentRefunded)) != (p.RefundReference != "") {
			report("payment %s is %s with the refund %q", p.ID, p.Status, p.RefundReference)
		}
	}
	for id, b := range paid {
		if p := byID[b.Internal.PaymentID]; p.Status != string(holdfast.PaymentAccepted) || p.BookingID != id {
			report("booking %s is CONFIRMED with the payment %s, which is %q of booking %s", id, b.Internal.PaymentID, p.Status, p.BookingID)
		}
	}
}
