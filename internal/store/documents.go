package store

import (
	"cmp"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// eventDoc, lockDoc and bookingDoc decode documents that match the schema. A field that is absent is zero.
type eventDoc struct {
	changes.EventDoc `bson:",inline"`

	Internal eventInternal       `bson:"internal"`
	Now      mongodb.DatabaseNow `bson:"databaseNow"` // the database's clock, if it was read
}

func (d eventDoc) event() holdfast.Event {
	e := d.Event()
	e.CreatedAt = createdAt(e.CreatedAt, d.ID)
	if l := d.Internal.List; l != nil {
		e.Waitlist.HasBegun, e.Waitlist.Waiting, e.Waitlist.Holds = true, l.Waiting, l.Holds
	}
	return e
}

// answer returns the event for a client. It must have been read with the database's clock.
func (d eventDoc) answer() holdfast.Event { return answerAt(d.event(), d.Now.Time) }

// inventory returns the event for a decision.
func (d eventDoc) inventory() inventory.Event {
	own := d.Internal
	seen := cmp.Or(d.Now.Time, d.UpdatedAt) // a write sets updatedAt
	return inventory.Event{
		Event: d.event(), SeenAt: seen, Revision: own.Rev, Repairs: own.Repairs, SweptAtRev: own.SweptRev, List: own.List.inventory(),
	}
}

type lockDoc struct {
	holdfast.Lock `bson:",inline"`

	Internal lockInternal        `bson:"internal"`
	Now      mongodb.DatabaseNow `bson:"databaseNow"`
}

// sectionOf returns the section of general admission that a lock or a booking is in. If it has named seats, it has
// no other seats, whatever section the document names.
func sectionOf(seatIDs []string, section string) string {
	if len(seatIDs) > 0 {
		return ""
	}
	return section
}

func (d lockDoc) lock() holdfast.Lock {
	d.CreatedAt, d.Section = createdAt(d.CreatedAt, d.ID), sectionOf(d.SeatIDs, d.Section)
	return d.Lock
}

func (d lockDoc) inventory() *inventory.Lock {
	return &inventory.Lock{Lock: d.lock(), Revision: d.Internal.Rev}
}

// bookingDoc decodes a booking. The original schema calls the user and the event of a booking user and event.
type bookingDoc struct {
	ID               ID                     `bson:"_id"`
	UserID           ID                     `bson:"userId"`
	User             ID                     `bson:"user"`
	Holder           string                 `bson:"holder"`
	EventID          ID                     `bson:"eventId"`
	Event            ID                     `bson:"event"`
	LockID           ID                     `bson:"seatLockId"`
	Seats            seatsOfBooking         `bson:"seats"`
	Status           holdfast.BookingStatus `bson:"status"`
	PaymentExpiresAt time.Time              `bson:"paymentExpiresAt"`
	PaymentReference string                 `bson:"paymentReference"`
	CreatedAt        time.Time              `bson:"createdAt"`
	UpdatedAt        time.Time              `bson:"updatedAt"`
	SeatIDs          []string               `bson:"seatIds"`
	Section          string                 `bson:"section"`
	Late             bool                   `bson:"late"`
	Internal         bookingInternal        `bson:"internal"`
	Own              holdfast.ShopData      `bson:",inline"`

	Now mongodb.DatabaseNow `bson:"databaseNow"`
}

// seatsOfBooking is a number of seats. In the original schema it is a list of texts, which counts as 0.
type seatsOfBooking int64

// UnmarshalBSONValue reads a whole number or a list.
func (s *seatsOfBooking) UnmarshalBSONValue(kind byte, data []byte) error {
	n, isWhole := mongodb.WholeOf(bson.RawValue{Type: bson.Type(kind), Value: data})
	if !isWhole && bson.Type(kind) != bson.TypeArray {
		return fmt.Errorf("the seats of a booking are a number or a list, not a value of type %s", bson.Type(kind))
	}
	*s = seatsOfBooking(n)
	return nil
}

func (d bookingDoc) booking() holdfast.Booking {
	return holdfast.Booking{
		ID: d.ID, UserID: cmp.Or(d.UserID, d.User), Holder: d.Holder, EventID: cmp.Or(d.EventID, d.Event), LockID: d.LockID,
		Seats: int64(d.Seats), Status: d.Status, PaymentExpiresAt: d.PaymentExpiresAt, PaymentReference: d.PaymentReference,
		CreatedAt: createdAt(d.CreatedAt, d.ID), UpdatedAt: d.UpdatedAt, SeatIDs: d.SeatIDs, Section: sectionOf(d.SeatIDs, d.Section),
		Revision: d.Internal.Rev, Payments: d.Internal.Payments, Done: d.Internal.Done, Late: d.Late, ShopData: d.Own,
	}
}

// setShopData sets a reference and metadata, or unsets those that are none.
func setShopData(set, unset bson.D, d holdfast.ShopData) (_, _ bson.D) {
	if d.Reference != "" {
		set = append(set, bson.E{Key: shopReference, Value: d.Reference})
	} else {
		unset = append(unset, bson.E{Key: shopReference, Value: ""})
	}
	if len(d.Metadata) == 0 {
		return set, append(unset, bson.E{Key: shopMetadata, Value: ""})
	}
	metadata := make(bson.D, 0, len(d.Metadata))
	for _, key := range d.MetadataKeys() {
		metadata = append(metadata, bson.E{Key: key, Value: d.Metadata[key]})
	}
	return append(set, bson.E{Key: shopMetadata, Value: metadata}), unset
}

// createdAt returns the document's date of creation or, if it has none, the date in its ID.
func createdAt(d time.Time, id ID) time.Time {
	if d.IsZero() {
		return id.CreatedAt()
	}
	return d
}

// due and notDue compare with the database's clock.
var (
	due    = mongodb.Passed("expiresAt")
	notDue = mongodb.Ahead("expiresAt")
)

// countedSeats is the number of seats that a lock adds to every sum: its seats, or 0 if they break the schema. So a
// sum needs only the index that covers it.
var countedSeats = bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$and", Value: bson.A{
	bson.D{{Key: "$isNumber", Value: "$seats"}},
	bson.D{{Key: "$gte", Value: bson.A{"$seats", 1}}}, bson.D{{Key: "$lte", Value: bson.A{"$seats", holdfast.MaxSeats}}},
	bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$mod", Value: bson.A{"$seats", 1}}}, 0}}},
}}}, "$seats", 0}}}
