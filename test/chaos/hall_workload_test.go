package chaos_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/client"
	"github.com/holdfast-dev/holdfast/seats/planfile"
)

// sendLock sends the request for a lock.
func sendLock(e *eventOnSale, r client.LockRequest, w wish) func(context.Context, *client.Client) (opOutput, error) {
	if e.hall != nil {
		r = w.addTo(r, e.hall)
	}
	return func(ctx context.Context, api *client.Client) (opOutput, error) {
		return outputOfLock(api.AcquireLock(ctx, r))
	}
}

// newSeatedEvent creates an event in theHall.
func (c *cluster) newSeatedEvent(refusesOrphans bool) *eventOnSale {
	c.t.Helper()
	e := &eventOnSale{hall: theHall, total: theHall.totalSeats(), refusesOrphans: refusesOrphans, acceptsLate: !refusesOrphans}
	rule := client.OrphansAllowed
	if refusesOrphans {
		rule = client.OrphansRefused
	}
	e.id = mustCreate(c.t, c.caller(apiNames[0]), "/api/events", map[string]any{"name": "E", "seatingPlanId": c.planIDs[theHall],
		"orphanRule": rule, "latePayments": e.latePayments(), "eventDate": time.Now().UTC()})
	return e
}

// createPlan creates the plan of a hall, and returns its ID.
func createPlan(t *testing.T, c *apiCaller, h *hall) string {
	t.Helper()
	status, fields, err := c.call(t.Context(), http.MethodPost, "/api/seating-plans", planfile.PlanOf(h.plan))
	if err != nil || status != http.StatusCreated {
		t.Fatal(status, fields, err)
	}
	return fields["id"].(string)
}

func createSeatedEvent(t *testing.T, c *apiCaller, plan, orphanRule string) string {
	t.Helper()
	return mustCreate(t, c, "/api/events",
		map[string]any{"name": "E", "seatingPlanId": plan, "orphanRule": orphanRule, "eventDate": time.Now().UTC()})
}

// changeSeats replaces the seats of a lock.
func (g *generator) changeSeats(api, event int, l ownLock, w wish, seats int64) {
	c := client.Wish{Seats: seats}
	if hall := g.events[event].hall; hall != nil {
		c = w.ofClient(hall)
	}
	in := opInput{op: opChange, event: event, lock: l.number, seats: seats, wish: w}
	g.invoke(api, invocation{opInput: in, target: l.id, send: func(ctx context.Context, api *client.Client) (opOutput, error) {
		return outputOfLock(api.ChangeSeats(ctx, l.id, c))
	}})
}

// askAgain sends the request of a lock once more: it answers the lock as it is now.
func (g *generator) askAgain(l ownLock) {
	again := l.request
	again.duplicate, again.indeterminateAttempts = true, nil
	g.invoke(g.n+1, again)
}

// wish draws what a request wants of an event, and how many seats that is. Its plan may not have the seats.
func (g *generator) wish(e *eventOnSale) (w wish, seats int64) {
	if e.hall == nil {
		return wish{}, 1 + g.rng.Int64N(4)
	}
	if e.hall == theHall && g.rng.IntN(8) == 0 {
		return wish{named: seatsOf(inSomePlans[g.rng.IntN(len(inSomePlans))])}, 1
	}
	return g.halls[g.rng.IntN(len(g.halls))].wish(g.rng)
}

// wish draws named seats, the best available or standing places.
func (h *hall) wish(rng *rand.Rand) (w wish, seats int64) {
	switch n := rng.IntN(10); {
	case n < 5:
		w.named = h.namedSeats(rng)
		return w, w.named.count()
	case n < 9:
		w = wish{best: true, seats: 1 + rng.Int64N(5), required: rng.IntN(3) == 0}
		w.categories = []string{"", "", "stalls", "balcony", "balcony stalls"}[rng.IntN(5)]
		w.section = []string{"", "", "", "front", "back"}[rng.IntN(5)]
		if rng.IntN(6) == 0 {
			w.accessible = min(w.seats, 1+rng.Int64N(2))
		}
	default:
		w = wish{section: standing, seats: 1 + rng.Int64N(4)}
	}
	return w, w.seats
}

// numberedWish draws named seats or the best available, which need not be together.
func (h *hall) numberedWish(rng *rand.Rand) wish {
	w, _ := h.wish(rng)
	for w.isStanding() || w.required {
		w, _ = h.wish(rng)
	}
	return w
}

// namedSeats draws seats that follow each other or, at times, do not. Many clients want the first ones.
func (h *hall) namedSeats(rng *rand.Rand) (s seatSet) {
	n := len(h.Seats)
	first := min(rng.IntN(n), rng.IntN(n), rng.IntN(n))
	scattered := rng.IntN(6) == 0
	for i := range 1 + rng.IntN(4) {
		at := (first + i) % n
		if scattered {
			at = rng.IntN(n)
		}
		s |= seatsOf(h.Seats[at].ID)
	}
	return s
}

// block blocks seats of an event, or unblocks some.
func (g *generator) block(event int) {
	e := g.events[event]
	in := opInput{op: opBlock, event: event, wish: wish{named: g.halls[g.rng.IntN(len(g.halls))].namedSeats(g.rng)}}
	if g.rng.IntN(5) < 2 {
		in.op = opUnblock
		in.wish.named |= e.hall.namedSeats(g.rng)
	}
	g.invoke(g.n, invocation{opInput: in, target: e.id, send: func(ctx context.Context, api *client.Client) (opOutput, error) {
		change := api.BlockSeats
		if in.op == opUnblock {
			change = api.UnblockSeats
		}
		blocked, err := change(ctx, e.id, in.wish.named.ids())
		if err != nil {
			return outputOfError(err)
		}
		return opOutput{seatAnswer: seatAnswer{blocked: blocked}}, nil
	}})
}

// setRule lets an event refuse orphans, or allow them.
func (g *generator) setRule(event int) {
	in, rule := opInput{op: opSetRule, event: event, refuse: g.rng.IntN(2) == 0}, client.OrphansAllowed
	if in.refuse {
		rule = client.OrphansRefused
	}
	g.updateEvent(in, client.EventChange{OrphanRule: &rule})
}

// rearrange gives the events in halls other plans and capacities, until ctx ends.
func (c *clients) rearrange(ctx context.Context, seed uint64) {
	g := &generator{clients: c, rng: rand.New(rand.NewPCG(seed, 1<<35))}
	for ; ctx.Err() == nil; g.n++ {
		delay(ctx, randomMillis(g.rng, 50, 400))
		g.setHall(len(g.events) - 1 - g.rng.IntN(seatedEvents))
	}
}

// setHall gives an event another plan, another capacity of its standing section, or both.
func (g *generator) setHall(event int) {
	var change client.EventChange
	in := opInput{op: opSetHall, event: event}
	what := g.rng.IntN(5)
	if what > 0 {
		n := g.rng.IntN(len(g.halls))
		in.hall, change.SeatingPlanID = g.halls[n], &g.plans[n]
	}
	if what < 2 {
		in.capacity = 1 + min(g.rng.Int64N(14), g.rng.Int64N(14))
		change.Sections = []client.SectionCapacity{{Key: standing, Capacity: in.capacity}}
	}
	g.updateEvent(in, change)
}

// hallOf is the hall that a plan is of; nil: it is none of these clients.
func (c *clients) hallOf(plan string) *hall {
	if n := slices.Index(c.plans, plan); n >= 0 {
		return c.halls[n]
	}
	return nil
}
