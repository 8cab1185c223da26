package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// maxFound bounds the documents of one collection that a scan finds.
const maxFound = 1000

// maxID bounds the size of an _id that is kept whole, in bytes.
const maxID = 500

// CorruptDocument is one document that breaks the schema of its collection.
type CorruptDocument struct {
	Collection string        `bson:"collection"`
	ID         bson.RawValue `bson:"id"`
	EventID    holdfast.ID   `bson:"eventId,omitempty"` // its field eventId, if that is an ObjectID
	Why        string        `bson:"why"`
}

// Name is the document's _id as text.
func (d CorruptDocument) Name() string {
	if id, ok := d.ID.ObjectIDOK(); ok {
		return id.Hex()
	}
	return d.ID.String()
}

func (d CorruptDocument) key() string { return d.Collection + " " + d.Name() }

// CorruptReport is the result of a scan.
type CorruptReport struct {
	Began     time.Time         `bson:"began"` // by MongoDB's clock
	Took      time.Duration     `bson:"took"`
	Documents []CorruptDocument `bson:"documents"`
	Cut       []string          `bson:"cut"` // the collections that have at least maxFound of them
}

// Of returns the corrupt documents of a collection.
func (f CorruptReport) Of(collection string) (list []CorruptDocument) {
	for _, d := range f.Documents {
		if d.Collection == collection {
			list = append(list, d)
		}
	}
	return list
}

// ids returns the _id of each corrupt document of a collection.
func (f CorruptReport) ids(collection string) (ids []bson.RawValue) {
	for _, d := range f.Of(collection) {
		ids = append(ids, d.ID)
	}
	return ids
}

// Count describes the number of corrupt documents of a collection.
func (f CorruptReport) Count(collection string) string {
	count := fmt.Sprint(len(f.Of(collection)))
	if slices.Contains(f.Cut, collection) {
		return "at least " + count
	}
	return count
}

// String is the state for /readyz.
func (f CorruptReport) String() string {
	var parts, seen []string
	for _, d := range f.Documents {
		if !slices.Contains(seen, d.Collection) {
			seen = append(seen, d.Collection)
			parts = append(parts, f.Count(d.Collection)+" in "+d.Collection)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

// scanCorrupt searches the collections that have a schema.
func scanCorrupt(ctx context.Context, db *mongodb.DB, all []mongodb.Collection) (found CorruptReport, err error) {
	if found.Began, err = db.Now(ctx); err != nil {
		return found, err
	}
	start := db.Clock()()
	for _, c := range all {
		if c.Schema == nil {
			continue
		}
		list, err := scanCollection(ctx, db, c)
		if err != nil {
			return found, fmt.Errorf("searching %s for corrupt documents: %w", c.Name, err)
		}
		found.Documents = append(found.Documents, list...)
		if len(list) == maxFound {
			found.Cut = append(found.Cut, c.Name)
		}
	}
	found.Took = db.Clock().Since(start)
	return found, nil
}

func scanCollection(ctx context.Context, db *mongodb.DB, c mongodb.Collection) (list []CorruptDocument, err error) {
	corrupt := mongodb.Corrupt(c)
	err = mongodb.EachRaw(ctx, db.Collection(c.Name), corrupt, bson.D{}, maxFound, func(doc bson.Raw) error {
		if len(list) == maxFound {
			return errEnough
		}
		list = append(list, CorruptDocument{
			Collection: c.Name, ID: shortID(doc.Lookup("_id")), EventID: mongodb.IDOf(doc, "eventId"), Why: c.Schema.Why(doc),
		})
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return list, mongodb.Translate(err)
}

// errEnough ends the search of a collection.
var errEnough = errors.New("enough corrupt documents were found")

// shortID returns a copy of an _id, or the beginning of its text if it is long.
func shortID(id bson.RawValue) bson.RawValue {
	if len(id.Value) > maxID {
		text := id.String()
		kind, value, _ := bson.MarshalValue(text[:min(maxID, len(text))])
		return bson.RawValue{Type: kind, Value: value}
	}
	return bson.RawValue{Type: id.Type, Value: slices.Clone(id.Value)}
}
