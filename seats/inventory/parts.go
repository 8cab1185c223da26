package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// RefundPart makes a part of a payment DUE. It moves no seats, and is guarded by the payment's revision.
type RefundPart struct {
	PaymentID ID
	PartID    ID // of the part to be made
	Amount    int64
	Key       string // idempotency key, unique per payment; "" for none
}

func (c RefundPart) decide(d *decision) Result {
	p, exists, read := d.paymentByID(c.PaymentID)
	switch {
	case !read:
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodePaymentNotFound)}
	}
	isOwn := func(r holdfast.Refund) bool { return r.ID == c.PartID } // by an earlier commit, which was not answered
	i := slices.IndexFunc(p.Refunds, func(r holdfast.Refund) bool { return c.Key != "" && r.Key == c.Key })
	switch {
	case slices.ContainsFunc(p.Refunds, isOwn):
		return Result{Payment: &p}
	case i >= 0 && p.Refunds[i].Amount != c.Amount:
		return Result{Err: holdfast.Refuse(holdfast.CodeIdempotencyKeyReused, "The idempotency key was used for another request.")}
	case i >= 0:
		return Result{Payment: &p, Replayed: true}
	case p.Status == holdfast.PaymentRefunded:
		return Result{Err: holdfast.RefuseInput("body.amount", "The payment is refunded, so nothing of it is left.")}
	}
	if err := checkPart(p, c.Amount, "body.amount"); err != nil {
		return Result{Err: err}
	}
	p = d.addPart(p, holdfast.Refund{
		ID: c.PartID, Amount: c.Amount, Reason: holdfast.RefundOther, Status: holdfast.RefundDue, CreatedAt: d.state.Now, Key: c.Key,
	})
	return Result{Payment: &p}
}

// RefundedPart notes that the shop has refunded a part of a payment.
type RefundedPart struct {
	PaymentID, PartID ID
	Reference         string // of the refund
}

func (c RefundedPart) decide(d *decision) Result {
	p, exists, read := d.paymentByID(c.PaymentID)
	switch {
	case !read:
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodePaymentNotFound)}
	}
	i := slices.IndexFunc(p.Refunds, func(r holdfast.Refund) bool { return r.ID == c.PartID })
	switch {
	case i < 0:
		return Result{Err: holdfast.NotFound(holdfast.CodeRefundNotFound)}
	case p.Refunds[i].Status == holdfast.RefundDone && p.Refunds[i].Reference == c.Reference:
		return Result{Payment: &p}
	case p.Refunds[i].Status == holdfast.RefundDone:
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentRefunded, "The part has been refunded with another reference.")}
	}
	from := p.Status
	p.Refunds = slices.Clone(p.Refunds)
	p.Refunds[i].Status, p.Refunds[i].Reference = holdfast.RefundDone, c.Reference
	if due, _ := p.AmountDue(); from == holdfast.PaymentRefundDue && due == 0 { // it was the last part
		b, hasBooking, bookingRead := d.booking(p.BookingID)
		switch {
		case !bookingRead:
			return Result{}
		case d.isCorrupt(p.BookingID): // its list could not say it
			return Result{Err: errCorrupt()}
		}
		p.Status, _ = p.Status.Next(holdfast.RefundPayment)
		p.RefundReference = c.Reference
		if hasBooking {
			d.listPayment(b, p)
		}
	}
	p = d.writePayment(p, from, holdfast.ChangePaymentRefunded, "")
	return Result{Payment: &p}
}

// addPart plans a further part of a payment.
func (d *decision) addPart(p holdfast.Payment, part holdfast.Refund) holdfast.Payment {
	p.Refunds = append(slices.Clip(p.Refunds), part)
	return d.writePayment(p, p.Status, holdfast.ChangePaymentRefundDue, "")
}

// checkPart refuses a part of which the payment has not so much left; field names its amount.
func checkPart(p holdfast.Payment, amount int64, field string) error {
	left, known := p.Left()
	switch {
	case !known:
		return holdfast.RefuseInput(field, "The payment has no amount, so no part of it can be refunded.")
	case amount > left:
		return holdfast.RefuseInput(field, "Only %d of the payment are left to refund.", left)
	case len(p.Refunds) >= holdfast.MaxRefunds:
		return holdfast.RefuseInput(field, "A payment has at most %d parts.", holdfast.MaxRefunds)
	default:
		return nil
	}
}
