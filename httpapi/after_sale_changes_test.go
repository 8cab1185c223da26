package httpapi_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"

	"github.com/holdfast-dev/holdfast/httpapi"
	"github.com/holdfast-dev/holdfast/internal/changes"
)

// step carries out a request, and returns its changes since a token, by their types, and the next token.
func (s *site) step(since string, a answer, want ...string) (found map[string]fields, next string) {
	s.t.Helper()
	if a.status/100 != 2 {
		s.t.Fatalf("%s", a.raw)
	}
	items, next := s.changes("pageSize=500&pageToken=" + since)
	if got := typesOf(items); !slices.Equal(got, want) {
		s.t.Fatalf("told %v, want %v", got, want)
	}
	found = map[string]fields{}
	for _, c := range items {
		if c["requestid"] != a.header.Get("X-Request-Id") {
			s.t.Errorf("another request: %v", c)
		}
		name := strings.TrimPrefix(fmt.Sprint(c["type"]), "holdfast.")
		found[name] = c["data"].(map[string]any)
	}
	return found, next
}

// wantPrevious compares what a booking had before its change: seats and their IDs, the user and the holder.
func (s *site) wantPrevious(booking fields, seats string, user, holder any) {
	s.t.Helper()
	previous, _ := booking["previous"].(map[string]any)
	ids := answer{body: previous}.seatsOf()
	if previous == nil || ids != seats || previous["seats"] != float64(len(strings.Fields(seats))) || previous["userId"] != user ||
		previous["holder"] != holder {
		s.t.Errorf("before the change there was %v, want %q of %v %v", previous, seats, user, holder)
	}
	for _, p := range previous["places"].([]any) {
		if place := p.(map[string]any); place["section"] != "A" || place["category"] != "seats" || place["row"] == nil {
			s.t.Errorf("the place %v", place)
		}
	}
}

// Each change tells what the booking has, and what it had, and with it what became of the locks and the payments.
func TestAfterSale_ChangesTellWhatWasBefore(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	_, next := s.changes("")
	sale := fields{"holder": "a", "seatIds": []string{"A-1-1", "A-2-1"}, "paymentReference": "p", "amount": 200}
	sold := s.sellAtOnce(event, sale)
	id := sold.text("id")
	told, next := s.step(next, sold, "lock.created", "booking.confirmed", "payment.accepted")
	lock := told["lock.created"]
	if lock["status"] != "CONSUMED" || lock["bookingId"] != id || told["booking.confirmed"]["previous"] != nil {
		t.Errorf("told %v", told)
	}
	change := fields{
		"seatIds": []string{"A-1-1", "A-1-2"}, "payment": fields{"paymentReference": "p2", "amount": 10}, "refund": fields{"amount": 50},
	}
	a := s.changeSeats(id, change)
	told, next = s.step(next, a, "lock.changed", "booking.changed", "payment.refund_due", "payment.accepted")
	booking := told["booking.changed"]
	s.wantPrevious(booking, "A-1-1 A-2-1", nil, "a")
	delete(booking, "previous")
	if fmt.Sprint(booking) != fmt.Sprint(a.body) || booking["holder"] != "a" {
		t.Errorf("told %v, answered %s", booking, a.raw)
	}
	if due := told["payment.refund_due"]; due["status"] != "ACCEPTED" || due["amountDue"] != 50.0 || due["reference"] != "p" {
		t.Errorf("told %v", due)
	}
	part := told["payment.refund_due"]["refunds"].([]any)[0].(map[string]any)["id"].(string)
	_, next = s.step(next, s.changeSeats(id, change)) // a repeat

	a = s.transfer(id, fields{"userId": user, "idempotencyKey": "k"})
	told, next = s.step(next, a, "lock.released", "lock.created", "booking.transferred")
	booking = told["booking.transferred"]
	s.wantPrevious(booking, "A-1-1 A-1-2", nil, "a")
	if booking["userId"] != user || booking["holder"] != nil || told["lock.released"]["holder"] != "a" ||
		told["lock.created"]["id"] != booking["lockId"] || told["lock.created"]["status"] != "CONSUMED" {
		t.Errorf("told %v", told)
	}
	_, next = s.step(next, s.transfer(id, fields{"userId": user, "idempotencyKey": "k"}))
	a = s.transfer(id, fields{"holder": "c"})
	told, next = s.step(next, a, "lock.released", "lock.created", "booking.transferred")
	s.wantPrevious(told["booking.transferred"], "A-1-1 A-1-2", user, nil)

	path := "/api/payments/" + paymentOf("p")
	told, next = s.step(next, s.call("POST", path+"/refunds", fields{"amount": 5, "idempotencyKey": "k"}), "payment.refund_due")
	if due := told["payment.refund_due"]; due["amountDue"] != 55.0 || strings.Contains(fmt.Sprint(due), "dempotency") {
		t.Errorf("told %v", due)
	}
	_, next = s.step(next, s.call("POST", path+"/refunds", fields{"amount": 5, "idempotencyKey": "k"}))
	told, next = s.step(next, s.call("POST", path+"/refunds/"+part+"/refunded", fields{"refundReference": "r"}), "payment.refunded")
	if noted := told["payment.refunded"]; noted["status"] != "ACCEPTED" || noted["amountDue"] != 5.0 || noted["refundReference"] != nil {
		t.Errorf("told %v", noted)
	}
	_, next = s.step(next, s.call("POST", path+"/refunds/"+part+"/refunded", fields{"refundReference": "r"}))
	patched := s.call("PATCH", "/api/bookings/"+id, fields{"reference": "r"})
	if told, _ = s.step(next, patched, "booking.changed"); told["booking.changed"]["previous"] != nil {
		t.Errorf("told %v", told)
	}
	s.wantDelivered(t, event)
}

// wantDelivered fails unless webhooks get the bytes that GET /api/changes lists, as valid CloudEvents.
func (s *site) wantDelivered(t *testing.T, event string) {
	t.Helper()
	s.number()
	raw := s.want(s.call("GET", "/api/changes?pageSize=500&eventId="+event, nil), 200, "").raw
	encode := httpapi.NewChangeEncoder(httpapi.Services{Seats: s.w.Seats, Plans: s.w.Plans, Changes: s.w.Changes, Log: slog.New(s.w.Log)})
	list, _, err := s.w.Changes.List(t.Context(), nil, changes.Filter{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	withPrevious := 0
	for _, c := range list {
		body, err := encode(t.Context(), c)
		if err != nil || !c.EventID.IsZero() && !strings.Contains(raw, string(body)) {
			t.Errorf("%s is not listed: %v", body, err)
		}
		var e cloudevents.Event
		if err := e.UnmarshalJSON(body); err != nil {
			t.Fatal(err)
		}
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		if strings.Contains(string(body), `"previous":{"seats":2,"places":[{"seatId":"A-1-1","section":"A","row":"1"`) {
			withPrevious++
		}
	}
	if withPrevious != 3 {
		t.Errorf("%d deliveries tell what was before", withPrevious)
	}
}

// An endpoint may ask for the new types alone.
func TestAfterSale_WebhooksMayHaveTheNewTypes(t *testing.T) {
	t.Parallel()
	s := open(t)
	types := []string{"holdfast.booking.changed", "holdfast.booking.transferred", "holdfast.payment.refund_due", "holdfast.payment.refunded"}
	s.want(s.call("POST", "/api/webhooks", fields{"url": hookURL, "types": types}), 201, "")
	for _, name := range types {
		s.want(s.call("GET", "/api/changes?type="+name, nil), 200, "")
	}
}
