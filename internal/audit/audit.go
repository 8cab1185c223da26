// Package audit keeps what operators did by hand in the console, and what any program did to webhooks, and with which key:
// the requests that may change something, with their answers, also refused ones. Requests that were refused before a process
// took them up, such as those beyond a rate, have changed nothing, and leave no entry: otherwise each would cost a write.
//
// An entry is written after its request was answered, outside of the request's transaction. A process that is killed
// in between leaves none. The records of changes (package changes) are in the transactions; they have the same request
// ID. MongoDB removes entries after a year.
package audit

import (
	"context"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/ids"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	name     = "audit"
	lifetime = 366 * 24 * time.Hour
)

const (
	maxBody = 2000 // bytes that are kept of a request's body: enough for settings and some hundred seats
	maxPath = 200  // bytes that are kept of a path: more than those of the routes have with valid values
)

// BodyOf is what is kept of a body: valid text, of about maxBody bytes.
func BodyOf(body []byte) string { return beginning(body, maxBody) }

// beginning returns valid text: at most limit bytes, and a sign that the rest is missing.
func beginning[T string | []byte](text T, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(string(text), "")
	}
	return strings.ToValidUTF8(string(text[:limit]), "") + "…" // the last character may be cut
}

// Collections returns the collections and indexes of this package.
func Collections() []mongodb.Collection {
	return []mongodb.Collection{{Name: name, Indexes: []mongodb.Index{
		{Keys: mongodb.Keys("actor", "_id")},
		{Keys: mongodb.Keys("targetId", "_id"), Partial: bson.D{{Key: "targetId", Value: bson.D{{Key: "$exists", Value: true}}}}},
		{Keys: mongodb.Keys("at"), ExpireAfter: lifetime},
	}}}
}

// Entry is a request of the console, or for a webhook.
type Entry struct {
	ID        holdfast.ID
	At        time.Time // by the clock of the process that answered
	Actor     string    // the name of the key, "" without keys
	RequestID string
	Method    string
	Path      string      // its beginning, if it is long
	TargetID  holdfast.ID // the first ID in the path; zero: none
	Body      string      // see BodyOf
	Status    int         // 0: the request failed before it was answered
}

type entryDoc struct {
	ID        holdfast.ID   `bson:"_id"`
	At        mongodb.Date  `bson:"at"`
	Actor     mongodb.Text  `bson:"actor"`
	RequestID mongodb.Text  `bson:"requestId"`
	Method    mongodb.Text  `bson:"method"`
	Path      mongodb.Text  `bson:"path"`
	TargetID  holdfast.ID   `bson:"targetId"`
	Body      mongodb.Text  `bson:"body"`
	Status    mongodb.Whole `bson:"status"`
}

func (d entryDoc) entry() Entry {
	return Entry{
		ID: d.ID, At: d.At.Time, Actor: string(d.Actor), RequestID: string(d.RequestID), Method: string(d.Method), Path: string(d.Path),
		TargetID: d.TargetID, Body: string(d.Body), Status: int(d.Status.Or(0)),
	}
}

// Log reads and writes the entries of a database.
type Log struct{ db *mongodb.DB }

// New returns the entries of a database.
func New(db *mongodb.DB) *Log { return &Log{db} }

// Add adds an entry. It sets the entry's ID and the ID that its path names, and shortens the path.
func (l *Log) Add(ctx context.Context, e Entry) error {
	doc := bson.D{
		{Key: "_id", Value: ids.New()}, {Key: "at", Value: e.At}, {Key: "actor", Value: e.Actor}, {Key: "requestId", Value: e.RequestID},
		{Key: "method", Value: e.Method}, {Key: "path", Value: beginning(e.Path, maxPath)},
		{Key: "body", Value: e.Body}, {Key: "status", Value: e.Status},
	}
	if target := targetOf(e.Path); !target.IsZero() {
		doc = append(doc, bson.E{Key: "targetId", Value: target})
	}
	_, err := l.db.Collection(name).InsertOne(ctx, doc)
	return mongodb.Translate(err)
}

func targetOf(path string) holdfast.ID {
	for part := range strings.SplitSeq(path, "/") {
		if id, err := holdfast.ParseID(part); err == nil {
			return id
		}
	}
	return holdfast.ID{}
}

// Filter selects entries; a zero value matches all.
type Filter struct {
	Actor    string
	TargetID holdfast.ID
}

// List reads a page, newest first, and the token of the next one ("" at the end).
func (l *Log) List(ctx context.Context, f Filter, page holdfast.Page) (entries []Entry, next string, err error) {
	position := bson.D{{Key: "$gt", Value: holdfast.ID{}}} // ObjectIDs only
	if page.Token != "" {
		before, err := holdfast.ParseID(page.Token)
		if err != nil {
			return nil, "", holdfast.RefuseInput("query.pageToken", "Invalid page token.")
		}
		position = append(position, bson.E{Key: "$lt", Value: before})
	}
	which := []bson.D{mongodb.Is("_id", position)}
	if f.Actor != "" {
		which = append(which, mongodb.Is("actor", f.Actor))
	}
	if !f.TargetID.IsZero() {
		which = append(which, mongodb.Is("targetId", f.TargetID))
	}
	docs, err := mongodb.All[entryDoc](ctx, l.db.Collection(name), mongo.Pipeline{
		mongodb.Match(which...), {{Key: "$sort", Value: bson.D{{Key: "_id", Value: -1}}}}, mongodb.Limit(page.Size + 1),
	})
	if err != nil {
		return nil, "", mongodb.Translate(err)
	}
	if len(docs) > page.Size {
		docs = docs[:page.Size]
		next = docs[page.Size-1].ID.String()
	}
	for _, d := range docs {
		entries = append(entries, d.entry())
	}
	return entries, next, nil
}
