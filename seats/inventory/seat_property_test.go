package inventory_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/seats/inventory"
	"github.com/holdfast-dev/holdfast/seats/seating"
)

// The model of a seated event carries out the same commands one after the other. Answers and
// documents are equal, and the map is what the locks make it after each transaction.
func TestDecide_AgreesWithTheModelOfAHall(t *testing.T) {
	for _, row := range []struct {
		name     string
		draw     func(*rapid.T) *seatGenerator
		remember bool
	}{
		{"the state is always read", newSeatGenerator, false},
		{"event and map are remembered, at times wrongly", newSeatGenerator, true},
		{"the event is unseated", newUnseatedGenerator, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range histories {
				rapid.Check(t, func(t *rapid.T) {
					g := row.draw(t)
					r := &hallComparison{
						pipeline: &pipeline{store: g.store, rules: g.rules, remember: row.remember},
						model:    seatModelOf(g.store, g.rules, nil),
					}
					for range g.number("batches", 1, 6) {
						r.step(g)
					}
				})
			}
		})
	}
}

// histories are hundreds of histories, by default. Few of them are like the one that finds a mistake.
const histories = 20

// hallComparison carries out the same commands in the pipeline and in the model.
type hallComparison struct {
	*pipeline
	model *seatModel
	seen  []memory
}

// memory is what a process may remember.
type memory struct {
	event *inventory.Event
	seats *seating.Occupancy
}

func (r *hallComparison) step(g *seatGenerator) {
	r.store.now = r.store.now.Add(minutes(draw(g.generator, "minutes pass", 0, 0, 1, 5, 12)))
	r.model.now = r.store.now
	g.known = g.last
	g.refresh()
	if r.remember {
		r.recall(g)
	}
	r.hold, r.settling = false, false
	switch draw(g.generator, "kind", "queue", "queue", "queue", "queue", "claim", "sweep", "repair", "plan") {
	case "plan":
		r.hold = g.oneOf("hold", 2)
		r.run(g.T, g.newHall())
	case "claim":
		r.run(g.T, g.claim())
	case "repair":
		r.run(g.T, inventory.RepairSeats{RunID: "reconcile-1"})
	case "sweep":
		r.hold = true
		r.run(g.T, g.swept())
	default:
		r.hold = g.oneOf("hold", 3)
		r.settling = r.hold && g.oneOf("settling", 2)
		var batch []inventory.Command
		for range g.number("commands", 1, 5) {
			batch = append(batch, g.queued())
		}
		r.run(g.T, batch...)
	}
}

// recall draws what the process remembers: what its last commit left, an earlier state, or nothing.
func (r *hallComparison) recall(g *seatGenerator) {
	if r.store.event == nil {
		return
	}
	r.seen = append(r.seen, memory{r.store.seen(), r.store.seats.occupancy()})
	switch draw(g.generator, "remembered", "last", "last", "last", "earlier", "event", "nothing") {
	case "last":
	case "earlier":
		earlier := draw(g.generator, "earlier", r.seen...)
		r.remembered, r.seats = copyOf(earlier.event), cloneOf(earlier.seats)
	case "event":
		r.seats = nil
	default:
		r.remembered, r.seats = nil, nil
	}
}

// run carries out a batch, and then the commands that it left undecided.
func (r *hallComparison) run(t *rapid.T, commands ...inventory.Command) {
	for round := 0; len(commands) > 0; round++ {
		if round > maxLoads {
			t.Fatalf("%+v are never decided", commands)
		}
		was := r.store.describe()
		results := r.batch(t, commands...)
		var undecided []inventory.Command
		r.model.begin()
		for i, c := range commands {
			if results[i].Undecided {
				if _, wants := r.model.wanted(c); wants { // the locks that it has ended stay ended
					r.model.adoptEnded(r.store)
				}
				undecided = append(undecided, c)
				continue
			}
			want := r.model.do(c)
			if got := hallOutcomeOf(c, results[i]); !equal(got, want) {
				t.Fatalf("%s\ngot  %v (%v)\nwant %v\nin the batch\n%s\n%s", described(c), got, results[i].Err, want, described(commands...), was)
			}
		}
		r.checkBlocked(t, commands, results)
		if diff := r.model.difference(r.store); diff != "" {
			t.Fatalf("%s\nafter %s\n%s", diff, described(commands...), was)
		}
		commands = undecided
	}
}

// checkBlocked: the answer to a block counts the event's blocked seats after the transaction.
func (r *hallComparison) checkBlocked(t *rapid.T, commands []inventory.Command, results []reply) {
	for i, c := range commands {
		switch c.(type) {
		case inventory.Block, inventory.Unblock:
			decided := results[i].Err == nil && !results[i].Undecided
			if got, want := results[i].Event.Seating.BlockedSeats, int64(len(r.model.blocked)); decided && got != want {
				t.Fatalf("%T%+v answers %d blocked seats, want %d", c, c, got, want)
			}
		}
	}
}

// described is a readable form of commands: one a line, without the fields that are not set.
func described(commands ...inventory.Command) string {
	var lines []string
	for _, c := range commands {
		fields, _ := json.Marshal(c)
		for _, unset := range []string{`"Until":{"At":"0001-01-01T00:00:00Z","For":0,"Ahead":false}`, `"SeatIDs":null`, `"Best":null`} {
			fields = bytes.ReplaceAll(fields, []byte(unset), nil)
		}
		lines = append(lines, fmt.Sprintf("%T %s", c, fields))
	}
	return strings.Join(lines, "\n")
}

// adoptEnded ends the due locks that the commands left undecided have ended, and repairs those that they have repaired.
func (m *seatModel) adoptEnded(s *store) {
	for id, l := range m.locks {
		switch stored := s.locks[id]; {
		case stored == nil:
		case l.Status == "ACTIVE" && stored.Status == "CONSUMED" && m.isSold(id):
			l.Status = "CONSUMED"
		case m.isOver(l) && stored.Status == "EXPIRED" && s.ends[id].by == "reclaim":
			m.expire(l)
		}
	}
}

// hallOutcomeOf is a result as an outcome of the model.
func hallOutcomeOf(c inventory.Command, r reply) outcome {
	o := outcomeOf(c, r)
	if d, ok := holdfast.DetailsOf[holdfast.SeatOrphaned](r.Err); ok {
		o.details = d
	}
	if d, ok := holdfast.DetailsOf[holdfast.SeatsNotAdjacent](r.Err); ok {
		o.details = d
	}
	switch c.(type) {
	case inventory.Block, inventory.Unblock:
		// How many seats a refused block has asked for is not compared: blocked ones may count or not.
		if d, ok := o.details.(holdfast.SeatsUnavailable); ok {
			o.details = holdfast.SeatsUnavailable{Unavailable: d.Unavailable}
		}
	}
	return o
}
