package seats

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Service is the inventory of one database. Its methods are safe for use by
// many goroutines; those that say so compose into a caller's transaction.
type Service struct {
	db     *mongodb.DB
	limits Limits
	queues queues

	customers Customers
}

// New returns the inventory of db. customers may be nil.
func New(db *mongodb.DB, limits Limits, customers Customers) *Service {
	return &Service{db: db, limits: limits, customers: customers, queues: queues{
		byEvent: map[ID]*queue{},
		soldOut: map[ID]bool{},
		slots:   make(chan struct{}, maxInFlight),
	}}
}

// Close waits until every request that was taken up has its answer, or ctx ends.
func (s *Service) Close(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		s.queues.committers.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Lock returns a lock in its present state, or CodeLockNotFound. Within a
// transaction it reads its snapshot.
func (s *Service) Lock(ctx context.Context, id ID) (Lock, error) {
	return mongodb.Surely(ctx, s.db, mongodb.Absence, func(ctx context.Context) (Lock, error) {
		lock, _, err := s.lockNow(ctx, id)
		return lock, mongodb.Translate(err)
	})
}

func (s *Service) lockNow(ctx context.Context, id ID) (Lock, lockDoc, error) {
	docs, err := s.readLocks(ctx, mongodb.Is("_id", id))
	if err != nil {
		return Lock{}, lockDoc{}, err
	}
	doc, found := docs[id]
	if !found {
		return Lock{}, lockDoc{}, LockNotFound()
	}
	return doc.lock(), doc, nil
}

// LockFilter narrows a list; zero fields don't.
type LockFilter struct {
	EventID, UserID ID
	Status          Status
}

// Locks lists locks by ID, and the token of the next page.
func (s *Service) Locks(ctx context.Context, f LockFilter, page mongodb.Page) ([]Lock, string, error) {
	filter, indexed := ListFilter(f.EventID, f.UserID, string(f.Status), Statuses)
	docs, next, err := mongodb.List(ctx, s.locks(), filter, indexed, page, func(d lockDoc) ID { return d.ID })
	if err != nil {
		return nil, "", err
	}
	locks := make([]Lock, 0, len(docs))
	for _, d := range docs {
		locks = append(locks, d.lock())
	}
	return locks, next, nil
}

// ListFilter builds the filter of a list over documents with an eventId, a
// userId and a status, and says whether the indexes by event and by user serve
// it. By event it names all statuses, so that the index gives the order too.
func ListFilter[S ~string](event, user ID, status string, statuses []S) (filter bson.D, indexed bool) {
	if !event.IsZero() {
		filter = append(filter, mongodb.Is("eventId", event)...)
	}
	if !user.IsZero() {
		filter = append(filter, mongodb.Is("userId", user)...)
	}
	switch {
	case status != "":
		filter = append(filter, mongodb.Is("status", status)...)
	case !event.IsZero():
		filter = append(filter, mongodb.In("status", statuses)...)
	}
	return filter, len(filter) == 0 || !event.IsZero() || !user.IsZero()
}

type queues struct {
	mu         sync.Mutex
	byEvent    map[ID]*queue // only of events with work
	soldOut    map[ID]bool   // events whose last batch was refused as a whole
	slots      chan struct{} // one for each transaction in flight
	committers sync.WaitGroup
}
