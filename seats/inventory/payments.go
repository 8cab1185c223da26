package inventory

import (
	"cmp"
	"slices"

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
	what  holdfast.ChangeType
	by    int
}

// Refund notes that the shop has refunded a payment.
type Refund struct {
	PaymentID ID
	Reference string // of the refund
}

func (c Refund) decide(d *decision) Result {
	p, exists, read := d.paymentByID(c.PaymentID)
	switch {
	case !read:
		return Result{}
	case !exists:
		return Result{Err: holdfast.NotFound(holdfast.CodePaymentNotFound)}
	}
	switch {
	case p.Status == holdfast.PaymentAccepted:
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentAccepted, "The payment is accepted: cancel its booking first.")}
	case p.Status == holdfast.PaymentRefunded && p.RefundReference != c.Reference:
		return Result{Err: holdfast.Refuse(holdfast.CodePaymentRefunded, "The payment has been refunded with another reference.")}
	case p.Status == holdfast.PaymentRefundDue:
		b, hasBooking, isRead := d.booking(p.BookingID)
		switch {
		case !isRead:
			return Result{}
		case d.isCorrupt(p.BookingID): // its list could not say it
			return Result{Err: errCorrupt()}
		}
		p.RefundReference, p.Refunds = c.Reference, slices.Clone(p.Refunds)
		for i := range p.Refunds {
			if p.Refunds[i].Status == holdfast.RefundDue {
				p.Refunds[i].Status, p.Refunds[i].Reference = holdfast.RefundDone, c.Reference
			}
		}
		p = d.movePayment(p, holdfast.RefundPayment, "")
		if hasBooking {
			d.listPayment(b, p)
		}
	}
	return Result{Payment: &p}
}

// paymentByID returns a payment as this decision has left it. read is false if it has to be read first.
func (d *decision) paymentByID(id ID) (p holdfast.Payment, exists, read bool) {
	found, read := d.payments[id]
	if !read {
		found, read = d.state.Payments[id]
	}
	switch {
	case !read:
		d.needs.Payments = append(d.needs.Payments, id)
		return p, false, false
	case found == nil:
		return p, false, true
	default:
		return *found, true, true
	}
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
	accepted := b.Accepted()
	if len(accepted) == 0 {
		return paid == nil && b.PaymentReference == c.Reference
	}
	return slices.Contains(accepted, c.PaymentID())
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
		d.listPayment(b, *paid)
	case paid.Status == holdfast.PaymentAccepted: // the booking was changed by hand since
		due := *paid
		due.Reason, due.Code = why, code
		due = d.movePayment(due, holdfast.ReturnPayment, "")
		paid = &due
		d.listPayment(b, due)
	case paid.Code != "" && paid.Code != code: // a repeat gets the answer that it got before
		code, message = paid.Code, "The payment was refused before."
	}
	return Result{Err: holdfast.Refuse(code, "%s", message).With(paid.Refused()), Payment: paid}
}

// listPayment plans the list of a booking's payments. The write also keeps retention from removing the booking at the same time.
func (d *decision) listPayment(b holdfast.Booking, p holdfast.Payment) {
	if changed, ok := d.bookings[b.ID]; ok {
		b = changed
	}
	d.writeBooking(b, BookingWrite{To: b.Status, Payments: listed(b, p)}, "")
}

// listed returns the list of a booking's payments with one of them as it is now.
func listed(b holdfast.Booking, p holdfast.Payment) *[]holdfast.ListedPayment {
	list := b.WithPayment(p)
	return &list
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
	d.keepPayment(p, paymentChanges[status])
	return &p
}

// keepPayment notes a payment as this decision leaves it.
func (d *decision) keepPayment(p holdfast.Payment, what holdfast.ChangeType) {
	if d.payments == nil {
		d.payments, d.charged = map[ID]*holdfast.Payment{}, map[PaymentKey]ID{}
	}
	d.payments[p.ID], d.charged[PaymentKey{p.Reference, p.Part}] = &p, p.ID
	d.paid = append(d.paid, seenPayment{p, what, d.command})
}

// movePayment plans the next status of a payment, and returns the payment after the plan. One of which nothing is left to
// give back is REFUNDED at once.
func (d *decision) movePayment(p holdfast.Payment, a holdfast.PaymentAction, runID string) holdfast.Payment {
	from := p.Status
	p.Status, _ = from.Next(a)
	if due, known := p.AmountDue(); known && due == 0 && p.Status == holdfast.PaymentRefundDue {
		p.Status, _ = p.Status.Next(holdfast.RefundPayment)
	}
	return d.writePayment(p, from, paymentChanges[p.Status], runID)
}

// writePayment plans a change of a payment that had the status from, and returns the payment after the plan.
func (d *decision) writePayment(p holdfast.Payment, from holdfast.PaymentStatus, what holdfast.ChangeType, runID string) holdfast.Payment {
	p.UpdatedAt, p.Revision = later(p.UpdatedAt, d.state.Now), p.Revision+1
	d.plan.Payments = append(d.plan.Payments, PaymentWrite{ID: p.ID, From: from, To: p.Status, After: p, RunID: runID})
	d.keepPayment(p, what)
	return p
}

// returnPayments makes the ACCEPTED payments of a CONFIRMED booking REFUND_DUE, because the booking is cancelled, and
// returns the list of its payments after that; nil if it does not change. It returns false if they have to be read first.
func (d *decision) returnPayments(
	b holdfast.Booking, why holdfast.PaymentReason, runID string,
) (list *[]holdfast.ListedPayment, read bool) {
	accepted := b.Accepted()
	for _, id := range accepted {
		d.paymentByID(id)
	}
	if d.needs.NeedsPayments() {
		return nil, false
	}
	for _, id := range accepted {
		p, exists, _ := d.paymentByID(id)
		if !exists || p.Status != holdfast.PaymentAccepted {
			continue
		}
		p.Reason, p.Code = why, holdfast.CodeBookingCancelled
		list = listed(b, d.movePayment(p, holdfast.ReturnPayment, runID))
		b.Payments = *list
	}
	return list, true
}

// messageOf returns the message of a refusal.
func messageOf(err error) string {
	if e, ok := err.(*holdfast.Error); ok { //nolint:errorlint // refusals of this package are not wrapped
		return e.Message
	}
	return err.Error()
}
