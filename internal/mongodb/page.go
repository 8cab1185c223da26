package mongodb

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"slices"

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
	Indexed bool   // one index serves Match and the order
	Schema  bson.D // the collection's: corrupt documents are left out
	Without bson.D // a projection of fields that are not read; nil: none
	Large   bool   // documents may be large, so few are read at a time
	Timed   bool   // documents are read with the database's clock; see WithNow
	// Date is a date field that comes before the ID in the order; documents without it are left out. "" orders by the ID.
	// Within has conditions on it. A page token of such a list is of its filter alone.
	Date   string
	Within bson.D
}

func (f Filter) order() []string {
	if f.Date == "" {
		return []string{"_id"}
	}
	return []string{f.Date, "_id"}
}

// List reads a page, in order, and returns the token of the next one ("" at the end). It leaves out corrupt documents,
// so a page may have fewer items than requested. If no index serves the filter, it examines at most maxExamined
// documents.
func List[T any](ctx context.Context, c *mongo.Collection, filter Filter, page holdfast.Page) (items []T, next string, err error) {
	var last position
	if page.Token != "" {
		if last, err = filter.readToken(page.Token); err != nil {
			return nil, "", err
		}
	}
	size, err := sizeOf(page)
	if err != nil {
		return nil, "", err
	}
	order, after := filter.order(), And(filter.Within, last.before(filter.Date))
	// An index has the IDs of the page, so that MongoDB fetches no other documents.
	first := mongo.Pipeline{Match(filter.Match, after), Sort(order...), Limit(size + 1), Only(order...)}
	if !filter.Indexed {
		first = mongo.Pipeline{Match(after), Sort(order...), Limit(maxExamined), Match(filter.Match), Limit(size + 1), Only(order...)}
		if next, err = windowEnd(ctx, c, filter, after); err != nil {
			return nil, "", Translate(err)
		}
	}
	found, err := All[bson.Raw](ctx, c, first)
	if err != nil {
		return nil, "", Translate(err)
	}
	if len(found) > size {
		found = found[:size]
		next = filter.writeToken(filter.positionOf(found[size-1]))
	}
	ids := make([]holdfast.ID, 0, len(found))
	for _, doc := range found {
		ids = append(ids, IDOf(doc, "_id"))
	}
	pipeline := mongo.Pipeline{Match(In("_id", ids), filter.Match, filter.Within, filter.Schema), Sort(order...)}
	if filter.Without != nil {
		pipeline = append(pipeline, stage("$project", filter.Without))
	}
	if filter.Timed {
		pipeline = append(pipeline, WithNow)
	}
	batch := options.Aggregate()
	if filter.Large {
		batch.SetBatchSize(largeBatch)
	}
	items, end, err := firstBytes[T](ctx, c, filter, pipeline, batch)
	switch {
	case err != nil:
		return nil, "", Translate(err)
	case end != position{}:
		next = filter.writeToken(end)
	}
	return items, next, nil
}

func sizeOf(page holdfast.Page) (int, error) {
	if page.Size < 0 || page.Size > holdfast.MaxPageSize {
		return 0, holdfast.RefuseInput("query.pageSize", "pageSize must be between 1 and %d.", holdfast.MaxPageSize)
	}
	return cmp.Or(page.Size, holdfast.DefaultPageSize), nil
}

// PageOf reads a page of a pipeline's documents, for lists in an order of their own. The pipeline begins after the page's token. isMore
// says that others follow.
func PageOf(
	ctx context.Context, c *mongo.Collection, pipeline mongo.Pipeline, page holdfast.Page,
) (docs []bson.Raw, isMore bool, err error) {
	size, err := sizeOf(page)
	if err != nil {
		return nil, false, err
	}
	ctx, end, err := readAfter(ctx, c.Database().Client())
	if err != nil {
		return nil, false, err
	}
	defer end()
	cursor, err := c.Aggregate(ctx, append(pipeline, Limit(size+1)))
	if err != nil {
		return nil, false, err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for read := 0; cursor.Next(ctx); docs = append(docs, slices.Clone(cursor.Current)) {
		if read += len(cursor.Current); len(docs) == size || read > maxPageBytes && len(docs) > 0 {
			return docs, true, nil
		}
	}
	return docs, false, cursor.Err()
}

// position is the place of a document in the order of a list.
type position struct {
	date bson.DateTime // of Filter.Date
	id   holdfast.ID
}

func (f Filter) positionOf(doc bson.Raw) (p position) {
	if p.id = IDOf(doc, "_id"); f.Date != "" {
		ms, _ := doc.Lookup(f.Date).DateTimeOK()
		p.date = bson.DateTime(ms)
	}
	return p
}

// before matches the documents after the position.
func (p position) before(date string) bson.D {
	behind := Is("_id", bson.D{{Key: "$gt", Value: p.id}}) // ObjectIDs only
	switch isID := Is("_id", bson.D{{Key: "$gt", Value: holdfast.ID{}}}); {
	case date == "":
		return behind
	case p == position{}:
		return And(Is(date, bson.D{{Key: "$type", Value: "date"}}), isID)
	default:
		later := bson.A{Is(date, bson.D{{Key: "$gt", Value: p.date}}), And(Is(date, p.date), behind)}
		return And(Is(date, bson.D{{Key: "$gte", Value: p.date}}), isID, Is("$or", later))
	}
}

// largeBatch is how many large documents are read at a time.
const largeBatch = 8

// firstBytes returns the documents of a pipeline up to maxPageBytes, and the position of the last one if more follow.
func firstBytes[T any](
	ctx context.Context, c *mongo.Collection, filter Filter, pipeline mongo.Pipeline, batch options.Lister[options.AggregateOptions],
) (items []T, last position, err error) {
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
	for size := 0; cursor.Next(ctx); last = filter.positionOf(cursor.Current) {
		if size += len(cursor.Current); size > maxPageBytes && len(items) > 0 {
			return items, last, nil
		}
		var item T
		if err := cursor.Decode(&item); err != nil {
			return nil, position{}, corrupt(err)
		}
		items = append(items, item)
	}
	return items, position{}, cursor.Err()
}

// windowEnd returns the token after maxExamined documents, or "" if there are fewer.
func windowEnd(ctx context.Context, c *mongo.Collection, filter Filter, after bson.D) (string, error) {
	order := filter.order()
	last, found, err := First[bson.Raw](ctx, c, mongo.Pipeline{Match(after), Sort(order...), Only(order...), stage("$skip", maxExamined-1)})
	if err != nil || !found {
		return "", err
	}
	return filter.writeToken(filter.positionOf(last)), nil
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

// A token is the position after a document: its ID and, in an order by date, the date and a hash of the filter.

func (f Filter) writeToken(p position) string {
	token := p.id[:]
	if f.Date != "" {
		token = binary.BigEndian.AppendUint64(token, uint64(p.date)) //nolint:gosec // G115: its bits
		token = binary.BigEndian.AppendUint32(token, f.hash())
	}
	return base64.RawURLEncoding.EncodeToString(token)
}

func (f Filter) readToken(token string) (p position, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	const dateBytes = 8
	if n := copy(p.id[:], raw); len(raw) > n+dateBytes {
		p.date = bson.DateTime(binary.BigEndian.Uint64(raw[n:])) //nolint:gosec // G115: its bits
	}
	if err != nil || f.writeToken(p) != token {
		return position{}, holdfast.RefuseInput("query.pageToken", "Invalid page token.")
	}
	return p, nil
}

func (f Filter) hash() uint32 {
	match, err := bson.Marshal(And(f.Match, f.Within))
	if err != nil {
		return 0 // the query will fail
	}
	return crc32.ChecksumIEEE(match)
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
