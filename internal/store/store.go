package store

import (
	"sync/atomic"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ID names an event, a user, a lock or a booking.
type ID = holdfast.ID

// Store accesses the events, locks and bookings of one database. It is safe for concurrent use. If the context has a
// transaction, its methods join it.
type Store struct {
	db        *mongodb.DB
	halls     Halls
	maxSummed int                             // the constant, or fewer in tests
	corrupt   atomic.Pointer[[]bson.RawValue] // the IDs of corrupt locks; nil if there are none
}

// New returns the store of db.
func New(db *mongodb.DB, halls Halls) *Store {
	return &Store{db: db, halls: halls, maxSummed: maxSummed}
}

// DB returns the store's database.
func (s *Store) DB() *mongodb.DB { return s.db }

const (
	eventsName   = "events"
	locksName    = "seatlocks"
	bookingsName = "bookings"
)

func (s *Store) events() *mongo.Collection   { return s.db.Collection(eventsName) }
func (s *Store) locks() *mongo.Collection    { return s.db.Collection(locksName) }
func (s *Store) bookings() *mongo.Collection { return s.db.Collection(bookingsName) }

// snapshot reads a collection and its joins in one snapshot, which includes all writes acknowledged before.
func (s *Store) snapshot(collection string) *mongo.Collection {
	return s.db.Collection(collection, options.Collection().SetReadConcern(readconcern.Snapshot()))
}
