package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// A lock and its booking live their whole life below their event.
func TestEventPaths_CarryOutEveryCommand(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(10)
	base := "/api/events/" + event
	lock := s.want(s.call("POST", base+"/locks", fields{"userId": user, "seats": 2}), 201, "")
	id := lock.text("id")
	if got := lock.header.Get("Location"); got != "/api/locks/"+id || lock.text("eventId") != event {
		t.Errorf("at %q: %s", got, lock.raw)
	}
	s.want(s.call("GET", lock.header.Get("Location"), nil), 200, "")
	s.want(s.call("POST", base+"/locks/"+id+"/extend", fields{"ttlSeconds": 3600}), 200, "")
	if got := s.want(s.call("PUT", base+"/locks/"+id+"/seats", fields{"seats": 3}), 200, ""); got.text("seats") != "3" {
		t.Errorf("after the change: %s", got.raw)
	}
	booking := s.want(s.call("POST", base+"/bookings", fields{"userId": user, "lockId": id}), 201, "")
	path := base + "/bookings/" + booking.text("id")
	s.want(s.call("POST", base+"/bookings", fields{"userId": user, "lockId": id}), 200, "")
	s.want(s.call("POST", path+"/pay", fields{"paymentTtlSeconds": 60}), 200, "")
	s.want(s.call("POST", path+"/confirm", nil), 200, "")
	if got := s.want(s.call("GET", path, nil), 200, ""); got.text("status") != "CONFIRMED" {
		t.Errorf("after the confirmation: %s", got.raw)
	}
	s.want(s.call("POST", path+"/cancel", nil), 200, "")
	second := s.want(s.call("POST", base+"/locks", fields{"userId": user, "seats": 1}), 201, "").text("id")
	if got := s.want(s.call("DELETE", base+"/locks/"+second, nil), 200, ""); got.text("status") != "RELEASED" {
		t.Errorf("released: %s", got.raw)
	}
	if got := s.call("GET", base, nil).text("availableSeats"); got != "10" {
		t.Errorf("%s seats are available", got)
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// A client may repeat a request by either path, such as after an update: it is one command.
func TestEventPaths_ShareIdempotencyKeys(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.event(10)
	whole := fields{"eventId": event, "userId": user, "seats": 2, "ttlSeconds": 60}
	short := fields{"userId": user, "seats": 2, "ttlSeconds": 60}
	paths := map[string]string{"plain": "/api/locks", "in its event": "/api/events/" + event + "/locks"}
	for first, path := range paths {
		t.Run(first+" first", func(t *testing.T) {
			s := s.in(t)
			key := []string{"Idempotency-Key", first}
			lock := s.want(s.call("POST", path, whole, key...), 201, "")
			for again, path := range paths {
				replay := s.want(s.call("POST", path, whole, key...), 201, "")
				if replay.text("id") != lock.text("id") || replay.header.Get("Idempotent-Replayed") != "true" {
					t.Errorf("%s: %s, not %s", again, replay.raw, lock.raw)
				}
			}
			replay := s.want(s.call("POST", paths["in its event"], short, key...), 201, "")
			if replay.text("id") != lock.text("id") || replay.header.Get("Idempotent-Replayed") != "true" {
				t.Errorf("without the event in the body: %s", replay.raw)
			}
			other := fields{"userId": user, "seats": 3, "ttlSeconds": 60}
			s.want(s.call("POST", paths["in its event"], other, key...), 422, "IDEMPOTENCY_KEY_REUSED")
		})
	}
	testenv.CheckInvariants(t, s.w.DB.Database)
}

func TestEventPaths_RefuseABodyOfAnotherEvent(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event, other := s.user(), s.event(10), s.event(10)
	base := "/api/events/" + event
	lock := s.want(s.call("POST", base+"/locks", fields{"eventId": strings.ToUpper(event), "userId": user, "seats": 1}), 201, "").text("id")
	for path, body := range map[string]fields{
		"/locks":    {"userId": user, "seats": 1},
		"/bookings": {"userId": user, "lockId": lock},
	} {
		body["eventId"] = other
		a := s.want(s.call("POST", base+path, body), 422, "VALIDATION_FAILED")
		if !strings.Contains(a.raw, `"body.eventId"`) {
			t.Errorf("%s: %s", path, a.raw)
		}
		body["eventId"] = nil
		s.want(s.call("POST", base+path, body), 201, "")
	}
}

// To the path of another event, a lock or a booking does not exist, and nothing happens to it.
func TestEventPaths_HideWhatIsOfAnotherEvent(t *testing.T) {
	t.Parallel()
	s := openWithAccess(t)
	back := []string{"Authorization", "Bearer s-ops"}
	user := s.want(s.call("POST", "/api/users", fields{"name": "A", "email": "a@example.com"}, back...), 201, "").text("id")
	request := fields{"name": "E", "totalSeats": 10, "eventDate": "2026-06-15T10:00:00Z"}
	event := s.want(s.call("POST", "/api/events", request, back...), 201, "").text("id")
	elsewhere := s.want(s.call("POST", "/api/events", request, back...), 201, "").text("id")
	lock := s.want(s.call("POST", "/api/events/"+event+"/locks", fields{"userId": user, "seats": 2}, back...), 201, "")
	id := lock.text("id")
	booked := s.want(s.call("POST", "/api/events/"+event+"/locks", fields{"userId": user, "seats": 1}, back...), 201, "").text("id")
	book := fields{"userId": user, "lockId": booked, "paymentTtlSeconds": 60}
	booking := s.want(s.call("POST", "/api/events/"+event+"/bookings", book, back...), 201, "")
	for name, wrong := range map[string]string{"another": elsewhere, "none": "aaaaaaaaaaaaaaaaaaaaaaaa", "zero": strings.Repeat("0", 24)} {
		locks, bookings := "/api/events/"+wrong+"/locks/"+id, "/api/events/"+wrong+"/bookings/"+booking.text("id")
		for caller, headers := range map[string][]string{"key": back, "customer": {"Authorization", tokenFor(t, user)}} {
			for _, c := range []struct {
				method, path, code string
				body               any
			}{
				{"POST", locks + "/extend", "LOCK_NOT_FOUND", fields{"ttlSeconds": 3600}},
				{"PUT", locks + "/seats", "LOCK_NOT_FOUND", fields{"seats": 1}},
				{"DELETE", locks, "LOCK_NOT_FOUND", nil},
				{"POST", "/api/events/" + wrong + "/bookings", "LOCK_NOT_FOUND", fields{"userId": user, "lockId": id}},
				{"GET", bookings, "BOOKING_NOT_FOUND", nil},
				{"POST", bookings + "/pay", "BOOKING_NOT_FOUND", fields{"paymentTtlSeconds": 600}},
				{"POST", bookings + "/confirm", "BOOKING_NOT_FOUND", fields{"paymentReference": "p"}},
				{"POST", bookings + "/cancel", "BOOKING_NOT_FOUND", nil},
			} {
				if caller == "customer" && strings.HasSuffix(c.path, "/confirm") {
					continue // it may not confirm at all
				}
				t.Run(fmt.Sprintf("%s event, %s, %s %s", name, caller, c.method, c.path), func(t *testing.T) {
					s := s.in(t)
					s.want(s.call(c.method, c.path, c.body, headers...), 404, c.code)
				})
			}
		}
	}
	if got := s.want(s.call("GET", "/api/locks/"+id, nil, back...), 200, ""); got.raw != lock.raw {
		t.Errorf("the lock is %s, was %s", got.raw, lock.raw)
	}
	if got := s.want(s.call("GET", "/api/bookings/"+booking.text("id"), nil, back...), 200, ""); got.raw != booking.raw {
		t.Errorf("the booking is %s, was %s", got.raw, booking.raw)
	}
	if got := s.want(s.call("GET", "/api/payments", nil, back...), 200, ""); len(got.body["items"].([]any)) != 0 {
		t.Errorf("payments: %s", got.raw)
	}
}
