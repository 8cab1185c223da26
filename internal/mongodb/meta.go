package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	metaCollection = "meta"
	// MetaCollection contains documents about the whole database, which other packages keep under their names.
	MetaCollection = metaCollection
	metaSchema     = "schema" // _id of its only document
)

// Version describes a database's schema.
type Version struct {
	Version int64 // of the schema; it only rises. 0: the database has none yet
	// SeatIndex says that the database has the unique index of seats, and SeatIndexDecided that this was decided.
	SeatIndex, SeatIndexDecided bool
}

type versionDoc struct {
	Version   int64 `bson:"version"`
	SeatIndex *bool `bson:"seatIndex"`
}

func (d versionDoc) version() Version {
	return Version{Version: d.Version, SeatIndex: d.SeatIndex != nil && *d.SeatIndex, SeatIndexDecided: d.SeatIndex != nil}
}

// DecideSeatIndex stores whether the database has the unique index of seats, unless that was decided before, and
// returns the decision. The database must have a version.
func (db *DB) DecideSeatIndex(ctx context.Context, wanted bool) (bool, error) {
	decide := mongo.Pipeline{{{Key: "$set", Value: Is("seatIndex", bson.D{{Key: "$ifNull", Value: bson.A{"$seatIndex", wanted}}})}}}
	var doc versionDoc
	err := db.Collection(metaCollection).FindOneAndUpdate(ctx, Is("_id", metaSchema), decide,
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&doc)
	return doc.version().SeatIndex, Translate(err)
}

// RaiseVersion raises the version of the schema to at least the given number, and returns the version after that.
func (db *DB) RaiseVersion(ctx context.Context, to int64) (Version, error) {
	raise := bson.D{{Key: "$max", Value: bson.D{{Key: "version", Value: to}}}}
	var doc versionDoc
	err := db.Collection(metaCollection).FindOneAndUpdate(ctx, Is("_id", metaSchema), raise,
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&doc)
	if IsDuplicate(err, ByID) { // another process has inserted the version
		return db.RaiseVersion(ctx, to)
	}
	return doc.version(), Translate(err)
}

// ReadVersion reads the version of the schema. Its fields are zero in a new database.
func (db *DB) ReadVersion(ctx context.Context) (Version, error) {
	doc, _, err := First[versionDoc](ctx, db.Collection(metaCollection), mongo.Pipeline{Match(Is("_id", metaSchema))})
	return doc.version(), Translate(err)
}
