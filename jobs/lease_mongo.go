package jobs

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// LeaseCollection holds the leases that MongoLeases keeps, one document per lease.
const LeaseCollection = "jobleases"

// leases describes the collection.
var leases = mongodb.Collection{Name: LeaseCollection, Schema: &leaseRules}

const (
	// mongoTimeout bounds a command; it is shortened for leases with a short TTL.
	mongoTimeout = 5 * time.Second
	// releaseTimeout is short, because a process that stops has little time.
	releaseTimeout = time.Second
)

// unknownHolder is the name of a holder that other software wrote without a name.
const unknownHolder = "unknown"

// MongoLeases keeps leases in MongoDB and uses the database's clock. A released lease
// is deleted. An expired one is overwritten by the next holder.
type MongoLeases struct {
	db    *mongodb.DB
	terms LeaseTerms
	probe leaseProbe
}

// leaseProbe remembers whether MongoDB accepted a lease.
type leaseProbe struct {
	mu  sync.Mutex
	at  time.Time // zero before the first probe
	err error
}

// maxProbeInterval is the longest time between two probes.
const maxProbeInterval = 10 * time.Second

// errProbe aborts the transaction of a probe.
const errProbe = mongodb.AbortError("only a probe")

// NewMongoLeases returns a store that keeps leases in db.
func NewMongoLeases(db *mongodb.DB, terms LeaseTerms) *MongoLeases {
	return &MongoLeases{db: db, terms: terms}
}

// Kind is KindMongo.
func (m *MongoLeases) Kind() string { return StoreMongo }

// Ping returns nil if MongoDB has a writable primary that accepts leases. It writes one, in a
// transaction that it aborts, and seldom, because any client may call /readyz. Any document can become a
// lease; see Acquire.
func (m *MongoLeases) Ping(ctx context.Context, _ ...string) error {
	if err := m.db.Ping(ctx); err != nil {
		return mongoError(err)
	}
	p, now := &m.probe, m.db.Clock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.at.IsZero() || now.Since(p.at) >= min(maxProbeInterval, m.terms.RenewInterval()) {
		p.err = mongodb.Do(ctx, m.db, func(ctx context.Context) error {
			_, err := m.leases().InsertOne(ctx, bson.D{{Key: "_id", Value: rand.Text()}, {Key: "lockedBy", Value: ""},
				{Key: "token", Value: ""}, {Key: "lockedAt", Value: now()}, {Key: "expiresAt", Value: now()}})
			return cmp.Or(err, error(errProbe))
		})
		p.at = now()
		if errors.Is(p.err, errProbe) {
			p.err = nil
		}
	}
	return mongoError(p.err)
}

func (m *MongoLeases) leases() *mongo.Collection { return m.db.Collection(LeaseCollection) }

func (m *MongoLeases) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, min(mongoTimeout, m.terms.StoreTTL()/2))
}

type mongoDoc struct {
	LockedBy  string              `bson:"lockedBy"`
	ExpiresAt time.Time           `bson:"expiresAt"`
	Now       mongodb.DatabaseNow `bson:"databaseNow"`
}

// leaseRules are the schema of leases. A lease that breaks it is corrupt, and free: its job would never run again
// otherwise. The next holder overwrites each of these fields.
var leaseRules = mongodb.Schema{
	Required: []string{"_id", "expiresAt"},
	Fields: []mongodb.Field{
		mongodb.TextField("_id"), mongodb.TextField("lockedBy"), mongodb.TextField("token"),
		mongodb.DateField("lockedAt"), mongodb.DateField("expiresAt"),
	},
}

// readLease decodes a lease. It returns false if the lease is corrupt.
func readLease(raw bson.Raw) (d mongoDoc, ok bool) {
	return d, leaseRules.Holds(raw) && mongodb.Unmarshal(raw, &d) == nil
}

func (d mongoDoc) holding() Holding {
	if d.isTooFarAhead(d.Now.Time) || !d.ExpiresAt.After(d.Now.Time) {
		return Holding{}
	}
	h := Holding{Holder: d.LockedBy, Until: d.ExpiresAt, Remaining: d.ExpiresAt.Sub(d.Now.Time)}
	if h.Holder == "" {
		h.Holder = unknownHolder
	}
	return h
}

// maxAhead is longer than any lease lasts, although the clocks of the database's members differ by
// some minutes.
const maxAhead = MaxLeaseTTL + 15*time.Minute

// isTooFarAhead reports whether no holder can have written the lease's end. Such a lease is free, like a corrupt one.
func (d mongoDoc) isTooFarAhead(now time.Time) bool { return d.ExpiresAt.After(now.Add(maxAhead)) }

// isFree matches a lease that has expired, is corrupt, or ends too far ahead.
var isFree = bson.D{{Key: "$or", Value: bson.A{
	mongodb.Passed("expiresAt"),
	mongodb.Corrupt(leases),
	bson.D{{Key: "$expr", Value: bson.D{{Key: "$gt", Value: bson.A{
		"$expiresAt", bson.D{{Key: "$add", Value: bson.A{"$$NOW", maxAhead.Milliseconds()}}},
	}}}}},
}}}

// Acquire tries once; see Store. It inserts first and, on a duplicate, overwrites
// an expired lease: an upsert that matches expired leases could not insert. It logs if the
// lease was not of Holdfast.
func (m *MongoLeases) Acquire(ctx context.Context, name, holder string) (Lease, error) {
	ctx, cancel := m.withTimeout(context.WithoutCancel(ctx))
	defer cancel()
	l := &mongoLease{store: m, name: name, token: rand.Text()}
	acquire := mongo.Pipeline{{{Key: "$set", Value: bson.D{
		{Key: "lockedBy", Value: bson.D{{Key: "$literal", Value: holder}}},
		{Key: "token", Value: l.token}, {Key: "lockedAt", Value: "$$NOW"}, {Key: "expiresAt", Value: m.expiry()},
	}}}}
	_, err := m.leases().UpdateOne(ctx, l.filter(), acquire, options.UpdateOne().SetUpsert(true))
	if !mongodb.IsDuplicate(err, mongodb.ByID) {
		return l.ifAcquired(ctx, err)
	}
	before, err := m.leases().FindOneAndUpdate(ctx, mongodb.And(mongodb.Is("_id", name), isFree), acquire).Raw()
	if err == nil {
		if d, ok := readLease(before); !ok || d.isTooFarAhead(m.db.Clock()()) {
			m.db.Log().WarnContext(ctx, "Took over a lease that was corrupt, or ended too far ahead", slog.String("lockKey", name))
		}
	}
	if !errors.Is(err, mongo.ErrNoDocuments) {
		return l.ifAcquired(ctx, err)
	}
	holding, err := m.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	return nil, &HeldError{name, holding}
}

// ifAcquired returns the lease if err is nil. Otherwise the outcome is unknown:
// it releases the lease in case it was acquired, so that no process has to wait
// until it expires.
func (l *mongoLease) ifAcquired(ctx context.Context, err error) (Lease, error) {
	if err == nil {
		return l, nil
	}
	return nil, &UnavailableError{MongoUnavailable, errors.Join(err, l.Release(ctx))}
}

func (m *MongoLeases) expiry() bson.D {
	return bson.D{{Key: "$add", Value: bson.A{"$$NOW", m.terms.StoreTTL().Milliseconds()}}}
}

// Read returns the holder of a lease; see Store.
func (m *MongoLeases) Read(ctx context.Context, name string) (Holding, error) {
	raw, _, err := mongodb.First[bson.Raw](ctx, m.leases(), mongo.Pipeline{mongodb.Match(mongodb.Is("_id", name)), mongodb.WithNow})
	doc, ok := readLease(raw)
	if err != nil || !ok { // there is none, or it is corrupt
		return Holding{}, mongoError(err)
	}
	return doc.holding(), nil
}

// Free removes a lease; see Store.
func (m *MongoLeases) Free(ctx context.Context, name string) (Holding, error) {
	ctx, cancel := m.withTimeout(ctx)
	defer cancel()
	holding, err := m.Read(ctx, name)
	if err != nil {
		return Holding{}, err
	}
	_, err = m.leases().DeleteOne(ctx, mongodb.Is("_id", name))
	return holding, mongoError(err)
}

type mongoLease struct {
	store       *MongoLeases
	name, token string
}

func (l *mongoLease) filter() bson.D {
	return bson.D{{Key: "_id", Value: l.name}, {Key: "token", Value: l.token}}
}

// Renew restarts the TTL; see Lease.
func (l *mongoLease) Renew(ctx context.Context) error {
	ctx, cancel := l.store.withTimeout(ctx)
	defer cancel()
	result, err := l.store.leases().UpdateOne(ctx, l.filter(),
		mongo.Pipeline{{{Key: "$set", Value: bson.D{{Key: "expiresAt", Value: l.store.expiry()}}}}})
	if err != nil {
		return mongoError(err)
	}
	if result.MatchedCount == 0 {
		holding, err := l.store.Read(ctx, l.name)
		if err != nil {
			return err
		}
		return &HeldError{l.name, holding}
	}
	return nil
}

// Release deletes the lease; see Lease.
func (l *mongoLease) Release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, err := l.store.leases().DeleteOne(ctx, l.filter())
	return mongoError(err)
}

func mongoError(err error) error {
	if err == nil {
		return nil
	}
	return &UnavailableError{MongoUnavailable, err}
}
