package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// transfer gives a booking to another customer.
func (s *site) transfer(booking string, to fields, headers ...string) answer {
	s.t.Helper()
	return s.call("POST", "/api/bookings/"+booking+"/transfer", to, headers...)
}

// A booking goes from users and holders to users and holders; the previous lock keeps its key.
func TestTransfers_BetweenUsersAndHolders(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	ada, twin := s.user(), s.userWithIDOf("bob")
	customers := []fields{{"userId": ada}, {"holder": "bob"}, {"userId": twin}, {"holder": cart}}
	for n, from := range customers {
		for m, to := range customers {
			name := fmt.Sprint(from, " to ", to)
			key := fmt.Sprint("key ", n, m)
			sale := with(from, fields{
				"seatIds": []string{"A-1-1", "A-2-1"}, "reference": "ref", "metadata": fields{"a": "1"}, "idempotencyKey": key,
				"paymentReference": key, "amount": 100,
			})
			b := s.sellAtOnce(event, sale)
			id, lock := b.text("id"), b.text("lockId")
			path := "/api/bookings/" + id + "/transfer"
			if m%2 == 1 {
				path = "/api/events/" + event + path[len("/api"):]
			}
			moved := s.want(s.call("POST", path, to), 200, "")
			s.wantCustomer(moved, to)
			s.wantOrder(moved, order("ref", fields{"a": "1"}))
			p := s.want(s.call("GET", "/api/payments/"+paymentOf(key), nil), 200, "")
			s.wantCustomer(p, from) // who paid
			if p.text("bookingId") != id || moved.seatsOf() != "A-1-1 A-2-1" || listed(moved) != "ACCEPTED 100" {
				t.Errorf("%s: %s, %s", name, moved.raw, p.raw)
			}
			if isSame := n == m; isSame != (moved.raw == b.raw) || isSame != (moved.text("lockId") == lock) {
				t.Errorf("%s: %s, was %s", name, moved.raw, b.raw)
			}
			if now := s.wantAgreement(id, "CONSUMED"); now.raw != moved.raw {
				t.Errorf("%s: %s, is %s", name, moved.raw, now.raw)
			}
			next := s.want(s.call("GET", "/api/locks/"+moved.text("lockId"), nil), 200, "")
			s.wantCustomer(next, to)
			s.wantOrder(next, order("ref", fields{"a": "1"}))
			previous := s.want(s.call("GET", "/api/locks/"+lock, nil), 200, "")
			if status := map[bool]string{true: "CONSUMED", false: "RELEASED"}[n == m]; previous.text("status") != status ||
				previous.text("bookingId") != id || previous.text("idempotencyKey") != key || n != m && next.body["idempotencyKey"] != nil {
				t.Errorf("%s: the previous lock is %s, the next one %s", name, previous.raw, next.raw)
			}
			s.wantCustomer(previous, from)
			s.checkInvariants()
			// The sale asked for again is still that booking, although it is another customer's.
			again := s.want(s.call("POST", "/api/events/"+event+"/sales", sale), 201, "")
			if again.raw != moved.raw || again.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s: the sale again: %s", name, again.raw)
			}
			s.want(s.call("POST", "/api/bookings/"+id+"/cancel", nil), 200, "")
			s.wantTaken(event, "")
		}
	}
	s.checkInvariants()
}

// wantCustomer fails unless an answer names this user, or this holder.
func (s *site) wantCustomer(a answer, want fields) {
	s.t.Helper()
	for _, field := range []string{"userId", "holder"} {
		if a.body[field] != want[field] {
			s.t.Errorf("%s is %v, want %v: %s", field, a.body[field], want[field], a.raw)
		}
	}
}

// The key of the lock from which a booking was made finds that lock, whatever became of the booking.
func TestTransfers_TheKeyOfThePreviousLockFindsIt(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.event(10)
	wanted := fields{"eventId": event, "holder": "a", "seats": 2, "idempotencyKey": "k"}
	lock := s.want(s.call("POST", "/api/locks", wanted), 201, "").text("id")
	book := fields{"eventId": event, "holder": "a", "lockId": lock, "paymentTtlSeconds": 60}
	booking := s.want(s.call("POST", "/api/bookings", book), 201, "").text("id")
	s.want(s.confirm(booking, fields{"paymentReference": "p"}), 200, "")
	moved := s.want(s.transfer(booking, fields{"holder": "b"}), 200, "")
	again := s.want(s.call("POST", "/api/locks", wanted), 201, "")
	if again.text("id") != lock || again.text("status") != "RELEASED" || again.header.Get("Idempotent-Replayed") != "true" ||
		moved.text("lockId") == lock {
		t.Errorf("%s after %s", again.raw, moved.raw)
	}
	s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "") // it is RELEASED already
	s.want(s.call("DELETE", "/api/locks/"+moved.text("lockId"), nil), 409, "LOCK_CONSUMED")
	s.want(s.call("POST", "/api/bookings", book), 409, "LOCK_RELEASED")
	if e := s.call("GET", "/api/events/"+event, nil); e.text("availableSeats") != "8" {
		t.Errorf("%s", e.raw)
	}
	s.wantPayments("eventId="+event, "p ACCEPTED")
	s.checkInvariants()
}

func TestTransfers_AreRefusedInOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.lateEvent(10, fields{"maxSeatsPerUser": 3})
	booking := s.sellAtOnce(event, fields{"holder": "a", "seats": 2}).text("id")
	s.sellAtOnce(event, fields{"holder": "full", "seats": 2})
	none := mongodb.NewID().String()
	s.want(s.transfer(none, fields{"userId": none}), 404, "BOOKING_NOT_FOUND")
	before := s.saleStateOfUnseated(event)
	s.want(s.transfer(booking, fields{"userId": none}), 404, "USER_NOT_FOUND")
	s.want(s.transfer(booking, fields{"holder": "full"}), 409, "SEAT_LIMIT_REACHED")
	if after := s.saleStateOfUnseated(event); after != before {
		t.Errorf("refused transfers left\n%s, before\n%s", after, before)
	}
	s.want(s.call("PATCH", "/api/events/"+event, fields{"status": "CLOSED"}), 200, "")
	s.want(s.transfer(booking, fields{"userId": user}), 200, "") // the sale does not matter
	s.want(s.call("PATCH", "/api/events/"+event, fields{"saleEndsAt": "2020-01-01T00:00:00Z"}), 200, "")
	s.want(s.transfer(booking, fields{"holder": "a"}), 200, "")
	s.want(s.call("PATCH", "/api/events/"+event, fields{"status": "CANCELLED"}), 200, "")
	s.want(s.transfer(booking, fields{"holder": "full"}), 409, "EVENT_NOT_ON_SALE")
	s.want(s.transfer(booking, fields{"holder": "a"}), 200, "") // it is theirs
	s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
	s.want(s.transfer(booking, fields{"holder": "a"}), 409, "BOOKING_CANCELLED")
	s.checkInvariants()
}

// saleStateOfUnseated is saleState for an event without a seating plan.
func (s *site) saleStateOfUnseated(event string) string {
	s.t.Helper()
	var state strings.Builder
	for _, path := range []string{"/api/events/" + event, "/api/locks?eventId=" + event, "/api/bookings?eventId=" + event} {
		state.WriteString(fences.ReplaceAllString(s.want(s.call("GET", path, nil), 200, "").raw, ""))
	}
	return state.String() + fmt.Sprint(s.paymentsOf("eventId="+event))
}
