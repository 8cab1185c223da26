package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// newDocuments are new locks, bookings or entries as they are stored: the elements of a BSON array. Each document is encoded when it is
// added, because a hot event has thousands of them a second, and the driver takes several times as long.
type newDocuments struct {
	n     int
	items []byte
}

// maxInserted bounds the bytes of one command, of which MongoDB takes 16 MiB. Locks with metadata may need several.
const maxInserted = 12 << 20

// usualSize is slightly more than the usual size of a document in bytes.
const usualSize = 400

// reserve makes room for n documents.
func (l *newDocuments) reserve(n int) {
	if n == 0 {
		return
	}
	l.items = slices.Grow(l.items, n*usualSize)
	if l.n == 0 && len(l.items) == 0 {
		_, l.items = bsoncore.AppendArrayStart(l.items)
	}
}

// array returns the BSON array. No document can be added after that.
func (l *newDocuments) array() []byte {
	array, _ := bsoncore.AppendArrayEnd(l.items, 0)
	return array
}

// addLock adds a lock. A lock of the venue has no user and no expiry. Call reserve first.
func (l *newDocuments) addLock(lock *holdfast.Lock) {
	isCustomers, createdAt := lock.Status != holdfast.LockBlocked, lock.CreatedAt.UnixMilli()
	start, b := mongodb.AppendItem(l.items, l.n)
	b = bsoncore.AppendObjectIDElement(b, "_id", bson.ObjectID(lock.ID))
	b = bsoncore.AppendObjectIDElement(b, "eventId", bson.ObjectID(lock.EventID))
	if isCustomers {
		b = bsoncore.AppendObjectIDElement(b, "userId", bson.ObjectID(lock.UserID))
	}
	if isCustomers && lock.Holder != "" {
		b = bsoncore.AppendStringElement(b, holderField, lock.Holder)
	}
	b = bsoncore.AppendInt64Element(b, "seats", lock.Seats)
	b = bsoncore.AppendStringElement(b, "status", string(lock.Status))
	if isCustomers {
		b = bsoncore.AppendDateTimeElement(b, "expiresAt", lock.ExpiresAt.UnixMilli())
	}
	if isCustomers && lock.RequestHash != "" {
		b = bsoncore.AppendStringElement(b, "requestHash", lock.RequestHash)
	}
	own, b := bsoncore.AppendDocumentElementStart(b, internalName)
	b = bsoncore.AppendInt64Element(b, "rev", 0)
	b, _ = bsoncore.AppendDocumentEnd(b, own)
	b = bsoncore.AppendDateTimeElement(b, "createdAt", createdAt)
	b = bsoncore.AppendDateTimeElement(b, "updatedAt", createdAt)
	if !lock.BookingID.IsZero() {
		b = bsoncore.AppendObjectIDElement(b, "bookingId", bson.ObjectID(lock.BookingID))
	}
	if isCustomers && lock.Key != "" {
		b = bsoncore.AppendStringElement(b, "idempotencyKey", lock.Key)
	}
	if !lock.EntryID.IsZero() {
		b = bsoncore.AppendObjectIDElement(b, entryField, bson.ObjectID(lock.EntryID))
	}
	b = changes.AppendSeats(b, lock.SeatIDs, lock.Section)
	b = changes.AppendShopData(b, lock.ShopData)
	l.items, _ = bsoncore.AppendDocumentEnd(b, start)
	l.n++
}

// addBooking adds a booking. Call reserve first.
func (l *newDocuments) addBooking(o *holdfast.Booking) {
	start, b := mongodb.AppendItem(l.items, l.n)
	b = bsoncore.AppendObjectIDElement(b, "_id", bson.ObjectID(o.ID))
	b = bsoncore.AppendObjectIDElement(b, "userId", bson.ObjectID(o.UserID))
	if o.Holder != "" {
		b = bsoncore.AppendStringElement(b, holderField, o.Holder)
	}
	b = bsoncore.AppendObjectIDElement(b, "eventId", bson.ObjectID(o.EventID))
	b = bsoncore.AppendObjectIDElement(b, "seatLockId", bson.ObjectID(o.LockID))
	b = bsoncore.AppendInt64Element(b, "seats", o.Seats)
	b = bsoncore.AppendStringElement(b, "status", string(o.Status))
	b = bsoncore.AppendDateTimeElement(b, "createdAt", o.CreatedAt.UnixMilli())
	b = bsoncore.AppendDateTimeElement(b, "updatedAt", o.CreatedAt.UnixMilli())
	if !o.PaymentExpiresAt.IsZero() {
		b = bsoncore.AppendDateTimeElement(b, "paymentExpiresAt", o.PaymentExpiresAt.UnixMilli())
	}
	if o.PaymentReference != "" {
		b = bsoncore.AppendStringElement(b, referenceField, o.PaymentReference)
	}
	if len(o.Payments) > 0 {
		var own int32
		own, b = bsoncore.AppendDocumentElementStart(b, internalName)
		b = changes.AppendPayments(b, o.Payments)
		b, _ = bsoncore.AppendDocumentEnd(b, own)
	}
	b = changes.AppendSeats(changes.AppendShopData(b, o.ShopData), o.SeatIDs, o.Section)
	l.items, _ = bsoncore.AppendDocumentEnd(b, start)
	l.n++
}
