package seats

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// Audit is what one page of the proof of counters against locks found.
type Audit struct {
	Events      int  // looked at
	Last        ID   // of the page
	Suspects    []ID // events whose counter and locks did not agree when looked at
	PoisonLocks []PoisonLocks
}

// PoisonLocks are an event's ACTIVE and CONSUMED locks whose seats are no whole
// number ≥ 1. They count 0 and are left for people to mend.
type PoisonLocks struct {
	EventID ID
	Count   int64
}

// Audit compares up to limit events behind a place with their locks. Live
// traffic moves between its two reads, so a suspect has to be measured.
func (s *Service) Audit(ctx context.Context, after ID, limit int) (Audit, error) {
	events, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{
		mongodb.Match(bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: after}}}}),
		mongodb.Sort("_id"), mongodb.Limit(limit),
		mongodb.Only("totalSeats", "availableSeats", "oversold"),
	})
	if err != nil || len(events) == 0 {
		return Audit{}, mongodb.Translate(err)
	}
	page := Audit{Events: len(events), Last: events[len(events)-1].ID}
	sums, err := s.sums(ctx, events[0].ID, page.Last)
	if err != nil {
		return Audit{}, mongodb.Translate(err)
	}
	for _, e := range events {
		sum := sums[e.ID]
		if sum.Poison > 0 {
			page.PoisonLocks = append(page.PoisonLocks, PoisonLocks{e.ID, sum.Poison})
		}
		if !e.TotalSeats.Valid || !e.sound() || e.tally() != tallyOf(e.TotalSeats.N, sum.Seats.Or(0)) {
			page.Suspects = append(page.Suspects, e.ID)
		}
	}
	return page, nil
}

type lockSum struct {
	Event  ID            `bson:"_id"`
	Seats  mongodb.Whole `bson:"seats"`
	Poison int64         `bson:"poison"`
}

// sums adds the locks up for the events of a range, by a covered index.
func (s *Service) sums(ctx context.Context, from, to ID) (map[ID]lockSum, error) {
	poison := bson.D{{Key: "$cond", Value: bson.A{bson.D{{Key: "$eq", Value: bson.A{countedSeats, 0}}}, int64(1), int64(0)}}}
	found, err := mongodb.All[lockSum](ctx, s.locks(), mongo.Pipeline{
		mongodb.Match(bson.D{{Key: "eventId", Value: bson.D{{Key: "$gte", Value: from}, {Key: "$lte", Value: to}}}}, mongodb.In("status", taking)),
		{{Key: "$group", Value: bson.D{
			{Key: "_id", Value: "$eventId"},
			{Key: "seats", Value: bson.D{{Key: "$sum", Value: countedSeats}}},
			{Key: "poison", Value: bson.D{{Key: "$sum", Value: poison}}},
		}}},
	})
	sums := make(map[ID]lockSum, len(found))
	for _, sum := range found {
		sums[sum.Event] = sum
	}
	return sums, err
}

// Correction is a counter that was mended.
type Correction struct {
	EventID  ID
	Before   int64 // availableSeats
	After    int64
	Oversold int64
}

// repairTries bounds how often a repair is measured anew because another one
// came first.
const repairTries = 10

// Repair proves an event's counter against its locks and mends it where it is
// wrong; changed says whether it was. The drift is measured at one snapshot.
// Live traffic moves counter and locks together and so never changes it: it is
// taken off whatever the counter says by then, without stopping the sale. Two
// repairs at once are told apart by the event's counter of fixes.
//
// It fails with CodeEventNotFound, or with fault.CodeInvalid where the event's
// totalSeats is no whole number ≥ 0.
func (s *Service) Repair(ctx context.Context, id ID, runID string) (c Correction, changed bool, err error) {
	for range repairTries {
		m, err := s.measure(ctx, id)
		if err != nil {
			return Correction{}, false, err
		}
		if m.drift == 0 && m.event.sound() {
			return Correction{}, false, nil
		}
		if !m.event.AvailableSeats.Valid || m.event.Oversold.Wrong || m.event.Oversold.Or(0) < 0 {
			return s.rewrite(ctx, id, runID) // nothing can be sold from it: no sale to disturb
		}
		after, mended, err := s.mend(ctx, m, runID)
		if err != nil {
			return Correction{}, false, err
		}
		if mended {
			return correction(m.drift, after), true, nil
		}
	}
	return Correction{}, false, fault.New(mongodb.CodeUnavailable, "Other repairs of the event came first.")
}

// measurement is an event and its locks at one snapshot.
type measurement struct {
	event eventDoc
	taken int64
	drift int64 // what the counter says too much
}

func (s *Service) measure(ctx context.Context, id ID) (measurement, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) (measurement, error) {
		event, found, err := s.readEvent(ctx, id)
		if err != nil {
			return measurement{}, err
		}
		if !found {
			return measurement{}, eventNotFound()
		}
		if !event.TotalSeats.Valid || event.TotalSeats.N < 0 {
			return measurement{}, fault.New(fault.CodeInvalid, "The event's totalSeats is no whole number ≥ 0.")
		}
		taken, err := s.taken(ctx, id)
		t := event.tally()
		return measurement{event, taken, (t.available - t.oversold) - (t.total - taken)}, err
	})
}

// mend takes the drift off, unless another repair was made since the measurement.
func (s *Service) mend(ctx context.Context, m measurement, runID string) (after eventDoc, mended bool, err error) {
	guard := bson.D{{Key: "fixes", Value: m.event.Fixes.N}}
	if !m.event.Fixes.Valid {
		guard = bson.D{{Key: "fixes", Value: bson.D{{Key: "$exists", Value: false}}}}
	}
	set := append(counterSet(bson.D{{Key: "$subtract", Value: bson.A{net, m.drift}}}), fixed(runID)...)
	after, mended, err = s.updateEvent(ctx, mongodb.And(mongodb.Is("_id", m.event.ID), guard), set)
	return after, mended, mongodb.TranslateWrite(err)
}

// correction tells a repair by what the counter is after it, whatever the sale
// did since the measurement.
func correction(drift int64, after eventDoc) Correction {
	net := after.AvailableSeats.Or(0) - after.Oversold.Or(0)
	return Correction{after.ID, net + drift, after.AvailableSeats.Or(0), after.Oversold.Or(0)}
}

// rewrite sets the counter from the locks in one transaction that writes the
// event first.
func (s *Service) rewrite(ctx context.Context, id ID, runID string) (Correction, bool, error) {
	c, err := mongodb.InTx(ctx, s.db, func(ctx context.Context) (Correction, error) {
		before, found, err := s.touch(ctx, id)
		if err != nil || !found {
			return Correction{}, err
		}
		if err := s.recount(ctx, id, runID); err != nil {
			return Correction{}, err
		}
		after, _, err := s.readEvent(ctx, id)
		return Correction{id, before.AvailableSeats.Or(0), after.AvailableSeats.Or(0), after.Oversold.Or(0)}, err
	})
	return c, err == nil, err
}
