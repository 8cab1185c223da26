package mongodb

import (
	"cmp"
	"context"
	"encoding/base64"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
)

// maxExamined bounds how many documents a filter without an index reads. A page may then
// have fewer items than requested, and a next page.
const maxExamined = 10_000

// Filter selects the documents of a list; an empty one selects all.
type Filter struct {
	Match   bson.D
	Indexed bool   // one index serves Match and the order by ID
	Without bson.D // a projection of fields that are not read; nil: none
}

// List reads a page, by ID, and the token of the next one ("" at the end). It leaves out the
// documents of other software whose _id is no ObjectID. Where no index serves the filter, at
// most maxExamined documents are examined.
func List[T any](
	ctx context.Context, c *mongo.Collection, filter Filter, page holdfast.Page, idOf func(T) holdfast.ID,
) (items []T, next string, err error) {
	var last holdfast.ID
	if page.Token != "" {
		if last, err = readToken(page.Token); err != nil {
			return nil, "", err
		}
	}
	after := bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: last}}}} // ObjectIDs only
	if page.Size < 0 || page.Size > holdfast.MaxPageSize {
		return nil, "", holdfast.RefuseInput("query.pageSize", "A page has between 1 and %d items.", holdfast.MaxPageSize)
	}
	size := cmp.Or(page.Size, holdfast.DefaultPageSize)
	pipeline := mongo.Pipeline{Match(filter.Match, after), Sort("_id")}
	if !filter.Indexed {
		pipeline = mongo.Pipeline{Match(after), Sort("_id"), Limit(maxExamined), Match(filter.Match)}
		if next, err = windowEnd(ctx, c, after); err != nil {
			return nil, "", Translate(err)
		}
	}
	pipeline = append(pipeline, Limit(size+1))
	if filter.Without != nil {
		pipeline = append(pipeline, stage("$project", filter.Without))
	}
	items, err = All[T](ctx, c, pipeline)
	if err != nil {
		return nil, "", Translate(err)
	}
	if len(items) > size {
		items = items[:size]
		next = writeToken(idOf(items[size-1]))
	}
	return items, next, nil
}

// windowEnd is the token after maxExamined documents, "" if there are fewer.
func windowEnd(ctx context.Context, c *mongo.Collection, after bson.D) (string, error) {
	end, found, err := First[struct {
		ID holdfast.ID `bson:"_id"`
	}](ctx, c, mongo.Pipeline{
		Match(after), Sort("_id"), Only("_id"),
		{{Key: "$skip", Value: maxExamined - 1}},
	})
	if err != nil || !found {
		return "", err
	}
	return writeToken(end.ID), nil
}

// All runs a pipeline and returns its documents, whose number the caller has bounded. It
// serves transactions too, so the driver's errors are not translated.
func All[T any](
	ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline, o ...options.Lister[options.AggregateOptions],
) ([]T, error) {
	items := []T{}
	err := AllInto(ctx, c, pipeline, &items, o...)
	return items, err
}

// AllInto is All for a list whose type the caller chooses: items points to it.
func AllInto(
	ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline, items any, o ...options.Lister[options.AggregateOptions],
) error {
	ctx, end, err := readAfter(ctx, c.Database().Client())
	if err != nil {
		return err
	}
	defer end()
	cursor, err := c.Aggregate(ctx, pipeline, o...)
	if err != nil {
		return err
	}
	return cursor.All(ctx, items)
}

// First is All for the first document; found is false if there is none.
func First[T any](
	ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline, o ...options.Lister[options.AggregateOptions],
) (item T, found bool, err error) {
	items, err := All[T](ctx, c, append(pipeline[:len(pipeline):len(pipeline)], Limit(1)), o...)
	if err != nil || len(items) == 0 {
		return item, false, err
	}
	return items[0], true, nil
}

// Each calls handle with the documents of a find in batches of up to size, each in a new
// slice. Memory does not grow with the number of documents. It serves transactions too, so
// the driver's errors are not translated.
func Each[T any](
	ctx context.Context, c *mongo.Collection, filter, projection bson.D, size int, read func(bson.Raw) T, handle func([]T) error,
) error {
	return each(ctx, c, filter, options.Find().SetProjection(projection), size, read, handle)
}

// EachRaw is Each for documents one by one, of which handle keeps nothing: their bytes are the driver's.
func EachRaw(
	ctx context.Context, c *mongo.Collection, filter, projection bson.D, size int, handle func(bson.Raw) error,
) error {
	return eachRaw(ctx, c, filter, options.Find().SetProjection(projection), size, handle)
}

// FirstIDs reads the IDs of up to limit documents that match a filter, in the order of their IDs, by one
// command.
func FirstIDs(ctx context.Context, c *mongo.Collection, filter bson.D, limit int) (ids []holdfast.ID, err error) {
	inOrder := options.Find().SetProjection(Keys("_id")).SetSort(Keys("_id")).SetLimit(int64(limit))
	err = each(ctx, c, filter, inOrder, limit, func(doc bson.Raw) holdfast.ID { return IDOf(doc, "_id") },
		func(all []holdfast.ID) error {
			ids = all
			return nil
		})
	return ids, err
}

func each[T any](
	ctx context.Context, c *mongo.Collection, filter bson.D, o *options.FindOptionsBuilder, size int,
	read func(bson.Raw) T, handle func([]T) error,
) error {
	var batch []T
	err := eachRaw(ctx, c, filter, o, size, func(doc bson.Raw) error {
		if batch == nil {
			batch = make([]T, 0, size)
		}
		if batch = append(batch, read(doc)); len(batch) < size {
			return nil
		}
		full := batch
		batch = nil
		return handle(full)
	})
	if err != nil || len(batch) == 0 {
		return err
	}
	return handle(batch)
}

func eachRaw(
	ctx context.Context, c *mongo.Collection, filter bson.D, o *options.FindOptionsBuilder, size int, handle func(bson.Raw) error,
) error {
	wireSize := int32(min(size, math.MaxInt32)) //nolint:gosec // G115: min bounds it
	ctx, end, err := readAfter(ctx, c.Database().Client())
	if err != nil {
		return err
	}
	defer end()
	cursor, err := c.Find(ctx, filter, o.SetBatchSize(wireSize))
	if err != nil {
		return err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		if err := handle(cursor.Current); err != nil {
			return err
		}
	}
	return cursor.Err()
}

// IDOf reads a field of a raw document that holds an ID.
func IDOf(doc bson.Raw, field string) holdfast.ID {
	id, _ := doc.Lookup(field).ObjectIDOK()
	return holdfast.ID(id)
}

func writeToken(id holdfast.ID) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func readToken(token string) (holdfast.ID, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) != len(holdfast.ID{}) {
		return holdfast.ID{}, holdfast.RefuseInput("query.pageToken", "Invalid page token.")
	}
	return holdfast.ID(raw), nil
}
