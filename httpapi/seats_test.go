package httpapi_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/mongodb"
)

// hallPlan has two rows of six seats, of which A-1-6 is accessible, and ten places to stand.
const hallPlan = `{"name":"Small hall","categories":[{"key":"seats","name":"Seats"},{"key":"standing","name":"Standing"}],"sections":[
	{"key":"A","name":"Stalls","category":"seats","rows":[
		{"key":"1","seats":[{"id":"A-1-1"},{"id":"A-1-2"},{"id":"A-1-3"},{"id":"A-1-4"},{"id":"A-1-5"},{"id":"A-1-6","accessible":true}]},
		{"key":"2","label":"Second","seats":6}]},
	{"key":"pit","name":"Pit","category":"standing","capacity":10}]}`

// seatedEvent creates an event in the hall of hallPlan.
func (s *site) seatedEvent(settings fields) string {
	s.t.Helper()
	plan := s.want(s.call("POST", "/api/seating-plans", hallPlan), 201, "")
	event := fields{"name": "Seated", "seatingPlanId": plan.text("id"), "eventDate": "2030-06-15T20:00:00Z"}
	for name, value := range settings {
		event[name] = value
	}
	return s.want(s.call("POST", "/api/events", event), 201, "").text("id")
}

// lockSeats asks for a lock of an event.
func (s *site) lockSeats(event, user string, wish fields) answer {
	s.t.Helper()
	body := fields{"eventId": event, "userId": user}
	for name, value := range wish {
		body[name] = value
	}
	return s.call("POST", "/api/locks", body)
}

// seatsOf are the seats of a lock or a booking, by its places.
func (a answer) seatsOf() string {
	var seats []string
	places, _ := a.body["places"].([]any)
	for _, p := range places {
		seats = append(seats, fmt.Sprint(p.(map[string]any)["seatId"]))
	}
	return strings.Join(seats, " ")
}

// taken are the seats that are not available, by the event's map in both formats.
func (s *site) taken(event string) string {
	s.t.Helper()
	ids := s.want(s.call("GET", "/api/events/"+event+"/seats?format=ids", nil), 200, "")
	bits := s.want(s.call("GET", "/api/events/"+event+"/seats?section=A&section=pit", nil), 200, "")
	rows := ids.body["sections"].([]any)[0].(map[string]any)
	var seats []string
	for _, id := range rows["unavailable"].([]any) {
		seats = append(seats, id.(string))
	}
	bitmap, err := base64.StdEncoding.DecodeString(bits.body["sections"].([]any)[0].(map[string]any)["bitmap"].(string))
	if err != nil {
		s.t.Fatal(err)
	}
	all := []string{
		"A-1-1", "A-1-2", "A-1-3", "A-1-4", "A-1-5", "A-1-6", "A-2-1", "A-2-2", "A-2-3", "A-2-4", "A-2-5", "A-2-6",
	}
	for i, id := range all {
		if isTaken := bitmap[i/8]&(128>>(i%8)) != 0; isTaken != slices.Contains(seats, id) {
			s.t.Errorf("the bitmap says %v of %s, the IDs are %v", isTaken, id, seats)
		}
	}
	if available := rows["available"].(float64); int(available) != len(all)-len(seats) {
		s.t.Errorf("%v seats of A are available, and %v are taken", available, seats)
	}
	return strings.Join(seats, " ")
}

func (s *site) wantTaken(event, want string) {
	s.t.Helper()
	if got := s.taken(event); got != want {
		s.t.Errorf("the seats taken are %q, want %q", got, want)
	}
}

func TestSeats_FromLockToCancellation(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	e := s.want(s.call("GET", "/api/events/"+event, nil), 200, "")
	for field, want := range map[string]string{
		"totalSeats": "22", "availableSeats": "22", "blockedSeats": "0", "orphanRule": "ALLOW", "accessiblePolicy": "RESERVED",
	} {
		if e.text(field) != want {
			t.Errorf("%s is %s, want %s", field, e.text(field), want)
		}
	}

	lock := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-2", "A-1-3"}}), 201, "")
	place := lock.body["places"].([]any)[1].(map[string]any)
	if lock.seatsOf() != "A-1-3 A-2-2" || lock.text("seats") != "2" || place["section"] != "A" || place["row"] != "Second" ||
		place["label"] != "2" || place["category"] != "seats" {
		t.Errorf("the lock is %s", lock.raw)
	}
	s.wantTaken(event, "A-1-3 A-2-2")
	refused := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-3", "A-1-2"}}), 409, "SEATS_UNAVAILABLE")
	if refused.text("requested") != "2" || refused.text("available") != "1" || refused.text("unavailable") != "[A-1-3]" {
		t.Errorf("refused: %s", refused.raw)
	}
	best := s.want(s.lockSeats(event, user, fields{"bestAvailable": fields{"seats": 3}}), 201, "")
	if best.seatsOf() != "A-2-3 A-2-4 A-2-5" && best.seatsOf() != "A-2-4 A-2-5 A-2-6" {
		t.Errorf("the best seats are %s", best.seatsOf())
	}
	s.want(s.call("DELETE", "/api/locks/"+best.text("id"), nil), 200, "")

	moved := s.want(s.call("PUT", "/api/locks/"+lock.text("id")+"/seats", fields{"seatIds": []string{"A-1-3", "A-1-4"}}), 200, "")
	if moved.seatsOf() != "A-1-3 A-1-4" || moved.text("expiresAt") != lock.text("expiresAt") {
		t.Errorf("moved: %s", moved.raw)
	}
	s.wantTaken(event, "A-1-3 A-1-4")

	booking := s.want(s.call("POST", "/api/bookings", fields{
		"userId": user, "lockId": lock.text("id"), "eventId": event, "paymentTtlSeconds": 600,
	}), 201, "")
	s.want(s.call("PUT", "/api/locks/"+lock.text("id")+"/seats", fields{"seatIds": []string{"A-1-5"}}), 409, "LOCK_HAS_BOOKING")
	path := "/api/bookings/" + booking.text("id")
	if sold := s.want(s.call("POST", path+"/confirm", nil), 200, ""); sold.seatsOf() != "A-1-3 A-1-4" {
		t.Errorf("sold: %s", sold.raw)
	}
	seat := s.want(s.call("GET", "/api/events/"+event+"/seats/A-1-3", nil), 200, "")
	if seat.text("state") != "SOLD" || seat.text("lockId") != lock.text("id") || seat.text("bookingId") != booking.text("id") {
		t.Errorf("the seat is %s", seat.raw)
	}
	s.want(s.call("POST", path+"/cancel", nil), 200, "")
	s.wantTaken(event, "")
	if e := s.want(s.call("GET", "/api/events/"+event, nil), 200, ""); e.text("availableSeats") != "22" {
		t.Errorf("the event is %s", e.raw)
	}
}

func TestSeats_Refusals(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event, unseated := s.user(), s.seatedEvent(nil), s.event(10)
	for name, row := range map[string]struct {
		event string
		wish  fields
	}{
		"no form":                        {event, fields{}},
		"a number alone":                 {event, fields{"seats": 2}},
		"two forms":                      {event, fields{"seatIds": []string{"A-1-1"}, "bestAvailable": fields{"seats": 1}}},
		"seats and IDs":                  {event, fields{"seatIds": []string{"A-1-1"}, "seats": 1}},
		"a section without seats":        {event, fields{"section": "pit"}},
		"no seats":                       {event, fields{"seatIds": []string{}}},
		"a seat twice":                   {event, fields{"seatIds": []string{"A-1-1", "A-1-1"}}},
		"an unknown seat":                {event, fields{"seatIds": []string{"A-9-1"}}},
		"an unknown section":             {event, fields{"section": "B", "seats": 1}},
		"general admission of rows":      {event, fields{"section": "A", "seats": 1}},
		"best seats of a pit":            {event, fields{"bestAvailable": fields{"seats": 1, "section": "pit"}}},
		"an unknown category":            {event, fields{"bestAvailable": fields{"seats": 1, "categories": []string{"gold"}}}},
		"more accessible seats":          {event, fields{"bestAvailable": fields{"seats": 1, "accessibleSeats": 2}}},
		"an accessible seat":             {event, fields{"seatIds": []string{"A-1-6"}}},
		"accessibleSeats of no IDs":      {event, fields{"bestAvailable": fields{"seats": 1}, "accessibleSeats": 1}},
		"named seats without a plan":     {unseated, fields{"seatIds": []string{"A-1-1"}}},
		"best seats without a plan":      {unseated, fields{"bestAvailable": fields{"seats": 1}}},
		"a section of no plan":           {unseated, fields{"section": "pit", "seats": 1}},
		"a number of best seats beyond":  {event, fields{"bestAvailable": fields{"seats": 51}}},
		"a text in place of a best pick": {event, fields{"bestAvailable": "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t).want(s.lockSeats(row.event, user, row.wish), 422, "VALIDATION_FAILED")
		})
	}
	for _, path := range []string{"/seats", "/seats/A-1-1"} {
		s.want(s.call("GET", "/api/events/"+unseated+path, nil), 422, "VALIDATION_FAILED")
	}
	s.want(s.call("POST", "/api/events/"+unseated+"/seats/block", fields{"seatIds": []string{"A-1-1"}}), 422, "VALIDATION_FAILED")
	s.want(s.call("GET", "/api/events/"+event+"/seats/A-9-9", nil), 404, "SEAT_NOT_FOUND")
	s.want(s.call("GET", "/api/events/"+event+"/seats?section=B", nil), 422, "VALIDATION_FAILED")
	for _, query := range []string{"?section=", "?section=A&section=", "?section"} {
		s.want(s.call("GET", "/api/events/"+event+"/seats"+query, nil), 422, "VALIDATION_FAILED")
		s.want(s.call("GET", "/api/events/"+event+"/seats/stream"+query, nil), 422, "VALIDATION_FAILED")
	}
	s.want(s.call("PATCH", "/api/events/"+event, fields{"totalSeats": 30}), 422, "VALIDATION_FAILED")
	s.want(s.call("POST", "/api/events", fields{
		"name": "Both", "seatingPlanId": "0123456789abcdef01234567", "totalSeats": 5, "eventDate": "2030-06-15T20:00:00Z",
	}), 422, "VALIDATION_FAILED")
	s.want(s.call("POST", "/api/events", fields{
		"name": "No plan", "seatingPlanId": "0123456789abcdef01234567", "eventDate": "2030-06-15T20:00:00Z",
	}), 404, "SEATING_PLAN_NOT_FOUND")
	s.wantTaken(event, "")
}

func TestSeats_GeneralAdmission(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	lock := s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 4}), 201, "")
	place := lock.body["places"].([]any)[0].(map[string]any)
	if place["section"] != "pit" || place["category"] != "standing" || len(place) != 2 {
		t.Errorf("the lock is %s", lock.raw)
	}
	refused := s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 7}), 409, "SEATS_UNAVAILABLE")
	if refused.text("available") != "6" {
		t.Errorf("refused: %s", refused.raw)
	}
	s.want(s.call("PUT", "/api/locks/"+lock.text("id")+"/seats", fields{"section": "pit", "seats": 10}), 200, "")
	s.want(s.call("PUT", "/api/locks/"+lock.text("id")+"/seats", fields{"section": "pit", "seats": 11}), 409, "SEATS_UNAVAILABLE")
	changed := s.want(s.call("PUT", "/api/locks/"+lock.text("id")+"/seats", fields{"seatIds": []string{"A-1-1"}}), 200, "")
	if changed.text("seats") != "1" || changed.seatsOf() != "A-1-1" {
		t.Errorf("changed: %s", changed.raw)
	}
	s.want(s.lockSeats(event, user, fields{"section": "pit", "seats": 10}), 201, "")
}

func TestSeats_DueLocksGiveTheirSeats(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	due := s.want(s.lockSeats(event, user, fields{
		"seatIds": []string{"A-1-1", "A-1-2"}, "expiresAt": time.Now().Add(-time.Minute).UTC().Format(time.RFC3339),
	}), 201, "")
	if seat := s.want(s.call("GET", "/api/events/"+event+"/seats/A-1-1", nil), 200, ""); seat.text("state") != "AVAILABLE" {
		t.Errorf("the seat of a due lock is %s", seat.raw)
	}
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1"}}), 201, "")
	ended := s.want(s.call("GET", "/api/locks/"+due.text("id"), nil), 200, "")
	if ended.text("status") != "EXPIRED" || ended.seatsOf() != "A-1-1 A-1-2" {
		t.Errorf("the due lock is %s", ended.raw)
	}
	s.wantTaken(event, "A-1-1")
}

func TestSeats_Blocks(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	block := func(path string, seats ...string) answer {
		return s.call("POST", "/api/events/"+event+"/seats/"+path, fields{"seatIds": seats})
	}
	for range 2 { // a repeat changes nothing
		if n := s.want(block("block", "A-1-1", "A-1-2", "A-1-6"), 200, ""); n.text("blocked") != "3" {
			t.Errorf("blocked: %s", n.raw)
		}
	}
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-2"}}), 409, "SEATS_UNAVAILABLE")
	lock := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-3"}}), 201, "")
	s.want(block("block", "A-1-3", "A-1-4"), 409, "SEATS_UNAVAILABLE")
	s.wantTaken(event, "A-1-1 A-1-2 A-1-3 A-1-6")
	seat := s.want(s.call("GET", "/api/events/"+event+"/seats/A-1-1", nil), 200, "")
	if seat.text("state") != "BLOCKED" || seat.body["lockId"] != nil {
		t.Errorf("the seat is %s", seat.raw)
	}
	if locks := s.want(s.call("GET", "/api/locks?eventId="+event, nil), 200, ""); len(locks.body["items"].([]any)) != 1 {
		t.Errorf("the locks are %s", locks.raw)
	}
	for range 2 {
		if n := s.want(block("unblock", "A-1-1", "A-1-3"), 200, ""); n.text("blocked") != "2" {
			t.Errorf("unblocked: %s", n.raw)
		}
	}
	s.wantTaken(event, "A-1-2 A-1-3 A-1-6")
	s.want(s.call("DELETE", "/api/locks/"+lock.text("id"), nil), 200, "")
	s.want(block("unblock", "A-1-2", "A-1-6"), 200, "")
	if e := s.want(s.call("GET", "/api/events/"+event, nil), 200, ""); e.text("availableSeats") != "22" || e.text("blockedSeats") != "0" {
		t.Errorf("the event is %s", e.raw)
	}
}

func TestSeats_OrphanRule(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(fields{"orphanRule": "REFUSE", "accessiblePolicy": "OPEN"})
	refused := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-2", "A-2-3"}}), 409, "SEAT_ORPHANED")
	if refused.text("orphans") != "[A-2-1]" {
		t.Errorf("refused: %s", refused.raw)
	}
	s.want(s.call("PATCH", "/api/events/"+event, fields{"orphanRule": "ALLOW"}), 200, "")
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-2-2", "A-2-3"}}), 201, "")
}

// Whatever needs the seats of an event whose plan is missing says so, and what to do.
func TestSeats_AMissingPlanIsNamed(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	lock := s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1"}}), 201, "").text("id")
	id, err := holdfast.ParseID(event)
	if err != nil {
		t.Fatal(err)
	}
	s.w.Set("events", id, bson.D{{Key: "seatingPlanId", Value: mongodb.NewID()}})
	path, seats := "/api/events/"+event+"/seats", fields{"seatIds": []string{"A-1-2"}}
	for what, a := range map[string]answer{
		"lock":    s.lockSeats(event, user, seats),
		"best":    s.lockSeats(event, user, fields{"bestAvailable": fields{"seats": 1}}),
		"change":  s.call("PUT", "/api/locks/"+lock+"/seats", seats),
		"release": s.call("DELETE", "/api/locks/"+lock, nil),
		"map":     s.call("GET", path, nil),
		"stream":  s.call("GET", path+"/stream", nil),
		"block":   s.call("POST", path+"/block", seats),
	} {
		const plan, action = "The event's seating plan is missing", "set the event's seatingPlanId to the plan that it was sold with"
		if detail := s.want(a, 503, "UNAVAILABLE").text("detail"); !strings.HasPrefix(detail, plan) || !strings.Contains(detail, action) {
			t.Errorf("%s: %s", what, detail)
		}
	}
}

// The settings of seats are accepted and answered for every event, also where they apply to nothing.
func TestEvents_HaveTheSettingsOfSeatsWithoutAPlan(t *testing.T) {
	t.Parallel()
	s := open(t)
	show := fields{"name": "Show", "totalSeats": 5, "eventDate": "2030-01-02T03:04:05Z"}
	wantRules := func(a answer, status int, rules string) {
		t.Helper()
		if s.want(a, status, ""); a.text("orphanRule")+" "+a.text("accessiblePolicy") != rules {
			t.Errorf("the rules are not %s: %s", rules, a.raw)
		}
	}
	created := s.call("POST", "/api/events", show)
	wantRules(created, 201, "ALLOW RESERVED")
	path := "/api/events/" + created.text("id")
	wantRules(s.call("GET", path, nil), 200, "ALLOW RESERVED")
	wantRules(s.call("PATCH", path, fields{"orphanRule": "REFUSE"}), 200, "REFUSE RESERVED")
	wantRules(s.call("PATCH", path, fields{"accessiblePolicy": "OPEN"}), 200, "REFUSE OPEN")
	wantRules(s.call("PATCH", path, fields{"name": "Other"}), 200, "REFUSE OPEN")
	wantRules(s.call("GET", path, nil), 200, "REFUSE OPEN")
	wantRules(s.call("PATCH", path, fields{"orphanRule": "ALLOW"}), 200, "ALLOW OPEN")
	s.want(s.call("POST", "/api/locks", fields{"eventId": created.text("id"), "userId": s.user(), "seats": 5}), 201, "")

	show["orphanRule"], show["accessiblePolicy"] = "REFUSE", "OPEN"
	created = s.call("POST", "/api/events", show, "Idempotency-Key", "k")
	wantRules(created, 201, "REFUSE OPEN")
	wantRules(s.call("POST", "/api/events", show, "Idempotency-Key", "k"), 201, "REFUSE OPEN")
	wantRules(s.call("GET", "/api/events/"+created.text("id"), nil), 200, "REFUSE OPEN")
	show["orphanRule"] = "SOME"
	s.want(s.call("POST", "/api/events", show), 422, "VALIDATION_FAILED")
	s.want(s.call("PATCH", path, fields{"sections": []fields{{"key": "pit", "capacity": 1}}}), 422, "VALIDATION_FAILED")
	items, _ := s.changes("pageSize=500&type=holdfast.event.created")
	var told []string
	for _, c := range items {
		data := c["data"].(map[string]any)
		told = append(told, fmt.Sprint(data["orphanRule"], " ", data["accessiblePolicy"]))
	}
	if !slices.Equal(told, []string{"ALLOW RESERVED", "REFUSE OPEN"}) {
		t.Errorf("the changes have %q", told)
	}
}

// The IDs of seats are listed for at most twenty sections; bitmaps for all.
func TestSeats_IDsOfAtMostTwentySections(t *testing.T) {
	t.Parallel()
	s := open(t)
	var sections []string
	for n := range 21 {
		sections = append(sections, fmt.Sprintf(`{"key":"S%d","name":"S","category":"c","rows":[{"key":"1","seats":2}]}`, n))
	}
	plan := s.want(s.call("POST", "/api/seating-plans", fmt.Sprintf(
		`{"name":"Wide hall","categories":[{"key":"c","name":"C"}],"sections":[%s]}`, strings.Join(sections, ","))), 201, "").text("id")
	event := s.want(s.call("POST", "/api/events", fields{
		"name": "Seated", "seatingPlanId": plan, "eventDate": "2030-06-15T20:00:00Z",
	}), 201, "").text("id")
	named := func(from, to int) (query string) {
		for n := from; n <= to; n++ {
			query += fmt.Sprint("&section=S", n)
		}
		return query
	}
	for query, answered := range map[string]int{
		"": 21, named(0, 20): 21, "&format=bitmap": 21, "&format=ids": 0, "&format=ids" + named(0, 20): 0,
		"&format=ids" + named(1, 20): 20, "&format=ids" + named(1, 20) + named(1, 20): 20, "&format=ids" + named(20, 20): 1,
	} {
		a := s.call("GET", "/api/events/"+event+"/seats?"+strings.TrimPrefix(query, "&"), nil)
		if answered == 0 {
			if s.want(a, 422, "VALIDATION_FAILED"); !strings.Contains(a.raw, `"query.format"`) {
				t.Errorf("%s: %s", query, a.raw)
			}
			continue
		}
		if list, _ := s.want(a, 200, "").body["sections"].([]any); len(list) != answered {
			t.Errorf("%s: %d sections, want %d", query, len(list), answered)
		}
	}
}

// statusOf reads a path with headers of several lines.
func (s *site) statusOf(path string, header http.Header) int {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), "GET", s.server.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header = header
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func TestSeats_MapIsCached(t *testing.T) {
	t.Parallel()
	s := open(t)
	user, event := s.user(), s.seatedEvent(nil)
	first := s.want(s.call("GET", "/api/events/"+event+"/seats", nil), 200, "")
	tag := first.header.Get("ETag")
	if again := s.call("GET", "/api/events/"+event+"/seats", nil, "If-None-Match", tag); again.status != 304 || again.raw != "" || tag == "" {
		t.Errorf("%d %s with the tag %s", again.status, again.raw, tag)
	}
	for _, sent := range []string{"W/" + tag, `"other", ` + tag} { // as proxies send it
		if again := s.call("GET", "/api/events/"+event+"/seats", nil, "If-None-Match", sent); again.status != 304 {
			t.Errorf("with %s: %d", sent, again.status)
		}
	}
	if status := s.statusOf("/api/events/"+event+"/seats", http.Header{"If-None-Match": {`"other"`, tag}}); status != 304 {
		t.Errorf("with the tag in a second line: %d", status)
	}
	if other := s.call("GET", "/api/events/"+event+"/seats?section=A", nil, "If-None-Match", tag); other.status != 200 {
		t.Errorf("%d for another section", other.status)
	}
	s.want(s.lockSeats(event, user, fields{"seatIds": []string{"A-1-1"}}), 201, "")
	changed := s.call("GET", "/api/events/"+event+"/seats", nil, "If-None-Match", tag)
	if changed.status != 200 || changed.header.Get("Cache-Control") != "max-age=1" {
		t.Errorf("%d after a lock, %v", changed.status, changed.header)
	}
}
