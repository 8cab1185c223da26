package testenv

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
)

// shardKeys are the shard keys of the sharded collections; see docs/sharding.md.
var shardKeys = map[string]string{"events": "_id", "seatlocks": "eventId", "bookings": "eventId", "changes": "eventId"}

// ShardKeys are the shard keys of the sharded collections.
func ShardKeys() map[string]string { return maps.Clone(shardKeys) }

// Broadcasts finds the commands that a mongos would send to all shards. It reads the commands of
// its Monitor. For each filter MongoDB's planner says which range of the shard key it needs: a
// mongos asks the same planner.
type Broadcasts struct {
	mu      sync.Mutex
	queries []query
	db      *mongo.Database
	known   map[string]bool // whether a filter is broadcast, by its text
}

// query is a filter on a sharded collection.
type query struct {
	collection  string
	filter, let bson.D
	missing     bool // an inserted document without a shard key
	isSearch    bool // a read outside of a transaction
}

// Broadcast is a command that a mongos would send to all shards.
type Broadcast struct {
	What     string // its collection and the fields of its filter
	IsSearch bool   // it is a read outside of a transaction
}

// NewBroadcasts makes the indexes that it needs in a database of a test.
func NewBroadcasts(t testing.TB, db *mongo.Database) *Broadcasts {
	t.Helper()
	for collection, key := range shardKeys {
		if key == "_id" {
			continue
		}
		index := mongo.IndexModel{Keys: bson.D{{Key: key, Value: 1}}}
		if _, err := db.Collection(collection).Indexes().CreateOne(t.Context(), index); err != nil {
			t.Fatal(err)
		}
	}
	return &Broadcasts{db: db, known: map[string]bool{}}
}

// Monitor reads commands.
func (b *Broadcasts) Monitor() *event.CommandMonitor {
	return &event.CommandMonitor{Started: func(_ context.Context, e *event.CommandStartedEvent) {
		var command bson.D
		if e.DatabaseName != b.db.Name() || bson.Unmarshal(e.Command, &command) != nil {
			return
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		isRead := slices.Contains([]string{"find", "count", "aggregate"}, e.CommandName)
		for _, q := range queriesOf(e.CommandName, command) {
			q.isSearch = isRead && valueOf(command, "autocommit") == nil
			b.queries = append(b.queries, q)
		}
	}}
}

// Take returns the broadcasts since the last call, in order.
func (b *Broadcasts) Take(t testing.TB) (found []Broadcast) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, q := range b.queries {
		if q.missing || b.isBroadcast(t, q) {
			found = append(found, Broadcast{q.String(), q.isSearch})
		}
	}
	b.queries = nil
	return found
}

// String names the collection and the fields of the filter.
func (q query) String() string {
	if q.missing {
		return q.collection + " without a shard key"
	}
	fields := slices.Compact(slices.Sorted(slices.Values(fieldsOf(q.filter))))
	return strings.TrimSpace(q.collection + " by " + strings.Join(fields, ", "))
}

func fieldsOf(value any) (fields []string) {
	switch v := value.(type) {
	case bson.D:
		for _, e := range v {
			if !strings.HasPrefix(e.Key, "$") {
				fields = append(fields, e.Key)
			} else if e.Key != "$expr" {
				fields = append(fields, fieldsOf(e.Value)...)
			}
		}
	case bson.A:
		for _, e := range v {
			fields = append(fields, fieldsOf(e)...)
		}
	}
	return fields
}

// queriesOf are the filters of a command on sharded collections.
func queriesOf(name string, command bson.D) (found []query) {
	collection, _ := valueOf(command, name).(string)
	key, sharded := shardKeys[collection]
	if !sharded {
		return nil
	}
	switch name {
	case "find", "count":
		filter, _ := valueOf(command, "filter").(bson.D)
		return []query{{collection: collection, filter: filter}}
	case "findAndModify":
		filter, _ := valueOf(command, "query").(bson.D)
		return []query{{collection: collection, filter: filter}}
	case "update", "delete":
		statements, _ := valueOf(command, name+"s").(bson.A)
		for _, s := range statements {
			filter, _ := valueOf(s.(bson.D), "q").(bson.D)
			found = append(found, query{collection: collection, filter: filter})
		}
	case "insert":
		documents, _ := valueOf(command, "documents").(bson.A)
		for _, d := range documents {
			found = append(found, query{collection: collection, missing: valueOf(d.(bson.D), key) == nil})
		}
		found = slices.DeleteFunc(found, func(q query) bool { return !q.missing })
	case "aggregate":
		pipeline, _ := valueOf(command, "pipeline").(bson.A)
		return pipelineQueries(collection, pipeline, nil)
	case "getMore", "listIndexes", "createIndexes", "dropIndexes", "collMod", "create", "collStats":
	default:
		return []query{{collection: collection + " " + name}}
	}
	return found
}

// pipelineQueries are the first filters of a pipeline and of its joins.
func pipelineQueries(collection string, pipeline bson.A, let bson.D) (found []query) {
	first := query{collection: collection, filter: bson.D{}, let: let}
	for i, s := range pipeline {
		stage := s.(bson.D)[0]
		switch body := stage.Value.(type) {
		case bson.D:
			switch {
			case stage.Key == "$changeStream":
				return nil // it is of all shards
			case stage.Key == "$match" && i == len(first.filter):
				first.filter = append(first.filter, bson.E{Key: fmt.Sprint("$and", i), Value: body})
			case stage.Key == "$lookup":
				found = append(found, joinQueries(body)...)
			}
		}
	}
	both := bson.A{}
	for _, e := range first.filter {
		both = append(both, e.Value)
	}
	if first.filter = (bson.D{}); len(both) > 0 {
		first.filter = bson.D{{Key: "$and", Value: both}}
	}
	return append([]query{first}, found...)
}

// joinQueries are the filters of a $lookup. Its variables have any value.
func joinQueries(join bson.D) []query {
	from, _ := valueOf(join, "from").(string)
	key, sharded := shardKeys[from]
	if !sharded || valueOf(join, "foreignField") == key {
		return nil
	}
	let := bson.D{}
	if variables, ok := valueOf(join, "let").(bson.D); ok {
		for _, v := range variables {
			let = append(let, bson.E{Key: v.Key, Value: bson.NewObjectID()})
		}
	}
	pipeline, _ := valueOf(join, "pipeline").(bson.A)
	found := pipelineQueries(from, pipeline, let)
	if field, ok := valueOf(join, "foreignField").(string); ok && len(found) > 0 {
		found[0].filter = append(bson.D{{Key: field, Value: bson.D{{Key: "$exists", Value: true}}}}, found[0].filter...)
	}
	return found
}

func valueOf(d bson.D, key string) any {
	for _, e := range d {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// isBroadcast asks MongoDB for the bounds of the shard key. Points are on known shards. What has no
// ObjectID is in the first or the last chunk.
func (b *Broadcasts) isBroadcast(t testing.TB, q query) bool {
	t.Helper()
	key := shardKeys[q.collection]
	if key == "" {
		return true // a command that is not known
	}
	if q.filter == nil {
		q.filter = bson.D{}
	}
	if q.let == nil {
		q.let = bson.D{}
	}
	text := fmt.Sprint(q.collection, q.filter, len(q.let))
	if broadcast, known := b.known[text]; known {
		return broadcast
	}
	var plan bson.Raw
	err := b.db.RunCommand(t.Context(), bson.D{
		{Key: "explain", Value: bson.D{
			{Key: "find", Value: q.collection}, {Key: "filter", Value: q.filter}, {Key: "let", Value: q.let},
			{Key: "hint", Value: bson.D{{Key: key, Value: 1}}},
		}},
		{Key: "verbosity", Value: "queryPlanner"},
	}).Decode(&plan)
	if err != nil {
		t.Fatal(err, q.filter)
	}
	bounds := boundsOf(plan.Lookup("queryPlanner", "winningPlan"), key)
	broadcast := len(bounds) == 0 || slices.ContainsFunc(bounds, isRange)
	b.known[text] = broadcast
	return broadcast
}

// boundsOf are the bounds of a field in a plan; an EOF is none.
func boundsOf(plan bson.RawValue, field string) (bounds []string) {
	doc, ok := plan.DocumentOK()
	if !ok {
		if list, ok := plan.ArrayOK(); ok {
			values, _ := list.Values()
			for _, v := range values {
				bounds = append(bounds, boundsOf(v, field)...)
			}
		}
		return bounds
	}
	if found, err := doc.LookupErr("indexBounds", field); err == nil {
		values, _ := found.Array().Values()
		for _, v := range values {
			bounds = append(bounds, v.StringValue())
		}
		return bounds
	}
	elements, _ := doc.Elements()
	for _, e := range elements {
		bounds = append(bounds, boundsOf(e.Value(), field)...)
	}
	return bounds
}

// isRange reports whether bounds such as "[1, 2]" are more than one value.
func isRange(bounds string) bool {
	below, above := "[MinKey, ObjectId('"+holdfast.ID{}.String()+"')", "(ObjectId('"+strings.Repeat("f", 24)+"'), MaxKey"
	if strings.HasPrefix(bounds, below) || strings.HasPrefix(bounds, above) {
		return false
	}
	from, to, _ := strings.Cut(bounds[1:len(bounds)-1], ", ")
	return from != to
}
