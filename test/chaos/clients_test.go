package chaos_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// clients compete for the seats of a few events, through two APIs of which either may be
// down. A client that has no definite answer retries at the other API with the same key until
// it has one.
type clients struct {
	t      *testing.T
	apis   []*client.Client
	users  []string // IDs of users, and holders
	events []*eventOnSale
	halls  []*hall  // the plans that their events may get
	plans  []string // IDs of these

	mu            sync.Mutex
	history       []invocation
	indeterminate int // attempts without a definite answer
	undecided     int // histories that took too long to check
	violations    []string
	notes         map[string]string   // the lock or booking of each key of metadata; see note
	references    [][2]string         // of payments that were accepted: the booking and the reference
	requests      int                 // that have a key of their own; see nextKey
	transfers     map[holdfast.ID]int // by booking, as they were told
}

// holderPrefix begins the holders among the customers.
const holderPrefix = "cart-"

// customer returns the user or the holder with a number.
func (cs *clients) customer(n int) (user, holder string) {
	if who := cs.users[n]; strings.HasPrefix(who, holderPrefix) {
		return "", who
	}
	return cs.users[n], ""
}

// userNumbers are the numbers of the customers, by the IDs that locks and bookings have.
func (cs *clients) userNumbers() map[holdfast.ID]int {
	numbers := map[holdfast.ID]int{}
	for n, who := range cs.users {
		if id, err := holdfast.ParseID(who); err == nil {
			numbers[id] = n
		} else {
			numbers[holdfast.HolderID(who)] = n
		}
	}
	return numbers
}

// numberOf is the number of the customer of an answer, or -1.
func (cs *clients) numberOf(user, holder string) int {
	return slices.Index(cs.users, cmp.Or(user, holder))
}

// eventOnSale is one of the events, with the number of keys used for it.
type eventOnSale struct {
	id      string
	total   int64
	perUser int64

	hall           *hall // at first; nil: the event is unseated
	refusesOrphans bool
	acceptsLate    bool
	// Its seats are locked from opensAt on and before closesAt, in Unix milliseconds; 0: at any time.
	opensAt, closesAt int64

	mu    sync.Mutex
	locks int
}

func (e *eventOnSale) latePayments() string {
	if e.acceptsLate {
		return client.LatePaymentsAccepted
	}
	return client.LatePaymentsRefused
}

// nextLock returns the number of a new lock.
func (e *eventOnSale) nextLock() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.locks++
	return e.locks - 1
}

// violation records what a checker found.
func (c *clients) violation(checker, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violations = append(c.violations, checker+": "+fmt.Sprintf(format, args...))
}

const (
	// crowdEvents is how many events crowd has for itself. They are the first ones.
	crowdEvents = 6
	// limitedEvent has a limit of seats per customer.
	limitedEvent = crowdEvents + 1
	// timedEvent opens some seconds after the beginning of a round, and closes some seconds later.
	timedEvent = crowdEvents + 2
	// seatedEvents is how many events are in a hall. They are the last ones.
	seatedEvents = 2
)

// clientsOf returns clients without events, who use both APIs. Their events may get the plans of these halls.
func (c *cluster) clientsOf(users []string, halls []*hall) *clients {
	cs := &clients{t: c.t, users: users, halls: halls}
	for _, name := range apiNames {
		cs.apis = append(cs.apis, client.New("http://"+c.nodes[name].proxy.addr, client.WithHTTPClient(c.http), client.WithRetryTimeout(0)))
	}
	for _, h := range halls {
		if c.planIDs[h] == "" {
			c.planIDs[h] = createPlan(c.t, c.caller(apiNames[0]), h)
		}
		cs.plans = append(cs.plans, c.planIDs[h])
	}
	return cs
}

// newClients creates new events for the clients of one round: those of crowd, some more without numbered seats, of
// which the second one has a limit per user and the third one opens and closes by itself, and two in a hall, of which one
// refuses orphans. The other one accepts late payments, and so do all without numbered seats but crowd's and the next one.
func (c *cluster) newClients(users []string, events int) *clients {
	c.t.Helper()
	cs := c.clientsOf(users, hallPlans)
	for n := range crowdEvents + events {
		i := max(0, n-crowdEvents)
		e := &eventOnSale{total: 10 + int64(4*i), acceptsLate: i > 0}
		if n == limitedEvent {
			e.perUser = 5
		}
		if n == timedEvent {
			e.opensAt = time.Now().Add(2 * time.Second).UnixMilli()
			e.closesAt = e.opensAt + 4000
		}
		created, err := cs.apis[0].CreateEvent(c.t.Context(), client.NewEvent{
			Name: "E", TotalSeats: e.total, EventDate: time.Now(), MaxSeatsPerUser: e.perUser, LatePayments: e.latePayments(),
			SaleStartsAt: timeOf(e.opensAt), SaleEndsAt: timeOf(e.closesAt)})
		if err != nil {
			c.t.Fatal(err)
		}
		e.id = created.ID
		cs.events = append(cs.events, e)
	}
	for i := range seatedEvents {
		cs.events = append(cs.events, c.newSeatedEvent(i == 0))
	}
	return cs
}

// run lets buyers and one manager send requests until ctx ends, and waits until each has its
// last answer.
func (c *clients) run(ctx context.Context, seed uint64, buyers int) {
	var all sync.WaitGroup
	for id := range buyers {
		g := &generator{clients: c, n: id, rng: rand.New(rand.NewPCG(seed, uint64(id)))}
		all.Go(func() { g.buy(ctx) })
	}
	g := &generator{clients: c, rng: rand.New(rand.NewPCG(seed, uint64(buyers)))}
	all.Go(func() { g.manage(ctx) })
	all.Wait()
}

// crowd locks seats of several events at the same time at one API, which lets them share transactions, until ctx ends.
// The other clients leave these events alone: a limit per user or another writer would keep them from sharing.
func (c *clients) crowd(ctx context.Context, seed uint64) {
	for n := uint64(0); ctx.Err() == nil; n++ {
		var all sync.WaitGroup
		for event := range crowdEvents {
			g := &generator{clients: c, n: int(n / 16), rng: rand.New(rand.NewPCG(seed, 1<<38+n*crowdEvents+uint64(event)))}
			all.Go(func() {
				if lock, ok := g.lock(event); ok && (lock.long || g.rng.IntN(4) > 0) {
					g.release(g.n, event, lock)
				}
			})
		}
		all.Wait()
	}
}

// cleanUp removes the clients' events and all that belongs to them.
func (c *clients) cleanUp(cl *cluster) {
	for _, e := range c.events {
		id := parseID(c.t, e.id)
		for _, of := range []struct{ collection, field string }{
			{"events", "_id"}, {"seatlocks", "eventId"}, {"bookings", "eventId"}, {"payments", "eventId"}, {"waitlist", "eventId"},
		} {
			cl.retry(func(ctx context.Context) error {
				_, err := cl.env.DB.Collection(of.collection).DeleteMany(ctx, bson.D{{Key: of.field, Value: id}})
				return err
			})
		}
	}
}
