package core_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/core"
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

// A later version has changed a validator and dropped an index. A process of this version does not start, and
// changes nothing. A running process reports no gaps.
func TestSchema_ALaterVersionIsLeftAsItIs(t *testing.T) {
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
	if _, err := w.DB.RaiseVersion(w.Ctx(), core.SchemaVersion+1); err != nil {
		t.Fatal(err)
	}
	want := locksValidator(w)
	_, err := core.Connect(w.Ctx(), core.Options{URI: w.URI, Settings: core.Settings{Database: w.DB.Name()}})
	if !errors.Is(err, core.ErrLaterSchema) || !strings.Contains(err.Error(), "schema version 2; this one knows version 1") {
		t.Errorf("a process of this version has started: %v", err)
	}
	if _, err := core.EnsureSchema(w.Ctx(), w.DB, slog.New(w.Log), core.Collections()...); !errors.Is(err, core.ErrLaterSchema) {
		t.Errorf("the schema: %v", err)
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
	if v, err := w.DB.ReadVersion(w.Ctx()); err != nil || v.Version != core.SchemaVersion+1 {
		t.Errorf("the version is %+v, %v", v, err)
	}
}

// A restore has brought a weaker validator, or none. The next process that starts sets its own.
func TestEnsureSchema_SetsItsValidators(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	want := locksValidator(w)
	for _, level := range []string{"moderate", "off"} {
		for _, validator := range []bson.D{{}, {{Key: "status", Value: bson.D{{Key: "$type", Value: "string"}}}}} {
			weaker := bson.D{{Key: "collMod", Value: "seatlocks"}, {Key: "validator", Value: validator}, {Key: "validationLevel", Value: level}}
			if err := w.DB.RunCommand(w.Ctx(), weaker).Err(); err != nil {
				t.Fatal(err)
			}
			if gaps, err := core.SchemaGaps(w.Ctx(), w.DB, core.Collections()...); err != nil || len(gaps) != 1 {
				t.Errorf("%s, %v: gaps %q, %v", level, validator, gaps, err)
			}
			ensure(w)
			if got := locksValidator(w); got != want {
				t.Errorf("%s, %v: the validator is %s", level, validator, got)
			}
		}
	}
}
