package httpapi_test

import (
	"fmt"
	"strings"
	"testing"
)

// wrongEntries are requests that no event takes, without their customer, and where they are refused.
func wrongEntries() []wrong {
	return []wrong{
		{`"seats":0`, "body.seats"}, {`"seats":51`, "body.seats"}, {`"seats":1.5`, "body.seats"}, {`"seats":"1"`, "body.seats"},
		{`"seats":null`, "body.seats"}, {`"section":"pit"`, "body"}, {`"seats":1,"seatIds":["A-1-1"]`, "body.seatIds"},
		{`"seats":1,"bestAvailable":{"seats":1}`, "body.bestAvailable"}, {`"seats":1,"x":1`, "body.x"},
		{`"seats":1,"categories":[]`, "body.categories"}, {`"seats":1,"categories":"seats"`, "body.categories"},
		{`"seats":1,"categories":[1]`, "body.categories[0]"}, {`"seats":1,"categories":[null]`, "body.categories[0]"},
		{`"seats":1,"section":""`, "body.section"}, {`"seats":1,"section":1`, "body.section"},
		{`"seats":1,"section":"` + strings.Repeat("s", 33) + `"`, "body.section"},
		{`"seats":1,"accessibleSeats":-1`, "body.accessibleSeats"}, {`"seats":1,"accessibleSeats":2`, "body.accessibleSeats"},
		{`"seats":50,"accessibleSeats":51`, "body.accessibleSeats"}, {`"seats":1,"accessibleSeats":"1"`, "body.accessibleSeats"},
		{`"seats":1,"adjacent":"MAYBE"`, "body.adjacent"}, {`"seats":1,"adjacent":""`, "body.adjacent"},
		{`"seats":1,"adjacent":true`, "body.adjacent"}, {`"seats":1,"idempotencyKey":"k"`, "body.idempotencyKey"},
	}
}

// What no entry may wait for is refused with its place, and leaves nothing.
func TestWaitlist_WrongRequestsAreRefused(t *testing.T) {
	t.Parallel()
	s := open(t)
	seated := s.seatedEvent(fields{"waitlist": "OPEN"})
	unseated, _ := s.soldOut(9, 0, nil)
	for _, event := range []string{seated, unseated} {
		for _, row := range wrongEntries() {
			s.wantInvalid(s.join(event, nil), "body")
			a := s.call("POST", "/api/events/"+event+"/waitlist", `{"holder":"a",`+row.body+`}`)
			if s.wantInvalid(a, row.at); goWords.MatchString(a.raw) {
				t.Errorf("%s: %s", row.body, a.raw)
			}
		}
		for _, customer := range []string{``, `"holder":"a","userId":"6b0166d19f73b711049e40f1",`, `"holder":null,`, `"userId":null,`,
			`"holder":"",`, `"holder":"a\u0000",`, `"userId":"x",`, `"holder":"erased-1",`} {
			if a := s.call("POST", "/api/events/"+event+"/waitlist", `{`+customer+`"seats":1}`); a.status != 422 {
				t.Errorf("%s: %d %s", customer, a.status, a.raw)
			}
		}
		for at, given := range wrongShopData() {
			for field, values := range given {
				for _, value := range values.([]any) {
					a := s.want(s.join(event, fields{"holder": "a", "seats": 1, field: value}), 422, "VALIDATION_FAILED")
					if !strings.Contains(a.raw, at) {
						t.Errorf("%v does not name %s: %s", value, at, a.raw)
					}
				}
			}
		}
		if got := s.listedEntries(event, ""); len(got) != 0 {
			t.Errorf("there are %v", got)
		}
	}
	for _, row := range []wrong{ // an unseated event takes the number alone
		{`"seats":1,"categories":["seats"]`, "body"}, {`"seats":1,"section":"A"`, "body"}, {`"seats":1,"accessibleSeats":1`, "body"},
		{`"seats":1,"adjacent":"REQUIRED"`, "body"},
	} {
		if a := s.call("POST", "/api/events/"+unseated+"/waitlist", `{"holder":"a",`+row.body+`}`); a.status != 422 {
			t.Errorf("%s: %s", row.body, a.raw)
		}
	}
	for _, row := range []wrong{ // an empty hall could not fill these
		{`"seats":1,"categories":["none"]`, "body.categories"}, {`"seats":1,"section":"none"`, "body.section"},
		{`"seats":11,"section":"pit"`, "body.seats"}, {`"seats":1,"section":"pit","categories":["standing"]`, "body"},
		{`"seats":1,"section":"pit","adjacent":"PREFERRED"`, "body"}, {`"seats":7,"adjacent":"REQUIRED"`, "body"},
		{`"seats":12`, "body"}, {`"seats":2,"accessibleSeats":2`, "body"}, {`"seats":1,"categories":["standing"]`, "body"},
	} {
		if a := s.call("POST", "/api/events/"+seated+"/waitlist", `{"holder":"a",`+row.body+`}`); a.status != 422 {
			t.Errorf("%s: %d %s", row.body, a.status, a.raw)
		}
	}
}

// null is the default of what may be left out, as everywhere.
func TestWaitlist_NullIsTheDefault(t *testing.T) {
	t.Parallel()
	s := open(t)
	event := s.seatedEvent(fields{"waitlist": "OPEN"})
	for range 11 {
		s.lockFor(event, "owner", fields{"bestAvailable": fields{"seats": 1}})
	}
	s.lockFor(event, "owner", fields{"seatIds": []string{"A-1-6"}, "accessibleSeats": 1})
	bare := s.want(s.join(event, fields{"holder": "a", "seats": 2}), 201, "")
	for _, same := range []fields{
		{"categories": nil, "section": nil, "accessibleSeats": nil, "adjacent": nil}, {"adjacent": "PREFERRED"}, {"accessibleSeats": 0},
	} {
		if again := s.want(s.join(event, with(fields{"holder": "a", "seats": 2}, same)), 200, ""); again.raw != bare.raw {
			t.Errorf("%v: %s, first %s", same, again.raw, bare.raw)
		}
	}
	for _, other := range []fields{{"adjacent": "REQUIRED"}, {"section": "A"}, {"seats": 3}, {"accessibleSeats": 1}} {
		s.want(s.join(event, with(fields{"holder": "a", "seats": 2}, other)), 409, "WAITLIST_ENTRY_EXISTS")
	}
	whole := fields{"holder": "b", "seats": 2, "categories": []string{"seats"}, "section": "A", "accessibleSeats": 1, "adjacent": "REQUIRED"}
	a := s.want(s.join(event, whole), 201, "")
	if !strings.Contains(a.raw, `"seats":2,"categories":["seats"],"section":"A","accessibleSeats":1,"adjacent":"REQUIRED"`) {
		t.Errorf("answered %s", a.raw)
	}
	for _, query := range []string{
		"status=", "status=ACTIVE", "status=waiting", "userId=", "holder=", "userId=x", "reference=r", "eventId=" + event,
		"holder=a&userId=" + s.user(), "userId=" + strings.Repeat("0", 24), "pageSize=0", "pageSize=501", "pageToken=none",
		"status=LEFT&status=LEFT",
	} {
		s.want(s.call("GET", "/api/events/"+event+"/waitlist?"+query, nil), 422, "VALIDATION_FAILED")
	}
	for method, path := range map[string]string{"POST": "/decline", "DELETE": ""} {
		a := s.call(method, "/api/waitlist/"+bare.text("id")+path, fields{"x": 1})
		if method == "POST" && a.status != 422 {
			t.Errorf("%s with a body: %s", method, a.raw)
		}
		s.want(s.call(method, "/api/waitlist/x"+path, nil), 422, "VALIDATION_FAILED")
		s.want(s.call(method, "/api/waitlist/"+bare.text("id")+path, nil, "Idempotency-Key", "k"), 422, "VALIDATION_FAILED")
	}
	s.want(s.join(event, fields{"holder": "c", "seats": 1}, "Idempotency-Key", "k"), 422, "VALIDATION_FAILED")
	s.entry(bare.text("id"), "WAITING", 1)
}

// The settings are answered always, and waiting where the list was ever open.
func TestWaitlist_SettingsOfEvents(t *testing.T) {
	t.Parallel()
	s := open(t)
	want := func(a answer, settings string) {
		t.Helper()
		event := a.text("id")
		for _, a := range []answer{a, s.want(s.call("GET", "/api/events/"+event, nil), 200, "")} {
			got := fmt.Sprintf("%s %s %s %s", a.text("waitlist"), a.text("waitlistOfferSeconds"), a.text("waitlistFit"), a.text("waiting"))
			if got != settings {
				t.Errorf("the event is %s, want %s", a.raw, settings)
			}
		}
	}
	create := func(settings fields) answer {
		t.Helper()
		event := fields{"name": "E", "totalSeats": 5, "eventDate": "2030-06-15T10:00:00Z"}
		return s.want(s.call("POST", "/api/events", with(event, settings)), 201, "")
	}
	want(create(nil), "CLOSED 3600 SKIP <nil>")
	want(create(fields{"waitlist": nil, "waitlistOfferSeconds": nil, "waitlistFit": nil}), "CLOSED 3600 SKIP <nil>")
	want(create(fields{"waitlistOfferSeconds": 60, "waitlistFit": "STRICT"}), "CLOSED 60 STRICT <nil>")
	want(create(fields{"waitlist": "PAUSED", "waitlistOfferSeconds": 604_800}), "PAUSED 604800 SKIP 0")
	event := create(fields{"waitlist": "OPEN"})
	want(event, "OPEN 3600 SKIP 0")
	id := event.text("id")
	for _, step := range []struct {
		change fields
		want   string
	}{
		{fields{"waitlistFit": "STRICT"}, "OPEN 3600 STRICT 0"}, {fields{"waitlistOfferSeconds": 61}, "OPEN 61 STRICT 0"},
		{fields{"waitlist": "PAUSED"}, "PAUSED 61 STRICT 0"}, {fields{"waitlist": "CLOSED", "waitlistFit": "SKIP"}, "CLOSED 61 SKIP 0"},
		{fields{"waitlistOfferSeconds": 3600}, "CLOSED 3600 SKIP 0"}, {fields{"name": "F"}, "CLOSED 3600 SKIP 0"},
	} {
		want(s.want(s.patch(id, step.change), 200, ""), step.want)
	}
	for field, values := range map[string][]any{
		"waitlist": {"", "open", "SOLD", 1, true}, "waitlistFit": {"", "skip", 0, "FIFO"},
		"waitlistOfferSeconds": {59, 604_801, 0, -1, 60.5, "60"},
	} {
		for _, value := range values {
			s.wantInvalid(s.patch(id, fields{field: value}), "body."+field)
			request := fields{"name": "E", "totalSeats": 5, "eventDate": "2030-06-15T10:00:00Z", field: value}
			s.wantInvalid(s.call("POST", "/api/events", request), "body."+field)
		}
		s.wantInvalid(s.patch(id, fields{field: nil}), "body."+field)
	}
	keyed := fields{"idempotencyKey": "k", "waitlist": "OPEN"}
	first := create(keyed)
	if again := create(keyed); again.text("id") != first.text("id") {
		t.Errorf("a repeat: %s", again.raw)
	}
	keyed = with(fields{"name": "E", "totalSeats": 5, "eventDate": "2030-06-15T10:00:00Z"}, with(keyed, fields{"waitlist": "PAUSED"}))
	s.want(s.call("POST", "/api/events", keyed), 422, "IDEMPOTENCY_KEY_REUSED")
}
