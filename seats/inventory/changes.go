package inventory

import (
	"slices"

	"github.com/holdfast-dev/holdfast"
)

// Change is a visible change of a lock or a booking by a plan.
type Change struct {
	Type     holdfast.ChangeType
	By       int   // the index of the command
	Revision int64 // of the lock or booking, as the plan leaves it
	// Exactly one of these seven is set. The write fills in some fields of a new lock, of a sale's booking and of a new entry; see
	// Plan.AcquiredAt, Plan.BookedAt and Plan.JoinedAt.
	Acquired int // 1 + the index in Plan.Acquired
	Booked   int // 1 + the index in Plan.NewBookings
	Lock     *holdfast.Lock
	Booking  *holdfast.Booking
	Payment  *holdfast.Payment
	Joined   int // 1 + the index in Plan.NewEntries
	Entry    *holdfast.WaitlistEntry
	Previous *holdfast.PreviousBooking // of a booking whose seats or customer the change replaces
}

// written is a lock before the plan's write, and the command that wrote it last.
type written struct {
	before Lock
	by     int
}

// seenBooking is a booking after a write, the change, and the command that wrote it.
type seenBooking struct {
	after    holdfast.Booking // unless it is booked
	booked   int              // 1 + the index in Plan.NewBookings, of a sale
	previous *holdfast.PreviousBooking
	what     holdfast.ChangeType
	by       int
}

// closeChanges lists the changes of the plan. A raised revision alone is not a change, and the venue's blocks are
// changes of the event.
func (d *decision) closeChanges() {
	p := &d.plan
	p.DecidedAt, p.PlanID, p.ToldBy, p.CountedBy = d.state.Now, d.event.Seating.PlanID, d.eventBy, d.countedBy
	switch {
	case !d.changesEvent:
	case d.event.Status == holdfast.Cancelled && d.state.Event.Status != holdfast.Cancelled:
		p.Told = append(p.Told, holdfast.ChangeEventCancelled)
	default:
		p.Told = append(p.Told, holdfast.ChangeEventChanged)
	}
	if p.Event != nil && p.Event.Blocked != nil {
		p.Told = append(p.Told, holdfast.ChangeSeatsBlocked)
	}
	n := len(d.made) + len(d.written) + len(d.moved) + len(d.paid) + len(d.list.joined) + len(d.list.entered)
	if n == 0 {
		return
	}
	p.Changes = make([]Change, 0, n)
	for i := range d.written {
		before, by := &d.written[i].before, d.written[i].by
		after := d.locks[before.ID].Lock
		if what := changeOf(before.Lock, after); what != "" {
			p.Changes = append(p.Changes, Change{Type: what, By: by, Revision: before.Revision + 1, Lock: &after})
		}
	}
	for i, by := range d.made {
		if p.Acquired[i].Status != holdfast.LockBlocked {
			p.Changes = append(p.Changes, Change{Type: holdfast.ChangeLockCreated, By: by, Acquired: i + 1})
		}
	}
	for i := range d.moved {
		if n := d.moved[i].booked; n > 0 {
			p.Changes = append(p.Changes, Change{Type: d.moved[i].what, By: d.moved[i].by, Booked: n})
			continue
		}
		b := &d.moved[i].after
		p.Changes = append(p.Changes, Change{
			Type: d.moved[i].what, By: d.moved[i].by, Revision: b.Revision, Booking: b, Previous: d.moved[i].previous,
		})
	}
	for i := range d.paid {
		paid := &d.paid[i].after
		p.Changes = append(p.Changes, Change{Type: d.paid[i].what, By: d.paid[i].by, Revision: paid.Revision, Payment: paid})
	}
	for i, by := range d.list.joined {
		p.Changes = append(p.Changes, Change{Type: holdfast.ChangeEntryJoined, By: by, Joined: i + 1})
	}
	for i := range d.list.entered {
		e := &d.list.entered[i].after
		p.Changes = append(p.Changes, Change{
			Type: entryChanges[e.Status], By: d.list.entered[i].by, Revision: e.Revision, Entry: &e.WaitlistEntry,
		})
	}
}

// changeOf returns the visible change of a lock, or "" if there is none.
func changeOf(before, after holdfast.Lock) holdfast.ChangeType {
	switch {
	case before.Status == holdfast.LockBlocked:
		return ""
	case after.Status != before.Status:
		return map[holdfast.LockStatus]holdfast.ChangeType{
			holdfast.LockConsumed: holdfast.ChangeLockConsumed, holdfast.LockReleased: holdfast.ChangeLockReleased,
			holdfast.LockExpired: holdfast.ChangeLockExpired,
		}[after.Status]
	case after.Seats != before.Seats || after.Section != before.Section || !slices.Equal(after.SeatIDs, before.SeatIDs),
		!after.SameShopData(before.ShopData):
		return holdfast.ChangeLockChanged
	case !after.ExpiresAt.Equal(before.ExpiresAt):
		return holdfast.ChangeLockExtended
	case after.BookingID != before.BookingID:
		return holdfast.ChangeLockChanged
	default:
		return ""
	}
}

var bookingChanges = map[holdfast.BookingStatus]holdfast.ChangeType{
	holdfast.BookingPending: holdfast.ChangeBookingPending, holdfast.BookingConfirmed: holdfast.ChangeBookingConfirmed,
	holdfast.BookingCancelled: holdfast.ChangeBookingCancelled, holdfast.BookingExpired: holdfast.ChangeBookingExpired,
}

var paymentChanges = map[holdfast.PaymentStatus]holdfast.ChangeType{
	holdfast.PaymentAccepted: holdfast.ChangePaymentAccepted, holdfast.PaymentRefundDue: holdfast.ChangePaymentRefundDue,
	holdfast.PaymentRefunded: holdfast.ChangePaymentRefunded,
}

// EventChanges returns the changes of the event that a plan has written. after is the event after the write.
func (p Plan) EventChanges(after holdfast.Event) []holdfast.ChangeType {
	if p.Event == nil {
		return nil
	}
	before := after.AvailableSeats - p.Event.Available
	if p.Event.IfUnchanged != nil {
		before = p.Event.IfUnchanged.Answer().AvailableSeats
	}
	if drift := p.Event.Drift; drift != nil {
		before = max(0, after.AvailableSeats-after.Oversold+drift.Amount)
	}
	now := after.Answer().AvailableSeats
	switch {
	case before > 0 && now == 0:
		return append(slices.Clip(p.Told), holdfast.ChangeEventSoldOut)
	case before <= 0 && now > 0:
		return append(slices.Clip(p.Told), holdfast.ChangeEventAvailable)
	default:
		return p.Told
	}
}
