package mongodb

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
)

// maxExamined bounds how many documents a filter without an index reads. A page may then have fewer items than
// requested, although there is a next page.
const maxExamined = 10_000

// maxPageBytes bounds the documents of a page, as MongoDB sends them. A page of larger documents has fewer items than
// requested, but one at least.
const maxPageBytes = 1 << 20

// Filter selects the documents of a list; an empty one selects all.
type Filter struct {
	Match   bson.D
	Indexed bool   // one index serves Match and the order by ID
	Schema  bson.D // the collection's: corrupt documents are left out
	Without bson.D // a projection of fields that are not read; nil: none
	Large   bool   // documents may be large, so few are read at a time
}

// List reads a page, by ID, and returns the token of the next one ("" at the end). It leaves out corrupt documents,
// so a page may have fewer items than requested. If no index serves the filter, it examines at most maxExamined
// documents.
func List[T any](ctx context.Context, c *mongo.Collection, filter Filter, page holdfast.Page) (items []T, next string, err error) {
	var last holdfast.ID
	if page.Token != "" {
		if last, err = readToken(page.Token); err != nil {
			return nil, "", err
		}
	}
	after := bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: last}}}} // ObjectIDs only
	if page.Size < 0 || page.Size > holdfast.MaxPageSize {
		return nil, "", holdfast.RefuseInput("query.pageSize", "pageSize must be between 1 and %d.", holdfast.MaxPageSize)
	}
	size := cmp.Or(page.Size, holdfast.DefaultPageSize)
	// An index has the IDs of the page, so that MongoDB fetches no other documents.
	first := mongo.Pipeline{Match(filter.Match, after), Sort("_id"), Limit(size + 1), Only("_id")}
	if !filter.Indexed {
		first = mongo.Pipeline{Match(after), Sort("_id"), Limit(maxExamined), Match(filter.Match), Limit(size + 1), Only("_id")}
		if next, err = windowEnd(ctx, c, after); err != nil {
			return nil, "", Translate(err)
		}
	}
	ids, err := idsOf(ctx, c, first)
	if err != nil {
		return nil, "", Translate(err)
	}
	if len(ids) > size {
		ids = ids[:size]
		next = writeToken(ids[size-1])
	}
	pipeline := mongo.Pipeline{Match(In("_id", ids), filter.Match, filter.Schema), Sort("_id")}
	if filter.Without != nil {
		pipeline = append(pipeline, stage("$project", filter.Without))
	}
	batch := options.Aggregate()
	if filter.Large {
		batch.SetBatchSize(largeBatch)
	}
	items, last, err = firstBytes[T](ctx, c, pipeline, batch)
	switch {
	case err != nil:
		return nil, "", Translate(err)
	case !last.IsZero():
		next = writeToken(last)
	}
	return items, next, nil
}

// largeBatch is how many large documents are read at a time.
const largeBatch = 8

// firstBytes returns the documents of a pipeline up to maxPageBytes, and the ID of the last one if more follow.
func firstBytes[T any](
	ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline, batch options.Lister[options.AggregateOptions],
) (items []T, last holdfast.ID, err error) {
	ctx, end, err := readAfter(ctx, c.Database().Client())
	if err != nil {
		return nil, last, err
	}
	defer end()
	cursor, err := c.Aggregate(ctx, pipeline, batch)
	if err != nil {
		return nil, last, err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for size := 0; cursor.Next(ctx); last = IDOf(cursor.Current, "_id") {
		if size += len(cursor.Current); size > maxPageBytes && len(items) > 0 {
			return items, last, nil
		}
		var item T
		if err := cursor.Decode(&item); err != nil {
			return nil, last, corrupt(err)
		}
		items = append(items, item)
	}
	return items, holdfast.ID{}, cursor.Err()
}

// windowEnd returns the token after maxExamined documents, or "" if there are fewer.
func windowEnd(ctx context.Context, c *mongo.Collection, after bson.D) (string, error) {
	ids, err := idsOf(ctx, c, mongo.Pipeline{Match(after), Sort("_id"), Only("_id"), stage("$skip", maxExamined-1), Limit(1)})
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return writeToken(ids[0]), nil
}

// All runs a pipeline and returns its documents. The caller has bounded their number. It serves transactions too, so
// it does not translate the driver's errors.
func All[T any](
	ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline, o ...options.Lister[options.AggregateOptions],
) ([]T, error) {
	ctx, end, err := readAfter(ctx, c.Database().Client())
	if err != nil {
		return nil, err
	}
	defer end()
	cursor, err := c.Aggregate(ctx, pipeline, o...)
	if err != nil {
		return nil, err
	}
	items := []T{}
	err = cursor.All(ctx, &items)
	if errors.As(err, new(*bson.DecodeError)) {
		err = corrupt(err)
	}
	return items, err
}

// First returns the first document of a pipeline. found is false if there is none.
func First[T any](
	ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline, o ...options.Lister[options.AggregateOptions],
) (item T, found bool, err error) {
	items, err := All[T](ctx, c, append(pipeline[:len(pipeline):len(pipeline)], Limit(1)), o...)
	if err != nil || len(items) == 0 {
		return item, false, err
	}
	return items[0], true, nil
}

// Each calls handle with the documents of a find, in batches of up to size, each in a new slice. An order of ascending
// fields, which may be nil, also makes MongoDB choose the index of that order. The memory of Each does not grow with the
// number of documents. It serves transactions too, so it does not translate the driver's errors.
func Each[T any](
	ctx context.Context, c *mongo.Collection, filter, projection, order bson.D, size int, read func(bson.Raw) T, handle func([]T) error,
) error {
	var batch []T
	err := eachRaw(ctx, c, filter, projection, order, size, func(doc bson.Raw) error {
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

// EachRaw calls handle with each document of a find. handle must not keep the bytes of a document: they belong to
// the driver.
func EachRaw(
	ctx context.Context, c *mongo.Collection, filter, projection bson.D, size int, handle func(bson.Raw) error,
) error {
	return eachRaw(ctx, c, filter, projection, nil, size, handle)
}

func eachRaw(
	ctx context.Context, c *mongo.Collection, filter, projection, order bson.D, size int, handle func(bson.Raw) error,
) error {
	ctx, end, err := readAfter(ctx, c.Database().Client())
	if err != nil {
		return err
	}
	defer end()
	o := options.Find().SetProjection(projection).SetBatchSize(int32(min(size, math.MaxInt32))) //nolint:gosec // G115: min bounds it
	if order != nil {
		o.SetSort(order)
	}
	cursor, err := c.Find(ctx, filter, o)
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

// IDOf reads an ID from a field of a raw document.
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

// FirstIDs returns the IDs of up to limit documents that match a filter, in the order of their IDs.
func FirstIDs(ctx context.Context, c *mongo.Collection, filter bson.D, limit int) ([]holdfast.ID, error) {
	return idsOf(ctx, c, mongo.Pipeline{Match(filter), Sort("_id"), Limit(limit), Only("_id")})
}

func idsOf(ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline) ([]holdfast.ID, error) {
	found, err := All[struct {
		ID holdfast.ID `bson:"_id"`
	}](ctx, c, pipeline)
	ids := make([]holdfast.ID, 0, len(found))
	for _, f := range found {
		ids = append(ids, f.ID)
	}
	return ids, err
}
