package httpapi_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// lateEvent creates an event of a number of seats that accepts late payments.
func (s *site) lateEvent(seats int, settings fields) string {
	s.t.Helper()
	request := fields{"name": "E", "totalSeats": seats, "eventDate": "2026-06-15T10:00:00Z", "latePayments": "ACCEPT"}
	maps.Copy(request, settings)
	return s.want(s.call("POST", "/api/events", request), 201, "").text("id")
}

// book locks seats and books them; window is empty for a window of ten minutes.
func (s *site) book(event, user string, wish, window fields) (lock, booking string) {
	s.t.Helper()
	lock = s.want(s.lockSeats(event, user, wish), 201, "").text("id")
	request := fields{"eventId": event, "userId": user, "lockId": lock, "paymentTtlSeconds": 600}
	if len(window) > 0 {
		delete(request, "paymentTtlSeconds")
	}
	maps.Copy(request, window)
	return lock, s.want(s.call("POST", "/api/bookings", request), 201, "").text("id")
}

// endedAgo is a payment window that has ended.
func endedAgo(d time.Duration) fields {
	return fields{"paymentExpiresAt": time.Now().Add(-d).UTC().Format(time.RFC3339)}
}

func (s *site) confirm(booking string, charge fields) answer {
	s.t.Helper()
	if charge == nil {
		return s.call("POST", "/api/bookings/"+booking+"/confirm", nil)
	}
	return s.call("POST", "/api/bookings/"+booking+"/confirm", charge)
}

// wantRefused fails unless a confirmation was refused, and names its payment, which is stored as it says.
func (s *site) wantRefused(a answer, status int, code, paymentStatus, reason string) (payment string) {
	s.t.Helper()
	s.want(a, status, code)
	told, _ := a.body["payment"].(map[string]any)
	payment = fmt.Sprint(told["id"])
	if told["status"] != paymentStatus || told["reason"] != reason {
		s.t.Errorf("the refusal names the payment %v, want %s %s", told, paymentStatus, reason)
	}
	stored := s.want(s.call("GET", "/api/payments/"+payment, nil), 200, "")
	if stored.text("status") != paymentStatus || stored.text("reason") != reason {
		s.t.Errorf("the payment is %s, want %s %s", stored.raw, paymentStatus, reason)
	}
	return payment
}

// paymentsOf lists payments as "status reason", by a query.
func (s *site) paymentsOf(query string) (list []string) {
	s.t.Helper()
	a := s.want(s.call("GET", "/api/payments?pageSize=500&"+query, nil), 200, "")
	items, _ := a.body["items"].([]any)
	for _, item := range items {
		p := item.(map[string]any)
		reason, _ := p["reason"].(string)
		list = append(list, strings.TrimSpace(fmt.Sprint(p["reference"], " ", p["status"], " ", reason)))
	}
	return list
}

func (s *site) wantPayments(query string, want ...string) {
	s.t.Helper()
	got := s.paymentsOf(query)
	missing := map[string]int{}
	for _, p := range want {
		missing[p]++
	}
	for _, p := range got {
		missing[p]--
	}
	for _, n := range missing {
		if n != 0 {
			s.t.Errorf("?%s lists %q, want %q", query, got, want)
			return
		}
	}
}

// checkInvariants checks what is stored.
func (s *site) checkInvariants() {
	s.t.Helper()
	testenv.CheckInvariants(s.t, s.w.DB.Database)
}

func TestPayments_AreRecordedWithTheConfirmation(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	_, booking := s.book(event, user, fields{"seats": 2}, nil)
	charge := fields{"paymentReference": "ch_1", "provider": "acme", "amount": 4200, "currency": "EUR", "paymentPart": "a"}
	confirmed := s.want(s.confirm(booking, charge), 200, "")
	id := holdfast.Charge{Provider: "acme", Reference: "ch_1", Part: "a"}.PaymentID().String()
	p := s.want(s.call("GET", "/api/payments/"+id, nil), 200, "")
	for field, want := range map[string]string{
		"id": id, "provider": "acme", "reference": "ch_1", "paymentPart": "a", "bookingId": booking, "eventId": event, "userId": user,
		"amount": "4200", "currency": "EUR", "status": "ACCEPTED",
	} {
		if p.text(field) != want {
			t.Errorf("%s is %s, want %s", field, p.text(field), want)
		}
	}
	if p.body["reason"] != nil || p.body["refundReference"] != nil || confirmed.text("status") != "CONFIRMED" ||
		confirmed.text("paymentReference") != "ch_1" || confirmed.body["late"] != nil {
		t.Errorf("%s, %s", p.raw, confirmed.raw)
	}
	for name, again := range map[string]fields{
		"the same": charge, "nothing": nil, "without an amount": {"paymentReference": "ch_1", "provider": "acme", "paymentPart": "a"},
	} {
		if a := s.want(s.confirm(booking, again), 200, ""); a.raw != confirmed.raw {
			t.Errorf("%s: answered %s", name, a.raw)
		}
	}
	for name, other := range map[string]fields{
		"provider": {"provider": "other"}, "no provider": {"provider": nil}, "amount": {"amount": 4201}, "currency": {"currency": "USD"},
	} {
		changed := maps.Clone(charge)
		maps.Copy(changed, other)
		if a := s.want(s.confirm(booking, changed), 422, "VALIDATION_FAILED"); a.body["payment"] != nil {
			t.Errorf("another %s: answered %s", name, a.raw)
		}
	}
	s.wantPayments("", "ch_1 ACCEPTED")
	s.checkInvariants()
}

// One charge may pay for several bookings, by its parts. Without parts it pays for one.
func TestPayments_AReferenceIsOfOneBookingUnlessItHasParts(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	_, first := s.book(event, user, fields{"seats": 1}, nil)
	_, second := s.book(event, user, fields{"seats": 1}, nil)
	s.want(s.confirm(first, fields{"paymentReference": "r"}), 200, "")
	if a := s.want(s.confirm(second, fields{"paymentReference": "r"}), 409, "PAYMENT_REFERENCE_USED"); a.body["payment"] != nil {
		t.Errorf("answered %s", a.raw)
	}
	s.wantPayments("", "r ACCEPTED")
	s.want(s.confirm(second, fields{"paymentReference": "r", "paymentPart": "2"}), 200, "")
	s.wantPayments("reference=r", "r ACCEPTED", "r ACCEPTED")
	s.checkInvariants()
}

// Each refusal of a charge leaves its payment, and a repeat gets the same answer.
func TestPayments_OfRefusedConfirmationsAreDue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before         func(s *site, event, booking string)
		window         fields
		status         int
		code, reason   string
		withoutPayment bool
	}{
		"late":      {window: endedAgo(time.Hour), status: 410, code: "BOOKING_EXPIRED", reason: "late"},
		"duplicate": {before: (*site).sellFirst, status: 409, code: "BOOKING_CONFIRMED", reason: "duplicate"},
		"without a reference first": {before: func(s *site, _, booking string) {
			s.want(s.confirm(booking, nil), 200, "")
		}, status: 409, code: "BOOKING_CONFIRMED", reason: "duplicate"},
		"cancelled": {before: func(s *site, _, booking string) {
			s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
		}, status: 409, code: "BOOKING_CANCELLED", reason: "booking_cancelled"},
		"event cancelled": {before: func(s *site, event, _ string) {
			s.want(s.patch(event, fields{"status": "CANCELLED"}), 200, "")
		}, status: 409, code: "EVENT_NOT_ON_SALE", reason: "event_cancelled"},
		"not payable": {window: fields{"paymentExpiresAt": nil}, status: 409, code: "BOOKING_NOT_PAYABLE", withoutPayment: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			event := s.event(10)
			_, booking := s.book(event, s.user(), fields{"seats": 1}, c.window)
			if c.before != nil {
				c.before(s, event, booking)
			}
			if c.withoutPayment {
				if a := s.want(s.confirm(booking, fields{"paymentReference": "r"}), c.status, c.code); a.body["payment"] != nil {
					t.Errorf("answered %s", a.raw)
				}
				s.wantPayments("")
				return
			}
			id := s.wantRefused(s.confirm(booking, fields{"paymentReference": "r"}), c.status, c.code, "REFUND_DUE", c.reason)
			if again := s.wantRefused(s.confirm(booking, fields{"paymentReference": "r"}), c.status, c.code, "REFUND_DUE", c.reason); again != id {
				t.Errorf("the payment %s is now %s", id, again)
			}
			s.wantPayments("reference=r", "r REFUND_DUE "+c.reason)
			s.want(s.call("POST", "/api/payments/"+id+"/refunded", fields{"refundReference": "back"}), 200, "")
			s.wantRefused(s.confirm(booking, fields{"paymentReference": "r"}), c.status, c.code, "REFUNDED", c.reason)
			s.checkInvariants()
		})
	}
	s := open(t)
	s.want(s.confirm(mongodb.NewID().String(), fields{"paymentReference": "r"}), 404, "BOOKING_NOT_FOUND")
	s.wantPayments("")
}

func (s *site) sellFirst(_, booking string) {
	s.t.Helper()
	s.want(s.confirm(booking, fields{"paymentReference": "first"}), 200, "")
}

// A charge that was refused stays refused, also where the booking would accept a payment now.
func TestPayments_ARefusedChargeIsNotAcceptedLater(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(10), s.user()
	_, booking := s.book(event, user, fields{"seats": 1}, endedAgo(time.Hour))
	s.wantRefused(s.confirm(booking, fields{"paymentReference": "r"}), 410, "BOOKING_EXPIRED", "REFUND_DUE", "late")
	s.want(s.patch(event, fields{"latePayments": "ACCEPT"}), 200, "")
	s.wantRefused(s.confirm(booking, fields{"paymentReference": "r"}), 409, "PAYMENT_REFUND_DUE", "REFUND_DUE", "late")
	if a := s.want(s.confirm(booking, fields{"paymentReference": "other"}), 200, ""); a.text("late") != "true" {
		t.Errorf("answered %s", a.raw)
	}
	s.wantPayments("bookingId="+booking, "r REFUND_DUE late", "other ACCEPTED")
	s.checkInvariants()
}

func TestPayments_CancellingASaleMakesItsPaymentDue(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, booking := s.book(s.event(10), s.user(), fields{"seats": 1}, nil)
	s.want(s.confirm(booking, fields{"paymentReference": "r"}), 200, "")
	id := holdfast.Charge{Reference: "r"}.PaymentID().String()
	s.want(s.call("POST", "/api/payments/"+id+"/refunded", fields{"refundReference": "back"}), 409, "PAYMENT_ACCEPTED")
	for range 2 { // again: the same answer
		s.want(s.call("POST", "/api/bookings/"+booking+"/cancel", nil), 200, "")
		s.wantPayments("", "r REFUND_DUE booking_cancelled")
	}
	refund := func(reference string) answer {
		return s.call("POST", "/api/payments/"+id+"/refunded", fields{"refundReference": reference})
	}
	first := s.want(refund("back"), 200, "")
	if first.text("status") != "REFUNDED" || first.text("refundReference") != "back" || first.text("reason") != "booking_cancelled" {
		t.Errorf("answered %s", first.raw)
	}
	if again := s.want(refund("back"), 200, ""); again.raw != first.raw {
		t.Errorf("again: %s", again.raw)
	}
	s.want(refund("other"), 409, "PAYMENT_REFUNDED")
	s.want(s.call("POST", "/api/payments/"+mongodb.NewID().String()+"/refunded", fields{"refundReference": "x"}), 404, "PAYMENT_NOT_FOUND")
	s.want(s.call("GET", "/api/payments/"+mongodb.NewID().String(), nil), 404, "PAYMENT_NOT_FOUND")
	s.checkInvariants()
}

// A late payment gets the seats of its booking again, swept or not, in a new lock.
func TestPayments_LateOnesGetTheirSeatsAgain(t *testing.T) {
	t.Parallel()
	for name, wish := range map[string]fields{
		"unseated": {"seats": 3}, "named": {"seatIds": []string{"A-1-1", "A-1-2"}}, "general admission": {"section": "pit", "seats": 2},
	} {
		for _, isSwept := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, swept %v", name, isSwept), func(t *testing.T) {
				t.Parallel()
				s := open(t)
				event := s.lateEvent(10, nil)
				if name != "unseated" {
					event = s.seatedEvent(fields{"latePayments": "ACCEPT", "orphanRule": "REFUSE"})
				}
				available := s.call("GET", "/api/events/"+event, nil).text("availableSeats")
				lock, booking := s.book(event, s.user(), wish, endedAgo(time.Hour))
				seats := s.call("GET", "/api/bookings/"+booking, nil).seatsOf()
				if isSwept {
					s.w.SweepBookings()
					if now := s.call("GET", "/api/events/"+event, nil).text("availableSeats"); now != available {
						t.Fatalf("after the sweep %s seats are available", now)
					}
				}
				a := s.want(s.confirm(booking, fields{"paymentReference": "r"}), 200, "")
				if a.text("status") != "CONFIRMED" || a.text("late") != "true" || a.text("lockId") == lock || a.seatsOf() != seats {
					t.Errorf("answered %s", a.raw)
				}
				if old := s.call("GET", "/api/locks/"+lock, nil); old.text("status") != "EXPIRED" {
					t.Errorf("the old lock is %s", old.raw)
				}
				if now := s.call("GET", "/api/locks/"+a.text("lockId"), nil); now.text("status") != "CONSUMED" || now.seatsOf() != seats {
					t.Errorf("the new lock is %s", now.raw)
				}
				if again := s.want(s.confirm(booking, fields{"paymentReference": "r"}), 200, ""); again.raw != a.raw {
					t.Errorf("again: %s", again.raw)
				}
				if got := s.call("GET", "/api/bookings/"+booking, nil); got.raw != a.raw {
					t.Errorf("then %s", got.raw)
				}
				s.wantPayments("", "r ACCEPTED")
				s.checkInvariants()
			})
		}
	}
}

// A late payment that can't have its seats is due, with the reason.
func TestPayments_LateOnesAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings fields
		window   fields
		before   func(s *site, event, user string)
		reason   string
	}{
		"seats gone": {before: func(s *site, event, _ string) {
			s.want(s.lockSeats(event, s.user(), fields{"seats": 9}), 201, "")
		}, reason: "seats_gone"},
		"limit": {settings: fields{"maxSeatsPerUser": 2}, before: func(s *site, event, user string) {
			s.want(s.lockSeats(event, user, fields{"seats": 1}), 201, "")
		}, reason: "limit"},
		"closed": {before: func(s *site, event, _ string) {
			s.want(s.patch(event, fields{"status": "CLOSED"}), 200, "")
		}, reason: "not_on_sale"},
		"cancelled": {before: func(s *site, event, _ string) {
			s.want(s.patch(event, fields{"status": "CANCELLED"}), 200, "")
		}, reason: "event_cancelled"},
		"too late": {settings: fields{"latePaymentSeconds": 60}, window: endedAgo(2 * time.Minute), reason: "late"},
		"refused":  {settings: fields{"latePayments": "REFUSE"}, reason: "late"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			event, user, window := s.lateEvent(10, c.settings), s.user(), c.window
			if window == nil {
				window = endedAgo(time.Hour)
			}
			_, booking := s.book(event, user, fields{"seats": 2}, window)
			s.w.SweepBookings()
			if c.before != nil {
				c.before(s, event, user)
			}
			available := s.call("GET", "/api/events/"+event, nil).text("availableSeats")
			for range 2 { // again: the same answer
				s.wantRefused(s.confirm(booking, fields{"paymentReference": "r"}), 410, "BOOKING_EXPIRED", "REFUND_DUE", c.reason)
			}
			if now := s.call("GET", "/api/events/"+event, nil).text("availableSeats"); now != available {
				t.Errorf("%s seats were available, now %s", available, now)
			}
			s.wantPayments("", "r REFUND_DUE "+c.reason)
			s.checkInvariants()
		})
	}
}

func TestPayments_NamedSeatsOfALatePaymentAreGoneOneByOne(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(fields{"latePayments": "ACCEPT"})
	_, booking := s.book(event, s.user(), fields{"seatIds": []string{"A-1-1", "A-1-2"}}, endedAgo(time.Hour))
	s.w.SweepBookings()
	s.want(s.lockSeats(event, s.user(), fields{"seatIds": []string{"A-1-2"}}), 201, "")
	s.wantRefused(s.confirm(booking, fields{"paymentReference": "r"}), 410, "BOOKING_EXPIRED", "REFUND_DUE", "seats_gone")
	s.wantTaken(event, "A-1-2")
	_, pit := s.book(event, s.user(), fields{"section": "pit", "seats": 8}, endedAgo(time.Hour))
	s.w.SweepBookings()
	s.want(s.lockSeats(event, s.user(), fields{"section": "pit", "seats": 3}), 201, "")
	s.wantRefused(s.confirm(pit, fields{"paymentReference": "q"}), 410, "BOOKING_EXPIRED", "REFUND_DUE", "seats_gone")
	s.checkInvariants()
}

func TestPayments_AreListedByEachFilter(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, other, user := s.event(10), s.event(10), s.user()
	_, a := s.book(event, user, fields{"seats": 1}, nil)
	_, b := s.book(event, user, fields{"seats": 1}, endedAgo(time.Hour))
	_, c := s.book(other, user, fields{"seats": 1}, nil)
	s.want(s.confirm(a, fields{"paymentReference": "a"}), 200, "")
	s.want(s.confirm(a, fields{"paymentReference": "a2"}), 409, "")
	s.want(s.confirm(b, fields{"paymentReference": "b"}), 410, "")
	s.want(s.confirm(c, fields{"paymentReference": "a", "paymentPart": "2", "provider": "acme"}), 200, "")
	s.want(s.call("POST", "/api/payments/"+holdfast.Charge{Reference: "b"}.PaymentID().String()+"/refunded",
		fields{"refundReference": "back"}), 200, "")
	const acceptedA, acceptedA2, dueA2, refunded = "a ACCEPTED", "a ACCEPTED", "a2 REFUND_DUE duplicate", "b REFUNDED late"
	for query, want := range map[string][]string{
		"":                                      {acceptedA, acceptedA2, dueA2, refunded},
		"status=ACCEPTED":                       {acceptedA, acceptedA2},
		"status=REFUND_DUE":                     {dueA2},
		"status=REFUNDED":                       {refunded},
		"eventId=" + event:                      {acceptedA, dueA2, refunded},
		"eventId=" + event + "&status=REFUNDED": {refunded},
		"eventId=" + other:                      {acceptedA2},
		"bookingId=" + a:                        {acceptedA, dueA2},
		"bookingId=" + a + "&status=ACCEPTED":   {acceptedA},
		"bookingId=" + a + "&eventId=" + other:  nil,
		"reference=a":                           {acceptedA, acceptedA2},
		"reference=a&bookingId=" + c:            {acceptedA2},
		"reference=a&eventId=" + event:          {acceptedA},
		"reference=none":                        nil,
		"provider=acme":                         {acceptedA2},
		"provider=default":                      {acceptedA, dueA2, refunded},
		"provider=default&status=ACCEPTED":      {acceptedA},
		"provider=acme&status=REFUND_DUE":       nil,
		"provider=acme&eventId=" + event:        nil,
		"provider=default&reference=a":          {acceptedA},
		"provider=acme&bookingId=" + c:          {acceptedA2},
		"bookingId=" + mongodb.NewID().String(): nil,
	} {
		s.wantPayments(query, want...)
	}
	seen, token := map[string]bool{}, ""
	for range 4 {
		page := s.want(s.call("GET", "/api/payments?pageSize=1&pageToken="+token, nil), 200, "")
		items, _ := page.body["items"].([]any)
		for _, item := range items {
			seen[fmt.Sprint(item.(map[string]any)["id"])] = true
		}
		token = page.text("nextPageToken")
	}
	if len(seen) != 4 {
		t.Errorf("the pages have %d payments of 4", len(seen))
	}
}

// What is wrong is named, and nothing is recorded.
func TestPayments_WrongInputIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t)
	_, booking := s.book(s.event(10), s.user(), fields{"seats": 1}, nil)
	for _, c := range []struct {
		charge fields
		where  string
	}{
		{fields{"paymentReference": ""}, "body.paymentReference"},
		{fields{"paymentReference": strings.Repeat("x", 201)}, "body.paymentReference"},
		{fields{"paymentReference": "a\x00b"}, "body.paymentReference"},
		{fields{"amount": 1}, "body.paymentReference"},
		{fields{"provider": "p"}, "body.paymentReference"},
		{fields{"currency": "EUR"}, "body.paymentReference"},
		{fields{"paymentPart": "p"}, "body.paymentReference"},
		{fields{"paymentReference": "r", "provider": ""}, "body.provider"},
		{fields{"paymentReference": "r", "provider": strings.Repeat("x", 65)}, "body.provider"},
		{fields{"paymentReference": "r", "provider": "a\x01"}, "body.provider"},
		{fields{"paymentReference": "r", "paymentPart": strings.Repeat("x", 101)}, "body.paymentPart"},
		{fields{"paymentReference": "r", "amount": -1}, "body.amount"},
		{fields{"paymentReference": "r", "amount": 1.5}, "body.amount"},
		{fields{"paymentReference": "r", "amount": "1"}, "body.amount"},
		{fields{"paymentReference": "r", "amount": int64(1) << 53}, "body.amount"},
		{fields{"paymentReference": "r", "currency": "eur"}, "body.currency"},
		{fields{"paymentReference": "r", "currency": "EURO"}, "body.currency"},
		{fields{"paymentReference": "r", "reference": "r"}, "body.reference"},
	} {
		s.wantInvalid(s.confirm(booking, c.charge), c.where)
	}
	s.wantPayments("")
	for query, where := range map[string]string{
		"status=PAID": "query.status", "eventId=x": "query.eventId", "bookingId=x": "query.bookingId",
		"userId=" + mongodb.NewID().String(): "query.userId",
		"bookingId=000000000000000000000000": "query.bookingId", "reference=" + strings.Repeat("x", 201): "query.reference",
		"provider=" + strings.Repeat("x", 65): "query.provider",
	} {
		s.wantInvalid(s.call("GET", "/api/payments?"+query, nil), where)
	}
	for _, reference := range []any{"", nil, 1, strings.Repeat("x", 201), "a\x00"} {
		a := s.call("POST", "/api/payments/"+mongodb.NewID().String()+"/refunded", fields{"refundReference": reference})
		s.wantInvalid(a, "body.refundReference")
	}
	for _, settings := range []fields{
		{"latePayments": "MAYBE"}, {"latePaymentSeconds": -1}, {"latePaymentSeconds": 2_592_001}, {"latePaymentSeconds": 1.5},
	} {
		for field := range settings {
			request := fields{"name": "E", "totalSeats": 1, "eventDate": "2026-06-15T10:00:00Z"}
			maps.Copy(request, settings)
			s.wantInvalid(s.call("POST", "/api/events", request), "body."+field)
			s.wantInvalid(s.patch(s.event(1), settings), "body."+field)
		}
	}
	s.want(s.confirm(booking, fields{"paymentReference": "r"}), 200, "")
}

func TestEvents_SettingsOfLatePayments(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := func(a answer, policy, seconds string) {
		t.Helper()
		if a.text("latePayments") != policy || a.text("latePaymentSeconds") != seconds {
			t.Errorf("%s, want %s %s", a.raw, policy, seconds)
		}
	}
	event := s.event(1)
	get := func(event string) answer { return s.want(s.call("GET", "/api/events/"+event, nil), 200, "") }
	want(get(event), "REFUSE", "86400")
	want(s.want(s.patch(event, fields{"latePayments": "ACCEPT"}), 200, ""), "ACCEPT", "86400")
	want(s.want(s.patch(event, fields{"latePaymentSeconds": 0}), 200, ""), "ACCEPT", "0")
	want(get(event), "ACCEPT", "0")
	s.lateEvent(1, fields{"latePaymentSeconds": 2_592_000}) // the longest time
	want(get(s.lateEvent(1, fields{"latePaymentSeconds": 604_800})), "ACCEPT", "604800")
	want(get(s.lateEvent(1, fields{"latePayments": nil, "latePaymentSeconds": 5})), "REFUSE", "5")
}

// Payments are the shop's: no customer's token reads or changes them.
func TestPayments_AreClosedToCustomers(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	created := s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, "Authorization", "Bearer s-shop")
	user := s.want(created, 201, "").text("id")
	token := tokenFor(t, user)
	for route, body := range map[string]any{
		"GET /api/payments": nil, "GET /api/payments?reference=r": nil, "GET /api/payments/" + user: nil,
		"POST /api/payments/" + user + "/refunded": fields{"refundReference": "r"},
		"POST /api/bookings/" + user + "/confirm":  fields{"paymentReference": "r"},
	} {
		method, path, _ := strings.Cut(route, " ")
		s.want(s.call(method, path, body, "Authorization", token), 403, "FORBIDDEN")
		if a := s.call(method, path, body, "Authorization", "Bearer s-shop"); a.status == 403 {
			t.Errorf("%s with the shop's key: %s", route, a.raw)
		}
	}
}
