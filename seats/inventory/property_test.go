package inventory_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
)

// The model carries out the same commands one after the other. Results and documents
// are equal, and no batch breaks an invariant.
func TestDecide_AgreesWithTheModel(t *testing.T) {
	for _, row := range []struct {
		name     string
		remember bool
	}{{"the state is always read", false}, {"the event is remembered, at times wrongly", true}} {
		t.Run(row.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				g := newGenerator(t, false)
				unknown := map[ID]*holdfast.Error{}
				if draw(g, "unknown user", false, false, true) {
					unknown[userID(3)] = holdfast.Refuse(holdfast.CodeUserNotFound, "There is no such user.")
				}
				r := &comparison{
					pipeline: &pipeline{store: g.store, rules: g.rules, unknown: unknown, remember: row.remember},
					model:    modelOf(g.store, g.rules, unknown),
				}
				for range g.number("batches", 1, 6) {
					r.step(g)
				}
			})
		})
	}
}

// comparison carries out the same commands in the pipeline and in the model.
type comparison struct {
	*pipeline
	model *model
	seen  []*inventory.Event // that a process may remember
}

func (r *comparison) step(g *generator) {
	r.store.now = r.store.now.Add(minutes(draw(g, "minutes pass", 0, 0, 1, 5, 12)))
	r.model.now = r.store.now
	g.known = g.last
	if r.store.event != nil {
		r.seen = append(r.seen, r.store.seen())
	}
	if r.remember {
		r.remembered = nil
		if len(r.seen) > 0 {
			r.remembered = draw(g, "remembered", append(r.seen, r.remembered)...)
		}
	}
	r.hold, r.settling = false, false
	switch draw(g, "kind", "queue", "queue", "queue", "claim", "claim", "sweep") {
	case "claim":
		r.run(g.T, g.claim())
	case "sweep":
		r.hold = true
		r.run(g.T, g.swept())
	default:
		r.hold, r.settling = draw(g, "hold", false, false, true), draw(g, "settling", false, false, true)
		r.hold = r.hold || r.settling
		var batch []inventory.Command
		for range g.number("commands", 1, 5) {
			batch = append(batch, g.queued())
		}
		r.run(g.T, batch...)
	}
}

// run carries out a batch, and then the commands that it left undecided.
func (r *comparison) run(t *rapid.T, commands ...inventory.Command) {
	for round := 0; len(commands) > 0; round++ {
		if round > maxLoads {
			t.Fatalf("%+v are never decided", commands)
		}
		results := r.batch(t, commands...)
		var undecided []inventory.Command
		hasReclaimed := false
		r.model.begin()
		for i, c := range commands {
			if results[i].Undecided {
				if seats, wants := r.model.wanted(c); wants && !hasReclaimed { // the locks reclaimed so far stay reclaimed
					r.model.reclaimFor(seats)
					hasReclaimed = true
				}
				undecided = append(undecided, c)
				continue
			}
			want := r.model.do(c)
			if got := outcomeOf(c, results[i]); !equal(got, want) {
				t.Fatalf("%T%+v\ngot  %v (%v)\nwant %v", c, c, got, results[i].Err, want)
			}
			_, changes := c.(inventory.ChangeEvent)
			if changes && results[i].Err == nil && !reflect.DeepEqual(results[i].Event, r.store.event.Event) {
				t.Fatalf("answered %+v, stored %+v", results[i].Event, r.store.event.Event)
			}
		}
		if diff := r.model.difference(r.store); diff != "" {
			t.Fatalf("after %+v: %s", commands, diff)
		}
		commands = undecided
	}
}

// outcomeOf is a result as an outcome of the model.
func outcomeOf(c inventory.Command, r reply) outcome {
	if r.Err != nil {
		o := refused(holdfast.CodeOf(r.Err))
		if d, ok := holdfast.DetailsOf[holdfast.SeatsUnavailable](r.Err); ok {
			o.details = d
		}
		if d, ok := holdfast.DetailsOf[holdfast.CapacityBelowTaken](r.Err); ok {
			o.details = d
		}
		if d, ok := holdfast.DetailsOf[holdfast.SaleNotOpen](r.Err); ok {
			o.details = d
		}
		if d, ok := holdfast.DetailsOf[holdfast.RefusedPayment](r.Err); ok {
			o.details = d
		}
		return o
	}
	o := outcome{lock: r.Lock, replayed: r.Replayed, ended: r.Ended, booking: r.Booking, isLate: r.IsLate, entry: r.Entry}
	if o.entry.UpdatedAt = (time.Time{}); r.Replayed {
		o.entry.Position = 0 // reads count it
	}
	o.booking.UpdatedAt, o.booking.Revision, o.booking.Done = time.Time{}, 0, nil
	if r.Payment != nil {
		o.payment = shownPayment(*r.Payment)
	}
	if r.Correction != nil {
		o.details = *r.Correction
	}
	return o
}

func equal(a, b outcome) bool {
	if len(a.ended)+len(b.ended) == 0 {
		a.ended, b.ended = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// difference is "" if a store has the documents of the model.
func (m *model) difference(s *store) string {
	if m.event != nil {
		want := *m.event
		want.AvailableSeats, want.Oversold = m.available(), max(0, m.taken()-m.event.TotalSeats)
		if !reflect.DeepEqual(s.event.Event, want) {
			return fmt.Sprintf("the event is %+v, want %+v", s.event.Event, want)
		}
	}
	for id, want := range m.locks {
		if got := s.locks[id]; got == nil || !reflect.DeepEqual(got.Lock, want.Lock) || s.ends[id] != want.ending {
			return fmt.Sprintf("the lock is %+v, ended %+v; want %+v", got, s.ends[id], want)
		}
	}
	for id, want := range m.bookings {
		got := copyOf(s.bookings[id])
		if got == nil {
			return fmt.Sprintf("booking %s is missing", id)
		}
		got.UpdatedAt, want.UpdatedAt = time.Time{}, time.Time{}
		got.Revision, want.Revision = 0, 0
		got.Done = nil // what a repeat finds, the model keeps itself
		if !reflect.DeepEqual(*got, *want) {
			return fmt.Sprintf("the booking is %+v, want %+v", got, want)
		}
	}
	for key, want := range m.payments {
		if got := s.charged(key); got == nil || !reflect.DeepEqual(shownPayment(*got), shownPayment(*want)) {
			return fmt.Sprintf("the payment is %+v, want %+v", got, want)
		}
	}
	if len(s.payments) != len(m.payments) {
		return fmt.Sprintf("there are %d payments, want %d", len(s.payments), len(m.payments))
	}
	if len(s.locks) != len(m.locks) || len(s.bookings) != len(m.bookings) {
		return fmt.Sprintf("there are %d locks and %d bookings, want %d and %d", len(s.locks), len(s.bookings), len(m.locks), len(m.bookings))
	}
	return ""
}
