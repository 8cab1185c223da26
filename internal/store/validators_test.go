package store_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func with(doc bson.D, field string, value any) bson.D {
	changed := bson.D{}
	for _, e := range doc {
		if e.Key != field {
			changed = append(changed, e)
		}
	}
	if value == nil {
		return changed
	}
	return append(changed, bson.E{Key: field, Value: value})
}

// MongoDB accepts every document that matches the schema, and refuses all others.
func TestValidators(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	date := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	event := bson.D{{Key: "totalSeats", Value: int32(10)}, {Key: "availableSeats", Value: 10.0}}
	lock := bson.D{{Key: "eventId", Value: mongodb.NewID()}, {Key: "seats", Value: int64(2)}, {Key: "status", Value: "ACTIVE"},
		{Key: "expiresAt", Value: date}}
	booking := bson.D{field("seatLockId", mongodb.NewID()), field("status", "PAYMENT_PENDING"), field("paymentExpiresAt", date)}
	entry := bson.D{field("eventId", mongodb.NewID()), field("seats", 50), field("status", "WAITING")}
	foreign := append(bson.D{field("user", mongodb.NewID()), field("event", mongodb.NewID()), field("seats", bson.A{"2"})},
		booking...)
	null := bson.Null{}
	tooEarly, tooLate := bson.DateTime(-62_135_596_800_001), bson.DateTime(253_402_300_800_000)
	for _, c := range []struct {
		collection string
		doc        bson.D
		allowed    bool
	}{
		{"events", event, true}, {"events", with(event, "unknown", "x"), true}, {"events", with(event, "status", "CLOSED"), true},
		{"events", with(event, "eventDate", date), true}, {"events", with(event, "internal", bson.D{{Key: "rev", Value: 2.0}}), true},
		{"events", with(event, "totalSeats", nil), false}, {"events", with(event, "totalSeats", "10"), false},
		{"events", with(event, "availableSeats", 11), false}, {"events", with(event, "availableSeats", -1), false},
		{"events", with(event, "availableSeats", 1.5), false}, {"events", with(event, "availableSeats", null), false},
		{"events", with(event, "status", "OPEN"), false}, {"events", with(event, "internal", "x"), false},
		{"events", with(event, "eventDate", tooEarly), false}, {"events", with(event, "eventDate", tooLate), false},
		{"events", with(event, "oversold", -1), false}, {"events", with(event, "_id", "text"), false},
		{"events", with(event, "internal", bson.D{{Key: "rev", Value: 1.5}}), false},
		{"seatlocks", lock, true}, {"seatlocks", with(lock, "seats", 2.0), true}, {"seatlocks", with(lock, "seatIds", bson.A{"A", "B"}), true},
		{"seatlocks", with(with(lock, "status", "BLOCKED"), "expiresAt", nil), true}, {"seatlocks", with(lock, "seats", 10_000_000), true},
		{"seatlocks", with(lock, "seatIds", bson.A{"A"}), false}, {"seatlocks", with(lock, "seatIds", bson.A{"A", 2}), false},
		{"seatlocks", with(lock, "seatIds", "A"), false}, {"seatlocks", with(lock, "expiresAt", nil), false},
		{"seatlocks", with(lock, "seats", 0), false}, {"seatlocks", with(lock, "seats", 10_000_001), false},
		{"seatlocks", with(lock, "seats", 1.5), false}, {"seatlocks", with(lock, "seats", "2"), false},
		{"seatlocks", with(lock, "eventId", "x"), false}, {"seatlocks", with(lock, "status", "HELD"), false},
		{"seatlocks", with(lock, "userId", null), false}, {"seatlocks", with(lock, "expiresAt", tooLate), false},
		{"bookings", booking, true}, {"bookings", foreign, true}, {"bookings", with(booking, "seats", 2), true},
		{"bookings", with(with(booking, "status", "INITIATED"), "paymentExpiresAt", nil), true},
		{"bookings", with(booking, "paymentExpiresAt", nil), false}, {"bookings", with(booking, "paymentExpiresAt", "soon"), false},
		{"bookings", with(booking, "seats", bson.A{2}), false}, {"bookings", with(booking, "seats", 0), false},
		{"bookings", with(booking, "seats", 1.5), false},
		{"events", with(event, "reference", ""), true}, {"events", with(event, "metadata", bson.D{field("a.b", "x"), field("$c", "")}), true},
		{"events", with(event, "reference", 5), false}, {"events", with(event, "metadata", bson.D{field("a", "x"), field("b", 5)}), false},
		{"seatlocks", with(lock, "reference", "x"), true}, {"seatlocks", with(lock, "metadata", bson.D{}), true},
		{"seatlocks", with(lock, "reference", null), false}, {"seatlocks", with(lock, "metadata", "x"), false},
		{"bookings", with(booking, "reference", "x"), true}, {"bookings", with(booking, "metadata", bson.D{field("a", "x")}), true},
		{"bookings", with(booking, "reference", bson.A{"x"}), false}, {"bookings", with(booking, "metadata", bson.A{bson.D{}}), false},
		{"bookings", with(booking, "metadata", bson.D{field("a", null)}), false},
		{"bookings", with(booking, "metadata", bson.D{field("a", bson.D{})}), false},
		{"bookings", with(booking, "seatLockId", "x"), false}, {"bookings", with(booking, "status", "PAID"), false},
		{"events", with(event, "waitlist", "ajar"), true}, {"events", with(event, "waitlist", 1), false},
		{"events", with(event, "waitlistOfferSeconds", 0.5), false}, {"events", with(event, "internal", bson.D{field("list", "x")}), false},
		{"events", with(event, "internal", bson.D{field("list", bson.D{field("waiting", -1)})}), false},
		{"seatlocks", with(lock, "waitlistEntryId", mongodb.NewID()), true}, {"seatlocks", with(lock, "waitlistEntryId", "x"), false},
		{"waitlist", entry, true}, {"waitlist", with(entry, "seats", 51), false}, {"waitlist", with(entry, "status", "ACTIVE"), false},
		{"waitlist", with(entry, "eventId", nil), false}, {"waitlist", with(entry, "lockId", null), false},
		{"waitlist", with(entry, "internal", bson.D{field("wish", 2)}), false},
	} {
		if _, err := w.DB.Collection(c.collection).InsertOne(t.Context(), c.doc); (err == nil) != c.allowed {
			t.Errorf("%s %v: %v; allowed: %t", c.collection, c.doc, err, c.allowed)
		}
	}
}

// variants are the document with each of its fields, and each field of its documents and lists, replaced by extreme values.
func variants(doc bson.D) (all []bson.D) {
	for i, e := range doc {
		values := testenv.Extremes()
		switch inner := e.Value.(type) {
		case bson.D:
			for _, v := range variants(inner) {
				values = append(values, v)
			}
		case bson.A:
			for _, v := range testenv.Extremes() {
				if v != testenv.Missing {
					values = append(values, bson.A{inner[0], v})
				}
			}
			if first, ok := inner[0].(bson.D); ok {
				for _, v := range variants(first) {
					values = append(values, bson.A{first, v})
				}
			}
		}
		for _, value := range values {
			all = append(all, testenv.With(doc, i, value))
		}
	}
	return all
}

// A document that is read by its key is checked in Go: by the same schema, with the same result.
func TestSchemas_HoldInGoAsInMongoDB(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	date := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	checked, decode := map[bool]int{}, store.Decode()
	for collection, doc := range map[string]bson.D{
		"events": {field("totalSeats", 10), field("availableSeats", 8), field("oversold", 0), field("eventDate", date), field("status", "CLOSED"),
			field("maxSeatsPerUser", 2), field("seatingPlanId", mongodb.NewID()), field("name", "E"), field("internal", bson.D{
				field("rev", 1), field("list", bson.D{field("seq", 1), field("epoch", 1), field("closing", true), field("waiting", 1),
					field("holds", true), field("checkAt", date)})}),
			field("reference", "r"), field("metadata", bson.D{field("k", "v")}), field("waitlist", "OPEN"), field("waitlistOfferSeconds", 60),
			field("waitlistFit", "STRICT")},
		"seatlocks": {field("eventId", mongodb.NewID()), field("userId", mongodb.NewID()), field("seats", 1), field("status", "ACTIVE"),
			field("expiresAt", date), field("seatIds", bson.A{"a"}), field("section", ""), field("idempotencyKey", "k"),
			field("reference", ""), field("metadata", bson.D{}), field("waitlistEntryId", mongodb.NewID())},
		"bookings": {field("seatLockId", mongodb.NewID()), field("event", mongodb.NewID()), field("status", "PAYMENT_PENDING"),
			field("seats", 2), field("paymentExpiresAt", date), field("late", true), field("internal", bson.D{field("rev", 1),
				field("payments", bson.A{bson.D{field("id", mongodb.NewID()), field("status", "ACCEPTED"), field("amount", 5)}}),
				field("done", bson.A{bson.D{field("id", mongodb.NewID()), field("key", "k"), field("hash", "h"), field("at", date)}})})},
		"payments": {field("reference", "r"), field("part", ""), field("bookingId", mongodb.NewID()), field("status", "ACCEPTED"),
			field("amount", 5), field("refunds", bson.A{bson.D{
				field("id", mongodb.NewID()), field("amount", 5), field("reason", "other"), field("status", "DUE"), field("refundReference", "r"),
				field("createdAt", date), field("key", "k"),
			}})},
		"waitlist": {field("eventId", mongodb.NewID()), field("userId", mongodb.NewID()), field("holder", "h"), field("seats", 2),
			field("categories", bson.A{"c"}), field("section", "s"), field("accessibleSeats", 1), field("adjacent", "REQUIRED"),
			field("status", "OFFERED"), field("lockId", mongodb.NewID()), field("createdAt", date), field("updatedAt", date),
			field("reference", ""), field("metadata", bson.D{}), field("internal", bson.D{field("rev", 1), field("seq", 1), field("epoch", 1),
				field("wish", "02|s|1|REQUIRED|c")})},
	} {
		schema, copies := store.Schemas()[collection], w.DB.Collection("copies of "+collection) // without indexes, which refuse lists
		holds, docs := map[string]bool{}, []any{}
		for _, changed := range variants(doc) {
			copied := append(mongodb.Is("_id", mongodb.NewID()), changed...)
			raw, err := bson.Marshal(copied)
			if err != nil {
				t.Fatal(err)
			}
			id := bson.Raw(raw).Lookup("_id").String()
			if holds[id] = schema.Holds(raw); holds[id] {
				if err := decode[collection](raw); err != nil {
					t.Errorf("%s %v can't be read: %v", collection, copied, err)
				}
			}
			docs = append(docs, copied)
		}
		if _, err := copies.InsertMany(w.Ctx(), docs); err != nil {
			t.Fatal(err)
		}
		found, err := mongodb.All[bson.Raw](w.Ctx(), copies, mongo.Pipeline{mongodb.Match(schema.Filter())})
		if err != nil {
			t.Fatal(err)
		}
		matches := map[string]bool{}
		for _, raw := range found {
			matches[raw.Lookup("_id").String()] = true
		}
		for _, d := range docs {
			raw, _ := bson.Marshal(d)
			id := bson.Raw(raw).Lookup("_id").String()
			if checked[holds[id]]++; holds[id] != matches[id] {
				t.Errorf("%s %v: %t in Go, %t in MongoDB", collection, d, holds[id], matches[id])
			}
		}
	}
	if checked[true] == 0 || checked[false] == 0 {
		t.Errorf("checked %v", checked)
	}
}
