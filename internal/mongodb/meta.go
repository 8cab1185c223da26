package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	metaCollection = "meta"
	metaSchema     = "schema" // _id of its only document
)

// Version is the version of a database's schema. It only rises.
type Version struct {
	Version int64
	// Created is the version with which the database was created; 0 if it is older than versions.
	Created int64
}

type versionDoc struct {
	Version Whole `bson:"version"`
	Created Whole `bson:"created"`
}

func (d versionDoc) version() Version { return Version{d.Version.Or(0), d.Created.Or(0)} }

// RaiseVersion raises the version of the schema to at least a number, and returns what it is
// then. isNew says that the database is being created.
func (db *DB) RaiseVersion(ctx context.Context, to int64, isNew bool) (Version, error) {
	created := int64(0)
	if isNew {
		created = to
	}
	raise := mongo.Pipeline{{{Key: "$set", Value: bson.D{
		{Key: "version", Value: bson.D{{Key: "$max", Value: bson.A{"$version", to}}}},
		{Key: "created", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$created", created}}}},
	}}}}
	var doc versionDoc
	err := db.Collection(metaCollection).FindOneAndUpdate(ctx, Is("_id", metaSchema), raise,
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&doc)
	if IsDuplicate(err) { // another process has inserted it
		return db.RaiseVersion(ctx, to, isNew)
	}
	return doc.version(), Translate(err)
}

// SchemaVersion reads the version of the schema. isNew: collection does not exist yet, so the
// database is being created.
func (db *DB) SchemaVersion(ctx context.Context, collection string) (v Version, isNew bool, err error) {
	_, exists, err := db.validatorOf(ctx, collection) // before the version, which is written before the first collection
	if err != nil {
		return Version{}, false, Translate(err)
	}
	doc, found, err := First[versionDoc](ctx, db.Collection(metaCollection), mongo.Pipeline{Match(Is("_id", metaSchema))})
	return doc.version(), !exists && !found, Translate(err)
}
