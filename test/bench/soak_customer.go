package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/client"
)

// step is a request of a customer.
type step string

const (
	stepLock    step = "lock"
	stepChange  step = "change seats"
	stepExtend  step = "extend"
	stepRelease step = "release"
	stepBook    step = "book"
	stepPay     step = "pay"
	stepConfirm step = "confirm"
	stepCancel  step = "cancel"
)

// course is the sequence of a customer's requests.
type course struct {
	share int // of all customers, in percent
	steps []step
}

// courses are the mix of the soak. Of 100 customers, 80 release their seats in some way.
var courses = []course{
	{20, []step{stepLock, stepRelease}},
	{10, []step{stepLock, stepExtend, stepRelease}},
	{10, []step{stepLock, stepChange, stepRelease}},
	{15, []step{stepLock}},
	{5, []step{stepLock, stepBook}},
	{10, []step{stepLock, stepBook, stepCancel}},
	{20, []step{stepLock, stepBook, stepPay, stepConfirm}},
	{10, []step{stepLock, stepBook, stepPay, stepConfirm, stepCancel}},
}

// canceledCourse replaces the course that keeps its seats where an event must not sell out.
var canceledCourse = courses[len(courses)-1]

// last returns the last step. After stepConfirm the seats stay sold; after stepLock and stepBook the lock is left to
// expire.
func (c course) last() step { return c.steps[len(c.steps)-1] }

func (c course) isAbandoned() bool { return c.last() == stepLock || c.last() == stepBook }

// pickCourse returns the course of a number from 0 to 99.
func pickCourse(percent int) course {
	for _, c := range courses {
		if percent < c.share {
			return c
		}
		percent -= c.share
	}
	panic("the shares of the courses are less than 100 %")
}

// These are lifetimes of locks and payment windows, and the pauses of customers.
const (
	// abandonedTTL is short, so that many locks expire in the time of a measurement.
	abandonedTTL = 15 * time.Second
	// keptTTL is longer than any course.
	keptTTL = 10 * time.Minute
	// minPause and maxPause bound the pause between two requests of a customer.
	minPause = time.Second
	maxPause = 5 * time.Second
)

// randomPause returns how long a customer thinks.
func randomPause() time.Duration { return minPause + rand.N(maxPause-minPause) }

// soakEvent is an event of the soak.
type soakEvent struct {
	id    holdfast.ID
	seats *picture // nil: the event is unseated
}

// pickSeats picks adjacent seats that no other customer has.
func (e soakEvent) pickSeats(seats int) block {
	for {
		b := e.seats.pick(seats)
		row := &e.seats[b.row]
		if taken := row.Load(); taken&b.mask() == 0 && row.CompareAndSwap(taken, taken|b.mask()) {
			return b
		}
	}
}

func (e soakEvent) free(b block) {
	if e.seats != nil {
		e.seats.free(b)
	}
}

// soakCustomer is a customer who wants seats of an event.
type soakCustomer struct {
	course

	soak  *soak
	event soakEvent
	api   *client.Client // in the event
	user  string         // ID
	n     int64          // of all customers
	block block          // of a seated event; of another one, only its number of seats counts

	lock, booking string // IDs
}

// newCustomer picks an event, a course and seats. No other customer picks the same seats meanwhile.
func (st *soak) newCustomer() *soakCustomer {
	const all, forHot, forEvents = 100, 60, 80 // percent
	events := st.halls
	switch percent := rand.IntN(all); {
	case percent < forHot:
		events = st.hot
	case percent < forEvents:
		events = st.events
	}
	event := events[rand.IntN(len(events))]
	c := &soakCustomer{
		soak: st, event: event, api: st.api.InEvent(event.id.String()), user: st.users[rand.IntN(len(st.users))],
		n: st.customers.Add(1), course: pickCourse(rand.IntN(all)), block: block{seats: 1 + rand.IntN(maxTogether)},
	}
	if event.seats != nil {
		if c.last() == stepConfirm {
			c.course = canceledCourse
		}
		c.block = event.pickSeats(c.block.seats)
	}
	return c
}

// goThrough sends the requests of the customer, with a pause between them. It returns an error if one fails.
func (c *soakCustomer) goThrough(ctx context.Context, at time.Time, pause func() time.Duration) error {
	st, whole := c.soak, context.WithoutCancel(ctx) // requests in flight are answered
	for i, s := range c.steps {
		if i > 0 {
			d := pause()
			at = wallClock().Add(d)
			sleep(ctx, d) // a customer that is interrupted continues at once, so that its seats become available
		}
		err := c.send(whole, s)
		st.mu.Lock()
		st.latencies = append(st.latencies, wallClock.Since(at))
		st.mu.Unlock()
		if err != nil {
			st.failed.Add(1)
			st.failedSeats.Add(int64(c.block.seats))
			return fmt.Errorf("customer %d: %s: %w", c.n, s, err)
		}
		switch s {
		case stepBook, stepPay, stepConfirm, stepCancel:
			st.bookingChanges.Add(1)
		}
	}
	switch {
	case c.last() == stepConfirm:
		st.kept.Add(1)
		st.keptSeats.Add(int64(c.block.seats))
	case c.isAbandoned():
		st.leaving.Go(func() {
			sleep(ctx, abandonedTTL+time.Second)
			c.event.free(c.block)
		})
	default:
		c.event.free(c.block)
	}
	return nil
}

// takeLatencies returns the latencies since the last call.
func (st *soak) takeLatencies() []time.Duration {
	st.mu.Lock()
	defer st.mu.Unlock()
	taken := st.latencies
	st.latencies = make([]time.Duration, 0, len(taken))
	return taken
}

// send sends the request of a step.
func (c *soakCustomer) send(ctx context.Context, s step) (err error) {
	ttl, window := keptTTL, time.Duration(0)
	if c.isAbandoned() { // its booking is PAYMENT_PENDING at once
		ttl, window = abandonedTTL, abandonedTTL
	}
	until := wallClock().Add(2 * ttl)
	switch s {
	case stepLock:
		w := c.wish()
		var lock client.Lock
		lock, err = c.api.AcquireLock(ctx, client.LockRequest{
			EventID: c.event.id.String(), UserID: c.user, Seats: w.Seats, SeatIDs: w.SeatIDs, TTL: ttl, IdempotencyKey: strconv.FormatInt(c.n, 10),
		})
		c.lock = lock.ID
	case stepChange:
		before := c.block
		if c.event.seats == nil {
			c.block.seats = c.block.seats%maxTogether + 1
		} else {
			c.block = c.event.pickSeats(c.block.seats)
		}
		if _, err = c.api.ChangeSeats(ctx, c.lock, c.wish()); err == nil {
			c.event.free(before)
		}
	case stepExtend:
		_, err = c.api.ExtendLock(ctx, c.lock, until)
	case stepRelease:
		_, err = c.api.ReleaseLock(ctx, c.lock)
	case stepBook:
		var booking client.Booking
		booking, err = c.api.CreateBooking(ctx, client.BookingRequest{
			EventID: c.event.id.String(), UserID: c.user, LockID: c.lock, PaymentTTL: window,
		})
		c.booking = booking.ID
	case stepPay:
		_, err = c.api.PayBooking(ctx, c.booking, until)
	case stepConfirm:
		_, err = c.api.ConfirmBooking(ctx, c.booking, fmt.Sprintf("soak-%d", c.n))
	case stepCancel:
		_, err = c.api.CancelBooking(ctx, c.booking)
	}
	return err
}

// wish says which seats the customer wants.
func (c *soakCustomer) wish() client.Wish {
	if c.event.seats == nil {
		return client.Wish{Seats: int64(c.block.seats)}
	}
	return client.Wish{SeatIDs: c.block.ids()}
}
