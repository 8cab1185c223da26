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
	Amount    *int64      `bson:"amount"`
	Status    string      `bson:"status"`
	Reason    string      `bson:"reason"`

	RefundReference string            `bson:"refundReference"`
	Refunds         []holdfast.Refund `bson:"refunds"`
}

// findPaymentViolations compares payments with bookings: there is one payment for each reference with its part, and
// it is ACCEPTED if and only if its booking is CONFIRMED with it. Every payment is in the list of its booking as it is. A
// CONFIRMED booking without a payment was confirmed without a charge, or by other software.
func findPaymentViolations(payments []paymentDoc, bookings []bookingDoc, report func(string, ...any)) {
	type charge struct{ reference, part string }
	charges, byID := map[charge]holdfast.ID{}, map[holdfast.ID]paymentDoc{}
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
		p.findViolations(report)
	}
	byBooking := map[holdfast.ID]bookingDoc{}
	for _, b := range bookings {
		byBooking[b.ID] = b
		b.findListViolations(byID, report)
	}
	for _, p := range payments {
		b, exists := byBooking[p.BookingID] // retention may have removed it
		if isAccepted := p.Status == string(holdfast.PaymentAccepted); isAccepted && (!exists || b.Status != string(holdfast.BookingConfirmed)) {
			report("payment %s is ACCEPTED, but its booking %s is not CONFIRMED with it", p.ID, p.BookingID)
		}
		isListed := slices.ContainsFunc(b.Internal.Payments, func(l listedPayment) bool { return l.ID == p.ID })
		if exists && !isListed && len(b.Internal.Payments) < holdfast.MaxListedPayments {
			report("payment %s is not in the list of its booking %s", p.ID, p.BookingID)
		}
	}
}

// findViolations checks the status of a payment, and its parts. A payment is REFUNDED with a reference, or by its parts.
func (p paymentDoc) findViolations(report func(string, ...any)) {
	if !slices.Contains(holdfast.PaymentStatuses(), holdfast.PaymentStatus(p.Status)) {
		report("payment %s has the status %q", p.ID, p.Status)
	}
	if isAccepted := p.Status == string(holdfast.PaymentAccepted); isAccepted == (p.Reason != "") {
		report("payment %s is %s with the reason %q", p.ID, p.Status, p.Reason)
	}
	isRefunded, returned, parts := p.Status == string(holdfast.PaymentRefunded), int64(0), map[holdfast.ID]bool{}
	sum := int64(0)
	for _, r := range p.Refunds {
		sum += r.Amount
		isDone := r.Status == holdfast.RefundDone
		if isDone {
			returned += r.Amount
		}
		if r.Amount < 1 || parts[r.ID] || isDone != (r.Reference != "") || isRefunded && !isDone {
			report("payment %s is %s with the part %+v", p.ID, p.Status, r)
		}
		parts[r.ID] = true
	}
	if len(p.Refunds) > 0 && (p.Amount == nil || sum > *p.Amount) {
		report("payment %s has parts of %d, more than it has", p.ID, sum)
	}
	byParts := p.Amount != nil && returned == *p.Amount
	if isRefunded && p.RefundReference == "" && !byParts || !isRefunded && p.RefundReference != "" {
		report("payment %s is %s with the refund %q", p.ID, p.Status, p.RefundReference)
	}
	if p.Status == string(holdfast.PaymentRefundDue) && byParts {
		report("payment %s is %s, but all of it was refunded", p.ID, p.Status)
	}
}

// findListViolations checks the list of a booking's payments.
func (b bookingDoc) findListViolations(byID map[holdfast.ID]paymentDoc, report func(string, ...any)) {
	seen := map[holdfast.ID]bool{}
	for _, l := range b.Internal.Payments {
		p := byID[l.ID]
		isSameAmount := (l.Amount == nil) == (p.Amount == nil) && (l.Amount == nil || *l.Amount == *p.Amount)
		if seen[l.ID] || p.BookingID != b.ID || p.Status != l.Status || !isSameAmount {
			report("booking %s lists the payment %s as %q, which is %q of booking %s", b.ID, l.ID, l.Status, p.Status, p.BookingID)
		}
		seen[l.ID] = true
		if l.Status == string(holdfast.PaymentAccepted) && b.Status != string(holdfast.BookingConfirmed) {
			report("booking %s is %s, and lists the payment %s as %q", b.ID, b.Status, l.ID, l.Status)
		}
	}
}
