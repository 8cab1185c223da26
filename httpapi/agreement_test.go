package httpapi_test

import (
	"testing"
	"time"
)

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
	for _, c := range []struct {
		method, path, resource string
		body                   any
	}{
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
	} {
		t.Run(c.method+" "+c.path, func(t *testing.T) {
			s := s.in(t)
			answered := s.call(c.method, c.path, c.body)
			if got := s.want(s.call("GET", c.resource+answered.text("id"), nil), 200, ""); got.raw != answered.raw {
				t.Errorf("answered %s, and then %s", answered.raw, got.raw)
			}
		})
	}
}
