package chaos_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/holdfast-dev/holdfast/client"
)

// operate lets an operator work in the midst of the sale, until ctx ends: limits, capacities and
// statuses change within fractions of a second, seats are blocked, orphans refused, plans replaced, and one event
// is cancelled, mostly with all that it has.
func (c *clients) operate(ctx context.Context, seed uint64) {
	g := &generator{clients: c, rng: rand.New(rand.NewPCG(seed, 1<<34))}
	cancelled := len(c.events) - 1 - 2*g.rng.IntN(2) // in a hall, or not
	cancelAt := time.Now().Add(randomMillis(g.rng, 2000, 4000))
	for isCancelled := false; ctx.Err() == nil; g.n++ {
		delay(ctx, randomMillis(g.rng, 50, 300))
		event := g.event()
		in := opInput{op: opSetLimit, event: event, seats: g.rng.Int64N(8)}
		switch n := g.rng.IntN(7); {
		case !isCancelled && time.Now().After(cancelAt):
			isCancelled = true
			if g.rng.IntN(3) > 0 {
				g.cancelSale(cancelled)
				continue
			}
			in = opInput{op: opSetStatus, event: cancelled, saleStatus: "CANCELLED"}
			g.updateEvent(in, client.EventChange{Status: &in.saleStatus})
		case n < 3:
			g.updateEvent(in, client.EventChange{MaxSeatsPerUser: &in.seats})
		case n < 5 && g.events[event].hall != nil && g.rng.IntN(3) > 0:
			g.block(event)
		case n < 5 && g.events[event].hall != nil:
			g.setRule(event)
		case n == 6 && g.events[event].hall != nil:
			g.setHall(event)
		case n < 5:
			in.op, in.seats = opResize, g.events[event].total/2+g.rng.Int64N(g.events[event].total)
			g.updateEvent(in, client.EventChange{TotalSeats: &in.seats})
		default:
			in.op = opSetStatus
			for _, in.saleStatus = range []string{"CLOSED", "ON_SALE"} {
				status := in.saleStatus
				g.updateEvent(in, client.EventChange{Status: &status})
			}
		}
	}
}

// The model knows what an operator changes: an answer that was right before a change is not
// possible after it.
func TestEventModel_KnowsTheOperatorsChanges(t *testing.T) {
	t.Parallel()
	lock := opInput{op: opLock, seats: 3}
	granted := opOutput{status: "ACTIVE", expires: 1_000_000, returned: 15, seatAnswer: seatAnswer{seats: 3}}
	refused := func(code string) opOutput { return opOutput{code: code, available: 10} }
	limit := func(n int64) opInput { return opInput{op: opSetLimit, seats: n} }
	status := func(to string) opInput { return opInput{op: opSetStatus, saleStatus: to} }
	for name, c := range map[string]struct {
		change   opInput
		in       opInput
		out      opOutput
		possible bool
	}{
		"granted within a new limit":          {limit(3), lock, granted, true},
		"granted above a new limit":           {limit(2), lock, granted, false},
		"refused by a new limit":              {limit(2), lock, refused("SEAT_LIMIT_REACHED"), true},
		"refused by a limit that was removed": {limit(0), lock, refused("SEAT_LIMIT_REACHED"), false},
		"granted after a cancellation":        {status("CANCELLED"), lock, granted, false},
		"refused after a cancellation":        {status("CANCELLED"), lock, refused("EVENT_NOT_ON_SALE"), true},
		"opened after a cancellation":         {status("CANCELLED"), status("ON_SALE"), opOutput{status: "ON_SALE"}, false},
		"granted above a new capacity":        {opInput{op: opResize, seats: 2}, lock, granted, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := []porcupine.Operation{
				{ClientId: 0, Input: c.change, Output: opOutput{}, Call: 1, Return: 2},
				{ClientId: 1, Input: c.in, Output: c.out, Call: 3, Return: 4},
			}
			if got := porcupine.CheckOperations(eventModel(newEventState(10, 0, 1)), history); got != c.possible {
				t.Errorf("possible: %t, want %t", got, c.possible)
			}
		})
	}
}

// The model knows when a sale opens and closes: no answer is possible on the wrong side of these times.
func TestEventModel_KnowsTheTimesOfASale(t *testing.T) {
	t.Parallel()
	sale := newEventState(10, 0, 2)
	sale.opensAt, sale.closesAt = 1000, 2000
	held := sale.withLock(1, lockState{status: 'A', seats: 2, expires: 1_000_000})
	held.free -= 2
	lock, more, fewer := opInput{op: opLock, seats: 3}, opInput{op: opChange, lock: 1, seats: 3}, opInput{op: opChange, lock: 1, seats: 1}
	at := func(code string, seats, called, returned int64) opOutput {
		out := opOutput{code: code, called: called, returned: returned, status: "ACTIVE", expires: 1_000_000}
		out.seats = seats
		return out
	}
	for name, c := range map[string]struct {
		in       opInput
		out      opOutput
		possible bool
	}{
		"granted before the opening":               {lock, at("", 3, 900, 990), false},
		"granted across the opening":               {lock, at("", 3, 990, 1010), true},
		"granted across the closing":               {lock, at("", 3, 1990, 2010), true},
		"granted after the closing":                {lock, at("", 3, 2010, 2020), false},
		"more seats before the opening":            {more, at("", 3, 900, 990), false},
		"more seats after the closing":             {more, at("", 3, 2010, 2020), false},
		"fewer seats after the closing":            {fewer, at("", 1, 2010, 2020), true},
		"refused before the opening":               {lock, at("SALE_NOT_OPEN", 0, 990, 1010), true},
		"refused as early, after the opening":      {lock, at("SALE_NOT_OPEN", 0, 1010, 1020), false},
		"refused before the closing":               {lock, at("EVENT_NOT_ON_SALE", 0, 1900, 1990), false},
		"refused after the closing":                {lock, at("EVENT_NOT_ON_SALE", 0, 1990, 2010), true},
		"fewer refused after the closing":          {fewer, at("EVENT_NOT_ON_SALE", 0, 2010, 2020), false},
		"more refused before the opening":          {more, at("SALE_NOT_OPEN", 0, 900, 990), true},
		"more refused after the closing":           {more, at("EVENT_NOT_ON_SALE", 0, 2010, 2020), true},
		"more refused as early, after the opening": {more, at("SALE_NOT_OPEN", 0, 1010, 1020), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := []porcupine.Operation{{Input: c.in, Output: c.out, Call: c.out.called, Return: c.out.returned}}
			if got := porcupine.CheckOperations(eventModel(held), history); got != c.possible {
				t.Errorf("possible: %t, want %t", got, c.possible)
			}
		})
	}
}
