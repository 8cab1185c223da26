package store

import (
	"context"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	paymentsName = "payments"

	paymentID   = internalName + ".paymentId" // of bookings that have a payment
	kept        = internalName + ".kept"      // of bookings: raised where nothing else changes
	paymentCode = internalName + ".code"      // of payments: the code of the refusal
)

// byCharge makes payments unique by reference and part. So payments can't be sharded by another key than the
// reference, and need not be: they are read by key, and there is one for a booking.
var byCharge = mongodb.Index{Keys: mongodb.Keys("reference", "part"), Unique: true}

// payments are the indexes and the validator of payments.
func payments() mongodb.Collection {
	due := mongodb.Is("status", string(holdfast.PaymentRefundDue))
	return mongodb.Collection{
		Name:      paymentsName,
		Validator: mongodb.OneOf("status", holdfast.PaymentStatuses()...),
		Indexes: []mongodb.Index{
			byCharge,
			// Lists.
			{Keys: mongodb.Keys("bookingId", "_id")},
			{Keys: mongodb.Keys("eventId", "status", "_id")},
			// Refunds that are due, and the oldest of them.
			{Keys: mongodb.Keys("status", "_id"), Partial: due},
			{Keys: mongodb.Keys("updatedAt", "_id"), Partial: due},
		},
	}
}

func (s *Store) payments() *mongo.Collection { return s.db.Collection(paymentsName) }

// paymentDoc reads a payment.
type paymentDoc struct {
	ID              ID            `bson:"_id"`
	Provider        mongodb.Text  `bson:"provider"`
	Reference       mongodb.Text  `bson:"reference"`
	Part            mongodb.Text  `bson:"part"`
	BookingID       ID            `bson:"bookingId"`
	EventID         ID            `bson:"eventId"`
	UserID          ID            `bson:"userId"`
	Amount          mongodb.Whole `bson:"amount"`
	Currency        mongodb.Text  `bson:"currency"`
	Status          mongodb.Text  `bson:"status"`
	Reason          mongodb.Text  `bson:"reason"`
	RefundReference mongodb.Text  `bson:"refundReference"`
	CreatedAt       mongodb.Date  `bson:"createdAt"`
	UpdatedAt       mongodb.Date  `bson:"updatedAt"`
	Internal        struct {
		Rev  mongodb.Whole `bson:"rev"`
		Code mongodb.Text  `bson:"code"`
	} `bson:"internal"`

	Now mongodb.Date `bson:"now"`
}

func (d paymentDoc) payment() holdfast.Payment {
	return holdfast.Payment{
		ID: d.ID,
		Charge: holdfast.Charge{
			Provider: string(d.Provider), Reference: string(d.Reference), Part: string(d.Part),
			Amount: d.Amount.Pointer(), Currency: string(d.Currency),
		},
		BookingID: d.BookingID, EventID: d.EventID, UserID: d.UserID,
		Status: holdfast.PaymentStatus(d.Status), Reason: holdfast.PaymentReason(d.Reason), Code: holdfast.Code(d.Internal.Code),
		RefundReference: string(d.RefundReference), CreatedAt: createdAt(d.CreatedAt, d.ID), UpdatedAt: d.UpdatedAt.Time,
		Revision: d.Internal.Rev.Or(0),
	}
}

func newPaymentDoc(p holdfast.Payment) bson.D {
	own := bson.D{{Key: "rev", Value: p.Revision}}
	if p.Code != "" {
		own = append(own, bson.E{Key: "code", Value: string(p.Code)})
	}
	doc := bson.D{
		{Key: "_id", Value: p.ID}, {Key: "provider", Value: p.Provider}, {Key: "reference", Value: p.Reference}, {Key: "part", Value: p.Part},
		{Key: "bookingId", Value: p.BookingID}, {Key: "status", Value: string(p.Status)},
		{Key: "createdAt", Value: p.CreatedAt}, {Key: "updatedAt", Value: p.UpdatedAt}, {Key: internalName, Value: own},
	}
	for _, id := range []struct {
		field string
		value ID
	}{{"eventId", p.EventID}, {"userId", p.UserID}} {
		if !id.value.IsZero() {
			doc = append(doc, bson.E{Key: id.field, Value: id.value})
		}
	}
	if p.Amount != nil {
		doc = append(doc, bson.E{Key: "amount", Value: *p.Amount})
	}
	for _, text := range []struct{ field, value string }{
		{"currency", p.Currency}, {"reason", string(p.Reason)}, {"refundReference", p.RefundReference},
	} {
		if text.value != "" {
			doc = append(doc, bson.E{Key: text.field, Value: text.value})
		}
	}
	return doc
}

// writePayments inserts the new payments of the plans and changes others. A reference and part that are in use make
// the plan stale.
func (s *Store) writePayments(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var docs, statements []bson.D
	for _, p := range plans {
		for _, payment := range p.NewPayments {
			docs = append(docs, newPaymentDoc(payment))
		}
		for _, w := range p.Payments {
			guard := mongodb.And(mongodb.Is("_id", w.ID), mongodb.Is("status", string(w.From)))
			statements = append(statements, bson.D{
				{Key: "q", Value: guard}, {Key: "u", Value: paymentUpdate(w)}, {Key: "hint", Value: mongodb.ByID},
			})
		}
	}
	if len(docs) > 0 {
		err := s.db.Insert(ctx, paymentsName, docs)
		if mongodb.IsDuplicate(err, mongodb.ByID, byCharge.Keys) {
			err = fmt.Errorf("%w: %w", ErrStale, err)
		}
		if err != nil {
			return err
		}
	}
	return s.update(ctx, paymentsName, statements, len(statements))
}

func paymentUpdate(w inventory.PaymentWrite) bson.D {
	after := w.After
	set := bson.D{{Key: "status", Value: string(w.To)}, {Key: "updatedAt", Value: after.UpdatedAt}}
	if after.Reason != "" {
		set = append(set, bson.E{Key: "reason", Value: string(after.Reason)})
	}
	if after.Code != "" {
		set = append(set, bson.E{Key: paymentCode, Value: string(after.Code)})
	}
	if after.RefundReference != "" {
		set = append(set, bson.E{Key: "refundReference", Value: after.RefundReference})
	}
	if w.RunID != "" {
		set = append(set, bson.E{Key: runID, Value: w.RunID})
	}
	return bson.D{raiseRevision(false), {Key: "$set", Value: set}}
}

// paymentParts are the reads of payments.
func paymentParts(n inventory.Needs) (list []part) {
	var either bson.A
	if len(n.Payments) > 0 {
		either = append(either, mongodb.In("_id", n.Payments))
	}
	for _, key := range n.Charged {
		either = append(either, mongodb.And(mongodb.Is("reference", key.Reference), mongodb.Is("part", key.Part)))
	}
	if len(either) > 0 {
		list = append(list, part{"payments", paymentsName, []bson.D{mongodb.Match(mongodb.Is("$or", either))},
			func(l *loaded) any { return &l.Payments }})
	}
	if len(n.Unrecorded) > 0 {
		first := bson.D{{Key: "$slice", Value: bson.A{"$bookings", several}}}
		list = append(list, part{"unrecorded", bookingsName, []bson.D{
			mongodb.Match(mongodb.In(referenceField, n.Unrecorded), mongodb.Is("status", string(holdfast.BookingConfirmed)), absent(paymentID)),
			mongodb.Group("$"+referenceField, bson.E{Key: "bookings", Value: bson.D{{Key: "$push", Value: "$_id"}}}),
			{{Key: "$set", Value: bson.D{{Key: "bookings", Value: first}}}},
		}, func(l *loaded) any { return &l.Unrecorded }})
	}
	if len(n.Recorded) > 0 { // the first and the last one: whether several have a reference
		list = append(list, part{"recorded", paymentsName, []bson.D{
			mongodb.Match(mongodb.In("reference", n.Recorded)),
			mongodb.Group("$reference", bson.E{Key: "first", Value: bson.D{{Key: "$min", Value: "$bookingId"}}},
				bson.E{Key: "last", Value: bson.D{{Key: "$max", Value: "$bookingId"}}}),
		}, func(l *loaded) any { return &l.Recorded }})
	}
	return list
}

// several bookings with one reference are enough to know that it is not one.
const several = 2

// unrecordedDoc are bookings with one reference, the first of them.
type unrecordedDoc struct {
	Reference mongodb.Text `bson:"_id"`
	Bookings  []ID         `bson:"bookings"`
}

// recordedDoc are the first and the last booking that have a payment with one reference.
type recordedDoc struct {
	Reference mongodb.Text `bson:"_id"`
	First     ID           `bson:"first"`
	Last      ID           `bson:"last"`
}

// fillPayments fills in the payments, and the bookings that have none.
func (l loaded) fillPayments(s *inventory.State, n inventory.Needs) {
	if !n.NeedsPayments() {
		return
	}
	s.Payments, s.Charged = make(map[ID]*holdfast.Payment, len(l.Payments)), make(map[inventory.PaymentKey]ID, len(n.Charged))
	s.Unrecorded, s.Recorded = make(map[string][]ID, len(n.Unrecorded)), make(map[string][]ID, len(n.Recorded))
	for _, id := range n.Payments {
		s.Payments[id] = nil
	}
	for _, key := range n.Charged {
		s.Charged[key] = ID{}
	}
	for _, reference := range n.Unrecorded {
		s.Unrecorded[reference] = nil
	}
	for _, reference := range n.Recorded {
		s.Recorded[reference] = nil
	}
	for _, d := range l.Payments {
		p := d.payment()
		s.Payments[p.ID], s.Charged[inventory.PaymentKey{Reference: p.Reference, Part: p.Part}] = &p, p.ID
	}
	for _, d := range l.Unrecorded {
		s.Unrecorded[string(d.Reference)] = d.Bookings
	}
	for _, d := range l.Recorded {
		s.Recorded[string(d.Reference)] = []ID{d.First, d.Last}
	}
}

// Payment returns a payment in its present state, or CodePaymentNotFound.
func (s *Store) Payment(ctx context.Context, id ID) (holdfast.Payment, error) {
	place := mongodb.At(PlaceOfPayment(id))
	return mongodb.ConfirmRefusal(ctx, s.db, holdfast.IsNotFound, place, func(ctx context.Context) (holdfast.Payment, error) {
		doc, found, err := mongodb.First[paymentDoc](ctx, s.payments(), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", id))})
		switch {
		case err != nil:
			return holdfast.Payment{}, mongodb.Translate(err)
		case !found:
			return holdfast.Payment{}, holdfast.NotFound(holdfast.CodePaymentNotFound)
		}
		return doc.payment(), nil
	})
}

// PlaceOfPayment is the place of a payment.
func PlaceOfPayment(id ID) mongodb.Place {
	return mongodb.Place{Collection: paymentsName, Filter: mongodb.Is("_id", id)}
}

// Payments lists payments by ID, and the token of the next page.
func (s *Store) Payments(ctx context.Context, f holdfast.PaymentFilter, page holdfast.Page) ([]holdfast.Payment, string, error) {
	var match bson.D
	isIndexed := true
	switch {
	case f.Reference != "":
		match = mongodb.Is("reference", f.Reference)
	case f.BookingID != nil:
		match = mongodb.Is("bookingId", *f.BookingID)
	case f.EventID != nil && f.Status == "":
		match = mongodb.And(mongodb.Is("eventId", *f.EventID), mongodb.In("status", holdfast.PaymentStatuses()))
	case f.EventID != nil:
		match = mongodb.Is("eventId", *f.EventID)
	default:
		isIndexed = f.Status == "" && f.Provider == "" || f.Status == holdfast.PaymentRefundDue
	}
	if f.Reference != "" && f.BookingID != nil {
		match = mongodb.And(match, mongodb.Is("bookingId", *f.BookingID))
	}
	if (f.Reference != "" || f.BookingID != nil) && f.EventID != nil {
		match = mongodb.And(match, mongodb.Is("eventId", *f.EventID))
	}
	if f.Status != "" {
		match = mongodb.And(match, mongodb.Is("status", string(f.Status)))
	}
	if f.Provider != "" {
		match = mongodb.And(match, mongodb.Is("provider", f.Provider))
	}
	docs, next, err := mongodb.List(ctx, s.payments(), mongodb.Filter{Match: match, Indexed: isIndexed}, page,
		func(d paymentDoc) ID { return d.ID })
	return all(docs, paymentDoc.payment), next, err
}

// RefundsDue are the payments that have to go back.
type RefundsDue struct {
	Count  int64
	Oldest time.Time // since when the first of them waits; zero: there is none
}

// RefundsDue counts the payments that are REFUND_DUE, up to limit; 0 is no limit.
func (s *Store) RefundsDue(ctx context.Context, limit int64) (RefundsDue, error) {
	due := mongodb.Is("status", string(holdfast.PaymentRefundDue))
	n, err := s.payments().CountDocuments(ctx, due, upTo(limit))
	if err != nil || n == 0 {
		return RefundsDue{}, mongodb.Translate(err)
	}
	first, _, err := mongodb.First[paymentDoc](ctx, s.payments(), mongo.Pipeline{
		mongodb.Match(due, isDate("updatedAt")), mongodb.Sort("updatedAt", "_id"), mongodb.Limit(1),
	})
	return RefundsDue{Count: n, Oldest: first.UpdatedAt.Time}, mongodb.Translate(err)
}
