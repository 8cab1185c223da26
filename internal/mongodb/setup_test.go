package mongodb_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// things are a collection of ours, with a validator and one unique index.
var things = mongodb.Collection{
	Name: "things", Validator: mongodb.Is("kind", "good"), Indexes: []mongodb.Index{{Keys: mongodb.Keys("key"), Unique: true}},
}

// plain and shared are collections of ours without a validator.
var (
	plain  = mongodb.Collection{Name: "plain"}
	shared = mongodb.Collection{Name: "shared", ForeignValidator: true}
)

func created(name string, more ...bson.E) bson.D {
	return append(bson.D{{Key: "create", Value: name}}, more...)
}

func indexed(name string, keys bson.D, more ...bson.E) bson.D {
	spec := append(bson.D{{Key: "key", Value: keys}, {Key: "name", Value: "theirs"}}, more...)
	return bson.D{{Key: "createIndexes", Value: name}, {Key: "indexes", Value: bson.A{spec}}}
}

// Each set-up of other software is told once, and what to do about it. Ours, and what harms nothing, is
// not told.
func TestForeignSetup(t *testing.T) {
	t.Parallel()
	isUnique, strict := bson.E{Key: "unique", Value: true}, bson.E{Key: "validator", Value: mongodb.Is("never", 1)}
	ends := bson.E{Key: "expireAfterSeconds", Value: 60}
	ofKind := bson.E{Key: "partialFilterExpression", Value: mongodb.Is("kind", "bad")}
	english := bson.E{Key: "collation", Value: bson.D{{Key: "locale", Value: "en"}, {Key: "strength", Value: 2}}}
	for name, c := range map[string]struct {
		setup bson.D
		want  []string // the beginning, the command
	}{
		"nothing": {},
		"a unique index": {indexed("things", mongodb.Keys("user"), isUnique),
			[]string{`the unique index "theirs" of things `, `db.things.dropIndex("theirs")`}},
		"a unique index on our keys": {indexed("things", mongodb.Keys("key"), isUnique, ofKind),
			[]string{`the unique index "theirs" of things `, `db.things.dropIndex("theirs")`}},
		"our index, under another name":    {setup: indexed("things", mongodb.Keys("key"), isUnique)},
		"an index that each document fits": {setup: indexed("things", mongodb.Keys("user", "_id"), isUnique)},
		"an index that refuses nothing":    {setup: indexed("things", mongodb.Keys("user"))},
		"an index that deletes documents": {indexed("things", mongodb.Keys("at"), ends),
			[]string{`the index "theirs" of things deletes `, `db.things.dropIndex("theirs")`}},
		"an index that deletes some": {setup: indexed("things", mongodb.Keys("at"), ends, ofKind)},
		"a capped collection": {created("things", bson.E{Key: "capped", Value: true}, bson.E{Key: "size", Value: 4096}),
			[]string{"things is capped", `db.things.aggregate([{$out: "things_copy"}])`}},
		"a collation": {created("things", english), []string{"things has a collation", `db.things.aggregate([{$out: "things_copy"}])`}},
		"a view": {created("things", bson.E{Key: "viewOn", Value: "x"}, bson.E{Key: "pipeline", Value: bson.A{}}),
			[]string{"things is a view", "db.things.drop()"}},
		"a time series": {created("things", bson.E{Key: "timeseries", Value: bson.D{{Key: "timeField", Value: "at"}}}),
			[]string{"things is a timeseries", "db.things.drop()"}},
		"a validator beside ours": {setup: created("things", strict)},
		"a validator": {created("plain", strict),
			[]string{"plain has a validator", `db.runCommand({"collMod":"plain","validator":{}})`}},
		"a validator that may be theirs": {setup: created("shared", strict)},
		"a validator that only warns":    {setup: created("plain", strict, bson.E{Key: "validationAction", Value: "warn"})},
		"a validator that is off":        {setup: created("plain", strict, bson.E{Key: "validationLevel", Value: "off"})},
		"a collection of other software": {setup: created("others", strict, english)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := testenv.New(t)
			if c.setup != nil {
				w.Command(c.setup)
			}
			for _, situation := range []string{"before the start", "after it"} {
				advice, err := mongodb.ForeignSetup(w.Ctx(), w.DB, things, plain, shared, things)
				if err != nil || len(advice) != min(1, len(c.want)) {
					t.Fatalf("%s: %q, %v", situation, advice, err)
				}
				if len(advice) > 0 && (!strings.HasPrefix(advice[0], c.want[0]) || !strings.Contains(advice[0], " by "+c.want[1])) {
					t.Errorf("%s: %s", situation, advice[0])
				}
				if _, err := mongodb.EnsureSchema(w.Ctx(), w.DB, things, plain); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The advice for a collection that has to be copied keeps its documents, and is enough.
func TestForeignSetup_TheAdviceForACopy(t *testing.T) {
	t.Parallel()
	w := testenv.New(t)
	w.Command(created("things", bson.E{Key: "capped", Value: true}, bson.E{Key: "size", Value: 4096},
		bson.E{Key: "collation", Value: bson.D{{Key: "locale", Value: "en"}}}))
	w.Insert("things", bson.D{{Key: "_id", Value: 1}, {Key: "kind", Value: "good"}, {Key: "key", Value: "a"}})
	if advice, err := mongodb.ForeignSetup(w.Ctx(), w.DB, things); err != nil || len(advice) != 2 {
		t.Errorf("%q, %v", advice, err)
	}
	if _, err := w.DB.Collection("things").Aggregate(w.Ctx(), mongo.Pipeline{{{Key: "$out", Value: "things_copy"}}}); err != nil {
		t.Fatal(err)
	}
	rename := bson.D{{Key: "renameCollection", Value: w.DB.Name() + ".things_copy"}, {Key: "to", Value: w.DB.Name() + ".things"},
		{Key: "dropTarget", Value: true}}
	if err := w.DB.Client().Database("admin").RunCommand(w.Ctx(), rename).Err(); err != nil {
		t.Fatal(err)
	}
	if degraded, err := mongodb.EnsureSchema(w.Ctx(), w.DB, things); err != nil || len(degraded) > 0 {
		t.Errorf("%q, %v", degraded, err)
	}
	advice, err := mongodb.ForeignSetup(w.Ctx(), w.DB, things)
	gaps, gapsErr := mongodb.SchemaGaps(w.Ctx(), w.DB, things)
	if all := slices.Concat(advice, gaps); err != nil || gapsErr != nil || len(all) > 0 {
		t.Errorf("%q, %v, %v", all, err, gapsErr)
	}
	if n, err := w.DB.Collection("things").CountDocuments(w.Ctx(), bson.D{}); err != nil || n != 1 {
		t.Errorf("%d documents, %v", n, err)
	}
}
