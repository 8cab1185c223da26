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

// reliesOnUnwrittenEvent reports whether a plan relies on an event that it does not write
// and so does not guard: on the event not being cancelled.
func reliesOnUnwrittenEvent(plans []EventPlan) bool {
	return slices.ContainsFunc(plans, func(p EventPlan) bool { return p.Event == nil })
}

// wasValid reports whether a counter that was changed without a read was possible before.
func wasValid(after inventory.Event, w inventory.EventWrite) bool {
	if w.IfUnchanged != nil || w.Drift != nil {
		return true
	}
	after.AvailableSeats -= w.Available
	return after.Valid()
}

// writeEvent writes the event first, so the second of two transactions on it gets a
// conflict at once. It raises the revision even if the counter stays; a Drift does not.
func (s *Store) writeEvent(ctx context.Context, id ID, w inventory.EventWrite) (after eventDoc, err error) {
	err = s.events().FindOneAndUpdate(ctx, eventGuard(id, w), eventUpdate(w),
		options.FindOneAndUpdate().SetReturnDocument(options.After)).Decode(&after)
	if errors.Is(err, mongo.ErrNoDocuments) {
		err = ErrStale
	}
	return after, err
}

// writeLocks changes locks by one command. Equal changes that check no revision share a
// statement.
func (s *Store) writeLocks(ctx context.Context, plans []EventPlan, _ []Applied) error {
	var equal groups[inventory.LockWrite]
	for _, p := range plans {
		for _, w := range p.Locks {
			shared := w
			if w.Guard == inventory.AnyRevision || w.Guard == inventory.IsDue {
				shared.ID = ID{}
			}
			equal.add(shared, w.ID)
		}
	}
	return s.update(ctx, locksName, equal.statements(lockGuard, lockUpdate), equal.count)
}

// groups are writes that differ only in the IDs of their documents.
type groups[W comparable] struct {
	ids   map[W][]ID
	order []W
	count int
}

func (g *groups[W]) add(shared W, id ID) {
	if g.ids == nil {
		g.ids = map[W][]ID{}
	}
	if _, known := g.ids[shared]; !known {
		g.order = append(g.order, shared)
	}
	g.ids[shared] = append(g.ids[shared], id)
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

// update runs the statements by one command. It returns ErrStale if they match fewer
// documents than they name.
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
	var equal groups[inventory.BookingWrite]
	for _, p := range plans {
		for _, w := range p.Bookings {
			shared := w
			shared.ID = ID{}
			equal.add(shared, w.ID)
		}
	}
	return s.update(ctx, bookingsName, equal.statements(bookingGuard, bookingUpdate), equal.count)
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
