package core_test

import (
	"context"
	"log/slog"
	"math"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/core"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A version of the schema that other software has changed stops no process.
func TestForeignDocuments_OfTheSchema(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	meta := bson.D{{Key: "version", Value: int64(core.SchemaVersion)}, {Key: "created", Value: int64(1)}, {Key: "upgrade", Value: "finished"}}
	for field := range meta {
		for _, value := range testenv.Extremes() {
			_, err := w.DB.Collection("meta").ReplaceOne(t.Context(), bson.D{{Key: "_id", Value: "schema"}}, testenv.With(meta, field, value),
				options.Replace().SetUpsert(true))
			if err != nil {
				t.Fatal(err)
			}
			process := testenv.Core(w.DB, core.AllUsersExist)
			if degraded, err := core.EnsureSchema(t.Context(), w.DB, slog.New(w.Log), core.Collections()...); err != nil || len(degraded) > 0 {
				t.Errorf("%s %v: %v, %v", meta[field].Key, value, degraded, err)
			}
			if _, err := core.SchemaGaps(t.Context(), w.DB, core.Collections()...); err != nil {
				t.Errorf("%s %v: %v", meta[field].Key, value, err)
			}
			w.Core = process
			if lock := w.Acquire(w.Event(1), 1, testenv.Soon()); lock.Seats != 1 {
				t.Errorf("%s %v: %+v", meta[field].Key, value, lock)
			}
		}
	}
}

// The state of the upgrade is lost, as after a restore of some collections only, or other software has
// changed it. A process that starts then writes what the validators accept.
func TestEnsureSchema_ALostStateOfTheUpgradeStopsNoSale(t *testing.T) {
	t.Parallel()
	finished, running := testenv.New(t), testenv.NewShared(t)
	const lost = "the whole document"
	for _, value := range []any{lost, testenv.Missing, nil, "", "text", 5, int64(math.MaxInt64), bson.A{"finished"}, bson.D{}} {
		for want, w := range map[mongodb.Upgrade]*testenv.Env{mongodb.UpgradeFinished: finished, mongodb.UpgradeRunning: running} {
			meta := w.DB.Collection("meta")
			if _, err := meta.DeleteOne(w.Ctx(), bson.D{{Key: "_id", Value: "schema"}}); err != nil {
				t.Fatal(err)
			}
			if value != lost {
				w.Insert("meta", testenv.With(bson.D{{Key: "_id", Value: "schema"}, {Key: "upgrade"}}, 1, value))
			}
			process := testenv.Open(t, w.URI, w.DB.Name())
			if state, err := process.UpgradeState(w.Ctx()); err != nil || state != want {
				t.Errorf("%v: the state is %q, %v; want %q", value, state, err, want)
			}
			if lock := process.Acquire(process.Event(1), 1, testenv.Soon()); lock.Seats != 1 {
				t.Errorf("%v: %+v", value, lock)
			}
		}
	}
}

// An index of other software on the collection of the version is no other process that has written it.
func TestEnsureSchema_AForeignIndexOnTheVersion(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	dropAll(w)
	w.Insert("meta", bson.D{{Key: "_id", Value: "other"}, {Key: "created", Value: int64(core.SchemaVersion)}})
	w.ForeignIndex("meta", "created")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := core.EnsureSchema(ctx, w.DB, slog.New(w.Log), core.Collections()...); !testenv.IsOfForeignIndex(err) {
		t.Errorf("got %v", err)
	}
}
