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

// ForeignEvents returns up to limit events whose _id is no ObjectID, those whose turn it is. No request
// can name one.
func (s *Store) ForeignEvents(ctx context.Context, turn *mongodb.Turn, limit int) ([]string, error) {
	return mongodb.ForeignIDs(ctx, s.events(), turn, limit)
}

// Audit is the result of comparing a page of counters with the locks.
type Audit struct {
	Suspects    []ID // events whose counter and locks did not agree when they were read
	PoisonLocks []PoisonLocks
	Uncountable []ID // events whose locks have too many seats to add up
}

// PoisonLocks are an event's locks that take seats, and whose seats are no whole number
// ≥ 1. They count as 0; an operator has to repair them.
type PoisonLocks struct {
	EventID ID
	Count   int64
}

// Audit compares a page of events with their locks. Seats may move between the two reads,
// so a suspect has to be measured.
func (s *Store) Audit(ctx context.Context, page EventPage) (Audit, error) {
	return s.audit(ctx, page, func(eventDoc) bool { return false })
}

// AuditUnseated is Audit without the events that have a seating plan: MeasureSeats reads all of their locks anyway.
func (s *Store) AuditUnseated(ctx context.Context, page EventPage) (Audit, error) {
	if s.shared() { // their maps can't be measured yet
		return s.Audit(ctx, page)
	}
	return s.audit(ctx, page, func(d eventDoc) bool { return !d.SeatingPlanID.ID.IsZero() })
}

func (s *Store) audit(ctx context.Context, page EventPage, without func(eventDoc) bool) (Audit, error) {
	counters := mongodb.Only("totalSeats", "availableSeats", "oversold", planField)
	events, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{mongodb.Match(page.of("_id")), counters})
	if err != nil {
		return Audit{}, mongodb.Translate(err)
	}
	var left []ID
	audited := make([]eventDoc, 0, len(events))
	for _, d := range events {
		if without(d) {
			left = append(left, d.ID)
		} else {
			audited = append(audited, d)
		}
	}
	if len(audited) == 0 {
		return Audit{}, nil
	}
	ofEvents := page.of("eventId")
	if len(left) > 0 {
		ofEvents = mongodb.And(ofEvents, mongodb.Is("eventId", bson.D{{Key: "$nin", Value: left}}))
	}
	sums, err := s.sums(ctx, ofEvents, holdfast.TakingStatuses())
	if err != nil {
		return Audit{}, mongodb.Translate(err)
	}
	var found Audit
	for _, d := range audited {
		sum := sums[d.ID]
		if sum.Poison > 0 {
			found.PoisonLocks = append(found.PoisonLocks, PoisonLocks{EventID: d.ID, Count: sum.Poison})
		}
		if sum.Seats.Wrong {
			found.Uncountable = append(found.Uncountable, d.ID)
			continue // nothing is corrected by such a sum
		}
		if e := d.inventory(s.shared()); !e.HasTotal || !e.Valid() || e.Drift(sum.Seats.Or(0)) != 0 {
			found.Suspects = append(found.Suspects, d.ID)
		}
	}
	return found, nil
}

// Measure reads the events that exist and the seats that their locks take, in one snapshot
// (see mongodb.AtSnapshot). It leaves out events whose locks have too many seats to add up.
func (s *Store) Measure(ctx context.Context, eventIDs []ID) ([]inventory.State, error) {
	return mongodb.AtSnapshot(ctx, s.db, func(ctx context.Context) ([]inventory.State, error) {
		events, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
			mongodb.Match(mongodb.In("_id", eventIDs)), withoutMap, mongodb.WithNow,
		})
		if err != nil {
			return nil, err
		}
		sums, err := s.sums(ctx, mongodb.In("eventId", eventIDs), holdfast.TakingStatuses())
		states := make([]inventory.State, 0, len(events))
		for _, d := range events {
			if sums[d.ID].Seats.Wrong {
				continue
			}
			event, taken := d.inventory(s.shared()), sums[d.ID].Seats.Or(0)
			states = append(states, inventory.State{Now: d.Now.Time, Event: &event, Taken: &taken})
		}
		return states, err
	})
}

// MeasureEvent is Measure for one event. It fails with RejectedEventError if the event's locks
// have too many seats to add up.
func (s *Store) MeasureEvent(ctx context.Context, id ID) (inventory.State, error) {
	states, err := s.Measure(ctx, []ID{id})
	if err != nil || len(states) > 0 {
		return append(states, inventory.State{})[0], err
	}
	_, exists, err := s.readEvent(ctx, id)
	if err != nil || exists {
		return inventory.State{}, cmp.Or(mongodb.Translate(err), error(RejectedEventError{errUncountable}))
	}
	none := int64(0)
	return inventory.State{Missing: true, Taken: &none}, nil
}

// ActiveSales returns the sales whose lock is not CONSUMED: it is still ACTIVE, or it has
// ended and its seats may be sold again. Usually there are none, which costs one read.
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
	locks, err := s.readLocks(ctx, lockIDs)
	if err != nil {
		return nil, nil, mongodb.Translate(err)
	}
	confirmed, err := s.confirmed(ctx, lockIDs) // a sale may have been cancelled since it was read
	for _, sale := range sales {
		switch status := holdfast.LockStatus(locks[sale.Lock].Status); {
		case confirmed[sale.Lock] == 0 && !sale.Lock.IsZero(), status == holdfast.LockConsumed:
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
	locks, err := s.readLocks(ctx, lockIDs) // a lock may have been released since it was read
	for _, id := range lockIDs {
		if sold[id] == 0 && holdfast.LockStatus(locks[id].Status) == holdfast.LockConsumed {
			orphans = append(orphans, id)
		}
	}
	return orphans, doubles, mongodb.Translate(err)
}

// confirmed counts the CONFIRMED bookings of each lock that has any, by a covered index.
func (s *Store) confirmed(ctx context.Context, lockIDs []ID) (map[ID]int, error) {
	const field = "seatLockId"
	found := make(map[ID]int, len(lockIDs))
	projection := bson.D{{Key: "_id", Value: 0}, {Key: field, Value: 1}}
	err := mongodb.Each(ctx, s.bookings(), mongodb.And(mongodb.In(field, lockIDs), mongodb.Is("status", string(holdfast.BookingConfirmed))),
		projection, len(lockIDs), func(doc bson.Raw) ID { return mongodb.IDOf(doc, field) },
		func(ids []ID) error {
			for _, id := range ids {
				found[id]++
			}
			return nil
		})
	delete(found, ID{}) // it names no lock
	return found, err
}
