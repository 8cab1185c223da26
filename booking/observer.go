package booking

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Observer has callbacks for metrics; each may be nil. A payment is counted once, however often the shop reports it, and
// whatever the answer was. A commit whose outcome is unknown is not counted.
type Observer struct {
	// Late is called when a late payment was decided, of an event that accepts late payments.
	Late func(accepted bool)
	// Duplicate is called when a payment was refused because its booking is confirmed.
	Duplicate func()
}

// Paid counts the payments that a plan has made. The pipeline calls it after the commit.
func (o Observer) Paid(p inventory.Plan) {
	for _, w := range p.Bookings {
		if w.Late && w.From != holdfast.BookingConfirmed { // a transfer keeps what it was
			o.late(true)
		}
	}
	for _, paid := range p.NewPayments {
		switch {
		case paid.Reason == holdfast.ReasonDuplicate && o.Duplicate != nil:
			o.Duplicate()
		case paid.Code == holdfast.CodeBookingExpired && paid.Reason != holdfast.ReasonLate: // the event would have accepted it
			o.late(false)
		}
	}
}

func (o Observer) late(accepted bool) {
	if o.Late != nil {
		o.Late(accepted)
	}
}
