package changes

import (
	"context"
	"slices"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const name = "changes"

// Collection is the name of the records' collection.
const Collection = name

// ID names an event, a seating plan, a lock or a booking.
type ID = holdfast.ID

// Collections are the records, with their indexes.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{Name: name, Indexes: []mongodb.Index{
		// Covers the query for records without a number, in causal order, and the pages of lists.
		{Keys: mongodb.Keys("seq", "t", "_id", "eventId")},
		// The history of an event.
		{Keys: mongodb.Keys("eventId", "seq")},
	}}, auditCollection()}
}

// Record has the changes of one event by one transaction. A hot event has a thousand items a second, so they are
// encoded as they are added.
type Record struct {
	EventID  ID        // zero if the record is of a seating plan, or of a document of other software
	PlanID   ID        // the seating plan of a seated event
	Revision int64     // of the event; 0 if it was not written
	At       time.Time // by the database's clock, or the createdAt of the created document

	full  []*Record // documents that have no room left
	items []byte    // a BSON array without its end
	n     int
	types []string
	seats bool // whether a change has seats of a plan
}

// IsEmpty reports whether nothing was added.
func (r *Record) IsEmpty() bool { return r.n == 0 }

// LacksPlan reports whether a change has seats of a plan that the record does not name.
func (r *Record) LacksPlan() bool { return r.seats && r.PlanID.IsZero() }

// SetPlan says which plan the seats of the changes are of.
func (r *Record) SetPlan(planID ID) {
	r.PlanID = planID
	for _, part := range r.full {
		part.PlanID = planID
	}
}

// maxItems is the number of bytes of changes after which the next document is begun. A sweep may end
// thousands of locks with dozens of seats each, and MongoDB takes at most 16 MiB.
const maxItems = 6 << 20

// usualItem is a bit more than the bytes of a usual change.
const usualItem = 350

// Reserve makes room for n changes.
func (r *Record) Reserve(n int) { r.items = slices.Grow(r.items, n*usualItem) }

// Add adds a change. Its EventID, PlanID and At must be those of the record.
func (r *Record) Add(c *holdfast.Change) {
	if len(r.items) > maxItems {
		full := *r
		r.full = append(r.full, &full)
		r.items, r.n, r.types = nil, 0, nil
	}
	what := c.Type.Name()
	if !slices.Contains(r.types, what) {
		r.types = append(r.types, what)
	}
	if r.n == 0 {
		_, r.items = bsoncore.AppendArrayStart(r.items)
	}
	start, b := mongodb.AppendItem(r.items, r.n)
	b = bsoncore.AppendStringElement(b, "type", what)
	b = bsoncore.AppendInt64Element(b, "rev", c.Revision)
	b = appendText(b, "actor", c.Actor)
	b = appendText(b, "requestId", c.RequestID)
	b = appendText(b, "runId", c.RunID)
	if c.Repairs != 0 {
		b = bsoncore.AppendInt64Element(b, "repairs", c.Repairs)
	}
	var part int32
	switch {
	case c.Lock != nil:
		part, b = bsoncore.AppendDocumentElementStart(b, "lock")
		b, r.seats = appendLock(b, c.Lock), r.seats || hasSeats(c.Lock.SeatIDs, c.Lock.Section)
		b, _ = bsoncore.AppendDocumentEnd(b, part)
	case c.Booking != nil:
		part, b = bsoncore.AppendDocumentElementStart(b, "booking")
		b, r.seats = appendBooking(b, c.Booking), r.seats || hasSeats(c.Booking.SeatIDs, c.Booking.Section)
		b, _ = bsoncore.AppendDocumentEnd(b, part)
	case c.Payment != nil:
		part, b = bsoncore.AppendDocumentElementStart(b, "payment")
		b = appendPayment(b, c.Payment)
		b, _ = bsoncore.AppendDocumentEnd(b, part)
	case c.Event != nil:
		part, b = bsoncore.AppendDocumentElementStart(b, "event")
		b = appendEvent(b, c.Event)
		b, _ = bsoncore.AppendDocumentEnd(b, part)
	case c.Entry != nil:
		part, b = bsoncore.AppendDocumentElementStart(b, "entry")
		b = AppendEntry(b, c.Entry)
		b, _ = bsoncore.AppendDocumentEnd(b, part)
	}
	if p := c.Previous; p != nil {
		part, b = bsoncore.AppendDocumentElementStart(b, "previous")
		b = appendText(appendID(b, "userId", p.UserID), "holder", p.Holder)
		b = AppendSeats(bsoncore.AppendInt64Element(b, "seats", p.Seats), p.SeatIDs, p.Section)
		b, _ = bsoncore.AppendDocumentEnd(b, part)
		r.seats = r.seats || hasSeats(p.SeatIDs, p.Section)
	}
	r.items, _ = bsoncore.AppendDocumentEnd(b, start)
	r.n++
}

func appendLock(b []byte, l *holdfast.Lock) []byte {
	b = bsoncore.AppendObjectIDElement(b, "_id", bson.ObjectID(l.ID))
	b = appendText(appendID(b, "userId", l.UserID), "holder", l.Holder)
	b = bsoncore.AppendInt64Element(b, "seats", l.Seats)
	b = bsoncore.AppendStringElement(b, "status", string(l.Status))
	b = appendTime(b, "expiresAt", l.ExpiresAt)
	b = appendTime(b, "createdAt", l.CreatedAt)
	b = appendID(appendID(b, "bookingId", l.BookingID), "waitlistEntryId", l.EntryID)
	return AppendSeats(AppendShopData(b, l.ShopData), l.SeatIDs, l.Section)
}

func appendBooking(b []byte, o *holdfast.Booking) []byte {
	b = bsoncore.AppendObjectIDElement(b, "_id", bson.ObjectID(o.ID))
	b = appendText(appendID(b, "userId", o.UserID), "holder", o.Holder)
	b = appendID(b, "seatLockId", o.LockID)
	b = bsoncore.AppendInt64Element(b, "seats", o.Seats)
	b = bsoncore.AppendStringElement(b, "status", string(o.Status))
	b = appendTime(b, "paymentExpiresAt", o.PaymentExpiresAt)
	b = appendText(b, "paymentReference", o.PaymentReference)
	if o.Late {
		b = bsoncore.AppendBooleanElement(b, "late", true)
	}
	b = appendTime(b, "createdAt", o.CreatedAt)
	b = appendTime(b, "updatedAt", o.UpdatedAt)
	b = AppendPayments(b, o.Payments)
	return AppendSeats(AppendShopData(b, o.ShopData), o.SeatIDs, o.Section)
}

func appendPayment(b []byte, p *holdfast.Payment) []byte {
	b = bsoncore.AppendObjectIDElement(b, "_id", bson.ObjectID(p.ID))
	b = bsoncore.AppendStringElement(b, "provider", p.Provider)
	b = bsoncore.AppendStringElement(b, "reference", p.Reference)
	b = appendText(b, "part", p.Part)
	b = appendID(b, "bookingId", p.BookingID)
	b = appendText(appendID(b, "userId", p.UserID), "holder", p.Holder)
	b = appendText(appendAmount(b, p.Amount), "currency", p.Currency)
	b = bsoncore.AppendStringElement(b, "status", string(p.Status))
	b = appendText(b, "reason", string(p.Reason))
	b = appendText(b, "refundReference", p.RefundReference)
	if len(p.Refunds) > 0 {
		b = appendList(b, "refunds", p.Refunds, func(b []byte, r holdfast.Refund) []byte {
			b = bsoncore.AppendObjectIDElement(b, "id", bson.ObjectID(r.ID))
			b = bsoncore.AppendInt64Element(b, "amount", r.Amount)
			b = bsoncore.AppendStringElement(b, "reason", string(r.Reason))
			b = bsoncore.AppendStringElement(b, "status", string(r.Status))
			return appendTime(appendText(b, "refundReference", r.Reference), "createdAt", r.CreatedAt)
		})
	}
	b = appendTime(b, "createdAt", p.CreatedAt)
	return appendTime(b, "updatedAt", p.UpdatedAt)
}

// AppendPayments appends the list of a booking's payments, unless it is empty.
func AppendPayments(b []byte, list []holdfast.ListedPayment) []byte {
	if len(list) == 0 {
		return b
	}
	return appendList(b, "payments", list, func(b []byte, p holdfast.ListedPayment) []byte {
		b = bsoncore.AppendObjectIDElement(b, "id", bson.ObjectID(p.ID))
		return appendAmount(bsoncore.AppendStringElement(b, "status", string(p.Status)), p.Amount)
	})
}

// appendList appends a list of documents.
func appendList[T any](b []byte, field string, items []T, appendFields func([]byte, T) []byte) []byte {
	list, b := bsoncore.AppendArrayElementStart(b, field)
	for i, item := range items {
		var start int32
		start, b = bsoncore.AppendDocumentElementStart(b, strconv.Itoa(i))
		b, _ = bsoncore.AppendDocumentEnd(appendFields(b, item), start)
	}
	b, _ = bsoncore.AppendArrayEnd(b, list)
	return b
}

func appendAmount(b []byte, amount *int64) []byte {
	if amount == nil {
		return b
	}
	return bsoncore.AppendInt64Element(b, "amount", *amount)
}

func appendEvent(b []byte, e *holdfast.Event) []byte {
	b = bsoncore.AppendStringElement(b, "name", e.Name)
	b = bsoncore.AppendInt64Element(b, "totalSeats", e.TotalSeats)
	b = bsoncore.AppendInt64Element(b, "availableSeats", e.AvailableSeats)
	b = bsoncore.AppendInt64Element(b, "oversold", e.Oversold)
	b = appendTime(b, "eventDate", e.EventDate)
	b = bsoncore.AppendStringElement(b, "status", string(e.Status))
	b = bsoncore.AppendInt64Element(b, "maxSeatsPerUser", e.MaxSeatsPerUser)
	b = appendTime(b, "saleStartsAt", e.SaleStartsAt)
	b = appendTime(b, "saleEndsAt", e.SaleEndsAt)
	b = appendTime(b, "createdAt", e.CreatedAt)
	b = appendTime(b, "updatedAt", e.UpdatedAt)
	b = appendID(b, "seatingPlanId", e.Seating.PlanID)
	b = bsoncore.AppendInt64Element(b, "blockedSeats", e.Seating.BlockedSeats)
	b = appendText(b, "orphanRule", string(e.Seating.OrphanRule))
	b = appendText(b, "accessiblePolicy", string(e.Seating.AccessiblePolicy))
	b = appendText(b, "latePayments", string(e.LatePayments.Policy))
	b = bsoncore.AppendInt64Element(b, "latePaymentSeconds", e.LatePayments.Seconds)
	b = appendWaitlist(b, e.Waitlist)
	b = AppendShopData(b, e.ShopData)
	if len(e.Sections) == 0 {
		return b
	}
	return appendList(b, "sections", e.Sections, func(b []byte, s holdfast.SectionCapacity) []byte {
		return bsoncore.AppendInt64Element(bsoncore.AppendStringElement(b, "key", s.Key), "capacity", s.Capacity)
	})
}

// appendWaitlist appends the settings that are not the default and, if the list ever began, how many entries wait.
func appendWaitlist(b []byte, w holdfast.Waitlist) []byte {
	normal := holdfast.DefaultWaitlist()
	if w.Status != normal.Status {
		b = appendText(b, "waitlist", string(w.Status))
	}
	if w.OfferSeconds > 0 && w.OfferSeconds != normal.OfferSeconds {
		b = bsoncore.AppendInt64Element(b, "waitlistOfferSeconds", w.OfferSeconds)
	}
	if w.Fit != normal.Fit {
		b = appendText(b, "waitlistFit", string(w.Fit))
	}
	if w.HasBegun {
		b = bsoncore.AppendInt64Element(b, "waiting", w.Waiting)
	}
	return b
}

// AppendEntry appends the fields of an entry of a waiting list, except for its event and its position.
func AppendEntry(b []byte, e *holdfast.WaitlistEntry) []byte {
	b = bsoncore.AppendObjectIDElement(b, "_id", bson.ObjectID(e.ID))
	b = appendText(appendID(b, "userId", e.UserID), "holder", e.Holder)
	b = bsoncore.AppendInt64Element(b, "seats", e.Seats)
	b = appendTexts(b, "categories", e.Categories)
	b = appendText(b, "section", e.Section)
	if e.Accessible > 0 {
		b = bsoncore.AppendInt64Element(b, "accessibleSeats", e.Accessible)
	}
	b = appendText(b, "adjacent", string(e.Adjacent))
	b = bsoncore.AppendStringElement(b, "status", string(e.Status))
	b = appendID(b, "lockId", e.LockID)
	b = appendTime(appendTime(b, "createdAt", e.CreatedAt), "updatedAt", e.UpdatedAt)
	return AppendShopData(b, e.ShopData)
}

// AppendShopData appends the fields of a document, where they are not empty.
func AppendShopData(b []byte, d holdfast.ShopData) []byte {
	b = appendText(b, "reference", d.Reference)
	if len(d.Metadata) == 0 {
		return b
	}
	metadata, b := bsoncore.AppendDocumentElementStart(b, "metadata")
	for _, key := range d.MetadataKeys() {
		b = bsoncore.AppendStringElement(b, key, d.Metadata[key])
	}
	b, _ = bsoncore.AppendDocumentEnd(b, metadata)
	return b
}

func hasSeats(seatIDs []string, section string) bool { return len(seatIDs) > 0 || section != "" }

// AppendSeats appends the named seats or the section of a lock or a booking, where it has them.
func AppendSeats(b []byte, seatIDs []string, section string) []byte {
	return appendText(appendTexts(b, "seatIds", seatIDs), "section", section)
}

// appendTexts appends a list, unless it is empty.
func appendTexts(b []byte, field string, texts []string) []byte {
	if len(texts) == 0 {
		return b
	}
	list, b := bsoncore.AppendArrayElementStart(b, field)
	for i, text := range texts {
		b = bsoncore.AppendStringElement(b, strconv.Itoa(i), text)
	}
	b, _ = bsoncore.AppendArrayEnd(b, list)
	return b
}

func appendText(b []byte, field, text string) []byte {
	if text == "" {
		return b
	}
	return bsoncore.AppendStringElement(b, field, text)
}

func appendTime(b []byte, field string, t time.Time) []byte {
	if t.IsZero() {
		return b
	}
	return bsoncore.AppendDateTimeElement(b, field, t.UnixMilli())
}

func appendID(b []byte, field string, id ID) []byte {
	if id.IsZero() {
		return b
	}
	return bsoncore.AppendObjectIDElement(b, field, bson.ObjectID(id))
}

// doc is the record as it is stored. Its number is 0 until it is numbered: the same size as any other, so that
// numbering does not move a large document.
func (r *Record) doc(at bson.Timestamp) bson.D {
	doc := append(make(bson.D, 0, 9), bson.D{
		{Key: "_id", Value: bson.ObjectID(mongodb.NewID())}, {Key: "seq", Value: int64(0)}, {Key: "t", Value: at},
		{Key: "at", Value: bson.NewDateTimeFromTime(r.At)}, {Key: "rev", Value: r.Revision},
	}...)
	if !r.EventID.IsZero() {
		doc = append(doc, bson.E{Key: "eventId", Value: bson.ObjectID(r.EventID)})
	}
	if !r.PlanID.IsZero() {
		doc = append(doc, bson.E{Key: "planId", Value: bson.ObjectID(r.PlanID)})
	}
	array, _ := bsoncore.AppendArrayEnd(r.items, 0)
	return append(doc, bson.E{Key: "types", Value: r.types},
		bson.E{Key: "items", Value: bson.RawValue{Type: bson.TypeArray, Value: array}})
}

// Insert inserts the records that are not empty, in the transaction of the context, after its other
// statements. It needs no index and meets no conflict.
func Insert(ctx context.Context, db *mongodb.DB, records ...*Record) error {
	var docs []bson.D
	bytes, at := 0, mongodb.ClusterTime(ctx)
	for _, r := range records {
		for _, part := range append(r.full, r) {
			if part.IsEmpty() {
				continue
			}
			if bytes += len(part.items); bytes > maxInserted && len(docs) > 0 {
				if err := db.Insert(ctx, name, docs); err != nil {
					return err
				}
				docs, bytes = nil, len(part.items)
			}
			docs = append(docs, part.doc(at))
		}
	}
	if len(docs) == 0 {
		return nil
	}
	return db.Insert(ctx, name, docs)
}

// maxInserted bounds the bytes of one command, of which MongoDB takes 16 MiB too.
const maxInserted = 2 * maxItems
