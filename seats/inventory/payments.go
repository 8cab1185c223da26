package inventory

import (
	"cmp"
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// PaymentKey is what there is one payment for.
type PaymentKey struct{ Reference, Part string }

// PaymentWrite changes a payment that has the status From.
type PaymentWrite struct {
	ID       ID
	From, To holdfast.PaymentStatus
	After    holdfast.Payment // as the write leaves it
	RunID    string
}

// seenPayment is a payment after a write, and the command.
type seenPayment struct {
	after holdfast.Payment
	by    int
}

// Refund notes that the shop has given a payment back.
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

// payment returns the payment of a charge, and up to two bookings that an earlier version has confirmed with its
// reference, and that had no payment before this batch. read is false if they have to be read first.
func (d *decision) payment(c holdfast.Charge) (p *holdfast.Payment, unrecorded []ID, read bool) {
	if c.IsZero() {
		return nil, nil, true
	}
	p, read = d.paymentOf(PaymentKey{c.Reference, c.Part})
	unrecorded, isListed := d.state.Unrecorded[c.Reference]
	if !isListed {
		d.needs.Unrecorded = append(d.needs.Unrecorded, c.Reference)
	}
	return p, unrecorded, read && isListed
}

// paymentOf returns the payment of a reference and part, as this decision has left it; nil: there is none.
func (d *decision) paymentOf(key PaymentKey) (p *holdfast.Payment, read bool) {
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

// isOfAnother reports whether another booking has the reference and part of a charge.
func isOfAnother(b holdfast.Booking, c holdfast.Charge, paid *holdfast.Payment, unrecorded []ID) bool {
	if paid != nil {
		return paid.BookingID != b.ID
	}
	return slices.ContainsFunc(unrecorded, func(id ID) bool { return id != b.ID && isPartOf(id, c) })
}

// isPartOf reports whether a charge has the part of a booking that an earlier version has confirmed: none or, if
// several have its reference, the booking's ID.
func isPartOf(bookingID ID, c holdfast.Charge) bool {
	return c.Part == "" || c.Part == bookingID.String()
}

// errRefundDue refuses a charge that was refused before, of a booking that could be confirmed now.
func errRefundDue(p holdfast.Payment) error {
	return holdfast.Refuse(holdfast.CodePaymentRefundDue, "The payment was refused before: it goes back, and the booking needs another one.").
		With(p.Refused())
}

// asRecorded returns a charge and its payment as they are recorded. Where several bookings of an earlier version have one
// reference, the booking's ID is the part, of which the shop knows nothing: a charge without a part means the booking's
// own payment, also if another booking has the one without a part. read is false if that has to be read first.
func (d *decision) asRecorded(
	b holdfast.Booking, c holdfast.Charge, paid *holdfast.Payment,
) (recorded holdfast.Charge, payment *holdfast.Payment, read bool) {
	isUnrecorded := b.Status == holdfast.BookingConfirmed && b.PaymentID.IsZero()
	isOwn := paid != nil && paid.BookingID == b.ID
	if c.IsZero() || c.Part != "" || b.PaymentReference != c.Reference || isOwn || isUnrecorded && paid == nil {
		return c, paid, true
	}
	part := b.ID.String()
	own, read := d.paymentOf(PaymentKey{c.Reference, part})
	switch {
	case !read:
	case isUnrecorded && own == nil:
		c.Part, paid = part, nil
	case !isUnrecorded && own != nil && own.BookingID == b.ID && (b.PaymentID.IsZero() || b.PaymentID == own.ID):
		c.Part, paid = part, own
		c.Amount, c.Currency = nil, "" // they may not have been known when it was recorded
	}
	return c, paid, read
}

// isPaidBy reports whether a CONFIRMED booking was paid by a charge.
func isPaidBy(b holdfast.Booking, c holdfast.Charge, paid *holdfast.Payment) bool {
	own := c
	own.Part = b.ID.String()
	switch {
	case b.PaymentID == c.PaymentID():
		return true
	case b.PaymentReference != c.Reference || !isPartOf(b.ID, c):
		return false
	}
	return b.PaymentID == own.PaymentID() || b.PaymentID.IsZero() && paid == nil
}

// refuseCharge refuses a confirmation. Its charge has to go back: the payment says so.
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
	case paid.Status == holdfast.PaymentAccepted: // other software has changed the booking since
		due := *paid
		due.Reason, due.Code = why, code
		due = d.movePayment(due, holdfast.ReturnPayment, "")
		paid = &due
	case paid.Code != "" && paid.Code != code: // a repeat gets the answer that it got before
		code, message = paid.Code, "The payment was refused before."
	}
	return Result{Err: holdfast.Refuse(code, "%s", message).With(paid.Refused()), Payment: paid}
}

// keepBooking writes a booking that does not change, so that retention does not remove it in the meantime.
func (d *decision) keepBooking(b holdfast.Booking) {
	if _, isWritten := d.bookings[b.ID]; isWritten {
		return
	}
	d.plan.Bookings = append(d.plan.Bookings, BookingWrite{
		ID: b.ID, EventID: b.EventID, From: b.Status, To: b.Status, Quiet: true,
	})
	d.bookings[b.ID] = b
}

// record plans a new payment.
func (d *decision) record(
	b holdfast.Booking, c holdfast.Charge, status holdfast.PaymentStatus, why holdfast.PaymentReason, code holdfast.Code,
) *holdfast.Payment {
	c.Provider = cmp.Or(c.Provider, holdfast.DefaultProvider)
	p := holdfast.Payment{
		ID: c.PaymentID(), Charge: c, BookingID: b.ID, EventID: b.EventID, UserID: b.UserID, Status: status, Reason: why, Code: code,
		CreatedAt: d.state.Now, UpdatedAt: d.state.Now,
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

// movePayment plans the next status of a payment, and returns the payment as the plan leaves it.
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
	switch {
	case b.PaymentID.IsZero() && b.PaymentReference == "":
		return true
	case b.PaymentID.IsZero():
		return d.adopt(b, holdfast.Charge{Reference: b.PaymentReference}, holdfast.PaymentRefundDue, why)
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

// adopt records the payment of a booking that an earlier version has confirmed with the charge's reference. If other
// bookings have the reference too, the booking's ID is the part. It returns false if they have to be read first.
func (d *decision) adopt(b holdfast.Booking, c holdfast.Charge, status holdfast.PaymentStatus, why holdfast.PaymentReason) bool {
	first, unrecorded, read := d.payment(c)
	if !read {
		return false
	}
	isShared := first != nil
	if c.Part == "" && !isShared {
		if isShared, read = d.isShared(b, unrecorded); !read {
			return false
		}
	}
	if c.Part == "" && isShared {
		c.Part = b.ID.String()
		if own, ownRead := d.paymentOf(PaymentKey{c.Reference, c.Part}); !ownRead || own != nil { // a shop has used the ID as a part
			return ownRead
		}
	}
	if status == holdfast.PaymentRefundDue {
		d.record(b, c, status, why, holdfast.CodeBookingCancelled)
		return true
	}
	b.PaymentID = d.record(b, c, status, "", "").ID
	d.plan.Bookings = append(d.plan.Bookings, BookingWrite{
		ID: b.ID, EventID: b.EventID, From: b.Status, To: b.Status, PaymentID: b.PaymentID, Quiet: true, ChecksPayment: true,
	})
	d.bookings[b.ID] = b
	return true
}

// isShared reports whether other bookings have the reference of a booking that an earlier version has confirmed: some that
// have no payment yet, or any that has one, whatever its part. read is false if they have to be read first.
func (d *decision) isShared(b holdfast.Booking, unrecorded []ID) (shared, read bool) {
	isOther := func(id ID) bool { return id != b.ID }
	ofBatch := func(p seenPayment) bool { return p.after.Reference == b.PaymentReference && isOther(p.after.BookingID) }
	if slices.ContainsFunc(unrecorded, isOther) || slices.ContainsFunc(d.paid, ofBatch) {
		return true, true
	}
	recorded, read := d.state.Recorded[b.PaymentReference]
	if !read {
		d.needs.Recorded = append(d.needs.Recorded, b.PaymentReference)
	}
	return slices.ContainsFunc(recorded, isOther), read
}

// messageOf is what a refusal says.
func messageOf(err error) string {
	if e, ok := err.(*holdfast.Error); ok { //nolint:errorlint // refusals of this package are not wrapped
		return e.Message
	}
	return err.Error()
}
