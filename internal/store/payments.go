package store

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	paymentsName = "payments"

	listedPayments = internalName + ".payments" // of bookings
	doneRequests   = internalName + ".done"     // of bookings
	paymentCode    = internalName + ".code"     // of payments: the code of the refusal
)

// byCharge makes payments unique by reference and part. So payments can be sharded by the reference only. They need
// no other shard key, because they are read by key, and a booking has one payment.
var byCharge = mongodb.Index{Keys: mongodb.Keys("reference", "part"), Unique: true}

// payments returns the collection of payments with its indexes and validator.
func payments() mongodb.Collection {
	return mongodb.Collection{
		Name:   paymentsName,
		Schema: &paymentRules,
		Indexes: []mongodb.Index{
			byCharge,
			// This index serves lists.
			{Keys: mongodb.Keys("bookingId", "_id")},
			{Keys: mongodb.Keys("eventId", "status", "_id")},
			// This index finds the payments of a holder that is erased.
			{Keys: mongodb.Keys(holderField, "_id"), Partial: bson.D{{Key: holderField, Value: bson.D{{Key: "$exists", Value: true}}}}},
			// These indexes serve the refunds that are due, by ID and oldest first.
			{Keys: mongodb.Keys("status", "_id"), Partial: isRefundDue},
			{Keys: mongodb.Keys("updatedAt", "_id"), Partial: isRefundDue},
			// These indexes serve the parts that are due.
			{Keys: mongodb.Keys(partStatus, "_id"), Partial: hasDuePart},
			{Keys: mongodb.Keys("status", "updatedAt", "_id"), Partial: hasDuePart},
		},
	}
}

// The parts of a payment.
const (
	refundsField = "refunds"
	partStatus   = refundsField + ".status"
)

var (
	isRefundDue = mongodb.Is("status", string(holdfast.PaymentRefundDue))
	hasDuePart  = mongodb.Is(partStatus, string(holdfast.RefundDue))
	// refundDue matches payments that are REFUND_DUE, or have a part that is DUE.
	refundDue = mongodb.Is("$or", bson.A{isRefundDue, hasDuePart})
)

func (s *Store) payments() *mongo.Collection { return s.db.Collection(paymentsName) }

// paymentDoc decodes a payment.
type paymentDoc struct {
	holdfast.Payment `bson:",inline"`

	Internal struct {
		Rev  int64         `bson:"rev"`
		Code holdfast.Code `bson:"code"`
	} `bson:"internal"`
	Now mongodb.DatabaseNow `bson:"databaseNow"`
}

func (d paymentDoc) payment() holdfast.Payment {
	d.Code, d.CreatedAt, d.Revision = d.Internal.Code, createdAt(d.CreatedAt, d.ID), d.Internal.Rev
	return d.Payment
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
		{holderField, p.Holder}, {"currency", p.Currency}, {"reason", string(p.Reason)}, {"refundReference", p.RefundReference},
	} {
		if text.value != "" {
			doc = append(doc, bson.E{Key: text.field, Value: text.value})
		}
	}
	return doc
}

// writePayments inserts the new payments of the plans and changes others. If a reference and part are in use, the
// plan is stale.
func (s *Store) writePayments(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var docs, statements []bson.D
	for _, p := range plans {
		for _, payment := range p.NewPayments {
			docs = append(docs, newPaymentDoc(payment))
		}
		for _, w := range p.Payments {
			guard := mongodb.And(mongodb.Is("_id", w.ID), mongodb.Is("status", string(w.From)), numberOrAbsent(rev, w.After.Revision-1))
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
	if len(after.Refunds) > 0 {
		set = append(set, bson.E{Key: refundsField, Value: after.Refunds})
	}
	if w.RunID != "" {
		set = append(set, bson.E{Key: runID, Value: w.RunID})
	}
	return bson.D{raiseRevision, {Key: "$set", Value: set}}
}

// paymentParts returns the reads of payments.
func paymentParts(n inventory.Needs) (list []part) {
	var either bson.A
	if len(n.Payments) > 0 {
		either = append(either, mongodb.In("_id", n.Payments))
	}
	for _, key := range n.Charged {
		either = append(either, mongodb.And(mongodb.Is("reference", key.Reference), mongodb.Is("part", key.Part)))
	}
	if len(either) > 0 {
		list = append(list, part{"payments", paymentsName, []bson.D{mongodb.Match(mongodb.Is("$or", either))}, addPayment})
	}
	return list
}

// addPayment adds a payment. The reference and the part of a corrupt one are in use too.
func addPayment(l *loaded, doc bson.Raw) error {
	if paymentRules.Holds(doc) {
		return to(func(l *loaded) *[]paymentDoc { return &l.Payments }, nil)(l, doc)
	}
	l.addCorrupt(doc)
	reference, _ := doc.Lookup("reference").StringValueOK()
	partOf, _ := doc.Lookup("part").StringValueOK()
	if l.CorruptCharges == nil {
		l.CorruptCharges = map[inventory.PaymentKey]ID{}
	}
	l.CorruptCharges[inventory.PaymentKey{Reference: reference, Part: partOf}] = mongodb.IDOf(doc, "_id")
	return nil
}

// fillPayments fills in the payments.
func (l loaded) fillPayments(s *inventory.State, n inventory.Needs) {
	if !n.NeedsPayments() {
		return
	}
	s.Payments, s.Charged = make(map[ID]*holdfast.Payment, len(l.Payments)), make(map[inventory.PaymentKey]ID, len(n.Charged))
	for _, id := range n.Payments {
		s.Payments[id] = nil
	}
	for _, key := range n.Charged {
		s.Charged[key] = ID{}
	}
	for _, d := range l.Payments {
		p := d.payment()
		s.Payments[p.ID], s.Charged[inventory.PaymentKey{Reference: p.Reference, Part: p.Part}] = &p, p.ID
	}
	maps.Copy(s.Charged, l.CorruptCharges)
}

// Payment returns a payment in its present state, or CodePaymentNotFound.
func (s *Store) Payment(ctx context.Context, id ID) (holdfast.Payment, error) {
	return current(ctx, s, holdfast.CodePaymentNotFound, func(ctx context.Context) (paymentDoc, bool, error) {
		return firstValid[paymentDoc](ctx, s.payments(), &paymentRules, mongodb.Is("_id", id))
	}, paymentDoc.payment)
}

// Payments lists payments by ID, and returns the token of the next page.
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
		isIndexed = f.Status == "" && f.Provider == "" || f.Status == holdfast.PaymentRefundDue || f.RefundDue
	}
	if f.RefundDue {
		match = mongodb.And(match, refundDue)
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
	filter := mongodb.Filter{Match: match, Indexed: isIndexed, Schema: paymentSchema}
	docs, next, err := mongodb.List[paymentDoc](ctx, s.payments(), filter, page)
	return all(docs, paymentDoc.payment), next, err
}

// RefundsDue counts the payments that have to be refunded, or of which a part has to be.
type RefundsDue struct {
	Count  int64
	Oldest time.Time // since when the first of them waits; zero: there is none
}

// RefundsDue counts the payments that are REFUND_DUE or have a part that is DUE, up to limit. A limit of 0 means no limit.
func (s *Store) RefundsDue(ctx context.Context, limit int64) (RefundsDue, error) {
	n, err := s.payments().CountDocuments(ctx, refundDue, upTo(limit))
	if err != nil || n == 0 {
		return RefundsDue{}, mongodb.Translate(err)
	}
	first, err := s.OldestRefundsDue(ctx, 1)
	if err != nil || len(first) == 0 {
		return RefundsDue{Count: n}, err
	}
	return RefundsDue{Count: n, Oldest: first[0].UpdatedAt}, nil
}

// OldestRefundsDue lists up to limit payments that have to be refunded, or of which a part has to be, longest waiting first.
// A cancelled event may leave many of them, so each of two reads has the order of an index.
func (s *Store) OldestRefundsDue(ctx context.Context, limit int) ([]holdfast.Payment, error) {
	var docs []paymentDoc
	for _, due := range []bson.D{isRefundDue, mongodb.And(mongodb.Is("status", string(holdfast.PaymentAccepted)), hasDuePart)} {
		found, err := mongodb.All[paymentDoc](ctx, s.payments(), mongo.Pipeline{
			mongodb.Match(due, paymentSchema), mongodb.Sort("updatedAt", "_id"), mongodb.Limit(limit),
		})
		if err != nil {
			return nil, mongodb.Translate(err)
		}
		docs = append(docs, found...)
	}
	slices.SortFunc(docs, func(a, b paymentDoc) int {
		return cmp.Or(a.UpdatedAt.Compare(b.UpdatedAt), bytes.Compare(a.ID[:], b.ID[:]))
	})
	return all(docs[:min(len(docs), limit)], paymentDoc.payment), nil
}
