package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// changeSeats asks for other seats of a booking.
func (s *site) changeSeats(booking string, wish fields, headers ...string) answer {
	s.t.Helper()
	return s.call("PUT", "/api/bookings/"+booking+"/seats", wish, headers...)
}

// wantAgreement fails unless a booking and its lock have the same seats; lockStatus is that of the lock.
func (s *site) wantAgreement(booking, lockStatus string) answer {
	s.t.Helper()
	b := s.want(s.call("GET", "/api/bookings/"+booking, nil), 200, "")
	lock := s.want(s.call("GET", "/api/locks/"+b.text("lockId"), nil), 200, "")
	if lock.text("seats") != b.text("seats") || fmt.Sprint(lock.body["places"]) != fmt.Sprint(b.body["places"]) ||
		lock.text("status") != lockStatus || lock.text("bookingId") != booking {
		s.t.Errorf("the booking is %s, and its lock %s", b.raw, lock.raw)
	}
	return b
}

// listed are the payments of a booking as "status amount".
func listed(b answer) string {
	var texts []string
	list, _ := b.body["payments"].([]any)
	for _, p := range list {
		texts = append(texts, fmt.Sprint(p.(map[string]any)["status"], " ", p.(map[string]any)["amount"]))
	}
	return strings.Join(texts, ", ")
}

// A sold booking, and open ones, get each form of a wish, by both paths.
func TestBookingChanges_TakeEachForm(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	_, initiated := s.book(event, user, fields{"seatIds": []string{"A-1-1"}}, fields{"paymentTtlSeconds": nil})
	_, pending := s.book(event, user, fields{"seatIds": []string{"A-1-2"}}, nil)
	confirmed := s.sellAtOnce(event, fields{"holder": cart, "seatIds": []string{"A-1-3"}, "paymentReference": "p", "amount": 100}).text("id")
	for booking, lock := range map[string]string{initiated: "ACTIVE", pending: "ACTIVE", confirmed: "CONSUMED"} {
		before := s.want(s.call("GET", "/api/bookings/"+booking, nil), 200, "")
		for n, c := range []struct {
			wish  fields
			seats string // of the booking; "" for the pit
			count string
		}{
			{fields{"section": "pit", "seats": 3}, "<nil>", "3"},
			{fields{"section": "pit", "seats": 1}, "<nil>", "1"},
			{fields{"seatIds": []string{"A-2-3", "A-2-2", "A-1-6"}, "accessibleSeats": 1}, "A-1-6 A-2-2 A-2-3", "3"},
			{fields{"seatIds": []string{"A-2-3", "A-2-4"}}, "A-2-3 A-2-4", "2"},
			{fields{"bestAvailable": fields{"seats": 2, "categories": []string{"seats"}, "section": "A"}}, "A-2-3 A-2-4", "2"},
			{fields{"seatIds": []string{"A-2-3"}}, "A-2-3", "1"},
		} {
			path := "/api/bookings/" + booking + "/seats"
			if n%2 == 1 {
				path = "/api/events/" + event + path[len("/api"):]
			}
			changed := s.want(s.call("PUT", path, c.wish), 200, "")
			now := s.wantAgreement(booking, lock)
			if now.raw != changed.raw || changed.seatsOf() != c.seats || changed.text("seats") != c.count ||
				changed.text("status") != before.text("status") || changed.text("lockId") != before.text("lockId") ||
				changed.text("paymentExpiresAt") != before.text("paymentExpiresAt") || changed.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("%v of %s: %s, was %s, is %s", c.wish, lock, changed.raw, before.raw, now.raw)
			}
			s.checkInvariants()
		}
		s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
	}
	s.wantTaken(event, "")
	hall := s.event(10)
	unseated := s.sellAtOnce(hall, fields{"holder": cart, "seats": 4}).text("id")
	for _, n := range []int{1, 10, 10, 3} {
		if changed := s.want(s.changeSeats(unseated, fields{"seats": n}), 200, ""); changed.text("seats") != fmt.Sprint(n) {
			t.Errorf("%d seats: %s", n, changed.raw)
		}
		s.wantAgreement(unseated, "CONSUMED")
	}
	if e := s.call("GET", "/api/events/"+hall, nil); e.text("availableSeats") != "7" {
		t.Errorf("%s", e.raw)
	}
	s.checkInvariants()
}

// Money moves with the seats, or neither does.
func TestBookingChanges_MoveMoneyWithTheSeats(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	booking := s.sellAtOnce(event, fields{
		"holder": cart, "seatIds": []string{"A-1-1", "A-1-2"}, "paymentReference": "p", "amount": 200, "currency": "EUR",
	}).text("id")
	fewer := fields{"seatIds": []string{"A-1-1"}, "refund": fields{"amount": 100}}
	for range 2 { // the second is a repeat, because the booking has the seats: no second refund
		if b := s.want(s.changeSeats(booking, fewer), 200, ""); b.seatsOf() != "A-1-1" || listed(b) != "ACCEPTED 200" {
			t.Errorf("fewer: %s", b.raw)
		}
	}
	p := s.want(s.call("GET", "/api/payments/"+paymentOf("p"), nil), 200, "")
	refunds := p.body["refunds"].([]any)
	part := refunds[0].(map[string]any)
	if len(refunds) != 1 || p.text("status") != "ACCEPTED" || p.text("amountDue") != "100" || part["reason"] != "seats_changed" ||
		part["status"] != "DUE" || part["amount"] != 100.0 {
		t.Errorf("the payment is %s", p.raw)
	}
	more := fields{"seatIds": []string{"A-1-1", "A-1-3"}, "payment": fields{"paymentReference": "p2", "amount": 150, "provider": "acme"}}
	for range 2 {
		if b := s.want(s.changeSeats(booking, more), 200, ""); b.seatsOf() != "A-1-1 A-1-3" || listed(b) != "ACCEPTED 200, ACCEPTED 150" ||
			b.text("paymentReference") != "p" {
			t.Errorf("more: %s", b.raw)
		}
	}
	other := with(more, fields{"payment": fields{"paymentReference": "p3"}})
	if a := s.want(s.changeSeats(booking, other), 422, "VALIDATION_FAILED"); !strings.Contains(a.raw, `"body.payment"`) {
		t.Errorf("another payment for the same seats: %s", a.raw)
	}
	for _, reference := range []string{"p", "p2"} { // any of them is a repeat of the confirmation
		charge := fields{"paymentReference": reference}
		if reference == "p2" {
			charge["provider"] = "acme"
		}
		s.want(s.confirm(booking, charge), 200, "")
	}
	taken := fields{"seatIds": []string{"A-1-1", "A-1-4"}, "payment": fields{"paymentReference": "p3"}, "refund": fields{"amount": 1}}
	s.want(s.lockSeats(event, s.user(), fields{"seatIds": []string{"A-1-4"}}), 201, "")
	before := s.saleState(event)
	refused := s.want(s.changeSeats(booking, taken), 409, "SEATS_UNAVAILABLE")
	if fmt.Sprint(refused.body["unavailable"]) != "[A-1-4]" || refused.text("requested") != "2" || refused.body["payment"] != nil {
		t.Errorf("a taken seat: %s", refused.raw)
	}
	if after := s.saleState(event); after != before {
		t.Errorf("a refused change left\n%s, before\n%s", after, before)
	}
	s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
	s.wantPayments("refundDue=true", "p REFUND_DUE booking_cancelled", "p2 REFUND_DUE booking_cancelled")
	s.checkInvariants()
}

// The first of several mistakes is the one that is told.
func TestBookingChanges_OrderOfChecks(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(fields{"maxSeatsPerUser": 3})
	sale := fields{"holder": "a", "seatIds": []string{"A-1-1", "A-1-2"}, "paymentReference": "p", "amount": 200}
	booking := s.sellAtOnce(event, sale).text("id")
	s.sellAtOnce(event, fields{"holder": "b", "seatIds": []string{"A-2-1"}, "paymentReference": "used", "amount": 200})
	s.want(s.call("PATCH", "/api/events/"+event, fields{"status": "CLOSED"}), 200, "")
	// The wish is invalid, above the cap, more than before in a closed event, and names a taken seat and one that does not exist.
	seats := []string{"A-1-1", "A-2-1", "A-2-2", "none"}
	request := func(more fields) fields { return with(fields{"seatIds": seats}, more) }
	used, fresh := fields{"paymentReference": "used"}, fields{"paymentReference": "new"}
	check := func(name string, body fields, status int, code string) {
		t.Helper()
		before := s.saleState(event)
		if a := s.changeSeats(booking, body); a.status != status || a.text("code") != code {
			t.Errorf("%s: got %d %s, want %d %s", name, a.status, a.raw, status, code)
		}
		if after := s.saleState(event); after != before {
			t.Errorf("%s left\n%s, before\n%s", name, after, before)
		}
	}
	const invalid = "VALIDATION_FAILED"
	none := mongodb.NewID().String()
	s.want(s.changeSeats(none, request(fields{"x": 1})), 422, invalid)
	s.want(s.changeSeats(none, request(fields{"payment": used})), 404, "BOOKING_NOT_FOUND")
	check("payment", request(fields{"payment": used, "refund": fields{"amount": 1000}}), 409, "PAYMENT_REFERENCE_USED")
	check("own payment", request(fields{"payment": fields{"paymentReference": "p"}}), 409, "PAYMENT_REFERENCE_USED")
	check("refund", request(fields{"payment": fresh, "refund": fields{"amount": 1000}}), 422, invalid)
	check("caps", request(fields{"payment": fresh, "refund": fields{"amount": 1}}), 409, "SEAT_LIMIT_REACHED")
	seats = []string{"A-1-1", "A-2-1", "none"}
	check("event", request(fields{"payment": fresh}), 409, "EVENT_NOT_ON_SALE")
	seats = []string{"A-2-1", "none"}
	check("form", request(fields{"payment": fresh}), 422, invalid)
	seats = []string{"A-1-1", "A-2-1"}
	check("seats", request(fields{"payment": fresh}), 409, "SEATS_UNAVAILABLE")
	s.want(s.call("PATCH", "/api/events/"+event, fields{"status": "CANCELLED"}), 200, "")
	check("cancelled event", request(fields{"payment": fresh}), 409, "EVENT_NOT_ON_SALE")
	seats = []string{"A-1-2", "A-1-1"}
	s.want(s.changeSeats(booking, request(nil)), 200, "") // a repeat
	s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
	check("ended", request(fields{"payment": used}), 409, "BOOKING_CANCELLED")
}

// Of an open booking no money moves, and one that is due has ended.
func TestBookingChanges_OfOpenBookings(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(10)
	lock, booking := s.book(event, user, fields{"seats": 2}, nil)
	s.want(s.changeSeats(booking, fields{"seats": 1, "payment": fields{"paymentReference": "p"}}), 409, "BOOKING_NOT_PAYABLE")
	refund := s.want(s.changeSeats(booking, fields{"seats": 1, "refund": fields{"amount": 1}}), 422, "VALIDATION_FAILED")
	if !strings.Contains(refund.raw, `"body.refund"`) {
		t.Errorf("%s", refund.raw)
	}
	if b := s.wantAgreement(booking, "ACTIVE"); b.text("seats") != "2" {
		t.Errorf("%s", b.raw)
	}
	s.want(s.changeSeats(booking, fields{"seats": 3}), 200, "")
	s.want(s.call("POST", "/api/bookings/"+booking+"/transfer", fields{"holder": "b"}), 409, "BOOKING_NOT_PAYABLE")
	if b := s.want(s.confirm(booking, fields{"paymentReference": "p"}), 200, ""); b.text("seats") != "3" || b.text("lockId") != lock {
		t.Errorf("%s", b.raw)
	}
	_, due := s.book(event, user, fields{"seats": 1}, endedAgo(time.Minute))
	s.want(s.changeSeats(due, fields{"seats": 2}), 410, "BOOKING_EXPIRED")
	s.want(s.call("POST", "/api/bookings/"+due+"/transfer", fields{"holder": "b"}), 410, "BOOKING_EXPIRED")
	s.w.SweepBookings()
	s.want(s.changeSeats(due, fields{"seats": 2}), 410, "BOOKING_EXPIRED")
	s.want(s.call("POST", "/api/bookings/"+due+"/transfer", fields{"holder": "b"}), 410, "BOOKING_EXPIRED")
	s.checkInvariants()
}

// With a key, a late repeat does not undo what was changed since.
func TestBookingChanges_ALateRepeatUndoesNothing(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	sale := fields{"holder": "a", "seatIds": []string{"A-1-1", "A-1-2"}, "paymentReference": "p", "amount": 200}
	booking := s.sellAtOnce(event, sale).text("id")
	first := fields{"seatIds": []string{"A-1-1"}, "refund": fields{"amount": 100}, "idempotencyKey": "first"}
	s.want(s.changeSeats(booking, first), 200, "")
	s.want(s.changeSeats(booking, fields{"seatIds": []string{"A-2-1"}, "idempotencyKey": "second"}), 200, "")
	moved := s.want(s.call("POST", "/api/bookings/"+booking+"/transfer", fields{"holder": "b", "idempotencyKey": "third"}), 200, "")
	back := s.want(s.call("POST", "/api/bookings/"+booking+"/transfer", fields{"holder": "a"}), 200, "")
	for path, body := range map[string]fields{
		"PUT /seats": first, "PUT  /seats": {"seatIds": []string{"A-2-1"}, "idempotencyKey": "second"},
		"POST /transfer": {"holder": "b", "idempotencyKey": "third"},
	} {
		method, action, _ := strings.Cut(path, " ")
		again := s.want(s.call(method, "/api/bookings/"+booking+strings.TrimSpace(action), body), 200, "")
		if again.raw != back.raw || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s again: %s, not %s", path, again.raw, back.raw)
		}
	}
	s.want(s.changeSeats(booking, fields{"seatIds": []string{"A-2-1"}, "idempotencyKey": "third"}), 422, "IDEMPOTENCY_KEY_REUSED")
	if moved.text("holder") != "b" || back.text("holder") != "a" || back.seatsOf() != "A-2-1" {
		t.Errorf("%s, then %s", moved.raw, back.raw)
	}
	if p := s.call("GET", "/api/payments/"+paymentOf("p"), nil); len(p.body["refunds"].([]any)) != 1 {
		t.Errorf("%s", p.raw)
	}
	s.wantTaken(event, "A-2-1")
	s.checkInvariants()
}

// The map and both streams show the seats that came back, and those that were taken.
func TestBookingChanges_AreOnTheMapAndTheStreams(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(nil)
	availability, view := s.listen(event, ""), s.view(event, "?section=A&section=pit", "")
	step := func(a answer, seats string, pit int64) {
		t.Helper()
		if a.status/100 != 2 {
			t.Fatalf("%s", a.raw)
		}
		view.waitFor(seats, pit)
		s.wantTaken(event, seats)
		available := fmt.Sprintf(`"availableSeats":%d,`, 12-len(strings.Fields(seats))+int(pit))
		for m := availability.next(); !strings.Contains(m.data, available); m = availability.next() {
		}
	}
	booking := s.sellAtOnce(event, fields{"holder": "a", "seatIds": []string{"A-1-1", "A-1-2", "A-1-3"}})
	step(booking, "A-1-1 A-1-2 A-1-3", 10)
	id := booking.text("id")
	step(s.changeSeats(id, fields{"seatIds": []string{"A-1-2"}}), "A-1-2", 10)
	step(s.changeSeats(id, fields{"seatIds": []string{"A-2-2", "A-2-1"}}), "A-2-1 A-2-2", 10)
	step(s.changeSeats(id, fields{"section": "pit", "seats": 4}), "", 6)
	step(s.changeSeats(id, fields{"seatIds": []string{"A-2-6"}}), "A-2-6", 10)
	s.want(s.call("POST", "/api/bookings/"+id+"/transfer", fields{"holder": "b"}), 200, "")
	s.wantTaken(event, "A-2-6")
	s.want(s.lockSeats(event, s.user(), fields{"seatIds": []string{"A-1-1", "A-1-3"}}), 201, "")
	view.waitFor("A-1-1 A-1-3 A-2-6", 10)
	seat := s.want(s.call("GET", "/api/events/"+event+"/seats/A-2-6", nil), 200, "")
	if lock := s.wantAgreement(id, "CONSUMED").text("lockId"); seat.text("state") != "SOLD" || seat.text("bookingId") != id ||
		seat.text("lockId") != lock {
		t.Errorf("%s", seat.raw)
	}
	s.checkInvariants()
}
