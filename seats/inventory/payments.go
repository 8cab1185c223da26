package inventory

import (
	"cmp"

	"github.com/holdfast-dev/holdfast"
)

// PaymentKey identifies a charge. There is at most one payment for it.
type PaymentKey struct{ Reference, Part string }

// PaymentWrite changes a payment that has the status From.
type PaymentWrite struct {
	ID       ID
	From, To holdfast.PaymentStatus
	After    holdfast.Payment // as the write leaves it. A guard: the payment has the revision before this one
	RunID    string
}

// seenPayment is a payment after a write, and the command that wrote it.
type seenPayment struct {
	after holdfast.Payment
	by    int
}

// Refund notes that the shop has refunded a payment.
type Refund struct {
	PaymentID ID
	Reference string // of the refund
}

func (c Refund) decide(d *decision) Result {
	found, read := d.payments[c.PaymentID]
	if !read {
		found, read = d.state.Payments[c.PaymentID]
	}
	if !read {
		d.needs.Payments = append(d.needs.Payments, c.PaymentID)
		return Result{}
	}
	if found == nil {
		return Result{Err: holdfast.NotFound(holdfast.CodePaymentNotFound)}
	}
	p := *found
	switch {
	case p.Status == holdfast.PaymentAccepted:
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentAccepted, "The payment is accepted: cancel its booking first.")}
	case p.Status == holdfast.PaymentRefunded && p.RefundReference != c.Reference:
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentRefunded, "The payment has been refunded with another reference.")}
	case p.Status == holdfast.PaymentRefundDue:
		p.RefundReference = c.Reference
		p = d.movePayment(p, holdfast.RefundPayment, "")
	}
	return Result{Payment: &p}
}

// payment returns the payment of a charge, as this decision has left it, or nil if there is none. read is false if
// it has to be read first.
func (d *decision) payment(c holdfast.Charge) (p *holdfast.Payment, read bool) {
	if c.IsZero() {
		return nil, true
	}
	key := PaymentKey{c.Reference, c.Part}
	id, read := d.charged[key]
	if !read {
		id, read = d.state.Charged[key]
	}
	switch {
	case !read:
		d.needs.Charged = append(d.needs.Charged, key)
		return nil, false
	case id.IsZero():
		return nil, true
	}
	if changed, ok := d.payments[id]; ok {
		return changed, true
	}
	return d.state.Payments[id], true
}

// errRefundDue refuses a charge that was refused before, although the booking could be confirmed now.
func errRefundDue(p holdfast.Payment) error {
	return holdfast.Refuse(holdfast.CodePaymentRefundDue, "The payment was refused before: it goes back, and the booking needs another one.").
		With(p.Refused())
}

// isPaidBy reports whether a CONFIRMED booking was paid by a charge. If the booking has no payment, its reference
// decides.
func isPaidBy(b holdfast.Booking, c holdfast.Charge, paid *holdfast.Payment) bool {
	if b.PaymentID.IsZero() {
		return paid == nil && b.PaymentReference == c.Reference
	}
	return b.PaymentID == c.PaymentID()
}

// refuseCharge refuses a confirmation, and makes the payment of its charge REFUND_DUE.
func (d *decision) refuseCharge(
	b holdfast.Booking, c holdfast.Charge, paid *holdfast.Payment, err error, why holdfast.PaymentReason,
) Result {
	if c.IsZero() {
		return Result{Err: err}
	}
	code, message := holdfast.CodeOf(err), messageOf(err)
	switch {
	case paid == nil:
		paid = d.record(b, c, holdfast.PaymentRefundDue, why, code)
		d.keepBooking(b)
	case paid.Status == holdfast.PaymentAccepted: // the booking was changed by hand since
		due := *paid
		due.Reason, due.Code = why, code
		due = d.movePayment(due, holdfast.ReturnPayment, "")
		paid = &due
	case paid.Code != "" && paid.Code != code: // a repeat gets the answer that it got before
		code, message = paid.Code, "The payment was refused before."
	}
	return Result{Err: holdfast.Refuse(code, "%s", message).With(paid.Refused()), Payment: paid}
}

// keepBooking writes a booking that does not change, so that retention can't remove it at the same time.
func (d *decision) keepBooking(b holdfast.Booking) {
	if _, isWritten := d.bookings[b.ID]; isWritten {
		return
	}
	d.plan.Bookings = append(d.plan.Bookings, BookingWrite{
		ID: b.ID, EventID: b.EventID, From: b.Status, To: b.Status, Revision: b.Revision, Quiet: true,
	})
	d.bookings[b.ID] = b
}

// record plans a new payment.
func (d *decision) record(
	b holdfast.Booking, c holdfast.Charge, status holdfast.PaymentStatus, why holdfast.PaymentReason, code holdfast.Code,
) *holdfast.Payment {
	c.Provider = cmp.Or(c.Provider, holdfast.DefaultProvider)
	p := holdfast.Payment{
		ID: c.PaymentID(), Charge: c, BookingID: b.ID, EventID: b.EventID, UserID: b.UserID, Holder: b.Holder, Status: status,
		Reason: why, Code: code, CreatedAt: d.state.Now, UpdatedAt: d.state.Now,
	}
	d.plan.NewPayments = append(d.plan.NewPayments, p)
	d.keepPayment(p)
	return &p
}

// keepPayment notes a payment as this decision leaves it.
func (d *decision) keepPayment(p holdfast.Payment) {
	if d.payments == nil {
		d.payments, d.charged = map[ID]*holdfast.Payment{}, map[PaymentKey]ID{}
	}
	d.payments[p.ID], d.charged[PaymentKey{p.Reference, p.Part}] = &p, p.ID
	d.paid = append(d.paid, seenPayment{p, d.command})
}

// movePayment plans the next status of a payment, and returns the payment after the plan.
func (d *decision) movePayment(p holdfast.Payment, a holdfast.PaymentAction, runID string) holdfast.Payment {
	from := p.Status
	p.Status, _ = from.Next(a)
	p.UpdatedAt, p.Revision = later(p.UpdatedAt, d.state.Now), p.Revision+1
	d.plan.Payments = append(d.plan.Payments, PaymentWrite{ID: p.ID, From: from, To: p.Status, After: p, RunID: runID})
	d.keepPayment(p)
	return p
}

// returnPayment makes the payment of a CONFIRMED booking REFUND_DUE, because the booking is cancelled. It returns
// false if the payment has to be read first.
func (d *decision) returnPayment(b holdfast.Booking, why holdfast.PaymentReason, runID string) bool {
	if b.PaymentID.IsZero() {
		return true
	}
	p, read := d.payments[b.PaymentID]
	if !read {
		p, read = d.state.Payments[b.PaymentID]
	}
	if !read {
		d.needs.Payments = append(d.needs.Payments, b.PaymentID)
		return false
	}
	if p != nil && p.Status == holdfast.PaymentAccepted {
		due := *p
		due.Reason, due.Code = why, holdfast.CodeBookingCancelled
		d.movePayment(due, holdfast.ReturnPayment, runID)
	}
	return true
}

// messageOf returns the message of a refusal.
func messageOf(err error) string {
	if e, ok := err.(*holdfast.Error); ok { //nolint:errorlint // refusals of this package are not wrapped
		return e.Message
	}
	return err.Error()
}
