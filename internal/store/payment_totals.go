package store

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// PaymentTotal sums up payments of an event that have the same status, reason and currency.
type PaymentTotal struct {
	EventID  ID // zero: other software has left none
	Status   holdfast.PaymentStatus
	Reason   holdfast.PaymentReason
	Currency string
	Payments int64
	Amount   *int64 // of those whose amount is known; nil: of none, or too large
}

// PaymentTotals sums up payments by event, status, reason and currency, in this order. It reads every payment that the
// filter selects, so it is for operators.
func (s *Store) PaymentTotals(ctx context.Context, f holdfast.PaymentFilter) ([]PaymentTotal, error) {
	match := bson.D{}
	for _, id := range []struct {
		field string
		value *ID
	}{{"eventId", f.EventID}, {"bookingId", f.BookingID}} {
		if id.value != nil {
			match = mongodb.And(match, mongodb.Is(id.field, *id.value))
		}
	}
	for _, text := range []struct{ field, value string }{
		{"status", string(f.Status)}, {"reference", f.Reference}, {"provider", f.Provider},
	} {
		if text.value != "" {
			match = mongodb.And(match, mongodb.Is(text.field, text.value))
		}
	}
	by := bson.D{
		{Key: "eventId", Value: "$eventId"}, {Key: "status", Value: "$status"}, {Key: "reason", Value: "$reason"},
		{Key: "currency", Value: "$currency"},
	}
	docs, err := mongodb.All[struct {
		By struct {
			EventID  bson.RawValue `bson:"eventId"`
			Status   mongodb.Text  `bson:"status"`
			Reason   mongodb.Text  `bson:"reason"`
			Currency mongodb.Text  `bson:"currency"`
		} `bson:"_id"`
		Payments int64         `bson:"payments"`
		Told     int64         `bson:"told"`
		Amount   mongodb.Whole `bson:"amount"`
	}](ctx, s.payments(), mongo.Pipeline{
		mongodb.Match(match),
		mongodb.Group(by, bson.E{Key: "payments", Value: mongodb.Sum(int64(1))}, bson.E{Key: "amount", Value: mongodb.Sum("$amount")},
			bson.E{Key: "told", Value: mongodb.Sum(bson.D{{Key: "$cond", Value: bson.A{
				bson.D{{Key: "$isNumber", Value: "$amount"}}, int64(1), int64(0),
			}}})}),
		mongodb.Sort("_id"),
	})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	totals := make([]PaymentTotal, len(docs))
	for i, d := range docs {
		totals[i] = PaymentTotal{
			Status: holdfast.PaymentStatus(d.By.Status), Reason: holdfast.PaymentReason(d.By.Reason), Currency: string(d.By.Currency),
			Payments: d.Payments,
		}
		if id, ok := d.By.EventID.ObjectIDOK(); ok {
			totals[i].EventID = ID(id)
		}
		if d.Told > 0 {
			totals[i].Amount = d.Amount.Pointer()
		}
	}
	return totals, nil
}

// OldestRefundsDue lists the payments that have to go back, those first that have waited longest; at most limit.
func (s *Store) OldestRefundsDue(ctx context.Context, limit int) ([]holdfast.Payment, error) {
	docs, err := mongodb.All[paymentDoc](ctx, s.payments(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("status", string(holdfast.PaymentRefundDue))), mongodb.Sort("updatedAt", "_id"), mongodb.Limit(limit),
	})
	return all(docs, paymentDoc.payment), mongodb.Translate(err)
}
