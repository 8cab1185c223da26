package lease

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Collection is where Mongo keeps leases, a document each.
const Collection = "jobleases"

// mongoTime bounds a conversation; a term is bound to be longer.
const mongoTime = 5 * time.Second

// Mongo keeps leases in MongoDB, timed by the database's clock. A lease that is
// given back is removed; one whose term has passed is taken over.
type Mongo struct {
	db    *mongodb.DB
	terms Terms
}

// NewMongo keeps leases in db.
func NewMongo(db *mongodb.DB, terms Terms) *Mongo { return &Mongo{db, terms} }

// Kind is KindMongo.
func (m *Mongo) Kind() string { return KindMongo }

// Ping returns nil if MongoDB takes writes.
func (m *Mongo) Ping(ctx context.Context) error { return mongoDown(m.db.Ping(ctx)) }

func (m *Mongo) leases() *mongo.Collection { return m.db.Collection(Collection) }

func (m *Mongo) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(mongoTime, m.terms.Term()/2))
}

type mongoDoc struct {
	LockedBy  mongodb.Text `bson:"lockedBy"`
	ExpiresAt mongodb.Date `bson:"expiresAt"`
	Now       mongodb.Date `bson:"now"`
}

func (d mongoDoc) holding() Holding {
	if d.ExpiresAt.IsZero() || !d.ExpiresAt.After(d.Now.Time) {
		return Holding{}
	}
	h := Holding{Holder: string(d.LockedBy), Until: d.ExpiresAt.Time, Left: d.ExpiresAt.Sub(d.Now.Time)}
	if h.Holder == "" {
		h.Holder = "somebody who left no name"
	}
	return h
}

// Acquire tries once; see Store. An upsert that asked for an expired lease would
// never acquire a free one, so it inserts first, and on a duplicate takes over.
func (m *Mongo) Acquire(ctx context.Context, name, holder string) (Lease, error) {
	ctx, cancel := m.bounded(context.WithoutCancel(ctx))
	defer cancel()
	l := &mongoLease{store: m, name: name, token: rand.Text()}
	take := mongo.Pipeline{{{Key: "$set", Value: bson.D{
		{Key: "lockedBy", Value: bson.D{{Key: "$literal", Value: holder}}},
		{Key: "token", Value: l.token}, {Key: "lockedAt", Value: "$$NOW"}, {Key: "expiresAt", Value: m.end()},
	}}}}
	_, err := m.leases().UpdateOne(ctx, l.ours(), take, options.UpdateOne().SetUpsert(true))
	if !mongodb.IsDuplicate(err) {
		return l.orGone(ctx, err)
	}
	passed := bson.D{{Key: "$or", Value: bson.A{
		mongodb.Passed("expiresAt"),
		bson.D{{Key: "expiresAt", Value: bson.D{{Key: "$not", Value: bson.D{{Key: "$type", Value: "date"}}}}}},
	}}}
	result, err := m.leases().UpdateOne(ctx, mongodb.And(mongodb.Is("_id", name), passed), take)
	if err != nil || result.ModifiedCount == 1 {
		return l.orGone(ctx, err)
	}
	holding, err := m.Look(ctx, name)
	if err != nil {
		return nil, err
	}
	return nil, &HeldError{name, holding}
}

// orGone is the lease, unless it is not known to have been acquired: then it is
// given back, in case it was, so that nobody waits for its term to pass.
func (l *mongoLease) orGone(ctx context.Context, err error) (Lease, error) {
	if err == nil {
		return l, nil
	}
	return nil, &UnavailableError{MongoUnavailable, errors.Join(err, l.Release(ctx))}
}

func (m *Mongo) end() bson.D {
	return bson.D{{Key: "$add", Value: bson.A{"$$NOW", m.terms.Term().Milliseconds()}}}
}

// Look tells who holds a lease; see Store.
func (m *Mongo) Look(ctx context.Context, name string) (Holding, error) {
	doc, _, err := mongodb.First[mongoDoc](ctx, m.leases(), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", name)), mongodb.WithNow})
	return doc.holding(), mongoDown(err)
}

// Free takes a lease away; see Store.
func (m *Mongo) Free(ctx context.Context, name string) (Holding, error) {
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	holding, err := m.Look(ctx, name)
	if err != nil {
		return Holding{}, err
	}
	_, err = m.leases().DeleteOne(ctx, mongodb.Is("_id", name))
	return holding, mongoDown(err)
}

type mongoLease struct {
	store       *Mongo
	name, token string
}

func (l *mongoLease) ours() bson.D {
	return bson.D{{Key: "_id", Value: l.name}, {Key: "token", Value: l.token}}
}

// Renew begins the term anew; see Lease.
func (l *mongoLease) Renew(ctx context.Context) error {
	ctx, cancel := l.store.bounded(ctx)
	defer cancel()
	result, err := l.store.leases().UpdateOne(ctx, l.ours(),
		mongo.Pipeline{{{Key: "$set", Value: bson.D{{Key: "expiresAt", Value: l.store.end()}}}}})
	if err != nil {
		return mongoDown(err)
	}
	if result.MatchedCount == 0 {
		holding, err := l.store.Look(ctx, l.name)
		if err != nil {
			return err
		}
		return &HeldError{l.name, holding}
	}
	return nil
}

// releaseTime: a process that stops has little time.
const releaseTime = time.Second

// Release gives the lease back; see Lease.
func (l *mongoLease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	_, err := l.store.leases().DeleteOne(ctx, l.ours())
	return mongoDown(err)
}

func mongoDown(err error) error {
	if err == nil {
		return nil
	}
	return &UnavailableError{MongoUnavailable, err}
}
