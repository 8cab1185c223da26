package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// reliesOnUnwrittenEvent reports whether a plan was decided on an event that it does not
// write, and so does not guard: whether the event is cancelled.
func reliesOnUnwrittenEvent(plans []EventPlan) bool {
	return slices.ContainsFunc(plans, func(p EventPlan) bool { return p.Event == nil })
}

// wasValid reports whether a counter that was changed without being read was one that
// can be.
func wasValid(after inventory.Event, w inventory.EventWrite) bool {
	if w.IfUnchanged != nil || w.Drift != nil {
		return true
	}
	after.AvailableSeats -= w.Available
	return after.Valid()
}

// writeEvent writes the event, first of all: of two transactions on it, the second
// gets a conflict. Even where the counter stays, its revision is raised, except by a Drift.
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
		err = fmt.Errorf("%w: %w", ErrKeyInUse, err)
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
