package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// ErrEventExists says that an event with the requested ID exists.
const ErrEventExists = mongodb.AbortError("an event has this ID already")

// CreateEvent inserts an event and its key in a transaction. It returns the ID of the event that was created with
// the key, and fails with ErrEventExists; see mongodb.DB.Create.
func (s *Store) CreateEvent(
	ctx context.Context, e holdfast.Event, key holdfast.CreationKey, hash string,
) (id ID, replayed bool, err error) {
	return s.db.Create(ctx, mongodb.Creation{Collection: eventsName, ID: e.ID, Key: key, Hash: hash,
		Insert: func(ctx context.Context) error { return s.insertEvent(ctx, e) }})
}

func (s *Store) insertEvent(ctx context.Context, e holdfast.Event) error {
	doc := bson.D{
		{Key: "_id", Value: e.ID}, {Key: "name", Value: e.Name},
		{Key: "totalSeats", Value: e.TotalSeats}, {Key: "availableSeats", Value: e.AvailableSeats},
		{Key: "status", Value: string(e.Status)},
		{Key: "createdAt", Value: e.CreatedAt}, {Key: "updatedAt", Value: e.UpdatedAt},
	}
	if !e.EventDate.IsZero() {
		doc = append(doc, bson.E{Key: "eventDate", Value: e.EventDate})
	}
	if e.MaxSeatsPerUser > 0 {
		doc = append(doc, bson.E{Key: "maxSeatsPerUser", Value: e.MaxSeatsPerUser})
	}
	if !e.SaleStartsAt.IsZero() {
		doc = append(doc, bson.E{Key: saleStart, Value: e.SaleStartsAt})
	}
	if !e.SaleEndsAt.IsZero() {
		doc = append(doc, bson.E{Key: saleEnd, Value: e.SaleEndsAt})
	}
	if late := e.LatePayments; late != holdfast.DefaultLatePayments() {
		doc = append(doc, bson.E{Key: "latePayments", Value: string(late.Policy)}, bson.E{Key: "latePaymentSeconds", Value: late.Seconds})
	}
	doc = append(doc, waitlistSet(e.Waitlist)...)
	doc, _ = setShopData(doc, nil, e.ShopData)
	doc, own, err := s.seatedFields(ctx, doc, e)
	if err != nil {
		return err
	}
	if status := e.Waitlist.Status; status == holdfast.WaitlistOpen || status == holdfast.WaitlistPaused {
		e.Waitlist.HasBegun = true
		own = append(own, bson.E{Key: "list", Value: newList(inventory.List{})})
	}
	if len(own) > 0 {
		doc = append(doc, bson.E{Key: internalName, Value: own})
	}
	_, err = s.events().InsertOne(ctx, doc)
	if mongodb.IsDuplicate(err, mongodb.ByID) {
		return ErrEventExists
	}
	if err != nil {
		return err
	}
	record := changes.Record{EventID: e.ID, PlanID: e.Seating.PlanID, At: e.CreatedAt}
	record.Add(&holdfast.Change{Type: holdfast.ChangeEventCreated, Origin: holdfast.OriginOf(ctx), Event: &e})
	return changes.Insert(ctx, s.db, &record)
}

// current reads a document in its present state. It refuses with a code if there is none; the refusal is confirmed.
func current[D, T any](
	ctx context.Context, s *Store, code holdfast.Code, find func(context.Context) (D, bool, error), convert func(D) T,
) (T, error) {
	return mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, func(ctx context.Context) (value T, err error) {
		doc, found, err := find(ctx)
		switch {
		case err != nil:
			return value, mongodb.Translate(err)
		case !found:
			return value, holdfast.NotFound(code)
		}
		return convert(doc), nil
	})
}

// readEvent reads an event with the database's clock. It fails with ErrUnusable if the event is corrupt.
func (s *Store) readEvent(ctx context.Context, id ID) (doc eventDoc, found bool, err error) {
	raw, found, err := mongodb.First[bson.Raw](ctx, s.events(),
		mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id)), withoutMap, mongodb.WithNow})
	if found {
		err = unmarshalEvent(raw, &doc)
	}
	return doc, found, err
}

// Event returns an event, or CodeEventNotFound. It fails with CodeUnavailable if the event is corrupt.
func (s *Store) Event(ctx context.Context, id ID) (holdfast.Event, error) {
	return current(ctx, s, holdfast.CodeEventNotFound, func(ctx context.Context) (eventDoc, bool, error) {
		return s.readEvent(ctx, id)
	}, eventDoc.answer)
}

// Events lists events by ID or, with a time, by their date, and returns the token of the next page.
func (s *Store) Events(ctx context.Context, f holdfast.EventFilter, page holdfast.Page) ([]holdfast.Event, string, error) {
	filter := mongodb.Filter{Indexed: true, Schema: eventSchema, Without: noMap, Timed: true}
	if f.Status != "" {
		filter.Match = sameStatus(f.Status)
	}
	if f.Reference != "" {
		filter.Match = mongodb.And(filter.Match, mongodb.Is(shopReference, f.Reference))
	}
	if !f.From.IsZero() || !f.To.IsZero() {
		filter.Date, filter.Within = "eventDate", mongodb.And(dated("$gte", f.From), dated("$lt", f.To))
	}
	docs, next, err := mongodb.List[eventDoc](ctx, s.events(), filter, page)
	return all(docs, eventDoc.answer), next, err
}

// dated compares the date of an event with a time. MongoDB keeps whole milliseconds, so the next one is as good as a time
// between two of them.
func dated(compare string, t time.Time) bson.D {
	if t.IsZero() {
		return nil
	}
	whole := holdfast.Instant(t)
	if t.After(whole) {
		whole = whole.Add(time.Millisecond)
	}
	return mongodb.Is("eventDate", bson.D{{Key: compare, Value: whole}})
}

// OversoldEvents counts the events with seats taken beyond their total.
func (s *Store) OversoldEvents(ctx context.Context) (int64, error) {
	n, err := s.events().CountDocuments(ctx, bson.D{{Key: "oversold", Value: bson.D{{Key: "$gt", Value: 0}}}})
	return n, mongodb.Translate(err)
}

// Lock returns a lock in its present state, or CodeLockNotFound.
func (s *Store) Lock(ctx context.Context, id ID) (holdfast.Lock, error) {
	return current(ctx, s, holdfast.CodeLockNotFound, func(ctx context.Context) (lockDoc, bool, error) {
		return firstValid[lockDoc](ctx, s.locks(), &lockRules, mongodb.And(mongodb.Is("_id", id), notBlocked, notLifted))
	}, lockDoc.lock)
}

// LockOf returns the lock of a booking, or CodeLockNotFound. A booking may name no event, or another one than its
// lock; LockOf then looks up the lock by its ID alone.
func (s *Store) LockOf(ctx context.Context, b holdfast.Booking) (holdfast.Lock, error) {
	if !b.EventID.IsZero() {
		named := mongodb.And(mongodb.Is("_id", b.LockID), mongodb.Is("eventId", b.EventID), notBlocked, notLifted)
		doc, found, err := firstValid[lockDoc](ctx, s.locks(), &lockRules, named)
		if err != nil || found {
			return doc.lock(), mongodb.Translate(err)
		}
	}
	return s.Lock(ctx, b.LockID)
}

// Locks lists locks by ID, and returns the token of the next page.
func (s *Store) Locks(ctx context.Context, f holdfast.LockFilter, page holdfast.Page) ([]holdfast.Lock, string, error) {
	of := customerOf(f.UserID, f.Holder)
	filter := listFilter(f.EventID, of, string(f.Status), f.Reference, holdfast.LockStatuses())
	if of == (Customer{}) { // blocks have no customer
		filter.Match = mongodb.And(filter.Match, notLifted)
	}
	if of == (Customer{}) && f.EventID == nil && f.Status == "" {
		filter.Match = mongodb.And(filter.Match, notBlocked)
	}
	filter.Schema = mongodb.And(lockSchema, of.own()) // no index has the holder
	docs, next, err := mongodb.List[lockDoc](ctx, s.locks(), filter, page)
	return all(docs, lockDoc.lock), next, err
}

// Booking returns a booking in its present state, or CodeBookingNotFound.
func (s *Store) Booking(ctx context.Context, id ID) (holdfast.Booking, error) {
	return current(ctx, s, holdfast.CodeBookingNotFound, func(ctx context.Context) (bookingDoc, bool, error) {
		return firstValid[bookingDoc](ctx, s.bookings(), &bookingRules, mongodb.Is("_id", id))
	}, bookingDoc.booking)
}

// noDone leaves Booking.Done out of lists, which may be a hundred times as large as the rest of the document: only a decision
// needs it. A document that is checked in Go is read with it, because it may be corrupt.
var noDone = bson.D{{Key: doneRequests, Value: 0}}

// Bookings lists bookings by ID, and returns the token of the next page. They don't say what was done to them after their sale.
func (s *Store) Bookings(ctx context.Context, f holdfast.BookingFilter, page holdfast.Page) ([]holdfast.Booking, string, error) {
	of := customerOf(f.UserID, f.Holder)
	filter := listFilter(f.EventID, of, string(f.Status), f.Reference, holdfast.BookingStatuses())
	filter.Schema, filter.Without = mongodb.And(bookingSchema, of.own()), noDone
	docs, next, err := mongodb.List[bookingDoc](ctx, s.bookings(), filter, page)
	return all(docs, bookingDoc.booking), next, err
}

func (s *Store) findBookings(ctx context.Context, filter bson.D) ([]holdfast.Booking, error) {
	docs, err := allValid[bookingDoc](ctx, s.bookings(), &bookingRules, mongodb.Match(filter))
	return all(docs, bookingDoc.booking), err
}

// Customer is a user or, unless Holder is "", a holder with the ID that its documents have. The zero value is neither.
type Customer struct {
	ID     ID
	Holder string
}

func customerOf(user *ID, holder string) Customer {
	switch {
	case holder != "":
		return Customer{holdfast.HolderID(holder), holder}
	case user != nil:
		return Customer{ID: *user}
	default:
		return Customer{}
	}
}

// own matches the documents of a customer among those with its ID. A user and a holder may have the same ID.
func (c Customer) own() bson.D {
	switch {
	case c.Holder != "":
		return mongodb.Is(holderField, c.Holder)
	case !c.ID.IsZero():
		return mongodb.In(holderField, bson.A{nil, ""})
	default:
		return nil
	}
}

// listFilter builds the filter of a list, and says whether the indexes by event, by user and by reference serve it. A
// filter by event or reference names all statuses, so that the index also provides the order.
func listFilter[S ~string](event *ID, of Customer, status, reference string, statuses []S) mongodb.Filter {
	var match bson.D
	if reference != "" {
		match = append(match, mongodb.Is(shopReference, reference)...)
	}
	if event != nil {
		match = append(match, mongodb.Is("eventId", *event)...)
	}
	if !of.ID.IsZero() {
		match = append(match, mongodb.Is("userId", of.ID)...)
	}
	switch {
	case status != "":
		match = append(match, mongodb.Is("status", status)...)
	case event != nil || reference != "":
		match = append(match, mongodb.In("status", statuses)...)
	}
	return mongodb.Filter{Match: match, Indexed: len(match) == 0 || event != nil || !of.ID.IsZero() || reference != ""}
}

// Expiring reads up to limit ACTIVE locks, soonest expiry first, and the database's clock.
func (s *Store) Expiring(ctx context.Context, limit int) ([]holdfast.Lock, time.Time, error) {
	docs, err := mongodb.All[lockDoc](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(
			mongodb.Is("status", string(holdfast.LockActive)),
			bson.D{{Key: "expiresAt", Value: bson.D{{Key: "$type", Value: "date"}}}},
			lockSchema,
		),
		mongodb.Sort("expiresAt", "_id"), mongodb.Limit(limit), mongodb.WithNow,
	})
	if err != nil {
		return nil, time.Time{}, mongodb.Translate(err)
	}
	if len(docs) > 0 {
		return all(docs, lockDoc.lock), docs[0].Now.Time, nil
	}
	now, err := s.db.Now(ctx)
	return []holdfast.Lock{}, now, err
}

// CountBookings counts the bookings with a status, up to limit. A limit of 0 means no limit.
func (s *Store) CountBookings(ctx context.Context, status holdfast.BookingStatus, limit int64) (int64, error) {
	n, err := s.bookings().CountDocuments(ctx, mongodb.Is("status", string(status)), upTo(limit))
	return n, mongodb.Translate(err)
}

// firstValid reads the first document that matches, unless it is corrupt.
func firstValid[D any](ctx context.Context, c *mongo.Collection, rules *mongodb.Schema, filter bson.D) (doc D, found bool, err error) {
	docs, err := allValid[D](ctx, c, rules, mongodb.Match(filter), mongodb.Limit(1))
	if err != nil || len(docs) == 0 {
		return doc, false, err
	}
	return docs[0], true, nil
}

// allValid reads documents, and leaves out corrupt ones. It is for few documents, because MongoDB takes about two
// milliseconds to plan a query that has a schema.
func allValid[D any](ctx context.Context, c *mongo.Collection, rules *mongodb.Schema, stages ...bson.D) (docs []D, err error) {
	raws, err := mongodb.All[bson.Raw](ctx, c, stages)
	for _, raw := range raws {
		if !rules.Holds(raw) {
			continue
		}
		var doc D
		if err := mongodb.Unmarshal(raw, &doc); err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, err
}

func upTo(limit int64) *options.CountOptionsBuilder {
	o := options.Count()
	if limit > 0 {
		o.SetLimit(limit)
	}
	return o
}

func all[D, T any](docs []D, read func(D) T) []T {
	list := make([]T, 0, len(docs))
	for _, d := range docs {
		list = append(list, read(d))
	}
	return list
}
