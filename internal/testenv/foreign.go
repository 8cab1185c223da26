package testenv

import (
	"cmp"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/clock"
	"github.com/holdfast-dev/holdfast/internal/ids"
)

// seedVariable is the seed of tests with random documents; 1 if it is not set.
const seedVariable = "HOLDFAST_TEST_SEED"

// Random is a source for a test's random documents. It logs its seed.
func Random(t testing.TB) *rand.Rand {
	t.Helper()
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv(seedVariable), "1"), 10, 64)
	if err != nil {
		t.Fatal(seedVariable, err)
	}
	t.Logf("%s=%d", seedVariable, seed)
	return rand.New(rand.NewPCG(15, seed)) //nolint:gosec // G404: a test repeats it
}

// Foreign are documents of other software, by collection.
type Foreign struct {
	random *rand.Rand
	past   time.Time
	events []holdfast.ID // that the locks and bookings name
	user   holdfast.ID
	docs   map[string][]bson.D
}

// InsertForeign inserts documents of events, locks and bookings, like other software. Each field has
// each of Extremes in one of them, and several more documents of each collection have three such
// fields. They are due where they can be. Beside them are ordinary documents: each event has locks,
// each booking names a lock, and some locks have a booking. Locks and bookings name some events and
// the user.
func (e *Env) InsertForeign(random *rand.Rand, events []holdfast.ID, user holdfast.ID, several int) *Foreign {
	e.T.Helper()
	f := &Foreign{random: random, past: clock.System().Add(-time.Hour), events: events, user: user, docs: map[string][]bson.D{}}
	for name, template := range map[string]func() bson.D{"events": f.event, "seatlocks": f.lock, "bookings": f.booking} {
		for i := range template() {
			for _, value := range Extremes() {
				f.add(name, f.vary(With(template(), i, value)))
			}
		}
		for range several {
			doc := template()
			for range 3 {
				if i := random.IntN(len(doc)); len(doc) > 1 {
					doc = With(doc, i, Extremes()[random.IntN(len(Extremes()))])
				}
			}
			f.add(name, f.vary(doc))
		}
	}
	for name, docs := range f.docs {
		all := make([]any, 0, len(docs))
		for _, doc := range docs {
			all = append(all, nested(doc))
		}
		// MongoDB refuses some, such as an _id that is an array or is not unique.
		_, err := e.DB.Collection(name).InsertMany(e.Ctx(), all, options.InsertMany().SetOrdered(false).SetBypassDocumentValidation(true))
		if n, countErr := e.DB.Collection(name).CountDocuments(e.Ctx(), bson.D{}); countErr != nil || n < int64(len(docs)*4/5) {
			e.T.Fatal(name, n, len(docs), err, countErr)
		}
	}
	return f
}

// IDs are the documents of a collection that have an ID of ours, in random order.
func (f *Foreign) IDs(collection string) (named []holdfast.ID) {
	for _, doc := range f.docs[collection] {
		if id := idOf(doc); !id.IsZero() {
			named = append(named, id)
		}
	}
	f.random.Shuffle(len(named), func(i, j int) { named[i], named[j] = named[j], named[i] })
	return named
}

func idOf(doc bson.D) holdfast.ID {
	id, _ := valueOf(doc, "_id").(holdfast.ID)
	return id
}

func (f *Foreign) add(collection string, doc bson.D) {
	f.docs[collection] = append(f.docs[collection], doc)
	switch id := idOf(doc); {
	case id.IsZero():
	case collection == "events":
		sold := f.plainLock(id, 1, "CONSUMED", time.Hour)
		f.plainLock(id, 3, "ACTIVE", time.Hour)
		if f.random.IntN(3) == 0 { // otherwise the counter is wrong
			f.plainLock(id, 2, "ACTIVE", -time.Hour)
		}
		f.plainBooking(sold, "CONFIRMED")
	case collection == "seatlocks" && f.random.IntN(3) == 0:
		f.plainBooking(id, []string{"INITIATED", "PAYMENT_PENDING", "CONFIRMED"}[f.random.IntN(3)])
	}
}

func (f *Foreign) plainLock(event holdfast.ID, seats int, status string, ahead time.Duration) holdfast.ID {
	id := ids.New()
	f.docs["seatlocks"] = append(f.docs["seatlocks"], bson.D{{Key: "_id", Value: id}, {Key: "eventId", Value: event},
		{Key: "userId", Value: f.user}, {Key: "seats", Value: seats}, {Key: "status", Value: status},
		{Key: "expiresAt", Value: clock.System().Add(ahead)}})
	return id
}

func (f *Foreign) plainBooking(lock holdfast.ID, status string) {
	f.docs["bookings"] = append(f.docs["bookings"], bson.D{{Key: "_id", Value: ids.New()}, {Key: "userId", Value: f.user},
		{Key: "eventId", Value: f.oneOf()}, {Key: "seatLockId", Value: lock}, {Key: "seats", Value: 1}, {Key: "status", Value: status},
		{Key: "paymentExpiresAt", Value: f.past}})
}

func (f *Foreign) oneOf() holdfast.ID { return f.events[f.random.IntN(len(f.events))] }

func (f *Foreign) event() bson.D {
	return bson.D{{Key: "_id", Value: ids.New()}, {Key: "name", Value: "E"}, {Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: 4},
		{Key: "oversold", Value: 0}, {Key: "eventDate", Value: f.past}, {Key: "status", Value: "ON_SALE"}, {Key: "maxSeatsPerUser", Value: 5},
		{Key: "internal", Value: bson.D{}}, {Key: "internal.rev", Value: 1}, {Key: "internal.fixes", Value: 1},
		{Key: "internal.fence", Value: 1}, {Key: "internal.sweptRev", Value: 1}, {Key: "internal.runId", Value: "r"},
		{Key: "internal.sealed", Value: bson.D{{Key: "is", Value: true}, {Key: "rev", Value: int64(1)}, {Key: "totalSeats", Value: 10},
			{Key: "availableSeats", Value: 4}}},
		{Key: "rev", Value: int64(1)}, {Key: "fixes", Value: int64(1)}, {Key: "fence", Value: int64(1)}, {Key: "sweptRev", Value: int64(1)},
		{Key: "runId", Value: "r"}, {Key: "createdAt", Value: f.past}, {Key: "updatedAt", Value: f.past}}
}

func (f *Foreign) lock() bson.D {
	return bson.D{{Key: "_id", Value: ids.New()}, {Key: "eventId", Value: f.oneOf()}, {Key: "userId", Value: f.user}, {Key: "seats", Value: 1},
		{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: f.past}, {Key: "idempotencyKey", Value: ids.New().String()},
		{Key: "requestHash", Value: "h"}, {Key: "bookingId", Value: ids.New()},
		{Key: "internal", Value: bson.D{}}, {Key: "internal.rev", Value: 1}, {Key: "rev", Value: int64(1)},
		{Key: "runId", Value: "r"}, {Key: "endedBy", Value: "x"}, {Key: "createdAt", Value: f.past}, {Key: "updatedAt", Value: f.past}}
}

func (f *Foreign) booking() bson.D {
	return bson.D{{Key: "_id", Value: ids.New()}, {Key: "userId", Value: f.user}, {Key: "user", Value: f.user},
		{Key: "eventId", Value: f.oneOf()}, {Key: "event", Value: f.oneOf()},
		{Key: "seatLockId", Value: f.plainLock(f.oneOf(), 1, "ACTIVE", time.Hour)}, {Key: "seats", Value: 1},
		{Key: "status", Value: "PAYMENT_PENDING"}, {Key: "paymentExpiresAt", Value: f.past}, {Key: "paymentReference", Value: "p"},
		{Key: "internal", Value: bson.D{}}, {Key: "internal.rev", Value: 1}, {Key: "createdAt", Value: f.past}, {Key: "updatedAt", Value: f.past}}
}

// vary changes some of a document's ordinary values.
func (f *Foreign) vary(doc bson.D) bson.D {
	doc = slices.Clone(doc)
	for i, e := range doc {
		switch {
		case e.Key == "seats" && f.random.IntN(2) == 0 && e.Value == any(1):
			doc[i].Value = 1.0 // a whole number of another type
		case e.Key == "internal.sealed" && f.random.IntN(2) == 0, e.Value == any(int64(1)) && f.random.IntN(2) == 0:
			doc[i].Value = Missing
		case e.Key == "status" && e.Value == "ACTIVE":
			doc[i].Value = []string{"ACTIVE", "ACTIVE", "ACTIVE", "ACTIVE", "CONSUMED", "EXPIRED", "RELEASED"}[f.random.IntN(7)]
		case e.Value == "PAYMENT_PENDING":
			doc[i].Value = []string{"PAYMENT_PENDING", "PAYMENT_PENDING", "INITIATED", "CONFIRMED", "EXPIRED"}[f.random.IntN(5)]
		}
	}
	if f.random.IntN(4) == 0 { // BSON allows a field twice; the first counts
		again := doc[1+f.random.IntN(len(doc)-1)]
		if again.Value = Extremes()[f.random.IntN(len(Extremes()))]; f.random.IntN(4) == 0 {
			again.Key = strings.ToUpper(again.Key)
			doc = append(bson.D{again}, doc...) // another name
		} else {
			doc = append(doc, again)
		}
	}
	return slices.DeleteFunc(doc, func(e bson.E) bool { return e.Value == Missing })
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
