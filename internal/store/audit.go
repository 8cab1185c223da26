package store

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// Audit compares a page of events with their locks, and returns the events whose counter and locks did not agree. Seats
// may move between its two reads, so these events have to be measured. It leaves out the events that have a seating plan:
// MeasureSeats reads all of their locks anyway.
func (s *Store) Audit(ctx context.Context, page EventPage) (suspects []ID, err error) {
	counters := mongodb.Only("totalSeats", "availableSeats", "oversold", planField)
	events, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{mongodb.Match(page.of("_id"), eventSchema), counters})
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	var left []ID
	audited := make([]eventDoc, 0, len(events))
	for _, d := range events {
		if !d.SeatingPlanID.IsZero() {
			left = append(left, d.ID)
		} else {
			audited = append(audited, d)
		}
	}
	if len(audited) == 0 {
		return nil, nil
	}
	ofEvents := page.of("eventId")
	if len(left) > 0 {
		ofEvents = mongodb.And(ofEvents, mongodb.Is("eventId", bson.D{{Key: "$nin", Value: left}}))
	}
	sums, err := s.sums(ctx, ofEvents, holdfast.TakingStatuses())
	if err != nil {
		return nil, mongodb.Translate(err)
	}
	for _, d := range audited {
		sum := sums[d.ID]
		if e := d.inventory(); !e.Valid() || e.Drift(sum.Seats) != 0 {
			suspects = append(suspects, d.ID)
		}
	}
	return suspects, nil
}

// Measure reads the events that exist and the seats that their locks take, in one snapshot (see mongodb.AtSnapshot).
// It leaves out corrupt events.
func (s *Store) Measure(ctx context.Context, eventIDs []ID) ([]inventory.State, error) {
	return mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) ([]inventory.State, error) {
		events, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
			mongodb.Match(mongodb.In("_id", eventIDs), eventSchema), withoutMap, mongodb.WithNow,
		})
		if err != nil {
			return nil, err
		}
		sums, err := s.sums(ctx, mongodb.In("eventId", eventIDs), holdfast.TakingStatuses())
		states := make([]inventory.State, 0, len(events))
		for _, d := range events {
			event, taken := d.inventory(), sums[d.ID].Seats
			states = append(states, inventory.State{Now: d.Now.Time, Event: &event, Taken: &taken})
		}
		return states, err
	})
}

// MeasureEvent is Measure for one event, with more. It fails with ErrUnusable if the event is corrupt.
func (s *Store) MeasureEvent(ctx context.Context, id ID, more inventory.Needs) (inventory.State, error) {
	if !more.None() {
		return s.Load(ctx, id, more.And(inventory.Needs{Event: true, Taken: true}))
	}
	states, err := s.Measure(ctx, []ID{id})
	if err != nil || len(states) > 0 {
		return append(states, inventory.State{})[0], err
	}
	if _, err := s.Event(ctx, id); !holdfast.IsNotFound(err) {
		return inventory.State{}, cmp.Or(err, error(ErrStale)) // the event has just been corrected
	}
	none := int64(0)
	return inventory.State{Missing: true, Taken: &none}, nil
}

// ActiveSales returns the sales whose lock is not CONSUMED. It is still ACTIVE, or it has ended and its seats may be
// sold again. Usually there are no such sales, which costs one read.
func (s *Store) ActiveSales(ctx context.Context, sales []inventory.BookingRef) (active, ended []inventory.BookingRef, err error) {
	lockIDs := make([]ID, 0, len(sales))
	for _, sale := range sales {
		lockIDs = append(lockIDs, sale.Lock)
	}
	filter := mongodb.And(mongodb.In("_id", lockIDs), mongodb.Is("status", string(holdfast.LockConsumed)))
	consumed, err := s.locks().CountDocuments(ctx, filter)
	if err != nil || consumed == int64(len(lockIDs)) {
		return nil, nil, mongodb.Translate(err)
	}
	locks, corrupt, err := s.readLocks(ctx, lockIDs)
	if err != nil {
		return nil, nil, mongodb.Translate(err)
	}
	confirmed, err := s.confirmed(ctx, lockIDs) // a sale may have been cancelled since it was read
	for _, sale := range sales {
		switch status := locks[sale.Lock].Status; {
		case confirmed[sale.Lock] == 0, corrupt[sale.Lock], status == holdfast.LockConsumed:
		case status == holdfast.LockActive:
			active = append(active, sale)
		default:
			ended = append(ended, sale)
		}
	}
	return active, ended, mongodb.Translate(err)
}

// SoldLocks returns the locks that a CONFIRMED booking names.
func (s *Store) SoldLocks(ctx context.Context, lockIDs []ID) ([]ID, error) {
	sold, err := s.confirmed(ctx, lockIDs)
	return slices.Collect(maps.Keys(sold)), mongodb.Translate(err)
}

// OrphanConsumed returns the CONSUMED locks without a CONFIRMED booking, and those with
// several.
func (s *Store) OrphanConsumed(ctx context.Context, lockIDs []ID) (orphans, doubles []ID, err error) {
	sold, err := s.confirmed(ctx, lockIDs)
	for id, n := range sold {
		if n > 1 {
			doubles = append(doubles, id)
		}
	}
	if err != nil || len(sold) == len(lockIDs) {
		return nil, doubles, mongodb.Translate(err)
	}
	locks, _, err := s.readLocks(ctx, lockIDs) // a lock may have been released since it was read
	for _, id := range lockIDs {
		if sold[id] == 0 && locks[id].Status == holdfast.LockConsumed {
			orphans = append(orphans, id)
		}
	}
	return orphans, doubles, mongodb.Translate(err)
}

// confirmed counts the CONFIRMED bookings of each lock that has any, by a covered index. The sort order keeps
// MongoDB from reading all CONFIRMED bookings by another index.
func (s *Store) confirmed(ctx context.Context, lockIDs []ID) (map[ID]int, error) {
	const field = "seatLockId"
	found := make(map[ID]int, len(lockIDs))
	projection := bson.D{{Key: "_id", Value: 0}, {Key: field, Value: 1}}
	sold := mongodb.And(mongodb.In(field, lockIDs), mongodb.Is("status", string(holdfast.BookingConfirmed)))
	err := mongodb.Each(ctx, s.bookings(), sold,
		projection, mongodb.Keys(field, "status"), len(lockIDs), func(doc bson.Raw) ID { return mongodb.IDOf(doc, field) },
		func(ids []ID) error {
			for _, id := range ids {
				found[id]++
			}
			return nil
		})
	delete(found, ID{}) // these bookings name no lock
	return found, err
}
