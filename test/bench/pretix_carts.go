package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/holdfast-dev/holdfast"
)

const pretixName = "pretix"

// cartLoad is what the clients of a comparison with pretix want.
type cartLoad struct {
	clients, tickets int
	places           int64 // of the event
	untilSoldOut     bool  // the load ends with the first refusal, instead of after the duration
	isNumbered       bool  // each client asks for the next seat of the hall, which no other one wants
}

// A small hall is sold until it is sold out.
const (
	smallHallRows  = 10
	smallHallRow   = 20 // seats
	soldOutPlaces  = smallHallRows * smallHallRow
	soldOutTimeout = 5 * time.Minute
)

func (l cartLoad) String() string {
	switch {
	case l.isNumbered:
		return fmt.Sprintf("%s, %d numbered seats", clientsLoad(l.clients), l.places)
	case l.untilSoldOut:
		return fmt.Sprintf("%s, %d places", clientsLoad(l.clients), l.places)
	case l.tickets > 1:
		return fmt.Sprintf("%s, %d tickets", clientsLoad(l.clients), l.tickets)
	default:
		return clientsLoad(l.clients)
	}
}

// closed runs the load in a closed loop. do gets the seat that is to be locked, if seats are numbered.
func (l cartLoad) closed(
	ctx context.Context, s settings, do func(ctx context.Context, key, seat string) (granted bool, err error),
) (measurement, error) {
	if !l.untilSoldOut {
		return closedLoop(ctx, l.clients, s.duration, func(ctx context.Context, client, n int) (bool, error) {
			return do(ctx, requestKey(client, n), "")
		})
	}
	var last atomic.Int64
	m, err := closedLoop(ctx, l.clients, soldOutTimeout, func(ctx context.Context, client, n int) (bool, error) {
		seat := int(last.Add(1)) - 1
		if l.isNumbered && seat >= soldOutPlaces {
			return false, errLoadDone
		}
		granted, err := do(ctx, requestKey(client, n), seatID(seat/smallHallRow, seat%smallHallRow))
		if err == nil && !granted {
			err = errLoadDone
		}
		return granted, err
	})
	if err == nil && int64(m.Granted) != l.places {
		err = fmt.Errorf("it was sold out after %d of %d places", m.Granted, l.places)
	}
	m.addNote("sold out in %.2f s", m.Seconds)
	return m, err
}

// withPretix compares carts of pretix with locks of the engine, through HTTP.
func withPretix(s settings) (rows []*result) {
	if s.pretix == "" {
		return nil
	}
	var site *pretixSite
	s.afterScenario(func(context.Context) error {
		if site != nil {
			site.stop()
		}
		return nil
	})
	const few, many = 1, 64
	for _, load := range []cartLoad{
		{clients: few, tickets: 1, places: ampleSeats},
		{clients: many, tickets: 1, places: ampleSeats},
		{clients: many, tickets: 2, places: ampleSeats},
		{clients: mostClients, tickets: 1, places: ampleSeats},
		{clients: many, tickets: 1, places: soldOutPlaces, untilSoldOut: true},
		{clients: many, tickets: 1, places: soldOutPlaces, untilSoldOut: true, isNumbered: true},
	} {
		rows = append(rows, engineCarts(s, load), &result{
			Variant: pretixName, Load: load.String(), measure: func(ctx context.Context) (m measurement, err error) {
				if site == nil {
					if site, err = startPretix(ctx, s.pretix, s.postgresURL); err != nil {
						return m, err
					}
					warmUp := s
					warmUp.duration = pretixWarmUp
					if _, err := site.measure(ctx, warmUp, cartLoad{clients: many, tickets: 1, places: ampleSeats}); err != nil {
						return m, err
					}
				}
				return site.measure(ctx, s, load)
			},
		})
	}
	return rows
}

// engineCarts measures the engine: a lock of the tickets stands for a cart.
func engineCarts(s settings, load cartLoad) *result {
	row := httpRow{variant: engineName, load: load.String(), processes: 1, seats: load.places}
	row.run = func(ctx context.Context, t target) (m measurement, err error) {
		to := connectTo(t.servers[0].address, load.clients)
		defer to.CloseIdleConnections()
		event := t.event
		if load.isNumbered {
			if event, err = t.createSmallHall(ctx); err != nil {
				return m, err
			}
		}
		m, err = measureProcessor(ctx, t.servers, func(ctx context.Context) (measurement, error) {
			return load.closed(ctx, s, func(_ context.Context, key, seat string) (bool, error) {
				wish := fmt.Sprintf(`"seats":%d`, load.tickets)
				if load.isNumbered {
					wish = fmt.Sprintf(`"seatIds":["%s"]`, seat)
				}
				return to.postLock("/api/locks", event, t.user.ID, key, wish)
			})
		})
		m.seats = m.Granted * load.tickets
		return m, err
	}
	return overHTTP(s, row)
}

// createSmallHall creates an event in the hall that is to be sold out.
func (e *env) createSmallHall(ctx context.Context) (holdfast.ID, error) {
	section := holdfast.Section{Key: "hall", Name: "Hall", Category: "seats"}
	for r := range smallHallRows {
		row := holdfast.Row{Key: fmt.Sprint(r)}
		for i := range smallHallRow {
			x, y := holdfast.Thousandths(i)*holdfast.Unit, holdfast.Thousandths(r)*holdfast.Unit
			row.Seats = append(row.Seats, &holdfast.Seat{ID: seatID(r, i), X: &x, Y: &y})
		}
		section.Rows = append(section.Rows, row)
	}
	plan, _, err := e.Plans.Create(ctx, holdfast.SeatingPlan{
		Name: "Hall", Categories: []holdfast.Category{{Key: "seats", Name: "Seats"}}, Sections: []holdfast.Section{section},
	}, holdfast.CreationKey{})
	if err != nil {
		return holdfast.ID{}, err
	}
	return e.createSeated(ctx, plan.ID)
}

// measure measures carts of a new event, and checks pretix's database afterwards.
func (p *pretixSite) measure(ctx context.Context, s settings, load cartLoad) (m measurement, err error) {
	slug := "e" + strings.ToLower(rand.Text()[:12])
	item, err := p.createEvent(ctx, slug, load)
	if err != nil {
		return m, err
	}
	customers := &pretixCustomers{
		HostClient: &fasthttp.HostClient{Addr: p.address, MaxConns: load.clients, ReadTimeout: soldOutTimeout},
		path:       "/bench/" + slug + "/cart/add",
	}
	defer customers.CloseIdleConnections()
	before, err := p.processorTime()
	if err != nil {
		return m, err
	}
	m, err = load.closed(ctx, s, func(ctx context.Context, _, seat string) (bool, error) {
		if load.isNumbered {
			return customers.fillCart(ctx, fmt.Sprintf("seat_%d=%s", item, seat))
		}
		return customers.fillCart(ctx, fmt.Sprintf("item_%d=%d", item, load.tickets))
	})
	if err != nil {
		return m, err
	}
	after, err := p.processorTime()
	if err != nil {
		return m, err
	}
	m.processorTime = after - before
	m.addNote("%d asked again, %d were told to retry", customers.polls.Load(), customers.retries.Load())
	tickets, carts, seats, err := p.inCarts(ctx, slug)
	if err == nil && load.isNumbered && seats != tickets {
		return m, fmt.Errorf("pretix put %d seats into carts for %d tickets", seats, tickets)
	}
	if err == nil && (carts != int64(m.Granted) || tickets != carts*int64(load.tickets) || tickets > load.places) {
		err = fmt.Errorf("pretix answered that %d carts have %d tickets each; its database has %d carts with %d tickets, of %d places",
			m.Granted, load.tickets, carts, tickets, load.places)
	}
	return m, err
}

// pretixCustomers fill carts as the script of pretix's shop does in a browser.
type pretixCustomers struct {
	*fasthttp.HostClient
	path           string
	polls, retries atomic.Int64
}

// cartAnswer is pretix's answer to a request that fills a cart, or that asks whether this is done.
type cartAnswer struct {
	HasCart  bool   `json:"has_cart"` // the cart has tickets
	Ready    bool   `json:"ready"`
	Message  string `json:"message"`
	CheckURL string `json:"check_url"`
}

// fillCart is a new customer, who puts tickets into a cart and waits until they are in it. Pretix answers after at most
// half a second; if the cart is still empty then, the customer asks again after the times that pretix's script waits. The
// script also loads the shop's page with the cart: this customer does not.
func (c *pretixCustomers) fillCart(ctx context.Context, wish string) (granted bool, err error) {
	for {
		answer, err := c.tryCart(ctx, wish)
		switch {
		case err != nil:
			return false, err
		case answer.HasCart:
			return true, nil
		case strings.Contains(answer.Message, "no longer available"):
			return false, nil
		case !strings.Contains(answer.Message, "too busy"):
			return false, fmt.Errorf("pretix refused a cart: %s", answer.Message)
		}
		c.retries.Add(1)
	}
}

func (c *pretixCustomers) tryCart(ctx context.Context, wish string) (cartAnswer, error) {
	token := rand.Text()
	token = (token + token)[:32] // pretix compares the form's token with the cookie
	cookies := "pretix_csrftoken=" + token
	form := wish + "&ajax=1&csrfmiddlewaretoken=" + token
	answer, session, err := c.ask(http.MethodPost, c.path, cookies, form)
	cookies += "; " + session
	check := answer.CheckURL
	const first, later = 100 * time.Millisecond, 250 * time.Millisecond
	for wait := first; err == nil && !answer.HasCart && !answer.Ready; wait = later {
		c.polls.Add(1)
		sleep(ctx, wait)
		answer, _, err = c.ask(http.MethodGet, check, cookies, "")
	}
	return answer, err
}

// ask sends a request, and returns the answer with the session's cookie.
func (c *pretixCustomers) ask(method, path, cookies, form string) (answer cartAnswer, session string, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.Header.SetMethod(method)
	request.SetRequestURI("http://" + c.Addr + path)
	request.Header.Set("Cookie", cookies)
	if form != "" {
		request.Header.SetContentType("application/x-www-form-urlencoded")
		request.SetBodyString(form)
	}
	if err := c.Do(request, response); err != nil {
		return answer, "", err
	}
	if response.StatusCode() != http.StatusOK {
		return answer, "", fmt.Errorf("pretix, %s %s: status %d %.200s", method, path, response.StatusCode(), response.Body())
	}
	var cookie fasthttp.Cookie
	cookie.SetKey("pretix_session")
	response.Header.Cookie(&cookie)
	session = "pretix_session=" + string(cookie.Value())
	return answer, session, json.Unmarshal(response.Body(), &answer)
}
