package changes

import (
	"cmp"
	"time"

	"github.com/holdfast-dev/holdfast"
)

// The documents of changes, as they are read.

// recordDoc reads a record.
type recordDoc struct {
	Seq     int64     `bson:"seq"`
	At      time.Time `bson:"at"`
	EventID ID        `bson:"eventId"`
	PlanID  ID        `bson:"planId"`
	Items   []itemDoc `bson:"items"`
}

type itemDoc struct {
	Type      string                    `bson:"type"`
	Revision  int64                     `bson:"rev"`
	Repairs   int64                     `bson:"repairs"`
	Actor     string                    `bson:"actor"`
	RequestID string                    `bson:"requestId"`
	RunID     string                    `bson:"runId"`
	Lock      *holdfast.Lock            `bson:"lock"`
	Booking   *holdfast.Booking         `bson:"booking"`
	Payment   *holdfast.Payment         `bson:"payment"`
	Previous  *holdfast.PreviousBooking `bson:"previous"`
	Event     *recordedEvent            `bson:"event"`
	Entry     *EntryDoc                 `bson:"entry"`
}

// recordedEvent is an event in a record, which has the number of entries that wait if the event ever had a waiting list.
type recordedEvent struct {
	EventDoc `bson:",inline"`

	Waiting *int64 `bson:"waiting"`
}

func (d recordedEvent) event() holdfast.Event {
	event := d.Event()
	if d.Waiting != nil {
		event.Waitlist.HasBegun, event.Waitlist.Waiting = true, *d.Waiting
	}
	return event
}

func (d itemDoc) change(r recordDoc) holdfast.Change {
	c := holdfast.Change{
		Type: holdfast.ChangeType(typePrefix + d.Type), Revision: d.Revision, Repairs: d.Repairs,
		At: r.At, EventID: r.EventID, PlanID: r.PlanID,
		Origin: holdfast.Origin{Actor: d.Actor, RequestID: d.RequestID, RunID: d.RunID},
		Lock:   d.Lock, Booking: d.Booking, Payment: d.Payment, Previous: d.Previous,
	}
	switch {
	case c.Lock != nil:
		c.Lock.EventID = r.EventID
	case c.Booking != nil:
		c.Booking.EventID, c.Booking.Revision = r.EventID, c.Revision
	case c.Payment != nil:
		c.Payment.EventID, c.Payment.Revision = r.EventID, c.Revision
	case d.Event != nil:
		event := d.Event.event()
		event.ID, c.Event = r.EventID, &event
	case d.Entry != nil:
		entry := d.Entry.Entry()
		entry.EventID, c.Entry = r.EventID, &entry
	}
	return c
}

// EventDoc reads an event, from its document or from the record of a change. A field that is absent is zero.
type EventDoc struct {
	ID              ID                   `bson:"_id"`
	Name            string               `bson:"name"`
	TotalSeats      int64                `bson:"totalSeats"`
	AvailableSeats  int64                `bson:"availableSeats"`
	Oversold        int64                `bson:"oversold"`
	EventDate       time.Time            `bson:"eventDate"`
	Status          holdfast.EventStatus `bson:"status"`
	MaxSeatsPerUser int64                `bson:"maxSeatsPerUser"`
	CreatedAt       time.Time            `bson:"createdAt"`
	UpdatedAt       time.Time            `bson:"updatedAt"`

	LatePayments holdfast.LatePaymentPolicy `bson:"latePayments"`
	LateSeconds  *int64                     `bson:"latePaymentSeconds"`
	SaleStartsAt time.Time                  `bson:"saleStartsAt"`
	SaleEndsAt   time.Time                  `bson:"saleEndsAt"`

	Waitlist     holdfast.WaitlistStatus `bson:"waitlist"`
	OfferSeconds int64                   `bson:"waitlistOfferSeconds"`
	WaitlistFit  holdfast.WaitlistFit    `bson:"waitlistFit"`

	// Only seated events have the following fields.
	SeatingPlanID    ID                         `bson:"seatingPlanId"`
	BlockedSeats     int64                      `bson:"blockedSeats"`
	OrphanRule       holdfast.OrphanRule        `bson:"orphanRule"`
	AccessiblePolicy holdfast.AccessiblePolicy  `bson:"accessiblePolicy"`
	Sections         []holdfast.SectionCapacity `bson:"sections"`

	ShopData holdfast.ShopData `bson:",inline"`
}

// Event returns the event.
func (d EventDoc) Event() holdfast.Event {
	return holdfast.Event{
		ID: d.ID, Name: d.Name,
		TotalSeats: d.TotalSeats, AvailableSeats: d.AvailableSeats, Oversold: d.Oversold,
		EventDate: d.EventDate, Status: cmp.Or(d.Status, holdfast.OnSale),
		MaxSeatsPerUser: d.MaxSeatsPerUser, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt,
		Seating: d.seating(), Sections: d.CapacitySections(), LatePayments: d.Late(), ShopData: d.ShopData,
		SaleStartsAt: d.SaleStartsAt, SaleEndsAt: d.SaleEndsAt, Waitlist: d.waitlist(),
	}
}

// waitlist returns the settings of the waiting list. A setting that is missing or not valid is the default.
func (d EventDoc) waitlist() holdfast.Waitlist {
	w := holdfast.DefaultWaitlist()
	if d.Waitlist == holdfast.WaitlistOpen || d.Waitlist == holdfast.WaitlistPaused {
		w.Status = d.Waitlist
	}
	if d.OfferSeconds >= holdfast.MinOfferSeconds && d.OfferSeconds <= holdfast.MaxOfferSeconds {
		w.OfferSeconds = d.OfferSeconds
	}
	if d.WaitlistFit == holdfast.WaitlistStrict {
		w.Fit = d.WaitlistFit
	}
	return w
}

// Late returns the policy for late payments. They are refused unless the event says otherwise. A missing or
// invalid time is replaced by the default.
func (d EventDoc) Late() holdfast.LatePayments {
	late := holdfast.DefaultLatePayments()
	if d.LatePayments == holdfast.LatePaymentsAccepted {
		late.Policy = d.LatePayments
	}
	if d.LateSeconds != nil && *d.LateSeconds <= holdfast.MaxLatePaymentSeconds {
		late.Seconds = *d.LateSeconds
	}
	return late
}

// seating returns the rules of the event, and the additional fields of a seated one. A rule that is missing or
// unknown is the default. An unseated event need not name it.
func (d EventDoc) seating() (s holdfast.Seating) {
	if !d.SeatingPlanID.IsZero() {
		s = holdfast.Seating{
			PlanID: d.SeatingPlanID, BlockedSeats: d.BlockedSeats,
			OrphanRule: holdfast.OrphansAllowed, AccessiblePolicy: holdfast.AccessibleReserved,
		}
	}
	if d.OrphanRule == holdfast.OrphansRefused {
		s.OrphanRule = d.OrphanRule
	}
	if d.AccessiblePolicy == holdfast.AccessibleOpen {
		s.AccessiblePolicy = d.AccessiblePolicy
	}
	return s
}

// CapacitySections returns the capacities of general admission in a seated event.
func (d EventDoc) CapacitySections() (list []holdfast.SectionCapacity) {
	if d.SeatingPlanID.IsZero() {
		return nil
	}
	for _, s := range d.Sections {
		if s.Capacity > 0 { // otherwise the capacity of the plan applies
			list = append(list, s)
		}
	}
	return list
}

// EntryDoc reads an entry of a waiting list, from its document or from the record of a change. A field that is absent is zero.
type EntryDoc struct {
	ID         ID                    `bson:"_id"`
	EventID    ID                    `bson:"eventId"`
	UserID     ID                    `bson:"userId"`
	Holder     string                `bson:"holder"`
	Seats      int64                 `bson:"seats"`
	Categories []string              `bson:"categories"`
	Section    string                `bson:"section"`
	Accessible int64                 `bson:"accessibleSeats"`
	Adjacent   holdfast.AdjacentRule `bson:"adjacent"`
	Status     holdfast.EntryStatus  `bson:"status"`
	LockID     ID                    `bson:"lockId"`
	CreatedAt  time.Time             `bson:"createdAt"`
	UpdatedAt  time.Time             `bson:"updatedAt"`
	ShopData   holdfast.ShopData     `bson:",inline"`
}

// Entry returns the entry, without its position.
func (d EntryDoc) Entry() holdfast.WaitlistEntry {
	return holdfast.WaitlistEntry{
		ID: d.ID, EventID: d.EventID, UserID: d.UserID, Holder: d.Holder,
		EntryWish: holdfast.EntryWish{
			Seats: d.Seats, Categories: d.Categories, Section: d.Section, Accessible: d.Accessible, Adjacent: d.Adjacent,
		},
		Status: d.Status, LockID: d.LockID, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, ShopData: d.ShopData,
	}
}
