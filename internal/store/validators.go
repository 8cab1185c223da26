package store

import (
	"math"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
)

// This file has the schemas of this package's collections. MongoDB's validators refuse to write other documents, and
// reads leave out documents that break the schema nevertheless.

var (
	countOfSeats = mongodb.WholeIn(1, holdfast.MaxSeats)
	countOrNone  = mongodb.WholeIn(0, mongodb.MaxWhole)
	amountRule   = mongodb.WholeIn(0, holdfast.MaxAmount)
	metadataRule = mongodb.TextsByNameField(shopMetadata)
)

// These are the schemas as filters, for validators and for reads of many documents.
var (
	eventSchema, lockSchema      = eventRules.Filter(), lockRules.Filter()
	bookingSchema, paymentSchema = bookingRules.Filter(), paymentRules.Filter()
)

var eventRules = mongodb.Schema{
	Required: []string{"_id", "totalSeats", "availableSeats"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.TextField("name"), countOrNone.Field("totalSeats"), mongodb.WholeField("availableSeats"),
		countOrNone.Field("oversold"), mongodb.DateField("eventDate"), mongodb.OneOf(holdfast.EventStatuses()...).Field("status"),
		countOrNone.Field("maxSeatsPerUser"), mongodb.ObjectIDField(planField), countOrNone.Field("blockedSeats"),
		mongodb.DateField(saleStart), mongodb.DateField(saleEnd),
		mongodb.TextField("latePayments"), countOrNone.Field("latePaymentSeconds"),
		mongodb.TextField("orphanRule"), mongodb.TextField("accessiblePolicy"),
		mongodb.TextField("waitlist"), countOrNone.Field("waitlistOfferSeconds"), mongodb.TextField("waitlistFit"),
		mongodb.ListOf(mongodb.DocumentOf(mongodb.TextField("key"), countOfSeats.Field("capacity"))).Field(sectionsField),
		mongodb.DateField("createdAt"), mongodb.DateField("updatedAt"), mongodb.TextField(shopReference), metadataRule,
		mongodb.DocumentOf(
			mongodb.WholeField("rev"), mongodb.WholeField("fixes"), mongodb.WholeField("fence"), mongodb.WholeField("sweptRev"),
			mongodb.DateField("heldAt"), mongodb.DateField("archivedAt"),
			mongodb.ListOf(mongodb.WholeIn(math.MinInt32, math.MaxInt32)).Field("writers"),
			mongodb.TextField("runId"), listRule.Field("list"),
		).Field(internalName),
	},
}

// possibleCounter applies to writes only: a stored counter that is out of its bounds is corrected.
var possibleCounter = bson.D{{Key: "$expr", Value: bson.D{{Key: "$and", Value: bson.A{
	bson.D{{Key: "$gte", Value: bson.A{"$availableSeats", 0}}},
	bson.D{{Key: "$lte", Value: bson.A{"$availableSeats", "$totalSeats"}}},
}}}}}

var lockRules = mongodb.Schema{
	Required: []string{"_id", "eventId", "seats", "status"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.ObjectIDField("eventId"), mongodb.ObjectIDField("userId"), mongodb.TextField("holder"),
		countOfSeats.Field("seats"), mongodb.OneOf(append(holdfast.LockStatuses(), holdfast.LockBlocked)...).Field("status"),
		mongodb.DateField("expiresAt"), mongodb.TextField("idempotencyKey"), mongodb.TextField("requestHash"),
		mongodb.ObjectIDField("bookingId"), mongodb.DateField("createdAt"), mongodb.DateField("updatedAt"),
		mongodb.TextsField(seatIDsField), mongodb.TextField(sectionField), mongodb.TextField("endedBy"), mongodb.TextField(lockRunID),
		mongodb.ObjectIDField(entryField),
		mongodb.TextField(shopReference), metadataRule,
		mongodb.DocumentOf(mongodb.WholeField("rev"), mongodb.BoolField("block")).Field(internalName),
	},
	Also: []mongodb.Rule{mongodb.AnyOf(
		mongodb.Requires("expiresAt"), mongodb.IfPresent(mongodb.OneOf(holdfast.LockBlocked).Field("status")),
	)},
	Filters: []bson.D{asManySeats},
	Check:   hasAsManySeats,
	Checked: seatIDsField,
}

var bookingRules = mongodb.Schema{
	Required: []string{"_id", "seatLockId", "status"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.ObjectIDField("userId"), mongodb.ObjectIDField("eventId"), mongodb.TextField("holder"),
		mongodb.ObjectIDField(sourceUser), mongodb.ObjectIDField(sourceEvent), mongodb.ObjectIDField("seatLockId"),
		mongodb.AnyOf(countOfSeats, mongodb.TextsRule).Field("seats"), mongodb.OneOf(holdfast.BookingStatuses()...).Field("status"),
		mongodb.DateField("paymentExpiresAt"), mongodb.TextField(referenceField), mongodb.DateField("createdAt"), mongodb.DateField("updatedAt"),
		mongodb.TextsField(seatIDsField), mongodb.TextField(sectionField), mongodb.BoolField("late"),
		mongodb.TextField(shopReference), metadataRule,
		mongodb.DocumentOf(mongodb.WholeField("rev"), mongodb.TextField("runId"),
			mongodb.ListOf(mongodb.DocumentOf(mongodb.ObjectIDField("id"), mongodb.OneOf(holdfast.PaymentStatuses()...).Field("status"),
				amountRule.Field("amount"))).Field("payments"),
			mongodb.ListOf(mongodb.DocumentOf(mongodb.ObjectIDField("id"), mongodb.TextField("key"), mongodb.TextField("hash"),
				mongodb.DateField("at"))).Field("done"),
		).Field(internalName),
	},
	Also: []mongodb.Rule{mongodb.AnyOf(
		mongodb.Requires("paymentExpiresAt"), mongodb.IfPresent(mongodb.OneOf(
			holdfast.BookingInitiated, holdfast.BookingConfirmed, holdfast.BookingExpired, holdfast.BookingCancelled).Field("status")),
	)},
	Filters: []bson.D{asManySeats},
	Check:   hasAsManySeats,
	Checked: seatIDsField,
}

var paymentRules = mongodb.Schema{
	Required: []string{"_id", "reference", "part", "bookingId", "status"},
	Fields: []mongodb.Field{
		mongodb.ObjectIDField("_id"), mongodb.TextField("provider"), mongodb.TextField("reference"), mongodb.TextField("part"),
		mongodb.ObjectIDField("bookingId"), mongodb.ObjectIDField("eventId"), mongodb.ObjectIDField("userId"), mongodb.TextField("holder"),
		amountRule.Field("amount"), mongodb.TextField("currency"),
		mongodb.OneOf(holdfast.PaymentStatuses()...).Field("status"),
		mongodb.TextField("reason"), mongodb.TextField("refundReference"), mongodb.DateField("createdAt"), mongodb.DateField("updatedAt"),
		mongodb.ListOf(mongodb.DocumentOf(mongodb.ObjectIDField("id"), amountRule.Field("amount"), mongodb.TextField("reason"),
			mongodb.OneOf(holdfast.RefundStatuses()...).Field("status"), mongodb.TextField("refundReference"),
			mongodb.DateField("createdAt"), mongodb.TextField("key"))).Field(refundsField),
		mongodb.DocumentOf(mongodb.WholeField("rev"), mongodb.TextField("code"), mongodb.TextField("runId")).Field(internalName),
	},
}

// withoutMetadata is a projection of the fields that a schema has. It leaves out metadata, which may be a hundred times as
// large as the rest of a document; only metadata that breaks the schema stays, so that the document is read as corrupt.
func withoutMetadata(schema mongodb.Schema) bson.D {
	metadata := "$" + shopMetadata
	isDocument := bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$type", Value: metadata}}, "object"}}}
	isText := bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$type", Value: "$$this.v"}}, "string"}}}
	values := bson.D{{Key: "$objectToArray", Value: bson.D{{Key: "$cond", Value: bson.A{isDocument, metadata, bson.D{}}}}}}
	hasTexts := bson.D{{Key: "$allElementsTrue", Value: bson.A{
		bson.D{{Key: "$map", Value: bson.D{{Key: "input", Value: values}, {Key: "in", Value: isText}}}},
	}}}
	isValid := bson.D{{Key: "$and", Value: bson.A{isDocument, hasTexts}}}
	fields := bson.D{}
	for _, f := range schema.Fields {
		if f.Name != shopMetadata {
			fields = append(fields, bson.E{Key: f.Name, Value: 1})
		}
	}
	return append(fields, bson.E{Key: shopMetadata, Value: bson.D{{Key: "$cond", Value: bson.A{isValid, "$$REMOVE", metadata}}}})
}

// project is the stage of a projection.
func project(fields bson.D) bson.D { return bson.D{{Key: "$project", Value: fields}} }

// hasAsManySeats is asManySeats in Go.
func hasAsManySeats(doc bson.Raw) bool {
	named, isList := doc.Lookup(seatIDsField).ArrayOK()
	if !isList {
		return true
	}
	values, err := named.Values()
	seats, isWhole := mongodb.WholeOf(doc.Lookup("seats"))
	return err == nil && isWhole && int64(len(values)) == seats
}

// asManySeats requires that a document which names seats names as many as it counts.
var asManySeats = bson.D{{Key: "$expr", Value: bson.D{{Key: "$cond", Value: bson.A{
	bson.D{{Key: "$isArray", Value: bson.A{"$" + seatIDsField}}},
	bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$size", Value: "$" + seatIDsField}}, "$seats"}}}, true,
}}}}}
