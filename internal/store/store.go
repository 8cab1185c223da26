package store

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// ID names an event, a user, a lock or a booking.
type ID = holdfast.ID

// Store has the events, locks and bookings of one database. It is safe for concurrent use.
// Its methods join a transaction of their context.
type Store struct{ db *mongodb.DB }

// New returns the store of db.
func New(db *mongodb.DB) *Store { return &Store{db: db} }

// DB is the store's database.
func (s *Store) DB() *mongodb.DB { return s.db }

const (
	eventsName   = "events"
	locksName    = "seatlocks"
	bookingsName = "bookings"
)

func (s *Store) events() *mongo.Collection   { return s.db.Collection(eventsName) }
func (s *Store) locks() *mongo.Collection    { return s.db.Collection(locksName) }
func (s *Store) bookings() *mongo.Collection { return s.db.Collection(bookingsName) }

// snapshot reads a collection and its joins in one snapshot, which includes all writes
// acknowledged before.
func (s *Store) snapshot(collection string) *mongo.Collection {
	return s.db.Collection(collection, options.Collection().SetReadConcern(readconcern.Snapshot()))
}

// Load reads an event and the other needs of a decision in one snapshot: the one of the
// context's transaction, or of one aggregation that sees all writes acknowledged before. A
// zero eventID means the event of the first booking or lock that is needed.
//
// If a fence is needed, the event is written first: see inventory.State.Fenced.
func (s *Store) Load(ctx context.Context, eventID ID, n inventory.Needs) (inventory.State, error) {
	inTx := mongo.SessionFromContext(ctx) != nil
	var found loaded
	var fenced bool
	var err error
	switch {
	case eventID.IsZero() && len(n.Bookings) == 1:
		err = s.loadByBooking(ctx, n, &found)
	case eventID.IsZero() && len(n.Locks) == 1:
		err = s.loadByLock(ctx, n, &found)
	case inTx || eventID.IsZero():
		err = s.loadEach(ctx, eventID, n, &found)
	default:
		fenced, err = s.loadJoined(ctx, eventID, n, &found)
	}
	if err != nil {
		return inventory.State{}, err
	}
	state := found.state(n)
	state.Fenced = fenced
	return state, nil
}

// loadJoined reads everything by one aggregation. After a fence it reads at the fence's
// time: a primary that was just elected waits until it has the data of that time.
func (s *Store) loadJoined(ctx context.Context, eventID ID, n inventory.Needs, found *loaded) (fenced bool, err error) {
	snapshot := bson.D{{Key: "level", Value: "snapshot"}}
	if n.Fence {
		at, exists, err := s.fence(ctx, eventID)
		if err != nil {
			return false, err
		}
		if fenced = exists; exists {
			snapshot = append(snapshot, bson.E{Key: "atClusterTime", Value: at})
		}
	}
	pipeline := mongo.Pipeline{mongodb.Match(mongodb.Is("_id", eventID))}
	for _, p := range parts(eventID, n) {
		pipeline = append(pipeline, mongodb.Join(p.as, p.collection, p.stages...))
	}
	var answer struct {
		Cursor struct {
			First []loaded `bson:"firstBatch"`
		} `bson:"cursor"`
	}
	err = s.db.RunCommand(ctx, bson.D{
		{Key: "aggregate", Value: eventsName}, {Key: "pipeline", Value: append(pipeline, mongodb.WithNow)},
		{Key: "cursor", Value: bson.D{}}, {Key: "readConcern", Value: snapshot},
	}).Decode(&answer)
	if err != nil {
		return false, err
	}
	if len(answer.Cursor.First) == 0 { // no event: its locks may exist
		return false, s.loadEach(ctx, eventID, n, found)
	}
	*found = answer.Cursor.First[0]
	return fenced, nil
}

// fence writes the event and returns the time of the write. The write waits for a
// transaction that holds the event. It is a plain command without retries, because a
// retryable write costs MongoDB a second write.
func (s *Store) fence(ctx context.Context, eventID ID) (at bson.Timestamp, exists bool, err error) {
	var answer struct {
		N  int            `bson:"n"`
		At bson.Timestamp `bson:"operationTime"`
	}
	err = s.db.RunCommand(ctx, bson.D{
		{Key: "update", Value: eventsName},
		{Key: "updates", Value: bson.A{bson.D{
			{Key: "q", Value: mongodb.Is("_id", eventID)}, {Key: "u", Value: bson.D{{Key: "$inc", Value: bson.D{{Key: "fence", Value: int64(1)}}}}},
		}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
	}).Decode(&answer)
	return answer.At, answer.N > 0, err
}

// Hold writes an event in the caller's transaction, and changes only its revision. Until
// the transaction ends, no other one can change the event.
func (s *Store) Hold(ctx context.Context, eventID ID) error {
	_, err := s.events().UpdateOne(ctx, mongodb.Is("_id", eventID), bson.D{incRevision})
	return err
}

const (
	// ErrStale says that a guard of the plan did not match. Nothing was written; the
	// commands have to be decided again.
	ErrStale = mongodb.AbortError("what the plan was decided on has changed")
	// ErrKeyInUse says that a new lock has an idempotency key that is in use. Nothing was written.
	ErrKeyInUse = mongodb.AbortError("an idempotency key is in use")
)

// EventPlan is a plan for an event.
type EventPlan struct {
	EventID ID
	inventory.Plan
}

// Applied is the event after a plan was applied, if the plan writes it.
type Applied struct {
	Event *inventory.Event
	Now   time.Time     // the database's clock, as the event was written
	Took  time.Duration // by the last attempt of the transaction
}

// Apply writes the plans of one or several events in one transaction, or joins the
// caller's. It calls beforeCommit when everything is written; an error of beforeCommit ends
// the transaction.
//
// With ErrStale or ErrKeyInUse nothing was written. For other errors see mongodb.InTx.
func (s *Store) Apply(ctx context.Context, plans []EventPlan, beforeCommit func() error) ([]Applied, error) {
	attempts := 0
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) ([]Applied, error) {
		if attempts++; attempts > 1 && reliesOnUnwrittenEvent(plans) {
			return nil, ErrStale // the event may have changed during the conflict: it is read again
		}
		began := s.db.Clock()()
		applied := make([]Applied, len(plans))
		for i, p := range plans {
			if p.Event == nil {
				continue
			}
			doc, err := s.writeEvent(ctx, p.EventID, *p.Event)
			if err != nil {
				return nil, err
			}
			after := doc.inventory()
			applied[i].Event, applied[i].Now = &after, doc.UpdatedAt.Time
			if applied[i].Now.Before(p.NotBefore) || !wasValid(after, *p.Event) {
				return nil, ErrStale
			}
		}
		for _, write := range []func(context.Context, []EventPlan, []Applied) error{
			s.writeLocks, s.insertLocks, s.writeBookings, s.insertBookings,
		} {
			if err := write(ctx, plans, applied); err != nil {
				return nil, err
			}
		}
		if err := beforeCommit(); err != nil {
			return nil, err
		}
		for i := range applied {
			applied[i].Took = s.db.Clock().Since(began)
		}
		return applied, nil
	})
}
