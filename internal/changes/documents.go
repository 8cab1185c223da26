package changes

import (
	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// The documents of changes, as they are read. Other software may have left any value.

// recordDoc reads a record.
type recordDoc struct {
	Seq     int64        `bson:"seq"`
	At      mongodb.Date `bson:"at"`
	EventID ID           `bson:"eventId"`
	PlanID  ID           `bson:"planId"`
	Items   []itemDoc    `bson:"items"`
}

type itemDoc struct {
	Type      mongodb.Text  `bson:"type"`
	Revision  mongodb.Whole `bson:"rev"`
	Repairs   mongodb.Whole `bson:"repairs"`
	Actor     mongodb.Text  `bson:"actor"`
	RequestID mongodb.Text  `bson:"requestId"`
	RunID     mongodb.Text  `bson:"runId"`
	Lock      *lockDoc      `bson:"lock"`
	Booking   *bookingDoc   `bson:"booking"`
	Payment   *paymentDoc   `bson:"payment"`
	Event     *eventDoc     `bson:"event"`
}

func (d itemDoc) change(r recordDoc) holdfast.Change {
	c := holdfast.Change{
		Type: holdfast.ChangeType(typePrefix + string(d.Type)), Revision: d.Revision.Or(0), Repairs: d.Repairs.Or(0),
		At: r.At.Time, EventID: r.EventID, PlanID: r.PlanID,
		Origin: holdfast.Origin{Actor: string(d.Actor), RequestID: string(d.RequestID), RunID: string(d.RunID)},
	}
	switch {
	case d.Lock != nil:
		lock := d.Lock.lock(r)
		c.Lock = &lock
	case d.Booking != nil:
		booking := d.Booking.booking(r, c.Revision)
		c.Booking = &booking
	case d.Payment != nil:
		payment := d.Payment.payment(r, c.Revision)
		c.Payment = &payment
	case d.Event != nil:
		event := d.Event.event(r)
		c.Event = &event
	}
	return c
}

type lockDoc struct {
	ID        ID            `bson:"_id"`
	UserID    ID            `bson:"userId"`
	Seats     mongodb.Whole `bson:"seats"`
	Status    mongodb.Text  `bson:"status"`
	ExpiresAt mongodb.Date  `bson:"expiresAt"`
	CreatedAt mongodb.Date  `bson:"createdAt"`
	BookingID ID            `bson:"bookingId"`
	SeatIDs   mongodb.Texts `bson:"seatIds"`
	Section   mongodb.Text  `bson:"section"`
}

func (d lockDoc) lock(r recordDoc) holdfast.Lock {
	return holdfast.Lock{
		ID: d.ID, EventID: r.EventID, UserID: d.UserID, Seats: d.Seats.Or(0), Status: holdfast.LockStatus(d.Status),
		ExpiresAt: d.ExpiresAt.Time, CreatedAt: d.CreatedAt.Time, BookingID: d.BookingID, SeatIDs: d.SeatIDs, Section: string(d.Section),
	}
}

type bookingDoc struct {
	ID               ID            `bson:"_id"`
	UserID           ID            `bson:"userId"`
	LockID           ID            `bson:"seatLockId"`
	Seats            mongodb.Whole `bson:"seats"`
	Status           mongodb.Text  `bson:"status"`
	PaymentExpiresAt mongodb.Date  `bson:"paymentExpiresAt"`
	PaymentReference mongodb.Text  `bson:"paymentReference"`
	CreatedAt        mongodb.Date  `bson:"createdAt"`
	UpdatedAt        mongodb.Date  `bson:"updatedAt"`
	SeatIDs          mongodb.Texts `bson:"seatIds"`
	Section          mongodb.Text  `bson:"section"`
	Late             mongodb.Bool  `bson:"late"`
}

func (d bookingDoc) booking(r recordDoc, revision int64) holdfast.Booking {
	return holdfast.Booking{
		ID: d.ID, EventID: r.EventID, UserID: d.UserID, LockID: d.LockID, Seats: d.Seats.Or(0), Status: holdfast.BookingStatus(d.Status),
		PaymentExpiresAt: d.PaymentExpiresAt.Time, PaymentReference: string(d.PaymentReference),
		CreatedAt: d.CreatedAt.Time, UpdatedAt: d.UpdatedAt.Time, SeatIDs: d.SeatIDs, Section: string(d.Section), Revision: revision,
		Late: bool(d.Late),
	}
}

type paymentDoc struct {
	ID              ID            `bson:"_id"`
	Provider        mongodb.Text  `bson:"provider"`
	Reference       mongodb.Text  `bson:"reference"`
	Part            mongodb.Text  `bson:"part"`
	BookingID       ID            `bson:"bookingId"`
	UserID          ID            `bson:"userId"`
	Amount          mongodb.Whole `bson:"amount"`
	Currency        mongodb.Text  `bson:"currency"`
	Status          mongodb.Text  `bson:"status"`
	Reason          mongodb.Text  `bson:"reason"`
	RefundReference mongodb.Text  `bson:"refundReference"`
	CreatedAt       mongodb.Date  `bson:"createdAt"`
	UpdatedAt       mongodb.Date  `bson:"updatedAt"`
}

func (d paymentDoc) payment(r recordDoc, revision int64) holdfast.Payment {
	return holdfast.Payment{
		ID: d.ID, BookingID: d.BookingID, EventID: r.EventID, UserID: d.UserID,
		Charge: holdfast.Charge{
			Provider: string(d.Provider), Reference: string(d.Reference), Part: string(d.Part), Amount: d.Amount.Pointer(),
			Currency: string(d.Currency),
		},
		Status: holdfast.PaymentStatus(d.Status), Reason: holdfast.PaymentReason(d.Reason), RefundReference: string(d.RefundReference),
		CreatedAt: d.CreatedAt.Time, UpdatedAt: d.UpdatedAt.Time, Revision: revision,
	}
}

type eventDoc struct {
	Name             mongodb.Text  `bson:"name"`
	TotalSeats       mongodb.Whole `bson:"totalSeats"`
	AvailableSeats   mongodb.Whole `bson:"availableSeats"`
	Oversold         mongodb.Whole `bson:"oversold"`
	EventDate        mongodb.Date  `bson:"eventDate"`
	Status           mongodb.Text  `bson:"status"`
	MaxSeatsPerUser  mongodb.Whole `bson:"maxSeatsPerUser"`
	CreatedAt        mongodb.Date  `bson:"createdAt"`
	UpdatedAt        mongodb.Date  `bson:"updatedAt"`
	PlanID           ID            `bson:"seatingPlanId"`
	BlockedSeats     mongodb.Whole `bson:"blockedSeats"`
	OrphanRule       mongodb.Text  `bson:"orphanRule"`
	AccessiblePolicy mongodb.Text  `bson:"accessiblePolicy"`
	LatePayments     mongodb.Text  `bson:"latePayments"`
	LateSeconds      mongodb.Whole `bson:"latePaymentSeconds"`
	Sections         []struct {
		Key      mongodb.Text  `bson:"key"`
		Capacity mongodb.Whole `bson:"capacity"`
	} `bson:"sections"`
}

func (d eventDoc) event(r recordDoc) holdfast.Event {
	var sections []holdfast.SectionCapacity
	for _, s := range d.Sections {
		sections = append(sections, holdfast.SectionCapacity{Key: string(s.Key), Capacity: s.Capacity.Or(0)})
	}
	return holdfast.Event{
		Sections: sections,
		ID:       r.EventID, Name: string(d.Name), TotalSeats: d.TotalSeats.Or(0), AvailableSeats: d.AvailableSeats.Or(0),
		Oversold: d.Oversold.Or(0), EventDate: d.EventDate.Time, Status: holdfast.EventStatus(d.Status),
		MaxSeatsPerUser: d.MaxSeatsPerUser.Or(0), CreatedAt: d.CreatedAt.Time, UpdatedAt: d.UpdatedAt.Time,
		LatePayments: holdfast.LatePayments{
			Policy: holdfast.LatePaymentPolicy(d.LatePayments), Seconds: d.LateSeconds.Or(holdfast.DefaultLatePaymentSeconds),
		},
		Seating: holdfast.Seating{
			PlanID: d.PlanID, BlockedSeats: d.BlockedSeats.Or(0),
			OrphanRule: holdfast.OrphanRule(d.OrphanRule), AccessiblePolicy: holdfast.AccessiblePolicy(d.AccessiblePolicy),
		},
	}
}
