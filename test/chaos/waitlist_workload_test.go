package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// What clients do with waiting lists. They have events of their own: the model of an event does not know a list. Instead
// waitlistChecker looks at each committed state.

// listHalls are the plans of events with a waiting list. They are so small that such an event is sold out most of the time.
var listHalls = []*hall{newHall(listPlan("Short hall", "A1 A2 A3 | A4 A7*", "C1 C2 C3", 2)),
	newHall(listPlan("Turned short hall", "A7* A4 A3 A2 A1", "C1 C2 | C3", 3))}

func listPlan(name, front, back string, capacity int64) holdfast.SeatingPlan {
	return holdfast.SeatingPlan{Name: name, Categories: hallCategories, FocalPoint: &holdfast.Point{X: 5 * holdfast.Unit},
		Sections: []holdfast.Section{
			{Key: "front", Name: "Front", Category: "stalls", Rows: []holdfast.Row{row("A", "", front)}},
			{Key: standing, Name: "Standing", Category: "balcony", Capacity: capacity},
			{Key: "back", Name: "Back", Category: "balcony", Rows: []holdfast.Row{row("C", "", back)}},
		}}
}

const (
	// timedList is the number of the event with a list that opens and closes by itself.
	timedList = 2
	// waiters is how many clients wait in lists, each for two customers, and passersBy how many clients race with them.
	waiters, passersBy = 5, 4
)

// newListClients creates events with a waiting list: one for all kinds of wishes that is SKIP, one that is STRICT and has a limit
// per customer, one that opens and closes by itself, and two in a hall, of which one is STRICT.
func (c *cluster) newListClients(users []string) *clients {
	c.t.Helper()
	for n := len(users); n < 2*waiters; n++ {
		users = append(slices.Clip(users), fmt.Sprint(holderPrefix, n))
	}
	cs := c.clientsOf(users, listHalls)
	for n := range 5 {
		e := &eventOnSale{total: 3, acceptsLate: n%2 == 0}
		fit, plan := client.WaitlistSkips, ""
		switch n {
		case 1:
			e.perUser, fit = 4, client.WaitlistIsStrict
		case timedList:
			e.opensAt = time.Now().Add(2 * time.Second).UnixMilli()
			e.closesAt = e.opensAt + 4000
		case 3, 4:
			e.hall, e.total, plan = listHalls[0], 0, cs.plans[0]
		}
		if n == 4 {
			fit = client.WaitlistIsStrict
		}
		created, err := cs.apis[0].CreateEvent(c.t.Context(), client.NewEvent{
			Name: "E", TotalSeats: e.total, SeatingPlanID: plan, EventDate: time.Now(), MaxSeatsPerUser: e.perUser, LatePayments: e.latePayments(),
			SaleStartsAt: timeOf(e.opensAt), SaleEndsAt: timeOf(e.closesAt),
			Waitlist: client.WaitlistIsOpen, WaitlistFit: fit, WaitlistOfferSeconds: int64(900 * n)})
		if err != nil {
			c.t.Fatal(err)
		}
		e.id, e.total = created.ID, created.TotalSeats
		cs.events = append(cs.events, e)
	}
	return cs
}

// runLists lets clients wait, pass by and change the lists until ctx ends.
func (c *clients) runLists(ctx context.Context, seed uint64) {
	var all sync.WaitGroup
	for id := range waiters + passersBy {
		g := &generator{clients: c, n: id, rng: rand.New(rand.NewPCG(seed, 1<<39+uint64(id)))}
		all.Go(func() {
			if id < waiters {
				g.waitInLists(ctx, []int{2 * id, 2*id + 1})
			} else {
				g.passBy(ctx)
			}
		})
	}
	g := &generator{clients: c, rng: rand.New(rand.NewPCG(seed, 1<<40))}
	all.Go(func() { g.operateLists(ctx) })
	all.Wait()
}

// listAPI is the API to which a request for an event is sent first: of every other event always the same one, as if requests were
// routed by event.
func (g *generator) listAPI(event int) int {
	if event%2 == 0 {
		return event / 2
	}
	return g.n
}

// entryWish draws what an entry waits for.
func (g *generator) entryWish(e *eventOnSale) wish {
	if e.hall == nil {
		return wish{seats: 1 + min(g.rng.Int64N(4), g.rng.Int64N(4))}
	}
	if g.rng.IntN(5) == 0 {
		return wish{section: standing, seats: 1 + g.rng.Int64N(3)}
	}
	w := wish{best: true, seats: 1 + g.rng.Int64N(4), required: g.rng.IntN(3) > 0}
	w.categories = []string{"", "", "stalls", "balcony", "balcony stalls"}[g.rng.IntN(5)]
	w.section = []string{"", "", "front", "back"}[g.rng.IntN(4)]
	if g.rng.IntN(6) == 0 {
		w.accessible = min(w.seats, 1+g.rng.Int64N(2))
	}
	return w
}

// ofEntry is the wish in a request to join.
func (w wish) ofEntry() client.EntryWish {
	e := client.EntryWish{Seats: w.seats, Section: w.section, AccessibleSeats: w.accessible}
	if w.categories != "" {
		e.Categories = strings.Fields(w.categories)
	}
	if w.required {
		e.Adjacent = client.AdjacentRequired
	}
	return e
}

func outputOfEntry(e client.WaitlistEntry, err error) (opOutput, error) {
	if err != nil {
		return outputOfError(err)
	}
	return opOutput{id: e.ID, status: e.Status, seatAnswer: seatAnswer{seats: e.Seats}}, nil
}

// joining is the request of a customer for a place in a list.
func (g *generator) joining(event, user int) invocation {
	w := g.entryWish(g.events[event])
	r := client.JoinRequest{EventID: g.events[event].id, EntryWish: w.ofEntry()}
	r.UserID, r.Holder = g.customer(user)
	return invocation{opInput: opInput{op: opJoin, event: event, user: user, wish: w, seats: w.seats}, target: g.events[event].id,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			return outputOfEntry(api.JoinWaitlist(ctx, r))
		}}
}

// endEntry declines an offer, or leaves a list.
func (g *generator) endEntry(api, event int, id string, op operation) {
	g.invoke(api, invocation{opInput: opInput{op: op, event: event}, target: id,
		send: func(ctx context.Context, api *client.Client) (opOutput, error) {
			if op == opDecline {
				return outputOfEntry(api.DeclineEntry(ctx, id))
			}
			return outputOfEntry(api.LeaveWaitlist(ctx, id))
		}})
}

// waitInLists joins lists for customers, uses the offers that they get, and leaves some lists again, until ctx ends.
func (g *generator) waitInLists(ctx context.Context, customers []int) {
	for ; ctx.Err() == nil; g.n++ {
		event, user := g.rng.IntN(len(g.events)), customers[g.rng.IntN(len(customers))]
		request := g.joining(event, user)
		var out opOutput
		if g.rng.IntN(6) == 0 {
			out = g.invokeTwice(request)
		} else {
			out = g.invoke(g.listAPI(event), request)
		}
		if out.code != "" {
			delay(ctx, randomMillis(g.rng, 10, 80))
			continue
		}
		g.wait(ctx, request, out.id)
		delay(ctx, randomMillis(g.rng, 0, 40))
	}
}

// wait waits for the offer of an entry, and uses it.
func (g *generator) wait(ctx context.Context, request invocation, id string) {
	event := request.event
	end := func(api int, op operation) func() { return func() { g.endEntry(api, event, id, op) } }
	switch g.rng.IntN(12) {
	case 0:
		both(end(g.n, opLeave), end(g.n+1, opDecline))
		return
	case 1:
		end(g.listAPI(event), opDecline)()
	case 2: // with another wish, or the same one
		g.invoke(g.n+1, g.joining(event, request.opInput.user))
	case 3:
		again := request
		again.duplicate = true
		g.invoke(g.n+1, again)
	}
	lock, status := g.awaitOffer(ctx, event, id)
	if status == "OFFERED" {
		g.useOffer(ctx, request, id, lock)
	}
	switch g.rng.IntN(6) {
	case 0: // it keeps its place, or its offer
	case 1, 2:
		end(g.n+1, opDecline)()
		end(g.n, opLeave)()
	default:
		end(g.listAPI(event), opLeave)()
	}
}

// awaitOffer waits for a while until an entry waits no longer.
func (g *generator) awaitOffer(ctx context.Context, event int, id string) (lock, status string) {
	deadline := time.Now().Add(randomMillis(g.rng, 200, 2000))
	for n := g.n; ; n++ {
		read, cancel := context.WithTimeout(context.Background(), requestTimeout)
		e, err := g.apis[n%len(g.apis)].GetEntry(read, id)
		cancel()
		switch {
		case err == nil && e.Status != "WAITING":
			return e.LockID, e.Status
		case err == nil && (e.Position < 1 || e.LockID != "" || e.EventID != g.events[event].id):
			g.violation("waiting lists", "entry %s is answered as %+v", id, e)
		case time.Now().After(deadline) || ctx.Err() != nil:
			return "", ""
		}
		delay(ctx, 40*time.Millisecond)
	}
}

// useOffer books, buys, extends, changes, declines, leaves or releases an offer, or lets it expire with its booking.
func (g *generator) useOffer(ctx context.Context, request invocation, id, lock string) {
	event := request.event
	l := ownLock{number: noLock, id: lock, user: request.opInput.user, request: request}
	end := func(api int, op operation) func() { return func() { g.endEntry(api, event, id, op) } }
	book := func() { g.book(g.n, event, l, 0) }
	switch g.rng.IntN(12) {
	case 0:
		end(g.n, opDecline)()
	case 1:
		end(g.n, opLeave)()
	case 2:
		both(end(g.n, opDecline), book)
	case 3:
		both(end(g.n, opLeave), func() { g.release(g.n+1, event, l) })
	case 4:
		both(end(g.n, opDecline), end(g.n+1, opDecline))
	case 5:
		book()
		both(end(g.n, opDecline), end(g.n+1, opLeave))
	case 6: // it expires with its booking
		window := g.soon(200, 1500)
		g.book(g.n, event, l, window)
		delay(ctx, time.Until(timeOf(window))+randomMillis(g.rng, 0, 2000))
	case 7, 8, 9: // it is bought, and mostly given back later
		if booking := g.book(g.n, event, l, inAnHour()); booking != "" {
			g.confirm(g.listAPI(event), event, booking, 1)
			if g.rng.IntN(4) > 0 {
				delay(ctx, randomMillis(g.rng, 0, 300))
				g.changeBooking(g.n+1, event, booking, opCancel, 0)
			}
		}
	default:
		g.useLock(ctx, event, l)
	}
}

// passBy locks and buys seats of events with lists, until ctx ends.
func (g *generator) passBy(ctx context.Context) {
	for ; ctx.Err() == nil; g.n++ {
		event := g.rng.IntN(len(g.events))
		if g.rng.IntN(5) == 0 {
			g.sellAtOnce(event)
		} else if lock, ok := g.lock(event); ok {
			delay(ctx, randomMillis(g.rng, 0, 800)) // so that the event is sold out
			g.useLock(ctx, event, lock)
		}
		delay(ctx, randomMillis(g.rng, 0, 60))
	}
}

// setList changes the settings of a list.
func (g *generator) setList(event int, change client.EventChange) {
	g.updateEvent(opInput{op: opSetList, event: event}, change)
}

// operateLists changes lists, and all that may make an entry fit, until ctx ends. One event is cancelled, mostly with all it has.
func (g *generator) operateLists(ctx context.Context) {
	cancelled, cancelAt := g.rng.IntN(len(g.events)), time.Now().Add(randomMillis(g.rng, 3000, 3000))
	for isCancelled := false; ctx.Err() == nil; g.n++ {
		delay(ctx, randomMillis(g.rng, 50, 300))
		event := g.rng.IntN(len(g.events))
		switch n := g.rng.IntN(10); {
		case !isCancelled && time.Now().After(cancelAt):
			isCancelled = true
			if g.rng.IntN(3) > 0 {
				g.cancelSale(cancelled)
				continue
			}
			in := opInput{op: opSetStatus, event: cancelled, saleStatus: "CANCELLED"}
			g.updateEvent(in, client.EventChange{Status: &in.saleStatus})
		case n < 2:
			for _, status := range []string{client.WaitlistIsPaused, client.WaitlistIsClosed, client.WaitlistIsOpen} {
				if status == client.WaitlistIsOpen || g.rng.IntN(2) == 0 {
					g.setList(event, client.EventChange{Waitlist: &status})
					delay(ctx, randomMillis(g.rng, 0, 200))
				}
			}
		case n == 2:
			fit, seconds := []string{client.WaitlistSkips, client.WaitlistIsStrict}[g.rng.IntN(2)], 600*(1+g.rng.Int64N(6))
			g.setList(event, client.EventChange{WaitlistFit: &fit, WaitlistOfferSeconds: &seconds})
		case n == 3:
			in := opInput{op: opSetLimit, event: event, seats: 2 * g.rng.Int64N(4)}
			g.updateEvent(in, client.EventChange{MaxSeatsPerUser: &in.seats})
		case n == 4:
			for _, status := range []string{"CLOSED", "ON_SALE"} {
				g.updateEvent(opInput{op: opSetStatus, event: event, saleStatus: status}, client.EventChange{Status: &status})
			}
		case g.events[event].hall == nil:
			in := opInput{op: opResize, event: event, seats: 2 + g.rng.Int64N(6)}
			g.updateEvent(in, client.EventChange{TotalSeats: &in.seats})
		case n < 8:
			g.block(event)
		default:
			g.setHall(event)
		}
	}
}
