package core_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

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
	testenv.WaitFor(t, func() bool { return fields(t, w, "seatlocks", late)["rev"] == nil })
	stop()
	<-ended
	if n := len(w.Log.Lines("WARN Restored a validator")); n != 2 {
		t.Errorf("it told of %d validators", n)
	}
	if locksValidator(w) != want {
		t.Errorf("the validator is %s", locksValidator(w))
	}
	if err := core.RestoreValidators(w.Ctx(), w.DB, slog.New(w.Log)); err != nil || len(w.Log.Lines("WARN Restored")) != 2 {
		t.Errorf("it restored what was right: %v", err)
	}
	putBack()
	if _, err := w.DB.RaiseVersion(w.Ctx(), core.SchemaVersion+1, false, mongodb.UpgradeRunning); err != nil {
		t.Fatal(err)
	}
	if err := core.RestoreValidators(w.Ctx(), w.DB, slog.New(w.Log)); err != nil || locksValidator(w) == want {
		t.Errorf("it changed the schema of a later version: %v", err)
	}
}

// write writes as the former version does while its validator is there.
func write(w *testenv.Env, collection string, id holdfast.ID, update bson.D) {
	w.T.Helper()
	unchecked := options.UpdateOne().SetBypassDocumentValidation(true)
	if _, err := w.DB.Collection(collection).UpdateByID(w.Ctx(), id, update, unchecked); err != nil {
		w.T.Fatal(err)
	}
}

var raise = bson.D{{Key: "$inc", Value: bson.D{{Key: "rev", Value: int64(1)}}}}

// The process that finishes dies after it has set the validators, and a process of the former version
// starts then: it is refused too.
func TestKeepValidators_AlsoBeforeTheMoveIsDone(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	event, _ := formerEvent(w)
	before := locksValidator(w)
	if _, err := w.DB.SetUpgrade(w.Ctx(), mongodb.UpgradeFinishing); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		t.Helper()
		if err := core.RestoreValidators(w.Ctx(), w.DB, slog.New(w.Log)); err != nil {
			t.Error(err)
		}
	}
	restore()
	if locksValidator(w) != before {
		t.Error("the validator was set before all processes know of the end")
	}
	if _, _, err := mongodb.RestoreValidators(w.Ctx(), w.DB, core.Collections()...); err != nil {
		t.Fatal(err)
	}
	want := locksValidator(w)
	if err := w.DB.RunCommand(w.Ctx(), bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: former}}).Err(); err != nil {
		t.Fatal(err)
	}
	restore()
	if locksValidator(w) != want {
		t.Errorf("the validator is %s", locksValidator(w))
	}
	if doc := fields(t, w, "events", event); doc["rev"] == nil {
		t.Error("the event was moved beside the command that moves")
	}
	finish(t, w)
	if doc := fields(t, w, "events", event); doc["rev"] != nil {
		t.Errorf("the event is %v", doc)
	}
}

// A process that has restored a validator dies before it has moved all, or it only made the schema at
// its start. Another one goes on.
func TestKeepValidators_GoesOnWithAMove(t *testing.T) {
	t.Parallel()
	for name, restored := range map[string]func(w *testenv.Env){
		"it dies": func(w *testenv.Env) {
			if _, _, err := mongodb.RestoreValidators(w.Ctx(), w.DB, core.Collections()...); err != nil {
				w.T.Fatal(err)
			}
		},
		"it starts": func(w *testenv.Env) { ensure(w) },
	} {
		w := testenv.New(t)
		command := bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: former}}
		if err := w.DB.RunCommand(w.Ctx(), command).Err(); err != nil {
			t.Fatal(err)
		}
		lock := w.Acquire(w.Event(10), 1, testenv.Soon())
		write(w, "seatlocks", lock.ID, raise)
		restored(w)
		for range 2 { // the second pass has nothing to do
			if err := core.RestoreValidators(w.Ctx(), w.DB, slog.New(w.Log)); err != nil {
				t.Error(err)
			}
		}
		if doc := fields(t, w, "seatlocks", lock.ID); doc["rev"] != nil {
			t.Errorf("%s: the lock is %v", name, doc)
		}
		if p, exists, err := w.DB.UpgradePosition(w.Ctx()); err != nil || exists {
			t.Errorf("%s: the position is %v, %v", name, p, err)
		}
	}
}

// While fields are moved, a process of the former version puts its validators back, changes what was
// moved, and the validators are restored. The move begins anew.
func TestMoveFormer_BeginsAnewAfterAValidatorWasMissing(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	event, lock := formerEvent(w)
	steps := 0
	err := w.FinishUpgrade(w.Ctx(), func(p mongodb.UpgradePosition) {
		if steps++; p.Collection == "seatlocks" && steps == 2 {
			write(w, "events", event, raise)
			if err := w.DB.ResetPosition(w.Ctx()); err != nil {
				t.Error(err)
			}
		}
	})
	if err != nil || steps < 3 {
		t.Errorf("%d steps, %v", steps, err)
	}
	for collection, id := range map[string]holdfast.ID{"events": event, "seatlocks": lock} {
		if doc := fields(t, w, collection, id); doc["rev"] != nil {
			t.Errorf("%s: %v", collection, doc)
		}
	}
}

// Other software has a field of ours that is no number. It does not stop the end.
func TestFinishUpgrade_PassesForeignNumbers(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	event, _ := formerEvent(w)
	w.Set("events", event, bson.D{{Key: "internal", Value: bson.D{{Key: "fixes", Value: "x"}}}})
	finish(t, w)
	if doc := fields(t, w, "events", event); doc["fixes"] != nil || internalOf(doc, "fixes") != int64(3) {
		t.Errorf("the event is %v", doc)
	}
}

// An audit that does not know of the end is refused, learns of it, and corrects the counter.
func TestFinishUpgrade_BesideAnAuditThatDoesNotKnow(t *testing.T) {
	t.Parallel()
	w := testenv.NewShared(t)
	event := w.Event(10)
	slow := testenv.Open(t, w.URI, w.DB.Name())
	slow.DB.LearnUpgrade(w.Ctx())
	finish(t, w)
	write(w, "events", event, bson.D{{Key: "$set", Value: bson.D{{Key: "availableSeats", Value: 2.5}}}})
	if !slow.DB.Shared() {
		t.Fatal("it knows already")
	}
	report, err := slow.Recovery.Reconcile(w.Ctx(), "run", slog.New(slow.Log))
	if available, _ := w.Available(event); err != nil || report.Corrections != 1 || report.Reported != 0 || available != 10 {
		t.Errorf("%+v, %v; %d seats are available", report, err, available)
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
