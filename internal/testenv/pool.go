package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"
)

// pool keeps databases that tests have left: to make the collections and indexes of one takes a fifth of a second,
// to empty it a tenth of that. Main drops them.
var pool struct {
	mu     sync.Mutex
	client *mongo.Client // of the pool alone
	free   []*pooled
}

// pooled is a database of one test after the other.
type pooled struct {
	name      string
	setup     map[string]string     // of the collections, by name; nil if it is not known, so that the database is dropped
	documents map[string][]bson.Raw // by collection: those that a start leaves
}

const (
	emptyTimeout = 2 * time.Second
	dropTimeout  = time.Minute
	// emptied is how many documents of a collection are removed. With more, a new database takes less time.
	emptied = 2_000
)

var errNotAsMade = errors.New("the database is not as it was made")

// takeDatabase returns an empty database, which does not exist yet if none is kept.
func takeDatabase() *pooled {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if len(pool.free) == 0 {
		return &pooled{name: "holdfast_test_" + strings.ToLower(rand.Text()[:12])}
	}
	last := len(pool.free) - 1
	taken := pool.free[last]
	pool.free = pool.free[:last]
	return taken
}

// giveBackAfter empties a database after the test, for another one. It drops the database if the test has failed, or has
// changed more than documents. It has to be called before anything that uses the database is opened, and so runs last.
func (p *pooled) giveBackAfter(t testing.TB) {
	t.Helper()
	db := p.database(t)
	t.Cleanup(func() {
		if !t.Failed() && p.empty(db) == nil {
			pool.mu.Lock()
			defer pool.mu.Unlock()
			pool.free = append(pool.free, p)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
		defer cancel()
		if err := db.Drop(ctx); err != nil {
			t.Error(err)
		}
	})
}

// database is p by the pool's own connections.
func (p *pooled) database(t testing.TB) *mongo.Database {
	t.Helper()
	uri := URI(t)
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.client == nil {
		pool.client = must(mongo.Connect(options.Client().ApplyURI(uri).SetWriteConcern(writeconcern.Majority())))(t)
	}
	return pool.client.Database(p.name)
}

// note remembers how a start has left a new database.
func (p *pooled) note(t testing.TB) {
	t.Helper()
	if p.setup != nil {
		return
	}
	db := p.database(t)
	setup := must(setupOf(t.Context(), db))(t)
	p.documents = map[string][]bson.Raw{}
	for name := range setup {
		p.documents[name] = must(readAll[bson.Raw](t.Context(), db, name))(t)
	}
	p.setup = setup
}

// empty makes the database what note has seen, or returns an error.
func (p *pooled) empty(db *mongo.Database) error {
	ctx, cancel := context.WithTimeout(context.Background(), emptyTimeout)
	defer cancel()
	setup, err := setupOf(ctx, db)
	if err != nil || !maps.Equal(setup, p.setup) {
		return errors.Join(errNotAsMade, err)
	}
	for name, documents := range p.documents {
		n, err := db.Collection(name).EstimatedDocumentCount(ctx)
		if err != nil || n > emptied {
			return errors.Join(errNotAsMade, err)
		}
		if _, err := db.Collection(name).DeleteMany(ctx, bson.D{}); err != nil {
			return err
		}
		if len(documents) == 0 {
			continue
		}
		if _, err := db.Collection(name).InsertMany(ctx, documents); err != nil {
			return err
		}
	}
	return nil
}

// setupOf returns what the catalog says of each collection of a database and of its indexes: also of the indexes that
// once had a key of an array, which MongoDB uses otherwise ever after.
func setupOf(ctx context.Context, db *mongo.Database) (map[string]string, error) {
	cursor, err := db.Client().Database("admin").Aggregate(ctx, mongo.Pipeline{
		{{Key: "$listCatalog", Value: bson.D{}}}, {{Key: "$match", Value: bson.D{{Key: "db", Value: db.Name()}}}},
	})
	if err != nil {
		return nil, err
	}
	var entries []struct {
		Name       string
		Definition bson.Raw `bson:"md"`
	}
	setup := map[string]string{}
	err = cursor.All(ctx, &entries)
	for _, e := range entries {
		setup[e.Name] = e.Definition.String()
	}
	return setup, err
}

// dropPool drops all databases that are kept.
func dropPool() error {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.client == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), dropTimeout)
	defer cancel()
	var failed error
	for _, p := range pool.free {
		failed = errors.Join(failed, pool.client.Database(p.name).Drop(ctx))
	}
	return errors.Join(failed, pool.client.Disconnect(ctx))
}
