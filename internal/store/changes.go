package store

import (
	"context"
	"fmt"
	"runtime/debug"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/changes"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// startRecords encodes the changes of the plans while the writes before them are in flight. The function that it
// returns waits for the records. It panics if encoding them panicked.
func startRecords(plans []EventPlan, applied []Applied) (wait func() []*changes.Record) {
	var records []*changes.Record
	var panicked any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
		}()
		for i := range plans {
			records = append(records, plans[i].records(applied[i])...)
		}
	}()
	return func() []*changes.Record {
		<-done
		if panicked != nil {
			panic(panicked)
		}
		return records
	}
}

// insertChanges records the changes of the plans. It is the last write of a transaction.
func (s *Store) insertChanges(ctx context.Context, records []*changes.Record) error {
	if err := s.readPlans(ctx, records); err != nil {
		return err
	}
	return changes.Insert(ctx, s.db, records...)
}

// readPlans reads which seating plans the seats of changes belong to, if the event was not needed: at the end of a
// booking whose lock ended before. The event may get another plan later, and a change must always be reported in the
// same way.
func (s *Store) readPlans(ctx context.Context, records []*changes.Record) error {
	var eventIDs []ID
	for _, r := range records {
		if r.LacksPlan() {
			eventIDs = append(eventIDs, r.EventID)
		}
	}
	if eventIDs == nil {
		return nil
	}
	docs, err := mongodb.All[eventDoc](ctx, s.events(), mongo.Pipeline{mongodb.Match(mongodb.In("_id", eventIDs)), mongodb.Only(planField)})
	for _, d := range docs {
		for _, r := range records {
			if r.EventID == d.ID {
				r.SetPlan(d.SeatingPlanID)
			}
		}
	}
	return err
}

// records returns the changes that a plan has made to its event. Bookings that name another event than their lock
// have records of their own.
func (p EventPlan) records(a Applied) (records []*changes.Record) {
	told := p.eventChanges(a)
	if len(p.Changes)+len(told) == 0 {
		return nil
	}
	of := func(eventID ID) *changes.Record {
		for _, r := range records {
			if r.EventID == eventID {
				return r
			}
		}
		r := &changes.Record{EventID: eventID, At: p.DecidedAt}
		if eventID == p.EventID || p.EventID.IsZero() {
			r.PlanID = p.PlanID
		}
		if a.Event != nil && eventID == p.EventID {
			r.Revision, r.At = a.Event.Revision, a.Now
		}
		r.Reserve((len(p.Changes) + len(told)) / (len(records) + 1))
		records = append(records, r)
		return r
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		change := holdfast.Change{
			Type: c.Type, Revision: c.Revision, Origin: p.originOf(c.By), Lock: c.Lock, Booking: c.Booking, Payment: c.Payment,
			Previous: c.Previous, Entry: c.Entry,
		}
		var eventID ID
		switch {
		case c.Acquired > 0:
			lock := p.AcquiredAt(c.Acquired-1, a.Now)
			change.Lock, eventID = &lock, lock.EventID
		case c.Booked > 0:
			b := p.BookedAt(c.Booked-1, a.Now)
			change.Booking, eventID = &b, b.EventID
		case c.Joined > 0:
			entry := p.JoinedAt(c.Joined-1, a.Now).WaitlistEntry
			change.Entry, eventID = &entry, entry.EventID
		case c.Lock != nil:
			eventID = c.Lock.EventID
		case c.Entry != nil:
			eventID = c.Entry.EventID
		case c.Payment != nil:
			eventID = c.Payment.EventID
		default:
			eventID = c.Booking.EventID
		}
		of(eventID).Add(&change)
	}
	for _, what := range told {
		after := answerAt(a.Event.Event, a.Now)
		by := p.ToldBy
		if what == holdfast.ChangeEventSoldOut || what == holdfast.ChangeEventAvailable {
			by = p.CountedBy
		}
		change := holdfast.Change{Type: what, Revision: a.Event.Revision, Origin: p.originOf(by), Event: &after}
		if p.Event.Drift != nil { // a drift does not raise the revision
			change.Repairs = a.Event.Repairs
		}
		of(p.EventID).Add(&change)
	}
	return records
}

func (p EventPlan) eventChanges(a Applied) []holdfast.ChangeType {
	if a.Event == nil {
		return nil
	}
	return p.EventChanges(a.Event.Event)
}

// originOf returns the origin of a command.
func (p EventPlan) originOf(command int) holdfast.Origin {
	if command == inventory.ByWaitlist {
		return holdfast.Origin{Actor: "waitlist"}
	}
	if command < 0 || command >= len(p.Origins) {
		return holdfast.Origin{}
	}
	return p.Origins[command]
}
