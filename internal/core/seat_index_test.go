package core_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// The setting decides for a new database alone. Later starts, with whatever setting, keep what was decided.
func TestEnsureSchema_DecidesOnTheSeatIndexOfANewDatabase(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	with, without := core.Collections(), core.WithoutSeatIndex(core.Collections())
	start := func(all []mongodb.Collection) {
		t.Helper()
		if degraded, err := core.EnsureSchema(w.Ctx(), w.DB, slog.New(w.Log), all...); err != nil || len(degraded) > 0 {
			t.Fatal(degraded, err)
		}
	}
	want := func(situation string, has bool) {
		t.Helper()
		specs, err := w.DB.Collection("seatlocks").Indexes().ListSpecifications(w.Ctx())
		if err != nil {
			t.Fatal(err)
		}
		isThere := false
		for _, s := range specs {
			isThere = isThere || strings.Contains(s.Name, "seatIds")
		}
		if isThere != has {
			t.Errorf("%s: the index is there: %t, want %t", situation, isThere, has)
		}
		for _, all := range [][]mongodb.Collection{with, without} {
			if gaps, err := core.SchemaGaps(w.Ctx(), w.DB, all...); err != nil || len(gaps) > 0 {
				t.Errorf("%s: gaps %q, %v", situation, gaps, err)
			}
			if advice, err := core.ForeignSetup(w.Ctx(), w.DB, all...); err != nil || len(advice) > 0 {
				t.Errorf("%s: foreign %q, %v", situation, advice, err)
			}
		}
	}
	for _, row := range []struct {
		first, later []mongodb.Collection
		has          bool
	}{{with, without, true}, {without, with, false}} {
		dropAll(w)
		start(row.first)
		want("new", row.has)
		start(row.later)
		want("started again", row.has)
	}
	dropAll(w)
	w.Insert("events", bson.D{{Key: "name", Value: "of an earlier version"}})
	start(with)
	want("of an earlier version", false)
	if err := w.DB.ChangeSeatIndex(w.Ctx(), true); err != nil {
		t.Fatal(err)
	}
	if gaps, err := core.SchemaGaps(w.Ctx(), w.DB, without...); err != nil || !slices.ContainsFunc(gaps, func(gap string) bool {
		return strings.Contains(gap, "seatIds")
	}) {
		t.Errorf("wanted, and missing: gaps %q, %v", gaps, err)
	}
	start(without)
	want("an operator wants it", true)
}

// An operator switches the index on and off. Doubles are listed, and nothing changes then.
func TestSeatIndex_IsSwitchedOnAndOff(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	isThere := func() bool {
		t.Helper()
		decided, exists, err := w.SeatIndex(w.Ctx())
		if err != nil || exists != decided {
			t.Fatalf("decided: %t, exists: %t, %v", decided, exists, err)
		}
		if gaps, err := core.SchemaGaps(w.Ctx(), w.DB, core.Collections()...); err != nil || len(gaps) > 0 {
			t.Errorf("gaps %q, %v", gaps, err)
		}
		return decided
	}
	insert := func(id int, status string, seatIDs any) error {
		_, err := w.DB.Collection("seatlocks").InsertOne(w.Ctx(), bson.D{
			{Key: "_id", Value: holdfast.ID{byte(id)}}, {Key: "eventId", Value: holdfast.ID{9}}, {Key: "status", Value: status},
			{Key: "seatIds", Value: seatIDs},
		})
		return err
	}
	if !isThere() {
		t.Fatal("a new database has no index")
	}
	if err := errors.Join(insert(1, "ACTIVE", bson.A{"a", "b"}), insert(2, "RELEASED", bson.A{"a"})); err != nil {
		t.Fatal(err)
	}
	if err := insert(3, "BLOCKED", bson.A{"b", "c"}); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("a double was not refused: %v", err)
	}
	if err := w.DropSeatIndex(w.Ctx()); err != nil || isThere() {
		t.Fatalf("it was not dropped: %v", err)
	}
	err := errors.Join(insert(3, "BLOCKED", bson.A{"b", "c", "c"}), insert(4, "CONSUMED", "b"), insert(5, "EXPIRED", bson.A{"c"}))
	if err != nil {
		t.Fatal(err)
	}
	doubles, err := w.MakeSeatIndex(w.Ctx(), func(string) {})
	if !errors.Is(err, core.ErrDoubleSeats) || len(doubles) != 1 || doubles[0].SeatID != "b" || doubles[0].EventID != (holdfast.ID{9}) ||
		len(doubles[0].LockIDs) != 3 || isThere() {
		t.Errorf("got %+v, %v", doubles, err)
	}
	others := bson.D{{Key: "status", Value: bson.D{{Key: "$ne", Value: "BLOCKED"}}}}
	if _, err := w.DB.Collection("seatlocks").DeleteMany(w.Ctx(), others); err != nil {
		t.Fatal(err)
	}
	if doubles, err := w.MakeSeatIndex(w.Ctx(), func(string) {}); err != nil || len(doubles) > 0 || !isThere() {
		t.Errorf("got %+v, %v", doubles, err)
	}
	if err := insert(6, "ACTIVE", bson.A{"c"}); !mongo.IsDuplicateKeyError(err) {
		t.Errorf("a double was not refused: %v", err)
	}
}
