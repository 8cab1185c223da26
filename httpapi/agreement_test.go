package httpapi_test

import (
	"testing"
	"time"
)

// agreement is a request, and the path of the resource that its answer has.
type agreement struct {
	method, path, resource string
	body                   any
}

// wantAgreeing fails unless each answer is what is stored: the next GET answers the same, in every field.
func (s *site) wantAgreeing(t *testing.T, requests []agreement) {
	t.Helper()
	for _, c := range requests {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s := s.in(t)
			answered := s.call(c.method, c.path, c.body)
			if got := s.want(s.call("GET", c.resource+answered.text("id"), nil), 200, ""); got.raw != answered.raw {
				t.Errorf("answered %s, and then %s", answered.raw, got.raw)
			}
		})
	}
}

// What a change answers is what is stored: the next GET answers the same, in every field.
func TestAPI_AnswersAgreeWithTheNextGet(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(100), s.user()
	newLock := func() string {
		t.Helper()
		return s.want(s.call("POST", "/api/locks", fields{"eventId": event, "userId": user, "seats": 2}), 201, "").text("id")
	}
	newBooking := func(window fields) string {
		t.Helper()
		request := fields{"eventId": event, "userId": user, "lockId": newLock()}
		for field, value := range window {
			request[field] = value
		}
		return s.want(s.call("POST", "/api/bookings", request), 201, "").text("id")
	}
	inAnHour := time.Now().Add(time.Hour).Format(time.RFC3339Nano) // finer than a millisecond
	pending := fields{"paymentTtlSeconds": 900}
	s.wantAgreeing(t, []agreement{
		{"POST", "/api/users", "/api/users/", fields{"name": " Ada  B. ", "email": "Ada@example.com"}},
		{"POST", "/api/events", "/api/events/", fields{"name": " E ", "totalSeats": 7, "eventDate": "2026-06-15T10:00:00.123456789+02:00"}},
		{"PATCH", "/api/events/" + event, "/api/events/", fields{"name": " F ", "totalSeats": 90, "maxSeatsPerUser": 50}},
		{"PATCH", "/api/events/" + event, "/api/events/", fields{"maxSeatsPerUser": 0, "eventDate": "2026-06-15T10:00:00.9999-05:00"}},
		{"POST", "/api/locks", "/api/locks/", fields{"eventId": event, "userId": user, "seats": 2, "idempotencyKey": "k"}},
		{"POST", "/api/locks", "/api/locks/", fields{"eventId": event, "userId": user, "seats": 2, "expiresAt": inAnHour}},
		{"POST", "/api/locks/" + newLock() + "/extend", "/api/locks/", fields{"expiresAt": inAnHour}},
		{"POST", "/api/locks/" + newLock() + "/extend", "/api/locks/", fields{"ttlSeconds": 1}},
		{"DELETE", "/api/locks/" + newLock(), "/api/locks/", nil},
		{"DELETE", "/api/locks/" + s.want(s.call("GET", "/api/bookings/"+newBooking(pending), nil), 200, "").text("lockId"), "/api/locks/", nil},
		{"POST", "/api/bookings", "/api/bookings/", fields{"eventId": event, "userId": user, "lockId": newLock()}},
		{"POST", "/api/bookings", "/api/bookings/", fields{"eventId": event, "userId": user, "lockId": newLock(), "paymentExpiresAt": inAnHour}},
		{"POST", "/api/bookings/" + newBooking(nil) + "/pay", "/api/bookings/", fields{"paymentExpiresAt": inAnHour}},
		{"POST", "/api/bookings/" + newBooking(pending) + "/pay", "/api/bookings/", pending},
		{"POST", "/api/bookings/" + newBooking(pending) + "/confirm", "/api/bookings/", fields{"paymentReference": "r"}},
		{"POST", "/api/bookings/" + newBooking(pending) + "/confirm", "/api/bookings/", nil},
		{"POST", "/api/bookings/" + newBooking(pending) + "/cancel", "/api/bookings/", nil},
		{"POST", "/api/bookings/" + newBooking(nil) + "/cancel", "/api/bookings/", nil},
	})
}

func TestAPI_AnswersAfterTheSaleAgreeWithTheNextGet(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, user := s.event(100), s.user()
	sold := func(reference string) string {
		t.Helper()
		return s.sellAtOnce(event, fields{"holder": cart, "seats": 2, "paymentReference": reference, "amount": 100}).text("id")
	}
	_, open := s.book(event, user, fields{"seats": 2}, nil)
	first, second := sold("first"), sold("second")
	p := s.want(s.call("POST", "/api/payments/"+paymentOf("first")+"/refunds", fields{"amount": 1}), 201, "")
	part := p.body["refunds"].([]any)[0].(map[string]any)["id"].(string)
	s.wantAgreeing(t, []agreement{
		{"POST", "/api/events/" + event + "/sales", "/api/bookings/", fields{"userId": user, "seats": 1, "paymentReference": "sold"}},
		{"POST", "/api/events/" + event + "/sales", "/api/bookings/", fields{"holder": cart, "seats": 1, "metadata": fields{"a": "1"}}},
		{"PUT", "/api/bookings/" + open + "/seats", "/api/bookings/", fields{"seats": 3}},
		{"PUT", "/api/bookings/" + open + "/seats", "/api/bookings/", fields{"seats": 1}},
		{"PUT", "/api/bookings/" + first + "/seats", "/api/bookings/", fields{"seats": 1, "refund": fields{"amount": 50}}},
		{"PUT", "/api/bookings/" + first + "/seats", "/api/bookings/", fields{"seats": 3, "payment": fields{"paymentReference": "more"}}},
		{"POST", "/api/bookings/" + first + "/transfer", "/api/bookings/", fields{"userId": user}},
		{"POST", "/api/bookings/" + first + "/transfer", "/api/bookings/", fields{"holder": "b"}},
		{"POST", "/api/payments/" + paymentOf("first") + "/refunds", "/api/payments/", fields{"amount": 2}},
		{"POST", "/api/payments/" + paymentOf("first") + "/refunds/" + part + "/refunded", "/api/payments/", fields{"refundReference": "r"}},
		{"POST", "/api/bookings/" + first + "/cancel", "/api/bookings/", nil},
		{"POST", "/api/payments/" + paymentOf("first") + "/refunded", "/api/payments/", fields{"refundReference": "r"}},
		{"PUT", "/api/bookings/" + second + "/seats", "/api/bookings/", fields{"seats": 2}},
	})
}

func TestAPI_AnswersOfWaitingListsAgreeWithTheNextGet(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, locks := s.soldOut(3, 0, nil)
	user := s.user()
	waits, declines, leaves := s.waits(event, "a", 3), s.waits(event, "b", 1), s.waits(event, "c", 1)
	s.release(locks[0])
	s.release(locks[1])
	lock := s.entry(leaves, "OFFERED", 0).text("lockId")
	s.wantAgreeing(t, []agreement{
		{"POST", "/api/events/" + event + "/waitlist", "/api/waitlist/", fields{"userId": user, "seats": 3, "metadata": fields{"a": "1"}}},
		{"POST", "/api/events/" + event + "/waitlist", "/api/waitlist/", fields{"userId": user, "seats": 3}},
		{"POST", "/api/waitlist/" + declines + "/decline", "/api/waitlist/", nil},
		{"POST", "/api/locks/" + lock + "/extend", "/api/locks/", fields{"ttlSeconds": 7100}},
		{"DELETE", "/api/waitlist/" + leaves, "/api/waitlist/", nil},
		{"DELETE", "/api/waitlist/" + waits, "/api/waitlist/", nil},
		{"PATCH", "/api/events/" + event, "/api/events/", fields{"waitlist": "PAUSED", "waitlistOfferSeconds": 60}},
		{"PATCH", "/api/events/" + event, "/api/events/", fields{"waitlist": "CLOSED", "waitlistFit": "STRICT"}},
	})
	s.checkInvariants()
}
