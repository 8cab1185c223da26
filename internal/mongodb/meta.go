package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	metaCollection = "meta"
	// MetaCollection has documents that other packages keep about the whole database, by their names.
	MetaCollection = metaCollection
	metaSchema     = "schema" // _id of its only document
)

// Version is the version of a database's schema. It only rises.
type Version struct {
	Version int64
	// Created is the version with which the database was created; 0 if it is older than versions.
	Created int64
	Upgrade Upgrade
	// SeatIndex: the database has the unique index of seats. SeatIndexDecided: this was decided.
	SeatIndex, SeatIndexDecided bool
}

type versionDoc struct {
	Version   Whole         `bson:"version"`
	Created   Whole         `bson:"created"`
	Upgrade   Text          `bson:"upgrade"`
	SeatIndex bson.RawValue `bson:"seatIndex"`
}

func (d versionDoc) version() Version {
	isWanted, isDecided := d.SeatIndex.BooleanOK()
	return Version{
		Version: d.Version.Or(0), Created: d.Created.Or(0), Upgrade: Upgrade(d.Upgrade), SeatIndex: isWanted, SeatIndexDecided: isDecided,
	}
}

// DecideSeatIndex stores whether the database has the unique index of seats, unless it was decided before, and
// returns what is decided. The database has a version.
func (db *DB) DecideSeatIndex(ctx context.Context, wanted bool) (bool, error) {
	isDecided := bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$type", Value: "$seatIndex"}}, "bool"}}}
	decide := mongo.Pipeline{{{Key: "$set", Value: bson.D{
		{Key: "seatIndex", Value: bson.D{{Key: "$cond", Value: bson.A{isDecided, "$seatIndex", wanted}}}},
	}}}}
	return db.decidedSeatIndex(ctx, decide)
}

// ChangeSeatIndex stores a new decision.
func (db *DB) ChangeSeatIndex(ctx context.Context, wanted bool) error {
	_, err := db.decidedSeatIndex(ctx, bson.D{{Key: "$set", Value: bson.D{{Key: "seatIndex", Value: wanted}}}})
	return err
}

func (db *DB) decidedSeatIndex(ctx context.Context, update any) (bool, error) {
	var doc versionDoc
	err := db.Collection(metaCollection).FindOneAndUpdate(ctx, Is("_id", metaSchema), update,
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&doc)
	return doc.version().SeatIndex, Translate(err)
}

// RaiseVersion raises the version of the schema to at least a number, and returns what it is
// then. isNew says that the database is being created: it needs no upgrade. upgrade is the state of the
// upgrade where none can be read; a later version may know other states.
func (db *DB) RaiseVersion(ctx context.Context, to int64, isNew bool, upgrade Upgrade) (Version, error) {
	created := int64(0)
	if isNew {
		created = to
	}
	isState := bson.D{{Key: "$in", Value: bson.A{"$upgrade", bson.A{UpgradeRunning, UpgradeFinishing, UpgradeFinished}}}}
	isLater := bson.D{{Key: "$and", Value: bson.A{
		bson.D{{Key: "$isNumber", Value: "$version"}}, bson.D{{Key: "$gt", Value: bson.A{"$version", to}}},
	}}}
	keep := bson.D{{Key: "$or", Value: bson.A{isState, isLater}}}
	raise := mongo.Pipeline{{{Key: "$set", Value: bson.D{
		{Key: "version", Value: bson.D{{Key: "$max", Value: bson.A{"$version", to}}}},
		{Key: "created", Value: bson.D{{Key: "$ifNull", Value: bson.A{"$created", created}}}},
		{Key: "upgrade", Value: bson.D{{Key: "$cond", Value: bson.A{keep, "$upgrade", upgrade}}}},
	}}}}
	var doc versionDoc
	err := db.Collection(metaCollection).FindOneAndUpdate(ctx, Is("_id", metaSchema), raise,
		options.FindOneAndUpdate().SetUpsert(true).SetReturnDocument(options.After)).Decode(&doc)
	if IsDuplicate(err, ByID) { // another process has inserted it
		return db.RaiseVersion(ctx, to, isNew, upgrade)
	}
	if err == nil {
		db.upgrade.note(doc.version().Upgrade)
	}
	return doc.version(), Translate(err)
}

// SetUpgrade moves the state of the upgrade forward, never back, and returns what it is then. The
// database has a version.
func (db *DB) SetUpgrade(ctx context.Context, to Upgrade) (Upgrade, error) {
	var earlier bson.A
	for _, u := range []Upgrade{"", UpgradeRunning, UpgradeFinishing} {
		if u.rank() < to.rank() {
			earlier = append(earlier, string(u))
		}
	}
	_, err := db.Collection(metaCollection).UpdateOne(ctx,
		And(Is("_id", metaSchema), bson.D{{Key: "upgrade", Value: bson.D{{Key: "$in", Value: append(earlier, nil)}}}}),
		bson.D{{Key: "$set", Value: bson.D{{Key: "upgrade", Value: string(to)}}}})
	if err != nil {
		return "", UnknownOutcome(err)
	}
	v, _, err := db.ReadVersion(ctx)
	return v.Upgrade, err
}

// SchemaVersion reads the version of the schema. isNew: collection does not exist yet, so the
// database is being created.
func (db *DB) SchemaVersion(ctx context.Context, collection string) (v Version, isNew bool, err error) {
	_, exists, err := db.validatorOf(ctx, collection) // before the version, which is written before the first collection
	if err != nil {
		return Version{}, false, Translate(err)
	}
	v, found, err := db.ReadVersion(ctx)
	return v, !exists && !found, err
}

// ReadVersion reads the version of the schema, if the database has one.
func (db *DB) ReadVersion(ctx context.Context) (v Version, found bool, err error) {
	doc, found, err := First[versionDoc](ctx, db.Collection(metaCollection), mongo.Pipeline{Match(Is("_id", metaSchema))})
	if err == nil {
		db.upgrade.note(doc.version().Upgrade)
	}
	return doc.version(), found, Translate(err)
}
