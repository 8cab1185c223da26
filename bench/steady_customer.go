package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast"
)

// steadyEvent is an event of the scenario, and the process that its requests go to, as behind a load balancer.
type steadyEvent struct {
	id    holdfast.ID
	seats *picture // nil: the event is unseated
	to    serverConn
}

// steadyWorld is what customers see, and what became of them.
type steadyWorld struct {
	events []steadyEvent
	users  []holdfast.ID

	customers                    atomic.Int64 // that came; each has a number
	kept, keptSeats              atomic.Int64 // locks that stay sold
	confirmed, canceledPaid      atomic.Int64
	bookingChanges               atomic.Int64 // of which a webhook is told
	failed, failedSeats, dropped atomic.Int64
	recorder                     recorder
	leaving                      sync.WaitGroup // customers whose locks have not expired yet
}

// recorder collects the latencies of requests.
type recorder struct {
	mu        sync.Mutex
	latencies []time.Duration
}

func (r *recorder) add(d time.Duration) {
	r.mu.Lock()
	r.latencies = append(r.latencies, d)
	r.mu.Unlock()
}

// take returns what was recorded since the last call.
func (r *recorder) take() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.latencies
	r.latencies = make([]time.Duration, 0, len(taken))
	return taken
}

// steadyCustomer is one that wants seats of an event.
type steadyCustomer struct {
	world *steadyWorld
	event steadyEvent
	user  holdfast.ID
	n     int64 // of all customers
	course

	block // of a seated event; of another one, only its number of seats counts

	lock, booking string // IDs
}

// newCustomer picks an event, a course and seats, which no other customer picks meanwhile.
func (w *steadyWorld) newCustomer() *steadyCustomer {
	const all = 100 // percent
	first, events := pickCrowd(rand.IntN(all))
	c := &steadyCustomer{
		world: w, event: w.events[first+rand.IntN(events)], user: w.users[rand.IntN(len(w.users))], n: w.customers.Add(1),
		course: pickCourse(rand.IntN(all)), block: block{seats: 1 + rand.IntN(maxTogether)},
	}
	if c.event.seats != nil {
		if c.keepsSeats() {
			c.course = canceledCourse
		}
		c.block = c.event.pickSeats(c.seats)
	}
	return c
}

// pickSeats takes adjacent seats that no other customer has.
func (e steadyEvent) pickSeats(seats int) block {
	for {
		b := e.seats.pick(seats)
		row := &e.seats[b.row]
		if taken := row.Load(); taken&b.mask() == 0 && row.CompareAndSwap(taken, taken|b.mask()) {
			return b
		}
	}
}

// goesThrough sends the requests of the customer, with a pause between them. It returns an error if one fails.
func (c *steadyCustomer) goesThrough(ctx context.Context, arrived time.Time, pause func() time.Duration) error {
	at := arrived
	for i, s := range c.steps {
		if i > 0 {
			d := pause()
			at = wallClock().Add(d)
			sleep(ctx, d) // a customer that is cut short goes on at once, so that its seats come back
		}
		if err := c.send(s); err != nil {
			c.world.failed.Add(1)
			c.world.failedSeats.Add(int64(c.seats))
			c.world.recorder.add(wallClock.Since(at))
			return fmt.Errorf("customer %d, which %s: %s: %w", c.n, c.name, s, err)
		}
		c.world.recorder.add(wallClock.Since(at))
		c.count(s)
	}
	switch {
	case c.keepsSeats():
		c.world.kept.Add(1)
		c.world.keptSeats.Add(int64(c.seats))
	case c.isAbandoned():
		c.world.leaving.Go(func() {
			sleep(ctx, abandonedTTL+time.Second)
			c.event.free(c.block)
		})
	default:
		c.event.free(c.block)
	}
	return nil
}

// count counts what a step has done.
func (c *steadyCustomer) count(s step) {
	switch s {
	case stepBook, stepPay:
		c.world.bookingChanges.Add(1)
	case stepConfirm:
		c.world.bookingChanges.Add(1)
		c.world.confirmed.Add(1)
	case stepCancel:
		c.world.bookingChanges.Add(1)
		if c.steps[len(c.steps)-2] == stepConfirm {
			c.world.canceledPaid.Add(1)
		}
	}
}

func (e steadyEvent) free(b block) {
	if e.seats != nil {
		e.seats.free(b)
	}
}

// send sends the request of a step.
func (c *steadyCustomer) send(s step) error {
	lock, booking := "/locks/"+c.lock, "/bookings/"+c.booking
	ttl := keptTTL
	if c.isAbandoned() {
		ttl = abandonedTTL
	}
	var err error
	switch s {
	case stepLock:
		c.lock, err = c.do(http.MethodPost, "/locks", fmt.Sprintf(`{"userId":"%s","ttlSeconds":%.0f,"idempotencyKey":"%d",%s}`,
			c.user, ttl.Seconds(), c.n, c.wish()))
	case stepChange:
		before := c.block
		if c.event.seats == nil {
			c.seats = c.seats%maxTogether + 1
		} else {
			c.block = c.event.pickSeats(c.seats)
		}
		_, err = c.do(http.MethodPut, lock+"/seats", "{"+c.wish()+"}")
		if err == nil {
			c.event.free(before)
		}
	case stepExtend:
		_, err = c.do(http.MethodPost, lock+"/extend", fmt.Sprintf(`{"ttlSeconds":%.0f}`, 2*ttl.Seconds()))
	case stepRelease:
		_, err = c.do(http.MethodDelete, lock, "")
	case stepBook:
		window := ""
		if c.isAbandoned() { // PAYMENT_PENDING at once
			window = fmt.Sprintf(`,"paymentTtlSeconds":%.0f`, ttl.Seconds())
		}
		c.booking, err = c.do(http.MethodPost, "/bookings", fmt.Sprintf(`{"userId":"%s","lockId":"%s"%s}`, c.user, c.lock, window))
	case stepPay:
		_, err = c.do(http.MethodPost, booking+"/pay", fmt.Sprintf(`{"paymentTtlSeconds":%.0f}`, ttl.Seconds()))
	case stepConfirm:
		_, err = c.do(http.MethodPost, booking+"/confirm", fmt.Sprintf(`{"paymentReference":"steady-%d"}`, c.n))
	case stepCancel:
		_, err = c.do(http.MethodPost, booking+"/cancel", "")
	}
	return err
}

// wish is the part of a body that says which seats.
func (c *steadyCustomer) wish() string {
	if c.event.seats == nil {
		return fmt.Sprintf(`"seats":%d`, c.seats)
	}
	return `"seatIds":["` + strings.Join(c.ids(), `","`) + `"]`
}

var errNoID = errors.New("the answer has no ID")

// do sends a request below the event, and returns the ID of what is answered.
func (c *steadyCustomer) do(method, path, body string) (id string, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(method)
	request.SetRequestURI("http://" + c.event.to.Addr + "/api/events/" + c.event.id.String() + path)
	if body != "" {
		request.Header.SetContentType("application/json")
		request.SetBodyString(body)
	}
	if err := c.event.to.DoTimeout(request, response, responseTimeout); err != nil {
		return "", err
	}
	if code := response.StatusCode(); code != http.StatusOK && code != http.StatusCreated {
		return "", fmt.Errorf("%d %s", code, response.Body())
	}
	_, after, found := bytes.Cut(response.Body(), []byte(`"id":"`))
	if text, _, ended := bytes.Cut(after, []byte(`"`)); found && ended {
		return string(text), nil
	}
	return "", errNoID
}

// reportFirst prints the first error of the customers.
func (w *steadyWorld) reportFirst(err error) {
	if err != nil && w.failed.Load() == 1 {
		fmt.Fprintln(os.Stderr, "the first request that failed:", err)
	}
}
