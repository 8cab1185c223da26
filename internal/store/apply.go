package store

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

const (
	// ErrStale: a condition of the plan did not hold as it was written. Nothing was
	// written; the commands have to be decided again.
	ErrStale = mongodb.Abort("what the plan was decided on has changed")
	// ErrKeyInUse: a new lock has an idempotency key that is in use. Nothing was written.
	ErrKeyInUse = mongodb.Abort("an idempotency key is in use")
)

// EventPlan is a plan and the event that it is for.
type EventPlan struct {
	EventID ID
	inventory.Plan
}

// Applied is the event after a plan was applied, if the plan writes it.
type Applied struct {
	Event *inventory.Event
	Now   time.Time     // the database's clock, as the event was written
	Took  time.Duration // of the transaction that got through
}

// Apply writes the plans of one or several events in one transaction, or joins the
// caller's. beforeCommit is called when everything is written; its error ends the
// transaction.
//
// ErrStale, ErrKeyInUse: nothing was written, see there. For other errors see
// mongodb.InTx.
func (s *Store) Apply(ctx context.Context, plans []EventPlan, beforeCommit func() error) ([]Applied, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) ([]Applied, error) {
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
		for _, write := range []func(context.Context, []EventPlan, []Applied) error{s.writeLocks, s.insertLocks, s.writeBookings, s.insertBookings} {
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

// wasValid reports whether a counter that was changed without being read was one that
// can be.
func wasValid(after inventory.Event, w inventory.EventWrite) bool {
	if w.AsRead != nil || w.Drift != nil {
		return true
	}
	after.AvailableSeats -= w.Available
	return after.Valid()
}

// writeEvent writes the event, first of all: of two transactions on it, the second
// loses. Even where the counter stays, its revision is raised.
func (s *Store) writeEvent(ctx context.Context, id ID, w inventory.EventWrite) (after eventDoc, err error) {
	err = s.events().FindOneAndUpdate(ctx, eventGuard(id, w), eventUpdate(w),
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&after)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = ErrStale
	}
	return after, err
}

// writeLocks changes locks by one command. Locks that change alike, and whose
// revision is no matter, share a statement of it.
func (s *Store) writeLocks(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var alike groups[inventory.LockWrite]
	for _, p := range plans {
		for _, w := range p.Locks {
			like := w
			if w.Guard == inventory.AnyRevision || w.Guard == inventory.IsDue {
				like.ID = ID{}
			}
			alike.add(like, w.ID)
		}
	}
	return s.update(ctx, locksName, alike.statements(lockGuard, lockUpdate), alike.count)
}

// groups are writes that are alike but for the IDs of their documents.
type groups[W comparable] struct {
	ids   map[W][]ID
	order []W
	count int
}

func (g *groups[W]) add(like W, id ID) {
	if g.ids == nil {
		g.ids = map[W][]ID{}
	}
	if _, known := g.ids[like]; !known {
		g.order = append(g.order, like)
	}
	g.ids[like] = append(g.ids[like], id)
	g.count++
}

func (g *groups[W]) statements(guard func([]ID, W) bson.D, update func(W) bson.D) []bson.D {
	list := make([]bson.D, 0, len(g.order))
	for _, w := range g.order {
		list = append(list, statement(guard(g.ids[w], w), update(w)))
	}
	return list
}

func statement(filter, update bson.D) bson.D {
	return bson.D{{Key: "q", Value: filter}, {Key: "u", Value: update}, {Key: "multi", Value: true}}
}

// update runs the statements by one command. ErrStale: they matched fewer documents
// than they name.
func (s *Store) update(ctx context.Context, collection string, statements []bson.D, named int) error {
	if len(statements) == 0 {
		return nil
	}
	var answer struct {
		N int `bson:"n"`
	}
	err := s.db.RunCommand(ctx, bson.D{{Key: "update", Value: collection}, {Key: "updates", Value: statements}}).Decode(&answer)
	if err == nil && answer.N != named {
		err = ErrStale
	}
	return err
}

func (s *Store) insertLocks(ctx context.Context, plans []EventPlan, applied []Applied) error {
	var docs []bson.D
	for i, p := range plans {
		for j := range p.Acquired {
			docs = append(docs, newLockDoc(p.AcquiredAt(j, applied[i].Now)))
		}
	}
	if len(docs) == 0 {
		return nil
	}
	err := s.db.Insert(ctx, locksName, docs)
	if mongodb.IsDuplicate(err) {
		err = ErrKeyInUse
	}
	return err
}

// writeBookings changes bookings by one command.
func (s *Store) writeBookings(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var alike groups[inventory.BookingWrite]
	for _, p := range plans {
		for _, w := range p.Bookings {
			like := w
			like.ID = ID{}
			alike.add(like, w.ID)
		}
	}
	return s.update(ctx, bookingsName, alike.statements(bookingGuard, bookingUpdate), alike.count)
}

func (s *Store) insertBookings(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var docs []bson.D
	for _, p := range plans {
		for _, b := range p.NewBookings {
			docs = append(docs, newBookingDoc(b))
		}
	}
	if len(docs) == 0 {
		return nil
	}
	return s.db.Insert(ctx, bookingsName, docs)
}
