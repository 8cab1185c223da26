package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// The kinds of calls of a customer.
const (
	callLock    = "lock"
	callRefused = "lock, refused"
	callBook    = "book"
	callConfirm = "confirm"
	callRelease = "release"
)

var callKinds = []string{callLock, callRefused, callBook, callConfirm, callRelease}

// grant is a lock that a customer got.
type grant struct {
	event         int
	arrived, when time.Duration // since the opening
	first         bool          // by the customer's first try
}

// fleetSale is the customers of a model at a deployment.
type fleetSale struct {
	model  onSale
	seated bool
	d      *deployment
	client *fasthttp.HostClient
	halls  []hallView // of each event, if they are seated
	opened time.Time

	mu        sync.Mutex
	latencies map[string][]time.Duration // by kind
	answers   map[string]int             // by kind, and what else was answered
	grants    []grant
	perSecond []secondOfSale
	paid      int64 // confirmed bookings
	paidSeats int64
	unknown   int64 // seats of payments whose outcome is not known
	ended     time.Duration
}

// secondOfSale is what happened in a second of the sale.
type secondOfSale struct{ Requests, Grants int }

func newSale(d *deployment, model onSale, seated bool) *fleetSale {
	s := &fleetSale{
		model: model, seated: seated, d: d, client: fleetClient(d.proxy.address),
		latencies: map[string][]time.Duration{}, answers: map[string]int{},
	}
	if seated {
		for range d.events {
			s.halls = append(s.halls, newHallView(d.capacity/fleetRowSeats))
		}
	}
	return s
}

// run opens the sale and returns when the last customer has gone. beside is called each second.
func (s *fleetSale) run(ctx context.Context, beside func()) error {
	defer s.client.CloseIdleConnections()
	customers := s.model.customers()
	watching, stop := context.WithCancel(ctx)
	var watch, present sync.WaitGroup
	s.opened = wallClock()
	watch.Go(func() {
		for watching.Err() == nil {
			beside()
			sleep(watching, time.Second)
		}
	})
	for _, c := range customers {
		sleep(ctx, c.Arrival-s.now())
		if ctx.Err() != nil {
			break
		}
		present.Go(func() { s.serve(ctx, c) })
	}
	present.Wait()
	stop()
	watch.Wait()
	s.ended = s.now()
	return ctx.Err()
}

// now is the time since the opening.
func (s *fleetSale) now() time.Duration { return wallClock.Since(s.opened) }

// serve is a customer: tries until there is a lock, and then pays, releases it or goes away.
func (s *fleetSale) serve(ctx context.Context, c customer) {
	for try := 0; ; try++ {
		lock, granted := s.lock(ctx, c, try)
		if granted {
			s.decide(ctx, c, lock)
			return
		}
		if lock == lockLost || try >= len(c.Pauses) {
			return
		}
		sleep(ctx, c.Pauses[try])
		if ctx.Err() != nil {
			return
		}
	}
}

// lockLost in place of a lock's ID: it is not known whether there is one.
const lockLost = "lost"

// lock asks for seats.
func (s *fleetSale) lock(ctx context.Context, c customer, try int) (id string, granted bool) {
	wish, chosen := fmt.Sprintf(`"seats":%d`, c.Seats), block{}
	if s.seated {
		wish, chosen = s.wish(c, try)
	}
	body := fmt.Appendf(nil, `{"userId":"%s",%s,"ttlSeconds":%.0f,"idempotencyKey":"%d"}`,
		s.d.users[c.Number], wish, s.model.LockTTL.Seconds(), try)
	start := s.now()
	a := s.call(ctx, http.MethodPost, s.path(c, "locks"), body)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.status == http.StatusCreated:
		now := s.now()
		s.note(callLock, now-start)
		s.grants = append(s.grants, grant{event: c.Event, arrived: c.Arrival, when: now, first: try == 0})
		s.second(now).Grants++
		if chosen.seats > 0 {
			s.halls[c.Event].take(chosen)
		}
		return a.ID, true
	case a.Code == "SEATS_UNAVAILABLE":
		s.note(callRefused, s.now()-start)
		return "", false
	default:
		s.noteOther(callLock, a)
		return lockLost, false
	}
}

// wish is what a customer asks for in a hall. Half of them name seats that look free, at first.
func (s *fleetSale) wish(c customer, try int) (wish string, chosen block) {
	if try == 0 && c.Number%2 == 0 {
		s.mu.Lock()
		chosen, found := s.halls[c.Event].pick(c)
		s.mu.Unlock()
		if found {
			return `"seatIds":["` + strings.Join(chosen.namesOf(), `","`) + `"]`, chosen
		}
	}
	return fmt.Sprintf(`"bestAvailable":{"seats":%d}`, c.Seats), block{}
}

// namesOf are the IDs of the block's seats in a hall of fleetHall.
func (b block) namesOf() (names []string) {
	for i := range b.seats {
		names = append(names, seatID(b.row, b.first+i))
	}
	return names
}

// decide is what a customer does with a lock.
func (s *fleetSale) decide(ctx context.Context, c customer, lock string) {
	if c.Intent == returns {
		sleep(ctx, min(c.Decides, s.model.LockTTL/2)) //nolint:mnd // a customer who wants nothing does not wait for the end
		s.timed(ctx, callRelease, c, http.MethodDelete, s.path(c, "locks", lock), nil)
		return
	}
	body := fmt.Appendf(nil, `{"userId":"%s","lockId":"%s","paymentTtlSeconds":%.0f}`, s.d.users[c.Number], lock, s.model.LockTTL.Seconds())
	booking, ok := s.timed(ctx, callBook, c, http.MethodPost, s.path(c, "bookings"), body)
	if !ok || c.Intent == lets {
		return
	}
	sleep(ctx, c.Decides)
	body = fmt.Appendf(nil, `{"paymentReference":"pay-%d"}`, c.Number)
	if _, ok := s.timed(ctx, callConfirm, c, http.MethodPost, s.path(c, "bookings", booking, "confirm"), body); ok {
		s.mu.Lock()
		s.paid, s.paidSeats = s.paid+1, s.paidSeats+int64(c.Seats)
		s.mu.Unlock()
	}
}

// timed makes a call that should succeed, and notes how long it took.
func (s *fleetSale) timed(ctx context.Context, kind string, c customer, method, path string, body []byte) (id string, ok bool) {
	start := s.now()
	a := s.call(ctx, method, path, body)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a.status >= http.StatusOK && a.status < http.StatusMultipleChoices:
		s.note(kind, s.now()-start)
		return a.ID, true
	case kind == callConfirm && a.isUnknown():
		s.unknown += int64(c.Seats)
	}
	s.noteOther(kind, a)
	return "", false
}

func (s *fleetSale) path(c customer, parts ...string) string {
	return "/api/events/" + s.d.events[c.Event].String() + "/" + strings.Join(parts, "/")
}

// answer is what the API answered; status is 0 without an answer.
type answer struct {
	status int
	ID     string `json:"id"`
	Code   string `json:"code"`
}

func (a answer) isUnknown() bool { return a.status == 0 || a.status >= http.StatusInternalServerError }

// call makes a request. As the API asks for, it is repeated after a second where it was turned away or lost.
func (s *fleetSale) call(ctx context.Context, method, path string, body []byte) (a answer) {
	const most, pause = 10, time.Second
	for try := range most {
		if try > 0 {
			sleep(ctx, pause)
		}
		s.mu.Lock()
		s.second(s.now()).Requests++
		s.mu.Unlock()
		a = s.callOnce(method, path, body)
		if ctx.Err() != nil || !a.isUnknown() && a.status != http.StatusTooManyRequests {
			break
		}
		s.mu.Lock()
		s.noteOther("repeated", a)
		s.mu.Unlock()
	}
	return a
}

func (s *fleetSale) callOnce(method, path string, body []byte) (a answer) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(method)
	request.SetRequestURI("http://" + s.client.Addr + path)
	request.Header.SetContentType("application/json")
	request.SetBodyRaw(body)
	if err := s.client.Do(request, response); err != nil {
		return answer{Code: err.Error()}
	}
	a.status = response.StatusCode()
	if err := json.Unmarshal(response.Body(), &a); err != nil {
		return answer{Code: err.Error()}
	}
	return a
}

// note notes the latency of a call. The caller holds mu.
func (s *fleetSale) note(kind string, latency time.Duration) {
	s.latencies[kind] = append(s.latencies[kind], latency)
}

// noteOther counts another answer than the one hoped for. The caller holds mu.
func (s *fleetSale) noteOther(kind string, a answer) {
	s.answers[strings.TrimSpace(fmt.Sprintf("%s: %d %s", kind, a.status, a.Code))]++
}

// second is the record of a second of the sale. The caller holds mu.
func (s *fleetSale) second(at time.Duration) *secondOfSale {
	for n := int(at / time.Second); len(s.perSecond) <= n; {
		s.perSecond = append(s.perSecond, secondOfSale{})
	}
	return &s.perSecond[int(at/time.Second)]
}

// hallView is what customers see of a hall: the seats that they have taken, a word for each row. Seats that come back are
// left to customers who ask for the best.
type hallView struct{ rows []uint64 }

func newHallView(rows int) hallView { return hallView{make([]uint64, rows)} }

func (h hallView) take(b block) { h.rows[b.row] |= b.mask() }

// pick returns adjacent seats in the first row from a preferred one on that has them. Most customers prefer the front.
func (h hallView) pick(c customer) (b block, found bool) {
	share := float64(c.Number%1000) / 1000 //nolint:mnd // of the hall, even
	for row := int(share * share * float64(len(h.rows))); row < len(h.rows); row++ {
		for first := c.Number % fleetRowSeats; first+c.Seats <= fleetRowSeats; first++ {
			if b := (block{row: row, first: first, seats: c.Seats}); h.rows[row]&b.mask() == 0 {
				return b, true
			}
		}
	}
	return block{}, false
}
