package store_test

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/store"
	"github.com/holdfast-dev/holdfast/internal/testenv"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

func TestMain(m *testing.M) { testenv.Main(m) }

type env = testenv.Env

// fixture is an event of 10 seats, a lock on 2 of them, the lock's booking, and the state
// that a process has read.
type fixture struct {
	*env
	t       *testing.T
	event   holdfast.ID
	lock    holdfast.ID
	booking holdfast.ID
	read    inventory.State
}

// newFixture makes an event, a lock and a booking in a test's database. arrange changes
// their documents before they are read.
func newFixture(t *testing.T, w *env, arrange func(f fixture)) fixture {
	t.Helper()
	f := fixture{env: w, t: t, event: mongodb.NewID(), lock: mongodb.NewID(), booking: mongodb.NewID()}
	user, inAnHour := mongodb.NewID(), time.Now().Add(time.Hour)
	w.Insert("events", bson.D{
		{Key: "_id", Value: f.event}, {Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: 8}, {Key: "status", Value: "ON_SALE"},
	})
	w.Insert("seatlocks", bson.D{
		{Key: "_id", Value: f.lock}, {Key: "eventId", Value: f.event}, {Key: "userId", Value: user}, {Key: "seats", Value: 2},
		{Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: inAnHour}, {Key: "idempotencyKey", Value: "used"},
		{Key: "bookingId", Value: f.booking}, {Key: "internal", Value: bson.D{{Key: "rev", Value: 3}}},
	})
	w.Insert("bookings", bson.D{
		{Key: "_id", Value: f.booking}, {Key: "eventId", Value: f.event}, {Key: "userId", Value: user}, {Key: "seatLockId", Value: f.lock},
		{Key: "seats", Value: 2}, {Key: "status", Value: "PAYMENT_PENDING"}, {Key: "paymentExpiresAt", Value: inAnHour},
	})
	if arrange != nil {
		arrange(f)
	}
	var err error
	f.read, err = w.Store.Load(w.Ctx(), f.event, inventory.Needs{Locks: []holdfast.ID{f.lock}, Bookings: []holdfast.ID{f.booking}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// apply applies a plan for the fixture's event.
func (f fixture) apply(plan inventory.Plan) (store.Applied, error) {
	return f.applyPlan(store.EventPlan{EventID: f.event, Plan: plan})
}

// applyExpected applies a plan whose guard is likely to hold.
func (f fixture) applyExpected(plan inventory.Plan) (store.Applied, error) {
	return f.applyPlan(store.EventPlan{EventID: f.event, Plan: plan, IsExpected: true})
}

func (f fixture) applyPlan(plan store.EventPlan) (store.Applied, error) {
	applied, err := f.Store.Apply(f.Ctx(), mongodb.TxOptions{}, []store.EventPlan{plan}, func() error { return nil })
	if err != nil {
		return store.Applied{}, err
	}
	return applied[0], nil
}

// applyBeside applies a plan together with one of another event.
func (f fixture) applyBeside(plan inventory.Plan) (store.Applied, error) {
	other := newFixture(f.t, f.env, nil)
	plans := []store.EventPlan{
		{EventID: other.event, Plan: inventory.Plan{Event: &inventory.EventWrite{AtLeast: 1, Available: -1}}}, {EventID: f.event, Plan: plan},
	}
	applied, err := f.Store.Apply(f.Ctx(), mongodb.TxOptions{}, plans, func() error { return nil })
	if err != nil {
		return store.Applied{}, err
	}
	return applied[1], nil
}

// documents are the stored documents of the event, by collection and ID.
func (f fixture) documents() map[string]string {
	f.t.Helper()
	found := map[string]string{}
	for collection, field := range map[string]string{"events": "_id", "seatlocks": "eventId", "bookings": "eventId"} {
		cursor, err := f.DB.Collection(collection).Find(f.Ctx(), bson.D{{Key: field, Value: f.event}})
		if err != nil {
			f.t.Fatal(err)
		}
		var docs []bson.Raw
		if err := cursor.All(f.Ctx(), &docs); err != nil {
			f.t.Fatal(err)
		}
		for _, doc := range docs {
			found[collection+" "+doc.Lookup("_id").String()] = doc.String()
		}
	}
	return found
}

// document returns a document's fields, those of internal with their path; nil if it does not
// exist.
func (f fixture) document(collection string, id holdfast.ID) bson.M {
	f.t.Helper()
	var doc bson.M
	err := f.DB.Collection(collection).FindOne(f.Ctx(), bson.D{{Key: "_id", Value: id}}).Decode(&doc)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		f.t.Fatal(err)
	}
	if own, ok := doc["internal"].(bson.D); ok {
		delete(doc, "internal")
		for _, e := range own {
			doc["internal."+e.Key] = e.Value
		}
	}
	return doc
}

func (f fixture) setEvent(fields ...bson.E)   { f.t.Helper(); f.Set("events", f.event, fields) }
func (f fixture) setLock(fields ...bson.E)    { f.t.Helper(); f.Set("seatlocks", f.lock, fields) }
func (f fixture) setBooking(fields ...bson.E) { f.t.Helper(); f.Set("bookings", f.booking, fields) }

func (f fixture) remove(collection string, id holdfast.ID) {
	f.t.Helper()
	if _, err := f.DB.Collection(collection).DeleteOne(f.Ctx(), bson.D{{Key: "_id", Value: id}}); err != nil {
		f.t.Fatal(err)
	}
}

func (f fixture) unset(collection string, id holdfast.ID, name string) {
	f.t.Helper()
	if _, err := f.DB.Collection(collection).UpdateByID(f.Ctx(), id,
		bson.D{{Key: "$unset", Value: bson.D{{Key: name, Value: ""}}}}); err != nil {
		f.t.Fatal(err)
	}
}

// allowAnyCounter removes the validator of events, so that only a guard can refuse.
func allowAnyCounter(t *testing.T, w *env) {
	t.Helper()
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "events"}, {Key: "validator", Value: bson.D{}}}).Err(); err != nil {
		t.Fatal(err)
	}
}

func field(name string, value any) bson.E { return bson.E{Key: name, Value: value} }

// watched opens the database with a monitor of its commands.
func watched(t *testing.T, w *env, m *event.CommandMonitor) *env {
	t.Helper()
	return testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) { o.Monitor = m })
}
