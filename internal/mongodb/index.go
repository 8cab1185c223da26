package mongodb

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	indexPrefix  = "hf_" // of the names of our indexes
	ignoringCase = 2     // the strength of a collation
)

// Index is one index. Its name is derived from its keys.
type Index struct {
	Keys    bson.D
	Unique  bool
	Partial bson.D
	// CaseInsensitive compares strings without regard to case.
	CaseInsensitive bool
	// ExpireAfter makes MongoDB delete documents this long after the date of the key, or up to some minutes later.
	// If it is 0, MongoDB deletes none.
	ExpireAfter time.Duration
}

// buildMissing builds the missing indexes of a collection by one command: MongoDB reads the documents once for all
// indexes. It returns the indexes that ensureIndex has to handle one by one: unique indexes, which existing
// documents may prevent, indexes whose names are in use, and all of them if MongoDB rejects the command.
func (db *DB) buildMissing(ctx context.Context, c Collection) (left []Index, err error) {
	have, err := db.indexesOf(ctx, c.Name)
	if err != nil {
		return c.Indexes, unlessRefused(err)
	}
	var missing []Index
	specs := bson.A{}
	for _, i := range c.Indexes {
		name := i.name()
		switch {
		case have[name] != nil && !i.matches(have[name]), i.Unique && !i.isIn(have):
			left = append(left, i)
		case !i.isIn(have):
			missing, specs = append(missing, i), append(specs, indexSpec(name, i))
		}
	}
	if len(missing) <= 1 {
		return append(left, missing...), nil
	}
	for _, i := range missing {
		db.log.InfoContext(ctx, "Building index", slog.String("collection", c.Name), slog.String("index", i.name()))
	}
	err = db.RunCommand(ctx, bson.D{{Key: "createIndexes", Value: c.Name}, {Key: "indexes", Value: specs}}).Err()
	if err != nil {
		left = append(left, missing...)
	}
	return left, unlessRefused(err)
}

// unlessRefused returns an error only if it says that the database does not answer.
func unlessRefused(err error) error {
	if err == nil || refusedSchema(err) {
		return nil
	}
	return err
}

// ensureIndex creates an index, under any name. It drops an index with the same name and another definition once the
// new one is complete.
func (db *DB) ensureIndex(ctx context.Context, collection string, index Index) error {
	have, err := db.indexesOf(ctx, collection)
	if err != nil {
		return err
	}
	name, stale := index.name(), false
	for n := 2; have[name] != nil && !index.matches(have[name]); n++ {
		name, stale = fmt.Sprintf("%s_%d", index.name(), n), true
	}
	if !index.isIn(have) {
		db.log.InfoContext(ctx, "Building index", slog.String("collection", collection), slog.String("index", name))
		err := db.RunCommand(ctx, createIndex(collection, name, index)).Err()
		if stale && hasCode(err, codeIndexOptions, codeIndexKeySpecs) { // MongoDB does not keep both
			if err = db.dropIndex(ctx, collection, index.name()); err == nil {
				stale = false
				err = db.RunCommand(ctx, createIndex(collection, index.name(), index)).Err()
			}
		}
		if err != nil {
			return err
		}
	}
	if stale {
		return db.dropIndex(ctx, collection, index.name())
	}
	return nil
}

func (db *DB) dropIndex(ctx context.Context, collection, name string) error {
	err := db.Collection(collection).Indexes().DropOne(ctx, name)
	if hasCode(err, codeIndexNotFound) { // another process has dropped it first
		return nil
	}
	return err
}

// indexesOf returns the definitions of a collection's indexes, by name.
func (db *DB) indexesOf(ctx context.Context, collection string) (map[string]bson.Raw, error) {
	cursor, err := db.Collection(collection).Indexes().List(ctx)
	if err != nil {
		return nil, err
	}
	var all []bson.Raw
	if err := cursor.All(ctx, &all); err != nil {
		return nil, err
	}
	have := make(map[string]bson.Raw, len(all))
	for _, definition := range all {
		name, _ := definition.Lookup("name").StringValueOK()
		have[name] = definition
	}
	return have, nil
}

func (i Index) isIn(have map[string]bson.Raw) bool {
	for _, definition := range have {
		if i.matches(definition) {
			return true
		}
	}
	return false
}

// matches reports whether an index has this definition, whatever its name.
func (i Index) matches(have bson.Raw) bool {
	if !hasKeys(have.Lookup("key").Document(), i.Keys) {
		return false
	}
	unique, _ := have.Lookup("unique").BooleanOK()
	lifetime, _ := have.Lookup("expireAfterSeconds").AsInt64OK()
	partial, hasPartial := have.Lookup("partialFilterExpression").DocumentOK()
	_, hasCollation := have.Lookup("collation").DocumentOK()
	strength, _ := have.Lookup("collation", "strength").AsInt64OK()
	sparse, _ := have.Lookup("sparse").BooleanOK()
	if unique != i.Unique || lifetime != int64(i.ExpireAfter/time.Second) || sparse ||
		hasCollation != i.CaseInsensitive || i.CaseInsensitive && strength != ignoringCase {
		return false
	}
	if i.Partial == nil {
		return !hasPartial
	}
	want, err := bson.Marshal(i.Partial)
	return err == nil && bytes.Equal(partial, want)
}

// hasKeys reports whether an index has these keys, ascending.
func hasKeys(have bson.Raw, want bson.D) bool {
	keys, err := have.Elements()
	return err == nil && slices.EqualFunc(keys, want, func(key bson.RawElement, want bson.E) bool {
		direction, ok := key.Value().AsInt64OK()
		return key.Key() == want.Key && ok && direction == 1
	})
}

// name is made of the keys and options.
func (i Index) name() string {
	name := indexPrefix
	for n, key := range i.Keys {
		if n > 0 {
			name += "_"
		}
		name += key.Key
	}
	if i.Unique {
		name += "_unique"
	}
	if i.ExpireAfter > 0 {
		name += "_ttl"
	}
	for _, p := range i.Partial {
		name += "_if_" + p.Key
		if s, ok := p.Value.(string); ok {
			name += "_" + s
		}
	}
	return name
}

func createIndex(collection, name string, i Index) bson.D {
	return bson.D{{Key: "createIndexes", Value: collection}, {Key: "indexes", Value: bson.A{indexSpec(name, i)}}}
}

func indexSpec(name string, i Index) bson.D {
	spec := bson.D{{Key: "key", Value: i.Keys}, {Key: "name", Value: name}}
	if i.Unique {
		spec = append(spec, bson.E{Key: "unique", Value: true})
	}
	if i.Partial != nil {
		spec = append(spec, bson.E{Key: "partialFilterExpression", Value: i.Partial})
	}
	if i.ExpireAfter > 0 {
		spec = append(spec, bson.E{Key: "expireAfterSeconds", Value: int64(i.ExpireAfter / time.Second)})
	}
	collation := bson.D{{Key: "locale", Value: "simple"}} // otherwise the index would get the collation of the collection
	if i.CaseInsensitive {
		collation = bson.D{{Key: "locale", Value: "en"}, {Key: "strength", Value: ignoringCase}}
	}
	return append(spec, bson.E{Key: "collation", Value: collation})
}

// IgnoringCase returns the collation of an index that is CaseInsensitive, and of its queries.
func IgnoringCase() *options.Collation {
	return &options.Collation{Locale: "en", Strength: ignoringCase}
}
