package store

import (
	"cmp"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// eventDoc, lockDoc and bookingDoc read any document, whichever software wrote it.
type eventDoc struct {
	ID              ID             `bson:"_id"`
	Name            mongodb.Text   `bson:"name"`
	TotalSeats      mongodb.Whole  `bson:"totalSeats"`
	AvailableSeats  mongodb.Whole  `bson:"availableSeats"`
	Oversold        mongodb.Whole  `bson:"oversold"`
	EventDate       mongodb.Date   `bson:"eventDate"`
	Status          eventStatusDoc `bson:"status"`
	MaxSeatsPerUser limitDoc       `bson:"maxSeatsPerUser"`
	CreatedAt       mongodb.Date   `bson:"createdAt"`
	UpdatedAt       mongodb.Date   `bson:"updatedAt"`
	Internal        internalDoc    `bson:"internal"`
	FormerRev       formerDoc      `bson:"rev"`
	FormerRepairs   formerDoc      `bson:"fixes"`

	LatePayments mongodb.Text  `bson:"latePayments"`
	LateSeconds  mongodb.Whole `bson:"latePaymentSeconds"`

	// Of a seated event.
	SeatingPlanID    planDoc       `bson:"seatingPlanId"`
	BlockedSeats     mongodb.Whole `bson:"blockedSeats"`
	OrphanRule       mongodb.Text  `bson:"orphanRule"`
	AccessiblePolicy mongodb.Text  `bson:"accessiblePolicy"`
	Sections         sectionsDoc   `bson:"sections"`

	Now mongodb.Date `bson:"now"` // the database's clock, if it was read
}

// eventStatusDoc is ON_SALE if the field is missing. A value of another type is an unknown
// status, which does not sell.
type eventStatusDoc holdfast.EventStatus

// UnmarshalBSONValue reads any value.
func (s *eventStatusDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	v := bson.RawValue{Type: bson.Type(kind), Value: data}
	if text, ok := v.StringValueOK(); ok && text != "" {
		*s = eventStatusDoc(text)
	} else if bson.Type(kind) != bson.TypeNull && bson.Type(kind) != bson.TypeUndefined {
		*s = "?"
	}
	return nil
}

// limitDoc is a limit per user; a missing one and null are no limit. Unreadable: there is a value
// that is no whole number ≥ 0.
type limitDoc struct {
	mongodb.Whole

	Unreadable bool
}

// UnmarshalBSONValue reads any value.
func (l *limitDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	err := l.Whole.UnmarshalBSONValue(kind, data)
	isNull := bson.Type(kind) == bson.TypeNull || bson.Type(kind) == bson.TypeUndefined
	l.Unreadable = l.Wrong && !isNull || l.N < 0
	return err
}

func (d eventDoc) event() holdfast.Event {
	if d.SeatingPlanID.ID.IsZero() {
		d.Sections = nil
	}
	return holdfast.Event{
		ID: d.ID, Name: string(d.Name),
		TotalSeats: d.TotalSeats.Or(0), AvailableSeats: d.AvailableSeats.Or(0), Oversold: d.Oversold.Or(0),
		EventDate: d.EventDate.Time, Status: cmp.Or(holdfast.EventStatus(d.Status), holdfast.OnSale),
		MaxSeatsPerUser: max(0, d.MaxSeatsPerUser.Or(0)), CreatedAt: createdAt(d.CreatedAt, d.ID), UpdatedAt: d.UpdatedAt.Time,
		Seating: d.seating(), Sections: d.Sections, LatePayments: d.latePayments(),
	}
}

// latePayments are refused unless the event says otherwise. A time that is missing or impossible is the default.
func (d eventDoc) latePayments() holdfast.LatePayments {
	late := holdfast.LatePayments{Policy: holdfast.LatePaymentsRefused, Seconds: d.LateSeconds.Or(holdfast.DefaultLatePaymentSeconds)}
	if holdfast.LatePaymentPolicy(d.LatePayments) == holdfast.LatePaymentsAccepted {
		late.Policy = holdfast.LatePaymentsAccepted
	}
	if late.Seconds < 0 || late.Seconds > holdfast.MaxLatePaymentSeconds {
		late.Seconds = holdfast.DefaultLatePaymentSeconds
	}
	return late
}

// answer is the event for a client.
func (d eventDoc) answer() holdfast.Event { return d.event().Answer() }

// inventory is the event for a decision. shared: processes of the former version may serve the
// database too.
func (d eventDoc) inventory(shared bool) inventory.Event {
	own := d.Internal
	unguarded := own.Wrong || own.Rev.Wrong || own.Repairs.Wrong || shared && (d.FormerRev.Wrong || d.FormerRepairs.Wrong)
	return inventory.Event{
		Event: d.event(), Revision: own.Rev.Or(0),
		HasTotal:     d.TotalSeats.Valid && d.TotalSeats.N >= 0,
		Countable:    d.AvailableSeats.Valid && !d.Oversold.Wrong,
		Repairs:      own.Repairs.Pointer(),
		Former:       inventory.Former{Shared: shared, Revision: d.FormerRev.pointer(shared), Repairs: d.FormerRepairs.pointer(shared)},
		SweptAtRev:   own.SweptRev.Pointer(),
		BadLimit:     d.MaxSeatsPerUser.Unreadable,
		Unguarded:    unguarded,
		Incomparable: unguarded || d.MaxSeatsPerUser.Wrong || d.MaxSeatsPerUser.N < 0 || !d.TotalSeats.Valid || d.SeatingPlanID.Wrong,
	}
}

type lockDoc struct {
	ID        ID            `bson:"_id"`
	EventID   ID            `bson:"eventId"`
	UserID    ID            `bson:"userId"`
	Seats     mongodb.Whole `bson:"seats"`
	Status    mongodb.Text  `bson:"status"`
	ExpiresAt mongodb.Date  `bson:"expiresAt"`
	Key       mongodb.Text  `bson:"idempotencyKey"`
	Hash      mongodb.Text  `bson:"requestHash"`
	BookingID ID            `bson:"bookingId"`
	CreatedAt mongodb.Date  `bson:"createdAt"`
	Internal  internalDoc   `bson:"internal"`
	FormerRev formerDoc     `bson:"rev"`
	SeatIDs   mongodb.Texts `bson:"seatIds"`
	Section   mongodb.Text  `bson:"section"`

	Now mongodb.Date `bson:"now"`
}

// sectionOf is the section of general admission that a lock or a booking is in. Named seats are all that it has: other software may
// write a section beside them.
func sectionOf(seatIDs mongodb.Texts, section mongodb.Text) string {
	if len(seatIDs) > 0 {
		return ""
	}
	return string(section)
}

func (d lockDoc) lock() holdfast.Lock {
	return holdfast.Lock{
		ID: d.ID, EventID: d.EventID, UserID: d.UserID, Seats: max(0, d.Seats.Or(0)), Status: holdfast.LockStatus(d.Status),
		ExpiresAt: d.ExpiresAt.Time, Key: string(d.Key), RequestHash: string(d.Hash), BookingID: d.BookingID,
		CreatedAt: createdAt(d.CreatedAt, d.ID), SeatIDs: d.SeatIDs, Section: sectionOf(d.SeatIDs, d.Section),
	}
}

func (d lockDoc) inventory(shared bool) *inventory.Lock {
	return &inventory.Lock{Lock: d.lock(), Revision: d.Internal.Rev.Pointer(),
		Former: inventory.Former{Shared: shared, Revision: d.FormerRev.pointer(shared)}}
}

// bookingDoc: other software names the user and the event user and event.
type bookingDoc struct {
	ID               ID            `bson:"_id"`
	UserID           ID            `bson:"userId"`
	User             ID            `bson:"user"`
	EventID          ID            `bson:"eventId"`
	Event            ID            `bson:"event"`
	LockID           ID            `bson:"seatLockId"`
	Seats            mongodb.Whole `bson:"seats"`
	Status           mongodb.Text  `bson:"status"`
	PaymentExpiresAt windowDoc     `bson:"paymentExpiresAt"`
	PaymentReference mongodb.Text  `bson:"paymentReference"`
	CreatedAt        mongodb.Date  `bson:"createdAt"`
	UpdatedAt        mongodb.Date  `bson:"updatedAt"`
	SeatIDs          mongodb.Texts `bson:"seatIds"`
	Section          mongodb.Text  `bson:"section"`
	Late             mongodb.Bool  `bson:"late"`
	Internal         internalDoc   `bson:"internal"`

	Now mongodb.Date `bson:"now"`
}

// windowDoc is the end of a payment window; a missing one and null are none. Unreadable: there is
// a value that is no date.
type windowDoc struct {
	mongodb.Date

	Unreadable bool
}

// UnmarshalBSONValue reads any value.
func (w *windowDoc) UnmarshalBSONValue(kind byte, data []byte) error {
	isNull := bson.Type(kind) == bson.TypeNull || bson.Type(kind) == bson.TypeUndefined
	w.Unreadable = bson.Type(kind) != bson.TypeDateTime && !isNull
	return w.Date.UnmarshalBSONValue(kind, data)
}

func (d bookingDoc) booking() holdfast.Booking {
	return holdfast.Booking{
		ID: d.ID, UserID: cmp.Or(d.UserID, d.User), EventID: cmp.Or(d.EventID, d.Event), LockID: d.LockID,
		Seats: d.Seats.Or(0), Status: holdfast.BookingStatus(d.Status),
		PaymentExpiresAt: d.PaymentExpiresAt.Time, WindowUnreadable: d.PaymentExpiresAt.Unreadable, PaymentReference: string(d.PaymentReference),
		CreatedAt: createdAt(d.CreatedAt, d.ID), UpdatedAt: d.UpdatedAt.Time, SeatIDs: d.SeatIDs, Section: sectionOf(d.SeatIDs, d.Section),
		Revision: d.Internal.Rev.Or(0), PaymentID: d.Internal.PaymentID, Late: bool(d.Late),
	}
}

func newBookingDoc(b holdfast.Booking) bson.D {
	doc := bson.D{
		{Key: "_id", Value: b.ID}, {Key: "userId", Value: b.UserID}, {Key: "eventId", Value: b.EventID},
		{Key: "seatLockId", Value: b.LockID}, {Key: "seats", Value: b.Seats}, {Key: "status", Value: string(b.Status)},
		{Key: "createdAt", Value: b.CreatedAt}, {Key: "updatedAt", Value: b.CreatedAt},
	}
	if !b.PaymentExpiresAt.IsZero() {
		doc = append(doc, bson.E{Key: "paymentExpiresAt", Value: b.PaymentExpiresAt})
	}
	return withSeats(doc, b.SeatIDs, b.Section)
}

// createdAt is the document's date of creation; if it has none, the date in its ID.
func createdAt(d mongodb.Date, id ID) time.Time {
	if d.IsZero() {
		return id.CreatedAt()
	}
	return d.Time
}

// due and notDue compare with the database's clock.
var (
	due    = mongodb.Passed("expiresAt")
	notDue = mongodb.Ahead("expiresAt")
)

// wholeSeats matches locks whose seats are a whole number ≥ 1: a sweep may end only these.
// Values of all types compare, numbers with numbers only.
var wholeSeats = bson.D{{Key: "$and", Value: bson.A{
	bson.D{{Key: "$gte", Value: bson.A{"$seats", 1}}},
	bson.D{{Key: "$lte", Value: bson.A{"$seats", mongodb.MaxWhole}}},
	bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$mod", Value: bson.A{"$seats", 1}}}, 0}}},
}}}

// countedSeats is a lock's weight in every sum: its seats if they are a whole number
// ≥ 1, else 0.
//
// A number beyond MaxWhole counts too, so that the sum shows that it can't be trusted.
var countedSeats = bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$and", Value: bson.A{
	bson.D{{Key: "$isNumber", Value: "$seats"}},
	bson.D{{Key: "$gte", Value: bson.A{"$seats", 1}}},
	bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$mod", Value: bson.A{"$seats", 1}}}, 0}}},
}}}, "$seats", 0}}}

// unendable says why a sweep or a reclaim must not or can't end a lock; "" if it can. Other
// software may leave an _id that no ObjectID matches, or a revision that can't be raised.
func unendable(shared bool) bson.D {
	cases := bson.A{
		because(not(isObjectID("$_id")), "its _id is no ObjectID"),
		because(not(wholeSeats), "its seats are no whole number ≥ 1"),
		because(not(isRaisable), "its revision can't be raised"),
	}
	if shared {
		cases = append(cases, because(not(canBeRaised("$"+formerRev)), "its revision can't be raised"))
	}
	return bson.D{{Key: "$switch", Value: bson.D{{Key: "branches", Value: cases}, {Key: "default", Value: ""}}}}
}

// unendableBooking is unendable for bookings.
var unendableBooking = bson.D{{Key: "$switch", Value: bson.D{
	{Key: "branches", Value: bson.A{
		because(not(isObjectID("$_id")), "its _id is no ObjectID"),
		because(not(isRaisable), "its revision can't be raised"),
	}},
	{Key: "default", Value: ""},
}}}

// endable is the filter for locks that a sweep or a reclaim can end: those of which unendable says
// nothing. Plain operators, because MongoDB reads these in a fraction of the time. A whole number
// has no bit of the empty mask set, a fraction has no bits. The type of _id is an expression, so
// that no index on _id is tried.
func endable(shared bool) bson.D {
	filters := []bson.D{
		{{Key: "$expr", Value: isObjectID("$_id")}},
		{{Key: "seats", Value: bson.D{
			{Key: "$gte", Value: 1}, {Key: "$lte", Value: mongodb.MaxWhole}, {Key: "$bitsAllClear", Value: 0}, {Key: "$not", Value: isList},
		}}},
		hasRaisable,
	}
	if shared {
		filters = append(filters, raisable(formerRev))
	}
	return mongodb.And(filters...)
}

// endableBooking is the filter for bookings that a sweep can end.
var endableBooking = mongodb.And(namedByUs, hasRaisable)

// hasRaisable matches documents whose revision an update can raise.
var hasRaisable = mongodb.And(raisable(rev), bson.D{{Key: "$or", Value: bson.A{
	absent(internalName), bson.D{{Key: internalName, Value: bson.D{{Key: "$type", Value: "object"}, {Key: "$not", Value: isList}}}},
}}})

// raisable matches a field that canBeRaised.
func raisable(field string) bson.D {
	return bson.D{{Key: "$or", Value: bson.A{absent(field), bson.D{{Key: field, Value: bson.D{
		{Key: "$gte", Value: -mongodb.MaxWhole}, {Key: "$lt", Value: mongodb.MaxWhole}, {Key: "$not", Value: isList},
	}}}}}}
}

func absent(field string) bson.D {
	return bson.D{{Key: field, Value: bson.D{{Key: "$exists", Value: false}}}}
}

var isList = bson.D{{Key: "$type", Value: "array"}}

func because(condition bson.D, why string) bson.D {
	return bson.D{{Key: "case", Value: condition}, {Key: "then", Value: why}}
}

// isRaisable is hasRaisable as an expression.
var isRaisable = bson.D{{Key: "$and", Value: bson.A{
	bson.D{{Key: "$in", Value: bson.A{bson.D{{Key: "$type", Value: "$" + internalName}}, bson.A{"missing", "object"}}}},
	canBeRaised("$" + rev),
}}}

func not(condition bson.D) bson.D { return bson.D{{Key: "$not", Value: bson.A{condition}}} }

// isObjectID is true for every ObjectID but the zero one, which names nothing.
func isObjectID(field string) bson.D {
	return bson.D{{Key: "$and", Value: bson.A{
		bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$type", Value: field}}, "objectId"}}},
		bson.D{{Key: "$ne", Value: bson.A{field, ID{}}}},
	}}}
}

// canBeRaised is true for a field that $inc can change exactly: a number that is not too large, or
// none.
func canBeRaised(field string) bson.D {
	return bson.D{{Key: "$or", Value: bson.A{
		bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$type", Value: field}}, "missing"}}},
		bson.D{{Key: "$and", Value: bson.A{
			bson.D{{Key: "$isNumber", Value: field}}, bson.D{{Key: "$gte", Value: bson.A{field, -mongodb.MaxWhole}}}, // no NaN
			bson.D{{Key: "$lt", Value: bson.A{field, mongodb.MaxWhole}}},
		}}},
	}}}
}

// namedByUs matches documents that the API can name. The index on _id bounds it.
var namedByUs = bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: ID{}}}}}
