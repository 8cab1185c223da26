package mongodb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// Collection is a collection that a package needs, with its validator and indexes.
type Collection struct {
	Name string
	// Schema is the condition on each of its documents. A document that does not match is corrupt. If Schema is nil, every
	// document is valid.
	Schema *Schema
	// Bounds are further conditions on writes. They may be nil.
	Bounds  bson.D
	Indexes []Index
}

// Corrupt matches the documents that break the schema of their collection.
func Corrupt(c Collection) bson.D { return bson.D{{Key: "$nor", Value: bson.A{c.Schema.Filter()}}} }

// validator is the condition that MongoDB checks at writes; it is nil if there is none.
func (c Collection) validator() bson.D {
	if c.Schema == nil {
		return nil
	}
	return And(c.Schema.Filter(), c.Bounds)
}

const (
	validatorTimeout    = 5 * time.Second // writes wait as long as collMod waits
	codeNamespaceExists = 48
	codeIndexOptions    = 85
	codeIndexKeySpecs   = 86
	codeMaxTimeExpired  = 50
	codeLockTimeout     = 24
	codeIndexNotFound   = 27
)

// EnsureSchema creates missing collections, validators and indexes, and replaces those that differ. It may run in
// many processes at the same time. degraded lists the changes that MongoDB rejects, each with the command to run
// manually. err says that the database does not answer. EnsureSchema has no deadline, because it takes long to build
// an index over many documents.
func EnsureSchema(ctx context.Context, db *DB, collections ...Collection) (degraded []string, err error) {
	for _, c := range collections {
		if err := db.ensureCollection(ctx, c); err != nil {
			if !refusedSchema(err) {
				return degraded, Translate(err)
			}
			degraded = append(degraded, advice(err, "db.runCommand("+shell(collMod(c))+")"))
		}
		left, err := db.buildMissing(ctx, c)
		if err != nil {
			return degraded, Translate(err)
		}
		for _, index := range left {
			if err := db.ensureIndex(ctx, c.Name, index); err != nil {
				if !refusedSchema(err) {
					return degraded, Translate(err)
				}
				degraded = append(degraded, advice(err, "db.runCommand("+shell(createIndex(c.Name, index.name(), index))+")"))
			}
		}
	}
	return degraded, nil
}

// SchemaGaps lists the changes that EnsureSchema would make, each with the command to run
// manually. It only reads.
func SchemaGaps(ctx context.Context, db *DB, collections ...Collection) (gaps []string, err error) {
	for _, c := range collections {
		have, found, err := db.validatorOf(ctx, c.Name)
		if err != nil {
			return nil, Translate(err)
		}
		if !found {
			gaps = append(gaps, "the collection "+c.Name+" is missing; the API or a worker creates it at its start")
			continue
		}
		if same, err := c.sameValidator(have); err != nil {
			return nil, err
		} else if !same {
			gaps = append(gaps, "the validator of "+c.Name+" is missing or differs: db.runCommand("+shell(collMod(c))+")")
		}
		indexes, err := db.indexesOf(ctx, c.Name)
		if err != nil && !refusedSchema(err) {
			return nil, Translate(err)
		}
		for _, index := range c.Indexes {
			if !index.isIn(indexes) {
				gaps = append(gaps, "the index "+index.name()+" of "+c.Name+" is missing or differs: "+
					"db.runCommand("+shell(createIndex(c.Name, index.name(), index))+")")
			}
		}
	}
	return gaps, nil
}

// sameValidator reports whether a collection's validator needs no change.
func (c Collection) sameValidator(have bson.Raw) (bool, error) {
	if c.validator() == nil {
		return true, nil
	}
	want, err := bson.Marshal(c.validator())
	return bytes.Equal(have, want), err
}

func advice(err error, command string) string {
	return fmt.Sprintf("MongoDB rejected it (%v); correct that and run: %s", err, command)
}

// refusedSchema reports whether the server is alive and rejects the change, for any reason: an existing document, a
// view, or missing rights. The rejection does not concern the other changes.
func refusedSchema(err error) bool {
	_, rejected := Rejection(err)
	return rejected || hasCode(err, codeMaxTimeExpired, codeLockTimeout)
}

// hasCode reports whether the server answered with one of the codes.
func hasCode(err error, codes ...int) bool {
	var server mongo.ServerError
	return errors.As(err, &server) && slices.ContainsFunc(codes, server.HasErrorCode)
}

func (db *DB) ensureCollection(ctx context.Context, c Collection) error {
	have, found, err := db.validatorOf(ctx, c.Name)
	if err != nil {
		return err
	}
	if !found {
		create := options.CreateCollection()
		if v := c.validator(); v != nil {
			create.SetValidator(v)
		}
		err := db.CreateCollection(ctx, c.Name, create)
		var server mongo.ServerError
		if err == nil || !errors.As(err, &server) || !server.HasErrorCode(codeNamespaceExists) {
			return err
		}
		if have, _, err = db.validatorOf(ctx, c.Name); err != nil {
			return err
		}
	}
	if same, err := c.sameValidator(have); err != nil || same {
		return err
	}
	return db.setValidator(ctx, c)
}

// setValidator waits up to validatorTimeout for transactions on the collection.
func (db *DB) setValidator(ctx context.Context, c Collection) error {
	if _, err := db.EndOrphans(ctx); err != nil { // collMod would wait for an orphan, and all writes for collMod
		db.log.WarnContext(ctx, "Could not search for orphaned transactions", slog.Any("error", err))
	}
	ctx, cancel := context.WithTimeout(ctx, validatorTimeout)
	defer cancel()
	return db.RunCommand(ctx, collMod(c)).Err()
}

// These are the level and the action of our validators. Both are MongoDB's defaults.
const strict, isError = "strict", "error"

// validatorOf reads the validator of a collection. It returns nil if the validator does not refuse every invalid
// write.
func (db *DB) validatorOf(ctx context.Context, collection string) (validator bson.Raw, found bool, err error) {
	specs, err := db.ListCollectionSpecifications(ctx, Is("name", collection))
	if err != nil || len(specs) == 0 {
		return nil, false, err
	}
	level, _ := specs[0].Options.Lookup("validationLevel").StringValueOK()
	action, _ := specs[0].Options.Lookup("validationAction").StringValueOK()
	if cmp.Or(level, strict) == strict && cmp.Or(action, isError) == isError {
		validator, _ = specs[0].Options.Lookup("validator").DocumentOK()
	}
	return validator, true, nil
}

func collMod(c Collection) bson.D {
	return bson.D{
		{Key: "collMod", Value: c.Name},
		{Key: "validator", Value: c.validator()},
		{Key: "validationLevel", Value: strict},
		{Key: "validationAction", Value: isError},
	}
}

// shell writes a command in the syntax of mongosh.
func shell(command bson.D) string {
	text, err := bson.MarshalExtJSON(command, false, false)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
