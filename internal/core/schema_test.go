package core_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// dropAll empties a database, so that it is like a new one.
func dropAll(w *testenv.Env) {
	w.T.Helper()
	if err := w.DB.Drop(w.Ctx()); err != nil {
		w.T.Fatal(err)
	}
}

func ensure(w *testenv.Env) {
	w.T.Helper()
	degraded, err := core.EnsureSchema(w.Ctx(), w.DB, slog.New(w.Log), core.Collections()...)
	if err != nil || len(degraded) > 0 {
		w.T.Fatal(degraded, err)
	}
}

func locksValidator(w *testenv.Env) string {
	w.T.Helper()
	specs, err := w.DB.ListCollectionSpecifications(w.Ctx(), bson.D{{Key: "name", Value: "seatlocks"}})
	if err != nil || len(specs) != 1 {
		w.T.Fatal(specs, err)
	}
	return specs[0].Options.Lookup("validator").String()
}

// A later version has changed a validator and dropped an index. A process of this version that
// starts then changes nothing back.
func TestEnsureSchema_LeavesALaterVersionAsItIs(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	dropAll(w)
	ensure(w)
	if gaps, err := core.SchemaGaps(w.Ctx(), w.DB, core.Collections()...); err != nil || len(gaps) > 0 {
		t.Errorf("after the first start: %q, %v", gaps, err)
	}
	validator := bson.D{{Key: "status", Value: bson.D{{Key: "$type", Value: "string"}}}}
	later := bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: validator}}
	if err := w.DB.RunCommand(w.Ctx(), later).Err(); err != nil {
		t.Fatal(err)
	}
	if err := w.DB.Collection("bookings").Indexes().DropAll(w.Ctx()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.DB.RaiseVersion(w.Ctx(), core.SchemaVersion+1, false, mongodb.UpgradeRunning); err != nil {
		t.Fatal(err)
	}
	const state = "a state that only the later version knows"
	isSchema, to := bson.D{{Key: "_id", Value: "schema"}}, bson.D{{Key: "$set", Value: bson.D{{Key: "upgrade", Value: state}}}}
	if _, err := w.DB.Collection("meta").UpdateOne(w.Ctx(), isSchema, to); err != nil {
		t.Fatal(err)
	}
	want := locksValidator(w)
	ensure(w)
	raised, err := w.DB.RaiseVersion(w.Ctx(), core.SchemaVersion, false, mongodb.UpgradeFinished)
	if err != nil || raised.Upgrade != state {
		t.Errorf("the state of the upgrade is %q, %v", raised.Upgrade, err)
	}
	if _, isMoving, err := w.DB.UpgradePosition(w.Ctx()); err != nil || isMoving {
		t.Errorf("fields are moved: %t, %v", isMoving, err)
	}
	if got := locksValidator(w); got != want {
		t.Errorf("the validator was changed back to %s", got)
	}
	specs, err := w.DB.Collection("bookings").Indexes().ListSpecifications(w.Ctx())
	if err != nil || len(specs) != 1 {
		t.Errorf("%d indexes of bookings, %v; want _id alone", len(specs), err)
	}
	if gaps, err := core.SchemaGaps(w.Ctx(), w.DB, core.Collections()...); err != nil || len(gaps) > 0 {
		t.Errorf("gaps: %q, %v", gaps, err)
	}
	if v, _, err := w.DB.SchemaVersion(w.Ctx(), "events"); err != nil || v.Version != core.SchemaVersion+1 {
		t.Errorf("the version is %+v, %v", v, err)
	}
}

// A new database removes ended locks after 30 days; one of an earlier version does not, until
// the setting is set.
func TestEndedRetention_IsOnForNewDatabasesOnly(t *testing.T) {
	t.Parallel()
	const month = 720 * time.Hour
	w := testenv.New(t)
	want := func(situation string, d time.Duration) {
		t.Helper()
		if got, err := core.EndedRetention(w.Ctx(), w.DB); err != nil || got != d {
			t.Errorf("%s: %v, %v; want %v", situation, got, err, d)
		}
	}
	dropAll(w)
	want("no collection yet", month)
	ensure(w)
	want("created", month)
	ensure(w)
	want("started again", month)
	dropAll(w)
	w.Insert("events", bson.D{{Key: "name", Value: "of an earlier version"}})
	want("an earlier version's", 0)
	ensure(w)
	want("an earlier version's, with a schema by now", 0)
}

// Each collection is looked at, also that of the version. What a later version has set up is its own.
func TestForeignSetup_OfEachCollection(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	collections := []string{"bookings", "events", "idempotencykeys", "meta", "seatlocks", "users"}
	for _, name := range collections {
		w.ForeignIndex(name, "code")
	}
	look := func() []string {
		t.Helper()
		advice, err := core.ForeignSetup(w.Ctx(), w.DB, core.Collections()...)
		if err != nil {
			t.Fatal(err)
		}
		return advice
	}
	advice := look()
	if len(advice) != len(collections) {
		t.Fatalf("%q", advice)
	}
	for i, name := range collections {
		if !strings.Contains(advice[i], "db."+name+`.dropIndex("theirs")`) {
			t.Errorf("%s: %s", name, advice[i])
		}
	}
	ensure(w) // drops none of them, and is not stopped by them
	if again := look(); !slices.Equal(again, advice) {
		t.Errorf("after a start: %q", again)
	}
	if _, err := w.DB.RaiseVersion(w.Ctx(), core.SchemaVersion+1, false, mongodb.UpgradeFinished); err != nil {
		t.Fatal(err)
	}
	if advice := look(); len(advice) > 0 {
		t.Errorf("of a later version: %q", advice)
	}
}
