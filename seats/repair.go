package seats

import (
	"context"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/holdfast-dev/holdfast/internal/fault"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

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
		if !m.ordinary() {
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
	drift int64 // what the counter says too much
}

// measure reads an event and its locks at one snapshot.
func (s *Service) measure(ctx context.Context, id ID) (measurement, error) {
	found, err := s.measureAll(ctx, []ID{id})
	switch {
	case err != nil:
		return measurement{}, err
	case len(found) == 0:
		return measurement{}, eventNotFound()
	case !found[0].event.TotalSeats.Valid || found[0].event.TotalSeats.N < 0:
		return measurement{}, fault.New(fault.CodeInvalid, "The event's totalSeats is no whole number ≥ 0.")
	}
	return found[0], nil
}

// measureAll reads those of the events that there are, and their locks, at one
// snapshot.
func (s *Service) measureAll(ctx context.Context, eventIDs []ID) ([]measurement, error) {
	return mongodb.InTx(ctx, s.db, func(ctx context.Context) ([]measurement, error) {
		events, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{mongodb.Match(mongodb.In("_id", eventIDs))})
		if err != nil {
			return nil, err
		}
		sums, err := s.sums(ctx, mongodb.In("eventId", eventIDs))
		found := make([]measurement, 0, len(events))
		for _, e := range events {
			t, taken := e.tally(), sums[e.ID].Seats.Or(0)
			found = append(found, measurement{e, (t.available - t.oversold) - (t.total - taken)})
		}
		return found, err
	})
}

// ordinary reports whether the counter is a number that a drift can be taken off.
func (m measurement) ordinary() bool {
	return m.event.AvailableSeats.Valid && !m.event.Oversold.Wrong && m.event.Oversold.Or(0) >= 0
}

// mend takes the drift off, unless another repair was made since the measurement.
func (s *Service) mend(ctx context.Context, m measurement, runID string) (after eventDoc, mended bool, err error) {
	after, mended, err = s.updateEvent(ctx, m.guard(), m.set(runID))
	return after, mended, mongodb.TranslateWrite(err)
}

func (m measurement) guard() bson.D {
	fixes := bson.D{{Key: "fixes", Value: m.event.Fixes.N}}
	if !m.event.Fixes.Valid {
		fixes = bson.D{{Key: "fixes", Value: bson.D{{Key: "$exists", Value: false}}}}
	}
	return mongodb.And(mongodb.Is("_id", m.event.ID), fixes)
}

func (m measurement) set(runID string) bson.D {
	return append(counterSet(bson.D{{Key: "$subtract", Value: bson.A{net, m.drift}}}), fixed(runID)...)
}

// RepairAll is Repair for many events in few commands, by a run that has an ID.
// left are those that it could not tell of, for Repair to look at.
func (s *Service) RepairAll(ctx context.Context, eventIDs []ID, runID string) (done []Correction, left []ID, err error) {
	found, err := s.measureAll(ctx, eventIDs)
	if err != nil {
		return nil, eventIDs, err
	}
	drifts, updates := map[ID]measurement{}, []mongo.WriteModel{}
	for _, m := range found {
		switch {
		case !m.event.TotalSeats.Valid || m.event.TotalSeats.N < 0 || !m.ordinary():
			left = append(left, m.event.ID)
		case m.drift != 0 || !m.event.sound():
			drifts[m.event.ID] = m
			updates = append(updates, mongo.NewUpdateOneModel().SetFilter(m.guard()).SetUpdate(mongo.Pipeline{{{Key: "$set", Value: m.set(runID)}}}))
		}
	}
	if len(updates) == 0 {
		return nil, left, nil
	}
	if _, err := s.events().BulkWrite(ctx, updates, options.BulkWrite().SetOrdered(false)); err != nil {
		s.db.Log().WarnContext(ctx, "Mending counters together failed; they are looked at one by one", "events", len(updates), "error", err)
	}
	after, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{mongodb.Match(mongodb.In("_id", keysOf(drifts)), mongodb.Is("runId", runID))})
	for _, e := range after {
		m := drifts[e.ID]
		if e.Fixes.N == m.event.Fixes.Or(0)+1 { // this run's, and nobody's since
			done = append(done, correction(m.drift, e))
			delete(drifts, e.ID)
		}
	}
	return done, append(left, keysOf(drifts)...), mongodb.Translate(err)
}

func keysOf[V any](m map[ID]V) []ID { return slices.Collect(maps.Keys(m)) }

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

// Drifts measures events as a repair does, and mends nothing: what each counter
// would be mended to. poison are those whose totalSeats is no whole number ≥ 0.
func (s *Service) Drifts(ctx context.Context, eventIDs []ID) (drifts []Correction, poison []ID, err error) {
	found, err := s.measureAll(ctx, eventIDs)
	for _, m := range found {
		switch {
		case !m.event.TotalSeats.Valid || m.event.TotalSeats.N < 0:
			poison = append(poison, m.event.ID)
		case m.drift != 0 || !m.event.sound():
			t := m.event.tally()
			should := tallyOf(t.total, t.total-(t.available-t.oversold-m.drift))
			drifts = append(drifts, Correction{m.event.ID, t.available, should.available, should.oversold})
		}
	}
	return drifts, poison, err
}
