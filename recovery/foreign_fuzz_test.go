package recovery_test

import (
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// TestForeignDocuments writes documents with values of every type in every field, beside an
// event with ordinary ones. That event is still sold, swept, recovered and audited; nothing
// panics, no seat of it is lost or sold twice, and a second round reports nothing again.
func TestForeignDocuments(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	random := rand.New(rand.NewPCG(15, 1))
	event := w.Event(1000)
	due, paid := w.Acquire(event, 1, testenv.Past()), w.Book(w.Acquire(event, 2, testenv.Soon()), testenv.Past())
	live := w.Acquire(event, 3, testenv.Soon())
	for name, template := range templates(w.Event(1000)) {
		var docs []any
		for i := range template { // each field with each value
			for _, value := range testenv.Extremes() {
				docs = append(docs, with(random, template, i, value))
			}
		}
		for range 300 { // and several fields at a time
			doc := template
			for range 3 {
				doc = with(random, doc, random.IntN(len(doc)), testenv.Extremes()[random.IntN(len(testenv.Extremes()))])
			}
			docs = append(docs, doc)
		}
		// MongoDB refuses some, such as an _id that is an array or is not unique.
		_, err := w.DB.Collection(name).InsertMany(w.Ctx(), docs, options.InsertMany().SetOrdered(false).SetBypassDocumentValidation(true))
		if n, countErr := w.DB.Collection(name).CountDocuments(w.Ctx(), bson.D{}); countErr != nil || n < int64(len(docs)/2) {
			t.Fatal(name, n, len(docs), err, countErr)
		}
	}
	reported := 0
	for round := range 3 {
		w.SweepLocks()
		w.SweepBookings()
		w.Recover()
		if _, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log)); err != nil {
			t.Error(err)
		}
		if _, err := w.Recovery.Plan(w.Ctx()); err != nil {
			t.Error(err)
		}
		b := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
		if _, err := w.Bookings.ConfirmBooking(w.Ctx(), b.ID, ""); err != nil {
			t.Error(err)
		}
		found := slices.Concat(w.Log.Lines("WARN Set aside"), w.Log.Lines("WARN [RECOVERY]"), w.Log.Lines("ERROR"))
		// Oversold events are told by every pass, until they are paid down.
		lines := len(found) - len(w.Log.Lines("WARN [RECOVERY] Events with seats taken beyond their total"))
		if round == 2 && lines != reported { // the first round may end what the second has to correct
			t.Errorf("%d findings were reported again, the last: %v", lines-reported, found[len(found)-1])
		}
		reported = lines
	}
	if w.Lock(due.ID).Status != holdfast.LockExpired || w.Booking(paid.ID).Status != holdfast.BookingExpired ||
		w.Lock(live.ID).Status != holdfast.LockActive {
		t.Errorf("due %s, paid %s, live %s", w.Lock(due.ID).Status, w.Booking(paid.ID).Status, w.Lock(live.ID).Status)
	}
	if available, oversold := w.Available(event); available != 1000-3-3 || oversold != 0 {
		t.Errorf("%d seats are available, %d oversold; 6 of 1000 are taken", available, oversold)
	}
}

// templates are documents of each collection, due where they can be.
func templates(event holdfast.ID) map[string]bson.D {
	past := time.Now().Add(-time.Hour)
	return map[string]bson.D{
		"events": {{Key: "_id", Value: nil}, {Key: "name", Value: "E"}, {Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: 10},
			{Key: "oversold", Value: 0}, {Key: "eventDate", Value: past}, {Key: "status", Value: "ON_SALE"}, {Key: "maxSeatsPerUser", Value: 5},
			{Key: "internal", Value: bson.D{}}, {Key: "internal.rev", Value: 1}, {Key: "internal.fixes", Value: 1},
			{Key: "internal.sweptRev", Value: 1}, {Key: "rev", Value: int64(1)}, {Key: "fixes", Value: int64(1)}, {Key: "runId", Value: "r"},
			{Key: "createdAt", Value: past}, {Key: "updatedAt", Value: past}},
		"seatlocks": {{Key: "_id", Value: nil}, {Key: "eventId", Value: event}, {Key: "userId", Value: ids.New()}, {Key: "seats", Value: 1},
			{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: past}, {Key: "requestHash", Value: "h"},
			{Key: "bookingId", Value: ids.New()},
			{Key: "internal", Value: bson.D{}}, {Key: "internal.rev", Value: 1}, {Key: "rev", Value: int64(1)},
			{Key: "runId", Value: "r"}, {Key: "endedBy", Value: "x"}, {Key: "createdAt", Value: past},
			{Key: "updatedAt", Value: past}},
		"bookings": {{Key: "_id", Value: nil}, {Key: "userId", Value: ids.New()}, {Key: "eventId", Value: event},
			{Key: "seatLockId", Value: ids.New()},
			{Key: "seats", Value: 1}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "paymentExpiresAt", Value: past},
			{Key: "paymentReference", Value: "p"}, {Key: "internal", Value: bson.D{{Key: "rev", Value: 1}}},
			{Key: "createdAt", Value: past}, {Key: "updatedAt", Value: past}},
	}
}

// with is a copy of the document with another value of a field, and an _id of its own.
func with(random *rand.Rand, doc bson.D, field int, value any) bson.D {
	changed := bson.D{}
	for i, e := range doc {
		switch {
		case i == field:
			e.Value = value
		case e.Key == "_id" && e.Value == nil:
			e.Value = ids.New()
		case e.Key == "seats" && random.IntN(2) == 0:
			e.Value = 1.0 // a whole number of another type
		case e.Value == "PAYMENT_PENDING" && random.IntN(3) == 0:
			e.Value = "INITIATED"
		}
		if e.Value != testenv.Missing {
			changed = append(changed, e)
		}
	}
	return nested(changed)
}

// nested moves the fields whose names have the prefix of a sub-document into it. If there is
// no such sub-document, they are dropped.
func nested(doc bson.D) bson.D {
	flat := bson.D{}
	for _, e := range doc {
		parent, child, isNested := strings.Cut(e.Key, ".")
		if !isNested {
			flat = append(flat, e)
			continue
		}
		for i := range flat {
			if sub, isDoc := flat[i].Value.(bson.D); isDoc && flat[i].Key == parent {
				flat[i].Value = append(slices.Clone(sub), bson.E{Key: child, Value: e.Value})
			}
		}
	}
	return flat
}
