package mongodb

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

const (
	creationsName = "idempotencykeys"
	// creationTTL is how long MongoDB keeps the key of a creation; see holdfast.CreationKey.
	creationTTL = 24 * time.Hour
	// maxCreation is more than the time from a document's date to the last attempt of its transaction.
	maxCreation = time.Hour
)

// Collections returns the collections of this package: the keys of Create, and the version of the schema.
func Collections() []Collection {
	return []Collection{
		{Name: creationsName, Indexes: []Index{{Keys: Keys("createdAt"), ExpireAfter: creationTTL}}},
		{Name: metaCollection},
	}
}

// Creation is a request to insert one document.
type Creation struct {
	Collection string // of the document
	ID         holdfast.ID
	Key        holdfast.CreationKey // may be zero
	Hash       string               // different for different requests of the collection with one key
	// Insert inserts the document, in the transaction of its context. It turns the error of a unique index into a
	// refusal.
	Insert func(ctx context.Context) error
}

// id names the key in the collection of keys: one for all kinds of documents.
func (c Creation) id() bson.D {
	return bson.D{{Key: "caller", Value: c.Key.Caller}, {Key: "key", Value: c.Key.Key}}
}

// hash is different for different requests with one key.
func (c Creation) hash() string { return c.Collection + "|" + c.Hash }

// errCreationKeyUsed says that another transaction has used the key.
const errCreationKeyUsed = AbortError("the key of a creation is in use")

// Create inserts a document, and stores its key, in one transaction. It returns the ID of the document that was
// inserted with the key: by this request or, if the request is a repeat, by an earlier one. It refuses with
// IDEMPOTENCY_KEY_REUSED if the earlier request was different, or with a refusal of Insert; refusals are confirmed.
// For other errors see InTx.
func (db *DB) Create(ctx context.Context, c Creation) (id holdfast.ID, replayed bool, err error) {
	_, err = ConfirmRefusal(ctx, db, IsRefusal, func(ctx context.Context) (struct{}, error) {
		err := Do(ctx, db, func(ctx context.Context) error {
			if c.Key.Key != "" {
				if err := db.insertKey(ctx, c); err != nil {
					return err
				}
			}
			return c.Insert(ctx)
		})
		id, replayed = c.ID, false
		if errors.Is(err, errCreationKeyUsed) {
			id, err = db.createdBefore(ctx, c)
			replayed = err == nil
		}
		return struct{}{}, err
	})
	return id, replayed, err
}

// insertKey is the first write of a creation. So it finds a repeat before another unique index refuses the document.
func (db *DB) insertKey(ctx context.Context, c Creation) error {
	_, err := db.Collection(creationsName).InsertOne(ctx, bson.D{
		{Key: "_id", Value: c.id()}, {Key: "createdId", Value: c.ID}, {Key: "requestHash", Value: c.hash()},
		{Key: "createdAt", Value: db.clock().UTC()},
	})
	if IsDuplicate(err, ByID) {
		return errCreationKeyUsed
	}
	return err
}

// ForgetCreation removes the key of the creation of a document, in the caller's transaction. createdAt is the document's date
// by the clock of the process that created it; zero means that it is not known.
func (db *DB) ForgetCreation(ctx context.Context, id holdfast.ID, createdAt time.Time) error {
	which := Is("createdId", id)
	if !createdAt.IsZero() { // few keys are read then: no index has the document
		since, until := createdAt.Add(-time.Minute), createdAt.Add(maxCreation)
		which = And(Is("createdAt", bson.D{{Key: "$gte", Value: since}, {Key: "$lte", Value: until}}), which)
	}
	_, err := db.Collection(creationsName).DeleteMany(ctx, which)
	return err
}

// createdBefore finds the document that an earlier request with the key has created. The unique index may contain a
// key that the majority does not have yet, so Barrier waits for it.
func (db *DB) createdBefore(ctx context.Context, c Creation) (holdfast.ID, error) {
	at, err := db.Barrier(ctx)
	if err != nil {
		return holdfast.ID{}, err
	}
	ctx = WithReadTime(ctx, at)
	earlier, found, err := First[struct {
		CreatedID holdfast.ID `bson:"createdId"`
		Hash      string      `bson:"requestHash"`
	}](ctx, db.Collection(creationsName), mongo.Pipeline{Match(Is("_id", c.id()))})
	switch {
	case err != nil:
		return holdfast.ID{}, Translate(err)
	case !found: // it was too old, and was removed just now
		return holdfast.ID{}, ConflictError(errCreationKeyUsed)
	case earlier.Hash != c.hash():
		return holdfast.ID{}, holdfast.Refuse(holdfast.CodeIdempotencyKeyReused, "The idempotency key was used for another request.")
	}
	return earlier.CreatedID, nil
}
