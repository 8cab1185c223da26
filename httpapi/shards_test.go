package httpapi_test

import (
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/expiry"
	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

const (
	lockByID    = "seatlocks by _id"
	noBlockByID = "seatlocks by _id, internal.block, status" // blocks are no locks of customers
	bookingByID = "bookings by _id"
	// CONFIRMED bookings of earlier versions, which have a reference and no payment.
	unrecorded = "bookings by internal.paymentId, paymentReference, status"
)

// sharded is a site whose commands to sharded collections are read.
type sharded struct {
	*site

	broadcasts  *testenv.Broadcasts
	user, event string
}

// watchShards opens a process whose commands are read.
func watchShards(t *testing.T) (*testenv.Env, *testenv.Broadcasts) {
	t.Helper()
	w := testenv.New(t)
	b := testenv.NewBroadcasts(t, w.DB.Database)
	return testenv.Open(t, w.URI, w.DB.Name(), func(o *mongodb.Options) { o.Monitor, o.Sharded = b.Monitor(), true }), b
}

// openSharded opens a site with an event of 10 seats, of which a user may hold 8.
func openSharded(t *testing.T) *sharded {
	t.Helper()
	w, b := watchShards(t)
	s := &sharded{site: openOn(t, w, func(*httpapi.Services, *core.Settings) {}), broadcasts: b}
	s.user = s.site.user()
	s.event = s.ask("create an event", "POST", "/api/events",
		fields{"name": "E", "totalSeats": 10, "eventDate": "2026-06-15T10:00:00Z", "maxSeatsPerUser": 8}, 201).text("id")
	return s
}

// ask sends a request. It fails if other commands are broadcast than the allowed ones.
func (s *sharded) ask(what, method, path string, body any, status int, allowed ...string) answer {
	s.t.Helper()
	a := s.want(s.call(method, path, body), status, "")
	var found []string
	for _, b := range s.broadcasts.Take(s.t) {
		found = append(found, b.What)
	}
	if !slices.Equal(found, allowed) {
		s.t.Errorf("%s: a mongos would send these commands to all shards: %q; allowed are %q", what, found, allowed)
	}
	return a
}

// acquire asks for seats, which needs no broadcast.
func (s *sharded) acquire(what string, seats, status int, more fields) (id string) {
	s.t.Helper()
	request := fields{"eventId": s.event, "userId": s.user, "seats": seats}
	maps.Copy(request, more)
	return s.ask(what, "POST", "/api/locks", request, status).text("id")
}

// In a sharded cluster a request goes to the shards of its event. A route without an event looks up
// one lock or one booking by its ID at all shards.
func TestShards_RequestsGoToTheShardOfTheirEvent(t *testing.T) {
	t.Parallel()
	s := openSharded(t)
	s.ask("change an event", "PATCH", "/api/events/"+s.event, fields{"name": "F"}, 200)
	s.ask("get an event", "GET", "/api/events/"+s.event, nil, 200)
	lock := s.acquire("acquire", 2, 201, fields{"idempotencyKey": "k"})
	s.acquire("repeat", 2, 201, fields{"idempotencyKey": "k"})
	s.acquire("another request with the key", 3, 422, fields{"idempotencyKey": "k"})
	s.acquire("beyond the limit of a user", 7, 409, fields{"idempotencyKey": "l"})
	released := s.acquire("acquire another", 1, 201, nil)
	s.ask("get a lock", "GET", "/api/locks/"+lock, nil, 200, noBlockByID)
	s.ask("list locks", "GET", "/api/locks?eventId="+s.event, nil, 200)
	s.ask("extend", "POST", "/api/locks/"+lock+"/extend", fields{"ttlSeconds": 3600}, 200, lockByID)
	s.ask("release", "DELETE", "/api/locks/"+released, nil, 200, noBlockByID)
	s.ask("release again", "DELETE", "/api/locks/"+released, nil, 200, noBlockByID)

	request := fields{"eventId": s.event, "userId": s.user, "lockId": lock}
	path := "/api/bookings/" + s.ask("book", "POST", "/api/bookings", request, 201).text("id")
	s.ask("book again", "POST", "/api/bookings", request, 200)
	request["userId"] = ids.New().String()
	s.ask("book another user's lock", "POST", "/api/bookings", request, 404)
	s.ask("get a booking", "GET", path, nil, 200, bookingByID)
	s.ask("list bookings", "GET", "/api/bookings?eventId="+s.event, nil, 200)
	s.ask("pay", "POST", path+"/pay", fields{"paymentTtlSeconds": 900}, 200, bookingByID)
	s.ask("confirm", "POST", path+"/confirm", fields{"paymentReference": "r"}, 200, bookingByID, unrecorded)
	s.ask("confirm again", "POST", path+"/confirm", nil, 200, bookingByID)
	s.ask("confirm with another reference", "POST", path+"/confirm", fields{"paymentReference": "x"}, 409, bookingByID, unrecorded)
	s.ask("release a sold lock", "DELETE", "/api/locks/"+lock, nil, 409, noBlockByID)
	s.ask("search for a payment reference", "GET", "/api/admin/search?q=r", nil, 200, "bookings by _id, paymentReference")
	s.ask("sum up an event", "GET", "/api/admin/events/"+s.event, nil, 200)
	s.ask("sales of an event", "GET", "/api/admin/events/"+s.event+"/sales", nil, 200)
	s.ask("cancel", "POST", path+"/cancel", nil, 200, bookingByID)
	s.ask("cancel again", "POST", path+"/cancel", nil, 200, bookingByID)

	none := ids.New().String() // the barrier looks for it, too
	s.ask("get no event", "GET", "/api/events/"+none, nil, 404)
	s.ask("extend no lock", "POST", "/api/locks/"+none+"/extend", fields{"ttlSeconds": 60}, 404, lockByID, lockByID, lockByID)
	s.ask("confirm no booking", "POST", "/api/bookings/"+none+"/confirm", nil, 404, bookingByID, bookingByID, bookingByID)
}

func TestShards_ReclaimGoesToTheShardOfTheEvent(t *testing.T) {
	t.Parallel()
	s := openSharded(t)
	s.acquire("acquire a due lock", 5, 201, fields{"expiresAt": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)})
	s.acquire("acquire seats of due locks", 8, 201, nil)
	s.user = s.site.user()
	s.acquire("sold out", 5, 409, nil)
	s.acquire("sold out, with a key", 5, 409, fields{"idempotencyKey": "m"})
}

// A booking of other software names its event in another field, or not at all.
func TestShards_RequestsForForeignBookings(t *testing.T) {
	t.Parallel()
	s := openSharded(t)
	insert := func(eventField string) (path string) {
		t.Helper()
		id, lockID := ids.New(), s.acquire("acquire", 1, 201, nil)
		lock, event := mustParse(t, lockID), mustParse(t, s.event)
		s.w.Insert("bookings", bson.D{{Key: "_id", Value: id}, {Key: eventField, Value: event}, {Key: "seatLockId", Value: lock},
			{Key: "status", Value: "PAYMENT_PENDING"}, {Key: "paymentExpiresAt", Value: time.Now().Add(time.Hour)}})
		s.broadcasts.Take(t) // the insert is not ours
		return "/api/bookings/" + id.String()
	}
	s.ask("confirm", "POST", insert("event")+"/confirm", nil, 200, bookingByID)
	s.ask("cancel", "POST", insert("event")+"/cancel", nil, 200, bookingByID)
	s.ask("confirm one that names no event", "POST", insert("none")+"/confirm", nil, 200,
		bookingByID, bookingByID, lockByID, "bookings by _id, paymentExpiresAt, status", "changes without a shard key")
}

func mustParse(t *testing.T, id string) holdfast.ID {
	t.Helper()
	parsed, err := holdfast.ParseID(id)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// The sweeps search for what is due at all shards. What they found they end on its shard.
func TestShards_SweepsEndOnTheShardOfTheEvent(t *testing.T) {
	t.Parallel()
	w, broadcasts := watchShards(t)
	events := []holdfast.ID{w.Event(10), w.Event(10)}
	for _, event := range events {
		w.Acquire(event, 1, testenv.Past())
		w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Past())
		sold := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
		w.Set("bookings", sold.ID, bson.D{{Key: "status", Value: "CONFIRMED"}})
		w.Set("seatlocks", sold.LockID, bson.D{{Key: "expiresAt", Value: time.Now().Add(-time.Hour)}})
		ended := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Past())
		w.Set("seatlocks", ended.LockID, bson.D{{Key: "status", Value: "EXPIRED"}})
		w.Set("events", event, bson.D{{Key: "availableSeats", Value: 7}})
	}
	broadcasts.Take(t)
	w.SweepLocks()
	checkSearches(t, broadcasts)
	w.SweepBookings()
	checkSearches(t, broadcasts)
	for _, event := range events {
		if available, _ := w.Available(event); available != 9 {
			t.Errorf("%d seats are available; 1 of 10 is sold", available)
		}
	}
}

// A pass of recovery, the audit and the retention read everything. Their writes go to the shard of
// the event, but for the removal of what ended long ago.
func TestShards_JobsReadAllShards(t *testing.T) {
	t.Parallel()
	w, broadcasts := watchShards(t)
	event := w.Event(10)
	sold := w.Book(w.Acquire(event, 1, testenv.Soon()), testenv.Soon())
	w.Set("bookings", sold.ID, bson.D{{Key: "status", Value: "CONFIRMED"}})
	w.Acquire(event, 1, testenv.Past())
	w.Set("events", event, bson.D{{Key: "availableSeats", Value: 3}})
	broadcasts.Take(t)
	w.Recover()
	if _, err := w.Recovery.Reconcile(w.Ctx(), "run", slog.New(w.Log)); err != nil {
		t.Error(err)
	}
	checkSearches(t, broadcasts)
	retention := expiry.Retention{Store: w.Store, Batch: 10}
	if report, err := retention.Run(w.Ctx(), time.Nanosecond, slog.New(w.Log)); err != nil || report.Applied == 0 {
		t.Error(report, err)
	}
	for _, found := range broadcasts.Take(t) { // a batch has locks of many events
		allowed := []string{"bookings by seatLockId", "seatlocks by _id, status", bookingByID}
		if !found.IsSearch && !slices.Contains(allowed, found.What) {
			t.Errorf("a mongos would send %q to all shards", found.What)
		}
	}
}

// checkSearches fails if a command was broadcast that is part of a transaction, or writes.
func checkSearches(t *testing.T, b *testenv.Broadcasts) {
	t.Helper()
	searches := 0
	for _, found := range b.Take(t) {
		if searches++; !found.IsSearch {
			t.Errorf("a mongos would send %q to all shards", found.What)
		}
	}
	if searches == 0 {
		t.Error("no search was seen")
	}
}

// A unique index of a sharded collection has to begin with the shard key.
func TestShards_UniqueIndexesBeginWithTheShardKey(t *testing.T) {
	t.Parallel()
	for _, c := range core.Collections() {
		key, sharded := testenv.ShardKeys()[c.Name]
		for _, index := range c.Indexes {
			if sharded && index.Unique && index.Keys[0].Key != key {
				t.Errorf("%s: the unique index on %v does not begin with %s", c.Name, index.Keys, key)
			}
		}
	}
}
