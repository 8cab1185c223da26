package enginetest

import (
	"context"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/holdfast-dev/holdfast/jobs"
)

// firstDate is the first one that RFC 3339 can write. No date is moved before it.
const firstDate = -62_135_596_800_000

// Advance makes d pass for the engine: it moves every date that is stored in the test's database d into the past. d must be
// whole milliseconds, at least one. The clock of MongoDB decides what is due, and stays as it is. So after Advance(10 *
// time.Minute) a lock of ten minutes is due, a sale that begins in ten minutes is open, and the next Sweep, or a job
// of Run, does what is due.
//
// All dates move in one transaction: others see all of them as before, or all of them moved. It needs a database of at most
// some thousands of documents. The revisions of events rise, so that no process relies on dates that it remembers; other processes
// on the database may run meanwhile.
//
// What does not move: values that the test has read before, the ObjectIDs of documents, the cluster's times of changes, by
// which the job retention removes them, leases of jobs, and page tokens of lists that are ordered by date. MongoDB removes
// idempotency keys of creations that are older than a day within a minute, not at once.
func (e *Engine) Advance(d time.Duration) {
	e.t.Helper()
	if d < time.Millisecond || d%time.Millisecond != 0 {
		e.t.Fatalf("time can't advance by %v: give whole milliseconds, at least one", d)
	}
	if err := e.advance(e.t.Context(), d.Milliseconds()); err != nil {
		e.t.Fatal("time did not advance: ", err)
	}
}

func (e *Engine) advance(ctx context.Context, ms int64) error {
	db := e.Client.Database(e.Database)
	names, err := db.ListCollectionNames(ctx, bson.D{{Key: "type", Value: "collection"}})
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return name == jobs.LeaseCollection || strings.HasPrefix(name, "system.") // a leader would lose its lease
	})
	session, err := e.Client.StartSession()
	if err != nil {
		return err
	}
	defer session.EndSession(context.WithoutCancel(ctx))
	_, err = session.WithTransaction(ctx, func(ctx context.Context) (any, error) {
		for _, name := range names {
			if err := moveDates(ctx, collection(db, name), ms); err != nil {
				return nil, err
			}
		}
		// What a process remembers of an event, such as the next check of its waiting list, is valid for its revision only.
		_, err := collection(db, "events").UpdateMany(ctx, bson.D{}, bson.D{{Key: "$inc", Value: bson.D{{Key: "internal.rev", Value: int64(1)}}}})
		return nil, err
	}, options.Transaction().SetReadConcern(readconcern.Snapshot()).SetWriteConcern(writeconcern.Majority()))
	return err
}

// collection is for this package's own writes: it moves time under the engine, which must not notice.
func collection(db *mongo.Database, name string) *mongo.Collection {
	return db.Collection(name) //nolint:forbidigo // no service of the engine moves time
}

// moveDates moves all dates of a collection's documents into the past.
func moveDates(ctx context.Context, c *mongo.Collection, ms int64) error {
	cursor, err := c.Find(ctx, bson.D{})
	if err != nil {
		return err
	}
	var documents []bson.Raw
	if err := cursor.All(ctx, &documents); err != nil {
		return err
	}
	var moved []mongo.WriteModel
	for _, document := range documents {
		id := document.Lookup("_id")
		if moveDatesOf(document, ms) {
			moved = append(moved, mongo.NewReplaceOneModel().SetFilter(bson.D{{Key: "_id", Value: id}}).SetReplacement(document))
		}
	}
	if len(moved) == 0 {
		return nil
	}
	_, err = c.BulkWrite(ctx, moved, options.BulkWrite().SetBypassDocumentValidation(true)) // a test may have stored a corrupt document
	return err
}

// moveDatesOf moves the dates of a document or an array in place, those within it too, and reports whether there is one.
// It leaves out the _id, which can't change.
func moveDatesOf(document []byte, ms int64) (isMoved bool) {
	elements, _ := bsoncore.Document(document).Elements() // MongoDB stores no document that is not valid
	for _, element := range elements {
		if element.Key() == "_id" {
			continue
		}
		switch value := element.Value(); value.Type {
		case bsoncore.TypeDateTime:
			if at := value.DateTime() - ms; at >= firstDate {
				binary.LittleEndian.PutUint64(value.Data, uint64(at)) //nolint:gosec // BSON has the bits of a negative number too
				isMoved = true
			}
		case bsoncore.TypeEmbeddedDocument, bsoncore.TypeArray:
			isMoved = moveDatesOf(value.Data, ms) || isMoved
		}
	}
	return isMoved
}
