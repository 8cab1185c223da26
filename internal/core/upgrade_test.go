package core_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// former is the validator of locks of the former version.
var former = mongodb.OneOf("status", holdfast.LockStatuses()...)

func finish(t *testing.T, w *testenv.Env) {
	t.Helper()
	if err := w.FinishUpgrade(w.Ctx(), func(mongodb.UpgradePosition) {}); err != nil {
		t.Fatal(err)
	}
}

// fields returns a document.
func fields(t *testing.T, w *testenv.Env, collection string, id holdfast.ID) bson.M {
	t.Helper()
	var doc bson.M
	if err := w.DB.Collection(collection).FindOne(w.Ctx(), bson.D{{Key: "_id", Value: id}}).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func internalOf(doc bson.M, name string) any {
	own, _ := doc["internal"].(bson.D)
	for _, e := range own {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

// formerEvent is an event of the former version with a lock, and what other software calls alike.
func formerEvent(w *testenv.Env) (event, lock holdfast.ID) {
	w.T.Helper()
	event, lock = ids.New(), ids.New()
	w.Insert("events", bson.D{{Key: "_id", Value: event}, {Key: "totalSeats", Value: 10}, {Key: "availableSeats", Value: 9},
		{Key: "rev", Value: int64(41)}, {Key: "fixes", Value: int64(2)}, {Key: "fence", Value: int64(3)}, {Key: "sweptRev", Value: "x"}})
	w.Insert("seatlocks", bson.D{{Key: "_id", Value: lock}, {Key: "eventId", Value: event}, {Key: "userId", Value: ids.New()},
		{Key: "seats", Value: 1}, {Key: "status", Value: "ACTIVE"}, {Key: "expiresAt", Value: time.Now().Add(time.Hour)},
		{Key: "requestHash", Value: "h"}, {Key: "rev", Value: int64(5)}, {Key: "internal", Value: bson.D{{Key: "rev", Value: int64(7)}}}})
	return event, lock
}

// The end of the upgrade moves the former version's fields, and leaves other software's.
func TestFinishUpgrade_MovesTheFieldsOfTheFormerVersion(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	event, lock := formerEvent(w)
	foreign := w.Event(10)
	w.Set("events", foreign, bson.D{{Key: "rev", Value: "3-abc"}})
	finish(t, w)
	doc := fields(t, w, "events", event)
	if doc["rev"] != nil || doc["fixes"] != nil || doc["fence"] != nil || doc["sweptRev"] != "x" ||
		internalOf(doc, "rev") != int64(42) || internalOf(doc, "fixes") != int64(3) {
		t.Errorf("the event is %v", doc)
	}
	if doc = fields(t, w, "seatlocks", lock); doc["rev"] != nil || internalOf(doc, "rev") != int64(8) {
		t.Errorf("the lock is %v", doc)
	}
	if doc = fields(t, w, "events", foreign); doc["rev"] != "3-abc" {
		t.Errorf("the event of other software is %v", doc)
	}
	if err := w.FinishUpgrade(w.Ctx(), func(mongodb.UpgradePosition) {}); !errors.Is(err, core.ErrUpgraded) {
		t.Errorf("again: %v", err)
	}
	if state, err := w.UpgradeState(w.Ctx()); err != nil || state != mongodb.UpgradeFinished {
		t.Errorf("the state is %q, %v", state, err)
	}
}

// The process that finishes is killed after a step. The next one goes on behind it.
func TestFinishUpgrade_GoesOnAfterItWasInterrupted(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	event, lock := formerEvent(w)
	killed, kill := context.WithCancel(w.Ctx())
	defer kill()
	steps := 0
	err := w.FinishUpgrade(killed, func(mongodb.UpgradePosition) {
		steps++
		kill()
	})
	if err == nil || steps != 1 {
		t.Fatalf("%d steps, %v", steps, err)
	}
	if doc := fields(t, w, "events", event); doc["rev"] != nil {
		t.Errorf("the event was not moved: %v", doc)
	}
	next := testenv.Open(t, w.URI, w.DB.Name())
	if p, _, err := next.DB.UpgradePosition(w.Ctx()); err != nil || p.Collection != "events" || p.After != event || p.Moved != 1 {
		t.Errorf("the position is %+v, %v", p, err)
	}
	if state, err := next.UpgradeState(w.Ctx()); err != nil || state != mongodb.UpgradeFinishing {
		t.Errorf("the state is %q, %v", state, err)
	}
	finish(t, next)
	if doc := fields(t, w, "seatlocks", lock); doc["rev"] != nil {
		t.Errorf("the lock was not moved: %v", doc)
	}
}

// MongoDB refuses what the former version writes, and nothing else.
func TestUpgraded_ValidatorsRefuseTheFormerVersion(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	event := w.Event(10)
	lock := w.Acquire(event, 1, testenv.Soon())
	w.Set("events", event, bson.D{{Key: "note", Value: 1}})
	inc := func(field string, by any) bson.D {
		return bson.D{{Key: "$inc", Value: bson.D{{Key: field, Value: by}}}}
	}
	set := func(field string, to any) bson.D {
		return bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: to}}}}
	}
	for _, c := range []struct {
		collection string
		id         holdfast.ID
		update     bson.D
		refused    bool
	}{
		{"events", event, inc("rev", int64(1)), true}, {"events", event, inc("fence", int64(1)), true},
		{"events", event, inc("fixes", int64(1)), true}, {"events", event, set("sweptRev", int64(4)), true},
		{"seatlocks", lock.ID, inc("rev", int64(1)), true},
		{"events", event, set("rev", "3-abc"), false}, {"seatlocks", lock.ID, set("rev", "3-abc"), false},
		{"events", event, set("rev", bson.A{int64(1)}), false}, {"events", event, set("rev", 7), false},
		{"events", event, set("rev", 7.5), false},
		{"seatlocks", lock.ID, set("fence", int64(7)), false},
	} {
		_, err := w.DB.Collection(c.collection).UpdateByID(w.Ctx(), c.id, c.update)
		if (err != nil) != c.refused {
			t.Errorf("%s, %v: %v", c.collection, c.update, err)
		}
	}
	_, err := w.DB.Collection("seatlocks").InsertOne(w.Ctx(), bson.D{{Key: "eventId", Value: event}, {Key: "seats", Value: 1},
		{Key: "status", Value: "ACTIVE"}, {Key: "requestHash", Value: "h"}, {Key: "rev", Value: int64(0)}})
	if err == nil {
		t.Error("a lock of the former version was inserted")
	}
	w.Acquire(event, 1, testenv.Soon())
	if _, err := w.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
		t.Error(err)
	}
}

// A process of the former version has put its validator back at its start.
func TestKeepValidators_RestoresWhatTheFormerVersionPutBack(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	want := locksValidator(w)
	putBack := func() {
		t.Helper()
		for collection, validator := range map[string]bson.D{"seatlocks": former, "events": {}} {
			command := bson.D{{Key: "collMod", Value: collection}, {Key: "validator", Value: validator}}
			if err := w.DB.RunCommand(w.Ctx(), command).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	putBack()
	_, late := formerEvent(w)
	ctx, stop := context.WithCancel(w.Ctx())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		core.KeepValidators(ctx, w.DB, slog.New(w.Log))
	}()
	testenv.WaitFor(t, func() bool { return len(w.Log.Lines("WARN Restored a validator")) == 2 })
	stop()
	<-ended
	if doc := fields(t, w, "seatlocks", late); doc["rev"] != nil {
		t.Errorf("what the former version wrote meanwhile was not moved: %v", doc)
	}
	if locksValidator(w) != want {
		t.Errorf("the validator is %s", locksValidator(w))
	}
	if err := core.RestoreValidators(w.Ctx(), w.DB, slog.New(w.Log)); err != nil || len(w.Log.Lines("WARN Restored")) != 2 {
		t.Errorf("it restored what was right: %v", err)
	}
	putBack()
	if _, err := w.DB.RaiseVersion(w.Ctx(), core.SchemaVersion+1, false); err != nil {
		t.Fatal(err)
	}
	if err := core.RestoreValidators(w.Ctx(), w.DB, slog.New(w.Log)); err != nil || locksValidator(w) == want {
		t.Errorf("it changed the schema of a later version: %v", err)
	}
}

// Before the end, no process of this version touches what the former version made.
func TestShared_LeavesTheSchemaOfTheFormerVersion(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	before := locksValidator(w)
	ensure(w)
	if err := core.RestoreValidators(w.Ctx(), w.DB, slog.New(w.Log)); err != nil {
		t.Fatal(err)
	}
	if after := locksValidator(w); after != before {
		t.Errorf("the validator was %s and is %s", before, after)
	}
	index := mongodb.Collection{Name: "bookings", Indexes: []mongodb.Index{{Keys: mongodb.Keys("eventId", "status", "_id")}}}
	if _, err := mongodb.EnsureSchema(w.Ctx(), w.DB, index); err != nil {
		t.Fatal(err)
	}
	ensure(w)
	if gaps, err := mongodb.SchemaGaps(w.Ctx(), w.DB, index); err != nil || len(gaps) > 0 {
		t.Errorf("an index of the former version was dropped: %v, %v", gaps, err)
	}
}

// A process that does not know of the end is refused, learns of it, and goes on: no caller
// notices.
func TestFinishUpgrade_BesideAProcessThatDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	event := w.Event(100)
	lock := w.Acquire(event, 1, testenv.Soon())
	slow := testenv.Open(t, w.URI, w.DB.Name())
	slow.Acquire(event, 1, testenv.Soon())
	slow.DB.LearnUpgrade(w.Ctx())
	if _, err := w.DB.SetUpgrade(w.Ctx(), mongodb.UpgradeFinished); err != nil {
		t.Fatal(err)
	}
	if _, _, err := mongodb.RestoreValidators(w.Ctx(), w.DB, core.Collections()...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Store.MoveFormer(w.Ctx(), func(mongodb.UpgradePosition) {}); err != nil {
		t.Fatal(err)
	}
	if !slow.DB.Shared() {
		t.Fatal("it knows already")
	}
	slow.Acquire(event, 2, testenv.Soon())
	if slow.DB.Shared() {
		t.Error("it has not learned")
	}
	if _, err := slow.Seats.ReleaseLock(w.Ctx(), lock.ID); err != nil {
		t.Error(err)
	}
	if available, _ := w.Available(event); available != 97 {
		t.Errorf("%d seats are available", available)
	}
	testenv.CheckInvariants(t, w.DB.Database)
}
