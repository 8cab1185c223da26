package changes

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Position is in front of a change: the item with this index in the record with this number.
type Position struct {
	Seq  int64
	Item int
}

// Compare is less than 0 if the position is in front of another one, and greater than 0 if it is behind it.
func (p Position) Compare(other Position) int {
	return cmp.Or(cmp.Compare(p.Seq, other.Seq), cmp.Compare(p.Item, other.Item))
}

// Token is the position for a client; ParseToken reads it.
func (p Position) Token() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d.%d", p.Seq, p.Item))
}

// ParseToken refuses what Token did not write.
func ParseToken(token string) (p Position, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%d.%d", &p.Seq, &p.Item)
	}
	if err != nil || p.Seq < 1 || p.Item < 0 || p.Token() != token {
		return Position{}, holdfast.RefuseInput("query.pageToken", "The token is not valid. Use nextPageToken of the previous page.")
	}
	return p, nil
}

// Filter selects changes; a zero value matches all.
type Filter struct {
	EventID  ID
	Types    []holdfast.ChangeType
	Subjects []Subject
	// Since and Until bound the time at which the changes were committed. They are not exact: changes that are up to
	// some minutes older or later are listed too, and none in between is left out.
	Since, Until time.Time
}

// has reports whether the filter selects a change of the records that it matches.
func (f Filter) has(c holdfast.Change) bool {
	return len(f.Subjects) == 0 || slices.ContainsFunc(f.Subjects, func(s Subject) bool { return s.String() == c.Subject() })
}

// ofSubjects matches the records that may have a change of one of the subjects.
func (f Filter) ofSubjects() bson.D {
	var any bson.A
	for _, s := range f.Subjects {
		if s.Kind == "events" {
			any = append(any, mongodb.And(mongodb.Is("eventId", s.ID), mongodb.Is("items.event", bson.D{{Key: "$exists", Value: true}})))
			continue
		}
		any = append(any, mongodb.Is("items."+subjectFields[s.Kind]+"._id", s.ID))
	}
	if any == nil {
		return nil
	}
	return bson.D{{Key: "$or", Value: any}}
}

// Subject names an event, a lock, a booking, a payment or an entry of a waiting list, as Change.Subject writes it.
type Subject struct {
	Kind string // one of subjectFields
	ID   ID
}

// subjectFields has the kinds of subjects, and for each the field of an item that has its document.
var subjectFields = map[string]string{
	"events": "event", "locks": "lock", "bookings": "booking", "payments": "payment", "waitlist": "entry",
}

// String is such as locks/<id>.
func (s Subject) String() string { return s.Kind + "/" + s.ID.String() }

// ParseSubject reads what Subject.String writes.
func ParseSubject(text string) (Subject, error) {
	kind, rest, _ := strings.Cut(text, "/")
	id, err := holdfast.ParseID(rest)
	if err != nil || id.IsZero() || subjectFields[kind] == "" {
		return Subject{}, holdfast.RefuseInput("query.subject",
			"Give events/, locks/, bookings/, payments/ or waitlist/ and an ID of 24 hex digits.")
	}
	return Subject{Kind: kind, ID: id}, nil
}

// TypesOf are the types that a pattern selects: a type, or the beginning of types with * at its end. There may be
// none yet.
func TypesOf(pattern string) (types []holdfast.ChangeType, err error) {
	prefix, isPrefix := strings.CutSuffix(pattern, "*")
	for _, t := range holdfast.ChangeTypes() {
		if isPrefix && strings.HasPrefix(string(t), prefix) || string(t) == pattern {
			types = append(types, t)
		}
	}
	if len(types) == 0 && (!strings.HasPrefix(pattern, typePrefix) || strings.Contains(prefix, "*")) {
		return nil, holdfast.RefuseInput("query.type", "No change has this type. Give a type, or its beginning with * at the end.")
	}
	if len(types) == 0 {
		types = []holdfast.ChangeType{holdfast.ChangeType(pattern)}
	}
	return types, nil
}

const typePrefix = "holdfast."

// A page reads through at most maxWindows times window records, of all events or of one: the types have no index.
const (
	window     = 500
	maxWindows = 10
)

// maxPageBytes bounds the items of a page, as they are stored; a page has one item at least. In JSON an item may be six times as
// large, if its texts have to be escaped, and clients bound what they read.
const maxPageBytes = 2 << 20

// page has the changes of a list.
type page struct {
	changes []Placed
	limit   int
	bytes   int
	isFull  bool // a change was left out
}

// add adds a change of a size in bytes, unless the page is full then.
func (p *page) add(c Placed, size int) bool {
	p.isFull = len(p.changes) == p.limit || len(p.changes) > 0 && p.bytes+size > maxPageBytes
	if !p.isFull {
		p.changes, p.bytes = append(p.changes, c), p.bytes+size
	}
	return !p.isFull
}

// List returns up to limit changes from a position on, nil for the oldest one, and the position behind them. A
// page may have fewer changes, or none, although more follow: go on until the position stays the same. It refuses with
// CHANGES_GONE if changes behind the position were removed.
//
// A page is read at one snapshot. With several snapshots the last number could be from a later one than the records,
// as during an election, and the position would skip changes that were not seen.
func (l *Log) List(ctx context.Context, from *Position, f Filter, limit int) (found []holdfast.Change, next Position, err error) {
	placed, next, err := l.Read(ctx, from, f, limit)
	for _, p := range placed {
		found = append(found, p.Change)
	}
	return found, next, err
}

// Placed is a change and the position in front of it.
type Placed struct {
	holdfast.Change
	Position Position
}

// Read is List with the positions of the changes.
func (l *Log) Read(ctx context.Context, from *Position, f Filter, limit int) (found []Placed, next Position, err error) {
	isGone := func(err error) bool { return holdfast.HasCode(err, holdfast.CodeChangesGone) }
	_, err = mongodb.ConfirmRefusal(ctx, l.db, isGone, func(ctx context.Context) (struct{}, error) {
		return mongodb.AtSnapshot(ctx, l.db, func(ctx context.Context) (struct{}, error) {
			found, next, err = l.list(ctx, from, f, limit)
			return struct{}{}, err
		})
	})
	return found, next, err
}

func (l *Log) list(ctx context.Context, given *Position, f Filter, limit int) (found []Placed, next Position, err error) {
	at, err := l.ends(ctx)
	if err != nil {
		return nil, next, err
	}
	from := Position{Seq: at.Purged + 1}
	if given != nil {
		from = *given
	}
	if from.Seq <= at.Purged || from.Seq > at.Last+1 { // the latter if the database was restored from a backup
		return nil, from, gone()
	}
	if given == nil && !f.Since.IsZero() {
		if from.Seq, err = l.firstSince(ctx, at, f.Since.Add(-disorder)); err != nil {
			return nil, from, err
		}
	}
	if !f.Until.IsZero() {
		end, err := l.firstSince(ctx, at, f.Until.Add(disorder))
		if err != nil {
			return nil, from, err
		}
		at.Last = max(end-1, from.Seq-1)
	}
	next = from
	all := page{limit: limit}
	for range maxWindows {
		if next.Seq > at.Last || all.isFull || len(all.changes) == limit {
			break
		}
		last, err := l.endOfWindow(ctx, next.Seq, at.Last, f)
		if err != nil {
			return nil, next, err
		}
		if next, err = l.read(ctx, next, last, f, &all); err != nil {
			return nil, next, err
		}
	}
	return all.changes, next, nil
}

// disorder is how much the times of records may be out of the order of their numbers, and how much the clock of the
// cluster may differ from the one that a caller read. A transaction may last a minute, by MongoDB's default.
const disorder = 2 * time.Minute

// firstSince is the number of the first record that was made at a time or later, or the number behind the last one.
// Times rise with the numbers, so it reads few entries, of an index that covers the query.
func (l *Log) firstSince(ctx context.Context, at ends, since time.Time) (int64, error) {
	low, high := at.Purged+1, at.Last+1
	for low < high {
		middle := low + (high-low)/2
		r, exists, err := mongodb.First[struct {
			Seq  int64         `bson:"seq"`
			Time bson.RawValue `bson:"t"`
		}](ctx, l.collection(), mongo.Pipeline{
			mongodb.Match(numbered(middle, at.Last)), mongodb.Sort("seq", "t", "_id", "eventId"), mongodb.Limit(1),
			bson.D{{Key: "$project", Value: bson.D{{Key: "_id", Value: 0}, {Key: "seq", Value: 1}, {Key: "t", Value: 1}}}},
		})
		switch {
		case err != nil:
			return 0, err
		case exists && madeAt(r.Time).Before(since):
			low = r.Seq + 1
		default:
			high = middle
		}
	}
	return low, nil
}

// endOfWindow is the number up to which at most window records have to be read.
func (l *Log) endOfWindow(ctx context.Context, from, last int64, f Filter) (int64, error) {
	if f.EventID.IsZero() {
		return min(last, from+window-1), nil
	}
	end, exists, err := mongodb.First[struct {
		Seq int64 `bson:"seq"`
	}](ctx, l.collection(), mongo.Pipeline{
		mongodb.Match(mongodb.Is("eventId", f.EventID), numbered(from, last)), mongodb.Sort("seq"),
		bson.D{{Key: "$skip", Value: window - 1}}, mongodb.Limit(1), mongodb.Only("seq", "eventId"),
	})
	if err != nil || !exists {
		return last, err
	}
	return end.Seq, nil
}

// numbered matches the records with these numbers.
func numbered(from, last int64) bson.D {
	return mongodb.Is("seq", bson.D{{Key: "$gte", Value: from}, {Key: "$lte", Value: last}})
}

// batch is how many records are read at once: one of a hot event has hundreds of items.
const batch = 16

// read adds the changes of the records from a position up to a number, and returns the position behind them.
func (l *Log) read(ctx context.Context, from Position, last int64, f Filter, all *page) (next Position, err error) {
	which := []bson.D{numbered(from.Seq, last)}
	if !f.EventID.IsZero() {
		which = append(which, mongodb.Is("eventId", f.EventID))
	}
	wanted := map[string]bool{}
	for _, t := range f.Types {
		wanted[t.Name()] = true
	}
	if len(wanted) > 0 {
		names := make([]string, 0, len(wanted))
		for n := range wanted {
			names = append(names, n)
		}
		which = append(which, mongodb.In("types", names))
	}
	which = append(which, f.ofSubjects())
	cursor, err := l.collection().Find(ctx, mongodb.And(which...), options.Find().SetSort(mongodb.Keys("seq")).SetBatchSize(batch))
	if err != nil {
		return from, err
	}
	defer cursor.Close(context.WithoutCancel(ctx))
	for cursor.Next(ctx) {
		r, ok := l.decode(ctx, cursor.Current)
		if !ok {
			continue
		}
		sizes := itemSizes(cursor.Current, len(r.Items))
		for i, item := range r.Items {
			if r.Seq == from.Seq && i < from.Item || len(wanted) > 0 && !wanted[item.Type] {
				continue
			}
			c := item.change(r)
			if !f.has(c) {
				continue
			}
			if at := (Position{r.Seq, i}); !all.add(Placed{c, at}, sizes[i]) {
				return at, nil
			}
		}
	}
	return Position{Seq: last + 1}, cursor.Err()
}

// itemSizes returns the bytes of each of the n items of a record.
func itemSizes(record bson.Raw, n int) []int {
	sizes := make([]int, n)
	items, _ := record.Lookup("items").ArrayOK()
	values, _ := items.Values()
	for i, v := range values[:min(n, len(values))] {
		sizes[i] = len(v.Value)
	}
	return sizes
}

// decode decodes a record. A record that can't be decoded is left out of each list, and logged once.
func (l *Log) decode(ctx context.Context, raw bson.Raw) (r recordDoc, ok bool) {
	err := mongodb.Unmarshal(raw, &r)
	if err == nil {
		return r, true
	}
	seq, _ := raw.Lookup("seq").AsInt64OK()
	if last := l.corrupt.Load(); seq > last && l.corrupt.CompareAndSwap(last, seq) {
		l.db.Log().ErrorContext(ctx, "A record of changes can't be decoded; it is left out", slog.Int64("seq", seq),
			slog.String("id", raw.Lookup("_id").String()), slog.Any("error", err))
	}
	return r, false
}

// At reads the changes at positions by one command. Those whose records were removed, or can't be decoded, are left out.
func (l *Log) At(ctx context.Context, positions []Position) (map[Position]holdfast.Change, error) {
	items := map[int64][]int{}
	var numbers []int64
	for _, p := range positions {
		if items[p.Seq] == nil {
			numbers = append(numbers, p.Seq)
		}
		items[p.Seq] = append(items[p.Seq], p.Item)
	}
	found := map[Position]holdfast.Change{}
	err := mongodb.EachRaw(ctx, l.collection(), mongodb.In("seq", numbers), bson.D{}, batch, func(raw bson.Raw) error {
		r, ok := l.decode(ctx, raw)
		for _, i := range items[r.Seq] {
			if ok && i < len(r.Items) {
				found[Position{r.Seq, i}] = r.Items[i].change(r)
			}
		}
		return nil
	})
	return found, mongodb.Translate(err)
}
