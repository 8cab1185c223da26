package httpapi_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// toldOfEntries returns the changes of a step since a token, by their types, and compares those of entries with what the route answers.
func (s *site) toldOfEntries(name, since string, a answer, want []string) (found map[string]fields, next string) {
	s.t.Helper()
	if a.status/100 != 2 {
		s.t.Fatalf("%s: %s", name, a.raw)
	}
	items, next := s.changes("pageSize=500&pageToken=" + since)
	if got := typesOf(items); !slices.Equal(got, want) {
		s.t.Fatalf("%s: told %v, want %v", name, got, want)
	}
	found = map[string]fields{}
	for _, c := range items {
		what := strings.TrimPrefix(c["type"].(string), "holdfast.")
		found[what] = c["data"].(map[string]any)
		if !strings.HasPrefix(what, "waitlist.") {
			continue
		}
		now := s.want(s.call("GET", "/api/"+c["subject"].(string), nil), 200, "").body
		delete(now, "position")
		if !reflect.DeepEqual(c["data"], now) || c["dataschema"] != "urn:holdfast:schema:waitlist-entry:1" {
			s.t.Errorf("%s: told %v, and the route answers %v", name, c, now)
		}
		if isOffer := what == "waitlist.offered"; (c["actor"] == "waitlist") != isOffer || c["requestid"] == nil && !isOffer {
			s.t.Errorf("%s: the actor of %v", name, c)
		}
	}
	return found, next
}

// Each step of an entry is told, with the entry as its route answers but without its position, and an offer has its own actor.
func TestWaitlist_ChangesTellEachStep(t *testing.T) {
	t.Parallel()
	s := open(t)
	event, locks := s.soldOut(2, 0, nil)
	_, next := s.changes("pageSize=500")
	told := func(name string, a answer, want ...string) (found map[string]fields) {
		t.Helper()
		found, next = s.toldOfEntries(name, next, a, want)
		return found
	}
	join := func(holder string, seats int) (id string) {
		t.Helper()
		a := s.join(event, fields{"holder": holder, "seats": seats, "reference": "r", "metadata": fields{"m": "1"}})
		told("join", a, "waitlist.joined")
		return a.text("id")
	}
	a, b, c := join("a", 1), join("b", 1), join("c", 1)
	told("a repeat", s.join(event, fields{"holder": "a", "seats": 1}))
	lock := func(id string) string { return s.entry(id, "OFFERED", 0).text("lockId") }
	found := told("release", s.call("DELETE", "/api/locks/"+locks[0], nil), "lock.released", "lock.created", "waitlist.offered")
	if offer := found["lock.created"]; offer["waitlistEntryId"] != a || offer["id"] != lock(a) || offer["reference"] != "r" {
		t.Errorf("the offer is told as %v", offer)
	}
	told("decline", s.call("POST", "/api/waitlist/"+a+"/decline", nil),
		"lock.released", "lock.created", "waitlist.declined", "waitlist.offered")
	told("again", s.call("POST", "/api/waitlist/"+a+"/decline", nil))
	book := fields{"eventId": event, "holder": "b", "lockId": lock(b), "paymentTtlSeconds": 600}
	booked := s.call("POST", "/api/bookings", book)
	told("book", booked, "lock.changed", "booking.created")
	told("confirm", s.confirm(booked.text("id"), nil), "lock.consumed", "booking.confirmed", "waitlist.accepted")
	told("leave", s.call("DELETE", "/api/waitlist/"+c, nil), "waitlist.left")
	told("again", s.call("DELETE", "/api/waitlist/"+c, nil))
	d := join("d", 1)
	told("close", s.patch(event, fields{"waitlist": "CLOSED"}), "event.changed")
	s.entry(d, "CLOSED", 0)

	all := map[string]int{}
	for _, query := range []string{"eventId=" + event + "&type=holdfast.waitlist.*", "type=holdfast.waitlist.*"} {
		items, _ := s.changes("pageSize=500&" + query)
		for _, what := range typesOf(items) {
			all[what]++
		}
	}
	want := map[string]int{"waitlist.joined": 8, "waitlist.offered": 4, "waitlist.declined": 2, "waitlist.accepted": 2, "waitlist.left": 2}
	if !maps.Equal(all, want) {
		t.Errorf("the filters find %v, want %v", all, want)
	}
	if items, _ := s.changes("eventId=" + event + "&subject=waitlist/" + a); !slices.Equal(typesOf(items),
		[]string{"waitlist.joined", "waitlist.offered", "waitlist.declined"}) {
		t.Errorf("the changes of an entry are %v", typesOf(items))
	}
	s.want(s.call("GET", "/api/changes?subject=entries/"+a, nil), 422, "VALIDATION_FAILED")
	s.checkInvariants()
}

// The examples of requests can be sent as they are, and the answers look like those that are shown.
func TestExamples_OfWaitingListsCanBeSent(t *testing.T) {
	t.Parallel()
	s := open(t)
	var d exampleDocument
	if err := json.Unmarshal([]byte(s.call("GET", "/openapi.json", nil).raw), &d); err != nil {
		t.Fatal(err)
	}
	plan := d.Paths["/api/seating-plans"]["post"].RequestBody.Content["application/json"].Example
	hall := fields{
		"name": "E", "seatingPlanId": s.want(s.call("POST", "/api/seating-plans", string(plan)), 201, "").text("id"),
		"eventDate": "2030-06-15T20:00:00Z", "waitlist": "PAUSED",
	}
	const join = "/api/events/{id}/waitlist"
	requests, answers := d.shown(join, "post", ""), d.shown(join, "post", "201")
	if names := slices.Sorted(maps.Keys(requests)); !slices.Equal(names, []string{"accessible", "numbered", "seats", "section"}) {
		t.Fatalf("the examples are %q", names)
	}
	for name, request := range requests {
		event, locks := "", []string(nil)
		if name == "seats" {
			event, locks = s.soldOut(2, 0, nil)
		} else {
			event = s.want(s.call("POST", "/api/events", hall), 201, "").text("id")
			s.want(s.patch(event, fields{"saleStartsAt": at(time.Hour)}), 200, "") // nothing would be granted now
		}
		joined := s.want(s.call("POST", "/api/events/"+event+"/waitlist", request), 201, "")
		if shown, has := answers[name]; has {
			s.wantForm(joined, shown)
		}
		for _, lock := range locks {
			s.release(lock)
		}
		if name == "seats" {
			s.wantForm(s.entry(joined.text("id"), "OFFERED", 0), d.shown("/api/waitlist/{id}", "get", "200")["offered"])
		}
	}
	s.checkInvariants()
}
