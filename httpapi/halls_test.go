package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/mongodb"
	"github.com/holdfast-dev/holdfast/internal/testenv"
)

// patch changes an event.
func (s *site) patch(event string, change fields) answer {
	s.t.Helper()
	return s.call("PATCH", "/api/events/"+event, change)
}

// capacity is the change of a section's capacity.
func capacity(section string, seats any) fields {
	return fields{"sections": []fields{{"key": section, "capacity": seats}}}
}

// wantEvent compares the numbers and the capacities of an event, also in the list of events.
func (s *site) wantEvent(event, total, available, sections string) {
	s.t.Helper()
	for _, path := range []string{"/api/events/" + event, "/api/events?pageSize=500"} {
		a := s.want(s.call("GET", path, nil), 200, "")
		if items, isList := a.body["items"].([]any); isList {
			for _, item := range items {
				if e := item.(map[string]any); e["id"] == event {
					a.body = e
				}
			}
		}
		if a.text("totalSeats") != total || a.text("availableSeats") != available || a.text("sections") != sections {
			s.t.Errorf("%s has %s of %s seats and %s, want %s of %s and %s", path,
				a.text("availableSeats"), a.text("totalSeats"), a.text("sections"), available, total, sections)
		}
	}
}

func TestHalls_CapacitiesChangeDuringTheSale(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	s.wantEvent(event, "22", "22", "[map[capacity:10 key:pit]]")
	standing := fields{"section": "pit", "seats": 4}
	lock := s.want(s.lockSeats(event, user, standing), 201, "").text("id")
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 7}), 409, "SEATS_UNAVAILABLE")

	if e := s.want(s.patch(event, capacity("pit", 11)), 200, ""); e.text("totalSeats") != "23" || e.text("availableSeats") != "19" {
		t.Errorf("answered %s", e.raw)
	}
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 7}), 201, "")
	s.wantEvent(event, "23", "12", "[map[capacity:11 key:pit]]")
	refused := s.want(s.patch(event, capacity("pit", 10)), 409, "CAPACITY_BELOW_TAKEN")
	if !strings.Contains(refused.text("detail"), `"pit"`) || refused.text("taken") != "11" {
		t.Errorf("refused with %s", refused.raw)
	}
	s.want(s.call("DELETE", "/api/locks/"+lock, nil), 200, "")
	s.want(s.patch(event, capacity("pit", 7)), 200, "")
	s.wantEvent(event, "19", "12", "[map[capacity:7 key:pit]]")
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 1}), 409, "SEATS_UNAVAILABLE")
	s.want(s.patch(event, fields{"name": "New name", "sections": []fields{}}), 200, "")

	unseated := s.event(5)
	s.checkShapes(t, "PATCH", "/api/events/"+event, []shapeOf{
		{"an unknown section", `{"sections":[{"key":"pit","capacity":9},{"key":"x","capacity":9}]}`, 422, "VALIDATION_FAILED",
			"body.sections[1].key"},
		{"a section of rows", `{"sections":[{"key":"A","capacity":9}]}`, 422, "VALIDATION_FAILED", "body.sections[0].key"},
		{"twice", `{"sections":[{"key":"pit","capacity":9},{"key":"pit","capacity":9}]}`, 422, "VALIDATION_FAILED", "body.sections[1].key"},
		{"no seat", `{"sections":[{"key":"pit","capacity":0}]}`, 422, "VALIDATION_FAILED", "body.sections[0].capacity"},
		{"too many", `{"sections":[{"key":"pit","capacity":10000001}]}`, 422, "VALIDATION_FAILED", "body.sections[0].capacity"},
		{"too many in all", `{"sections":[{"key":"pit","capacity":10000000}]}`, 422, "VALIDATION_FAILED", "body.sections"},
		{"no key", `{"sections":[{"capacity":9}]}`, 422, "VALIDATION_FAILED", "body.sections[0]"},
		{"no capacity", `{"sections":[{"key":"pit"}]}`, 422, "VALIDATION_FAILED", "body.sections[0]"},
		{"null", `{"sections":null}`, 422, "VALIDATION_FAILED", "body.sections"},
		{"the total", `{"totalSeats":50}`, 422, "VALIDATION_FAILED", "body.totalSeats"},
	})
	s.wantInvalid(s.patch(unseated, capacity("pit", 9)), "body.sections")
	s.want(s.patch(mongodb.NewID().String(), capacity("pit", 9)), 404, "EVENT_NOT_FOUND")
	s.wantEvent(event, "19", "12", "[map[capacity:7 key:pit]]")
	testenv.CheckInvariants(t, s.w.DB.Database)
}

// wantInvalid expects a 422 that names a part of the request.
func (s *site) wantInvalid(a answer, where string) {
	s.t.Helper()
	if s.want(a, 422, "VALIDATION_FAILED"); !strings.Contains(a.raw, `"`+where+`"`) {
		s.t.Errorf("answered %s, want %s", a.raw, where)
	}
}

// otherPlan has all seats of hallPlan but A-2-6, most of them in another section, and a seat more.
const otherPlan = `{"name":"Other hall","categories":[{"key":"all","name":"All"}],"sections":[
	{"key":"B","name":"Balcony","category":"all","rows":[{"key":"9","label":"Ninth","seats":[
		{"id":"new"},{"id":"A-1-6"},{"id":"A-1-5"},null,{"id":"A-1-4"},{"id":"A-1-3"},{"id":"A-1-2"},{"id":"A-1-1"}]}]},
	{"key":"A","name":"Stalls","category":"all","rows":[{"key":"2","seats":5}]},
	{"key":"pit","name":"Pit","category":"all","capacity":3}]}`

// A refusal names the first hundred of the taken seats that a plan lacks, in the order of the present plan, and how many there are.
func TestHalls_APlanThatLacksManySeats(t *testing.T) {
	t.Parallel()
	s := open(t)
	const small = `{"name":"H","categories":[{"key":"c","name":"C"}],"sections":[
		{"key":"A","name":"A","category":"c","rows":[{"key":"1","seats":5}]}]}`
	large := strings.Replace(small, `{"key":"1","seats":5}`, `{"key":"2","seats":70},{"key":"1","seats":80}`, 1)
	plan := func(text string) string {
		return s.want(s.call("POST", "/api/seating-plans", text), 201, "").text("id")
	}
	sale := fields{"name": "E", "seatingPlanId": plan(large), "eventDate": "2030-06-15T20:00:00Z"}
	event := s.want(s.call("POST", "/api/events", sale), 201, "").text("id")
	var seats, want []string
	for row, n := range map[int]int{1: 80, 2: 70} {
		for i := range n {
			seats = append(seats, fmt.Sprintf("A-%d-%d", row, i+1))
		}
	}
	s.want(s.call("POST", "/api/events/"+event+"/seats/block", fields{"seatIds": seats}), 200, "")
	for i := range 100 { // all of row 2, then row 1 from its sixth seat on
		if want = append(want, fmt.Sprintf("A-2-%d", i+1)); i >= 70 {
			want[i] = fmt.Sprintf("A-1-%d", i-70+6)
		}
	}
	refused := s.want(s.patch(event, fields{"seatingPlanId": plan(small)}), 409, "CAPACITY_BELOW_TAKEN")
	if got := refused.text("missing"); got != fmt.Sprint(want) || refused.text("missingSeats") != "145" || refused.text("taken") != "150" {
		t.Errorf("%s, want %v", refused.raw, want)
	}
}

func TestHalls_ThePlanChangesDuringTheSale(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	first := s.want(s.call("GET", "/api/events/"+event, nil), 200, "").text("seatingPlanId")
	other := s.want(s.call("POST", "/api/seating-plans", otherPlan), 201, "").text("id")
	change := fields{"seatingPlanId": other}
	follower := s.listen(event, "")
	follower.next()
	lock := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-3", "A-2-2"}}), 201, "").text("id")
	last := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-6"}}), 201, "").text("id")
	pit := s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 4}), 201, "").text("id")
	s.want(s.call("POST", "/api/events/"+event+"/seats/block", fields{"seatIds": []string{"A-1-6"}}), 200, "")

	before := s.want(s.call("GET", "/api/events/"+event, nil), 200, "").raw
	refused := s.want(s.patch(event, change), 409, "CAPACITY_BELOW_TAKEN")
	if after := s.want(s.call("GET", "/api/events/"+event, nil), 200, "").raw; after != before {
		t.Errorf("what was refused left %s, after %s", after, before)
	}
	if !strings.Contains(refused.text("detail"), "A-2-6") || refused.text("missing") != "[A-2-6]" || refused.text("missingSeats") != "1" {
		t.Errorf("refused with %s", refused.raw)
	}
	s.want(s.call("DELETE", "/api/locks/"+last, nil), 200, "")
	refused = s.want(s.patch(event, change), 409, "CAPACITY_BELOW_TAKEN")
	if !strings.Contains(refused.text("detail"), `"pit"`) || strings.Contains(refused.raw, "missing") {
		t.Errorf("refused with %s", refused.raw)
	}
	s.wantTaken(event, "A-1-3 A-1-6 A-2-2")
	both := fields{"seatingPlanId": other, "sections": capacity("pit", 6)["sections"]}
	if e := s.want(s.patch(event, both), 200, ""); e.text("seatingPlanId") != other || e.text("totalSeats") != "18" ||
		e.text("availableSeats") != "11" || e.text("blockedSeats") != "1" {
		t.Errorf("answered %s", e.raw)
	}
	s.wantEvent(event, "18", "11", "[map[capacity:6 key:pit]]")
	for m := follower.next(); m.event != "reset"; m = follower.next() {
		if m.state.AvailableSeats == 11 {
			t.Error("another plan, and the stream was not reset")
			break
		}
	}
	if m := follower.next(); m.event != "availability" || m.state.TotalSeats != 18 {
		t.Errorf("behind the reset comes %+v", m)
	}

	// The lock has its seats, where they are now.
	found := s.want(s.call("GET", "/api/locks/"+lock, nil), 200, "")
	if !strings.Contains(found.raw, `"Ninth"`) || found.seatsOf() != "A-1-3 A-2-2" {
		t.Errorf("the lock is %s", found.raw)
	}
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-3"}}), 409, "SEATS_UNAVAILABLE")
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-6"}}), 422, "VALIDATION_FAILED")
	added := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"new"}}), 201, "")
	if added.seatsOf() != "new" || !strings.Contains(added.raw, `"Ninth"`) {
		t.Errorf("the lock is %s", added.raw)
	}
	s.want(s.call("PUT", "/api/locks/"+lock+"/seats", fields{"seatIds": []string{"A-1-1"}}), 200, "")
	s.want(s.call("DELETE", "/api/locks/"+pit, nil), 200, "")
	s.wantEvent(event, "18", "15", "[map[capacity:6 key:pit]]")
	s.want(s.patch(event, fields{"seatingPlanId": first}), 409, "CAPACITY_BELOW_TAKEN") // it has no seat "new"
	s.want(s.call("DELETE", "/api/locks/"+added.text("id"), nil), 200, "")
	s.want(s.patch(event, fields{"seatingPlanId": first}), 200, "")
	s.wantEvent(event, "18", "16", "[map[capacity:6 key:pit]]") // it was set
	s.wantTaken(event, "A-1-1 A-1-6")

	s.want(s.patch(event, fields{"seatingPlanId": mongodb.NewID().String()}), 404, "SEATING_PLAN_NOT_FOUND")
	s.want(s.patch(mongodb.NewID().String(), change), 404, "EVENT_NOT_FOUND")
	s.wantInvalid(s.patch(event, fields{"seatingPlanId": nil}), "body.seatingPlanId")
	s.wantInvalid(s.patch(event, fields{"seatingPlanId": "x"}), "body.seatingPlanId")
	s.wantInvalid(s.patch(event, fields{"seatingPlanId": "000000000000000000000000"}), "body.seatingPlanId")
	s.wantInvalid(s.patch(s.event(5), change), "body.seatingPlanId")
	testenv.CheckInvariants(t, s.w.DB.Database)
}
