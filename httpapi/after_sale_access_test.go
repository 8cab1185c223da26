package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// afterSaleRoutes are the requests after the sale for a booking and its payment, each with a valid body.
func afterSaleRoutes(event, booking, payment, part string) map[string]fields {
	inEvent := "/api/events/" + event
	return map[string]fields{
		"PUT /api/bookings/" + booking + "/seats":                          {"seats": 1},
		"PUT " + inEvent + "/bookings/" + booking + "/seats":               {"seats": 1},
		"POST /api/bookings/" + booking + "/transfer":                      {"holder": "b"},
		"POST " + inEvent + "/bookings/" + booking + "/transfer":           {"holder": "b"},
		"POST " + inEvent + "/sales":                                       {"holder": "b", "seats": 1},
		"POST /api/payments/" + payment + "/refunds":                       {"amount": 1},
		"POST /api/payments/" + payment + "/refunds/" + part + "/refunded": {"refundReference": "r"},
	}
}

// A customer's token may do nothing after the sale, with its own booking either, and learns nothing about the request.
func TestAfterSale_CustomersMayDoNothing(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key := []string{"Authorization", "Bearer s-ops"}
	show := fields{"name": "E", "totalSeats": 9, "eventDate": "2030-06-15T10:00:00Z"}
	event := s.want(s.call("POST", "/api/events", show, key...), 201, "").text("id")
	sale := fields{"holder": "cart", "seats": 2, "paymentReference": "p", "amount": 100}
	booking := s.want(s.call("POST", "/api/events/"+event+"/sales", sale, key...), 201, "").text("id")
	payment := paymentOf("p")
	p := s.want(s.call("POST", "/api/payments/"+payment+"/refunds", fields{"amount": 1}, key...), 201, "")
	part := p.body["refunds"].([]any)[0].(map[string]any)["id"].(string)
	state := func() string {
		return s.call("GET", "/api/bookings/"+booking, nil, key...).raw + s.call("GET", "/api/payments", nil, key...).raw +
			s.call("GET", "/api/events/"+event, nil, key...).raw + s.call("GET", "/api/locks", nil, key...).raw
	}
	before := state()
	none := mongodb.NewID().String()
	for name, token := range map[string]string{
		"own": holderToken(t, jwt.MapClaims{"sub": "cart"}), "another": holderToken(t, jwt.MapClaims{"sub": "b"}), "user": tokenFor(t, none),
	} {
		for _, routes := range []map[string]fields{
			afterSaleRoutes(event, booking, payment, part), afterSaleRoutes(none, none, none, none),
		} {
			for route, body := range routes {
				method, path, _ := strings.Cut(route, " ")
				for _, sent := range []any{body, fields{}, `{"x":`, with(body, fields{"idempotencyKey": "k"})} {
					if a := s.call(method, path, sent, "Authorization", token); a.status != 403 || a.text("code") != "FORBIDDEN" {
						t.Errorf("%s, %s %v: %d %s", name, route, sent, a.status, a.raw)
					}
				}
			}
		}
	}
	if after := state(); after != before {
		t.Errorf("there is\n%s, before\n%s", after, before)
	}
	for route, body := range afterSaleRoutes(event, booking, payment, part) { // the scope booking may do all of it
		method, path, _ := strings.Cut(route, " ")
		if a := s.call(method, path, body, "Authorization", "Bearer s-shop"); a.status/100 != 2 {
			t.Errorf("%s: %d %s", route, a.status, a.raw)
		}
	}
}

// Which payments a booking has is told to keys alone.
func TestAfterSale_PaymentsAreNotShownToCustomers(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	key, token := []string{"Authorization", "Bearer s-shop"}, []string{"Authorization", holderToken(t, jwt.MapClaims{"sub": "cart"})}
	admin := []string{"Authorization", "Bearer s-ops"}
	show := fields{"name": "E", "totalSeats": 9, "eventDate": "2030-06-15T10:00:00Z"}
	event := s.want(s.call("POST", "/api/events", show, admin...), 201, "").text("id")
	lock := s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": "cart", "seats": 2}, token...), 201, "").text("id")
	book := fields{"eventId": event, "holder": "cart", "lockId": lock, "paymentTtlSeconds": 60}
	booking := s.want(s.call("POST", "/api/bookings", book, token...), 201, "").text("id")
	path := "/api/bookings/" + booking
	s.want(s.call("POST", path+"/confirm", fields{"paymentReference": "p", "amount": 100}, key...), 200, "")
	s.want(s.call("POST", path+"/confirm", fields{"paymentReference": "twice"}, key...), 409, "BOOKING_CONFIRMED")
	shown := func(want string) {
		t.Helper()
		for name, read := range map[string]func(...string) answer{
			"one":              func(h ...string) answer { return s.call("GET", path, nil, h...) },
			"one in its event": func(h ...string) answer { return s.call("GET", "/api/events/"+event+path[len("/api"):], nil, h...) },
			"list":             func(h ...string) answer { return s.call("GET", "/api/bookings", nil, h...) },
			"list of the event": func(h ...string) answer {
				return s.call("GET", "/api/bookings?eventId="+event+"&holder=cart", nil, h...)
			},
			"created again": func(h ...string) answer { return s.call("POST", "/api/bookings", book, h...) },
		} {
			own, whole := read(token...), read(key...)
			if name == "created again" && want != "CONFIRMED" { // its lock has ended
				continue
			}
			if s.want(own, 200, ""); strings.Contains(own.raw, `"payments"`) || !strings.Contains(own.raw, want) {
				t.Errorf("%s: the customer is told %s", name, own.raw)
			}
			if s.want(whole, 200, ""); !strings.Contains(whole.raw, `"payments":[{"id":"`+paymentOf("p")) ||
				!strings.Contains(whole.raw, paymentOf("twice")) {
				t.Errorf("%s: the shop is told %s", name, whole.raw)
			}
		}
	}
	shown("CONFIRMED")
	s.want(s.call("PUT", path+"/seats", fields{"seats": 3, "payment": fields{"paymentReference": "more"}}, key...), 200, "")
	shown("CONFIRMED")
	s.want(s.call("POST", path+"/cancel", nil, key...), 200, "")
	shown("CANCELLED")
	if again := s.want(s.call("POST", path+"/cancel", nil, token...), 200, ""); strings.Contains(again.raw, `"payments"`) {
		t.Errorf("the customer is told %s", again.raw)
	}
	s.want(s.call("GET", "/api/payments", nil, token...), 403, "FORBIDDEN")
}

// In the path of another event a booking does not exist, and nothing happens to it.
func TestAfterSale_InThePathOfAnotherEvent(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	booking := s.sellAtOnce(event, fields{"holder": "a", "section": "pit", "seats": 2, "idempotencyKey": "k"}).text("id")
	base := "/bookings/" + booking
	s.want(s.call("PUT", "/api/events/"+event+base+"/seats", fields{"section": "pit", "seats": 3, "idempotencyKey": "done"}), 200, "")
	before := s.saleState(event)
	for name, wrong := range map[string]string{"another": s.event(10), "none": mongodb.NewID().String(), "zero": strings.Repeat("0", 24)} {
		for path, body := range map[string]fields{
			"PUT " + base + "/seats":     {"section": "pit", "seats": 1},
			"PUT  " + base + "/seats":    {"section": "pit", "seats": 3, "idempotencyKey": "done"},
			"POST " + base + "/transfer": {"holder": "b"},
		} {
			method, path, _ := strings.Cut(path, " ")
			t.Run(fmt.Sprint(name, " ", method, " ", body), func(t *testing.T) {
				s := s.in(t)
				s.want(s.call(method, "/api/events/"+wrong+strings.TrimSpace(path), body), 404, "BOOKING_NOT_FOUND")
			})
		}
	}
	if after := s.saleState(event); after != before {
		t.Errorf("there is\n%s, before\n%s", after, before)
	}
}
