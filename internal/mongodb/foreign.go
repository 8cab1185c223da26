package mongodb

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// ForeignID reads an _id of any type: hex digits of an ObjectID, else MongoDB's extended JSON,
// cut.
type ForeignID string

// UnmarshalBSONValue reads any value.
func (f *ForeignID) UnmarshalBSONValue(kind byte, data []byte) error {
	*f = NameOf(bson.RawValue{Type: bson.Type(kind), Value: data})
	return nil
}

// NameOf is the ForeignID of an _id.
func NameOf(value bson.RawValue) ForeignID {
	const longest = 100 // an _id may be a whole document
	text := value.String()
	if id, ok := value.ObjectIDOK(); ok {
		text = id.Hex()
	}
	return ForeignID(text[:min(longest, len(text))])
}

// Turn is where the next one of several bounded searches goes on, so that all documents have their
// turn. The zero value begins with the first document. It is safe for concurrent use.
type Turn struct {
	mu    sync.Mutex
	after bson.RawValue // an _id; zero at the beginning
}

// Next calls read, which returns the _id of up to limit documents in their order. isNext is an
// expression that is true for the documents whose turn it is. If there are fewer than limit, the next
// search begins with the first document.
func (t *Turn) Next(limit int, read func(isNext bson.D) ([]bson.RawValue, error)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	isNext := bson.D{{Key: "$literal", Value: true}}
	if t.after.Type != 0 {
		isNext = bson.D{{Key: "$gt", Value: bson.A{"$_id", bson.D{{Key: "$literal", Value: t.after}}}}}
	}
	ids, err := read(isNext)
	if err != nil {
		return err
	}
	t.after = bson.RawValue{}
	if len(ids) == limit {
		t.after = ids[limit-1]
	}
	return nil
}

// ForeignIDs returns up to limit IDs of documents whose _id is no ObjectID, or the zero one; those
// whose turn it is. The index on _id bounds the search.
func ForeignIDs(ctx context.Context, c *mongo.Collection, turn *Turn, limit int) (names []string, err error) {
	err = turn.Next(limit, func(isNext bson.D) ([]bson.RawValue, error) {
		found, err := All[struct {
			ID bson.RawValue `bson:"_id"`
		}](ctx, c, mongo.Pipeline{
			Match(Not("_id", bson.E{Key: "$gt", Value: holdfast.ID{}}), bson.D{{Key: "$expr", Value: isNext}}),
			Sort("_id"), Limit(limit), Only("_id"),
		})
		ids := make([]bson.RawValue, 0, len(found))
		for _, f := range found {
			ids, names = append(ids, f.ID), append(names, string(NameOf(f.ID)))
		}
		return ids, err
	})
	return names, Translate(err)
}
