package changes

import (
	"context"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

const (
	auditName     = "audit"
	auditLifetime = 366 * 24 * time.Hour
)

const (
	maxAuditBody = 2000 // bytes that are kept of a request's body: enough for settings and some hundred seats
	maxAuditPath = 200  // bytes that are kept of a path: every valid path is shorter
)

// AuditBody is the kept part of a body: valid text of about maxAuditBody bytes.
func AuditBody(body []byte) string { return beginning(body, maxAuditBody) }

// beginning returns valid text: at most limit bytes, and a sign that the rest is missing.
func beginning[T string | []byte](text T, limit int) string {
	if len(text) <= limit {
		return strings.ToValidUTF8(string(text), "")
	}
	return strings.ToValidUTF8(string(text[:limit]), "") + "…" // the last character may be cut
}

// auditCollection has an index for each way to read entries.
func auditCollection() mongodb.Collection {
	return mongodb.Collection{Name: auditName, Indexes: []mongodb.Index{
		{Keys: mongodb.Keys("actor", "_id")},
		{Keys: mongodb.Keys("targetId", "_id"), Partial: bson.D{{Key: "targetId", Value: bson.D{{Key: "$exists", Value: true}}}}},
		{Keys: mongodb.Keys("at"), ExpireAfter: auditLifetime},
	}}
}

// AuditEntry is a request of the console, or for a webhook.
type AuditEntry struct {
	ID        holdfast.ID `bson:"_id"`
	At        time.Time   `bson:"at"`    // by the clock of the process that answered
	Actor     string      `bson:"actor"` // the name of the key, "" without keys
	RequestID string      `bson:"requestId"`
	Method    string      `bson:"method"`
	Path      string      `bson:"path"`     // its beginning, if it is long
	TargetID  holdfast.ID `bson:"targetId"` // the first ID in the path; zero means none
	Body      string      `bson:"body"`     // see AuditBody
	Status    int         `bson:"status"`   // 0 if the request failed before it was answered
}

// AuditLog reads and writes the entries of a database.
type AuditLog struct{ db *mongodb.DB }

// NewAuditLog returns the entries of a database.
func NewAuditLog(db *mongodb.DB) *AuditLog { return &AuditLog{db} }

// Add adds an entry. It sets the entry's ID and the ID that its path names, and shortens the path.
func (l *AuditLog) Add(ctx context.Context, e AuditEntry) error {
	doc := bson.D{
		{Key: "_id", Value: mongodb.NewID()}, {Key: "at", Value: e.At}, {Key: "actor", Value: e.Actor}, {Key: "requestId", Value: e.RequestID},
		{Key: "method", Value: e.Method}, {Key: "path", Value: beginning(e.Path, maxAuditPath)},
		{Key: "body", Value: e.Body}, {Key: "status", Value: e.Status},
	}
	if target := targetOf(e.Path); !target.IsZero() {
		doc = append(doc, bson.E{Key: "targetId", Value: target})
	}
	_, err := l.db.Collection(auditName).InsertOne(ctx, doc)
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

// AuditFilter selects entries; a zero value matches all.
type AuditFilter struct {
	Actor    string
	TargetID holdfast.ID
}

// List reads a page, newest first, and the token of the next one ("" at the end).
func (l *AuditLog) List(ctx context.Context, f AuditFilter, page holdfast.Page) (entries []AuditEntry, next string, err error) {
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
	entries, err = mongodb.All[AuditEntry](ctx, l.db.Collection(auditName), mongo.Pipeline{
		mongodb.Match(which...), {{Key: "$sort", Value: bson.D{{Key: "_id", Value: -1}}}}, mongodb.Limit(page.Size + 1),
	})
	if err != nil {
		return nil, "", mongodb.Translate(err)
	}
	if len(entries) > page.Size {
		entries = entries[:page.Size]
		next = entries[page.Size-1].ID.String()
	}
	return entries, next, nil
}
