package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// ForeignID reads an _id of any type: hex digits of an ObjectID, else MongoDB's extended JSON,
// cut.
type ForeignID string

// UnmarshalBSONValue reads any value.
func (f *ForeignID) UnmarshalBSONValue(kind byte, data []byte) error {
	const longest = 100 // an _id may be a whole document
	value := bson.RawValue{Type: bson.Type(kind), Value: data}
	text := value.String()
	if id, ok := value.ObjectIDOK(); ok {
		text = id.Hex()
	}
	*f = ForeignID(text[:min(longest, len(text))])
	return nil
}

// ForeignIDs returns up to limit IDs of documents whose _id is no ObjectID, or the zero one. The
// index on _id bounds the search.
func ForeignIDs(ctx context.Context, c *mongo.Collection, limit int) ([]string, error) {
	found, err := All[struct {
		ID ForeignID `bson:"_id"`
	}](ctx, c, mongo.Pipeline{Match(Not("_id", bson.E{Key: "$gt", Value: holdfast.ID{}})), Limit(limit), Only("_id")})
	ids := make([]string, 0, len(found))
	for _, f := range found {
		ids = append(ids, string(f.ID))
	}
	return ids, Translate(err)
}
