package httpapi_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

func TestSalesAtOnce_EachForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event, hall := s.user(), s.seatedEvent(nil), s.event(10)
	for _, c := range []struct {
		name, event  string
		wish         fields
		seats, count string
	}{
		{"named", event, fields{"seatIds": []string{"A-2-2", "A-1-1"}, "holder": cart}, "A-1-1 A-2-2", "2"},
		{"accessible", event, fields{"seatIds": []string{"A-1-6"}, "accessibleSeats": 1, "userId": user}, "A-1-6", "1"},
		{"best available", event, fields{"bestAvailable": fields{"seats": 1, "accessibleSeats": 0, "section": "A"}, "userId": user}, "", "1"},
		{"standing", event, fields{"section": "pit", "seats": 3, "holder": cart}, "<nil>", "3"},
		{"unseated", hall, fields{"seats": 4, "userId": user}, "", "4"},
	} {
		name := c.name
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			charge := fields{"paymentReference": name, "paymentPart": "a", "provider": "acme", "amount": 100, "currency": "EUR"}
			request := with(with(c.wish, charge), with(order("ref", fields{"b": "2"}), fields{"idempotencyKey": name}))
			sold := s.want(s.call("POST", "/api/events/"+c.event+"/sales", request), 201, "")
			id := sold.text("id")
			if sold.header.Get("Location") != "/api/bookings/"+id || sold.header.Get("Idempotent-Replayed") != "" ||
				sold.text("status") != "CONFIRMED" || sold.text("seats") != c.count || c.seats != "" && sold.seatsOf() != c.seats ||
				sold.text("paymentReference") != name || listed(sold) != "ACCEPTED 100" || sold.text("paymentExpiresAt") != sold.text("createdAt") {
				t.Errorf("sold %s at %s", sold.raw, sold.header.Get("Location"))
			}
			s.wantOrder(sold, order("ref", fields{"b": "2"}))
			if now := s.wantAgreement(id, "CONSUMED"); now.raw != sold.raw {
				t.Errorf("sold %s, is %s", sold.raw, now.raw)
			}
			lock := s.want(s.call("GET", "/api/locks/"+sold.text("lockId"), nil), 200, "")
			if lock.text("idempotencyKey") != name || lock.text("expiresAt") != sold.text("createdAt") {
				t.Errorf("its lock is %s", lock.raw)
			}
			again := s.want(s.call("POST", "/api/events/"+c.event+"/sales", request), 201, "")
			if again.raw != sold.raw || again.header.Get("Idempotent-Replayed") != "true" || again.header.Get("Location") != "/api/bookings/"+id {
				t.Errorf("again: %s", again.raw)
			}
		})
	}
	s.checkInvariants()
}

// Neither CLOSED nor the times of the sale keep a counter from selling, but caps and CANCELLED do.
func TestSalesAtOnce_RulesOfTheEvent(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.lateEvent(10, fields{"maxSeatsPerUser": 3, "saleStartsAt": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	wish := func(n int, reference string) fields {
		return fields{"holder": "a", "seats": n, "paymentReference": reference}
	}
	s.want(s.call("POST", "/api/locks", fields{"eventId": event, "holder": "a", "seats": 1}), 409, "SALE_NOT_OPEN")
	s.sellAtOnce(event, wish(1, "before"))
	past := fields{"saleStartsAt": nil, "saleEndsAt": "2020-01-01T00:00:00Z", "status": "CLOSED"}
	s.want(s.call("PATCH", "/api/events/"+event, past), 200, "")
	s.sellAtOnce(event, wish(1, "after"))
	path := "/api/events/" + event + "/sales"
	before := s.saleStateOfUnseated(event)
	s.want(s.call("POST", path, wish(2, "limit")), 409, "SEAT_LIMIT_REACHED")
	s.want(s.call("POST", path, fields{"holder": "b", "seats": 1, "paymentReference": "after"}), 409, "PAYMENT_REFERENCE_USED")
	s.want(s.call("POST", path, fields{"userId": mongodb.NewID().String(), "seats": 1}), 404, "USER_NOT_FOUND")
	s.want(s.call("POST", "/api/events/"+mongodb.NewID().String()+"/sales", wish(1, "p")), 404, "EVENT_NOT_FOUND")
	s.want(s.call("POST", path, fields{"holder": "b", "seatIds": []string{"A-1-1"}}), 422, "VALIDATION_FAILED")
	for n := range 4 {
		s.sellAtOnce(event, fields{"holder": fmt.Sprint("guest ", n), "seats": 2})
	}
	refused := s.want(s.call("POST", path, fields{"holder": "late", "seats": 1, "paymentReference": "gone"}), 409, "SEATS_UNAVAILABLE")
	if refused.text("available") != "0" || refused.text("requested") != "1" || refused.body["payment"] != nil {
		t.Errorf("%s", refused.raw)
	}
	s.wantPayments("eventId="+event, "before ACCEPTED", "after ACCEPTED")
	s.want(s.call("PATCH", "/api/events/"+event, fields{"status": "CANCELLED"}), 200, "")
	s.want(s.call("POST", path, wish(1, "p")), 409, "EVENT_NOT_ON_SALE")
	if after := s.saleStateOfUnseated(event); len(after) <= len(before) {
		t.Errorf("%s, before %s", after, before)
	}
	s.want(s.call("GET", "/api/payments/"+paymentOf("gone"), nil), 404, "PAYMENT_NOT_FOUND")
	s.checkInvariants()
}

// A reference that was refused stays refused, and no lock is the sale that has its key.
func TestSalesAtOnce_UseNeitherReferencesNorKeysTwice(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(10)
	_, late := s.book(event, s.user(), fields{"seats": 1}, endedAgo(time.Minute))
	s.want(s.confirm(late, fields{"paymentReference": "refused"}), 410, "BOOKING_EXPIRED")
	path := "/api/events/" + event + "/sales"
	wish := fields{"holder": "a", "seats": 1}
	s.want(s.call("POST", path, with(wish, fields{"paymentReference": "refused"})), 409, "PAYMENT_REFERENCE_USED")
	lock := with(wish, fields{"eventId": event, "idempotencyKey": "lock"})
	s.want(s.call("POST", "/api/locks", lock), 201, "")
	s.want(s.call("POST", path, with(wish, fields{"idempotencyKey": "lock"})), 422, "IDEMPOTENCY_KEY_REUSED")
	sale := with(wish, fields{"idempotencyKey": "sale", "paymentReference": "p", "amount": 1})
	sold := s.want(s.call("POST", path, sale), 201, "")
	for name, other := range map[string]fields{
		"another charge": {"paymentReference": "p2"}, "no charge": {"paymentReference": nil, "amount": nil}, "another amount": {"amount": 2},
		"another part": {"paymentPart": "a"}, "more seats": {"seats": 2}, "a reference": {"reference": "r"},
	} {
		if a := s.call("POST", path, with(sale, other)); a.status != 422 || a.text("code") != "IDEMPOTENCY_KEY_REUSED" {
			t.Errorf("%s: %d %s", name, a.status, a.raw)
		}
	}
	s.want(s.call("POST", "/api/locks", with(wish, fields{"eventId": event, "idempotencyKey": "sale"})), 422, "IDEMPOTENCY_KEY_REUSED")
	s.want(s.call("POST", "/api/bookings/"+sold.text("id")+"/cancel", nil), 200, "")
	again := s.want(s.call("POST", path, sale), 201, "")
	if again.text("id") != sold.text("id") || again.text("status") != "CANCELLED" {
		t.Errorf("the sale again, after it was cancelled: %s", again.raw)
	}
	other := s.sellAtOnce(event, with(sale, fields{"holder": "b", "paymentReference": "p3"})) // keys are per customer
	if other.text("id") == sold.text("id") {
		t.Errorf("%s", other.raw)
	}
	s.wantPayments("eventId="+event, "refused REFUND_DUE late", "p REFUND_DUE booking_cancelled", "p3 ACCEPTED")
	s.checkInvariants()
}
