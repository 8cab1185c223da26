package store

import (
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// ID names an event, a user, a lock or a booking.
type ID = holdfast.ID

// Store is the events, locks and bookings of one database. Its methods are safe for
// use by many goroutines, and join a transaction of their context.
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

// snapshot reads a collection, and what is joined to it, at one moment that includes
// all that was acknowledged before.
func (s *Store) snapshot(collection string) *mongo.Collection {
	return s.db.Collection(collection, options.Collection().SetReadConcern(readconcern.Snapshot()))
}
