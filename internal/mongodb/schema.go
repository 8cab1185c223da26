package mongodb

import (
	"bytes"
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
	Name      string
	Validator bson.D // nil: none
	// ForeignValidator: without a Validator, one of other software is no fault.
	ForeignValidator bool
	// Upgraded replaces Validator once the upgrade from the former version is being finished: it
	// refuses what that version writes. nil: Validator stays.
	Upgraded bson.D
	Indexes  []Index
}

// validator is the one that the collection has to have. shared: processes of the former version
// may serve the database too.
func (c Collection) validator(shared bool) bson.D {
	if shared || c.Upgraded == nil {
		return c.Validator
	}
	return c.Upgraded
}

const (
	validatorTimeout    = 5 * time.Second // writes wait as long as collMod waits
	codeNamespaceExists = 48
	codeIndexOptions    = 85
	codeIndexKeySpecs   = 86
	codeMaxTimeExpired  = 50
	codeLockTimeout     = 24
	codeIndexNotFound   = 27
	codeInvalidDocument = 121
)

// EnsureSchema creates missing collections, validators and indexes, and changes different
// ones. It may run in many processes at the same time. degraded lists the changes that
// MongoDB rejects, each with the command to run manually. err says that the database does
// not answer. It has no deadline: building an index over many documents takes long.
func EnsureSchema(ctx context.Context, db *DB, collections ...Collection) (degraded []string, err error) {
	for _, c := range collections {
		if err := db.ensureCollection(ctx, c); err != nil {
			if !refusedSchema(err) {
				return degraded, Translate(err)
			}
			degraded = append(degraded, advice(err, "db.runCommand("+shell(collMod(c, db.Shared()))+")"))
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
		if same, err := c.sameValidator(have, db.Shared()); err != nil {
			return nil, err
		} else if !same {
			gaps = append(gaps, "the validator of "+c.Name+" is missing or differs: db.runCommand("+shell(collMod(c, db.Shared()))+")")
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

// sameValidator reports whether a collection's validator needs no change. The upgrade may have
// been finished since shared was read, so the validator of the end always needs none.
func (c Collection) sameValidator(have bson.Raw, shared bool) (bool, error) {
	for _, validator := range []bson.D{c.validator(shared), c.validator(false)} {
		if validator == nil {
			return true, nil
		}
		if want, err := bson.Marshal(validator); err != nil || bytes.Equal(have, want) {
			return err == nil, err
		}
	}
	return false, nil
}

func advice(err error, command string) string {
	return fmt.Sprintf("MongoDB rejected it (%v); correct that and run: %s", err, command)
}

// refusedSchema reports whether the server is alive and rejects the change, whatever the reason: a document
// of other software, a view, rights. It says nothing of the other changes.
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
		if validator := c.validator(db.Shared()); validator != nil {
			create.SetValidator(validator).SetValidationLevel("moderate")
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
	if same, err := c.sameValidator(have, db.Shared()); err != nil || same {
		return err
	}
	return db.setValidator(ctx, c)
}

// setValidator waits up to validatorTimeout for transactions on the collection.
//
// Before a validator of the end of an upgrade was there, the former version may have written
// documents that have to be moved. So the move begins anew: before the change, lest a process that
// dies here leaves no trace, and after it, because a move that began before it may have missed a
// document.
func (db *DB) setValidator(ctx context.Context, c Collection) error {
	isEnd := c.Upgraded != nil && !db.Shared()
	if isEnd {
		if err := db.ResetPosition(ctx); err != nil {
			return err
		}
	}
	if err := db.collMod(ctx, c); err != nil || !isEnd {
		return err
	}
	return db.ResetPosition(ctx)
}

func (db *DB) collMod(ctx context.Context, c Collection) error {
	if _, err := db.EndOrphans(ctx); err != nil { // collMod would wait for an orphan, and all writes for collMod
		db.log.WarnContext(ctx, "Could not search for orphaned transactions", slog.Any("error", err))
	}
	ctx, cancel := context.WithTimeout(ctx, validatorTimeout)
	defer cancel()
	return db.RunCommand(ctx, collMod(c, db.Shared())).Err()
}

func (db *DB) validatorOf(ctx context.Context, collection string) (validator bson.Raw, found bool, err error) {
	have, err := db.validators(ctx, []string{collection})
	validator, found = have[collection]
	return validator, found, err
}

// validators reads the validators of those collections that exist; one of another level than ours
// is nil.
func (db *DB) validators(ctx context.Context, collections []string) (map[string]bson.Raw, error) {
	specs, err := db.ListCollectionSpecifications(ctx, In("name", collections))
	have := map[string]bson.Raw{}
	for _, spec := range specs {
		validator, _ := spec.Options.Lookup("validator").DocumentOK()
		if level, ok := spec.Options.Lookup("validationLevel").StringValueOK(); !ok || level != "moderate" {
			validator = nil
		}
		have[spec.Name] = validator
	}
	return have, err
}

// RestoreValidators sets the validators of the end of an upgrade where they are missing, and
// returns the names of these collections. advice says what to run if MongoDB refuses it.
func RestoreValidators(ctx context.Context, db *DB, collections ...Collection) (restored []string, advised []string, err error) {
	var names []string
	for _, c := range collections {
		names = append(names, c.Name)
	}
	have, err := db.validators(ctx, names)
	if err != nil {
		return nil, nil, Translate(err)
	}
	for _, c := range collections {
		validator, found := have[c.Name]
		if c.Upgraded == nil || !found {
			continue
		}
		if same, err := c.sameValidator(validator, false); err != nil {
			return restored, advised, err
		} else if same {
			continue
		}
		switch err := db.setValidator(ctx, c); {
		case err == nil:
			restored = append(restored, c.Name)
		case refusedSchema(err):
			advised = append(advised, advice(err, "db.runCommand("+shell(collMod(c, false))+")"))
		default:
			return restored, advised, Translate(err)
		}
	}
	return restored, advised, nil
}

func collMod(c Collection, shared bool) bson.D {
	return bson.D{
		{Key: "collMod", Value: c.Name},
		{Key: "validator", Value: c.validator(shared)},
		{Key: "validationLevel", Value: "moderate"},
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

// OneOf is a validator's clause: the field is one of the values.
func OneOf[T ~string](field string, values ...T) bson.D {
	list := bson.A{}
	for _, v := range values {
		list = append(list, string(v))
	}
	return bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: list}}}}
}
