package store

import (
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// newLocks are new locks as they are stored: the elements of a BSON array. Each lock is encoded when it is added,
// because a hot event has thousands of them a second, and the driver takes several times as long.
type newLocks struct {
	n     int
	items []byte
}

// maxInserted bounds the bytes of one command, of which MongoDB takes 16 MiB. Locks with metadata may need several.
const maxInserted = 12 << 20

// usualLock is slightly more than the usual size of a lock in bytes.
const usualLock = 400

// reserve makes room for n locks.
func (l *newLocks) reserve(n int) {
	if n == 0 {
		return
	}
	l.items = slices.Grow(l.items, n*usualLock)
	if l.n == 0 && len(l.items) == 0 {
		_, l.items = bsoncore.AppendArrayStart(l.items)
	}
}

// array returns the BSON array of the locks. No lock can be added after that.
func (l *newLocks) array() []byte {
	array, _ := bsoncore.AppendArrayEnd(l.items, 0)
	return array
}

// add adds a lock. A lock of the venue has no user and no expiry. Call reserve first.
func (l *newLocks) add(lock *holdfast.Lock) {
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
	if len(lock.SeatIDs) > 0 {
		var list int32
		list, b = bsoncore.AppendArrayElementStart(b, seatIDsField)
		for i, id := range lock.SeatIDs {
			b = bsoncore.AppendStringElement(b, strconv.Itoa(i), id)
		}
		b, _ = bsoncore.AppendArrayEnd(b, list)
	}
	if lock.Section != "" {
		b = bsoncore.AppendStringElement(b, sectionField, lock.Section)
	}
	b = changes.AppendShopData(b, lock.ShopData)
	l.items, _ = bsoncore.AppendDocumentEnd(b, start)
	l.n++
}
